"""Syntax classes for Python source, from the standard tokenizer."""

from __future__ import annotations

import builtins
import io
import keyword
import token
import tokenize
from collections.abc import Iterator

Mark = tuple[int, int, str]
"""From column, to column (in characters), class."""

_BUILTINS = frozenset(name for name in dir(builtins) if not name.startswith("_"))
_STRINGS = frozenset(
    getattr(token, name)
    for name in (
        "STRING",
        "FSTRING_START",
        "FSTRING_MIDDLE",
        "FSTRING_END",
        "TSTRING_START",
        "TSTRING_MIDDLE",
        "TSTRING_END",
    )
    if hasattr(token, name)
)


def line_marks(text: str) -> dict[int, tuple[Mark, ...]]:
    """The coloured ranges of each line (1-based); fewer where the text does not tokenize."""
    marks: dict[int, list[Mark]] = {}
    for kind, first, last in _ranges(text):
        for line in range(first[0], last[0] + 1):
            start = first[1] if line == first[0] else 0
            end = last[1] if line == last[0] else 1 << 30
            if start < end:
                marks.setdefault(line, []).append((start, end, kind))
    return {line: tuple(sorted(found)) for line, found in marks.items()}


def _ranges(text: str) -> Iterator[tuple[str, tuple[int, int], tuple[int, int]]]:
    previous = ""
    try:
        for item in tokenize.generate_tokens(io.StringIO(text).readline):
            kind = _class_of(item, previous)
            if kind:
                yield kind, item.start, item.end
            if item.type not in (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
                previous = item.string
    except (tokenize.TokenError, SyntaxError):
        return


def _class_of(item: tokenize.TokenInfo, previous: str) -> str:
    if item.type == tokenize.COMMENT:
        return "com"
    if item.type in _STRINGS:
        return "str"
    if item.type == tokenize.NUMBER:
        return "num"
    if item.type == tokenize.OP and item.string == "@" and previous == "":
        return "dec"
    if item.type != tokenize.NAME:
        return ""
    if keyword.iskeyword(item.string):
        return "kw"
    if previous in ("def", "class"):
        return "fn"
    return "bi" if item.string in _BUILTINS and previous != "." else ""
