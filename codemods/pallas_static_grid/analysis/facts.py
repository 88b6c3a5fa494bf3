"""What the analysis hands on for one launch."""

from __future__ import annotations

from dataclasses import dataclass

from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.project import Project
from pallas_static_grid.analysis.values import LaunchSite, Value
from pallas_static_grid.model import Launch


@dataclass(frozen=True, slots=True, eq=False)
class LaunchFacts:
    """One launch of a module: its report so far and everything known of its arguments.

    `ordinal` counts the launches of the file in source order. `grid` is the evaluated grid, `dims`
    its entries in order (the joined values over every evaluation in sight). `siblings` are
    all launches of the file, this one included.
    """

    ordinal: int
    launch: Launch
    module: ModuleContext
    site: LaunchSite
    grid: Value | None
    dims: tuple[Value, ...]
    siblings: tuple[LaunchSite, ...]
    project: Project | None = None
    """Where other users of what the launch uses are looked for."""
