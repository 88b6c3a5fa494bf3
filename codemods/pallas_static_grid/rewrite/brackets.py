"""Where the items of a call, display or parameter list lie, token by token."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from pallas_static_grid.analysis.modules import ModuleContext

_OPEN = frozenset("([{")
_CLOSE = frozenset(")]}")
_BLANK = frozenset(
    {tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT}
)


@dataclass(frozen=True, slots=True)
class Token:
    """One token with its character offsets in the file."""

    kind: int
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Item:
    """One item between two commas, its own parentheses included, comments around it left out."""

    start: int
    end: int
    comma: int | None
    """Offset of the comma behind it."""


@dataclass(frozen=True, slots=True)
class Brackets:
    """The inside of a pair of brackets, from behind the opening to the closing one.

    A tuple without parentheses has `bare` set and reaches from its first to its last item.
    """

    start: int
    end: int
    items: tuple[Item, ...]
    bare: bool = False

    @property
    def trailing_comma(self) -> bool:
        """Whether a comma follows the last item."""
        return bool(self.items) and self.items[-1].comma is not None


def tokens(text: str, start: int, end: int | None = None) -> Iterator[Token]:
    """The tokens of `text` from `start` on; what is no longer valid Python ends the stream."""
    piece = text[start:end]
    starts = [0]
    for line in io.StringIO(piece, newline=""):
        starts.append(starts[-1] + len(line))
    lines = iter(io.StringIO(piece, newline=""))
    try:
        for token in tokenize.generate_tokens(lambda: next(lines, "")):
            if token.type == tokenize.ENDMARKER:
                return
            (row, column), (end_row, end_column) = token.start, token.end
            if row > len(starts) or end_row > len(starts):
                return
            yield Token(
                token.type,
                token.string,
                start + starts[row - 1] + column,
                start + starts[end_row - 1] + end_column,
            )
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return


def parse_brackets(text: str, opening: int) -> Brackets:
    """The brackets that open at offset `opening`."""
    stream = tokens(text, opening)
    first = next(stream)
    assert first.text in _OPEN
    items, closing = _items(stream)
    return Brackets(opening + 1, closing, items)


def _items(stream: Iterator[Token]) -> tuple[tuple[Item, ...], int]:
    """Items up to the closing bracket at depth 0 (or the end of the stream), and its offset."""
    items: list[Item] = []
    depth = 0
    lambdas: list[int] = []
    first: int | None = None
    last = 0
    for token in stream:
        if token.kind in _BLANK:
            continue
        if token.kind == tokenize.OP and token.text in _CLOSE:
            if depth == 0:
                if first is not None:
                    items.append(Item(first, last, None))
                return tuple(items), token.start
            depth -= 1
        elif token.kind == tokenize.OP and token.text in _OPEN:
            first = token.start if first is None else first
            depth += 1
            last = token.end
            continue
        if token.text == "lambda" and token.kind == tokenize.NAME:
            lambdas.append(depth)
        elif token.text == ":" and lambdas and lambdas[-1] == depth:
            lambdas.pop()
        elif token.text == "," and depth == 0 and not lambdas and first is not None:
            items.append(Item(first, last, token.start))
            first = None
            continue
        first = token.start if first is None else first
        last = token.end
    if first is not None:
        items.append(Item(first, last, None))
    return tuple(items), last


def call_brackets(module: ModuleContext, call: ast.Call) -> Brackets:
    """The parentheses with the arguments of a call."""
    _, function_end = module.span(call.func)
    return parse_brackets(module.text, _next_open(module.text, function_end))


def _next_open(text: str, offset: int) -> int:
    """Offset of the next `(`, across closing parentheses, blanks and comments."""
    while text[offset] != "(":
        if text[offset] == "#":
            offset = text.index("\n", offset)
        offset += 1
    return offset


def display_brackets(module: ModuleContext, node: ast.expr) -> Brackets:
    """The brackets of a tuple, list, set or dict display."""
    start, end = module.span(node)
    if not isinstance(node, ast.Tuple) or _is_parenthesised(module, node):
        return parse_brackets(module.text, start)
    # Inside an extra bracket, so that line breaks within a parenthesised bare tuple do not matter.
    piece = "(" + module.text[start:end] + ")"
    inner = parse_brackets(piece, 0)
    shift = start - 1
    items = tuple(
        Item(i.start + shift, i.end + shift, None if i.comma is None else i.comma + shift)
        for i in inner.items
    )
    return Brackets(start, end, items, bare=True)


def _is_parenthesised(module: ModuleContext, node: ast.Tuple) -> bool:
    """Whether the tuple's own span begins and ends with its parentheses (ast includes them)."""
    start, end = module.span(node)
    return module.text[start] == "(" and parse_brackets(module.text, start).end == end - 1


def parameter_brackets(module: ModuleContext, function: ast.AST) -> Brackets:
    """The parameter list of a def (within its parentheses) or of a lambda (bare)."""
    if isinstance(function, ast.Lambda):
        start, _ = module.span(function)
        body, _ = module.span(function.body)
        return _lambda_parameters(module.text, start, body)
    assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
    start, _ = module.span(function)
    depth = 0
    for token in tokens(module.text, start):
        if token.kind != tokenize.OP:
            continue
        if token.text == "(" and depth == 0:
            return parse_brackets(module.text, token.start)
        depth += (token.text in _OPEN) - (token.text in _CLOSE)
    raise AssertionError("a def without parentheses")


def _lambda_parameters(text: str, start: int, body: int) -> Brackets:
    """The parameters between `lambda` and its colon."""
    depth = nested = 0
    inside = start + len("lambda")
    # In parentheses, as the lambda may run over lines.
    piece = "(" + text[inside:body] + ")"
    for token in tokens(piece, 0):
        if token.text == "lambda" and token.kind == tokenize.NAME:
            nested += 1
        elif token.text == ":" and depth == 1:
            if nested == 0:
                inner = parse_brackets(piece[: token.start] + ")", 0)
                shift = inside - 1
                items = tuple(
                    Item(i.start + shift, i.end + shift, i.comma and i.comma + shift)
                    for i in inner.items
                )
                return Brackets(inside, token.start + shift, items, bare=True)
            nested -= 1
        elif token.kind == tokenize.OP:
            depth += (token.text in _OPEN) - (token.text in _CLOSE)
    raise AssertionError("a lambda without a colon")


def has_comment(text: str, start: int, end: int) -> bool:
    """Whether a comment stands in the range."""
    if "#" not in text[start:end]:
        return False
    # In brackets: the piece may run over lines.
    piece = f"({text[start:end]}\n)"
    return any(token.kind == tokenize.COMMENT for token in tokens(piece, 0))


def string_lines(text: str, start: int, end: int) -> frozenset[int]:
    """Offsets of the line starts in the range that lie inside a string literal."""
    inside: set[int] = set()
    opened: list[int] = []
    for token in tokens(text, start, end):
        name = tokenize.tok_name[token.kind]
        if name.endswith("STRING_START"):
            opened.append(token.start)
        elif name.endswith("STRING_END") and opened:
            inside.update(_line_starts(text, opened.pop(), token.end))
        elif token.kind == tokenize.STRING:
            inside.update(_line_starts(text, token.start, token.end))
    return frozenset(inside)


def _line_starts(text: str, start: int, end: int) -> Iterator[int]:
    position = text.find("\n", start, end)
    while position != -1:
        yield position + 1
        position = text.find("\n", position + 1, end)
