"""Files in sight: the parsed module, its path, and the way to the modules it imports."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pallas_static_grid.analysis.scopes import Scope


@dataclass(eq=False, slots=True)
class ModuleContext:
    """One parsed Python file.

    `path` is the path as reported; `lines` the text split as `ast` counts lines.
    """

    path: str
    text: str
    tree: ast.Module
    name: str
    """Dotted module name as far as packages on disk tell (`pkg.sub.mod`)."""
    is_package: bool = False
    offsets: list[int] = field(default_factory=list)
    """Character offset of the start of each line (index 0 is line 1)."""
    scope: Scope | None = None
    ascii_only: bool = True

    def offset(self, line: int, byte_column: int) -> int:
        """Character offset of a position as `ast` gives it (1-based line, UTF-8 byte column)."""
        start = self.offsets[line - 1]
        if self.ascii_only:
            return start + byte_column
        end = self.offsets[line] if line < len(self.offsets) else len(self.text)
        raw = self.text[start:end].encode("utf-8", "surrogatepass")
        return start + len(raw[:byte_column].decode("utf-8", "surrogatepass"))

    def segment(self, node: ast.expr | ast.stmt) -> str:
        """The source text of a node."""
        start, end = self.span(node)
        return self.text[start:end]

    def span(self, node: ast.expr | ast.stmt | ast.keyword | ast.arg) -> tuple[int, int]:
        """Character offsets of a node."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return (
            self.offset(node.lineno, node.col_offset),
            self.offset(node.end_lineno, node.end_col_offset),
        )
