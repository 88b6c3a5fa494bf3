"""Index maps: what each block index depends on, and how."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace

from pallas_static_grid.analysis.kernel_facts import Code, Component, MapFacts
from pallas_static_grid.analysis.kernel_helpers import helper_reads
from pallas_static_grid.analysis.kernel_reads import (
    FunctionNode,
    all_parameters,
    look_up,
    reads_in,
)
from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.scopes import Scope
from pallas_static_grid.analysis.symbolic import Num
from pallas_static_grid.analysis.values import Arg, Function, Int, Partial, Value, options
from pallas_static_grid.model import Span

_CONSTANT = Component("constant")
_MOST_TABLES = 32


@dataclass(frozen=True, slots=True)
class _Table:
    """A prefetched operand (or a part of it): subscripting it by a step reads memory."""


@dataclass(slots=True)
class _Body:
    """The evaluation of one index map's body."""

    rank: int
    scope: Scope | None
    names: dict[str, Component | _Table | tuple[Component | _Table, ...]]
    returned: list[tuple[Component, ...] | None] = field(default_factory=list)
    """What each `return` gives as block indices; None where that could not be followed."""
    results: list[Component | _Table | tuple[Component | _Table, ...]] = field(default_factory=list)
    """What each `return` gives as it is."""
    depth: int = 0


def map_facts(module: ModuleContext, argument: Arg, rank: int) -> MapFacts | None:
    """The facts of the index map given as `argument`; None where it is not in sight."""
    if argument.node is None:
        return None
    code = Code(Span(*module.span(argument.node)), module.segment(argument.node))
    values = list(options(argument.value))
    if len(values) != 1:
        return None
    value, bound = _unwrapped(values[0])
    if not isinstance(value, Function) or bound is None:
        return None
    node = value.node
    here = value.module is module
    written = tuple(_as_written(node))[bound:]
    own = reads_in(value.module, node, value.scope)
    called = [
        replace(read, axis=None, line=node.lineno)
        for read in helper_reads(value.module, node, value.scope)[0]
    ]
    reads = tuple(read for read in (*own, *called) if read.kind == "num_programs")
    components = components_of(node, value.scope, rank, bound + int(value.self_value is not None))
    own_lambda = node is argument.node
    return MapFacts(
        code,
        here,
        written,
        components,
        reads,
        any(c.kind == "table" for c in components or ()),
        Span(*module.span(node)) if isinstance(node, ast.Lambda) and own_lambda else None,
        None if isinstance(node, ast.Lambda) else node.name,
        _is_bare(node),
    )


def _is_bare(node: FunctionNode) -> bool:
    """Whether some path returns something other than a display of indices."""
    if isinstance(node, ast.Lambda):
        return not isinstance(node.body, ast.Tuple | ast.List)
    returned = [n.value for n in ast.walk(node) if isinstance(n, ast.Return)]
    return any(not isinstance(value, ast.Tuple | ast.List) for value in returned)


def _unwrapped(value: Value) -> tuple[Value, int | None]:
    """The function under `functools.partial`, and how many positionals that binds."""
    bound = 0
    while isinstance(value, Partial):
        if any(isinstance(a, Partial) for a in value.args):
            return value, None
        bound += len(value.args)
        value = value.func
    return value, bound


def _as_written(node: FunctionNode) -> list[str]:
    out = []
    for arg in all_parameters(node):
        star = "*" if arg is node.args.vararg else "**" if arg is node.args.kwarg else ""
        out.append(star + arg.arg)
    return out


def components_of(
    node: FunctionNode, scope: Scope | None, rank: int, bound: int = 0
) -> tuple[Component, ...] | None:
    """The block indices that an index map over `rank` grid axes returns."""
    names: dict[str, Component | _Table | tuple[Component | _Table, ...]] = {}
    positional = [*node.args.posonlyargs, *node.args.args]
    for place, arg in enumerate(positional):
        axis = place - bound
        if axis < 0:
            names[arg.arg] = _CONSTANT
        elif axis < rank:
            names[arg.arg] = Component("axis", frozenset({axis}))
        else:
            defaulted = place >= len(positional) - len(node.args.defaults)
            names[arg.arg] = _Table() if not defaulted else Component("other")
    if node.args.vararg is not None:
        first = max(len(positional) - bound, 0)
        axes = [Component("axis", frozenset({axis})) for axis in range(first, rank)]
        # Behind the steps come the prefetched operands, however many there are.
        names[node.args.vararg.arg] = (*axes, *[_Table()] * _MOST_TABLES)
    for arg in node.args.kwonlyargs:
        names[arg.arg] = _CONSTANT
    body = _Body(rank, scope, names)
    if isinstance(node, ast.Lambda):
        body.returned.append(_as_blocks(node.body, _evaluate(node.body, body)))
    else:
        _run(node.body, body)
    if not body.returned or any(r is None for r in body.returned):
        return None
    results = [r for r in body.returned if r is not None]
    if len({len(r) for r in results}) != 1:
        return None
    return tuple(_join(list(column)) for column in zip(*results, strict=True))


