"""Walking syntax trees quickly."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_LEAVES = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """Every node below `node` and itself, in no particular order (contexts and operators not)."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        for value in current.__dict__.values():
            if isinstance(value, list):
                stack.extend(item for item in value if isinstance(item, ast.AST))
            elif isinstance(value, ast.AST) and not isinstance(value, _LEAVES):
                stack.append(value)
