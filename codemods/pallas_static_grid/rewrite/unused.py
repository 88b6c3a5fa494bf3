"""Imports that nothing uses any more once the edits are made."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.model import Edit, Span
from pallas_static_grid.rewrite.edits import apply, merge
from pallas_static_grid.rewrite.syntax import line_end, line_start, newline_of

# Importing these does nothing that a program could miss.
_PURE = frozenset({"jax", "numpy", "math", "functools"})


def drop_unused(module: ModuleContext, edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """The removals of the imports that only the edited code used.

    Only imports on a line of their own, whose name is left nowhere in the text, not even in a
    comment or a string, and not in a package's `__init__.py`, which may hand them on.
    """
    if module.is_package:
        return ()
    merged = merge(module.text, edits)
    after = apply(module.text, merged)
    removals: list[Edit] = []
    for statement in module.tree.body:
        name = _only_name(statement)
        if name is None or not _on_its_own(module, statement):
            continue
        line = module.text[slice(*_line(module, statement))]
        if _count(name, module.text) > _count(name, line) >= _count(name, after):
            removals.append(_removal(module, statement))
    touched = [edit.span for edit in merged]
    return tuple(r for r in removals if not any(_meet(r.span, span) for span in touched))


def _only_name(statement: ast.stmt) -> str | None:
    """The one name that an import statement binds."""
    if not isinstance(statement, ast.Import | ast.ImportFrom) or len(statement.names) != 1:
        return None
    alias = statement.names[0]
    module = statement.module if isinstance(statement, ast.ImportFrom) else alias.name
    if (module or "").partition(".")[0] not in _PURE or alias.name == "*":
        return None
    if alias.asname is None and isinstance(statement, ast.Import) and "." in alias.name:
        return None
    return alias.asname or alias.name


def _line(module: ModuleContext, statement: ast.stmt) -> tuple[int, int]:
    start, end = module.span(statement)
    return line_start(module.text, start), line_end(module.text, end)


def _on_its_own(module: ModuleContext, statement: ast.stmt) -> bool:
    start, end = _line(module, statement)
    return module.text[start:end].strip() == module.segment(statement)


def _count(name: str, text: str) -> int:
    return len(re.findall(rf"\b{re.escape(name)}\b", text))


def _removal(module: ModuleContext, statement: ast.stmt) -> Edit:
    """Remove the line, and the blank line that would be left double."""
    start, end = _line(module, statement)
    newline = newline_of(module.text)
    end = min(end + len(newline), len(module.text))
    blank_before = start == 0 or module.text[:start].endswith(newline * 2)
    if blank_before and module.text.startswith(newline, end):
        end += len(newline)
    return Edit(Span(start, end), "")


def _meet(first: Span, second: Span) -> bool:
    return first.start < second.end and second.start < first.end
