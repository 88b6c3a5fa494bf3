"""Objects that change in place, under whatever name they are known.

A list, dict or instance carries `cells`: the places in memory that it may be. Values that share a
cell may be one object, so a change of one is a change of all. In the running scope the change is
certain where the object is; elsewhere (the caller's names, enclosing scopes) it joins.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from pallas_static_grid.analysis.interpret.joins import join
from pallas_static_grid.analysis.scopes import Scope
from pallas_static_grid.analysis.symbolic import Num
from pallas_static_grid.analysis.values import (
    Class,
    Const,
    Dict,
    Function,
    Instance,
    Int,
    Partial,
    Sequence,
    Tuple,
    Union,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from pallas_static_grid.analysis.interpret.expressions import Expressions
    from pallas_static_grid.analysis.interpret.machine import Machine

Change = Callable[[Value], Value]

LIST_METHODS = frozenset(
    {"append", "extend", "insert", "reverse", "pop", "clear", "sort", "remove"}
)
DICT_METHODS = frozenset({"update", "setdefault", "pop", "popitem", "clear"})
# Called or handed on by name, these change their object in a way that is not followed.
_RAW_METHODS = frozenset(
    {"__setitem__", "__delitem__", "__iadd__", "__imul__", "__ior__", "__setattr__", "__delattr__"}
)
CHANGING_ATTRIBUTES = LIST_METHODS | DICT_METHODS | _RAW_METHODS | {"__dict__"}
# Objects in containers larger than this are not looked for.
_LARGE = 32
_DEPTH = 4


def is_mutable(value: Value) -> bool:
    """Whether a value may change in place."""
    if isinstance(value, Tuple):
        return value.kind == "list"
    if isinstance(value, Sequence):
        return value.array is None or bool(value.cells)
    return isinstance(value, Dict | Instance)


def is_place(node: ast.expr) -> bool:
    """Whether evaluating an expression again does nothing besides."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Subscript) and any(
            isinstance(inner, ast.Call | ast.NamedExpr) for inner in ast.walk(node.slice)
        ):
            return False
        node = node.value
    return isinstance(node, ast.Name)


def mutate(run: Machine, base: Value, change: Change) -> None:
    """Let every name in sight that holds the object of `base` hold the changed one."""
    run.mutations += 1
    if not base.cells:
        return
    current = run.scope
    for scope in _scopes(run):
        certain = scope is current and len(base.cells) == 1
        for name, value in list(scope.names.items()):
            changed = _changed(run, value, base.cells, change, certain, 0)
            if changed is not value:
                scope.names[name] = changed
                scope.push(name, changed, run.moment())


def _scopes(run: Machine) -> Iterator[Scope]:
    seen: set[int] = set()
    for frame in reversed(run.frames):
        scope: Scope | None = frame.scope
        while scope is not None and id(scope) not in seen:
            seen.add(id(scope))
            yield scope
            scope = scope.parent


def _changed(
    run: Machine,
    value: Value,
    cells: frozenset[int],
    change: Change,
    certain: bool,
    depth: int,
) -> Value:
    """`value` with the object of `cells` in it changed; `value` itself if it is not in there."""
    if value.cells & cells and is_mutable(value):
        out = change(value)
        if not (certain and len(value.cells) == 1):
            out = join(value, out, run.fresh)
        return out if isinstance(out, Union) else replace(out, cells=value.cells)
    if depth == _DEPTH:
        return value

    def inner(part: Value) -> Value:
        return _changed(run, part, cells, change, certain, depth + 1)

    match value:
        case Tuple(items=items) if items and len(items) <= _LARGE:
            new = tuple(map(inner, items))
            return replace(value, items=new) if _differ(new, items) else value
        case Dict(items=pairs) if pairs and len(pairs) <= _LARGE:
            values = tuple(v for _, v in pairs)
            new = tuple(map(inner, values))
            if not _differ(new, values):
                return value
            keys = [k for k, _ in pairs]
            return replace(value, items=tuple(zip(keys, new, strict=True)), node=None)
        case Instance(fields=pairs) if pairs:
            values = tuple(v for _, v in pairs)
            new = tuple(map(inner, values))
            names = [k for k, _ in pairs]
            if not _differ(new, values):
                return value
            return replace(value, fields=tuple(zip(names, new, strict=True)))
        case Union(options=options):
            new = tuple(map(inner, options))
            return replace(value, options=new) if _differ(new, options) else value
        case Sequence(elem=elem, array=None):
            one = inner(elem)
            return replace(value, elem=join(elem, one, run.fresh)) if one is not elem else value
        case Partial(args=args):
            new = tuple(map(inner, args))
            return replace(value, args=new) if _differ(new, args) else value
        case Function(self_value=Value() as me):
            one = inner(me)
            return replace(value, self_value=one) if one is not me else value
        case _:
            return value


def _differ(new: tuple[Value, ...], old: tuple[Value, ...]) -> bool:
    return any(a is not b for a, b in zip(new, old, strict=True))


