"""Where a function reads `program_id` and `num_programs`, itself or through what it calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from pallas_static_grid.analysis.kernel_facts import Code, GridRead, ReadKind
from pallas_static_grid.analysis.kernel_nested import FunctionNode as FunctionNode
from pallas_static_grid.analysis.kernel_nested import grids_of
from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.scopes import Scope
from pallas_static_grid.analysis.values import External, Partial, Value, options
from pallas_static_grid.model import Span

READS: dict[str, ReadKind] = {
    "program_id": "program_id",
    "num_programs": "num_programs",
    "axis_index": "program_id",
    "axis_size": "num_programs",
}


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """`node` and what is below it in the same scope (inner functions without their bodies)."""
    yield node
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        below: list[ast.AST] = [*node.decorator_list, *_defaults(node)]
    elif isinstance(node, ast.Lambda):
        below = _defaults(node)
    else:
        below = list(ast.iter_child_nodes(node))
    for child in below:
        yield from own_nodes(child)


def _defaults(node: FunctionNode) -> list[ast.AST]:
    return [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]


def all_parameters(node: FunctionNode) -> tuple[ast.arg, ...]:
    """The parameters in the order in which they are written."""
    args = node.args
    named = [*args.posonlyargs, *args.args]
    if args.vararg is not None:
        named.append(args.vararg)
    named += args.kwonlyargs
    if args.kwarg is not None:
        named.append(args.kwarg)
    return tuple(named)


def body_of(node: FunctionNode) -> list[ast.AST]:
    """The statements of a def, or the expression of a lambda."""
    return [node.body] if isinstance(node, ast.Lambda) else list(node.body)


def look_up(scope: Scope | None, name: str) -> Value | None:
    """What a name is bound to as seen from `scope`."""
    while scope is not None:
        if name in scope.names:
            return scope.names[name]
        scope = scope.parent
    return None


def read_kind(call: ast.Call, scope: Scope | None) -> ReadKind | None:
    """Whether a call is `pl.program_id(...)` or `pl.num_programs(...)`, under whatever name."""
    match call.func:
        case ast.Attribute(attr=attr) if attr in READS:
            return READS[attr]
        case ast.Name(id=name):
            return _named_kind(name, scope)
        case _:
            return None


def _named_kind(name: str, scope: Scope | None) -> ReadKind | None:
    value = look_up(scope, name)
    return READS.get(name) if value is None else _kind_of(value)


def _kind_of(value: Value) -> ReadKind | None:
    """Whether something is `pl.num_programs` (or the like), maybe with arguments given to it."""
    kinds = [
        READS.get(target.name.rpartition(".")[2])
        for target in map(_target, options(value))
        if isinstance(target, External)
    ]
    return next((kind for kind in kinds if kind is not None), None)


def _mentioned(node: ast.AST, scope: Scope | None, local: frozenset[str]) -> ReadKind | None:
    """Whether an expression is `pl.num_programs` (or the like) itself, to be called elsewhere."""
    match node:
        case ast.Attribute(attr="program_id" | "num_programs" as attr):
            return READS[attr]
        case ast.Name(id=name, ctx=ast.Load()) if name in local:
            return None
        case ast.Name(ctx=ast.Load()) | ast.Attribute():
            value = resolve(node, scope)
            return None if value is None else _kind_of(value)
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(attr)), *_]):
            return READS.get(attr)
        case _:
            return None


def literal_axis(call: ast.Call) -> int | None:
    """The axis of a read, where it is an int literal."""
    last = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if last in ("axis_index", "axis_size"):
        return None
    given = [*call.args, *(k.value for k in call.keywords if k.arg == "axis")]
    match given:
        case [ast.Constant(value=int(axis))] if not isinstance(axis, bool):
            return axis
        case _:
            return None


def reads_in(
    module: ModuleContext, node: FunctionNode, scope: Scope | None
) -> tuple[GridRead, ...]:
    """The reads in the text of a function, nested functions included, in source order.

    Those of a pipeline's body are left out: they are of the pipeline's own grid.
    """
    found: list[GridRead] = []
    called: set[ast.AST] = set()
    local = local_names(node)
    for index, statement in enumerate(body_of(node)):
        bound = _bound_names(statement)
        for read, scopes in _expressions(module, statement, ()):
            kind = read_kind(read, scope) if isinstance(read, ast.Call) else None
            if kind is not None and isinstance(read, ast.Call):
                called.add(read.func)
                axis = literal_axis(read)
            else:
                kind = None if read in called else _mentioned(read, scope, local)
                axis = None
            if kind is not None:
                code = Code(Span(*module.span(read)), module.segment(read))
                name = bound.get(read) if axis is not None else None
                found.append(GridRead(kind, axis, code, read.lineno, name, index, scopes))
    for default in _defaults(node):
        for read, scopes in _expressions(module, default, ()):
            kind = _mentioned(read, scope, frozenset())
            if kind is not None:
                code = Code(Span(*module.span(read)), module.segment(read))
                found.append(GridRead(kind, None, code, read.lineno, None, None, scopes))
    return tuple(sorted(_of_this_grid(module, node, found), key=lambda read: read.code.span))


def _of_this_grid(
    module: ModuleContext, node: FunctionNode, found: list[GridRead]
) -> Iterator[GridRead]:
    """The reads that are, or may be, of the grid that `node` runs in."""
    if not any(read.scopes for read in found):
        yield from found
        return
    grids = {Span(*module.span(inner)): grids for inner, grids in grids_of(node).items()}
    for read in found:
        grid = grids.get(read.scopes[-1], frozenset()) if read.scopes else frozenset()
        if grid != {"other"}:
            yield read if grid <= {"own"} else replace(read, unclear=True)


def _bound_names(statement: ast.AST) -> dict[ast.AST, str]:
    """The names that the values of an assignment are bound to."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return {value: name}
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            return {value: name}
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
            pairs = zip(names, values, strict=False)
            return {value: n.id for n, value in pairs if isinstance(n, ast.Name)}
        case _:
            return {}


