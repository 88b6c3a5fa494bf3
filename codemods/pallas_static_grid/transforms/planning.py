"""Which transform takes a launch, and which reason is given where none does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pallas_static_grid.analysis.facts import LaunchFacts
from pallas_static_grid.catalogue import OPT_IN
from pallas_static_grid.model import EditGroup, Options, Refusal
from pallas_static_grid.transforms.base import PlanContext, Transform

_GENERAL = ("no-bound", "not-supported")
"""Refusals that say least, the least telling last."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What the transforms say of a launch at one stage."""

    group: EditGroup | None
    refusals: tuple[tuple[str, Refusal], ...] = ()
    """The transforms that refused, in order, each with its reason."""

    @property
    def refusal(self) -> Refusal | None:
        """The most specific of the reasons."""
        ranked = sorted(
            (refusal for _, refusal in self.refusals), key=lambda refusal: _rank(refusal.code)
        )
        return ranked[0] if ranked else None


def plan_launch(
    facts: LaunchFacts, context: PlanContext, transforms: Sequence[Transform]
) -> Decision:
    """The edits of the first transform that has any; refusals count only where none has."""
    refusals: list[tuple[str, Refusal]] = []
    for transform in transforms:
        found = transform.plan(facts, context)
        if isinstance(found, EditGroup):
            return Decision(found)
        if found is not None:
            refusals.append((transform.name, found))
    return Decision(None, tuple(refusals))


def usable(transforms: Sequence[Transform], options: Options) -> tuple[Transform, ...]:
    """The transforms that `--select` and `--ignore` leave."""
    return tuple(
        transform
        for transform in transforms
        if (transform.name in options.select if options.select else transform.name not in OPT_IN)
        and transform.name not in options.ignore
    )


def _rank(code: str) -> int:
    return _GENERAL.index(code) + 1 if code in _GENERAL else 0