def _is_property(value: Value | None) -> bool:
    if not isinstance(value, Function) or isinstance(value.node, ast.Lambda):
        return False
    return any(isinstance(d, ast.Name) and d.id == "property" for d in value.node.decorator_list)


def set_attribute(
    run: Expressions, base: Value, attr: str | None, value: Value, node: ast.AST
) -> None:
    """`base.attr = value`; an attribute that is not known by name may be any."""
    if isinstance(base, Union):
        for option in base.options:
            set_attribute(run, option, attr, value, node)
        return
    if isinstance(base, Class) and attr is not None:
        old = base.scope.names.get(attr)
        base.scope.names[attr] = value if old is None else join(old, value, run.fresh)
        run.mutations += 1
        return
    if isinstance(base, Dict) and base.namespace:
        mutate(run, base, lambda old: _renamed(run, old, attr, value))
        return
    if not isinstance(base, Instance):
        return
    if attr is not None and _is_property(run.class_attribute(base.cls, attr)):
        # A property: what its setter does to the object is not followed.
        escape(run, base, "__setattr__")
        return

    def change(old: Value) -> Value:
        if not isinstance(old, Instance):
            return old
        if attr is None:
            fields = {name: join(had, value, run.fresh) for name, had in old.fields}
        else:
            fields = {**dict(old.fields), attr: value}
        return replace(old, fields=tuple(fields.items()))

    mutate(run, base, change)


def _renamed(run: Machine, old: Value, attr: str | None, value: Value) -> Value:
    """A namespace of which one attribute, or any, is `value` now."""
    if not isinstance(old, Dict):
        return old
    if attr is None:
        return _opened(run, old, [value])
    return replace(old, items=tuple({**dict(old.items), attr: value}.items()), node=None)


def set_global(run: Expressions, key: Value, value: Value) -> None:
    """`globals()[key] = value`."""
    scope = run.scope
    while scope.parent is not None:
        scope = scope.parent
    names = [key.value] if isinstance(key, Const) else list(scope.names)
    for name in names:
        if isinstance(name, str) and name in scope.names:
            changed = join(scope.names[name], value, run.fresh)
            scope.names[name] = changed
            scope.push(name, changed, run.moment())
    run.mutations += 1


def set_item(run: Expressions, base: Value, target: ast.Subscript, value: Value) -> None:
    """`base[key] = value`."""
    if isinstance(base, Union):
        for option in base.options:
            set_item(run, option, target, value)
        return
    if isinstance(target.slice, ast.Slice):
        elem = run.iterated(value, target)
        mutate(run, base, lambda old: _some_elements(run, old, elem))
        return
    key = run.eval(target.slice)

    def change(old: Value) -> Value:
        constant = run.constant_key(key)
        if isinstance(old, Dict):
            if constant is not None:
                return replace(old, items=tuple({**dict(old.items), constant[0]: value}.items()))
            rest = value if old.rest is None else join(old.rest, value, run.fresh)
            items = tuple((k, join(v, value, run.fresh)) for k, v in old.items)
            return replace(old, items=items, complete=False, node=None, rest=rest)
        at = key.expr.value if isinstance(key, Int) and isinstance(key.expr, Num) else None
        if isinstance(old, Tuple) and at is not None and -len(old.items) <= at < len(old.items):
            new = list(old.items)
            new[at] = value
            return replace(old, items=tuple(new), nodes=())
        if isinstance(old, Tuple):
            joined = tuple(join(item, value, run.fresh) for item in old.items)
            return replace(old, items=joined, nodes=())
        if isinstance(old, Sequence):
            return _blended(run, old, value)
        return old

    mutate(run, base, change)


def _blended(run: Machine, old: Sequence, value: Value) -> Sequence:
    """A list of unknown length, one of whose elements is `value` now; which one is not kept."""
    return Sequence(join(old.elem, value, run.fresh), trace=old.trace, cells=old.cells)


def _some_elements(run: Machine, old: Value, elem: Value) -> Value:
    """A list some of whose elements, or none, may be like `elem` now; its length is lost."""
    if isinstance(old, Tuple):
        return Sequence(run.join_values([*old.items, elem]), trace=elem.trace or old.trace)
    return _blended(run, old, elem) if isinstance(old, Sequence) else old


def called_method(
    run: Expressions, base: Value, method: str, args: list[Value], kwargs: dict[str, Value]
) -> Value | None:
    """`base.append(x)` and the like; None where the method changes nothing of its object."""
    if isinstance(base, Union):
        results = [called_method(run, option, method, args, kwargs) for option in base.options]
        known = [result for result in results if result is not None]
        return run.join_values(known) if known else None
    if isinstance(base, Dict) and method in DICT_METHODS and not base.namespace:
        return _dict_method(run, base, method, args, kwargs)
    if not is_mutable(base) or isinstance(base, Dict | Instance) or method not in LIST_METHODS:
        return None
    result: Value = Const(None)
    if method == "pop":
        if isinstance(base, Tuple) and base.items:
            result = base.items[-1] if not args else run.join_values(list(base.items))
        else:
            result = base.elem if isinstance(base, Sequence) else Unknown("an element")
    mutate(run, base, lambda old: _listed(run, old, method, args))
    return result


