"""Edits of a text: checked as a whole before the first one is applied."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from pallas_static_grid.model import Edit, Span


class EditConflict(ValueError):
    """Two edits want the same piece of text, or one lies outside it."""

    def __init__(self, message: str, text: str, span: Span) -> None:
        self.span = span
        self.line = text.count("\n", 0, max(span.start, 0)) + 1
        super().__init__(f"line {self.line}: {message}")


def merge(text: str, edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """The edits in text order without repetitions.

    Insertions at one place keep the order in which they were given; an insertion at the border of
    a replacement stays outside of it. Raises `EditConflict` where edits overlap.
    """
    unique = tuple(dict.fromkeys(edits))
    for edit in unique:
        if not 0 <= edit.span.start <= edit.span.end <= len(text):
            raise EditConflict("an edit lies outside the text", text, edit.span)
    # Stable: insertions at a position come before the replacement that starts there.
    ordered = sorted(unique, key=lambda edit: (edit.span.start, edit.span.end))
    for first, second in pairwise(ordered):
        same_place = first.span == second.span and first.span.start < first.span.end
        if same_place or second.span.start < first.span.end:
            raise EditConflict(
                f"two edits overlap: {first.text!r} and {second.text!r}", text, second.span
            )
    return tuple(ordered)


def apply(text: str, edits: Iterable[Edit]) -> str:
    """The text after all edits; raises `EditConflict` before anything is applied."""
    pieces: list[str] = []
    position = 0
    for edit in merge(text, edits):
        pieces += (text[position : edit.span.start], edit.text)
        position = edit.span.end
    pieces.append(text[position:])
    return "".join(pieces)


def insertion(offset: int, text: str) -> Edit:
    """An edit that only inserts."""
    return Edit(Span(offset, offset), text)


def replacement(span: tuple[int, int], text: str) -> Edit:
    """An edit that replaces the range `span` (as `ModuleContext.span` gives it)."""
    return Edit(Span(*span), text)
