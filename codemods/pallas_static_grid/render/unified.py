"""The patch: unified diffs that `git apply`, `git am` and `patch -p1` take as they are.

Lines are what git takes for lines (they end at LF, nowhere else), and they are compared as bytes.
In the text returned here a byte that is not UTF-8 is an escaped surrogate; `to_bytes` undoes that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pallas_static_grid.model import Changed, FileReport
from pallas_static_grid.render.notes import rewrite_notes
from pallas_static_grid.render.opcodes import grouped

_ESCAPES = {
    0x07: "\\a",
    0x08: "\\b",
    0x09: "\\t",
    0x0A: "\\n",
    0x0B: "\\v",
    0x0C: "\\f",
    0x0D: "\\r",
    0x22: '\\"',
    0x5C: "\\\\",
}


def render(reports: Sequence[FileReport]) -> str:
    """One patch for all files, with comment lines above each file's diff."""
    return "".join(file_patch(report) for report in reports if isinstance(report, Changed))


def file_patch(report: Changed) -> str:
    """The patch of one file: its notes, then its diff."""
    notes = "".join(
        f"# {line}".rstrip() + "\n"
        for rewrite in report.rewrites
        for line in rewrite_notes(rewrite)
    )
    return notes + unified_diff(report.before, report.after, report.patch_path or report.path)


def unified_diff(before: bytes, after: bytes, path: str) -> str:
    """The diff of one file, empty where nothing differs; `path` is that in the repository."""
    if before == after:
        return ""
    hunks = "".join(_hunks(_lines(before), _lines(after)))
    old, new = quoted(f"a/{path}"), quoted(f"b/{path}")
    return (
        f"diff --git {old} {new}\n--- {old}{_terminator(path)}\n+++ {new}{_terminator(path)}\n"
        + hunks
    )


def to_bytes(text: str) -> bytes:
    """The bytes of a patch."""
    return text.encode("utf-8", "surrogateescape")


def quoted(path: str) -> str:
    """A path as git writes it: in quotes, with escapes, where it holds unusual bytes."""
    raw = path.encode("utf-8", "surrogateescape")
    plain = all(0x20 <= byte < 0x7F and byte not in (0x22, 0x5C) for byte in raw)
    if plain:
        return path
    return '"' + "".join(_quoted_byte(byte) for byte in raw) + '"'


def _quoted_byte(byte: int) -> str:
    if byte in _ESCAPES:
        return _ESCAPES[byte]
    return chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}"


def _terminator(path: str) -> str:
    """Git ends a name that holds a blank, and needs no quotes, by a tab."""
    return "\t" if " " in path and quoted(path) == path else ""


def _lines(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


def _hunks(old: list[bytes], new: list[bytes]) -> Iterator[str]:
    for group in grouped(old, new):
        first, last = group[0], group[-1]
        yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@\n"
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from _marked(" ", old[i1:i2])
            else:
                yield from _marked("-", old[i1:i2])
                yield from _marked("+", new[j1:j2])


def _marked(mark: str, lines: Iterable[bytes]) -> Iterator[str]:
    for line in lines:
        text = mark + line.decode("utf-8", "surrogateescape")
        yield text if text.endswith("\n") else text + "\n\\ No newline at end of file\n"


def _range(start: int, stop: int) -> str:
    length = stop - start
    if length == 1:
        return f"{start + 1}"
    return f"{start + 1 if length else start},{length}"
