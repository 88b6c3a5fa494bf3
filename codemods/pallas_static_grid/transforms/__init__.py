"""The transforms, in the order in which they are tried on a launch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pallas_static_grid.analysis.facts import LaunchFacts
from pallas_static_grid.model import EditGroup, Refusal, Target


@dataclass(frozen=True, slots=True)
class PlanContext:
    """What a plan depends on besides the launch."""

    target: Target = "auto"
    mask_free: bool = False
    line_length: int = 88


class Transform(Protocol):
    """One rewrite of a launch; pure: it neither prints, writes nor changes its input."""

    name: str

    def plan(self, facts: LaunchFacts, context: PlanContext) -> EditGroup | Refusal | None:
        """The edits, a refusal, or None where the transform has nothing to do."""
        ...
