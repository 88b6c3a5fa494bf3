"""How two sequences of lines differ, in groups with context, fast for a few small edits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import AnyStr

Opcode = tuple[str, int, int, int, int]

_LONG = 2000
"""Lines from which difflib may take frequent ones for noise, so that it stays fast."""


def opcodes(old: Sequence[AnyStr], new: Sequence[AnyStr]) -> list[Opcode]:
    """difflib's opcodes; equal lines at both ends, most of a file, are set aside first."""
    head = _common(old, new)
    tail = _common(reversed(old[head:]), reversed(new[head:]))
    a, b = old[head : len(old) - tail], new[head : len(new) - tail]
    matcher = SequenceMatcher(None, a, b, autojunk=max(len(a), len(b)) > _LONG)
    found: list[Opcode] = [("equal", 0, head, 0, head)] if head else []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        found.append((tag, i1 + head, i2 + head, j1 + head, j2 + head))
    if tail:
        found.append(("equal", len(old) - tail, len(old), len(new) - tail, len(new)))
    return found


def grouped(
    old: Sequence[AnyStr], new: Sequence[AnyStr], context: int = 3
) -> Iterator[list[Opcode]]:
    """The opcodes in groups, each with up to `context` equal lines around its changes."""
    group: list[Opcode] = []
    for tag, i1, i2, j1, j2 in opcodes(old, new):
        if tag != "equal":
            group.append((tag, i1, i2, j1, j2))
            continue
        last = i2 == len(old) and j2 == len(new)
        if group and (last or i2 - i1 > 2 * context):
            end = min(i2, i1 + context)
            if end > i1:
                group.append((tag, i1, end, j1, j1 + end - i1))
            yield group
            group = []
        if not last:
            start = max(i1, i2 - context) if not group else i1
            group.append((tag, start, i2, j2 - (i2 - start), j2))
    if any(tag != "equal" for tag, *_ in group):
        yield group


def _common(first: Iterable[AnyStr], second: Iterable[AnyStr]) -> int:
    count = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        count += 1
    return count