def _expressions(
    module: ModuleContext, node: ast.AST, scopes: tuple[Span, ...]
) -> Iterator[tuple[ast.expr, tuple[Span, ...]]]:
    """What may read the step: calls, names and attributes, outer ones first."""
    if isinstance(node, ast.Call | ast.Name | ast.Attribute):
        yield node, scopes
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        outside: list[ast.AST] = [*getattr(node, "decorator_list", []), *_defaults(node)]
        for child in outside:
            yield from _expressions(module, child, scopes)
        inner = (*scopes, Span(*module.span(node)))
        for child in body_of(node):
            yield from _expressions(module, child, inner)
        return
    for child in ast.iter_child_nodes(node):
        yield from _expressions(module, child, scopes)


def local_names(node: FunctionNode) -> frozenset[str]:
    """The names that a function binds itself, nested ones included."""
    names = {arg.arg for arg in all_parameters(node)}
    for statement in body_of(node):
        for child in ast.walk(statement):
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
                names.add(child.id)
            elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                names.add(child.name)
    return frozenset(names)


def resolve(node: ast.expr, scope: Scope | None) -> Value | None:
    """What a name or a dotted name stands for, where that is in sight."""
    match node:
        case ast.Name(id=name):
            return look_up(scope, name)
        case ast.Attribute(value=inner, attr=attr):
            owner = resolve(inner, scope)
            if isinstance(owner, External):
                return External(f"{owner.name}.{attr}")
            context = getattr(owner, "context", None)
            if isinstance(context, ModuleContext):
                return look_up(context.scope, attr)
            return None
        case _:
            return None


def _target(value: Value) -> Value:
    while True:
        if isinstance(value, Partial):
            value = value.func
        elif isinstance(func := getattr(value, "func", None), Value):
            value = func
        else:
            return value
