"""Where the new statements go: counts at the launch, the map wrapper above the first spec."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from pallas_static_grid.model import Span
from pallas_static_grid.rewrite.locate import expression_at
from pallas_static_grid.rewrite.names import path_to
from pallas_static_grid.rewrite.syntax import (
    comments_above,
    insert_before,
    line_start,
    statement_around,
    statement_start,
)
from pallas_static_grid.transforms.masking.draft import Draft
from pallas_static_grid.transforms.masking.refusing import refused


@dataclass(frozen=True, slots=True)
class Placement:
    """The statements that a rewrite adds around the launch."""

    counts: list[str]
    """Lines that define the live counts."""
    kernel: str
    """The wrapping kernel, or nothing."""
    check: str
    """The function that checks a count against the user's bound, or nothing."""
    pins: list[str]
    """The lines of the map wrapper, or nothing."""
    pinned: tuple[Span, ...]
    """The specs that use the wrapper."""


def place(draft: Draft, placement: Placement) -> None:
    """Add the insertions."""
    at_launch = _statement(draft, draft.shape.call)
    blocks: dict[ast.stmt, list[str]] = {}
    if placement.counts:
        _check_effects(draft)
        blocks.setdefault(_count_statement(draft, at_launch), []).append(
            "\n".join(placement.counts)
        )
    if placement.check:
        blocks.setdefault(at_launch, []).append(placement.check)
    if placement.kernel:
        blocks.setdefault(at_launch, []).append(placement.kernel)
    if placement.pins:
        first = _first_statement(draft, at_launch, placement.pinned)
        blocks.setdefault(first, []).append("\n".join(placement.pins))
    for statement, texts in blocks.items():
        _insert(draft, statement, texts)


_CHANGING = frozenset(
    {
        "add", "append", "appendleft", "clear", "discard", "extend", "get_nowait", "insert", "next",
        "input", "pop", "popitem", "popleft", "print", "put", "read", "readline", "remove", "send",
        "setdefault", "update", "write", "__next__", "iter",
    }
)  # fmt: skip
"""Calls that change something, by the last part of their name."""


def _check_effects(draft: Draft) -> None:
    """A count that changes something when it is evaluated must stay where it is."""
    for axis in draft.dynamic:
        if axis.code is None:
            continue
        for node in ast.walk(expression_at(draft.module, axis.code.span)):
            name = ""
            if isinstance(node, ast.Call):
                called = node.func
                name = (
                    called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
                )
            if name in _CHANGING or isinstance(node, ast.NamedExpr | ast.Await | ast.Yield):
                what = f"`{name}(...)`" if name else "an assignment or a wait"
                raise refused(
                    draft.shape,
                    "not-supported",
                    f"the grid entry `{axis.code.text}` holds {what}, which changes something: it "
                    "cannot be evaluated ahead of the launch",
                    line=axis.line,
                )


def _insert(draft: Draft, statement: ast.stmt, texts: list[str]) -> None:
    """Insert blocks with a blank line around each definition."""
    module = draft.module
    has_def = [text.startswith("def ") for text in texts]
    text = "\n\n".join(texts) if any(has_def) else "\n".join(texts)
    if has_def[-1] or isinstance(statement, ast.FunctionDef | ast.ClassDef):
        text += "\n"
    if has_def[0] and _needs_gap(draft, statement):
        text = "\n" + text
    draft.add(insert_before(module, statement, text, draft.unit))


def _needs_gap(draft: Draft, statement: ast.stmt) -> bool:
    """Whether the line above is code that a definition must keep its distance from."""
    text = draft.module.text
    at = comments_above(text, statement_start(draft.module, statement))
    above = text[line_start(text, max(at - 1, 0)) : at].strip()
    return bool(above) and not above.endswith(":")


def _statement(draft: Draft, span: Span, *, defines: bool = False) -> ast.stmt:
    node = expression_at(draft.module, span)
    statement = statement_around(draft.module, node, defines=defines)
    if statement is None:
        raise refused(
            draft.shape,
            "not-supported",
            "the launch stands where no statement can go before it (a lambda, a comprehension, a "
            "part that may be skipped, the condition of a loop)",
        )
    return statement


def _count_statement(draft: Draft, at_launch: ast.stmt) -> ast.stmt:
    """The count is taken where the grid's tuple was evaluated."""
    display = draft.shape.grid_display
    return at_launch if display is None else _statement(draft, display)


def _first_statement(draft: Draft, at_launch: ast.stmt, spans: tuple[Span, ...]) -> ast.stmt:
    """The first statement, in the innermost block around all of them, that needs the wrapper."""
    statements = [at_launch, *(_statement(draft, span, defines=True) for span in spans)]
    paths = [[*path_to(draft.module.tree, s), s] for s in statements]
    depth = 0
    while all(len(p) > depth for p in paths) and len({id(p[depth]) for p in paths}) == 1:
        depth += 1
    if depth and all(len(p) == depth for p in paths):
        return at_launch
    owner = paths[0][depth - 1]
    for block in ("body", "orelse", "finalbody"):
        children: list[ast.stmt] = getattr(owner, block, None) or []
        below = {id(p[depth]) for p in paths if len(p) > depth}
        inside = [child for child in children if id(child) in below]
        if inside and len(below) == len(inside):
            return inside[0]
    raise refused(
        draft.shape,
        "not-supported",
        "the block specs and the launch stand in blocks that have no common beginning",
    )


__all__ = ["Placement", "place"]
