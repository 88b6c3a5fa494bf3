"""Grids that are built in the two branches of an `if`, one static and one dynamic."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_static_grid.analysis.facts import LaunchFacts
from pallas_static_grid.analysis.values import LaunchSite
from pallas_static_grid.analysis.walk_values import Given


def dynamic_branch(facts: LaunchFacts, axis: int) -> Given | None:
    """The condition under which a dimension is dynamic, where it is a plain local name."""
    site = facts.site
    function, grid = site.function_node, grid_name(site)
    if grid is None or not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    lines = {step.line for step in facts.launch.dims[axis].why if step.path == site.module.path}
    for node in own_statements(function):
        if not isinstance(node, ast.If) or not node.orelse:
            continue
        name, truth = _name_of(node.test)
        if name is None or _bindings(function, name) != 1:
            continue
        sides = [_assigns(body, grid) for body in (node.body, node.orelse)]
        touched = [bool(lines & _lines(body)) for body in (node.body, node.orelse)]
        if all(sides) and touched[0] != touched[1]:
            return Given(name, function, touched[0] == truth, site.module.segment(node))
    return None


def grid_name(site: LaunchSite) -> str | None:
    """The name under which the grid is handed to the launch or to its grid spec."""
    arg = site.spec_arg("grid")
    return arg.node.id if arg is not None and isinstance(arg.node, ast.Name) else None


def own_statements(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.stmt]:
    """The statements of a function, without those of functions inside it."""
    stack: list[ast.stmt] = list(function.body)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            stack.extend(c for c in ast.iter_child_nodes(node) if isinstance(c, ast.stmt))


def _name_of(test: ast.expr) -> tuple[str | None, bool]:
    match test:
        case ast.Name(id=name):
            return name, True
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=name)):
            return name, False
        case _:
            return None, True


def _bindings(function: ast.AST, name: str) -> int:
    """How often a name is bound in a function (parameters included)."""
    return sum(
        (isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store))
        or (isinstance(n, ast.arg) and n.arg == name)
        for n in ast.walk(function)
    )


def _assigns(body: list[ast.stmt], name: str) -> bool:
    return any(
        isinstance(t, ast.Name) and t.id == name
        for s in body
        if isinstance(s, ast.Assign)
        for t in s.targets
    )


def _lines(body: list[ast.stmt]) -> set[int]:
    return {n for s in body for n in range(s.lineno, (s.end_lineno or s.lineno) + 1)}
