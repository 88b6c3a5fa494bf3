"""From a span back to the syntax node that lies there."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.model import Span

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def expression_at(module: ModuleContext, span: Span) -> ast.expr:
    """The outermost expression that covers exactly `span`."""
    for node in _covering(module, span):
        if isinstance(node, ast.expr):
            return node
    raise LookupError(f"no expression at {span}")


def call_at(module: ModuleContext, span: Span) -> ast.Call:
    """The call that covers exactly `span`."""
    for node in _covering(module, span):
        if isinstance(node, ast.Call):
            return node
    raise LookupError(f"no call at {span}")


def function_at(module: ModuleContext, span: Span) -> FunctionNode:
    """The def (its span without decorators) or lambda that covers exactly `span`."""
    for node in _covering(module, span):
        if isinstance(node, FunctionNode):
            return node
    raise LookupError(f"no function at {span}")


def _covering(module: ModuleContext, span: Span) -> Iterator[ast.AST]:
    """The nodes whose own range is `span`, outermost first."""
    stack: list[ast.AST] = [module.tree]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.expr | ast.stmt | ast.arg | ast.keyword):
            start, end = module.span(node)
            if (start, end) == (span.start, span.end):
                yield node
            decorators: list[ast.expr] = getattr(node, "decorator_list", [])
            first = min([start, *(module.span(d)[0] for d in decorators)])
            if span.start < first or span.end > end:
                continue
        stack.extend(reversed(list(ast.iter_child_nodes(node))))


__all__ = ["call_at", "expression_at", "function_at"]
