"""Text of an expression with some of its parts replaced, in parentheses where that needs them."""

from __future__ import annotations

import ast

from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.model import Edit, Span
from pallas_static_grid.rewrite.edits import apply
from pallas_static_grid.transforms.shapes.exact import ATOM, looseness_of


def substituted(module: ModuleContext, expression: ast.expr, parts: dict[ast.expr, str]) -> str:
    """The source of `expression` with each node of `parts` replaced by its text."""
    start, end = module.span(expression)
    parents = {
        child: parent for parent in ast.walk(expression) for child in ast.iter_child_nodes(parent)
    }
    edits: list[Edit] = []
    for node, text in parts.items():
        if node is expression:
            return text
        if node in parents:
            first, last = module.span(node)
            written = text if _fits(text, node, parents[node]) else f"({text})"
            edits.append(Edit(Span(first - start, last - start), written))
    return apply(module.text[start:end], edits)


def _fits(text: str, node: ast.expr, parent: ast.AST) -> bool:
    """Whether the text may stand where the node stood without parentheses."""
    parsed = ast.parse(f"({text}\n)", mode="eval").body
    if looseness_of(parsed) == ATOM and not isinstance(parsed, ast.Tuple):
        # An int literal before a dot would read as a float.
        return not (isinstance(parent, ast.Attribute) and isinstance(parsed, ast.Constant))
    if isinstance(parsed, ast.Tuple):
        return text.startswith("(")
    match parent:
        case ast.Call(func=function):
            return node is not function
        case ast.Subscript(value=value):
            return node is not value
        case ast.Tuple() | ast.List() | ast.Set() | ast.keyword():
            return True
        case _:
            return False
