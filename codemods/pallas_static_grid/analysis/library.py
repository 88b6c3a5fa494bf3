"""What known functions of Python, NumPy and JAX return.

`call` is the entry; the sets of names are in `tables.py`.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from pallas_static_grid.analysis import arrays, control, tables
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
    Struct,
    Tuple,
    Union,
    Unknown,
    Value,
    options,
)

if TYPE_CHECKING:
    from pallas_static_grid.analysis.interpreter import Interpreter

_ARRAY_PREFIXES = ("jnp.", "lax.", "jax.nn.", "jax.random.", "jax.scipy.", "jax.image.")


def call(
    run: Interpreter, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value | None:
    """The result of calling the function `name`; None where nothing is known of it."""
    handled = control.call(run, name, args, kwargs, node)
    if handled is not None:
        return handled
    if name.startswith("array."):
        return arrays.method(run, name.removeprefix("array."), args, kwargs, node)
    if name in tables.INT_FUNCTIONS:
        return _int_function(run, name, args, node)
    if name in tables.BOOL_FUNCTIONS:
        return _bool_function(run, name, args, node)
    if name in tables.FLOAT_FUNCTIONS:
        ratio = None
        if name == "float" and args and isinstance(args[0], Int):
            ratio = (args[0].expr, Num(1))
        return Float(ratio=ratio, trace=run.trace(node, "the result is a float"))
    special = _SPECIAL.get(name)
    if special is not None:
        return special(run, args, kwargs, node)
    if name in tables.NO_ARRAY or name.split(".", 2)[0:2] in (["np", "testing"], ["np", "lib"]):
        reason = f"what `{run.segment(node)}` is, is out of sight"
        return Unknown(reason, trace=run.trace(node, reason))
    if name.startswith("np."):
        return arrays.function(run, name, args, kwargs, node, numpy=True)
    if name.startswith(_ARRAY_PREFIXES):
        return arrays.function(run, name, args, kwargs, node, numpy=False)
    if name in {"jax.device_put", "jax.block_until_ready"} and args:
        return args[0] if isinstance(args[0], Array) and not args[0].numpy else (
            arrays.function(run, "jnp.asarray", args[:1], {}, node, numpy=False))
    if name in {"pl.program_id", "lax.axis_index", "pl.num_programs", "pl.load",
                "pltpu.roll", "pltpu.repeat", "pltpu.bitcast", "pl.dot", "jax.core.get_aval"}:
        return Array(run.new_ident(name), shape=() if "id" in name or "num" in name else None,
                     dtype="int", text=run.segment(node),
                     trace=run.trace(node, f"`{run.segment(node)}` is a traced value"))
    return None


def _int_function(run: Interpreter, name: str, args: list[Value], node: ast.AST) -> Value:
    if name == "len" and args:
        length = length_of(run, args[0])
        if length is not None:
            return Int(length)
    if name in {"jnp.size", "np.size"} and len(args) == 1 and isinstance(args[0], Array):
        return Int(run.size_of(args[0]))
    return Int(run.fresh(run.segment(node), static=True, lo=Num(0)))


def length_of(run: Interpreter, value: Value) -> Sym | None:
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


def _bool_function(run: Interpreter, name: str, args: list[Value], node: ast.AST) -> Value:
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
    if isinstance(value, Unknown | Union) or name is None:
        return None
    if name == "int":
        return isinstance(value, Int)
    if name == "tuple":
        return isinstance(value, Tuple) and value.kind == "tuple" if not isinstance(
            value, Sequence | Instance) else None
    if name == "list":
        return isinstance(value, Tuple) and value.kind == "list" if not isinstance(
            value, Sequence) else None
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


def _to_int(
    run: Interpreter, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
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
                parts.append(Int(elem if known and elem is not None else run.fresh(
                    run.segment(node), static=True)))
            case Array():
                reason = (f"`{run.segment(node)}` is a Python int outside of `jit` (a transfer to "
                          f"the host) and an error inside")
                parts.append(Unknown(reason, trace=run.trace(node, reason, value)))
            case Const(value=str()) | Const(value=None):
                parts.append(Int(run.fresh(run.segment(node), static=True)))
            case _:
                parts.append(Int(run.fresh(run.segment(node), static=True)))
    return run.join_values(parts)


def _reduce_ints(kind: str):  # type: ignore[no-untyped-def]
    def handler(
        run: Interpreter, args: list[Value], kwargs: dict[str, Value], node: ast.AST
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
        flat = [o for v in items for o in options(v)]
        if items and all(isinstance(v, Int) for v in items):
            return Int(op(kind, *(v.expr for v in items if isinstance(v, Int))))
        dynamic = next((v for v in flat if isinstance(v, Array)), None)
        if dynamic is not None:
            syms = [run.scalar(v) for v in items]
            elem_sym = op(kind, *[s for s in syms if s is not None]) if all(
                s is not None for s in syms) else None
            return Array(run.new_ident(kind), (), "int", elem_sym, numpy=dynamic.numpy,
                         text=run.segment(node), trace=dynamic.trace)
        if any(isinstance(v, Float) for v in flat):
            return Float(trace=run.trace(node, "one of the values is a float"))
        return run.unknown_of(node, *items)

    return handler


def _sum(
    run: Interpreter, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    if args and isinstance(args[0], Tuple):
        total: Value = args[1] if len(args) > 1 else Int(Num(0))
        for item in args[0].items:
            total = run.binary(ast.Add(), total, item, node)
        return total
    elem = run.iterated(args[0], node) if args else Unknown("nothing to sum")
    if isinstance(elem, Int):
        return Int(run.fresh(run.segment(node), static=True))
    return elem


def _abs(run: Interpreter, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if args and isinstance(args[0], Int):
        return Int(op("max", args[0].expr, op("neg", args[0].expr)))
    if args and isinstance(args[0], Array):
        return run.derived(args[0], node)
    return args[0] if args else Unknown("nothing")


def _cdiv(run: Interpreter, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    a, b = _two(args, kwargs, ("a", "b"))
    if a is None or b is None:
        return run.unknown_of(node, *args)
    parts: list[Value] = []
    for x in options(a):
        for y in options(b):
            parts.append(_cdiv_one(run, x, y, node))
    return run.join_values(parts)


def _cdiv_one(run: Interpreter, a: Value, b: Value, node: ast.AST) -> Value:
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
        return Array(run.new_ident("cdiv"), shape, "int", elem, numpy=cause.numpy and all(
            v.numpy for v in (a, b) if isinstance(v, Array)), dims_of=dims_of,
            text=run.segment(node),
            trace=cause.trace or run.trace(node, f"`{run.segment(node)}` is an array"))
    if isinstance(a, Float) or isinstance(b, Float):
        return Float(trace=run.trace(node, "the result is a float"))
    return run.unknown_of(node, a, b)


def _two(
    args: list[Value], kwargs: dict[str, Value], names: tuple[str, str]
) -> tuple[Value | None, Value | None]:
    given = dict(zip(names, args, strict=False))
    given.update({k: v for k, v in kwargs.items() if k in names})
    return given.get(names[0]), given.get(names[1])


def _ceil(kind: str):  # type: ignore[no-untyped-def]
    def handler(
        run: Interpreter, args: list[Value], kwargs: dict[str, Value], node: ast.AST
    ) -> Value:
        """`math.ceil` / `math.floor` / `math.trunc`: a Python int."""
        value = args[0] if args else None
        if isinstance(value, Int):
            return value
        if isinstance(value, Float) and value.ratio is not None:
            return Int(op(kind, *value.ratio))
        if isinstance(value, Array) and value.ratio is not None:
            return Int(op(kind, *value.ratio)) if value.numpy else Unknown(
                "math.ceil of a traced value", trace=value.trace)
        if isinstance(value, Array) and not value.numpy:
            return _to_int(run, args, kwargs, node)
        return Int(run.fresh(run.segment(node), static=True))

    return handler


def _prod(run: Interpreter, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
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


def _divmod(run: Interpreter, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if len(args) == 2:
        return Tuple((
            run.binary(ast.FloorDiv(), args[0], args[1], node),
            run.binary(ast.Mod(), args[0], args[1], node),
        ))
    return run.unknown_of(node, *args)


def _pow(run: Interpreter, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if len(args) == 2:
        return run.binary(ast.Pow(), args[0], args[1], node)
    return run.unknown_of(node, *args)


def _gcd(run: Interpreter, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    return Int(run.fresh(run.segment(node), static=True, lo=Num(0)))


def _sequence(kind: str):  # type: ignore[no-untyped-def]
    def handler(
        run: Interpreter, args: list[Value], kwargs: dict[str, Value], node: ast.AST
    ) -> Value:
        """`tuple(x)`, `list(x)`, `sorted(x)`, `reversed(x)`."""
        if not args:
            return Tuple((), "list" if kind == "list" else "tuple")
        value = args[0]
        if isinstance(value, Tuple):
            items = value.items[::-1] if kind == "reversed" else value.items
            if kind == "sorted" and items:
                joined = run.join_values(list(items))
                return Tuple((joined,) * len(items), "list")
            nodes = value.nodes if kind in {"tuple", "list"} else ()
            return Tuple(items, "tuple" if kind == "tuple" else "list", nodes)
        if isinstance(value, Sequence):
            if kind in {"tuple", "list"}:
                return replace(value, trace=value.trace)
            return Sequence(value.elem)
        elem = run.iterated(value, node)
        return Sequence(elem)

    return handler


def _range(run: Interpreter, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    numbers = [a.expr.value for a in args
               if isinstance(a, Int) and isinstance(a.expr, Num)]
    if len(numbers) == len(args) and args:
        try:
            turns = range(*numbers)
        except (ValueError, TypeError):
            turns = range(0)
        if len(turns) <= 16:
            return Tuple(tuple(Int(Num(i)) for i in turns))
    hi = None
    lo: Sym | None = None
    if len(args) == 1 and isinstance(args[0], Int):
        lo, hi = Num(0), op("sub", args[0].expr, Num(1))
    return Sequence(Int(run.fresh("a loop index", static=True, lo=lo, hi=hi)))


def _enumerate(
    run: Interpreter, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    if args and isinstance(args[0], Tuple):
        return Tuple(tuple(Tuple((Int(Num(i)), v)) for i, v in enumerate(args[0].items)))
    elem = run.iterated(args[0], node) if args else Unknown("nothing")
    return Sequence(Tuple((Int(run.fresh("an index", static=True)), elem)))


def _zip(run: Interpreter, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if args and all(isinstance(a, Tuple) for a in args):
        rows = zip(*(a.items for a in args if isinstance(a, Tuple)), strict=False)
        return Tuple(tuple(Tuple(tuple(row)) for row in rows))
    return Sequence(Tuple(tuple(run.iterated(a, node) for a in args)))


def _map(run: Interpreter, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if len(args) == 2:
        if isinstance(args[1], Tuple):
            return Tuple(tuple(run.call_value(args[0], [v], {}, None) for v in args[1].items))
        return Sequence(run.call_value(args[0], [run.iterated(args[1], node)], {}, None))
    if len(args) > 2:
        return Sequence(run.call_value(
            args[0], [run.iterated(a, node) for a in args[1:]], {}, None))
    return run.unknown_of(node, *args)


def _reduce(run: Interpreter, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`functools.reduce(f, xs, start)`."""
    if len(args) >= 2 and isinstance(args[1], Tuple):
        items = list(args[1].items)
        total = args[2] if len(args) > 2 else (items.pop(0) if items else Unknown("nothing"))
        for item in items:
            total = run.call_value(args[0], [total, item], {}, None)
        return total
    if len(args) >= 2:
        elem = run.iterated(args[1], node)
        start = args[2] if len(args) > 2 else elem
        once = run.call_value(args[0], [start, elem], {}, None)
        return run.join_values([start, once]) if not isinstance(once, Int) else Int(
            run.fresh(run.segment(node), static=True))
    return run.unknown_of(node, *args)


