"""The pieces of a file that are laid out one by one: simple statements, headers, decorators."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.rewrite.brackets import tokens
from pallas_static_grid.rewrite.syntax import indentation, line_end, starts_line

_COMMENT = re.compile(r"[ \t]*#")


@dataclass(frozen=True, slots=True)
class Unit:
    """A range of the text, from the first character of a piece to its end, comment included."""

    start: int
    end: int
    indent: str

    def source(self, text: str) -> str:
        """The text of the piece with plain line ends."""
        return text[self.start : self.end].replace("\r\n", "\n")


def units(module: ModuleContext, start: int, end: int) -> Iterator[Unit]:
    """The units that reach into the range, those of inner blocks too.

    Statements that share a line with others are left out.
    """
    yield from _block(module, module.tree.body, start, end)


def _block(
    module: ModuleContext, statements: list[ast.stmt], start: int, end: int
) -> Iterator[Unit]:
    for statement in statements:
        decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
        first = module.span(decorators[0])[0] - 1 if decorators else module.span(statement)[0]
        last = module.span(statement)[1]
        # A blank or comment line above counts for the statement: its indentation may be edited.
        if last < start or first - len(indentation(module.text, first)) > end:
            continue
        for decorator in decorators:
            yield from _decorator(module, decorator)
        blocks = list(_blocks(statement))
        if blocks:
            yield from _header(module, statement, blocks[0][0])
            for block in blocks:
                yield from _block(module, block, start, end)
        else:
            yield from _unit(module, *module.span(statement))


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, None)
        if block:
            yield block
    for handler in getattr(statement, "handlers", []):
        yield handler.body
    for case in getattr(statement, "cases", []):
        yield case.body


def _unit(module: ModuleContext, start: int, end: int) -> Iterator[Unit]:
    text = module.text
    if not starts_line(text, start):
        return
    stop = line_end(text, end)
    rest = text[end:stop]
    if rest.strip() and not _COMMENT.match(rest):
        return
    if rest.strip():
        end = stop - (len(rest) - len(rest.rstrip()))
    yield Unit(start, end, indentation(text, start))


def _decorator(module: ModuleContext, node: ast.expr) -> Iterator[Unit]:
    start, end = module.span(node)
    at = module.text.rindex("@", 0, start)
    # Parentheses around the whole expression are not part of the node.
    if module.text[at + 1 : start].strip():
        return
    yield from _unit(module, at, end)


def _header(module: ModuleContext, statement: ast.stmt, body: ast.stmt) -> Iterator[Unit]:
    """The part of a compound statement up to its colon."""
    start = module.span(statement)[0]
    if isinstance(statement, ast.Try) or starts_line(module.text, start) is False:
        return
    depth = lambdas = 0
    for token in tokens(module.text, start):
        if token.text == "lambda":
            lambdas += 1
        elif token.text in ("(", "[", "{"):
            depth += 1
        elif token.text in (")", "]", "}"):
            depth -= 1
        elif token.text == ":" and depth == 0:
            if lambdas == 0:
                yield from _unit(module, start, token.end)
                return
            lambdas -= 1
