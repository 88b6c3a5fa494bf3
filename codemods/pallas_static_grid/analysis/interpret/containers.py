"""Python functions on sequences, dicts and objects."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from pallas_static_grid.analysis.interpret.mutation import escape
from pallas_static_grid.analysis.interpret.numbers import two
from pallas_static_grid.analysis.symbolic import Num, Sym, op
from pallas_static_grid.analysis.values import (
    Array,
    Const,
    Dict,
    External,
    Instance,
    Int,
    Sequence,
    Struct,
    Tuple,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from pallas_static_grid.analysis.interpret.expressions import Expressions


def sequence(kind: str) -> Callable[..., Value]:
    """A handler of `tuple`, `list`, `sorted` or `reversed`."""

    def handler(
        run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST
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
            if kind == "tuple":
                return replace(value, cells=frozenset())
            if kind == "list":
                return replace(value, cells=run.new_cells())
            return Sequence(value.elem)
        elem = run.iterated(value, node)
        return Sequence(elem)

    return handler


def range_(run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`range(...)`: its numbers where it is short and literal."""
    numbers = [a.expr.value for a in args if isinstance(a, Int) and isinstance(a.expr, Num)]
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


def enumerate_(
    run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    """`enumerate(x)`: pairs of an index and an element."""
    if args and isinstance(args[0], Tuple):
        return Tuple(tuple(Tuple((Int(Num(i)), v)) for i, v in enumerate(args[0].items)))
    elem = run.iterated(args[0], node) if args else Unknown("nothing")
    return Sequence(Tuple((Int(run.fresh("an index", static=True)), elem)))


def zip_(run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`zip(a, b)`: tuples with one element of each."""
    known = [_listed(a) for a in args]
    lengths = [len(items) for items in known if items is not None]
    if lengths:
        # An argument of unknown length is as long as needed, or the missing pairs are never made.
        columns = [
            items
            if items is not None
            else [run.element(arg, i, None, node) for i in range(min(lengths))]
            for arg, items in zip(args, known, strict=True)
        ]
        rows = zip(*columns, strict=False)
        return Tuple(tuple(Tuple(tuple(row)) for row in rows))
    return Sequence(Tuple(tuple(run.iterated(a, node) for a in args)))


def _listed(value: Value) -> list[Value] | None:
    """The elements of a value whose length is in sight."""
    if isinstance(value, Tuple):
        return list(value.items)
    if isinstance(value, Const) and isinstance(value.value, str):
        return [Const(letter) for letter in value.value]
    return None


def map_(run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`map(f, x)`: what `f` makes of the elements."""
    if len(args) == 2:
        if isinstance(args[1], Tuple):
            return Tuple(tuple(run.call_value(args[0], [v], {}, None) for v in args[1].items))
        return Sequence(run.call_value(args[0], [run.iterated(args[1], node)], {}, None))
    if len(args) > 2:
        return Sequence(
            run.call_value(args[0], [run.iterated(a, node) for a in args[1:]], {}, None)
        )
    return run.unknown_of(node, *args)


def reduce_(run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
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
        return (
            run.join_values([start, once])
            if not isinstance(once, Int)
            else Int(run.fresh(run.segment(node), static=True))
        )
    return run.unknown_of(node, *args)


def itertools(
    run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    """`itertools.product`: tuples with one element of each argument."""
    return Sequence(Tuple(tuple(run.iterated(a, node) for a in args)))


def accumulate(
    run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST
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


def chain(run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`itertools.chain`."""
    if args and all(isinstance(a, Tuple) for a in args):
        return Tuple(tuple(v for a in args if isinstance(a, Tuple) for v in a.items))
    return Sequence(run.join_values([run.iterated(a, node) for a in args])) if args else Tuple(())


def broadcast_shapes(
    run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    """`broadcast_shapes(a, b)`: lengths."""
    return Sequence(Int(run.fresh("a length", static=True, lo=Num(0))))


def next_(run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`next(iterator, default)`."""
    if not args:
        return Unknown("nothing")
    elem = run.iterated(args[0], node)
    return run.join_values([elem, args[1]]) if len(args) > 1 else elem


def dict_(run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`dict(x, **fields)`."""
    items: dict[object, Value] = {}
    complete = True
    for value in args[:1]:
        if isinstance(value, Dict):
            items.update(dict(value.items))
            complete = value.complete
        elif isinstance(value, Tuple):
            pairs = [
                run.constant_key(p.items[0])
                for p in value.items
                if isinstance(p, Tuple) and len(p.items) == 2
            ]
            for pair, key in zip(value.items, pairs, strict=False):
                if key is not None and isinstance(pair, Tuple):
                    items[key[0]] = pair.items[1]
            complete = len(items) == len(value.items)
        else:
            complete = False
    items.update(kwargs)
    return Dict(tuple(items.items()), complete)


def dict_method(name: str) -> Callable[..., Value]:
    """A handler of a method of a dict in sight."""

    def handler(
        run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST
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
            if base.rest is not None:
                return run.join_values([*values, base.rest, default])
            return run.unknown_of(node, *args[1:])
        if name == "copy":
            return replace(base, cells=frozenset())
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


def replace_fields(
    run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    """`dataclasses.replace` and NamedTuple's `replace_fields`."""
    if args and isinstance(args[0], Instance):
        fields = {**dict(args[0].fields), **kwargs}
        return replace(args[0], fields=tuple(fields.items()), ident=run.new_ident("replace"))
    return run.unknown_of(node, *args)


def getattr_(run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`getattr(x, "name")`."""
    if len(args) >= 2 and isinstance(args[1], Const) and isinstance(args[1].value, str):
        expr = node if isinstance(node, ast.expr) else ast.Constant(None)
        return run.attribute(args[0], args[1].value, expr)
    return run.unknown_of(node, *args)


def namespace(
    run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    """`types.SimpleNamespace(**fields)`: read like a dict of attributes."""
    return Dict(tuple(kwargs.items()), namespace=True)


def first(run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """Functions that give their first argument back."""
    return args[0] if args else Unknown("nothing")


def copied(run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """A copy is another object."""
    if not args:
        return Unknown("nothing")
    return replace(args[0], cells=run.new_cells() if args[0].cells else frozenset())


def deep_copied(
    run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    """A copy whose parts are copies too."""
    if not args:
        return Unknown("nothing")
    value = copied(run, args, kwargs, node)

    def part(inner: Value) -> Value:
        return deep_copied(run, [inner], {}, node)

    match value:
        case Tuple(items=items):
            return replace(value, items=tuple(map(part, items)))
        case Dict(items=pairs):
            return replace(value, items=tuple((k, part(v)) for k, v in pairs), node=None)
        case Instance(fields=pairs):
            return replace(value, fields=tuple((k, part(v)) for k, v in pairs))
        case Sequence(elem=elem, array=None):
            return replace(value, elem=part(elem))
        case _:
            return value


def changed_raw(
    run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    """`operator.setitem(x, k, v)`, `vars(x)` and the like: the first argument may change."""
    for value in args[:1]:
        escape(run, value, "__setattr__" if isinstance(value, Instance) else "__setitem__")
    return run.unknown_of(node, *args)


def type_(run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`type(x)`: the class of an object in sight."""
    if len(args) == 1 and isinstance(args[0], Instance):
        return args[0].cls
    return run.unknown_of(node, *args)


def cast(run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`typing.cast(T, x)`."""
    return args[1] if len(args) > 1 else Unknown("nothing")


def shape(run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`jnp.shape(x)`."""
    if args and isinstance(args[0], Array):
        return run.shape_of(args[0])
    return Sequence(Int(run.fresh("a length", static=True, lo=Num(0))))


def struct(run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`jax.ShapeDtypeStruct(shape, dtype)`."""
    shape, dtype = two(args, kwargs, ("shape", "dtype"))
    assert isinstance(node, ast.Call)
    return Struct(shape if shape is not None else Unknown("a shape"), dtype, node)


def devices(run: Expressions, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`jax.devices()`: some devices."""
    return Sequence(External("jax.Device"))
