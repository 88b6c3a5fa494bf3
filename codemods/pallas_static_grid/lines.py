"""Lines of a rewritten text, traced back to the original one."""

from __future__ import annotations

from dataclasses import replace
from difflib import SequenceMatcher

from pallas_static_grid.model import Bound, Dim, Launch, Refusal, Step
from pallas_static_grid.source import split_lines


class LineMap:
    """From the lines of `new` to those of `old` (both count from 1)."""

    def __init__(self, old: str, new: str) -> None:
        self._blocks = (
            []
            if old == new
            else SequenceMatcher(None, split_lines(old), split_lines(new), False).get_opcodes()
        )

    def line(self, line: int) -> int:
        """The line of the old text that became `line`, or the one nearest to it."""
        at = line - 1
        for _, i1, i2, j1, j2 in self._blocks:
            if j1 <= at < j2:
                return min(i1 + (at - j1), max(i1, i2 - 1)) + 1
        return line

    def refusal(self, refusal: Refusal, path: str) -> Refusal:
        """A refusal whose place is in the old text, where it is in the file `path`."""
        return replace(refusal, line=self.line(refusal.line)) if refusal.path == path else refusal

    def dimensions(self, launch: Launch, later: Launch) -> Launch:
        """`launch` with the dimensions of `later`, which point into the old text then."""
        return replace(launch, dims=tuple(self._dim(dim, launch.path) for dim in later.dims))

    def _dim(self, dim: Dim, path: str) -> Dim:
        bound = None if dim.bound is None else self._bound(dim.bound, path)
        return replace(dim, why=self._steps(dim.why, path), bound=bound)

    def _bound(self, bound: Bound, path: str) -> Bound:
        return replace(bound, evidence=self._steps(bound.evidence, path))

    def _steps(self, steps: tuple[Step, ...], path: str) -> tuple[Step, ...]:
        return tuple(
            replace(step, line=self.line(step.line)) if step.path == path else step
            for step in steps
        )
