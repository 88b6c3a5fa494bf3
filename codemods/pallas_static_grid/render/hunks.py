"""A diff as data for people: lines with their numbers and the parts of them that changed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from pallas_static_grid.render.opcodes import grouped

Mark = Literal[" ", "-", "+"]

_ALIKE = 0.5
_HEAD = re.compile(r"(?:\w+\s*=|\)+\(|def \w+\()")
"""What a line that was rewritten usually still begins with: `grid=`, `)(`, `def kernel(`."""
_WORD = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class HunkLine:
    """One line of a hunk; `number` counts from 0 in the old text for `-`, else in the new one."""

    mark: Mark
    number: int
    emphasis: tuple[tuple[int, int], ...] = ()
    unterminated: bool = False
    """The last line of a file that does not end in a line end."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that change, with context."""

    new_start: int
    lines: tuple[HunkLine, ...]


def hunks(before: str, after: str) -> Iterator[Hunk]:
    """The hunks between two texts, whose lines end at LF."""
    old, new = _lines(before), _lines(after)
    for group in grouped(old, new):
        lines: list[HunkLine] = []
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                lines.extend(_line(" ", new, number, ()) for number in range(j1, j2))
            else:
                lines.extend(_changed(old, new, range(i1, i2), range(j1, j2)))
        yield Hunk(group[0][3], tuple(lines))


def _changed(
    old: Sequence[str], new: Sequence[str], removed: range, added: range
) -> Iterator[HunkLine]:
    marks_old: dict[int, tuple[tuple[int, int], ...]] = {}
    marks_new: dict[int, tuple[tuple[int, int], ...]] = {}
    for i, j in pairs(old, new, removed, added):
        marks_old[i], marks_new[j] = emphasis(old[i], new[j])
    yield from (_line("-", old, i, marks_old.get(i, ())) for i in removed)
    yield from (_line("+", new, j, marks_new.get(j, ())) for j in added)


def _line(
    mark: Mark, lines: Sequence[str], number: int, ranges: tuple[tuple[int, int], ...]
) -> HunkLine:
    return HunkLine(mark, number, ranges, not lines[number].endswith("\n"))


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    last = lines.pop()
    return [f"{line}\n" for line in lines] + ([last] if last else [])


def pairs(
    old: Sequence[str], new: Sequence[str], removed: range, added: range
) -> Iterator[tuple[int, int]]:
    """Each removed line with the first later added line that is like it, in order."""
    start = added.start
    for i in removed:
        for j in range(start, added.stop):
            if _alike(old[i].strip(), new[j].strip()):
                yield i, j
                start = j + 1
                break


def _alike(old: str, new: str) -> bool:
    """Whether one line is likely to have become the other."""
    head = _HEAD.match(old)
    if head is not None and new.startswith(head[0]):
        return True
    matcher = SequenceMatcher(None, old, new, False)
    return matcher.real_quick_ratio() > _ALIKE and matcher.ratio() > _ALIKE


def emphasis(old: str, new: str) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
    """The ranges of two similar lines that differ, in whole words."""
    a, b = _WORD.findall(old.rstrip("\n")), _WORD.findall(new.rstrip("\n"))
    codes = SequenceMatcher(None, a, b, False).get_opcodes()
    changed = [code for code in codes if code[0] != "equal"]
    return (
        tuple(_spans(a, ((i1, i2) for _, i1, i2, _, _ in changed))),
        tuple(_spans(b, ((j1, j2) for _, _, _, j1, j2 in changed))),
    )


def _spans(words: Sequence[str], ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The ranges in characters, without blanks at their ends; new indentation is no change."""
    for start, end in ranges:
        text = "".join(words[start:end])
        if text.strip():
            first = sum(map(len, words[:start])) + len(text) - len(text.lstrip())
            yield first, first + len(text.strip())
