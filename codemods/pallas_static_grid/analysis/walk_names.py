"""Names, places and truths while a kernel is walked: everything that needs no state."""

from __future__ import annotations

import ast
from dataclasses import replace

from pallas_static_grid.analysis import values
from pallas_static_grid.analysis.algebra import equal
from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.scopes import Scope
from pallas_static_grid.analysis.symbolic import Atom, Num, Op, Sym, atoms, op
from pallas_static_grid.analysis.walk_values import (
    Constant,
    Env,
    Func,
    FunctionNode,
    Index,
    Items,
    Known,
    Method,
    Record,
    Ref,
    Scalar,
    Thing,
    Window,
    grid_axis,
)

CHANGING = frozenset({"append", "extend", "insert", "pop", "remove", "clear", "update", "sort"})


def bind(
    node: FunctionNode, args: tuple[Thing, ...], kwargs: dict[str, Thing]
) -> dict[str, Thing] | None:
    """Parameters to arguments, or None where they do not fit."""
    names: dict[str, Thing] = {}
    positional = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
    for name, arg in zip(positional, args, strict=False):
        names[name] = arg
    extra = args[len(positional) :]
    if node.args.vararg is not None:
        names[node.args.vararg.arg] = Items(tuple(extra))
    elif extra:
        return None
    allowed = {*positional, *(a.arg for a in node.args.kwonlyargs)}
    rest: dict[str, Thing] = {}
    for name, thing in kwargs.items():
        (names if name in allowed else rest)[name] = thing
    if node.args.kwarg is not None:
        names[node.args.kwarg.arg] = Record(rest)
    elif rest:
        return None
    return names


def partial(inner: Thing, args: tuple[Thing, ...], kwargs: dict[str, Thing]) -> Thing:
    """`functools.partial(inner, *args, **kwargs)`."""
    if isinstance(inner, Func | Known):
        return replace(inner, args=(*inner.args, *args), kwargs={**inner.kwargs, **kwargs})
    return Thing()


def is_something(thing: Thing) -> bool:
    """Whether a thing is certainly not None."""
    if isinstance(thing, Ref):
        return not thing.optional
    return isinstance(thing, Items | Record | Scalar | Func)


def owner_of(scope: Scope | None, name: str) -> ast.AST | None:
    """The function in whose body a name is bound, as seen from `scope`."""
    while scope is not None:
        if name in scope.names:
            return scope.node
        scope = scope.parent
    return None


def outer_value(scope: Scope | None, name: str) -> values.Value | None:
    """What a name is bound to where a function was made; only if it has one value throughout."""
    first = True
    while scope is not None:
        skip = isinstance(scope.node, ast.ClassDef) and not first
        if not skip and name in scope.names:
            past = [v for v in scope.history.get(name, []) if v is not scope.names[name]]
            if all(_same_value(v, scope.names[name]) for v in past):
                return values.settled(scope.names[name])
            return values.Unknown(f"`{name}` has several values")
        first = False
        scope = scope.parent
    return None


def _same_value(a: values.Value, b: values.Value) -> bool:
    match a, b:
        case values.Int(expr=x), values.Int(expr=y):
            return equal(x, y)
        case values.Array(ident=x), values.Array(ident=y):
            return x == y
        case values.External(name=x), values.External(name=y):
            return x == y
        case values.Function(node=x), values.Function(node=y):
            return x is y
        case values.Const(value=x), values.Const(value=y):
            return x is y
        case values.Tuple(items=x), values.Tuple(items=y):
            return len(x) == len(y) and all(_same_value(p, q) for p, q in zip(x, y, strict=True))
        case _:
            return False


def on_the_step(*syms: Sym) -> bool:
    """Whether a comparison is about a grid index and values that the launch knows."""
    found = frozenset[Atom]().union(*(atoms(s) for s in syms))
    about = any(grid_axis(atom) is not None for atom in found)
    return about and all(atom.key[0] not in ("walk", "read") for atom in found)


def element_of(ref: Ref, at: tuple[Index, ...]) -> Sym | None:
    """An element of an operand as the launching code knows it."""
    match ref.source, at:
        case values.Array() as array, (Num(place),):
            entries = array.entries
            if entries is not None and -len(entries) <= place < len(entries):
                return entries[place]
            return Atom(("elem", f"{array.ident}[{place}]"), f"{ref.name}[{place}]", static=False)
        case _:
            return None


def lengths(array: values.Array) -> tuple[Sym | None, ...] | None:
    """The lengths of an array's axes, where its rank is known."""
    if array.shape is None:
        return None
    return tuple(v.expr if isinstance(v, values.Int) else None for v in array.shape)


def known_truth(thing: Thing) -> bool | None:
    """Whether a condition is known to hold or to fail."""
    match thing:
        case Constant(value=value):
            return bool(value)
        case Scalar(sym=Num(value)):
            return bool(value)
        case Items(items=items):
            return bool(items)
        case Func() | Ref() | Record():
            return True if not isinstance(thing, Ref) else None
        case _:
            return None


