"""From an interpreted module to its launches in source order."""

from __future__ import annotations

import ast

from pallas_static_grid.analysis.interpret.interpreter import Interpreter
from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.project import Project
from pallas_static_grid.analysis.scopes import Scope
from pallas_static_grid.analysis.values import (
    Arg,
    GridSpec,
    LaunchSite,
    Union,
    Value,
    options,
)


def find_sites(module: ModuleContext, project: Project) -> tuple[Interpreter, list[LaunchSite]]:
    """Interpret a module; its launches in source order."""
    run = Interpreter(module, project)
    run.run()
    _uncalled_partials(run)
    _unused_specs(run)
    sites = sorted(run.sites.values(), key=lambda s: (s.node.lineno, s.node.col_offset))
    return run, sites


def _uncalled_partials(run: Interpreter) -> None:
    """`functools.partial(pl.pallas_call, ...)` that nothing in sight calls."""
    for node, (partial, frame) in run.partials.items():
        if node in run.launched_partials or not isinstance(node, ast.Call):
            continue
        written = {k.arg: k.value for k in node.keywords if k.arg}
        args = {k: Arg(v, written.get(k), node, k) for k, v in partial.kwargs}
        for name, value, source in zip(
            ("kernel", "out_shape"), partial.args, node.args[1:], strict=False
        ):
            args[name] = Arg(value, source, node)
        if "grid" not in args and "grid_spec" not in args:
            continue
        for option in options(args["grid_spec"].value) if "grid_spec" in args else ():
            if isinstance(option, GridSpec):
                run.used_specs.add(option.node)
        run.sites[node] = LaunchSite(
            node,
            run.module,
            "pallas_call",
            frame.scope.qualname,
            frame.root,
            frame.scope.snapshot(),
            args,
        )


def _unused_specs(run: Interpreter) -> None:
    """Grid specs that no launch in sight uses are listed as launches of their own."""
    for node, spec in run.grid_specs.items():
        if node in run.used_specs or not isinstance(node, ast.Call):
            continue
        scope, root = run.spec_scopes.get(node, (None, None))
        assert isinstance(scope, Scope)
        run.sites[node] = LaunchSite(
            node, run.module, "GridSpec", scope.qualname, root, scope, dict(spec.args)
        )


def grid_argument(site: LaunchSite) -> tuple[Value | None, ast.expr | None, Arg | None]:
    """The grid of a launch: value, expression in the module, and the argument."""
    arg = site.args.get("grid")
    if arg is not None:
        return arg.value, arg.node, arg
    spec_arg = site.args.get("grid_spec")
    if spec_arg is None:
        return None, None, None
    specs = [o for o in options(spec_arg.value) if isinstance(o, GridSpec)]
    others = [o for o in options(spec_arg.value) if not isinstance(o, GridSpec)]
    grids = [s.arg("grid") for s in specs]
    values = [g.value for g in grids if g is not None] + others
    if not values:
        return None, None, None
    first = grids[0] if grids else None
    node = first.node if first is not None and specs[0].module is site.module else None
    if len(values) == 1:
        return values[0], node, first
    return Union(tuple(values)), node, first
