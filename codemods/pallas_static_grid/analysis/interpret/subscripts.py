"""Subscripts and slices."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Literal

from pallas_static_grid.analysis import tables
from pallas_static_grid.analysis.interpret.elements import _is_none
from pallas_static_grid.analysis.interpret.operators import Operators
from pallas_static_grid.analysis.symbolic import Num, op
from pallas_static_grid.analysis.values import (
    Annotation,
    Array,
    Class,
    Dict,
    External,
    Function,
    Instance,
    Int,
    Leaf,
    Sequence,
    Tuple,
    Union,
    Unknown,
    Value,
)


class Subscripts(Operators):
    """Subscripts and slices."""

    def _expr_Subscript(self, node: ast.Subscript) -> Value:
        base = self.eval(node.value)
        return self.subscript(base, node.slice, node)

    def subscript(self, base: Value, index: ast.expr, node: ast.AST) -> Value:
        """`base[index]`."""
        match base:
            case Union():
                parts = [self.subscript(o, index, node) for o in base.options if not _is_none(o)]
                return self.join_values(parts) if parts else self.unknown_of(node, base)
            case Int() if base.part:
                key = self.constant_key(self.eval(index))
                text = self.segment(node)
                where = key[0] if key is not None else next(self.counter)
                return self.part_of(base, text, ("item", where))
            case Tuple() | Sequence():
                if isinstance(index, ast.Slice):
                    return self.sliced(base, index, node)
                at = self.eval(index)
                if isinstance(at, Int) and isinstance(at.expr, Num):
                    return self.element(base, at.expr.value, None, node)
                if isinstance(base, Tuple) and base.items:
                    return self.join_values(list(base.items))
                if isinstance(base, Sequence):
                    return self.picked(base.elem)
                return self.unknown_of(node, base)
            case Instance() if self.named_fields(base) is not None:
                fields = self.named_fields(base) or ()
                return self.subscript(Tuple(tuple(v for _, v in fields)), index, node)
            case Instance():
                getter = self.class_attribute(base.cls, "__getitem__")
                if isinstance(getter, Function):
                    return self.call_value(
                        replace(getter, self_value=base), [self.eval(index)], {}, None
                    )
            case Dict():
                key = self.constant_key(self.eval(index))
                found = dict(base.items).get(key[0]) if key is not None else None
                if found is not None:
                    return found
                if found is None and base.rest is not None:
                    if key is not None:
                        return self.picked(base.rest)
                    return self.join_values([v for _, v in base.items] + [base.rest])
                if found is None and base.items and base.complete and key is None:
                    return self.join_values([v for _, v in base.items])
            case Array():
                return self.array_item(base, index, node)
            case Leaf():
                leaf = Array(base.ident, text=base.text, trace=base.trace, tree=True)
                return self.array_item(leaf, index, node)
            case External(name=name) if name.rsplit(".", 1)[-1] in _GENERIC:
                assert isinstance(node, ast.expr)
                return Annotation(node, self.frame.module)
            case External() | Class():
                self.eval(index)
                return base
            case _:
                self.eval(index)
        return self.unknown_of(node, base)

    def sliced(self, base: Tuple | Sequence, index: ast.Slice, node: ast.AST) -> Value:
        """A slice of a tuple, list or shape."""
        parts: list[int | None] = []
        for part in (index.lower, index.upper, index.step):
            value = self.eval(part) if part is not None else None
            if value is None or _is_none(value):
                parts.append(None)
            elif isinstance(value, Int) and isinstance(value.expr, Num):
                parts.append(value.expr.value)
            else:
                elem = (
                    self.join_values(list(base.items))
                    if isinstance(base, Tuple) and (base.items)
                    else base.elem
                    if isinstance(base, Sequence)
                    else Unknown("")
                )
                return Sequence(elem)
        cut = slice(*parts)
        if isinstance(base, Tuple):
            nodes = base.nodes[cut]
            return replace(base, items=base.items[cut], nodes=nodes, cells=frozenset())
        if base.array is not None and parts[2] is None:
            start, stop = parts[0] or 0, parts[1]
            kind: Literal["tuple", "list"] = "list" if base.cells else "tuple"
            if stop is not None and (start < 0) == (stop < 0) and stop >= start:
                return Tuple(tuple(self.dim(base.array, i) for i in range(start, stop)), kind)
            if stop is None and start < 0:
                return Tuple(tuple(self.dim(base.array, i) for i in range(start, 0)), kind)
        return Sequence(base.elem)

    def array_item(self, base: Array, index: ast.expr, node: ast.AST) -> Value:
        """A subscript of an array: an element, a row, or a slice."""
        text = self.segment(node)
        if base.entries is not None and not isinstance(index, ast.Slice | ast.Tuple):
            at = self.eval(index)
            if isinstance(at, Int) and isinstance(at.expr, Num):
                return self.element(base, at.expr.value, None, node)
        elem = self.freshen(base.elem)
        entries = index.elts if isinstance(index, ast.Tuple) else [index]
        dims: list[Value] | None = []
        axis = 0
        rank = len(base.shape) if base.shape is not None else None
        scalar_like = True
        for entry in entries:
            if isinstance(entry, ast.Slice):
                scalar_like = False
                if dims is not None:
                    dims.append(self.slice_length(base, axis, entry))
                axis += 1
            elif isinstance(entry, ast.Constant) and entry.value is None:
                scalar_like = False
                if dims is not None:
                    dims.append(Int(Num(1)))
            elif isinstance(entry, ast.Constant) and entry.value is Ellipsis:
                dims = None
            else:
                at = self.eval(entry)
                if isinstance(at, Int):
                    axis += 1
                elif isinstance(at, Array) and at.dtype != "bool":
                    if at.shape is not None and dims is not None and len(entries) == 1:
                        dims.extend(at.shape)
                    elif at.shape is None and dims is not None:
                        dims = None
                    axis += 1
                else:
                    dims = None
        if rank is not None and dims is not None:
            assert base.shape is not None
            dims.extend(base.shape[axis:])
        elif not (rank is None and scalar_like and not dims):
            dims = None
        shape = tuple(dims) if dims is not None and (rank is not None or dims) else None
        reason = (
            f"`{text}` is an element of the array `{base.text or 'there'}`"
            if (scalar_like)
            else f"`{text}` is a part of an array"
        )
        return Array(
            f"{base.ident}[{self.item_key(entries)}]",
            shape,
            base.dtype,
            elem,
            base.numpy,
            tree=base.tree and len(entries) == 1,
            text=text,
            trace=self.trace(node, reason, base),
        )

    def item_key(self, entries: list[ast.expr]) -> str:
        """A key for a subscript: equal only for the same constants, else unique."""
        if all(isinstance(e, ast.Constant) for e in entries):
            return ",".join(repr(e.value) for e in entries if isinstance(e, ast.Constant))
        return f"#{next(self.counter)}"

    def slice_length(self, base: Array, axis: int, entry: ast.Slice) -> Value:
        """The length of `base[..., lower:upper:step]` along `axis`."""
        full = self.dim(base, axis).expr
        lower = self.eval(entry.lower) if entry.lower is not None else None
        upper = self.eval(entry.upper) if entry.upper is not None else None
        step = self.eval(entry.step) if entry.step is not None else None
        if lower is None and upper is None and step is None:
            return self.dim(base, axis)
        if step is None and isinstance(lower, Int | None) and isinstance(upper, Int | None):
            start = lower.expr if lower is not None else Num(0)
            stop = upper.expr if upper is not None else full
            if isinstance(start, Num) and start.value >= 0:
                if isinstance(stop, Num) and stop.value < 0:
                    length = op("sub", full, Num(start.value - stop.value))
                    return Int(op("max", length, Num(0)))
                if upper is None:
                    return Int(op("max", op("sub", full, start), Num(0)))
                # A slice that runs past the end is cut off there.
                end = op("min", stop, full)
                if start == Num(0):
                    return Int(end if not isinstance(stop, Num) else op("min", full, stop))
                return Int(op("max", op("sub", end, start), Num(0)))
        return Int(self.fresh("a slice's length", static=True, lo=Num(0), hi=full))


_GENERIC = frozenset(
    {
        "Callable",
        "Optional",
        "Union",
        "tuple",
        "Tuple",
        "list",
        "List",
        "Sequence",
        "Annotated",
        "Literal",
        "dict",
        "Dict",
        "Mapping",
        "type",
        "Type",
        "Iterable",
    }
    | tables.JAXTYPING
)
