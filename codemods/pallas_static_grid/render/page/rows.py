"""The rows of a diff for the page: lines that were only indented anew are told from changed ones.

A guard around a kernel's body indents all of it. So lines are compared without their indentation,
and the page can show those that only moved to the right as unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from pallas_static_grid.render.hunks import emphasis, pairs
from pallas_static_grid.render.opcodes import opcodes

Kind = Literal["same", "removed", "added"]
Ranges = tuple[tuple[int, int], ...]

_CONTEXT = 3


@dataclass(frozen=True, slots=True)
class Row:
    """A line of one text, or of both; numbers count from 0."""

    kind: Kind
    old: int | None
    new: int | None
    indented: bool = False
    """The line differs from its partner in indentation only."""
    emphasis: Ranges = ()
    pair: str = ""
    """What a removed line and the added one that it became have in common."""


def hunks(old: Sequence[str], new: Sequence[str]) -> Iterator[list[Row]]:
    """The rows around changes, in groups without a gap."""
    rows = list(_rows(old, new))
    wanted = [row.kind != "same" for row in rows]
    near = [any(wanted[max(0, i - _CONTEXT) : i + _CONTEXT + 1]) for i in range(len(rows))]
    for shown, group in groupby(zip(near, rows, strict=True), key=lambda item: item[0]):
        if shown:
            yield [row for _, row in group]


def _rows(old: Sequence[str], new: Sequence[str]) -> Iterator[Row]:
    codes = opcodes([line.strip() for line in old], [line.strip() for line in new])
    for tag, i1, i2, j1, j2 in codes:
        if tag == "equal":
            yield from _alike(old, new, i1, i2, j1)
        else:
            yield from _changed(old, new, range(i1, i2), range(j1, j2))


def _alike(old: Sequence[str], new: Sequence[str], start: int, end: int, at: int) -> Iterator[Row]:
    """Lines that are the same but for their indentation."""
    both = [(i, i - start + at) for i in range(start, end)]
    for same, run in groupby(both, key=lambda pair: old[pair[0]] == new[pair[1]]):
        lines = list(run)
        if same:
            yield from (Row("same", i, j) for i, j in lines)
        else:
            yield from (Row("removed", i, None, True, pair=f"{i}") for i, _ in lines)
            yield from (Row("added", None, j, True, pair=f"{i}") for i, j in lines)


def _changed(old: Sequence[str], new: Sequence[str], removed: range, added: range) -> Iterator[Row]:
    became = dict(pairs(old, new, removed, added))
    origin = {j: i for i, j in became.items()}
    marks = {i: emphasis(old[i], new[j]) for i, j in became.items()}
    for i in removed:
        known = marks[i][0] if i in became else ()
        yield Row("removed", i, None, emphasis=known, pair=f"{i}" if i in became else "")
    for j in added:
        if j in origin:
            yield Row("added", None, j, emphasis=marks[origin[j]][1], pair=f"{origin[j]}")
        else:
            yield Row("added", None, j)
