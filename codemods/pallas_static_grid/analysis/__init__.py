"""Finding launches, judging their grids, bounding them: everything that reads and never writes."""

from __future__ import annotations

import ast

from pallas_static_grid.analysis.blockers import with_blockers
from pallas_static_grid.analysis.bounds import with_bounds
from pallas_static_grid.analysis.facts import LaunchFacts
from pallas_static_grid.analysis.interpret.interpreter import Interpreter
from pallas_static_grid.analysis.launches import find_sites, grid_argument
from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.project import Project
from pallas_static_grid.analysis.staticness import Grid, judge_grid
from pallas_static_grid.analysis.values import LaunchSite
from pallas_static_grid.model import Dim, Launch, Step, UserBound


def analyse(
    module: ModuleContext, project: Project, bounds: tuple[UserBound, ...] = ()
) -> tuple[LaunchFacts, ...]:
    """Every launch of a module in source order, judged, bounded, with its blockers."""
    run, sites = find_sites(module, project)
    out: list[LaunchFacts] = []
    for ordinal, site in enumerate(sites):
        value, node, _ = grid_argument(site)
        grid = _judged(run, site)
        launch = _launch(module, site, grid, node)
        facts = LaunchFacts(
            ordinal,
            launch,
            module,
            site,
            value,
            tuple(entry.value for entry in grid.entries),
            tuple(sites),
            project,
        )
        out.append(with_blockers(with_bounds(facts, bounds)))
    return tuple(out)


def _judged(run: Interpreter, site: LaunchSite) -> Grid:
    value, node, _ = grid_argument(site)
    if site.node in run.opaque_sites:
        reason = "the grid is handed in: it is judged where this wrapper is called"
        line = site.node.lineno
        step = Step(site.module.path, line, site.module.line_text(line), reason)
        return Grid("opaque", "unknown", (step,), ())
    if value is None and site.api in {"wrapper", "subscript"}:
        reason = "what this call hands on as the grid is out of sight"
        line = site.node.lineno
        step = Step(site.module.path, line, site.module.line_text(line), reason)
        return Grid("opaque", "unknown", (step,), ())
    if value is None and site.hidden:
        reason = "arguments of this launch come from out of sight (`**`)"
        line = site.node.lineno
        step = Step(site.module.path, line, site.module.line_text(line), reason)
        return Grid("opaque", "unknown", (step,), ())
    return judge_grid(site.module, value, node, site.node)


def _launch(module: ModuleContext, site: LaunchSite, grid: Grid, node: ast.expr | None) -> Launch:
    call = site.node
    return Launch(
        path=module.path,
        line=call.lineno,
        column=module.column(call),
        end_line=call.end_lineno or call.lineno,
        api=site.api,
        function=site.function,
        function_line=getattr(site.function_node, "lineno", 1) or 1,
        grid=module.flat(node) if node is not None else None,
        grid_kind=grid.kind,
        verdict=grid.verdict,
        why=grid.why,
        dims=tuple(
            Dim(index, entry.expression, entry.verdict, entry.why)
            for index, entry in enumerate(grid.entries)
        ),
        call_lines=tuple(sorted({c.node.lineno for c in site.calls})),
    )
