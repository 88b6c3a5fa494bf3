"""In whose grid the functions nested in a kernel run: the launch's, or that of a pipeline inside.

`emit_pipeline(body, grid=...)` runs its body in a grid of its own, and that is the one of which
`program_id` and `num_programs` then speak.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Grid = Literal["own", "other", "unclear"]

_SAME_GRID = frozenset(
    {
        "when",
        "cond",
        "switch",
        "fori_loop",
        "while_loop",
        "scan",
        "map",
        "tree_map",
        "reduce",
        "associative_scan",
        "vmap",
        "run_scoped",
        "run_state",
        "platform_dependent",
        "loop",
        "nd_loop",
        "parallel_loop",
        "named_scope",
        "named_call",
        "jit",
        "checkpoint",
        "remat",
    }
)
"""What runs the functions that it is given where it stands, by the last part of its name."""
_OWN_GRID = ("emit_pipeline", "pallas_call", "core_map")
"""What runs them in a grid of their own, by how its name begins."""


def grids_of(kernel: FunctionNode) -> dict[FunctionNode, frozenset[Grid]]:
    """For each function nested in `kernel`, the grids it may run in; nothing if it never runs."""
    found = _Mentions()
    found.body(kernel)
    grids: dict[FunctionNode, frozenset[Grid]] = {kernel: frozenset(("own",))}
    changed = True
    while changed:
        changed = False
        for holder, name, how in found.edges:
            there = grids.get(holder, frozenset()) if how == "own" else frozenset((how,))
            for function in found.named(name):
                known = grids.get(function, frozenset())
                if there - known:
                    grids[function] = known | there
                    changed = True
    return grids


@dataclass(slots=True)
class _Mentions:
    """Who mentions which nested function, and how: it is called, or handed to something."""

    functions: dict[str, list[FunctionNode]] = field(default_factory=dict)
    edges: list[tuple[FunctionNode, str | FunctionNode, Grid]] = field(default_factory=list)

    def named(self, name: str | FunctionNode) -> Iterable[FunctionNode]:
        """The nested functions that a mention may mean."""
        return self.functions.get(name, ()) if isinstance(name, str) else (name,)

    def body(self, function: FunctionNode) -> None:
        """Look through the text of a function."""
        parts = [function.body] if isinstance(function, ast.Lambda) else function.body
        for part in parts:
            self._look(part, function, "unclear")

    def _look(self, node: ast.AST, holder: FunctionNode, how: Grid) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.functions.setdefault(node.name, []).append(node)
                for decorator in node.decorator_list:
                    self.edges.append((holder, node, _given_to(decorator) or "unclear"))
                    self._look(decorator, holder, "unclear")
                self.body(node)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda() as function):
                self.functions.setdefault(name, []).append(function)
                self.body(function)
            case ast.Lambda():
                self.edges.append((holder, node, how))
                self.body(node)
            case ast.Name(id=name, ctx=ast.Load()):
                self.edges.append((holder, name, how))
            case ast.Call(func=func):
                self._look(func, holder, "own")
                given = _given_to(func, node) or how
                for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
                    self._look(argument, holder, given)
            case ast.List() | ast.Tuple() | ast.Starred() | ast.IfExp() | ast.expr_context():
                for child in ast.iter_child_nodes(node):
                    self._look(child, holder, how)
            case _:
                for child in ast.iter_child_nodes(node):
                    self._look(child, holder, "unclear")


def _given_to(func: ast.expr, call: ast.Call | None = None) -> Grid | None:
    """Where something runs the functions that it is given; None for `partial`, which runs none."""
    match func:
        case ast.Call(func=inner):
            # `pl.when(...)`, `partial(pl.run_scoped, ...)`: what it gives is what is called.
            return _given_to(inner, func)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            if name == "partial":
                first = call.args[0] if call is not None and call.args else None
                return _runner(first)
            return _runner(func) or "unclear"
        case _:
            return "unclear"


def _runner(node: ast.expr | None) -> Grid | None:
    """What something is known to do with the functions that it is given."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            if name.startswith(_OWN_GRID):
                return "other"
            return "own" if name in _SAME_GRID else None
        case _:
            return None


__all__ = ["Grid", "grids_of"]
