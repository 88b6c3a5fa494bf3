"""Calls in sight, as they are noted for the functions that are called."""

from __future__ import annotations

from dataclasses import dataclass

from pallas_static_grid.analysis.values import Value
from pallas_static_grid.model import Step


@dataclass(eq=False, slots=True)
class Context:
    """The arguments of one call in sight, by parameter name, and where it is."""

    bound: dict[str, Value]
    step: Step
