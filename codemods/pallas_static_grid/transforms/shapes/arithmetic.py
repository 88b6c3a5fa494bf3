"""Operators, rounding and reductions on translated operands."""

from __future__ import annotations

import ast
from dataclasses import replace

from pallas_static_grid.rewrite.imports import member
from pallas_static_grid.transforms.shapes.canonical import array_function
from pallas_static_grid.transforms.shapes.exact import (
    CHOICE,
    POWER,
    SIGNS,
    UNARY,
    Exact,
    Form,
    NotArithmetic,
    NotExact,
    Ratio,
    Vector,
    all_natural,
    binary,
    broadcast,
    called,
    iterated,
    marked,
)
from pallas_static_grid.transforms.shapes.functions import REDUCTIONS
from pallas_static_grid.transforms.shapes.state import State

FLOAT32 = "`jnp` divides in float32, which is off from 2**24 + 1 on; the Python form is exact there"
FLOAT64 = "NumPy divides in float64, which is off from 2**53 + 1 on; the Python form is exact there"
WRAPS = "int32 products wrap from 2**31 on; Python's integers do not"


class Arithmetic(State):
    """Arithmetic on what the operands are."""

    __slots__ = ()

    def _choice(self, test: str, first: Exact, second: Exact) -> Exact:
        text = f"{first.within(CHOICE - 1)} if {test} else {second.within(CHOICE)}"
        both = first.natural and second.natural
        return Exact(text, CHOICE, both, first.positive and second.positive, changed=True)

    def _operation(self, node: ast.BinOp) -> Form:
        left, right = self.form(node.left), self.form(node.right)
        if isinstance(node.op, ast.Div):
            if isinstance(left, Exact) and isinstance(right, Exact):
                return Ratio(left, right, node)
            raise NotArithmetic
        if isinstance(node.op, ast.Pow):
            if isinstance(left, Exact) and isinstance(right, Exact):
                return self._power(node, left, right)
            raise NotArithmetic
        sign = SIGNS.get(type(node.op))
        if sign is None:
            return self._leaf(node)
        return self._signed(node, sign[0], left, right)

    def _signed(self, node: ast.expr, sign: str, left: Form, right: Form) -> Form:
        if isinstance(left, Exact) and isinstance(right, Exact):
            made = binary(sign, left, right)
            if left.changed or right.changed or not isinstance(node, ast.BinOp):
                return made
            return replace(made, text=self.module.segment(node), changed=False)
        if isinstance(left, Vector) and isinstance(right, Exact):
            return broadcast(left, lambda entry: binary(sign, entry, right))
        if isinstance(left, Exact) and isinstance(right, Vector):
            return broadcast(right, lambda entry: binary(sign, left, entry))
        raise NotArithmetic

    def _power(self, node: ast.expr, left: Exact, right: Exact) -> Exact:
        if not right.natural:
            raise NotExact(node, "a power whose exponent may be negative")
        text = f"{left.within(0)} ** {right.within(UNARY)}"
        changed = left.changed or right.changed or not isinstance(node, ast.BinOp)
        text = text if changed else self.module.segment(node)
        return Exact(text, POWER, left.natural, left.positive, changed)

    def _rounded(self, node: ast.Call, kind: str, numpy: bool, inner: Form) -> Exact:
        if isinstance(inner, Exact):
            return replace(inner, changed=True)
        if not isinstance(inner, Ratio):
            raise NotArithmetic
        whole = self._is_host(node) and not (inner.top.changed or inner.bottom.changed)
        if numpy and whole and array_function(node.func, self.scope) == (f"math.{kind}", True):
            return self._verbatim(node, natural=inner.top.natural)
        self.notes.setdefault(FLOAT64 if numpy and self._is_host(node) else FLOAT32)
        if kind == "floor":
            return binary("//", inner.top, inner.bottom)
        cdiv = member(self.module, "jax.experimental.pallas.cdiv", node)
        self.imports.extend(cdiv.edits)
        made = called(cdiv.text, inner.top, inner.bottom)
        return replace(made, natural=inner.top.natural, positive=inner.top.positive)

    def _rounded_down(self, node: ast.expr, inner: Ratio, *, towards_zero: bool) -> Exact:
        if towards_zero and not (inner.top.natural and inner.bottom.positive):
            raise NotExact(
                node,
                "a conversion to int rounds towards zero, Python's division down, and nothing in "
                "sight says that the operands are not negative",
                of_signs=True,
            )
        self.notes.setdefault(FLOAT64 if self._is_host(node) else FLOAT32)
        return binary("//", inner.top, inner.bottom)

    def _truncated(self, node: ast.expr, inner: Form) -> Form:
        """A conversion to an integer type."""
        if isinstance(inner, Ratio):
            return self._rounded_down(node, inner, towards_zero=True)
        return marked(inner)

    def _reduced(self, node: ast.expr, name: str, inner: Form) -> Exact:
        if isinstance(inner, Exact):
            return replace(inner, changed=True)
        if not isinstance(inner, Vector):
            raise NotArithmetic
        function = REDUCTIONS[name]
        if function == "math.prod":
            needed = member(self.module, "math.prod", node)
            self.imports.extend(needed.edits)
            function = needed.text
            if not self._is_host(node):
                self.notes.setdefault(WRAPS)
        else:
            function = self._builtin_name(node, function)
        return Exact(f"{function}({iterated(inner)})", natural=all_natural(inner), changed=True)
