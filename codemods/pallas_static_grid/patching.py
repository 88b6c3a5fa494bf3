"""Applying a patch that a person has edited: by its content, not by its line counts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_HUNK = re.compile(rb"^@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@")
_NO_NEWLINE = b"\\ "


class DoesNotApply(Exception):
    """The patch does not fit the text."""


@dataclass(slots=True)
class _Hunk:
    line: int
    old: list[bytes] = field(default_factory=list)
    new: list[bytes] = field(default_factory=list)


def apply_patch(data: bytes, patch: bytes) -> bytes:
    """`data` with the hunks of `patch` applied; raises DoesNotApply.

    The line counts of the hunk headers do not matter, since a person who edits a patch does not
    keep them; a hunk goes where its old lines stand, nearest to the line it names.
    """
    lines = _lines(data)
    shift = 0
    floor = 0
    for hunk in _hunks(patch):
        at = _find(lines, hunk, hunk.line - 1 + shift, floor)
        lines[at : at + len(hunk.old)] = hunk.new
        floor = at + len(hunk.new)
        shift += len(hunk.new) - len(hunk.old)
    return b"".join(lines)


def _hunks(patch: bytes) -> list[_Hunk]:
    hunks: list[_Hunk] = []
    last: tuple[list[bytes], ...] = ()
    for line in _lines(patch):
        header = _HUNK.match(line)
        if header is not None:
            hunks.append(_Hunk(int(header[1])))
        elif not hunks:
            continue  # notes and file names
        elif line.startswith(b"#"):
            continue
        elif line.startswith(_NO_NEWLINE):
            for side in last:
                side[-1] = side[-1].removesuffix(b"\n")
        else:
            last = _sides(hunks[-1], line)
            for side in last:
                side.append(line[1:] or b"\n")
    if not hunks:
        raise DoesNotApply("the patch holds no hunk")
    return hunks


def _sides(hunk: _Hunk, line: bytes) -> tuple[list[bytes], ...]:
    """The lists that a line of a hunk belongs to."""
    mark = line[:1]
    if mark in (b" ", b"\n"):
        return hunk.old, hunk.new
    if mark == b"-":
        return (hunk.old,)
    if mark == b"+":
        return (hunk.new,)
    raise DoesNotApply(f"a line starts with {mark!r} instead of a blank, '-' or '+'")


def _find(lines: list[bytes], hunk: _Hunk, near: int, floor: int) -> int:
    size = len(hunk.old)
    places = [at for at in range(floor, len(lines) - size + 1) if lines[at : at + size] == hunk.old]
    if not places:
        raise DoesNotApply("the lines that the patch wants to change are not there")
    return min(places, key=lambda at: abs(at - near))


def _lines(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])
