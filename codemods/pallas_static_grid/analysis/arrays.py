"""What array functions and methods give: shape, limits of the elements, and the chain."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from pallas_static_grid.analysis import tables
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
    Union,
    Unknown,
    Value,
    options,
)

if TYPE_CHECKING:
    from pallas_static_grid.analysis.interpreter import Interpreter


def method(
    run: Interpreter, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST
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
    run: Interpreter, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST,
    *, numpy: bool,
) -> Value:
    """`jnp.name(...)`, `lax.name(...)` or `np.name(...)`: always an array (or arrays)."""
    short = name.split(".", 1)[1] if "." in name else name
    short = short.rsplit(".", 1)[-1]
    if len(args) == 1 and isinstance(args[0], Union) or any(
        isinstance(a, Union) for a in args
    ):
        pick = next(i for i, a in enumerate(args) if isinstance(a, Union))
        union = args[pick]
        assert isinstance(union, Union)
        parts = [
            function(run, name, [*args[:pick], o, *args[pick + 1:]], kwargs, node, numpy=numpy)
            for o in options(union) if not (isinstance(o, Const) and o.value is None)
        ]
        if parts:
            return run.join_values(parts)
    base = args[0] if args and isinstance(args[0], Array) else None
    numpy = numpy and not any(isinstance(a, Array) and not a.numpy for a in args)
    out = Array(run.new_ident(short), numpy=numpy, text=run.segment(node),
                trace=_trace(run, short, args, node, numpy))
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
            shape = _reduced_shape(run, base, args, kwargs)
        return replace(out, shape=shape, dims_of=dims_of, dtype=base.dtype,
                       elem=run.freshen(base.elem))
    if short in {"float32", "float64", "bfloat16", "float16", "float_"}:
        return replace(out, shape=() if args and isinstance(args[0], Int | Float) else None,
                       dtype="float")
    return out


def _trace(run: Interpreter, short: str, args: list[Value], node: ast.AST, numpy: bool):  # type: ignore[no-untyped-def]
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


def _mask_elem(run: Interpreter, node: ast.AST) -> Atom:
    return Atom(("value", next(run.counter)), run.segment(node), False, Num(0), Num(1))


def _binary(
    run: Interpreter, short: str, args: list[Value], node: ast.AST, out: Array
) -> Array:
    x, y = run.scalar(args[0]), run.scalar(args[1])
    floats = any(isinstance(a, Float) or (isinstance(a, Array) and a.dtype == "float")
                 for a in args)
    elem = None
    if x is not None and y is not None and not (floats and short in {"div", "mul", "multiply"}):
        elem = op(tables.BINARY[short], x, y)
    shape, dims_of = run.broadcast(args)
    return replace(out, shape=shape, dims_of=dims_of, elem=elem,
                   dtype="float" if floats else "int" if elem is not None else None)


def _axis(args: list[Value], kwargs: dict[str, Value], at: int = 1) -> int | None | str:
    value = kwargs.get("axis", args[at] if len(args) > at else None)
    if value is None or (isinstance(value, Const) and value.value is None):
        return None
    if isinstance(value, Int) and isinstance(value.expr, Num):
        return value.expr.value
    return "unknown"


def _reduced_shape(
    run: Interpreter, base: Array, args: list[Value], kwargs: dict[str, Value]
) -> tuple[Value, ...] | None:
    axis = _axis(args, kwargs)
    keep = kwargs.get("keepdims")
    if keep is not None and run.truth(keep) is not False:
        return None
    if axis is None:
        return ()
    if isinstance(axis, int) and base.shape is not None and -len(base.shape) <= axis < len(
        base.shape
    ):
        at = axis % len(base.shape)
        return tuple(v for i, v in enumerate(base.shape) if i != at)
    return None


def _shape_values(run: Interpreter, value: Value | None) -> tuple[Value, ...] | None:
    match value:
        case Tuple():
            return value.items
        case Int():
            return (value,)
        case _:
            return None


def _count(
    run: Interpreter, short: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST,
    out: Array,
) -> Value | None:
    """`sum` and `count_nonzero`: of a mask, at most its size."""
    base = args[0] if args else None
    if not isinstance(base, Array):
        if isinstance(base, Tuple) or base is None:
            return replace(out, shape=())
        return None
    shape = _reduced_shape(run, base, args, kwargs)
    counts = short == "count_nonzero" or base.dtype == "bool"
    elem = None
    if counts:
        axis = _axis(args, kwargs)
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


def _position(
    run: Interpreter, short: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST,
    out: Array,
) -> Value | None:
    """`argmax`, `argmin`, `searchsorted`: a place in an array."""
    base = args[0] if args else None
    if not isinstance(base, Array):
        return None
    text = run.segment(node)
    axis = _axis(args, kwargs)
    if short == "searchsorted":
        hi: Sym = run.dim(base, 0).expr
        where = args[1] if len(args) > 1 else kwargs.get("v")
        shape, dims_of = run.broadcast([where]) if where is not None else (None, None)
    elif axis is None:
        hi, shape, dims_of = op("sub", run.size_of(base), Num(1)), (), None
    elif isinstance(axis, int):
        hi = op("sub", run.dim(base, axis).expr, Num(1))
        shape, dims_of = _reduced_shape(run, base, args, kwargs), None
    else:
        return None
    step = run.step(node, f"`{text}` is a place in an array of known length")
    elem = Atom(("value", next(run.counter)), text, False, Num(0), hi, (step,))
    return replace(out, shape=shape, dims_of=dims_of, elem=elem, dtype="int")


def _where(
    run: Interpreter, short: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST,
    out: Array,
) -> Value | None:
    """`where(c, a, b)` and `select`; `where(c)` alone finds places."""
    if len(args) < 3:
        return _nonzero(run, short, args, kwargs, node, out)
    x, y = run.scalar(args[1]), run.scalar(args[2])
    elem = op("select", x, y) if x is not None and y is not None else None
    shape, dims_of = run.broadcast(args[:3])
    dtype = "int" if all(
        isinstance(a, Int) or (isinstance(a, Array) and a.dtype == "int") for a in args[1:3]
    ) else None
    return replace(out, shape=shape, dims_of=dims_of, elem=elem, dtype=dtype)


def _clip(
    run: Interpreter, short: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST,
    out: Array,
) -> Value | None:
    """`jnp.clip(x, lo, hi)`; `lax.clamp(lo, x, hi)`."""
    if short == "clamp" and len(args) == 3:
        lo, x, hi = args
    elif args:
        names = (("min", "max"), ("a_min", "a_max"))
        x = args[0]
        lo = next((kwargs[n[0]] for n in names if n[0] in kwargs),
                  args[1] if len(args) > 1 else Const(None))
        hi = next((kwargs[n[1]] for n in names if n[1] in kwargs),
                  args[2] if len(args) > 2 else Const(None))
    else:
        return None
    elem = run.scalar(x)
    for kind, limit in (("max", lo), ("min", hi)):
        sym = run.scalar(limit)
        if sym is not None:
            elem = op(kind, elem, sym) if elem is not None else None
    shape, dims_of = run.broadcast([v for v in (x, lo, hi) if not isinstance(v, Const)])
    return replace(out, shape=shape, dims_of=dims_of, elem=elem,
                   dtype=x.dtype if isinstance(x, Array) else "int")


def _nonzero(
    run: Interpreter, short: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST,
    out: Array,
) -> Value | None:
    """`nonzero`, `argwhere`, `where(c)`, `flatnonzero` with `size=`."""
    base = args[0] if args else None
    size = kwargs.get("size")
    length: Value = size if isinstance(size, Int) else Int(
        run.fresh("how many there are", static=True, lo=Num(0)))
    hi: Sym | None = None
    if isinstance(base, Array):
        hi = op("sub", run.size_of(base), Num(1))
    def entry(axis: int) -> Array:
        limit = hi
        if isinstance(base, Array) and short in {"nonzero", "where"}:
            limit = op("sub", run.dim(base, axis).expr, Num(1))
        atom = Atom(("value", next(run.counter)), run.segment(node), False, None,
                    limit if "fill_value" not in kwargs else None)
        return replace(out, ident=run.new_ident(short), shape=(length,), dtype="int", elem=atom)

    if short == "argwhere":
        rank = len(base.shape) if isinstance(base, Array) and base.shape is not None else None
        second: Value = Int(Num(rank)) if rank is not None else Int(
            run.fresh("the rank", static=True))
        return replace(out, shape=(length, second), dtype="int")
    if short == "flatnonzero":
        return entry(0)
    rank = len(base.shape) if isinstance(base, Array) and base.shape is not None else None
    if rank is not None:
        return Tuple(tuple(entry(i) for i in range(rank)), trace=out.trace)
    return Sequence(entry(0), trace=out.trace)


def _unique(
    run: Interpreter, short: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST,
    out: Array,
) -> Value | None:
    size = kwargs.get("size")
    base = args[0] if args and isinstance(args[0], Array) else None
    length: Value = size if isinstance(size, Int) else Int(
        run.fresh("how many there are", static=True, lo=Num(0)))
    first = replace(out, shape=(length,), elem=run.freshen(base.elem) if base and (
        "fill_value" not in kwargs) else None, dtype=base.dtype if base else None)
    flags = [k for k in ("return_index", "return_inverse", "return_counts") if k in kwargs]
    if not flags:
        return first
    others = tuple(
        replace(out, ident=run.new_ident(k), shape=(length,) if k != "return_inverse" else None,
                dtype="int")
        for k in flags
    )
    return Tuple((first, *others))


def _repeat(
    run: Interpreter, short: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST,
    out: Array,
) -> Value | None:
    base = args[0] if args else None
    total = kwargs.get("total_repeat_length", args[3] if len(args) > 3 else None)
    elem = run.freshen(base.elem) if isinstance(base, Array) else None
    shape = (total,) if isinstance(total, Int) else None
    repeats = kwargs.get("repeats", args[1] if len(args) > 1 else None)
    if shape is None and isinstance(repeats, Int) and isinstance(base, Array) and base.shape and (
        len(base.shape) == 1
    ):
        shape = (Int(op("mul", run.dim(base, 0).expr, repeats.expr)),)
    dtype = base.dtype if isinstance(base, Array) else None
    return replace(out, shape=shape, elem=elem, dtype=dtype)


def _arange(
    run: Interpreter, short: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST,
    out: Array,
) -> Value | None:
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


def _filled(
    run: Interpreter, short: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST,
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
    return replace(out, shape=shape, elem=value, dtype=_dtype(dtype),
                   dims_of=array.dims_ident if array is not None else None)


def _dtype(value: Value | None) -> str | None:
    name = value.name if isinstance(value, External) else (
        value.value if isinstance(value, Const) else None)
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


def _asarray(
    run: Interpreter, short: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST,
    out: Array,
) -> Value | None:
    value = args[0] if args else None
    dtype = kwargs.get("dtype", args[1] if len(args) > 1 else None)
    target = _dtype(dtype)
    match value:
        case Int():
            return replace(out, shape=(), elem=value.expr,
                           dtype=target or ("bool" if value.is_bool else "int"))
        case Float():
            return replace(out, shape=(), dtype=target or "float", ratio=value.ratio)
        case Array():
            shape, dims_of = run.broadcast([value])
            keep = target in {None, value.dtype} or (target == "int" and value.dtype != "float")
            return replace(out, ident=value.ident if value.numpy == out.numpy and keep
                           else out.ident, shape=shape, dims_of=dims_of,
                           elem=value.elem if keep else None, dtype=target or value.dtype,
                           ratio=value.ratio if target != "int" else None)
        case Tuple():
            dims, leaf = _nested(value)
            scalars = [run.scalar(v) for v in value.items if isinstance(v, Int | Array)]
            known = tuple(v for v in scalars if v is not None)
            entries = known if len(known) == len(value.items) else None
            return replace(out, entries=entries, shape=tuple(Int(Num(d)) for d in dims) if dims else None,
                           elem=run.scalar(leaf) if leaf is not None else None,
                           dtype=target or "int" if isinstance(leaf, Int) else None)
        case Sequence():
            if value.array is not None:
                return replace(out, dtype="int", elem=Atom(
                    ("shape-elem", value.array.dims_ident), "a length", True))
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


def _scalar_type(
    run: Interpreter, short: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST,
    out: Array,
) -> Value | None:
    """`jnp.int32(x)`, `np.int64(x)`: like asarray with that type."""
    if not args:
        return None
    value = args[0]
    if isinstance(value, Float) and value.ratio is not None:
        return replace(out, shape=(), dtype="int", elem=op("truncdiv", *value.ratio))
    result = _asarray(run, short, [value], {}, node, out)
    return replace(result, dtype="int") if isinstance(result, Array) else None


def _astype(
    run: Interpreter, short: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST,
    out: Array,
) -> Value | None:
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
    return replace(out, shape=shape, dims_of=dims_of or base.dims_ident, dtype=name, elem=elem,
                   ratio=keep_ratio)


def _round_to(kind: str):  # type: ignore[no-untyped-def]
    def handler(
        run: Interpreter, short: str, args: list[Value], kwargs: dict[str, Value],
        node: ast.AST, out: Array,
    ) -> Value | None:
        """`ceil`, `floor`: a float array; exact where the argument is a ratio of integers."""
        value = args[0] if args else None
        ratio = value.ratio if isinstance(value, Float | Array) else None
        if isinstance(value, Int):
            return replace(out, shape=(), dtype="float", elem=value.expr)
        shape, dims_of = run.broadcast([value]) if isinstance(value, Array) else ((), None)
        elem = op(kind, *ratio) if ratio is not None else (
            value.elem if isinstance(value, Array) and value.dtype != "float" else None)
        return replace(out, shape=shape, dims_of=dims_of, dtype="float", elem=elem)

    return handler


def _divide(
    run: Interpreter, short: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST,
    out: Array,
) -> Value | None:
    """`true_divide`, `divide`."""
    if len(args) != 2:
        return None
    x, y = run.scalar(args[0]), run.scalar(args[1])
    shape, dims_of = run.broadcast(args)
    return replace(out, shape=shape, dims_of=dims_of, dtype="float",
                   ratio=(x, y) if x is not None and y is not None else None)


def _product(
    run: Interpreter, short: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST,
    out: Array,
) -> Value | None:
    """`prod` of a shape or of an array made of ints in sight."""
    value = args[0] if args else None
    if _axis(args, kwargs) is not None:
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


def _concatenate(
    run: Interpreter, short: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST,
    out: Array,
) -> Value | None:
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
    axis = _axis(args, kwargs)
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


def _reshape(
    run: Interpreter, short: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST,
    out: Array,
) -> Value | None:
    base = args[0] if args else None
    if not isinstance(base, Array):
        shape0 = _shape_values(run, args[1] if len(args) > 1 else kwargs.get("shape"))
        if base is not None and isinstance(base, Int):
            return replace(out, shape=shape0, elem=base.expr, dtype="int")
        return None
    target = kwargs.get("shape", args[1] if len(args) == 2 else Tuple(tuple(args[1:])))
    dims = _shape_values(run, target)
    if dims is not None:
        minus = [i for i, v in enumerate(dims)
                 if isinstance(v, Int) and v.expr == Num(-1)]
        if minus:
            others: Sym = Num(1)
            for index, value in enumerate(dims):
                if index not in minus and isinstance(value, Int):
                    others = value.expr if others == Num(1) else op("mul", others, value.expr)
            rest = run.size_of(base) if others == Num(1) else op(
                "floordiv", run.size_of(base), others)
            dims = tuple(Int(rest) if i in minus else v for i, v in enumerate(dims))
    return replace(out, shape=dims, dtype=base.dtype,
                   elem=base.elem if base.shape == () or dims == () else run.freshen(base.elem))


def _broadcast_to(
    run: Interpreter, short: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST,
    out: Array,
) -> Value | None:
    base = args[0] if args else None
    dims = _shape_values(run, args[1] if len(args) > 1 else kwargs.get("shape"))
    elem = run.freshen(base.elem) if isinstance(base, Array) else None
    return replace(out, shape=dims, elem=elem,
                   dtype=base.dtype if isinstance(base, Array) else None)


def _pad(
    run: Interpreter, short: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST,
    out: Array,
) -> Value | None:
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


def _zeros_like(
    run: Interpreter, short: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST,
    out: Array,
) -> Value | None:
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


def _cumulative(
    run: Interpreter, short: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST,
    out: Array,
) -> Value | None:
    base = args[0] if args else None
    if not isinstance(base, Array):
        return None
    shape, dims_of = run.broadcast([base])
    return replace(out, shape=shape, dims_of=dims_of or base.dims_ident,
                   dtype="int" if base.dtype in {"int", "bool"} else base.dtype)


_HANDLERS = {
    "sum": _count,
    "count_nonzero": _count,
    "argmax": _position,
    "argmin": _position,
    "searchsorted": _position,
    "where": _where,
    "select": _where,
    "clip": _clip,
    "clamp": _clip,
    "nonzero": _nonzero,
    "argwhere": _nonzero,
    "flatnonzero": _nonzero,
    "unique": _unique,
    "repeat": _repeat,
    "arange": _arange,
    "iota": None,
    "zeros": _filled,
    "ones": _filled,
    "full": _filled,
    "empty": _filled,
    "asarray": _asarray,
    "array": _asarray,
    "convert_element_type": _astype,
    "astype": _astype,
    "int32": _scalar_type,
    "int64": _scalar_type,
    "int16": _scalar_type,
    "int8": _scalar_type,
    "uint32": _scalar_type,
    "uint8": _scalar_type,
    "intp": _scalar_type,
    "int_": _scalar_type,
    "ceil": _round_to("cdiv"),
    "floor": _round_to("floordiv"),
    "true_divide": _divide,
    "divide": _divide,
    "prod": _product,
    "concatenate": _concatenate,
    "stack": _concatenate,
    "reshape": _reshape,
    "broadcast_to": _broadcast_to,
    "pad": _pad,
    "zeros_like": _zeros_like,
    "ones_like": _zeros_like,
    "full_like": _zeros_like,
    "empty_like": _zeros_like,
    "cumsum": _cumulative,
    "cumprod": _cumulative,
    "argsort": _cumulative,
}
