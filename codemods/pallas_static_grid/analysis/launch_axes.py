"""The axes of a grid: their entries, bounds and order, and counts that are operands already."""

from __future__ import annotations

import ast

from pallas_static_grid.analysis.facts import LaunchFacts
from pallas_static_grid.analysis.kernel_facts import (
    ROOT,
    AxisFacts,
    Code,
    CountOperand,
    OperandFacts,
    Semantics,
)
from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.values import (
    Arg,
    Array,
    Float,
    Function,
    LaunchSite,
    Partial,
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


def count_operands(
    facts: LaunchFacts, axes: tuple[AxisFacts, ...], operands: tuple[OperandFacts, ...]
) -> tuple[CountOperand | None, ...]:
    """Per axis: the operand that holds its live count already."""
    return tuple(_count_operand(facts, axis, operands) if axis.dynamic else None for axis in axes)


def _count_operand(
    facts: LaunchFacts, axis: AxisFacts, operands: tuple[OperandFacts, ...]
) -> CountOperand | None:
    if axis.code is None:
        return None
    found = ast.parse(f"({axis.code.text}\n)", mode="eval").body
    if isinstance(found, ast.Name):
        found = _bound_once(facts, found) or found
    roots = {
        operand.text: operand
        for operand in operands
        if operand.text is not None and operand.text.isidentifier() and _readable(operand)
    }
    rewriter = _Rooted(frozenset(roots))
    copy = rewriter.visit(ast.parse(ast.unparse(found), mode="eval").body)
    if len(rewriter.used) != 1 or not _only_globals(facts, copy):
        return None
    operand = roots[rewriter.used.pop()]
    return None if operand.reassigned else CountOperand(operand.index, ast.unparse(copy))


def _readable(operand: OperandFacts) -> bool:
    """Whether the kernel finds the whole operand in its ref on every step."""
    spec = operand.spec
    if operand.prefetched or spec is None or spec.memory in ("whole", "smem"):
        return True
    components = spec.index_map.components if spec.index_map is not None else ()
    return (
        spec.memory == "windowed"
        and all(c.kind == "constant" for c in components or ())
        and components is not None
    )


class _Rooted(ast.NodeTransformer):
    """Elements of operands at literal places, with `ROOT` for the operand's name."""

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names
        self.used: set[str] = set()

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """`counts[0]`, `batch.counts[0]`, `metadata[2][0]`."""
        root = self._root(node)
        if root is None or root.id not in self.names:
            self.generic_visit(node)
            return node
        self.used.add(root.id)
        root.id = ROOT
        return node

    def _root(self, node: ast.expr) -> ast.Name | None:
        match node:
            case ast.Name():
                return node
            case ast.Subscript(value=inner, slice=ast.Constant(value=int(place))) if place >= 0:
                return self._root(inner)
            case ast.Attribute(value=inner, attr=attr) if attr not in ("shape", "dtype", "at"):
                return self._root(inner)
            case _:
                return None


def _only_globals(facts: LaunchFacts, expression: ast.expr) -> bool:
    """Whether the kernel can compute the expression from the operand and global names."""
    kernel = facts.site.args["kernel"].value if "kernel" in facts.site.args else None
    kernel = kernel.func if isinstance(kernel, Partial) else kernel
    if not isinstance(kernel, Function) or kernel.module is not facts.module:
        return False
    hidden = {arg.arg for arg in ast.walk(kernel.node) if isinstance(arg, ast.arg)}
    hidden |= _stored(kernel.node)
    outer = kernel.scope
    while outer.parent is not None:
        hidden |= set(outer.names)
        outer = outer.parent
    names = {n.id for n in ast.walk(expression) if isinstance(n, ast.Name)} - {ROOT}
    if facts.site.function_node is not None:
        hidden |= _stored(facts.site.function_node)
        hidden |= {a.arg for a in ast.walk(facts.site.function_node) if isinstance(a, ast.arg)}
    return all(name in outer.names and name not in hidden for name in names)


def _stored(node: ast.AST) -> set[str]:
    return {
        n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }


def _bound_once(facts: LaunchFacts, name: ast.Name) -> ast.expr | None:
    """The value of a local name that is bound once."""
    where = facts.site.function_node
    if where is None:
        return None
    values = [
        n.value
        for n in ast.walk(where)
        if isinstance(n, ast.Assign)
        and any(isinstance(t, ast.Name) and t.id == name.id for t in n.targets)
    ]
    stores = sum(
        isinstance(n, ast.Name) and n.id == name.id and isinstance(n.ctx, ast.Store)
        for n in ast.walk(where)
    )
    return values[0] if len(values) == 1 and stores == 1 else None
