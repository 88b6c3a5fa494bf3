"""The one expression that a grid function returns, and what its parameters are used for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from pallas_static_grid.rewrite.names import FunctionNode


class NotInlinable(Exception):
    """The grid function cannot be replaced by a tuple; `node` is what stands in the way."""

    def __init__(self, node: ast.AST, reason: str) -> None:
        super().__init__(reason)
        self.node = node
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Branch:
    """What is returned if `test` holds; the last branch has none."""

    test: ast.expr | None
    value: ast.expr


@dataclass(frozen=True, slots=True)
class Returned:
    """The result of a grid function: branches in order, and the locals that they read."""

    branches: tuple[Branch, ...]
    locals_: tuple[tuple[str, ast.expr], ...] = ()


def returned(function: FunctionNode) -> Returned:
    """What a function returns, or `NotInlinable` where that is not one expression."""
    if isinstance(function, ast.Lambda):
        found = Returned((Branch(None, function.body),))
    elif isinstance(function, ast.AsyncFunctionDef):
        raise NotInlinable(function, "it is asynchronous")
    else:
        if function.decorator_list:
            raise NotInlinable(function, "it is decorated")
        found = _of_body(function)
    for expression in _expressions(found):
        _insist_on_plain(expression)
    return found


def _of_body(function: ast.FunctionDef) -> Returned:
    """A docstring, assignments to new names, `if ...: return`, and a last return."""
    locals_: list[tuple[str, ast.expr]] = []
    branches: list[Branch] = []
    statements = list(function.body)
    if _is_text(statements[0]):
        statements = statements[1:]
    while statements:
        statement, *statements = statements
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if not branches:
                if name in (known for known, _ in locals_):
                    raise NotInlinable(statement, f"`{name}` is assigned twice in it")
                locals_.append((name, value))
            case ast.If(test=test, body=[ast.Return(value=ast.expr() as value)], orelse=rest):
                branches.append(Branch(test, value))
                statements = [*rest, *statements]
            case ast.Return(value=ast.expr() as value):
                return Returned((*branches, Branch(None, value)), tuple(locals_))
            case _:
                raise NotInlinable(statement, "it does more than return one expression")
    raise NotInlinable(function, "it may return nothing")


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _expressions(found: Returned) -> Iterator[ast.expr]:
    for branch in found.branches:
        yield branch.value
        if branch.test is not None:
            yield branch.test
    for _, value in found.locals_:
        yield value


def _insist_on_plain(expression: ast.expr) -> None:
    for node in ast.walk(expression):
        if isinstance(node, ast.Lambda | ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom):
            raise NotInlinable(node, "it binds names of its own inside the expression")


def loop_names(expression: ast.expr) -> frozenset[str]:
    """The names that comprehensions inside an expression bind."""
    return frozenset(
        node.id
        for node in ast.walk(expression)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )


def uses(expressions: tuple[ast.expr, ...], name: str) -> list[ast.Name]:
    """Where the expressions read a name."""
    return [
        node
        for expression in expressions
        for node in ast.walk(expression)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
    ]


def all_expressions(found: Returned) -> tuple[ast.expr, ...]:
    """Every expression of the function."""
    return tuple(_expressions(found))
