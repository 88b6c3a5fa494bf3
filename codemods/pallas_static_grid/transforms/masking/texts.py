"""Source text put inside other source text."""

from __future__ import annotations

import ast

_ATOMS = ast.Name | ast.Constant | ast.Attribute | ast.Call | ast.Subscript | ast.List | ast.Dict
_TIGHT = ast.Add | ast.Sub | ast.Mult | ast.FloorDiv | ast.Div | ast.Mod | ast.Pow | ast.MatMult


def parsed(text: str) -> ast.expr:
    """The syntax tree of an expression."""
    return ast.parse(f"({text}\n)", mode="eval").body


def as_operand(text: str) -> str:
    """An expression that may stand anywhere inside another one."""
    return text if isinstance(parsed(text), _ATOMS) else f"({text})"


def as_summand(text: str) -> str:
    """An expression to which something may be added, or from which it may be taken."""
    node = parsed(text)
    if isinstance(node, ast.BinOp) and isinstance(node.op, _TIGHT):
        return text
    return as_operand(text)


__all__ = ["as_operand", "as_summand", "parsed"]
