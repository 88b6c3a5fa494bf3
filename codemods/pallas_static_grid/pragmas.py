"""Pragmas in comments: `# pallas-static-grid: ignore`, `ignore[transform]`, `ignore-file`."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass

from pallas_static_grid.source import split_lines

_PRAGMA = re.compile(
    r"#\s*pallas-static-grid\s*:\s*(?P<what>[\w-]*)\s*(?:\[(?P<names>[^\]]*)\])?", re.IGNORECASE
)
_MARK = "pallas-static-grid"
IGNORE = "# pallas-static-grid: ignore"


@dataclass(frozen=True, slots=True)
class Pragma:
    """One pragma of a file."""

    line: int
    text: str
    whole_file: bool = False
    transforms: tuple[str, ...] = ()
    """Empty: every transform."""


@dataclass(frozen=True, slots=True)
class Pragmas:
    """All pragmas of a file, and comments that look like one and are none."""

    pragmas: tuple[Pragma, ...] = ()
    malformed: tuple[tuple[int, str], ...] = ()

    @property
    def ignore_file(self) -> Pragma | None:
        """The pragma that leaves the whole file alone."""
        return next((pragma for pragma in self.pragmas if pragma.whole_file), None)

    def covering(self, first: int, last: int) -> tuple[Pragma, ...]:
        """The pragmas on the lines from `first` to `last`."""
        return tuple(
            pragma
            for pragma in self.pragmas
            if not pragma.whole_file and first <= pragma.line <= last
        )


def find_pragmas(text: str) -> Pragmas:
    """The pragmas among the comments of `text`; strings do not count."""
    if _MARK not in text:
        return Pragmas()
    pragmas: list[Pragma] = []
    malformed: list[tuple[int, str]] = []
    for line, comment, alone in _comments(text):
        if _MARK not in comment:
            continue
        for match in _PRAGMA.finditer(comment):
            found = _read(match, line, alone)
            if isinstance(found, Pragma):
                pragmas.append(found)
            else:
                malformed.append((line, found))
    return Pragmas(tuple(pragmas), tuple(malformed))


def _read(match: re.Match[str], line: int, alone: bool) -> Pragma | str:
    what, names = match["what"].lower(), match["names"]
    text = " ".join(match[0].split())
    if what == "ignore":
        transforms = tuple(name.strip() for name in (names or "").split(",") if name.strip())
        if names is not None and not transforms:
            return f"`{text}` names no transform"
        return Pragma(line, text, False, transforms)
    if what == "ignore-file" and names is None:
        if not alone:
            return f"`{text}` counts only in a comment on a line of its own"
        return Pragma(line, text, whole_file=True)
    return f"`{text}` is no pragma; known are ignore, ignore[TRANSFORM] and ignore-file"


def _comments(text: str) -> Iterable[tuple[int, str, bool]]:
    """Line, text, and whether it stands alone, of each comment; up to where tokenizing fails."""
    found: list[tuple[int, str, bool]] = []
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    try:
        for token in tokenize.generate_tokens(io.StringIO(plain).readline):
            if token.type == tokenize.COMMENT:
                before = token.line[: token.start[1]]
                found.append((token.start[0], token.string, not before.strip()))
    except (tokenize.TokenError, SyntaxError):
        return found
    return found


def with_pragma(text: str, first: int, last: int) -> str | None:
    """`text` with an ignore pragma at the end of a line from `first` to `last`.

    None where no such line ends where a comment may stand (in a string, after a backslash).
    """
    lines = split_lines(text)
    for line in sorted(_ends_of_lines(text)):
        if first <= line <= last:
            body = lines[line - 1].rstrip("\r\n")
            end = lines[line - 1][len(body) :]
            lines[line - 1] = f"{body.rstrip()}  {IGNORE}{end}"
            return "".join(lines)
    return None


def _ends_of_lines(text: str) -> set[int]:
    """The lines at whose end the tokenizer sees one."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    found: set[int] = set()
    try:
        for token in tokenize.generate_tokens(io.StringIO(plain).readline):
            if token.type in (tokenize.NL, tokenize.NEWLINE):
                found.add(token.start[0])
    except (tokenize.TokenError, SyntaxError):
        return found
    return found
