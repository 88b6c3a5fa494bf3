"""Whether the value of a statement gets parentheses when it does not fit on its line."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

import libcst as cst

from pallas_static_grid.rewrite.binary import (
    ATTRIBUTE,
    CONDITIONAL,
    INVERT,
    BinaryLike,
    precedence_of,
    symbol,
)
from pallas_static_grid.rewrite.comments import Unsupported, code_of


class Need(Enum):
    """How an expression takes optional parentheses."""

    NEVER = auto()
    """It breaks inside its own brackets."""
    BEST = auto()
    """Only if it fits on a line of its own then."""
    MULTILINE = auto()
    """Whenever it does not fit."""


DISPLAYS = cst.List | cst.Set | cst.Dict | cst.ListComp | cst.SetComp | cst.DictComp


def need(node: cst.BaseExpression) -> Need:
    """How `node`, without parentheses around it, takes optional ones."""
    match node:
        case cst.Name() | cst.Integer() | cst.Float():
            return Need.BEST
        case cst.SimpleString() | cst.FormattedString():
            return Need.NEVER if "\n" in code_of(node) else Need.BEST
        case cst.Attribute(value=value):
            _refuse_fluent(node)
            if isinstance(value, cst.Name) and not value.lpar:
                return Need.BEST
            return _inherited(value)
        case cst.Call(func=value) | cst.Subscript(value=value):
            _refuse_fluent(node)
            return _inherited(value)
        case cst.Tuple():
            return Need.NEVER if node.lpar else Need.MULTILINE
        case cst.Lambda():
            return Need.NEVER
        case _ if isinstance(node, DISPLAYS):
            return Need.NEVER
        case cst.UnaryOperation(expression=operand):
            return Need.NEVER if operand.lpar else Need.MULTILINE
        case _:
            return Need.MULTILINE


def _inherited(value: cst.BaseExpression) -> Need:
    if value.lpar:
        return Need.NEVER
    inner = need(value)
    return Need.NEVER if inner is Need.BEST else inner


def _refuse_fluent(node: cst.BaseExpression) -> None:
    """Chains of several method calls are broken before their dots: not done here."""
    methods = 0
    while isinstance(node, cst.Attribute | cst.Call | cst.Subscript):
        if isinstance(node, cst.Attribute):
            inner = node.value
            methods += isinstance(inner, cst.Call | cst.Subscript) or bool(inner.lpar)
            node = inner
        else:
            node = node.func if isinstance(node, cst.Call) else node.value
    if methods >= 2:
        raise Unsupported("a chain of method calls")


@dataclass(slots=True)
class _Survey:
    """What decides whether an expression may break at its brackets alone."""

    brackets: bool = False
    highest: int = 0
    number: int = 0
    first: cst.BaseExpression | None = None
    starts_with_token: bool = False
    last: cst.BaseExpression | None = None

    def operator(self, precedence: int, number: int = 1) -> None:
        if precedence > self.highest:
            self.highest, self.number = precedence, number
        elif precedence == self.highest:
            self.number += number

    def visit(self, node: cst.BaseExpression) -> None:
        self.last = node
        if node.lpar:
            self.brackets = True
        else:
            self.inside(node)
        if self.first is None and not self.starts_with_token:
            self.first = node

    def inside(self, node: cst.BaseExpression) -> None:
        match node:
            case cst.Call(func=inner) | cst.Subscript(value=inner):
                self.brackets = True
                self.visit(inner)
                self.last = node
            case cst.Attribute(value=inner):
                if has_brackets(inner) is not None:
                    self.operator(ATTRIBUTE)
                self.visit(inner)
                self.last = node
            case cst.BooleanOperation() | cst.BinaryOperation():
                self.operator(precedence_of(symbol(node.operator)))
                self.visit(node.left)
                self.visit(node.right)
            case cst.Comparison():
                self.operator(precedence_of("=="), len(node.comparisons))
                self.visit(node.left)
                for target in node.comparisons:
                    self.visit(target.comparator)
            case cst.IfExp():
                self.operator(CONDITIONAL, 2)
                for part in (node.body, node.test, node.orelse):
                    self.visit(part)
            case cst.UnaryOperation(expression=inner):
                if isinstance(node.operator, cst.BitInvert):
                    self.operator(INVERT)
                self.starts_with_token |= self.first is None
                self.visit(inner)
            case cst.Tuple():
                self.brackets |= bool(node.lpar)
                for element in () if node.lpar else node.elements:
                    self.visit(element.value)
            case _ if isinstance(node, DISPLAYS):
                self.brackets = True
            case cst.Lambda() | cst.Await() | cst.Yield():
                self.starts_with_token |= self.first is None
            case _:
                pass


def can_omit(node: cst.BaseExpression) -> bool:
    """Whether the expression may break at its own brackets instead of getting parentheses."""
    survey = _Survey()
    survey.inside(node)
    if isinstance(node, cst.Tuple) and survey.highest > ATTRIBUTE:
        raise Unsupported("operators in a bare tuple")
    if not survey.brackets or survey.number > 1:
        return False
    if survey.highest in (0, ATTRIBUTE):
        return True
    # Formatters do not like to break at the brackets of a subscript.
    last = None if isinstance(survey.last, cst.Subscript) else survey.last
    return any(has_brackets(end) for end in (last, survey.first) if end is not None)


def has_brackets(node: cst.BaseExpression) -> bool | None:
    """Whether the brackets in which `node` ends or stands hold something; None without any."""
    if node.lpar and not isinstance(node, cst.Tuple):
        return True
    match node:
        case cst.Tuple(lpar=[]):
            return None
        case cst.Call(args=inside):
            return bool(inside)
        case (
            cst.Tuple(elements=elements) | cst.List(elements=elements) | cst.Set(elements=elements)
        ):
            return bool(elements)
        case cst.Dict(elements=entries):
            return bool(entries)
        case cst.Subscript() | cst.ListComp() | cst.SetComp() | cst.DictComp():
            return True
        case _:
            return None


__all__ = ["DISPLAYS", "BinaryLike", "Need", "can_omit", "has_brackets", "need"]
