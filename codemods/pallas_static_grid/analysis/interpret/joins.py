"""Joining values where paths meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pallas_static_grid.analysis.symbolic import Atom, Op, Sym
from pallas_static_grid.analysis.values import (
    Array,
    BlockSpec,
    Class,
    Const,
    Dict,
    External,
    Float,
    Function,
    GridSpec,
    Instance,
    Int,
    Launcher,
    Lazy,
    ModuleValue,
    Partial,
    Sequence,
    Struct,
    Transformed,
    Tuple,
    Union,
    Unknown,
    Value,
    options,
    settled,
)

Fresh = Callable[..., Atom]
MAX_OPTIONS = 6


def same(a: Value, b: Value) -> bool:
    """Whether two values are certainly the same run-time value."""
    if a is b:
        return True
    match a, b:
        case (Int(), Int()):
            return a.expr == b.expr
        case (Array(), Array()):
            return a.ident == b.ident and a.elem == b.elem and a.numpy == b.numpy
        case (Const(), Const()):
            return type(a.value) is type(b.value) and a.value == b.value
        case (External(), External()):
            return a.name == b.name
        case (Tuple(), Tuple()):
            return (
                a.kind == b.kind
                and len(a.items) == len(b.items)
                and all(same(x, y) for x, y in zip(a.items, b.items, strict=True))
            )
        case (Function(), Function()):
            return a.node is b.node and a.scope is b.scope and a.self_value is b.self_value
        case (Class(), Class()):
            return a.node is b.node
        case (BlockSpec(), BlockSpec()):
            return a.node is b.node
        case (GridSpec(), GridSpec()):
            return a.node is b.node
        case (Launcher(), Launcher()):
            return a.site is b.site
        case (ModuleValue(), ModuleValue()):
            return a.context is b.context
        case _:
            return False


_MANY = 8
"""More values than this are one value of which nothing is known."""


def _either(a: Sym, b: Sym, fresh: Fresh, *, static: bool) -> Sym:
    """One of two numbers; where a table or a chain of branches gives many, just a number."""
    depth, sym = 0, a
    while isinstance(sym, Op) and sym.kind == "select" and depth < _MANY:
        depth, sym = depth + 1, sym.args[0]
    if depth == _MANY:
        return fresh("one of many values", static=static)
    return Op("select", (a, b))


def join(a: Value, b: Value, fresh: Fresh) -> Value:
    """One value that covers both."""
    out = _join(a, b, fresh)
    cells = a.cells | b.cells
    if cells and out.cells != cells and not isinstance(out, Union):
        return replace(out, cells=cells)
    return out


def _join(a: Value, b: Value, fresh: Fresh) -> Value:
    if isinstance(a, Lazy) or isinstance(b, Lazy):
        a, b = settled(a), settled(b)
    if same(a, b):
        return a
    if isinstance(a, Int) and isinstance(b, Int):
        expr = _either(a.expr, b.expr, fresh, static=True)
        return replace(a, expr=expr, is_bool=a.is_bool and b.is_bool)
    if isinstance(a, Tuple) and isinstance(b, Tuple) and len(a.items) == len(b.items):
        items = tuple(join(x, y, fresh) for x, y in zip(a.items, b.items, strict=True))
        nodes = a.nodes if a.nodes == b.nodes else ()
        return replace(a, items=items, nodes=nodes)
    if isinstance(a, Array) and isinstance(b, Array) and a.numpy == b.numpy:
        return join_arrays(a, b, fresh)
    if isinstance(a, Float) and isinstance(b, Float):
        return replace(a, ratio=a.ratio if a.ratio == b.ratio else None)
    if isinstance(a, Instance) and isinstance(b, Instance) and a.cls.node is b.cls.node:
        other = dict(b.fields)
        fields = tuple((k, join(v, other[k], fresh)) for k, v in a.fields if k in other)
        return replace(a, fields=fields)
    if isinstance(a, Dict) and isinstance(b, Dict) and a.namespace == b.namespace:
        return _join_dicts(a, b, fresh)
    if isinstance(a, Sequence) and isinstance(b, Sequence):
        return Sequence(join(a.elem, b.elem, fresh), trace=a.trace)
    return _union(a, b, fresh)


def _join_dicts(a: Dict, b: Dict, fresh: Fresh) -> Dict:
    """Two dicts: the keys of both, and what else may be in there."""
    first, second = dict(a.items), dict(b.items)
    items = tuple((k, join(v, second[k], fresh)) for k, v in first.items() if k in second)
    only = [v for k, v in first.items() if k not in second]
    only += [v for k, v in second.items() if k not in first]
    known = all(d.complete or d.rest is not None for d in (a, b))
    others = [d.rest for d in (a, b) if d.rest is not None] + only
    rest: Value | None = None
    for value in others if known else ():
        rest = value if rest is None else join(rest, value, fresh)
    complete = a.complete and b.complete and not only
    return replace(a, items=items, complete=complete, node=None, rest=rest)


def join_arrays(a: Array, b: Array, fresh: Fresh) -> Array:
    """The join of two arrays: what they share, under a new identity."""
    shape = None
    if a.shape is not None and b.shape is not None and len(a.shape) == len(b.shape):
        shape = tuple(join(x, y, fresh) for x, y in zip(a.shape, b.shape, strict=True))
    elem = None
    if a.elem is not None and b.elem is not None:
        elem = _either(a.elem, b.elem, fresh, static=False)
    same_dims = a.dims_ident == b.dims_ident and a.shape is None and b.shape is None
    key = fresh("array", static=False).key
    return replace(
        a,
        ident=f"join:{key[1]}",
        shape=shape,
        elem=elem,
        dtype=a.dtype if a.dtype == b.dtype else None,
        ratio=None,
        dims_of=a.dims_ident if same_dims else None,
        trace=a.trace,
        entries=a.entries if a.entries == b.entries else None,
    )


def _union(a: Value, b: Value, fresh: Fresh) -> Value:
    kept: list[Value] = []
    for option in (*options(a), *options(b)):
        for index, other in enumerate(kept):
            if isinstance(option, Unknown) and isinstance(other, Unknown):
                break
            if same(option, other):
                break
            if _mergeable(option, other):
                kept[index] = join(other, option, fresh)
                break
        else:
            kept.append(option)
    if len(kept) > MAX_OPTIONS:
        return Unknown("too many different values meet here", trace=a.trace)
    return kept[0] if len(kept) == 1 else Union(tuple(kept), trace=a.trace or b.trace)


def _mergeable(a: Value, b: Value) -> bool:
    """Whether `join` makes one value of these two, without a union of them."""
    match a, b:
        case (Int(), Int()) | (Float(), Float()) | (Sequence(), Sequence()):
            return True
        case (Tuple(), Tuple()):
            return len(a.items) == len(b.items)
        case (Array(), Array()):
            return a.numpy == b.numpy
        case (Instance(), Instance()):
            return a.cls.node is b.cls.node
        case _:
            return False


def join_names(a: dict[str, Value], b: dict[str, Value], fresh: Fresh) -> dict[str, Value]:
    """The bindings after two paths meet; a name bound on one path only keeps that value.

    (Reading it on the other path would be an error at run time.)
    """
    if a is b:
        return a
    out = dict(a)
    for name, value in b.items():
        mine = out.get(name)
        if mine is None:
            out[name] = value
        elif mine is not value:
            out[name] = join(mine, value, fresh)
    return out


def widen(before: Value, after: Value, fresh: Fresh) -> Value:
    """A value that covers every turn of a loop which turned `before` into `after`."""
    merged = join(before, after, fresh)
    return forget(merged, fresh)


def forget(value: Value, fresh: Fresh) -> Value:
    """The same kind of value with nothing known of which one."""
    match value:
        case Int():
            return replace(value, expr=fresh("a value of a loop", static=True))
        case Float():
            return replace(value, ratio=None)
        case Array():
            return replace(
                value,
                ident=f"loop:{fresh('array', static=False).key[1]}",
                elem=None,
                ratio=None,
                shape=None,
                dims_of=None,
                entries=None,
            )
        case Tuple():
            return replace(value, items=tuple(forget(v, fresh) for v in value.items), nodes=())
        case Sequence():
            return replace(value, elem=forget(value.elem, fresh), array=None)
        case Dict():
            items = tuple((key, forget(v, fresh)) for key, v in value.items)
            rest = None if value.rest is None else forget(value.rest, fresh)
            return replace(value, items=items, node=None, rest=rest)
        case Instance():
            fields = tuple((key, forget(v, fresh)) for key, v in value.fields)
            return replace(value, fields=fields)
        case Union():
            return replace(value, options=tuple(forget(v, fresh) for v in value.options))
        case _:
            return value


def freeze(value: Value) -> object:
    """A hashable picture of the kind of a value, to see whether anything new was learned."""
    match value:
        case Int():
            return "int"
        case Array():
            rank = None if value.shape is None else len(value.shape)
            return ("array", value.numpy, value.dtype, rank)
        case Const():
            return ("const", repr(value.value))
        case Tuple():
            return ("tuple", value.kind, tuple(freeze(v) for v in value.items))
        case Sequence():
            return ("sequence", freeze(value.elem))
        case Dict():
            return ("dict", tuple((repr(k), freeze(v)) for k, v in value.items), value.complete)
        case External():
            return ("external", value.name)
        case Function():
            return ("function", id(value.node))
        case Class():
            return ("class", id(value.node))
        case Instance():
            return ("instance", id(value.cls.node), tuple((k, freeze(v)) for k, v in value.fields))
        case Partial():
            return (
                "partial",
                freeze(value.func),
                tuple(freeze(v) for v in value.args),
                tuple((k, freeze(v)) for k, v in value.kwargs),
            )
        case Transformed():
            return ("transformed", value.kind, freeze(value.func))
        case Union():
            return ("union", tuple(freeze(v) for v in value.options))
        case BlockSpec() | GridSpec() | Struct():
            return (type(value).__name__, id(value.node))
        case Launcher():
            return ("launcher", id(value.site.node))
        case _:
            return type(value).__name__


def identity(value: Value) -> object:
    """A hashable picture of a value: equal only for values that are the same for every use."""
    match value:
        case Int():
            return ("int", value.expr, value.is_bool, value.part)
        case Array():
            shape = None if value.shape is None else tuple(identity(v) for v in value.shape)
            return ("array", value.ident, value.elem, shape, value.dtype, value.numpy)
        case Const():
            return ("const", type(value.value).__name__, repr(value.value))
        case Tuple():
            return ("tuple", value.kind, tuple(identity(v) for v in value.items))
        case Float():
            return ("float", value.numpy, value.ratio)
        case External():
            return ("external", value.name)
        case Function():
            return ("function", id(value.node), id(value.scope), id(value.self_value))
        case Class():
            return ("class", id(value.node))
        case Unknown():
            return ("unknown", value.need)
        case Union():
            return ("union", tuple(identity(v) for v in value.options))
        case Instance():
            fields = tuple((k, identity(v)) for k, v in value.fields)
            return ("instance", id(value.cls.node), fields)
        case _:
            return ("value", id(value))
