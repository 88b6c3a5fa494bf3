"""A parsed Python file and the positions in it."""

from __future__ import annotations

import ast
import re
import tokenize
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pallas_static_grid.analysis.reach import Outline
    from pallas_static_grid.analysis.scopes import Scope

# The line ends that Python's own tokenizer knows (a form feed or U+2028 ends no line).
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(eq=False, slots=True)
class ModuleContext:
    """One parsed Python file.

    `path` is the path as reported, `name` the dotted module name as far as the packages on disk
    tell (`pkg.sub.mod`), `offsets` the character offset of the start of each line.
    """

    path: str
    text: str
    tree: ast.Module
    name: str
    is_package: bool = False
    offsets: list[int] = field(default_factory=list)
    scope: Scope | None = None
    ascii_only: bool = True
    node_set: set[ast.AST] | None = None
    outline: Outline | None = None
    file: Path | None = None
    """Where it is on disk, if it is (stdin is not)."""

    def offset(self, line: int, byte_column: int) -> int:
        """Character offset of a position as `ast` gives it (1-based line, UTF-8 byte column)."""
        start = self.offsets[line - 1]
        if self.ascii_only:
            return start + byte_column
        end = self.offsets[line] if line < len(self.offsets) else len(self.text)
        raw = self.text[start:end].encode("utf-8", "surrogatepass")
        return start + len(raw[:byte_column].decode("utf-8", "surrogatepass"))

    def span(self, node: ast.expr | ast.stmt | ast.keyword | ast.arg) -> tuple[int, int]:
        """Character offsets of a node."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return (
            self.offset(node.lineno, node.col_offset),
            self.offset(node.end_lineno, node.end_col_offset),
        )

    def segment(self, node: ast.expr | ast.stmt | ast.keyword | ast.arg) -> str:
        """The source text of a node."""
        start, end = self.span(node)
        return self.text[start:end]

    def flat(self, node: ast.expr | ast.stmt | ast.keyword | ast.arg) -> str:
        """The source text of a node on one line, without comments."""
        text = self.segment(node)
        if "#" in text and "\n" in text:
            text = _without_comments(text)
        return " ".join(text.split())

    def line_text(self, line: int) -> str:
        """The text of a line without its end and outer blanks."""
        start = self.offsets[line - 1]
        end = self.offsets[line] if line < len(self.offsets) else len(self.text)
        return self.text[start:end].strip()

    def column(self, node: ast.expr | ast.stmt) -> int:
        """1-based column of a node, in characters."""
        return self.offset(node.lineno, node.col_offset) - self.offsets[node.lineno - 1] + 1


def parse_module(
    path: str, text: str, name: str = "", *, is_package: bool = False, file: Path | None = None
) -> ModuleContext:
    """Parse `text`; raises SyntaxError, ValueError or RecursionError as `ast.parse` does.

    `path` is the path as reported, `file` the one on disk (None for stdin).
    """
    source = text.removeprefix("\ufeff")
    tree = ast.parse(source, filename=path, type_comments=False)
    lead = len(text) - len(source)
    offsets = [lead, *(m.end() + lead for m in _LINE_END.finditer(source))]
    return ModuleContext(
        path, text, tree, name, is_package, offsets, ascii_only=source.isascii(), file=file
    )


def _without_comments(text: str) -> str:
    """An expression without the comments between its parts."""
    lines = [f"{line}\n" for line in _LINE_END.split(text)]
    try:
        # Brackets, so that line ends within are no ends of statements.
        tokens = list(tokenize.generate_tokens(iter(["(\n", *lines, ")"]).__next__))
    except (tokenize.TokenError, SyntaxError):
        return text
    for token in reversed(tokens):
        if token.type == tokenize.COMMENT:
            line, column = token.start[0] - 2, token.start[1]
            lines[line] = lines[line][:column] + lines[line][column + len(token.string) :]
    return "".join(lines)
