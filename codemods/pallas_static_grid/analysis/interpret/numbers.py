"""Python and `math` functions on numbers."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from pallas_static_grid.analysis import tables
from pallas_static_grid.analysis.symbolic import Num, Sym, op
from pallas_static_grid.analysis.values import (
    Array,
    Const,
    Dict,
    External,
    Float,
    Instance,
    Int,
    Sequence,
    Tuple,
    Union,
    Unknown,
    Value,
    is_part,
    options,
)

if TYPE_CHECKING:
    from pallas_static_grid.analysis.interpret.expressions import Expressions


def int_function(run: Expressions, name: str, args: list[Value], node: ast.AST) -> Value:
    """Functions that give a Python int of everything; `len` and `size` are exact."""
    if name == "len" and args:
        length = length_of(run, args[0])
        if length is not None:
            return Int(length)
    if name in {"jnp.size", "np.size"} and len(args) == 1 and isinstance(args[0], Array):
        return Int(run.size_of(args[0]))
    return Int(run.fresh(run.segment(node), static=True, lo=Num(0)))


def length_of(run: Expressions, value: Value) -> Sym | None:
    """`len(value)`."""
    match value:
        case Tuple():
            return Num(len(value.items))
        case Array():
            return run.dim(value, 0).expr
        case Dict() if value.complete:
            return Num(len(value.items))
        case Instance():
            fields = run.named_fields(value)
            return Num(len(fields)) if fields is not None else None
        case _:
            return None


def bool_function(run: Expressions, name: str, args: list[Value], node: ast.AST) -> Value:
    """Functions that give a bool; decided where that is certain."""
    if name == "isinstance" and len(args) == 2:
        outcome = _isinstance(args[0], args[1])
        if outcome is not None:
            return Int(Num(int(outcome)), is_bool=True)
    if name == "bool" and args:
        truth = run.truth(args[0])
        if truth is not None:
            return Int(Num(int(truth)), is_bool=True)
    return Int(run.fresh(run.segment(node), static=True, lo=Num(0), hi=Num(1)), is_bool=True)


def _isinstance(value: Value, kind: Value) -> bool | None:
    name = kind.name if isinstance(kind, External) else None
    if isinstance(value, Unknown | Union) or is_part(value) or name is None:
        return None
    if name == "int":
        return isinstance(value, Int)
    if name == "tuple":
        return (
            isinstance(value, Tuple) and value.kind == "tuple"
            if not isinstance(value, Sequence | Instance)
            else None
        )
    if name == "list":
        return (
            isinstance(value, Tuple) and value.kind == "list"
            if not isinstance(value, Sequence)
            else None
        )
    if name in {"str", "float", "dict"}:
        return (
            (name == "str" and isinstance(value, Const) and isinstance(value.value, str))
            or (name == "float" and isinstance(value, Float))
            or (name == "dict" and isinstance(value, Dict))
        )
    if name in tables.ARRAY_ANNOTATIONS:
        if isinstance(value, Array):
            return not value.numpy
        return False if isinstance(value, Int | Float | Const | Tuple) else None
    return None


def to_int(run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`int(x)`: a Python int, if it can be had at all while tracing."""
    if not args:
        return Int(Num(0))
    parts: list[Value] = []
    for value in options(args[0]):
        match value:
            case Int():
                parts.append(replace(value, is_bool=False))
            case Float(ratio=(a, b)) if a == b or b == Num(1):
                parts.append(Int(a))
            case Array(numpy=True):
                elem = value.elem
                known = elem is not None and not value.ratio
                parts.append(
                    Int(
                        elem
                        if known and elem is not None
                        else run.fresh(run.segment(node), static=True)
                    )
                )
            case Array():
                reason = (
                    f"`{run.segment(node)}` is a Python int outside of `jit` (a transfer to "
                    f"the host) and an error inside"
                )
                parts.append(Unknown(reason, trace=run.trace(node, reason, value)))
            case Const(value=str()) | Const(value=None):
                parts.append(Int(run.fresh(run.segment(node), static=True)))
            case _:
                parts.append(Int(run.fresh(run.segment(node), static=True)))
    return run.join_values(parts)


def reduce_ints(kind: str) -> Callable[..., Value]:
    """A handler of `min` or `max`."""

    def handler(
        run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST
    ) -> Value:
        items: list[Value]
        if len(args) == 1 and isinstance(args[0], Tuple):
            items = list(args[0].items)
        elif len(args) == 1:
            elem = run.iterated(args[0], node)
            if isinstance(elem, Int):
                return Int(run.fresh(run.segment(node), static=True))
            return elem
        else:
            items = list(args)
        if "default" in kwargs:
            items.append(kwargs["default"])
        # None among numbers would be an error: what is left is what the function can see.
        items = [run.taken(item, True) for item in items]
        flat = [o for v in items for o in options(v)]
        if items and all(isinstance(v, Int) for v in items):
            return Int(op(kind, *(v.expr for v in items if isinstance(v, Int))))
        dynamic = next((v for v in flat if isinstance(v, Array)), None)
        if dynamic is not None:
            syms = [run.scalar(v) for v in items]
            elem_sym = (
                op(kind, *[s for s in syms if s is not None])
                if all(s is not None for s in syms)
                else None
            )
            return Array(
                run.new_ident(kind),
                (),
                "int",
                elem_sym,
                numpy=dynamic.numpy,
                text=run.segment(node),
                trace=dynamic.trace,
            )
        if any(isinstance(v, Float) for v in flat):
            return Float(trace=run.trace(node, "one of the values is a float"))
        return run.unknown_of(node, *items)

    return handler


