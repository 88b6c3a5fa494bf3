"""Unary, binary and boolean operators, and comparisons."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pallas_static_grid.analysis.interpret.elements import Elements, _is_none, telling
from pallas_static_grid.analysis.symbolic import Atom, Num, Sym, op
from pallas_static_grid.analysis.values import (
    Array,
    Class,
    Const,
    Dict,
    Float,
    Function,
    Int,
    Sequence,
    Struct,
    Tuple,
    Union,
    Unknown,
    Value,
    is_part,
    options,
)

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
}


_BITS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.BitAnd: lambda a, b: a & b,
    ast.BitOr: lambda a, b: a | b,
    ast.BitXor: lambda a, b: a ^ b,
    ast.LShift: lambda a, b: a << b if 0 <= b < 64 else 0,
    ast.RShift: lambda a, b: a >> b if b >= 0 else 0,
}


class Operators(Elements):
    """Unary, binary and boolean operators, and comparisons."""

    def _expr_UnaryOp(self, node: ast.UnaryOp) -> Value:
        value = self.eval(node.operand)
        if isinstance(node.op, ast.Not):
            truth = self.truth(value)
            if isinstance(value, Array):
                return self.opaque(node, value) if truth is None else Int(Num(0), is_bool=True)
            expr: Sym = (
                Num(int(not truth)) if truth is not None else self.fresh("a bool", static=True)
            )
            return Int(expr, is_bool=True)
        match value, node.op:
            case (Int(), ast.USub()):
                return Int(op("neg", value.expr), trace=value.trace)
            case (Int(), ast.UAdd()):
                return value
            case (Int(), ast.Invert()):
                return Int(op("sub", op("neg", value.expr), Num(1)), trace=value.trace)
            case (Array(), ast.USub()):
                elem = op("neg", value.elem) if value.elem is not None else None
                return self.derived(value, node, elem=elem)
            case (Array(), ast.UAdd()):
                return value
            case (Array(), ast.Invert()):
                return self.derived(value, node, dtype=value.dtype)
            case (Float(), _):
                return Float(value.numpy, trace=value.trace)
            case (Union(), _):
                return self.opaque(node, value)
            case _:
                return self.opaque(node, value)

    def _expr_BinOp(self, node: ast.BinOp) -> Value:
        return self.binary(node.op, self.eval(node.left), self.eval(node.right), node)

    def binary(self, operator: ast.operator, a: Value, b: Value, node: ast.AST) -> Value:
        """`a <operator> b`."""
        if isinstance(a, Union) or isinstance(b, Union):
            parts = [
                self.binary(operator, x, y, node)
                for x in options(a)
                if not _is_none(x)
                for y in options(b)
                if not _is_none(y)
            ]
            return self.join_values(parts) if parts else self.unknown_of(node, a, b)
        if isinstance(a, Int) and isinstance(b, Int):
            return self.int_binary(operator, a, b, node)
        if isinstance(a, Array) or isinstance(b, Array):
            return self.array_binary(operator, a, b, node)
        if isinstance(a, Float | Int) and isinstance(b, Float | Int):
            numpy = any(isinstance(v, Float) and v.numpy for v in (a, b))
            ratio = None
            if isinstance(operator, ast.FloorDiv | ast.Mod):
                pass
            return Float(numpy, ratio, trace=self.trace(node, "the result is a float"))
        if isinstance(a, Tuple | Sequence) or isinstance(b, Tuple | Sequence):
            return self.sequence_binary(operator, a, b, node)
        if isinstance(operator, ast.BitOr) and isinstance(a, Dict) and isinstance(b, Dict):
            merged = {**dict(a.items), **dict(b.items)}
            if a.complete and b.complete:
                return Dict(tuple(merged.items()), cells=self.new_cells())
        return self.unknown_of(node, a, b)

    def int_binary(self, operator: ast.operator, a: Int, b: Int, node: ast.AST) -> Value:
        """An operation on two Python ints."""
        kind = _BINARY.get(type(operator))
        if kind == "pow" and not (isinstance(b.expr, Num) and b.expr.value >= 0):
            return (
                Int(self.fresh(self.segment(node), static=True))
                if not isinstance(b.expr, Num)
                else Float(trace=self.trace(node, "a negative power is a float"))
            )
        if kind is not None:
            return Int(op(kind, a.expr, b.expr))
        if isinstance(operator, ast.Div):
            return Float(
                ratio=(a.expr, b.expr),
                trace=self.trace(
                    node,
                    f"`{self.segment(node)}` is a float: `/` divides "
                    f"exactly, a grid needs `//` or `pl.cdiv`",
                ),
            )
        fold = _BITS.get(type(operator))
        if fold is not None:
            if isinstance(a.expr, Num) and isinstance(b.expr, Num):
                return Int(Num(fold(a.expr.value, b.expr.value)), is_bool=a.is_bool and b.is_bool)
            if isinstance(operator, ast.LShift):
                return Int(op("mul", a.expr, op("pow", Num(2), b.expr)))
            if isinstance(operator, ast.RShift):
                return Int(op("floordiv", a.expr, op("pow", Num(2), b.expr)))
            return Int(self.fresh(self.segment(node), static=True), is_bool=a.is_bool and b.is_bool)
        return self.unknown_of(node, a, b)

    def array_binary(self, operator: ast.operator, a: Value, b: Value, node: ast.AST) -> Value:
        """An operation on arrays: an array, NumPy only if both sides are."""
        other = b if isinstance(a, Array) else a
        if isinstance(other, Const | Function | Class | Dict | Struct):
            return self.unknown_of(node, a, b)
        cause = telling([a, b]) or a
        return self.elementwise(operator, a, b, node, cause)

    def elementwise(
        self, operator: ast.operator, a: Value, b: Value, node: ast.AST, cause: Value
    ) -> Array:
        """An operation of which `cause` makes the result an array."""
        assert isinstance(cause, Array)
        kind = _BINARY.get(type(operator))
        x, y = self.scalar(a), self.scalar(b)
        elem: Sym | None = None
        ratio: tuple[Sym, Sym] | None = None
        floats = any(
            isinstance(v, Float) or (isinstance(v, Array) and v.dtype == "float") for v in (a, b)
        )
        if x is not None and y is not None and not (floats and kind != "add"):
            if kind is not None and not floats:
                elem = op(kind, x, y)
            elif isinstance(operator, ast.Div):
                ratio = (x, y)
            elif isinstance(operator, ast.LShift):
                elem = op("mul", x, op("pow", Num(2), y))
            elif isinstance(operator, ast.RShift):
                elem = op("floordiv", x, op("pow", Num(2), y))
        both_bool = all(
            (isinstance(v, Array) and v.dtype == "bool") or (isinstance(v, Int) and v.is_bool)
            for v in (a, b)
        )
        dtype = (
            "float"
            if floats or isinstance(operator, ast.Div)
            else (
                "bool"
                if both_bool and isinstance(operator, ast.BitAnd | ast.BitOr | ast.BitXor)
                else "int"
                if elem is not None and cause.dtype in {"int", "bool"}
                else None
            )
        )
        shape, dims_of = self.broadcast([a, b])
        parts = None
        if kind is not None and not floats:
            parts = self.entrywise(kind, a, b)
        return Array(
            self.new_ident("binop"),
            shape,
            dtype,
            elem,
            entries=parts,
            numpy=all(v.numpy for v in (a, b) if isinstance(v, Array)),
            ratio=ratio,
            dims_of=dims_of,
            text=self.segment(node),
            trace=self.cause_trace(node, cause, a, b),
        )

    def entrywise(self, kind: str, a: Value, b: Value) -> tuple[Sym, ...] | None:
        """An operation on an array made of scalars in sight, entry by entry."""
        left = a.entries if isinstance(a, Array) else None
        right = b.entries if isinstance(b, Array) else None
        if left is not None and right is not None and len(left) == len(right):
            return tuple(op(kind, x, y) for x, y in zip(left, right, strict=True))
        if left is not None and isinstance(b, Int):
            return tuple(op(kind, x, b.expr) for x in left)
        if right is not None and isinstance(a, Int):
            return tuple(op(kind, a.expr, y) for y in right)
        return None

    def cause_trace(self, node: ast.AST, cause: Value, *operands: Value) -> Any:
        """The trace of the operand that makes the result an array."""
        return cause.trace or self.trace(node, f"`{self.segment(node)}` is an array")

    def sequence_binary(self, operator: ast.operator, a: Value, b: Value, node: ast.AST) -> Value:
        """Concatenation and repetition of tuples and lists."""
        if isinstance(operator, ast.Add):
            if isinstance(a, Tuple) and isinstance(b, Tuple):
                nodes = (*a.nodes, *b.nodes) if a.nodes and b.nodes else ()
                return Tuple((*a.items, *b.items), a.kind, nodes)
            parts: list[Value] = []
            for value in (a, b):
                if isinstance(value, Tuple):
                    parts.extend(value.items)
                elif isinstance(value, Sequence):
                    parts.append(value.elem)
                else:
                    return self.unknown_of(node, a, b)
            if parts:
                return Sequence(self.join_values(parts))
        if isinstance(operator, ast.Mult):
            seq, times = (a, b) if isinstance(a, Tuple | Sequence) else (b, a)
            if isinstance(seq, Tuple) and isinstance(times, Int):
                if isinstance(times.expr, Num) and 0 <= times.expr.value <= 32:
                    return replace(
                        seq, items=seq.items * times.expr.value, nodes=seq.nodes * times.expr.value
                    )
                if seq.items:
                    return Sequence(self.join_values(list(seq.items)))
        return self.unknown_of(node, a, b)

    def _expr_BoolOp(self, node: ast.BoolOp) -> Value:
        results: list[Value] = []
        conjunction = isinstance(node.op, ast.And)
        names = dict(self.scope.names)
        for index, part in enumerate(node.values):
            value = self.eval(part)
            truth = self.truth(value)
            last = index == len(node.values) - 1
            if last:
                results.append(value)
            elif truth is None:
                results.append(self.taken(value, not conjunction))
                self.narrow(part, conjunction)
            elif truth is not conjunction:
                results.append(value)
                break
        for name, value in names.items():
            self.scope.names[name] = value
        return self.join_values(results)

    def taken(self, value: Value, outcome: bool) -> Value:
        """The part of a value whose truth is `outcome`."""
        if isinstance(value, Union) and outcome:
            kept = [o for o in value.options if not _is_none(o)]
            if kept:
                return kept[0] if len(kept) == 1 else replace(value, options=tuple(kept))
        return value

    def _expr_Compare(self, node: ast.Compare) -> Value:
        left = self.eval(node.left)
        values = [left, *(self.eval(c) for c in node.comparators)]
        identity = all(isinstance(o, ast.Is | ast.IsNot | ast.In | ast.NotIn) for o in node.ops)
        arrays = [v for v in values if isinstance(v, Array)]
        unknowns = [v for v in values if isinstance(v, Unknown)]
        if arrays and not identity:
            jax = next((v for v in arrays if not v.numpy), arrays[0])
            shape, dims_of = self.broadcast(values)
            return Array(
                self.new_ident("compare"),
                shape,
                "bool",
                Atom(("value", next(self.counter)), self.segment(node), False, Num(0), Num(1)),
                numpy=jax.numpy,
                dims_of=dims_of,
                text=self.segment(node),
                trace=jax.trace,
            )
        if len(node.ops) == 1:
            outcome = self.compare(values[0], node.ops[0], values[1])
            if outcome is not None:
                return Int(Num(int(outcome)), is_bool=True)
        if unknowns and not identity:
            return Unknown(unknowns[0].need, trace=unknowns[0].trace)
        return Int(self.fresh(self.segment(node), static=True), is_bool=True)

    def compare(self, a: Value, operator: ast.cmpop, b: Value) -> bool | None:
        """The outcome of a comparison where it is certain."""
        if isinstance(operator, ast.Is | ast.IsNot | ast.Eq | ast.NotEq):
            negate = isinstance(operator, ast.IsNot | ast.NotEq)
            equal: bool | None = None
            if isinstance(a, Const) and isinstance(b, Const):
                equal = a.value == b.value and type(a.value) is type(b.value)
            elif (_is_none(b) and not isinstance(a, Unknown | Union) and not is_part(a)) or (
                isinstance(a, Union)
                and _is_none(b)
                and not any(_is_none(o) or isinstance(o, Unknown) or is_part(o) for o in a.options)
            ):
                equal = False
            elif (
                isinstance(a, Int)
                and isinstance(b, Int)
                and isinstance(a.expr, Num)
                and isinstance(b.expr, Num)
            ):
                equal = a.expr.value == b.expr.value
            return None if equal is None else equal is not negate
        if (
            isinstance(a, Int)
            and isinstance(b, Int)
            and isinstance(a.expr, Num)
            and isinstance(b.expr, Num)
        ):
            x, y = a.expr.value, b.expr.value
            match operator:
                case ast.Lt():
                    return x < y
                case ast.LtE():
                    return x <= y
                case ast.Gt():
                    return x > y
                case ast.GtE():
                    return x >= y
                case _:
                    return None
        if isinstance(operator, ast.In | ast.NotIn) and isinstance(b, Dict) and b.complete:
            key = self.constant_key(a)
            if key is not None:
                return (key[0] in dict(b.items)) is isinstance(operator, ast.In)
        return None
