"""Names that a kernel deletes though its guard, or its dead steps, still need them."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from pallas_static_grid.analysis.kernel_facts import StatementFacts
from pallas_static_grid.model import Edit, Span
from pallas_static_grid.rewrite.syntax import line_end, line_start, newline_of
from pallas_static_grid.transforms.masking.draft import Draft
from pallas_static_grid.transforms.masking.refusing import Refused, refused


@dataclass(frozen=True, slots=True)
class Spared:
    """The edits of `del` statements, and the lines in the guard that go altogether."""

    edits: list[Edit]
    lines: list[Span]
    none_above: bool
    """Whether all that stood above the guard is gone."""


def spared_statement(statement: StatementFacts) -> bool:
    """Whether a statement is a `del` of plain names, from which names can be taken."""
    return statement.kind == "del" and statement.deletes == statement.mentions


def spare_refs(draft: Draft, handed: set[str], above: int, lifted: frozenset[int]) -> Spared:
    """Take the refs in `handed` out of every `del`, and all names of the kernel's in the guard.

    The statements up to `above`, and those in `lifted`, stand above the guard. A name that the
    body of a nested function deletes is local to it. Raises `Refused` for a `del` that cannot be
    edited by itself.
    """
    text, statements = draft.module.text, draft.shape.kernel.statements
    newline = len(newline_of(text))
    inside = [i for i in range(above, len(statements)) if i not in lifted]
    local = {name for i in inside if statements[i].kind != "del" for name in statements[i].binds}
    edits: list[Edit] = []
    lines: list[Span] = []
    gone_above = 0
    for index, statement in enumerate(statements):
        guarded = index in inside
        whole = guarded and statement.kind == "del"
        spared = set(statement.binds) - local if whole else handed
        if not spared & statement.deletes:
            continue
        start, end = line_start(text, statement.span.start), line_end(text, statement.span.end)
        rest = text[statement.span.end : end].strip()
        alone = not text[start : statement.span.start].strip() and rest[:1] in ("", "#")
        last = index == len(statements) - 1
        if not (spared_statement(statement) and alone) or (last and handed):
            raise _refused(draft, statement)
        kept = _without(text[statement.span.start : statement.span.end], spared)
        if kept:
            edits.append(Edit(statement.span, kept))
        elif rest:
            # The comment behind it stays, on a line of its own.
            edits.append(Edit(Span(statement.span.start, text.index("#", statement.span.end)), ""))
        elif guarded:
            lines.append(Span(start, end + newline))
        else:
            # With the line break before it, so that lines may still be put behind it.
            edits.append(Edit(Span(start - newline, end), ""))
            gone_above += 1
    return Spared(edits, lines, 0 < gone_above == above)


def _refused(draft: Draft, statement: StatementFacts) -> Refused:
    return refused(
        draft.shape,
        "kernel-not-guardable",
        "the kernel deletes a ref that dead steps still need",
        line=draft.module.text.count("\n", 0, statement.span.start) + 1,
        hint="Leave the ref out of the `del`, then run the tool again.",
    )


def _without(text: str, spared: set[str]) -> str:
    """A `del` statement without some of its names; empty if none is left."""
    names = [node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)]
    kept = [name for name in names if name not in spared]
    return f"del {', '.join(kept)}" if kept else ""


__all__ = ["Spared", "spare_refs", "spared_statement"]