def sum_(run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`sum(x)`."""
    if args and isinstance(args[0], Tuple):
        total: Value = args[1] if len(args) > 1 else Int(Num(0))
        for item in args[0].items:
            total = run.binary(ast.Add(), total, item, node)
        return total
    elem = run.iterated(args[0], node) if args else Unknown("nothing to sum")
    if isinstance(elem, Int):
        return Int(run.fresh(run.segment(node), static=True))
    return elem


def abs_(run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`abs(x)`."""
    if args and isinstance(args[0], Int):
        return Int(op("max", args[0].expr, op("neg", args[0].expr)))
    if args and isinstance(args[0], Array):
        return run.derived(args[0], node)
    return args[0] if args else Unknown("nothing")


def cdiv(run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`pl.cdiv(a, b)`: a Python int of Python ints, else an array."""
    a, b = two(args, kwargs, ("a", "b"))
    if a is None or b is None:
        return run.unknown_of(node, *args)
    parts: list[Value] = []
    for x in options(a):
        for y in options(b):
            parts.append(_cdiv_one(run, x, y, node))
    return run.join_values(parts)


def _cdiv_one(run: Expressions, a: Value, b: Value, node: ast.AST) -> Value:
    if isinstance(a, Int) and isinstance(b, Int):
        return Int(op("cdiv", a.expr, b.expr))
    for cause in (a, b):
        if isinstance(cause, Array) and not cause.numpy:
            break
    else:
        cause = a if isinstance(a, Array) else b
    if isinstance(cause, Array):
        if isinstance(a, Unknown) or isinstance(b, Unknown):
            pass
        x, y = run.scalar(a), run.scalar(b)
        elem = op("cdiv", x, y) if x is not None and y is not None else None
        shape, dims_of = run.broadcast([a, b])
        return Array(
            run.new_ident("cdiv"),
            shape,
            "int",
            elem,
            numpy=cause.numpy and all(v.numpy for v in (a, b) if isinstance(v, Array)),
            dims_of=dims_of,
            text=run.segment(node),
            trace=cause.trace or run.trace(node, f"`{run.segment(node)}` is an array"),
        )
    if isinstance(a, Float) or isinstance(b, Float):
        return Float(trace=run.trace(node, "the result is a float"))
    return run.unknown_of(node, a, b)


def two(
    args: list[Value], kwargs: dict[str, Value], names: tuple[str, str]
) -> tuple[Value | None, Value | None]:
    """Two arguments of a call by position or name."""
    given = dict(zip(names, args, strict=False))
    given.update({k: v for k, v in kwargs.items() if k in names})
    return given.get(names[0]), given.get(names[1])


def ceil(kind: str) -> Callable[..., Value]:
    """A handler of `math.ceil` ("cdiv"), `math.floor` ("floordiv") or `math.trunc` ("truncdiv")."""

    def handler(
        run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST
    ) -> Value:
        """`math.ceil` / `math.floor` / `math.trunc`: a Python int."""
        value = args[0] if args else None
        if isinstance(value, Int):
            return value
        if isinstance(value, Float) and value.ratio is not None:
            return Int(op(kind, *value.ratio))
        if isinstance(value, Array) and value.ratio is not None:
            return (
                Int(op(kind, *value.ratio))
                if value.numpy
                else Unknown("math.ceil of a traced value", trace=value.trace)
            )
        if isinstance(value, Array) and not value.numpy:
            return to_int(run, args, kwargs, node)
        return Int(run.fresh(run.segment(node), static=True))

    return handler


def prod(run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`math.prod`."""
    if args and isinstance(args[0], Tuple):
        total: Value = kwargs.get("start", Int(Num(1)))
        for item in args[0].items:
            total = run.binary(ast.Mult(), total, item, node)
        return total
    if args and isinstance(args[0], Sequence):
        if args[0].array is not None:
            return Int(run.size_of(args[0].array))
        if isinstance(args[0].elem, Int):
            return Int(run.fresh(run.segment(node), static=True))
        return args[0].elem
    return run.unknown_of(node, *args)


def divmod_(run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`divmod(a, b)`."""
    if len(args) == 2:
        return Tuple(
            (
                run.binary(ast.FloorDiv(), args[0], args[1], node),
                run.binary(ast.Mod(), args[0], args[1], node),
            )
        )
    return run.unknown_of(node, *args)


def pow_(run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`pow(a, b)`."""
    if len(args) == 2:
        return run.binary(ast.Pow(), args[0], args[1], node)
    return run.unknown_of(node, *args)


def gcd(run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`math.gcd`, `math.lcm`: Python ints."""
    return Int(run.fresh(run.segment(node), static=True, lo=Num(0)))


def round_(run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`round(x)`: a Python int of a Python number."""
    if len(args) == 1 and isinstance(args[0], Int):
        return args[0]
    if len(args) == 1 and isinstance(args[0], Float) and not args[0].numpy:
        return Int(run.fresh(run.segment(node), static=True))
    return run.unknown_of(node, *args)


def operator(kind: type[ast.operator]) -> Callable[..., Value]:
    """A handler of a function of the `operator` module."""

    def handler(
        run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST
    ) -> Value:
        if len(args) == 2:
            return run.binary(kind(), args[0], args[1], node)
        return run.unknown_of(node, *args)

    return handler
