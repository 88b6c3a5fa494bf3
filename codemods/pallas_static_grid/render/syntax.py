"""Syntax colours for a terminal, character for character over the exact text."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from rich.syntax import Syntax
from rich.text import Text

_STYLES = (
    ("Token.Comment", "italic dim"),
    ("Token.Keyword.Constant", "cyan"),
    ("Token.Keyword", "magenta"),
    ("Token.Operator.Word", "magenta"),
    ("Token.Name.Decorator", "yellow"),
    ("Token.Name.Function", "blue"),
    ("Token.Name.Class", "blue"),
    ("Token.Name.Builtin", "cyan"),
    ("Token.Literal.String", "yellow"),
    ("Token.Literal.Number", "cyan"),
)
"""Kinds of tokens by the beginnings of their names, the special ones first."""


@lru_cache(maxsize=4)
def styled_lines(text: str) -> tuple[Text, ...]:
    """The lines of `text` (cut at LF) in colours; control characters are made visible."""
    styled = Text(_visible(text), no_wrap=True)
    for start, end, style in _spans(text):
        styled.stylize(style, start, end)
    return tuple(styled.split("\n", allow_blank=True))


def _spans(text: str) -> Iterator[tuple[int, int, str]]:
    """Ranges of tokens and their styles; the lexer must not touch line ends, so it runs bare."""
    lexer = Syntax("", "python").lexer
    if lexer is None:
        return
    for start, token, value in lexer.get_tokens_unprocessed(text):
        style = _style(str(token))
        if style and value.strip():
            yield start, start + len(value), style


def _style(token: str) -> str:
    return next((style for kind, style in _STYLES if token.startswith(kind)), "")


def _visible(text: str) -> str:
    """One character for one: a terminal must not obey what stands in a source file."""
    if text.count("\r") == text.count("\r\n") == text.count("\n"):
        text = text.replace("\r", " ")  # plain CRLF everywhere: nothing to point out
    return text.translate(_PICTURES)


_PICTURES = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n"},
    0x7F: "\u2421",
    **dict.fromkeys(range(0x80, 0xA0), "\ufffd"),
    0x2028: "\u2424",
    0x2029: "\u2424",
}