def _operator(kind: type[ast.operator]):  # type: ignore[no-untyped-def]
    def handler(
        run: Interpreter, args: list[Value], kwargs: dict[str, Value], node: ast.AST
    ) -> Value:
        if len(args) == 2:
            return run.binary(kind(), args[0], args[1], node)
        return run.unknown_of(node, *args)

    return handler


def _dict(run: Interpreter, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    items: dict[object, Value] = {}
    complete = True
    for value in args[:1]:
        if isinstance(value, Dict):
            items.update(dict(value.items))
            complete = value.complete
        else:
            complete = False
    items.update(kwargs)
    return Dict(tuple(items.items()), complete)


def _shape(run: Interpreter, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`jnp.shape(x)`."""
    if args and isinstance(args[0], Array):
        return run.shape_of(args[0])
    return Sequence(Int(run.fresh("a length", static=True, lo=Num(0))))


def _struct(run: Interpreter, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`jax.ShapeDtypeStruct(shape, dtype)`."""
    shape, dtype = _two(args, kwargs, ("shape", "dtype"))
    assert isinstance(node, ast.Call)
    return Struct(shape if shape is not None else Unknown("a shape"), dtype, node)


def _first(run: Interpreter, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    return args[0] if args else Unknown("nothing")


def _cast(run: Interpreter, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    return args[1] if len(args) > 1 else Unknown("nothing")


def _round(run: Interpreter, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if len(args) == 1 and isinstance(args[0], Int):
        return args[0]
    if len(args) == 1 and isinstance(args[0], Float) and not args[0].numpy:
        return Int(run.fresh(run.segment(node), static=True))
    return run.unknown_of(node, *args)


def _replace(run: Interpreter, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`dataclasses.replace` and NamedTuple's `_replace`."""
    if args and isinstance(args[0], Instance):
        fields = {**dict(args[0].fields), **kwargs}
        return replace(args[0], fields=tuple(fields.items()), ident=run.new_ident("replace"))
    return run.unknown_of(node, *args)


def _getattr(run: Interpreter, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if len(args) >= 2 and isinstance(args[1], Const) and isinstance(args[1].value, str):
        expr = node if isinstance(node, ast.expr) else ast.Constant(None)
        return run.attribute(args[0], args[1].value, expr)
    return run.unknown_of(node, *args)


def _dict_method(name: str):  # type: ignore[no-untyped-def]
    def handler(
        run: Interpreter, args: list[Value], kwargs: dict[str, Value], node: ast.AST
    ) -> Value:
        base = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            base = run.eval(node.func.value)
        if not isinstance(base, Dict):
            return run.unknown_of(node, *args)
        values = [v for _, v in base.items]
        if name in {"get", "pop", "setdefault"} and args:
            key = run.constant_key(args[0])
            have = dict(base.items)
            if key is not None and key[0] in have:
                return have[key[0]]
            default = args[1] if len(args) > 1 else Const(None)
            if key is not None and base.complete:
                return default
            if base.complete and values:
                return run.join_values([*values, default])
            return run.unknown_of(node, *args[1:])
        if name == "copy":
            return base
        if not base.complete or not values:
            return run.unknown_of(node)
        if name == "values":
            return Tuple(tuple(values))
        if name == "keys":
            return Tuple(tuple(Const(k) for k, _ in base.items))
        if name == "items":
            return Tuple(tuple(Tuple((Const(k), v)) for k, v in base.items))
        return run.unknown_of(node)

    return handler


def _next(run: Interpreter, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`next(iterator, default)`."""
    if not args:
        return Unknown("nothing")
    elem = run.iterated(args[0], node)
    return run.join_values([elem, args[1]]) if len(args) > 1 else elem


def _itertools(
    run: Interpreter, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    """`itertools.product`: tuples with one element of each argument."""
    return Sequence(Tuple(tuple(run.iterated(a, node) for a in args)))


def _accumulate(
    run: Interpreter, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    """`itertools.accumulate`: sums (or what the function makes) of the elements so far."""
    if not args:
        return Unknown("nothing")
    elem = run.iterated(args[0], node)
    func = args[1] if len(args) > 1 else kwargs.get("func")
    if func is not None:
        return Sequence(run.join_values([elem, run.call_value(func, [elem, elem], {}, None)]))
    if isinstance(elem, Int):
        return Sequence(Int(run.fresh(run.segment(node), static=True)))
    return Sequence(run.binary(ast.Add(), elem, elem, node))


def _chain(run: Interpreter, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`itertools.chain`."""
    if args and all(isinstance(a, Tuple) for a in args):
        return Tuple(tuple(v for a in args if isinstance(a, Tuple) for v in a.items))
    return Sequence(run.join_values([run.iterated(a, node) for a in args])) if args else Tuple(())


def _broadcast_shapes(
    run: Interpreter, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    return Sequence(Int(run.fresh("a length", static=True, lo=Num(0))))


def _devices(
    run: Interpreter, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    return Sequence(External("jax.Device"))


def _namespace(
    run: Interpreter, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    """`types.SimpleNamespace(**fields)`: read like a dict of attributes."""
    return Dict(tuple(kwargs.items()), namespace=True)


_SPECIAL = {
    "int": _to_int,
    "operator.index": _to_int,
    "max": _reduce_ints("max"),
    "min": _reduce_ints("min"),
    "sum": _sum,
    "abs": _abs,
    "pl.cdiv": _cdiv,
    "jax.cdiv": _cdiv,
    "jax.util.ceil_div": _cdiv,
    "pltpu.cdiv": _cdiv,
    "math.ceil": _ceil("cdiv"),
    "math.floor": _ceil("floordiv"),
    "math.trunc": _ceil("truncdiv"),
    "math.prod": _prod,
    "jax.util.prod": _prod,
    "math.gcd": _gcd,
    "math.lcm": _gcd,
    "divmod": _divmod,
    "pow": _pow,
    "round": _round,
    "tuple": _sequence("tuple"),
    "list": _sequence("list"),
    "sorted": _sequence("sorted"),
    "reversed": _sequence("reversed"),
    "range": _range,
    "enumerate": _enumerate,
    "zip": _zip,
    "map": _map,
    "functools.reduce": _reduce,
    "operator.mul": _operator(ast.Mult),
    "operator.add": _operator(ast.Add),
    "operator.sub": _operator(ast.Sub),
    "operator.floordiv": _operator(ast.FloorDiv),
    "operator.mod": _operator(ast.Mod),
    "dict": _dict,
    "jnp.shape": _shape,
    "np.shape": _shape,
    "jax.ShapeDtypeStruct": _struct,
    "jax.core.ShapedArray": _struct,
    "jax.typeof": _first,
    "typing.cast": _cast,
    "copy.copy": _first,
    "copy.deepcopy": _first,
    "jax.block_until_ready": _first,
    "dataclasses.replace": _replace,
    "namedtuple._replace": _replace,
    "getattr": _getattr,
    "next": _next,
    "iter": _first,
    "itertools.product": _itertools,
    "itertools.accumulate": _accumulate,
    "itertools.chain": _chain,
    "np.broadcast_shapes": _broadcast_shapes,
    "jnp.broadcast_shapes": _broadcast_shapes,
    "lax.broadcast_shapes": _broadcast_shapes,
    "jax.devices": _devices,
    "jax.local_devices": _devices,
    "types.SimpleNamespace": _namespace,
    "argparse.Namespace": _namespace,
    "dict.get": _dict_method("get"),
    "dict.pop": _dict_method("pop"),
    "dict.setdefault": _dict_method("setdefault"),
    "dict.copy": _dict_method("copy"),
    "dict.values": _dict_method("values"),
    "dict.keys": _dict_method("keys"),
    "dict.items": _dict_method("items"),
}