def escape(run: Machine, base: Value, method: str) -> None:
    """A method that changes its object is handed on: from here on anything may be in there."""
    if isinstance(base, Union):
        for option in base.options:
            escape(run, option, method)
        return
    what = Unknown(f"what `{method}` is called with, as a value of its own")
    raw = method in _RAW_METHODS
    if isinstance(base, Instance):
        if raw or method == "__dict__":
            mutate(run, base, lambda old: _any_fields(old, method))
    elif isinstance(base, Dict):
        if raw or method in DICT_METHODS or (base.namespace and method == "__dict__"):
            mutate(run, base, lambda old: _opened(run, old, [what]))
    elif is_mutable(base) and (raw or method in LIST_METHODS):
        mutate(run, base, lambda old: _some_elements(run, old, what))


def _any_fields(old: Value, method: str) -> Value:
    """An object whose fields may have been changed through `__dict__` and the like."""
    if not isinstance(old, Instance):
        return old
    fields = tuple(
        (name, Unknown(f"field `{name}` may be changed through `{method}`", trace=had.trace))
        for name, had in old.fields
    )
    return replace(old, fields=fields)


def changes(node: ast.AST, name: str) -> bool:
    """Whether a body changes the object that `name` holds, by item or by method."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Subscript | ast.Attribute) and isinstance(inner.value, ast.Name):
            if inner.value.id != name:
                continue
            if isinstance(inner.ctx, ast.Store | ast.Del):
                return True
            if isinstance(inner, ast.Attribute) and inner.attr in CHANGING_ATTRIBUTES:
                return True
    return False


def _listed(run: Expressions, old: Value, method: str, args: list[Value]) -> Value:
    if not isinstance(old, Tuple):
        if isinstance(old, Sequence) and method in {"append", "extend", "insert"} and args:
            last = args[-1]
            elem = run.iterated(last, ast.Constant(None)) if method == "extend" else last
            return _blended(run, old, elem)
        return old
    items = list(old.items)
    at = args[0].expr if args and isinstance(args[0], Int) else None
    if method == "append" and len(args) == 1:
        items.append(args[0])
    elif method == "extend" and len(args) == 1 and isinstance(args[0], Tuple):
        items.extend(args[0].items)
    elif method == "insert" and len(args) == 2 and isinstance(at, Num):
        items.insert(at.value, args[1])
    elif method == "reverse" and not args:
        items.reverse()
    elif method == "clear" and not args:
        items.clear()
    elif method == "pop" and items and not args:
        items.pop()
    else:
        extra = (
            [run.iterated(a, ast.Constant(None)) for a in args]
            if method == "extend"
            else [a for a in args if method == "insert"]
        )
        every = [*items, *extra]
        elem = run.join_values(every) if every else Unknown("an element of a list")
        return Sequence(elem, trace=old.trace)
    return replace(old, items=tuple(items), nodes=())


def _dict_method(
    run: Expressions, base: Dict, method: str, args: list[Value], kwargs: dict[str, Value]
) -> Value | None:
    key = run.constant_key(args[0]) if args and method in {"setdefault", "pop"} else None
    have = dict(base.items)
    default = args[1] if len(args) > 1 else Const(None)
    if method == "update":
        mutate(run, base, lambda old: _updated(run, old, args, kwargs))
        return Const(None)
    if method == "setdefault" and key is not None:
        if key[0] in have:
            return have[key[0]]
        if base.complete:
            mutate(run, base, lambda old: _updated(run, old, [Dict(((key[0], default),))], {}))
            return default
    if method == "pop" and key is not None and key[0] in have:
        mutate(run, base, lambda old: _without(old, key[0]))
        return have[key[0]]
    if method == "clear":
        mutate(run, base, lambda old: replace(old, items=()) if isinstance(old, Dict) else old)
        return Const(None)
    extra = [default] if method == "setdefault" else []
    mutate(run, base, lambda old: _opened(run, old, extra))
    return None


def _updated(run: Expressions, old: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if not isinstance(old, Dict):
        return old
    items = dict(old.items)
    for arg in args:
        if not (isinstance(arg, Dict) and arg.complete):
            return _opened(run, old, [Unknown("a value that a dict was updated with")])
        items.update(dict(arg.items))
    items.update(kwargs)
    return replace(old, items=tuple(items.items()), node=None)


def _without(old: Value, key: object) -> Value:
    if not isinstance(old, Dict):
        return old
    return replace(old, items=tuple((k, v) for k, v in old.items if k != key), node=None)


def _opened(run: Machine, old: Value, extra: list[Value]) -> Value:
    """A dict that may hold other values under any key."""
    if not isinstance(old, Dict):
        return old
    rest = [*([old.rest] if old.rest is not None else []), *extra]
    items = tuple((k, run.join_values([v, *extra])) for k, v in old.items) if extra else old.items
    after = run.join_values(rest) if rest else None
    return replace(old, items=items, complete=False, node=None, rest=after)