def _run(statements: list[ast.stmt], body: _Body) -> None:
    for statement in statements:
        match statement:
            case ast.Return(value=None):
                body.returned.append(None)
            case ast.Return(value=ast.expr() as value):
                result = _evaluate(value, body)
                body.results.append(result)
                body.returned.append(_as_blocks(value, result))
            case ast.Assign(targets=[target], value=value):
                _assign(target, value, body)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                _assign(target, value, body)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                old = ast.Name(id=name, ctx=ast.Load())
                body.names[name] = _evaluate(ast.BinOp(old, op, value), body)
            case ast.If(body=yes, orelse=no):
                before = dict(body.names)
                _run(yes, body)
                after = body.names
                body.names = dict(before)
                _run(no, body)
                body.names = _merged(after, body.names)
            case ast.Delete() | ast.Pass() | ast.Assert() | ast.Expr() | ast.FunctionDef():
                pass
            case ast.Raise():
                pass
            case _:
                body.returned.append(None)


def _merged(
    one: dict[str, Component | _Table | tuple[Component | _Table, ...]],
    other: dict[str, Component | _Table | tuple[Component | _Table, ...]],
) -> dict[str, Component | _Table | tuple[Component | _Table, ...]]:
    out: dict[str, Component | _Table | tuple[Component | _Table, ...]] = {}
    for name in {*one, *other}:
        a, b = one.get(name), other.get(name)
        if a is None or b is None or a == b:
            merged = a if b is None else b
            assert merged is not None
            out[name] = merged
        else:
            out[name] = _join([_flat(a), _flat(b)])
    return out


def _flat(value: Component | _Table | tuple[Component | _Table, ...]) -> Component:
    if isinstance(value, tuple):
        return _combined([_flat(v) for v in value])
    return Component("table") if isinstance(value, _Table) else value


def _assign(target: ast.expr, value: ast.expr, body: _Body) -> None:
    result = _evaluate(value, body)
    if isinstance(target, ast.Name):
        body.names[target.id] = result
        return
    if isinstance(target, ast.Tuple | ast.List):
        parts: list[Component | _Table | tuple[Component | _Table, ...]]
        if isinstance(result, tuple) and len(result) == len(target.elts):
            parts = list(result)
        else:
            parts = [result if not isinstance(result, tuple) else _flat(result)] * len(target.elts)
        for element, part in zip(target.elts, parts, strict=True):
            inner = element.value if isinstance(element, ast.Starred) else element
            if isinstance(inner, ast.Name):
                body.names[inner.id] = part


def _as_blocks(
    node: ast.expr, result: Component | _Table | tuple[Component | _Table, ...]
) -> tuple[Component, ...] | None:
    """A returned value as block indices."""
    if isinstance(result, tuple):
        return tuple(_flat(part) for part in result)
    if isinstance(node, ast.Call | ast.Starred | ast.IfExp) and not isinstance(result, _Table):
        return None
    return (_flat(result),)


def _evaluate(node: ast.expr, body: _Body) -> Component | _Table | tuple[Component | _Table, ...]:
    match node:
        case ast.Constant(value=int()):
            return Component("constant", literal=True)
        case ast.Name(id=name):
            return body.names.get(name, _CONSTANT)
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            return _elements(elts, body)
        case ast.Subscript(value=base, slice=index):
            return _subscript(_evaluate(base, body), index, body)
        case ast.BinOp(left=left, op=op, right=right):
            return _binary(_flat(_evaluate(left, body)), op, _flat(_evaluate(right, body)), right)
        case ast.Call(func=function, args=args) if not node.keywords:
            return _call(function, args, body)
        case ast.IfExp(body=yes, orelse=no):
            return _either(_evaluate(yes, body), _evaluate(no, body))
        case _:
            parts = [c for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr)]
            return _combined([_flat(_evaluate(part, body)) for part in parts])


def _elements(elts: list[ast.expr], body: _Body) -> tuple[Component | _Table, ...]:
    out: list[Component | _Table] = []
    for element in elts:
        if isinstance(element, ast.Starred):
            inner = _evaluate(element.value, body)
            out.extend(inner if isinstance(inner, tuple) else (Component("other"),))
            continue
        part = _evaluate(element, body)
        out.append(_flat(part) if isinstance(part, tuple) else part)
    return tuple(out)


