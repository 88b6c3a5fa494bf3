"""What a transform is."""

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

    @property
    def name(self) -> str:
        """The public name: that of the module."""
        ...

    def plan(self, facts: LaunchFacts, context: PlanContext) -> EditGroup | Refusal | None:
        """The edits, a refusal, or None where the transform has nothing to do."""
        ...


@dataclass(frozen=True, slots=True)
class Registered:
    """A transform by its public name and its `plan` function."""

    name: str
    function: Planner

    def plan(self, facts: LaunchFacts, context: PlanContext) -> EditGroup | Refusal | None:
        """See `Transform.plan`."""
        return self.function(facts, context)


class Planner(Protocol):
    """The `plan` function of a transform's module."""

    def __call__(self, facts: LaunchFacts, context: PlanContext) -> EditGroup | Refusal | None:
        """Plan one launch."""
        ...
