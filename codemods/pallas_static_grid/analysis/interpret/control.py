"""Control flow and other functions that call a body with traced values."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from pallas_static_grid.analysis import tables
from pallas_static_grid.analysis.interpret.tracing import traced
from pallas_static_grid.analysis.values import (
    Array,
    Const,
    Dict,
    External,
    Function,
    Instance,
    Int,
    Partial,
    Sequence,
    Transformed,
    Tuple,
    Union,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from pallas_static_grid.analysis.interpret.expressions import Expressions


def call(
    run: Expressions, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value | None:
    """The result of a control-flow function, or None for any other."""
    handler = _HANDLERS.get(name)
    if handler is not None:
        return handler(run, args, kwargs, node)
    if name in tables.DIFFERENTIATED_CALLS:
        return _differentiated(run, name, args, node)
    if name.startswith("custom."):
        return _custom_rule(run, name, args, kwargs, node)
    return None


def _traced(run: Expressions, value: Value, node: ast.AST, what: str) -> Value:
    trace = run.trace(node, f"`{what}` traces what it gives its body")
    return traced(run, value, run.new_ident(what), what, trace)


def _carried(run: Expressions, value: Value, node: ast.AST, what: str) -> Value:
    """What a loop hands from step to step: shaped like what it starts with, of any values."""
    return _forgotten(run, _traced(run, value, node, what))


def _forgotten(run: Expressions, value: Value) -> Value:
    match value:
        case Array():
            ident = run.new_ident("carry")
            return replace(
                value, ident=ident, dims_of=value.dims_ident, elem=None, ratio=None, entries=None
            )
        case Tuple():
            return replace(value, items=tuple(_forgotten(run, v) for v in value.items))
        case Sequence():
            return replace(value, elem=_forgotten(run, value.elem), array=None)
        case Dict():
            items = tuple((key, _forgotten(run, v)) for key, v in value.items)
            rest = None if value.rest is None else _forgotten(run, value.rest)
            return replace(value, items=items, rest=rest)
        case Instance():
            fields = tuple((key, _forgotten(run, v)) for key, v in value.fields)
            return replace(value, fields=fields)
        case Union():
            return replace(value, options=tuple(_forgotten(run, v) for v in value.options))
        case _:
            return value


def _after_loop(run: Expressions, init: Value, result: Value, node: ast.AST, what: str) -> Value:
    """What a loop returns: what it started with, or what some step made of a carry."""
    if isinstance(result, Unknown):
        return _carried(run, init, node, what)
    return _traced(run, run.join_values([init, result]), node, what)


def _slice(run: Expressions, value: Value, node: ast.AST) -> Value:
    """One step's part of what `scan` goes over."""
    match value:
        case Array():
            return run.element(value, 0, None, node)
        case Tuple():
            return Tuple(tuple(_slice(run, v, node) for v in value.items), value.kind)
        case Const():
            return value
        case _:
            return _traced(run, value, node, "scan")


def _named(args: list[Value], kwargs: dict[str, Value], names: tuple[str, ...]) -> dict[str, Value]:
    given = dict(zip(names, args, strict=False))
    given.update(kwargs)
    return given


