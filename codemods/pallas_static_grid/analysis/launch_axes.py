"""The axes of a grid: their entries, bounds and order."""

from __future__ import annotations

import ast

from pallas_static_grid.analysis.facts import LaunchFacts
from pallas_static_grid.analysis.kernel_facts import AxisFacts, Code, Semantics
from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.values import (
    Arg,
    Array,
    Float,
    LaunchSite,
    Tuple,
    Value,
    options,
)
from pallas_static_grid.model import Span

_IN_ORDER: Semantics = "sequential"
_UNKNOWN: Semantics = "unknown"
_SEMANTICS: dict[str, Semantics] = {
    "parallel": "parallel",
    "PARALLEL": "parallel",
    "core_parallel": "parallel",
    "CORE_PARALLEL": "parallel",
    "subcore_parallel": "parallel",
    "arbitrary": "sequential",
    "ARBITRARY": "sequential",
    "sequential": "sequential",
}


def grid_display(facts: LaunchFacts) -> ast.Tuple | ast.List | None:
    """The display that the grid is written as, at the launch or where its name is bound."""
    arg = facts.site.spec_arg("grid")
    if arg is None:
        return None
    if isinstance(arg.node, ast.Tuple | ast.List):
        return arg.node
    if not isinstance(arg.value, Tuple) or not arg.value.nodes:
        return None
    wanted = arg.value.nodes[0]
    for node in ast.walk(facts.module.tree):
        if isinstance(node, ast.Tuple | ast.List) and wanted in node.elts:
            return node
    return None


def axes_of(facts: LaunchFacts, display: ast.Tuple | ast.List | None) -> tuple[AxisFacts, ...]:
    """One entry per grid axis, in order."""
    module = facts.module
    semantics = _semantics(facts.site, len(facts.launch.dims))
    out: list[AxisFacts] = []
    plain = display is not None and len(display.elts) == len(facts.launch.dims)
    by_name = None if plain else _tuple_name(facts)
    for dim in facts.launch.dims:
        node = display.elts[dim.index] if plain and display is not None else None
        name = None
        match node:
            case ast.Tuple(elts=[ast.Constant(value=str(label)), size]):
                name, node = label, size
            case ast.Starred():
                node = None
            case _:
                pass
        bound = dim.bound
        out.append(
            AxisFacts(
                dim.index,
                _entry_code(facts, by_name, dim.index) if node is None else _code(module, node),
                name,
                dim.verdict == "dynamic",
                None if bound is None else bound.expression,
                None if bound is None else bound.kind,
                semantics[dim.index],
                facts.launch.line if node is None else node.lineno,
                dim.index < len(facts.dims) and _is_float(facts.dims[dim.index]),
                bound is not None and bound.expression == "1",
            )
        )
    return tuple(out)


def _tuple_name(facts: LaunchFacts) -> ast.Name | None:
    """The name that the launch gives as its grid, where it is one of several tuples."""
    arg = facts.site.spec_arg("grid")
    if arg is None or not isinstance(arg.node, ast.Name):
        return None
    rank = len(facts.launch.dims)
    found = list(options(arg.value))
    tuples = all(isinstance(v, Tuple) and len(v.items) == rank for v in found)
    entries = [i for v in found if isinstance(v, Tuple) for i in v.items]
    named = any(isinstance(item, Tuple) for item in entries)
    return arg.node if tuples and not named else None


def _entry_code(facts: LaunchFacts, name: ast.Name | None, index: int) -> Code | None:
    """An entry of a tuple that is only known by name: `grid[1]`."""
    if name is None:
        return None
    return Code(Span(*facts.module.span(name)), f"{name.id}[{index}]")


def _is_float(value: Value) -> bool:
    return any(
        isinstance(v, Float) or (isinstance(v, Array) and (v.dtype or "").startswith("float"))
        for v in options(value)
    )


def _code(module: ModuleContext, node: ast.expr) -> Code:
    return Code(Span(*module.span(node)), module.segment(node))


def _semantics(site: LaunchSite, rank: int) -> tuple[Semantics, ...]:
    """Whether each axis runs in order: as `dimension_semantics` says, in order by default."""
    arg = site.args.get("compiler_params")
    if arg is None or arg.node is None:
        return (_IN_ORDER,) * rank
    given = _keyword(site, arg, "dimension_semantics")
    if given is None:
        known = _is_params(_followed(site, arg.node))
        return (_IN_ORDER if known else _UNKNOWN,) * rank
    if isinstance(given, ast.Tuple | ast.List) and len(given.elts) == rank:
        return tuple(_one(element) for element in given.elts)
    return (_UNKNOWN,) * rank


def _is_params(node: ast.expr) -> bool:
    """Whether compiler params are written out, so that what is not given is not set."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return name.endswith("CompilerParams")
        case ast.Dict():
            return True
        case ast.Constant(value=None):
            return True
        case _:
            return False


def _followed(site: LaunchSite, node: ast.expr) -> ast.expr:
    """The expression that a local name is bound to, where it is bound once."""
    if not isinstance(node, ast.Name):
        return node
    found = [
        n.value
        for n in ast.walk(site.function_node or site.module.tree)
        if isinstance(n, ast.Assign)
        and any(isinstance(t, ast.Name) and t.id == node.id for t in n.targets)
    ]
    return found[0] if len(found) == 1 else node


def _keyword(site: LaunchSite, arg: Arg, name: str) -> ast.expr | None:
    node = None if arg.node is None else _followed(site, arg.node)
    if isinstance(node, ast.Call):
        for keyword in node.keywords:
            if keyword.arg == name:
                return _followed(site, keyword.value)
            if keyword.arg is None:
                return ast.Name(id="?", ctx=ast.Load())
    if isinstance(node, ast.Dict):
        for inner in ast.walk(node):
            if isinstance(inner, ast.Dict):
                for key, value in zip(inner.keys, inner.values, strict=True):
                    if isinstance(key, ast.Constant) and key.value == name:
                        return value
    return None


def _one(node: ast.expr) -> Semantics:
    match node:
        case ast.Constant(value=str(word)):
            return _SEMANTICS.get(word, "unknown")
        case ast.Attribute(attr=word) | ast.Name(id=word):
            return _SEMANTICS.get(word, "unknown")
        case _:
            return "unknown"