def merge(one: Thing, other: Thing) -> Thing:
    """What is known of a thing that is one of two."""
    if one is other:
        return one
    match one, other:
        case Scalar(sym=a), Scalar(sym=b) if a is b or (a == b and not _chooses(a)):
            return one
        case Constant(value=a), Constant(value=b) if a is b:
            return one
        case Items(items=a), Items(items=b) if len(a) == len(b):
            return Items(tuple(merge(x, y) for x, y in zip(a, b, strict=True)))
        case Ref(source=a), Ref(source=b) if a is b and a is not None and one.name == other.name:
            return one
        case _:
            return Thing()


def _chooses(sym: Sym) -> bool:
    """Whether a value is one of two, so that a look-alike may differ."""
    return isinstance(sym, Op) and (sym.kind == "select" or any(_chooses(a) for a in sym.args))


def merge_names(one: dict[str, Thing], other: dict[str, Thing]) -> dict[str, Thing]:
    """What is known of names where two ways meet."""
    out: dict[str, Thing] = {}
    for name in {**one, **other}:
        a, b = one.get(name), other.get(name)
        out[name] = merge(a, b) if a is not None and b is not None else Thing()
    return out


def unpacked(thing: Thing, elts: list[ast.expr]) -> list[Thing]:
    """The parts that several targets get."""
    star = next((i for i, e in enumerate(elts) if isinstance(e, ast.Starred)), None)
    items: tuple[Thing, ...] | None = None
    if isinstance(thing, Items):
        items = thing.items
    elif isinstance(thing, Record) and thing.ordered:
        items = thing.ordered
    if items is None:
        return [Thing() for _ in elts]
    if star is None:
        return list(items) if len(items) == len(elts) else [Thing() for _ in elts]
    tail = len(elts) - star - 1
    if len(items) < star + tail:
        return [Thing() for _ in elts]
    middle = Items(items[star : len(items) - tail])
    return [*items[:star], middle, *items[len(items) - tail :]]


def forget_changed(node: ast.expr, method: Method, env: Env) -> None:
    """A list that is appended to is no longer the list that was displayed."""
    base = node.value if isinstance(node, ast.Attribute) else None
    if method.name in CHANGING and isinstance(base, ast.Name):
        home: Env | None = env
        while home is not None:
            if base.id in home.names:
                home.names[base.id] = Thing()
                return
            home = home.parent


def item_of(items: tuple[Thing, ...], at: tuple[Index, ...]) -> Thing:
    """An item of a tuple."""
    match at:
        case (Num(value),) if -len(items) <= value < len(items):
            return items[value]
        case (Window(start=Num(start), size=Num(size)),):
            return Items(items[start : start + size])
        case (Window(start=Num(start), size=None, full=False),) if start >= 0:
            return Items(items[start:])
        case (Window(full=True),):
            return Items(items)
        case _:
            return Thing()


def index_of(thing: Thing) -> Index:
    """A thing as a position of a subscript."""
    match thing:
        case Scalar(sym=sym):
            return sym
        case Window():
            return thing
        case _:
            return None


def unary(operator: ast.unaryop, thing: Thing) -> Thing:
    """`-x`, `not x`."""
    if isinstance(operator, ast.USub) and isinstance(thing, Scalar):
        return Scalar(op("neg", thing.sym))
    if isinstance(operator, ast.Not):
        truth = known_truth(thing)
        return Thing() if truth is None else Constant(not truth)
    return Thing()


def leaves_loop(body: list[ast.stmt]) -> bool:
    """Whether statements may leave a loop early."""
    return any(isinstance(n, ast.Break | ast.Continue) for s in body for n in ast.walk(s))


def stored_names(body: list[ast.stmt]) -> set[str]:
    """Names that statements bind."""
    return {
        n.id
        for s in body
        for n in ast.walk(s)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }


def forget_nonlocals(func: Func) -> None:
    """What a function that may not have run has bound outside is no longer known."""
    for node in ast.walk(func.node):
        if isinstance(node, ast.Nonlocal):
            env: Env | None = func.env
            while env is not None:
                for name in node.names:
                    if name in env.names:
                        env.names[name] = Thing()
                env = env.parent


def module_values(context: ModuleContext) -> dict[str, values.Value]:
    """What a module in sight offers a kernel: ints, functions and what it imports."""
    names = context.scope.names if context.scope is not None else {}
    useful = (values.Int, values.Function, values.External, values.Const)
    return {name: value for name, value in names.items() if isinstance(value, useful)}


def as_load(node: ast.expr) -> ast.expr:
    """A target read instead of written."""
    match node:
        case ast.Name(id=name):
            return ast.copy_location(ast.Name(id=name, ctx=ast.Load()), node)
        case ast.Subscript(value=value, slice=index):
            return ast.copy_location(ast.Subscript(value=value, slice=index, ctx=ast.Load()), node)
        case ast.Attribute(value=value, attr=attr):
            return ast.copy_location(ast.Attribute(value=value, attr=attr, ctx=ast.Load()), node)
        case _:
            return node
