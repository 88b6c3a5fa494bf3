"""Chains of operators, flattened the way formatters split them."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from pallas_static_grid.rewrite.comments import Unsupported, code_of

# How tightly an operator binds; the order is all that matters.
ATTRIBUTE, POWER, INVERT, TIMES, PLUS, SHIFT, AND, XOR, OR, COMPARE, BOOLEAN, CONDITIONAL = range(
    1, 13
)
_PRECEDENCE = {
    "**": POWER,
    "*": TIMES,
    "/": TIMES,
    "//": TIMES,
    "%": TIMES,
    "@": TIMES,
    "+": PLUS,
    "-": PLUS,
    "<<": SHIFT,
    ">>": SHIFT,
    "&": AND,
    "^": XOR,
    "|": OR,
    "and": BOOLEAN,
    "or": BOOLEAN,
}
BinaryLike = cst.BinaryOperation | cst.BooleanOperation | cst.Comparison


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand with the operator before it (empty for the first)."""

    node: cst.BaseExpression
    operator: str = ""
    precedence: int = 0


def symbol(operator: cst.CSTNode) -> str:
    """The text of an operator without the blanks around it."""
    text = code_of(operator)
    if "#" in text or "\\" in text:
        raise Unsupported("a comment or a continued line beside an operator")
    return " ".join(text.split())


def precedence_of(operator: str) -> int:
    """The precedence of an operator by its text."""
    return _PRECEDENCE.get(operator, COMPARE)


def flatten(node: cst.BaseExpression) -> list[Operand]:
    """The operands of `a + b * c == d` in order, without those inside parentheses."""
    if isinstance(node, cst.Comparison):
        operands = _side(node.left)
        for target in node.comparisons:
            text = symbol(target.operator)
            operands += _with_operator(_side(target.comparator), text)
        return operands
    assert isinstance(node, cst.BinaryOperation | cst.BooleanOperation)
    text = symbol(node.operator)
    return _side(node.left) + _with_operator(_side(node.right), text)


def _side(node: cst.BaseExpression) -> list[Operand]:
    return flatten(node) if isinstance(node, BinaryLike) and not node.lpar else [Operand(node)]


def _with_operator(operands: list[Operand], operator: str) -> list[Operand]:
    first = Operand(operands[0].node, operator, precedence_of(operator))
    return [first, *operands[1:]]


def lowest(operands: list[Operand]) -> int:
    """The precedence of the operators that bind least among the operands."""
    return max(operand.precedence for operand in operands[1:])


def simple_power(operands: list[Operand], index: int) -> bool:
    """Whether operand `index` follows `**` between two simple operands (written without blanks)."""
    if operands[index].operator != "**":
        return False
    return _is_simple(operands[index - 1].node) and _is_simple(operands[index].node)


def _is_simple(node: cst.BaseExpression) -> bool:
    if node.lpar:
        return False
    if isinstance(node, cst.UnaryOperation) and not isinstance(node.operator, cst.Not):
        return _is_simple(node.expression)
    if isinstance(node, cst.Attribute):
        return _is_simple(node.value)
    return isinstance(node, cst.Name | cst.Integer | cst.Float)
