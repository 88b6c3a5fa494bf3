"""The last step of a rewrite: the statements that edits touched get the layout of the file."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher

from pallas_static_grid.analysis.modules import ModuleContext, parse_module
from pallas_static_grid.model import Edit, Span
from pallas_static_grid.rewrite.edits import apply, merge
from pallas_static_grid.rewrite.layout import Style, lay_out
from pallas_static_grid.rewrite.syntax import newline_of
from pallas_static_grid.rewrite.units import Unit, units


def settle(module: ModuleContext, edits: Iterable[Edit], style: Style) -> tuple[Edit, ...]:
    """The edits with every touched statement laid out, as edits of whole lines.

    A statement that was laid out by the rules before is laid out by them again, and so is one
    that is new; any other keeps its own form, with what the edits changed in it.
    """
    merged = merge(module.text, edits)
    text = apply(module.text, merged)
    after = parse_module(module.path, text, module.name)
    if not merged:
        return ()
    moves = _Moves(_shifts(merged))
    first, last = merged[0].span.start, merged[-1].span.end
    old = {unit.start: unit for unit in units(module, first, last)}
    layout: list[Edit] = []
    for unit in units(after, moves.shifts[0].start, moves.shifts[-1].end):
        if moves.touch(unit.start - len(unit.indent), unit.end):
            was = moves.before(unit.start)
            layout += _relaid(module, after, unit, None if was is None else old.get(was), style)
    return line_edits(module.text, apply(text, layout))


@dataclass(frozen=True, slots=True)
class _Shift:
    """Where an edit's text lies afterwards, and how far what follows it has moved."""

    start: int
    end: int
    delta: int


def _shifts(edits: tuple[Edit, ...]) -> list[_Shift]:
    shifts: list[_Shift] = []
    delta = 0
    for edit in edits:
        start = edit.span.start + delta
        delta += len(edit.text) - (edit.span.end - edit.span.start)
        shifts.append(_Shift(start, start + len(edit.text), delta))
    return shifts


class _Moves:
    """Where the places of the new text come from."""

    def __init__(self, shifts: list[_Shift]) -> None:
        self.shifts = shifts
        self._starts = [shift.start for shift in shifts]
        self._ends = [shift.end for shift in shifts]

    def touch(self, start: int, end: int) -> bool:
        """Whether an edit reaches into the range of the new text."""
        index = bisect_left(self._ends, start)
        return index < len(self.shifts) and self.shifts[index].start <= end

    def before(self, offset: int) -> int | None:
        """Where a place of the new text was in the old one; None inside of new text."""
        index = bisect_right(self._starts, offset) - 1
        if index < 0:
            return offset
        shift = self.shifts[index]
        return None if offset < shift.end else offset - shift.delta


def _relaid(
    module: ModuleContext, after: ModuleContext, unit: Unit, old: Unit | None, style: Style
) -> list[Edit]:
    """The edit that lays one unit out, if it should be and is not."""
    if old is not None and not follows(old.source(module.text), style, old.indent):
        return []
    source = unit.source(after.text)
    laid_out = lay_out(source, style, unit.indent)
    if laid_out is None or laid_out == source:
        return []
    newline = newline_of(after.text)
    return [Edit(Span(unit.start, unit.end), laid_out.replace("\n", newline))]


def follows(source: str, style: Style, indent: str) -> bool:
    """Whether a statement has the layout that the rules give it."""
    return lay_out(source, style, indent) == source


def line_edits(before: str, after: str) -> tuple[Edit, ...]:
    """The edits of whole lines that turn one text into the other."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    position = [0]
    for line in old:
        position.append(position[-1] + len(line))
    middle = SequenceMatcher(
        None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False
    )
    edits: list[Edit] = []
    for tag, i1, i2, j1, j2 in middle.get_opcodes():
        if tag != "equal":
            span = Span(position[head + i1], position[head + i2])
            edits.append(Edit(span, "".join(new[head + j1 : head + j2])))
    return tuple(edits)


def _common(first: list[str], second: list[str]) -> int:
    count = 0
    for left, right in zip(first, second, strict=False):
        if left != right:
            break
        count += 1
    return count
