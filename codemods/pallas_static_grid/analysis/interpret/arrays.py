"""What array functions and methods give: shape, limits of the elements, and the chain."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from pallas_static_grid.analysis import tables
from pallas_static_grid.analysis.interpret.array_counts import (
    clip,
    count,
    divide,
    nonzero,
    position,
    product,
    reduced_shape,
    round_to,
    unique,
    where,
)
from pallas_static_grid.analysis.interpret.array_shapes import (
    arange,
    asarray,
    astype,
    broadcast_to,
    concatenate,
    cumulative,
    filled,
    pad,
    repeat,
    reshape,
    scalar_type,
    zeros_like,
)
from pallas_static_grid.analysis.symbolic import Atom, Num, op
from pallas_static_grid.analysis.values import (
    Array,
    Const,
    Float,
    Int,
    Sequence,
    Trace,
    Tuple,
    Union,
    Unknown,
    Value,
    options,
)

if TYPE_CHECKING:
    from pallas_static_grid.analysis.interpret.expressions import Expressions


def method(
    run: Expressions, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    """`array.name(...)`; the array is the first of `args`."""
    base = args[0]
    assert isinstance(base, Array)
    if name == "item":
        reason = f"`{run.segment(node)}` is a number outside of `jit` and an error inside"
        if base.numpy:
            return Int(run.fresh(run.segment(node), static=True))
        return Unknown(reason, trace=run.trace(node, reason, base))
    if name == "tolist" and base.numpy:
        entries = base.entries
        if entries is not None:
            return Tuple(tuple(Int(e) for e in entries), "list")
        return Sequence(Int(run.fresh(run.segment(node), static=True)))
    if name in {"set", "add", "multiply", "apply", "power", "divide"}:
        return replace(base, ident=run.new_ident("at"), elem=None, dims_of=base.dims_ident)
    if name == "get":
        return run.derived(base, node, shape=None)
    prefix = "np." if base.numpy else "jnp."
    return function(run, prefix + name, args, kwargs, node, numpy=base.numpy)


def function(
    run: Expressions,
    name: str,
    args: list[Value],
    kwargs: dict[str, Value],
    node: ast.AST,
    *,
    numpy: bool,
) -> Value:
    """`jnp.name(...)`, `lax.name(...)` or `np.name(...)`: always an array (or arrays)."""
    short = name.split(".", 1)[1] if "." in name else name
    short = short.rsplit(".", 1)[-1]
    if (len(args) == 1 and isinstance(args[0], Union)) or any(isinstance(a, Union) for a in args):
        pick = next(i for i, a in enumerate(args) if isinstance(a, Union))
        union = args[pick]
        assert isinstance(union, Union)
        parts = [
            function(run, name, [*args[:pick], o, *args[pick + 1 :]], kwargs, node, numpy=numpy)
            for o in options(union)
            if not (isinstance(o, Const) and o.value is None)
        ]
        if parts:
            return run.join_values(parts)
    base = args[0] if args and isinstance(args[0], Array) else None
    numpy = numpy and not any(isinstance(a, Array) and not a.numpy for a in args)
    out = Array(
        run.new_ident(short),
        numpy=numpy,
        text=run.segment(node),
        trace=_trace(run, short, args, node, numpy),
    )
    handler = _HANDLERS.get(short)
    if handler is not None:
        value = handler(run, short, args, kwargs, node, out)
        if value is not None:
            return value
    if short in tables.BINARY and len(args) == 2:
        return _binary(run, short, args, node, out)
    if short in tables.BOOLEAN_ELEMENTWISE:
        shape, dims_of = run.broadcast(args)
        return replace(out, shape=shape, dims_of=dims_of, dtype="bool", elem=_mask_elem(run, node))
    if short in tables.ELEMENTWISE and base is not None:
        shape, dims_of = run.broadcast([base])
        return replace(out, shape=shape, dims_of=dims_of)
    if short in tables.PICKS and base is not None:
        keep = short in tables.SAME_SHAPE
        shape, dims_of = run.broadcast([base]) if keep else (None, None)
        if short in {"max", "min", "amax", "amin"}:
            shape = reduced_shape(run, base, args, kwargs)
        return replace(
            out, shape=shape, dims_of=dims_of, dtype=base.dtype, elem=run.freshen(base.elem)
        )
    if short in {"float32", "float64", "bfloat16", "float16", "float_"}:
        return replace(
            out, shape=() if args and isinstance(args[0], Int | Float) else None, dtype="float"
        )
    return out


def _trace(run: Expressions, short: str, args: list[Value], node: ast.AST, numpy: bool) -> Trace:
    text = run.segment(node)
    cause = run.telling(args)
    if short in tables.REDUCTIONS and cause is not None:
        if cause.trace is not None and tables.BY_ACCIDENT in cause.trace.root:
            cause = None
        return run.trace(node, f"`{text}` is a reduction of an array", cause)
    if cause is not None:
        return run.trace(node, f"`{text}` is an array", cause)
    if numpy:
        return run.trace(node, f"`{text}` gives a NumPy value, not a Python int")
    return run.trace(node, f"`{text}` is a JAX array even where its arguments are Python ints")


def _mask_elem(run: Expressions, node: ast.AST) -> Atom:
    return Atom(("value", next(run.counter)), run.segment(node), False, Num(0), Num(1))


def _binary(run: Expressions, short: str, args: list[Value], node: ast.AST, out: Array) -> Array:
    x, y = run.scalar(args[0]), run.scalar(args[1])
    floats = any(
        isinstance(a, Float) or (isinstance(a, Array) and a.dtype == "float") for a in args
    )
    elem = None
    if x is not None and y is not None and not (floats and short in {"div", "mul", "multiply"}):
        elem = op(tables.BINARY[short], x, y)
    shape, dims_of = run.broadcast(args)
    return replace(
        out,
        shape=shape,
        dims_of=dims_of,
        elem=elem,
        dtype="float" if floats else "int" if elem is not None else None,
    )


_HANDLERS: dict[str, Callable[..., Value | None]] = {
    "sum": count,
    "count_nonzero": count,
    "argmax": position,
    "argmin": position,
    "searchsorted": position,
    "where": where,
    "select": where,
    "clip": clip,
    "clamp": clip,
    "nonzero": nonzero,
    "argwhere": nonzero,
    "flatnonzero": nonzero,
    "unique": unique,
    "repeat": repeat,
    "arange": arange,
    "zeros": filled,
    "ones": filled,
    "full": filled,
    "empty": filled,
    "asarray": asarray,
    "array": asarray,
    "convert_element_type": astype,
    "astype": astype,
    "int32": scalar_type,
    "int64": scalar_type,
    "int16": scalar_type,
    "int8": scalar_type,
    "uint32": scalar_type,
    "uint8": scalar_type,
    "intp": scalar_type,
    "int_": scalar_type,
    "ceil": round_to("cdiv"),
    "floor": round_to("floordiv"),
    "true_divide": divide,
    "divide": divide,
    "prod": product,
    "concatenate": concatenate,
    "stack": concatenate,
    "reshape": reshape,
    "broadcast_to": broadcast_to,
    "pad": pad,
    "zeros_like": zeros_like,
    "ones_like": zeros_like,
    "full_like": zeros_like,
    "empty_like": zeros_like,
    "cumsum": cumulative,
    "cumprod": cumulative,
    "argsort": cumulative,
}
