"""Array functions that make or change shapes."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from pallas_static_grid.analysis.interpret.array_counts import axis_of
from pallas_static_grid.analysis.symbolic import Atom, Num, Sym, op
from pallas_static_grid.analysis.values import (
    Array,
    Const,
    External,
    Float,
    Int,
    Sequence,
    Struct,
    Tuple,
    Value,
)

if TYPE_CHECKING:
    from pallas_static_grid.analysis.interpret.expressions import Expressions


def _shape_values(run: Expressions, value: Value | None) -> tuple[Value, ...] | None:
    match value:
        case Tuple():
            return value.items
        case Int():
            return (value,)
        case _:
            return None


def filled(
    run: Expressions,
    short: str,
    args: list[Value],
    kwargs: dict[str, Value],
    node: ast.AST,
    out: Array,
) -> Value | None:
    """`zeros`, `ones`, `full`, `empty`: the shape comes first."""
    shape = _shape_values(run, kwargs.get("shape", args[0] if args else None))
    array = args[0].array if args and isinstance(args[0], Sequence) else None
    value: Sym | None = None
    if short in {"zeros", "ones"}:
        value = Num(0 if short == "zeros" else 1)
    elif short == "full" and len(args) > 1:
        value = run.scalar(args[1])
    dtype = kwargs.get("dtype", args[-1] if len(args) > (2 if short == "full" else 1) else None)
    return replace(
        out,
        shape=shape,
        elem=value,
        dtype=_dtype(dtype),
        dims_of=array.dims_ident if array is not None else None,
    )


def asarray(
    run: Expressions,
    short: str,
    args: list[Value],
    kwargs: dict[str, Value],
    node: ast.AST,
    out: Array,
) -> Value | None:
    """`asarray(x)`, `array(x)`: the elements of `x`, which may be numbers or a nested display."""
    value = args[0] if args else None
    dtype = kwargs.get("dtype", args[1] if len(args) > 1 else None)
    target = _dtype(dtype)
    match value:
        case Int():
            return replace(
                out, shape=(), elem=value.expr, dtype=target or ("bool" if value.is_bool else "int")
            )
        case Float():
            return replace(out, shape=(), dtype=target or "float", ratio=value.ratio)
        case Array():
            shape, dims_of = run.broadcast([value])
            keep = target in {None, value.dtype} or (target == "int" and value.dtype != "float")
            return replace(
                out,
                ident=value.ident if value.numpy == out.numpy and keep else out.ident,
                shape=shape,
                dims_of=dims_of,
                elem=value.elem if keep else None,
                dtype=target or value.dtype,
                ratio=value.ratio if target != "int" else None,
            )
        case Tuple():
            dims, leaf = _nested(value)
            scalars = [run.scalar(v) for v in value.items if isinstance(v, Int | Array)]
            known = tuple(v for v in scalars if v is not None)
            entries = known if len(known) == len(value.items) else None
            return replace(
                out,
                entries=entries,
                shape=tuple(Int(Num(d)) for d in dims) if dims else None,
                elem=run.scalar(leaf) if leaf is not None else None,
                dtype=target or "int" if isinstance(leaf, Int) else None,
            )
        case Sequence():
            if value.array is not None:
                return replace(
                    out,
                    dtype="int",
                    elem=Atom(("shape-elem", value.array.dims_ident), "a length", True),
                )
            leaf_elem = run.scalar(value.elem)
            return replace(out, elem=leaf_elem if isinstance(value.elem, Int) else None)
        case _:
            return None


def _nested(value: Tuple) -> tuple[list[int], Value | None]:
    dims: list[int] = [len(value.items)]
    if not value.items:
        return dims, None
    first = value.items[0]
    if isinstance(first, Tuple):
        inner, leaf = _nested(first)
        return [*dims, *inner], leaf if len(value.items) == 1 else None
    if len(value.items) == 1:
        return dims, first
    if all(isinstance(v, Int) for v in value.items):
        exprs = [v.expr for v in value.items if isinstance(v, Int)]
        out: Sym = exprs[0]
        for expr in exprs[1:]:
            out = op("select", out, expr)
        return dims, Int(out)
    return dims, None


def _dtype(value: Value | None) -> str | None:
    name = (
        value.name
        if isinstance(value, External)
        else (value.value if isinstance(value, Const) else None)
    )
    if not isinstance(name, str):
        return None
    name = name.rsplit(".", 1)[-1]
    if "bool" in name:
        return "bool"
    if name.startswith(("int", "uint")):
        return "int"
    if "float" in name:
        return "float"
    return None


def scalar_type(
    run: Expressions,
    short: str,
    args: list[Value],
    kwargs: dict[str, Value],
    node: ast.AST,
    out: Array,
) -> Value | None:
    """`jnp.int32(x)`, `np.int64(x)`: like asarray with that type."""
    if not args:
        return None
    value = args[0]
    if isinstance(value, Float) and value.ratio is not None:
        return replace(out, shape=(), dtype="int", elem=op("truncdiv", *value.ratio))
    result = asarray(run, short, [value], {}, node, out)
    return replace(result, dtype="int") if isinstance(result, Array) else None


def astype(
    run: Expressions,
    short: str,
    args: list[Value],
    kwargs: dict[str, Value],
    node: ast.AST,
    out: Array,
) -> Value | None:
    """`x.astype(t)`, `convert_element_type(x, t)`: integers keep their value."""
    base = args[0]
    if not isinstance(base, Array):
        return None
    target = kwargs.get("dtype", args[1] if len(args) > 1 else None)
    name = _dtype(target)
    if isinstance(target, External) and target.name in {"int", "bool", "float"}:
        name = target.name
    if name == "int" and base.ratio is not None:
        elem: Sym | None = op("truncdiv", *base.ratio)
    else:
        elem = base.elem if name in {None, "int", base.dtype} else None
    shape, dims_of = run.broadcast([base])
    keep_ratio = base.ratio if name == "float" else None
    return replace(
        out,
        shape=shape,
        dims_of=dims_of or base.dims_ident,
        dtype=name,
        elem=elem,
        ratio=keep_ratio,
    )


def concatenate(
    run: Expressions,
    short: str,
    args: list[Value],
    kwargs: dict[str, Value],
    node: ast.AST,
    out: Array,
) -> Value | None:
    """`concatenate(xs)` and `stack(xs)` along the first axis."""
    parts = args[0] if args else None
    if not isinstance(parts, Tuple):
        return None
    arrays = [v for v in parts.items if isinstance(v, Array)]
    if len(arrays) != len(parts.items) or not arrays:
        return None
    if short == "stack":
        first = arrays[0]
        if first.shape is None:
            return None
        return replace(out, shape=(Int(Num(len(arrays))), *first.shape))
    axis = axis_of(args, kwargs)
    ranks = {len(a.shape) for a in arrays if a.shape is not None}
    if axis in {None, 0} and ranks == {1} and all(a.shape is not None for a in arrays):
        total: Sym = run.dim(arrays[0], 0).expr
        for array in arrays[1:]:
            total = op("add", total, run.dim(array, 0).expr)
        return replace(out, shape=(Int(total),), dtype=arrays[0].dtype)
    if axis in {None, 0} and len(ranks) == 1 and all(a.shape is not None for a in arrays):
        total = run.dim(arrays[0], 0).expr
        for array in arrays[1:]:
            total = op("add", total, run.dim(array, 0).expr)
        assert arrays[0].shape is not None
        return replace(out, shape=(Int(total), *arrays[0].shape[1:]), dtype=arrays[0].dtype)
    return None


def reshape(
    run: Expressions,
    short: str,
    args: list[Value],
    kwargs: dict[str, Value],
    node: ast.AST,
    out: Array,
) -> Value | None:
    """`reshape(x, shape)`; a length of -1 is worked out."""
    base = args[0] if args else None
    if not isinstance(base, Array):
        shape0 = _shape_values(run, args[1] if len(args) > 1 else kwargs.get("shape"))
        if base is not None and isinstance(base, Int):
            return replace(out, shape=shape0, elem=base.expr, dtype="int")
        return None
    target = kwargs.get("shape", args[1] if len(args) == 2 else Tuple(tuple(args[1:])))
    dims = _shape_values(run, target)
    if dims is not None:
        minus = [i for i, v in enumerate(dims) if isinstance(v, Int) and v.expr == Num(-1)]
        if minus:
            others: Sym = Num(1)
            for index, value in enumerate(dims):
                if index not in minus and isinstance(value, Int):
                    others = value.expr if others == Num(1) else op("mul", others, value.expr)
            rest = (
                run.size_of(base) if others == Num(1) else op("floordiv", run.size_of(base), others)
            )
            dims = tuple(Int(rest) if i in minus else v for i, v in enumerate(dims))
    return replace(
        out,
        shape=dims,
        dtype=base.dtype,
        elem=base.elem if base.shape == () or dims == () else run.freshen(base.elem),
    )


def broadcast_to(
    run: Expressions,
    short: str,
    args: list[Value],
    kwargs: dict[str, Value],
    node: ast.AST,
    out: Array,
) -> Value | None:
    """`broadcast_to(x, shape)`."""
    base = args[0] if args else None
    dims = _shape_values(run, args[1] if len(args) > 1 else kwargs.get("shape"))
    elem = run.freshen(base.elem) if isinstance(base, Array) else None
    return replace(
        out, shape=dims, elem=elem, dtype=base.dtype if isinstance(base, Array) else None
    )


def pad(
    run: Expressions,
    short: str,
    args: list[Value],
    kwargs: dict[str, Value],
    node: ast.AST,
    out: Array,
) -> Value | None:
    """`pad(x, widths)`: lengths grow by what the widths say."""
    base = args[0] if args else None
    widths = args[1] if len(args) > 1 else kwargs.get("pad_width")
    if not isinstance(base, Array) or not isinstance(widths, Tuple):
        return None
    rows = [w for w in widths.items if isinstance(w, Tuple) and len(w.items) == 2]
    if widths.items and all(isinstance(w, Int) for w in widths.items) and len(widths.items) == 2:
        rows = [widths]
    if len(rows) != len(widths.items) and rows != [widths]:
        return None
    if base.shape is not None and len(base.shape) != len(rows):
        return None
    dims: list[Value] = []
    for axis, row in enumerate(rows):
        total = run.dim(base, axis).expr
        for item in row.items:
            if not isinstance(item, Int):
                return None
            total = total if item.expr == Num(0) else op("add", total, item.expr)
        dims.append(Int(total))
    return replace(out, shape=tuple(dims))


def zeros_like(
    run: Expressions,
    short: str,
    args: list[Value],
    kwargs: dict[str, Value],
    node: ast.AST,
    out: Array,
) -> Value | None:
    """`zeros_like(x)`, `ones_like(x)`, `full_like(x, v)`."""
    base = args[0] if args else None
    if isinstance(base, Struct):
        shape = base.shape.items if isinstance(base.shape, Tuple) else None
        return replace(out, shape=shape)
    if not isinstance(base, Array):
        return None
    shape2, dims_of = run.broadcast([base])
    value: Sym | None = {"zeros_like": Num(0), "ones_like": Num(1)}.get(short)
    if short == "full_like" and len(args) > 1:
        value = run.scalar(args[1])
    return replace(out, shape=shape2, dims_of=dims_of, elem=value, dtype=base.dtype)


def cumulative(
    run: Expressions,
    short: str,
    args: list[Value],
    kwargs: dict[str, Value],
    node: ast.AST,
    out: Array,
) -> Value | None:
    """`cumsum(x)`, `argsort(x)`: the shape of `x`, elements out of sight."""
    base = args[0] if args else None
    if not isinstance(base, Array):
        return None
    shape, dims_of = run.broadcast([base])
    return replace(
        out,
        shape=shape,
        dims_of=dims_of or base.dims_ident,
        dtype="int" if base.dtype in {"int", "bool"} else base.dtype,
    )


def repeat(
    run: Expressions,
    short: str,
    args: list[Value],
    kwargs: dict[str, Value],
    node: ast.AST,
    out: Array,
) -> Value | None:
    """`repeat(x, n, total_repeat_length=m)`: elements of `x`, as many as it says."""
    base = args[0] if args else None
    total = kwargs.get("total_repeat_length", args[3] if len(args) > 3 else None)
    elem = run.freshen(base.elem) if isinstance(base, Array) else None
    shape = (total,) if isinstance(total, Int) else None
    repeats = kwargs.get("repeats", args[1] if len(args) > 1 else None)
    if (
        shape is None
        and isinstance(repeats, Int)
        and isinstance(base, Array)
        and base.shape
        and (len(base.shape) == 1)
    ):
        shape = (Int(op("mul", run.dim(base, 0).expr, repeats.expr)),)
    dtype = base.dtype if isinstance(base, Array) else None
    return replace(out, shape=shape, elem=elem, dtype=dtype)


def arange(
    run: Expressions,
    short: str,
    args: list[Value],
    kwargs: dict[str, Value],
    node: ast.AST,
    out: Array,
) -> Value | None:
    """`arange(n)`: its length, and elements below its end."""
    ints = [a.expr for a in args if isinstance(a, Int)]
    if len(ints) != len(args) or not args:
        return None
    if len(ints) == 1:
        lo: Sym = Num(0)
        length, hi = ints[0], op("sub", ints[0], Num(1))
    elif len(ints) == 2:
        lo = ints[0]
        length, hi = op("max", op("sub", ints[1], ints[0]), Num(0)), op("sub", ints[1], Num(1))
    elif ints[2] != Num(0):
        lo, hi = ints[0], op("sub", ints[1], Num(1))
        if not (isinstance(ints[2], Num) and ints[2].value > 0):
            return replace(out, dtype="int")
        length = op("max", op("cdiv", op("sub", ints[1], ints[0]), ints[2]), Num(0))
    else:
        return None
    elem = Atom(("value", next(run.counter)), run.segment(node), False, lo, hi)
    return replace(out, shape=(Int(length),), dtype="int", elem=elem)
