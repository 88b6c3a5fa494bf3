"""Shapes, lengths and the integers that values stand for."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

from pallas_static_grid.analysis.interpret.machine import Machine
from pallas_static_grid.analysis.symbolic import Atom, Num, Op, Sym, op
from pallas_static_grid.analysis.values import (
    Array,
    Int,
    Sequence,
    Tuple,
    Unknown,
    Value,
)


class Lengths(Machine):
    """Shapes, lengths and the integers that values stand for."""

    def shape_of(self, array: Array) -> Value:
        """The shape of an array, as a tuple of ints."""
        if array.shape is not None:
            return Tuple(array.shape)
        return Sequence(
            Int(Atom(("param", f"{array.dims_ident}.shape[]"), "a length", static=True)),
            array=array,
        )

    def dim(self, array: Array, axis: int) -> Int:
        """`array.shape[axis]`."""
        if array.shape is not None and -len(array.shape) <= axis < len(array.shape):
            value = array.shape[axis]
            if isinstance(value, Int):
                return value
        text = array.text or "the array"
        return Int(
            Atom(("dim", array.dims_ident, axis), f"{text}.shape[{axis}]", static=True, lo=Num(0))
        )

    def size_of(self, array: Array) -> Sym:
        """The number of elements."""
        if array.shape is not None:
            out: Sym = Num(1)
            for index, value in enumerate(array.shape):
                part = value.expr if isinstance(value, Int) else self.dim(array, index).expr
                out = part if out == Num(1) else op("mul", out, part)
            return out
        return Atom(
            ("size", array.dims_ident), f"{array.text or 'array'}.size", static=True, lo=Num(0)
        )

    def scalar(self, value: Value) -> Sym | None:
        """The integer that a value (or each element of it) is, where it can be named."""
        match value:
            case Int():
                return value.expr
            case Array():
                if value.elem is not None:
                    return value.elem
                if value.dtype == "float" or value.ratio is not None:
                    return None
                return Atom(("elem", value.ident), value.text or "an array", static=False)
            case _:
                return None

    def freshen(self, elem: Sym | None) -> Sym | None:
        """Some element of an array: limits stay, identity goes."""
        if elem is None:
            return None
        if isinstance(elem, Atom):
            if elem.static:
                return elem
            return replace(elem, key=("value", next(self.counter)))
        if isinstance(elem, Op):
            # Rebuilt even if all is static: two elements of `where(c, 4, 8)` may differ.
            return Op(elem.kind, tuple(self.freshen(a) or a for a in elem.args))
        return elem

    def derived(self, base: Array, node: ast.AST, **changes: Any) -> Array:
        """An array computed from one array element by element."""
        plain = replace(
            base,
            ident=self.new_ident("derived"),
            elem=None,
            ratio=None,
            entries=None,
            dims_of=None if "shape" in changes else base.dims_ident,
            text=self.segment(node),
            trace=base.trace or self.trace(node, f"`{self.segment(node)}` is an array"),
        )
        return replace(plain, **changes)

    def broadcast(self, values: list[Value]) -> tuple[tuple[Value, ...] | None, str | None]:
        """The shape of an element-wise result: (shape, ident whose lengths it shares)."""
        arrays = [v for v in values if isinstance(v, Array)]
        if any(isinstance(v, Unknown) for v in values):
            return None, None
        big = [v for v in arrays if v.shape != ()]
        if not big:
            return (), None
        if all(v.dims_ident == big[0].dims_ident for v in big):
            return big[0].shape, big[0].dims_ident
        known = [v for v in big if v.shape is not None]
        if len(known) == len(big):
            rank = max(len(v.shape or ()) for v in known)
            dims: list[Value] = []
            for axis in range(1, rank + 1):
                sizes = [v.shape[-axis] for v in known if v.shape and len(v.shape) >= axis]
                wide = [s for s in sizes if not (isinstance(s, Int) and s.expr == Num(1))]
                exprs = {s.expr for s in wide if isinstance(s, Int)}
                if not wide:
                    dims.append(Int(Num(1)))
                elif len(exprs) == 1 and len(wide) == len([s for s in wide if isinstance(s, Int)]):
                    dims.append(wide[0])
                else:
                    dims.append(Int(self.fresh("a length", static=True)))
            return tuple(dims[::-1]), None
        return None, None

    def product_of(self, array: Array) -> Sym | None:
        """The product of an array's elements, where they are in sight."""
        if array.entries is not None:
            out: Sym = Num(1)
            for entry in array.entries:
                out = entry if out == Num(1) else op("mul", out, entry)
            return out
        if isinstance(array.elem, Atom) and array.elem.key[0] == "shape-elem":
            return Atom(("size", array.elem.key[1]), "the size", static=True, lo=Num(0))
        return None

    def ident_of(self, value: Value) -> object:
        """Something that is equal only for the same run-time value."""
        if isinstance(value, Array):
            return value.ident
        return id(value)
