"""Refusals raised where a part of a plan finds that it cannot be done soundly."""

from __future__ import annotations

from pallas_static_grid.analysis.kernel_facts import LaunchShape
from pallas_static_grid.catalogue import REFUSALS
from pallas_static_grid.model import Refusal


class Refused(Exception):
    """A plan that ends in a refusal."""

    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal
        super().__init__(refusal.reason)


def refused(
    shape: LaunchShape, code: str, reason: str, *, line: int | None = None, hint: str | None = None
) -> Refused:
    """A refusal at `line` (the launch by default) with the catalogue's advice by default."""
    advice = REFUSALS[code].next_step if hint is None else hint
    return Refused(Refusal(code, reason, shape.path, shape.line if line is None else line, advice))


__all__ = ["Refused", "refused"]
