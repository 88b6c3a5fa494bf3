"""Elements, keys and truth of values in sight."""

from __future__ import annotations

import ast
from dataclasses import replace

from pallas_static_grid.analysis import tables
from pallas_static_grid.analysis.interpret.lengths import Lengths
from pallas_static_grid.analysis.symbolic import Atom, Num
from pallas_static_grid.analysis.values import (
    Array,
    Class,
    Const,
    Dict,
    Float,
    Function,
    Instance,
    Int,
    ModuleValue,
    Partial,
    Sequence,
    Transformed,
    Tuple,
    Union,
    Unknown,
    Value,
    options,
)


class Elements(Lengths):
    """Elements, keys and truth of values in sight."""

    def named_fields(self, value: Instance) -> tuple[tuple[str, Value], ...] | None:
        """The fields of a NamedTuple instance in order, or None for other classes."""
        for base in value.cls.node.bases:
            text = ast.unparse(base)
            if text.rsplit(".", 1)[-1] == "NamedTuple":
                names = [
                    s.target.id
                    for s in value.cls.node.body
                    if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
                ]
                have = dict(value.fields)
                return tuple((n, have.get(n, Unknown(f"field `{n}`"))) for n in names)
        return None

    def part_of(self, value: Int, text: str, key: object) -> Int:
        """A part of a static argument: static as well."""
        atom = Atom(("part", value.expr, key), text, static=True)
        return Int(atom, part=text, trace=value.trace)

    def element(self, value: Value, index: int, count: int | None, node: ast.AST) -> Value:
        """Element `index` of a value that is unpacked into `count` parts or subscripted."""
        match value:
            case Int() if value.part:
                return self.part_of(value, f"{value.part}[{index}]", ("item", index))
            case Tuple():
                if -len(value.items) <= index < len(value.items):
                    item = value.items[index]
                    if value.trace is not None and item.trace is None:
                        item = replace(item, trace=value.trace)
                    return item
            case Sequence():
                if value.array is not None:
                    axis = index
                    return self.dim(value.array, axis)
                return self.picked(value.elem)
            case Instance() if self.named_fields(value) is not None:
                fields = self.named_fields(value) or ()
                if -len(fields) <= index < len(fields):
                    return fields[index][1]
            case Array():
                elem = self.freshen(value.elem)
                if value.entries is not None and -len(value.entries) <= index < len(value.entries):
                    elem = value.entries[index]
                shape = value.shape[1:] if value.shape else None
                text = value.text or "the array"
                return Array(
                    f"{value.ident}[{index}]",
                    shape,
                    value.dtype,
                    elem,
                    value.numpy,
                    tree=value.tree,
                    text=f"{text}[{index}]",
                    trace=self.trace(node, f"element {index} of the array `{text}`", value),
                )
            case Union():
                parts = [
                    self.element(o, index, count, node) for o in value.options if not _is_none(o)
                ]
                if parts:
                    return self.join_values(parts)
            case _:
                pass
        return self.unknown_of(node, value)

    def slice_of(self, value: Value, start: int, stop: int, node: ast.AST) -> Value:
        """`value[start:stop]` with `stop` counted from the end (0 is the end)."""
        if isinstance(value, Tuple):
            end = len(value.items) + stop
            return Tuple(value.items[start:end], "list")
        if isinstance(value, Sequence):
            return Sequence(value.elem)
        if isinstance(value, Array):
            return self.derived(value, node, elem=self.freshen(value.elem), shape=None)
        return self.unknown_of(node, value)

    def one_of(self, elem: Value) -> Value:
        """An element of a sequence: like the others, but not equal to them."""
        match elem:
            case Int(expr=Atom() as atom):
                return replace(elem, expr=replace(atom, key=("value", next(self.counter))))
            case Int(expr=expr) if not isinstance(expr, Num):
                return replace(elem, expr=self.fresh("an element", static=True))
            case Array():
                return replace(elem, ident=self.new_ident("element"), dims_of=None)
            case Unknown(ident=ident) if ident:
                return replace(elem, ident="")
            case Tuple(items=items):
                return replace(elem, items=tuple(self.one_of(item) for item in items))
            case _:
                return elem

    def picked(self, elem: Value) -> Value:
        """One certain element of a sequence; where the elements are of several kinds, any kind."""
        one = self.one_of(elem)
        if isinstance(one, Tuple):
            return replace(one, items=tuple(self.picked(item) for item in one.items))
        if len({isinstance(option, Array | Float) for option in options(one)}) == 2:
            reason = "which elements of the list are arrays, and which are not, is not known"
            return Unknown(reason, trace=one.trace)
        return one

    def iterated(self, value: Value, node: ast.AST) -> Value:
        """What iterating over a value gives."""
        match value:
            case Tuple():
                return (
                    self.join_values(list(value.items))
                    if value.items
                    else Unknown("an element of an empty tuple")
                )
            case Int() if value.part:
                return self.part_of(value, f"{value.part}[...]", ("item", next(self.counter)))
            case Sequence():
                return self.one_of(value.elem)
            case Array():
                return self.element(value, 0, None, node)
            case Dict():
                keys = [k for k, _ in value.items]
                if keys and value.complete:
                    return self.join_values(
                        [Int(Num(k)) if isinstance(k, int) else Const(k) for k in keys]
                    )
            case Instance() if self.named_fields(value):
                return self.join_values([v for _, v in self.named_fields(value) or ()])
            case _:
                pass
        return self.unknown_of(node, value)

    def constant_key(self, key: Value) -> tuple[object] | None:
        """The Python value of a constant dict key, in a 1-tuple."""
        if isinstance(key, Const):
            return (key.value,)
        if isinstance(key, Int) and isinstance(key.expr, Num):
            return (key.expr.value,)
        if isinstance(key, Tuple):
            parts = [self.constant_key(item) for item in key.items]
            known = [part[0] for part in parts if part is not None]
            return (tuple(known),) if len(known) == len(parts) else None
        return None

    def truth(self, value: Value) -> bool | None:
        """The truth of a value where it is certain."""
        match value:
            case Int(expr=Num(value=number)):
                return bool(number)
            case Const():
                return bool(value.value) if value.value is not Ellipsis else True
            case Tuple():
                return bool(value.items)
            case Dict():
                return bool(value.items) if value.complete or value.items else None
            case Function() | Class() | ModuleValue() | Partial() | Transformed():
                return True
            case _:
                return None

    def telling(self, values: list[Value]) -> Array | None:
        """See the function of this name."""
        return telling(values)


def telling(values: list[Value]) -> Array | None:
    """The array among operands whose chain says most: one that depends on data, if any does."""
    arrays = [v for v in values if isinstance(v, Array) and not v.numpy]
    arrays = arrays or [v for v in values if isinstance(v, Array)]
    for array in arrays:
        if array.trace is not None and tables.BY_ACCIDENT not in array.trace.root:
            return array
    return arrays[0] if arrays else None


def _is_none(value: Value) -> bool:
    return isinstance(value, Const) and value.value is None
