"""Array functions whose results are limited by lengths: counts, places, choices."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from pallas_static_grid.analysis.symbolic import Atom, Num, Sym, op
from pallas_static_grid.analysis.values import (
    Array,
    Const,
    Float,
    Int,
    Sequence,
    Tuple,
    Value,
    is_none,
)

if TYPE_CHECKING:
    from pallas_static_grid.analysis.interpret.expressions import Expressions


def axis_of(args: list[Value], kwargs: dict[str, Value], at: int = 1) -> int | str | None:
    """The `axis` of a call: a number, None where none is given, "unknown" if it is no literal."""
    value = kwargs.get("axis", args[at] if len(args) > at else None)
    if value is None or is_none(value):
        return None
    if isinstance(value, Int) and isinstance(value.expr, Num):
        return value.expr.value
    return "unknown"


def reduced_shape(
    run: Expressions, base: Array, args: list[Value], kwargs: dict[str, Value]
) -> tuple[Value, ...] | None:
    """The shape after a reduction; None where it is not in sight."""
    axis = axis_of(args, kwargs)
    keep = kwargs.get("keepdims")
    if keep is not None and run.truth(keep) is not False:
        return None
    if axis is None:
        return ()
    if (
        isinstance(axis, int)
        and base.shape is not None
        and -len(base.shape) <= axis < len(base.shape)
    ):
        at = axis % len(base.shape)
        return tuple(v for i, v in enumerate(base.shape) if i != at)
    return None


def count(
    run: Expressions,
    short: str,
    args: list[Value],
    kwargs: dict[str, Value],
    node: ast.AST,
    out: Array,
) -> Value | None:
    """`sum` and `count_nonzero`: of a mask, at most its size."""
    base = args[0] if args else None
    if not isinstance(base, Array):
        if isinstance(base, Tuple) or base is None:
            return replace(out, shape=())
        return None
    shape = reduced_shape(run, base, args, kwargs)
    counts = short == "count_nonzero" or base.dtype == "bool"
    elem = None
    if counts:
        axis = axis_of(args, kwargs)
        hi: Sym | None = None
        if axis is None:
            hi = run.size_of(base)
        elif isinstance(axis, int):
            hi = run.dim(base, axis).expr
        text = run.segment(node)
        if hi is not None:
            step = run.step(node, f"`{text}` counts entries of a mask: at most its length")
            elem = Atom(("value", next(run.counter)), text, False, Num(0), hi, (step,))
    elif base.elem is not None and shape == ():
        elem = Atom(("value", next(run.counter)), run.segment(node), False)
    return replace(out, shape=shape, elem=elem, dtype="int" if counts else base.dtype)


def position(
    run: Expressions,
    short: str,
    args: list[Value],
    kwargs: dict[str, Value],
    node: ast.AST,
    out: Array,
) -> Value | None:
    """`argmax`, `argmin`, `searchsorted`: a place in an array."""
    base = args[0] if args else None
    if not isinstance(base, Array):
        return None
    text = run.segment(node)
    axis = axis_of(args, kwargs)
    if short == "searchsorted":
        hi: Sym = run.dim(base, 0).expr
        where = args[1] if len(args) > 1 else kwargs.get("v")
        shape, dims_of = run.broadcast([where]) if where is not None else (None, None)
    elif axis is None:
        hi, shape, dims_of = op("sub", run.size_of(base), Num(1)), (), None
    elif isinstance(axis, int):
        hi = op("sub", run.dim(base, axis).expr, Num(1))
        shape, dims_of = reduced_shape(run, base, args, kwargs), None
    else:
        return None
    step = run.step(node, f"`{text}` is a place in an array of known length")
    elem = Atom(("value", next(run.counter)), text, False, Num(0), hi, (step,))
    return replace(out, shape=shape, dims_of=dims_of, elem=elem, dtype="int")


def where(
    run: Expressions,
    short: str,
    args: list[Value],
    kwargs: dict[str, Value],
    node: ast.AST,
    out: Array,
) -> Value | None:
    """`where(c, a, b)` and `select`; `where(c)` alone finds places."""
    if len(args) < 3:
        return nonzero(run, short, args, kwargs, node, out)
    x, y = run.scalar(args[1]), run.scalar(args[2])
    elem = op("select", x, y) if x is not None and y is not None else None
    shape, dims_of = run.broadcast(args[:3])
    dtype = (
        "int"
        if all(isinstance(a, Int) or (isinstance(a, Array) and a.dtype == "int") for a in args[1:3])
        else None
    )
    return replace(out, shape=shape, dims_of=dims_of, elem=elem, dtype=dtype)


def clip(
    run: Expressions,
    short: str,
    args: list[Value],
    kwargs: dict[str, Value],
    node: ast.AST,
    out: Array,
) -> Value | None:
    """`jnp.clip(x, lo, hi)`; `lax.clamp(lo, x, hi)`."""
    if short == "clamp" and len(args) == 3:
        lo, x, hi = args
    elif args:
        names = (("min", "max"), ("a_min", "a_max"))
        x = args[0]
        lo = next(
            (kwargs[n[0]] for n in names if n[0] in kwargs),
            args[1] if len(args) > 1 else Const(None),
        )
        hi = next(
            (kwargs[n[1]] for n in names if n[1] in kwargs),
            args[2] if len(args) > 2 else Const(None),
        )
    else:
        return None
    elem = run.scalar(x)
    for kind, limit in (("max", lo), ("min", hi)):
        sym = run.scalar(limit)
        if sym is not None:
            elem = op(kind, elem, sym) if elem is not None else None
    shape, dims_of = run.broadcast([v for v in (x, lo, hi) if not isinstance(v, Const)])
    return replace(
        out,
        shape=shape,
        dims_of=dims_of,
        elem=elem,
        dtype=x.dtype if isinstance(x, Array) else "int",
    )


def nonzero(
    run: Expressions,
    short: str,
    args: list[Value],
    kwargs: dict[str, Value],
    node: ast.AST,
    out: Array,
) -> Value | None:
    """`nonzero`, `argwhere`, `where(c)`, `flatnonzero` with `size=`."""
    base = args[0] if args else None
    size = kwargs.get("size")
    length: Value = (
        size
        if isinstance(size, Int)
        else Int(run.fresh("how many there are", static=True, lo=Num(0)))
    )
    hi: Sym | None = None
    if isinstance(base, Array):
        hi = op("sub", run.size_of(base), Num(1))

    def entry(axis: int) -> Array:
        limit = hi
        if isinstance(base, Array) and short in {"nonzero", "where"}:
            limit = op("sub", run.dim(base, axis).expr, Num(1))
        atom = Atom(
            ("value", next(run.counter)),
            run.segment(node),
            False,
            None,
            limit if "fill_value" not in kwargs else None,
        )
        return replace(out, ident=run.new_ident(short), shape=(length,), dtype="int", elem=atom)

    if short == "argwhere":
        rank = len(base.shape) if isinstance(base, Array) and base.shape is not None else None
        second: Value = (
            Int(Num(rank)) if rank is not None else Int(run.fresh("the rank", static=True))
        )
        return replace(out, shape=(length, second), dtype="int")
    if short == "flatnonzero":
        return entry(0)
    rank = len(base.shape) if isinstance(base, Array) and base.shape is not None else None
    if rank is not None:
        return Tuple(tuple(entry(i) for i in range(rank)), trace=out.trace)
    return Sequence(entry(0), trace=out.trace)


def unique(
    run: Expressions,
    short: str,
    args: list[Value],
    kwargs: dict[str, Value],
    node: ast.AST,
    out: Array,
) -> Value | None:
    """`unique(x, size=n)`: as long as `size`, with elements of `x`."""
    size = kwargs.get("size")
    base = args[0] if args and isinstance(args[0], Array) else None
    length: Value = (
        size
        if isinstance(size, Int)
        else Int(run.fresh("how many there are", static=True, lo=Num(0)))
    )
    first = replace(
        out,
        shape=(length,),
        elem=run.freshen(base.elem) if base and ("fill_value" not in kwargs) else None,
        dtype=base.dtype if base else None,
    )
    flags = [k for k in ("return_index", "return_inverse", "return_counts") if k in kwargs]
    if not flags:
        return first
    others = tuple(
        replace(
            out,
            ident=run.new_ident(k),
            shape=(length,) if k != "return_inverse" else None,
            dtype="int",
        )
        for k in flags
    )
    return Tuple((first, *others))


def product(
    run: Expressions,
    short: str,
    args: list[Value],
    kwargs: dict[str, Value],
    node: ast.AST,
    out: Array,
) -> Value | None:
    """`prod` of a shape or of an array made of ints in sight."""
    value = args[0] if args else None
    if axis_of(args, kwargs) is not None:
        return None
    if isinstance(value, Tuple):
        total: Sym = Num(1)
        for item in value.items:
            if not isinstance(item, Int):
                return replace(out, shape=())
            total = item.expr if total == Num(1) else op("mul", total, item.expr)
        return replace(out, shape=(), dtype="int", elem=total)
    if isinstance(value, Sequence) and value.array is not None:
        return replace(out, shape=(), dtype="int", elem=run.size_of(value.array))
    if isinstance(value, Array):
        return replace(out, shape=(), elem=run.product_of(value))
    return replace(out, shape=())


def round_to(kind: str) -> Callable[..., Value | None]:
    """A handler of `ceil` ("cdiv") or `floor` ("floordiv")."""

    def handler(
        run: Expressions,
        short: str,
        args: list[Value],
        kwargs: dict[str, Value],
        node: ast.AST,
        out: Array,
    ) -> Value | None:
        """`ceil`, `floor`: a float array; exact where the argument is a ratio of integers."""
        value = args[0] if args else None
        ratio = value.ratio if isinstance(value, Float | Array) else None
        if isinstance(value, Int):
            return replace(out, shape=(), dtype="float", elem=value.expr)
        shape, dims_of = run.broadcast([value]) if isinstance(value, Array) else ((), None)
        elem = (
            op(kind, *ratio)
            if ratio is not None
            else (value.elem if isinstance(value, Array) and value.dtype != "float" else None)
        )
        return replace(out, shape=shape, dims_of=dims_of, dtype="float", elem=elem)

    return handler


def divide(
    run: Expressions,
    short: str,
    args: list[Value],
    kwargs: dict[str, Value],
    node: ast.AST,
    out: Array,
) -> Value | None:
    """`true_divide`, `divide`."""
    if len(args) != 2:
        return None
    x, y = run.scalar(args[0]), run.scalar(args[1])
    shape, dims_of = run.broadcast(args)
    return replace(
        out,
        shape=shape,
        dims_of=dims_of,
        dtype="float",
        ratio=(x, y) if x is not None and y is not None else None,
    )
