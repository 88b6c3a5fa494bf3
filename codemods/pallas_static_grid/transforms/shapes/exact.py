"""Exact integer expressions as text, with how tightly they bind."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace

ATOM, POWER, UNARY, TIMES, PLUS, COMPARE, CHOICE = range(7)
"""How loosely an expression binds."""


class NotExact(Exception):
    """The expression has no exact integer form; `node` is the part that has none."""

    def __init__(self, node: ast.expr, reason: str, *, of_signs: bool = False) -> None:
        super().__init__(reason)
        self.node = node
        self.reason = reason
        self.of_signs = of_signs
        """Only because the operands may be negative as far as the expression tells."""


class NotArithmetic(Exception):
    """The expression depends on more than static shapes: nothing to say here."""


@dataclass(frozen=True, slots=True)
class Exact:
    """An expression whose value is a Python int."""

    text: str
    looseness: int = ATOM
    natural: bool = False
    """Certainly not negative."""
    positive: bool = False
    changed: bool = False

    def within(self, looseness: int) -> str:
        """The text for a place that takes nothing looser."""
        return f"({self.text})" if self.looseness > looseness else self.text


@dataclass(frozen=True, slots=True)
class Ratio:
    """A true division `top / bottom`, to be rounded by what stands around it."""

    top: Exact
    bottom: Exact
    node: ast.expr


@dataclass(frozen=True, slots=True)
class Vector:
    """A one-dimensional array of lengths: its entries, or a sequence and what is done to each.

    `each` is the text for one entry, with `{}` where the entry goes.
    """

    entries: tuple[Exact, ...] | None
    sequence: str = ""
    each: Exact | None = None
    changed: bool = False

    def entry(self, index: int) -> Exact | None:
        """Entry number `index`, if it can be written."""
        if self.entries is not None:
            inside = -len(self.entries) <= index < len(self.entries)
            return self.entries[index] if inside else None
        if self.each is None:
            return Exact(f"{self.sequence}[{index}]", natural=True, changed=True)
        return None


Form = Exact | Ratio | Vector


def looseness_of(node: ast.expr) -> int:
    """How loosely an expression binds as it is written."""
    match node:
        case ast.BinOp(op=ast.Pow()):
            return POWER
        case ast.UnaryOp(op=ast.Not()):
            return COMPARE
        case ast.UnaryOp():
            return UNARY
        case ast.BinOp(op=ast.Mult() | ast.Div() | ast.FloorDiv() | ast.Mod() | ast.MatMult()):
            return TIMES
        case ast.BinOp():
            return PLUS
        case ast.Compare() | ast.BoolOp():
            return COMPARE
        case ast.IfExp() | ast.Lambda() | ast.NamedExpr():
            return CHOICE
        case _:
            return ATOM


SIGNS: dict[type[ast.operator], tuple[str, int]] = {
    ast.Add: ("+", PLUS),
    ast.Sub: ("-", PLUS),
    ast.Mult: ("*", TIMES),
    ast.FloorDiv: ("//", TIMES),
    ast.Mod: ("%", TIMES),
}


def binary(sign: str, left: Exact, right: Exact) -> Exact:
    """`left sign right` with the parentheses that it needs."""
    level = PLUS if sign in "+-" else TIMES
    tight = level - 1 if sign != "+" else level
    if sign == "*" and right.looseness == TIMES and "*" in right.text and "/" not in right.text:
        tight = level
    text = f"{left.within(level)} {sign} {right.within(tight)}"
    natural = sign != "-" and left.natural and right.natural
    if sign in ("//", "%"):
        natural = right.positive and (left.natural or sign == "%")
    positive = sign in "+*" and left.positive and right.positive
    positive |= sign == "+" and natural and (left.positive or right.positive)
    return Exact(text, level, natural, positive, changed=True)


def called(function: str, *arguments: Exact) -> Exact:
    """`function(arguments)`."""
    return Exact(f"{function}({', '.join(a.text for a in arguments)})", changed=True)


ENTRY = "size"
"""The name of one entry where a vector is written as a comprehension."""


def broadcast(vector: Vector, make: Callable[[Exact], Exact]) -> Vector:
    """What is done to each entry of a vector."""
    if vector.entries is not None:
        return Vector(tuple(make(entry) for entry in vector.entries), changed=True)
    each = vector.each if vector.each is not None else Exact(ENTRY, natural=True)
    return Vector(None, vector.sequence, make(each), changed=True)


def iterated(vector: Vector) -> str:
    """A vector as something to iterate over, inside a call's parentheses."""
    if vector.entries is not None:
        comma = "," if len(vector.entries) == 1 else ""
        return f"({', '.join(entry.text for entry in vector.entries)}{comma})"
    if vector.each is None:
        return vector.sequence
    return f"{vector.each.text} for {ENTRY} in {vector.sequence}"


def all_natural(vector: Vector) -> bool:
    """Whether no entry is negative."""
    if vector.entries is not None:
        return all(entry.natural for entry in vector.entries)
    return vector.each is None or vector.each.natural


def is_changed(form: Form) -> bool:
    """Whether the text differs from the source."""
    return True if isinstance(form, Ratio) else form.changed


def marked(form: Form) -> Form:
    """The form with its text marked as new."""
    return form if isinstance(form, Ratio) else replace(form, changed=True)


def tuple_text(vector: Vector) -> str:
    """A vector as a tuple."""
    if vector.entries is not None:
        comma = "," if len(vector.entries) == 1 else ""
        return f"({', '.join(entry.text for entry in vector.entries)}{comma})"
    if vector.each is None:
        return f"tuple({vector.sequence})"
    return f"tuple({vector.each.text} for {ENTRY} in {vector.sequence})"