def _either(
    one: Component | _Table | tuple[Component | _Table, ...],
    other: Component | _Table | tuple[Component | _Table, ...],
) -> Component | _Table | tuple[Component | _Table, ...]:
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        return tuple(_join([_flat(a), _flat(b)]) for a, b in zip(one, other, strict=True))
    return one if one == other else _join([_flat(one), _flat(other)])


def _subscript(
    base: Component | _Table | tuple[Component | _Table, ...], index: ast.expr, body: _Body
) -> Component | _Table | tuple[Component | _Table, ...]:
    at = _flat(_evaluate(index, body))
    if isinstance(base, tuple):
        place = index.value if isinstance(index, ast.Constant) else None
        if isinstance(place, int) and -len(base) <= place < len(base):
            return base[place]
        return _combined([at, *(_flat(part) for part in base)])
    if isinstance(base, _Table):
        # A leaf of a tree of tables, or an element that no step chooses: still a table to read on.
        return Component("table", at.axes) if at.axes or at.kind == "table" else _Table()
    if at.axes or base.axes:
        return Component("table" if base.kind != "constant" else "other", at.axes | base.axes)
    return base


def _binary(left: Component, op: ast.operator, right: Component, divisor: ast.expr) -> Component:
    axes = left.axes | right.axes
    if left.kind == "table" or right.kind == "table":
        return Component("table", axes)
    if not axes:
        return _CONSTANT
    one_sided = not (left.axes and right.axes)
    simple = left.kind in ("axis", "affine", "constant") and right.kind in (
        "axis",
        "affine",
        "constant",
    )
    if isinstance(op, ast.Add | ast.Sub) and one_sided and simple:
        return Component("affine", axes)
    if isinstance(op, ast.Mult) and one_sided and simple:
        factor = divisor if right.kind == "constant" else None
        nonzero = isinstance(factor, ast.Constant) and factor.value not in (0, False)
        return Component("affine" if nonzero else "other", axes)
    if isinstance(op, ast.FloorDiv) and not right.axes and simple:
        return Component("monotone", axes)
    return Component("other", axes)


def _call(
    function: ast.expr, args: list[ast.expr], body: _Body
) -> Component | _Table | tuple[Component | _Table, ...]:
    parts = [_evaluate(arg, body) for arg in args]
    if isinstance(function, ast.Name) and function.id not in body.names:
        value = look_up(body.scope, function.id)
        if isinstance(value, Function) and not any(isinstance(a, ast.Starred) for a in args):
            return _inner(value, parts, body)
    if isinstance(function, ast.Attribute):
        # `x.astype(...)` depends on `x`; a module depends on nothing.
        parts.append(_evaluate(function.value, body))
    return _combined([_flat(part) for part in parts])


def _inner(
    function: Function,
    parts: list[Component | _Table | tuple[Component | _Table, ...]],
    body: _Body,
) -> Component | _Table | tuple[Component | _Table, ...]:
    """A helper's result: its own returns over what the arguments depend on."""
    node = function.node
    positional = [*node.args.posonlyargs, *node.args.args]
    most = len(parts) if node.args.vararg is not None else len(positional)
    given = len(positional) - len(node.args.defaults) <= len(parts) <= most
    if node.args.kwonlyargs or not given or body.depth > 4:
        return _combined([_flat(part) for part in parts])
    names = {arg.arg: _CONSTANT for arg in positional} | {
        arg.arg: part for arg, part in zip(positional, parts, strict=False)
    }
    inner = _Body(body.rank, function.scope, dict(names), depth=body.depth + 1)
    if node.args.vararg is not None:
        rest = parts[len(positional) :]
        inner.names[node.args.vararg.arg] = tuple(
            _flat(part) if isinstance(part, tuple) else part for part in rest
        )
    if isinstance(node, ast.Lambda):
        return _evaluate(node.body, inner)
    _run(node.body, inner)
    found = inner.results
    if not found or any(result is None for result in inner.returned):
        return _combined([_flat(part) for part in parts])
    out = found[0]
    for other in found[1:]:
        out = _either(out, other)
    return out


def _combined(parts: list[Component]) -> Component:
    axes: frozenset[int] = frozenset()
    for part in parts:
        axes |= part.axes
    if any(part.kind == "table" for part in parts):
        return Component("table", axes)
    return Component("other", axes) if axes else _CONSTANT


def _join(parts: list[Component]) -> Component:
    if all(part == parts[0] for part in parts):
        return parts[0]
    axes: frozenset[int] = frozenset()
    for part in parts:
        axes |= part.axes
    kinds = {part.kind for part in parts}
    if "table" in kinds:
        return Component("table", axes)
    if kinds == {"axis"} and len(axes) == 1:
        return parts[0]
    return Component("other", axes) if axes else Component("constant")


def is_literal(value: Value, number: int) -> bool:
    """Whether a value is the int literal `number`."""
    return isinstance(value, Int) and value.expr == Num(number)