def _scan(run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    given = _named(args, kwargs, ("f", "init", "xs"))
    f = given.get("f", Unknown("nothing"))
    init = given.get("init", Const(None))
    xs = _slice(run, given.get("xs", Const(None)), node)
    carried = _carried(run, init, node, "scan")
    result = run.call_value(f, [carried, xs], {}, _call(node))
    carry = result.items[0] if isinstance(result, Tuple) and result.items else Unknown("carry")
    ys = result.items[1] if isinstance(result, Tuple) and len(result.items) > 1 else Unknown("ys")
    return Tuple(
        (
            _after_loop(run, init, carry, node, "scan"),
            Array(
                run.new_ident("scan"),
                text="the stacked results",
                trace=run.trace(node, "`scan` stacks arrays"),
            )
            if not isinstance(ys, Tuple)
            else _traced(run, ys, node, "scan"),
        )
    )


def _fori(run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    given = _named(args, kwargs, ("lower", "upper", "body_fun", "init_val"))
    init = given.get("init_val", Const(None))
    carried = _carried(run, init, node, "fori_loop")
    index = Array(
        run.new_ident("fori"),
        (),
        "int",
        text="the loop index",
        trace=run.trace(node, "the index of a `fori_loop` is traced"),
    )
    result = run.call_value(given.get("body_fun", Unknown("")), [index, carried], {}, _call(node))
    return _after_loop(run, init, result, node, "fori_loop")


def _while(run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    given = _named(args, kwargs, ("cond_fun", "body_fun", "init_val"))
    init = given.get("init_val", Const(None))
    carried = _carried(run, init, node, "while_loop")
    run.call_value(given.get("cond_fun", Unknown("")), [carried], {}, _call(node))
    result = run.call_value(given.get("body_fun", Unknown("")), [carried], {}, _call(node))
    return _after_loop(run, init, result, node, "while_loop")


def _cond(run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    given = _named(args[:3], kwargs, ("pred", "true_fun", "false_fun"))
    operands = [_traced(run, a, node, "cond") for a in args[3:]]
    if "operand" in kwargs:
        operands.append(_traced(run, kwargs["operand"], node, "cond"))
    results = [
        run.call_value(given[key], operands, {}, _call(node))
        for key in ("true_fun", "false_fun")
        if key in given
    ]
    joined = run.join_values(results) if results else Unknown("nothing")
    return _traced(run, joined, node, "cond")


def _switch(run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    operands = [_traced(run, a, node, "switch") for a in args[2:]]
    branches = args[1] if len(args) > 1 else kwargs.get("branches")
    results: list[Value] = []
    if isinstance(branches, Tuple):
        results = [run.call_value(b, operands, {}, _call(node)) for b in branches.items]
    elif isinstance(branches, Sequence):
        results = [run.call_value(branches.elem, operands, {}, _call(node))]
    joined = run.join_values(results) if results else Unknown("nothing")
    return _traced(run, joined, node, "switch")


def _map(run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    given = _named(args, kwargs, ("f", "xs"))
    xs = _slice(run, given.get("xs", Const(None)), node)
    result = run.call_value(given.get("f", Unknown("")), [xs], {}, _call(node))
    return _stack(run, _traced(run, result, node, "map"), node)


def _stack(run: Expressions, value: Value, node: ast.AST) -> Value:
    if isinstance(value, Tuple):
        return Tuple(tuple(_stack(run, v, node) for v in value.items), value.kind)
    if isinstance(value, Array):
        return Array(run.new_ident("stack"), text="the stacked results", trace=value.trace)
    return value


def _tree_map(
    run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    if len(args) < 2:
        return Unknown("nothing to map")
    tree = args[1]
    if isinstance(tree, Tuple) and len(args) == 2:
        items = tuple(_tree_map(run, [args[0], v], {}, node) for v in tree.items)
        return Tuple(items, tree.kind)
    if isinstance(tree, Dict) and tree.complete and len(args) == 2:
        return replace(
            tree,
            node=None,
            items=tuple((k, _tree_map(run, [args[0], v], {}, node)) for k, v in tree.items),
        )
    if isinstance(tree, Array | Int):
        return run.call_value(args[0], list(args[1:]), {}, _call(node))
    run.call_value(args[0], [Unknown("a leaf") for _ in args[1:]], {}, _call(node))
    return Unknown("what a mapped tree holds is out of sight")


def _assoc(run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    given = _named(args, kwargs, ("fn", "elems"))
    elems = _carried(run, given.get("elems", Const(None)), node, "associative_scan")
    run.call_value(given.get("fn", Unknown("")), [elems, elems], {}, _call(node))
    return elems


def _when(run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`pl.when(cond)`: a decorator that runs its body."""
    return External("pl.when.body")


def _when_body(
    run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    if args and isinstance(args[0], Function | Partial):
        run.call_value(args[0], [], {}, None)
    return Const(None)


def _differentiated(run: Expressions, name: str, args: list[Value], node: ast.AST) -> Value:
    """`jax.vjp(f, *primals)`, `jax.jvp(f, primals, tangents)`, `jax.linearize(f, *primals)`."""
    kind = name.rsplit(".", 1)[-1]
    step = run.step(node, f"`{kind}` differentiates what is called here")
    primals = args[1:]
    if kind == "jvp" and len(args) > 1:
        primals = list(args[1].items) if isinstance(args[1], Tuple) else [args[1]]
    traced = [_traced(run, p, node, kind) for p in primals]
    saved = run.differentiating
    run.differentiating = [*saved, step]
    try:
        result = run.call_value(args[0], traced, {}, _call(node)) if args else Unknown("nothing")
    finally:
        run.differentiating = saved
    out = _traced(run, result, node, kind)
    if kind == "jvp":
        return Tuple((out, out))
    return Tuple((out, External(f"{kind}.function")))


def _custom_rule(
    run: Expressions, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    """`f.defvjp(fwd, bwd)`: the rules are called with what `f` is called with."""
    base = args[0] if args else None
    given = args[1:] + list(kwargs.values())
    if isinstance(base, Function):
        fwd = given[0] if given else None
        inner = fwd.func if isinstance(fwd, Partial) else fwd
        if isinstance(inner, Function):
            run.rules[inner.node] = (base, "fwd", run.nondiff.get(base.node, ()))
        bwd = given[1] if len(given) > 1 else None
        inner = bwd.func if isinstance(bwd, Partial) else bwd
        if isinstance(inner, Function):
            run.rules[inner.node] = (base, "bwd", run.nondiff.get(base.node, ()))
    return Const(None)


def _call(node: ast.AST) -> ast.Call | None:
    return node if isinstance(node, ast.Call) else None


def _run_scoped(
    run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    if args and isinstance(args[0], Function | Partial | Transformed):
        spec = args[0].node.args.args if isinstance(args[0], Function) else []
        refs: list[Value] = [
            Array(
                run.new_ident("scoped"),
                text=a.arg,
                trace=run.trace(node, "`run_scoped` gives references"),
            )
            for a in spec
        ]
        return run.call_value(args[0], refs, {}, _call(node))
    return Unknown("what `run_scoped` returns")


_HANDLERS: dict[str, Callable[..., Value]] = {
    "lax.scan": _scan,
    "lax.fori_loop": _fori,
    "lax.while_loop": _while,
    "lax.cond": _cond,
    "lax.switch": _switch,
    "lax.map": _map,
    "lax.associative_scan": _assoc,
    "jax.tree.map": _tree_map,
    "jax.tree_util.tree_map": _tree_map,
    "jax.tree_map": _tree_map,
    "pl.when": _when,
    "pl.when.body": _when_body,
    "pl.run_scoped": _run_scoped,
}
