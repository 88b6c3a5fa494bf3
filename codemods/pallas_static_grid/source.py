"""Bytes to text and back: encoding cookie, byte order mark, line ends.

The text of a `Source` is the file's text as it is, its line ends included, without the byte order
mark; `Source.encode` gives bytes back, and the unchanged text gives the very bytes that were read.
"""

from __future__ import annotations

import codecs
import io
import re
import tokenize
from dataclasses import dataclass
from pathlib import Path

from pallas_static_grid.model import Failed

_LINE_END = re.compile(r"\r\n|\r|\n")
_GENERATED = re.compile(r"(?<![\w@-])@generated\b")
_GENERATED_WORDS = re.compile(r"\b(auto-?)?generated\b", re.IGNORECASE)
_HANDS_OFF = re.compile(r"\bdo not (edit|modify|change)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Source:
    """A Python file as text, with what is needed to write it back byte for byte."""

    path: str
    """As reported: relative to the current directory, with `/`."""
    data: bytes
    text: str
    encoding: str = "utf-8"
    bom: bool = False
    patch_path: str = ""
    """As in patches: relative to the repository root, or to the current directory outside one."""
    file: Path | None = None
    """The real file, links resolved; None for stdin."""

    def encode(self, text: str) -> bytes:
        """The bytes of `text` in this file's encoding."""
        raw = text.encode(self.encoding)
        return codecs.BOM_UTF8 + raw if self.bom else raw


def split_lines(text: str) -> list[str]:
    """The lines of `text` with their ends, as Python counts lines (LF, CRLF, CR and no other)."""
    lines: list[str] = []
    start = 0
    for match in _LINE_END.finditer(text):
        lines.append(text[start : match.end()])
        start = match.end()
    if start < len(text):
        lines.append(text[start:])
    return lines


def decode(
    path: str, data: bytes, patch_path: str = "", file: Path | None = None
) -> Source | Failed:
    """The source that `data` holds, or why it holds none."""
    bom = data.startswith(codecs.BOM_UTF8)
    body = data[len(codecs.BOM_UTF8) :] if bom else data
    found = _encoding(data)
    if isinstance(found, tuple):
        encoding = found[0]
    else:
        return Failed(path, "decode", found)
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        return Failed(path, "decode", _undecodable(body, error, encoding))
    except (LookupError, ValueError) as error:
        return Failed(path, "decode", f"cannot be decoded as {encoding}: {error}")
    if "\0" in text:
        line = len(split_lines(text[: text.index("\0") + 1]))
        return Failed(path, "decode", f"line {line}: a NUL byte, which Python source cannot hold")
    source = Source(path, data, text, encoding, bom, patch_path or path, file)
    if source.encode(text) != data:
        return Failed(
            path, "decode", f"does not survive decoding and encoding as {encoding} unchanged"
        )
    return source


def read(path: str, file: Path) -> bytes | Failed:
    """The bytes of a file, or why they cannot be had."""
    try:
        return file.read_bytes()
    except OSError as error:
        return Failed(path, "read", unreadable(error))


def unreadable(error: OSError) -> str:
    """One line that says why a file cannot be read."""
    return f"cannot be read: {error.strerror or error}"


def generated_marker(text: str) -> str | None:
    """The comment among the leading ones that says that the file is generated, if there is one."""
    comments: list[str] = []
    for line in split_lines(text):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            break
        if stripped:
            comments.append(stripped)
    for comment in comments:
        if _GENERATED.search(comment):
            return comment
    if any(_HANDS_OFF.search(comment) for comment in comments):
        return next((line for line in comments if _GENERATED_WORDS.search(line)), None)
    return None


def _encoding(data: bytes) -> tuple[str] | str:
    """A tuple with the encoding's name, or a message."""
    try:
        name, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError as error:
        try:
            data.decode("utf-8-sig")
        except UnicodeDecodeError as undecodable:
            if "unknown encoding" not in str(error):
                return _undecodable(data, undecodable, "utf-8")
        return f"its encoding cookie cannot be followed: {error.msg}"
    return ("utf-8" if name == "utf-8-sig" else name,)


def _undecodable(data: bytes, error: UnicodeDecodeError, encoding: str) -> str:
    line = data.count(b"\n", 0, error.start) + 1
    return f"line {line}: byte 0x{data[error.start]:02x} is not valid {encoding}"
