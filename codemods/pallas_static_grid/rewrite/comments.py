"""Comments between the items of a bracket, out of the blanks in which LibCST keeps them."""

from __future__ import annotations

import re
from dataclasses import dataclass

import libcst as cst

from pallas_static_grid.rewrite.doc import HARD, NOTHING, Doc, Expand, Suffix, concat

# Comments for tools may stick out of the line: formatters give them no width.
_PRAGMA = re.compile(
    r"#\s*(noqa|type:|pyright:|pylint:|flake8:|ruff:|pragma:|fmt:|ty:|mypy:)", re.I
)
_EMPTY = cst.Module([])


class Unsupported(Exception):
    """The layout of this piece of source is left as it is."""


@dataclass(frozen=True, slots=True)
class Gap:
    """What stands between two tokens: the comment that ends the line, and those below it."""

    same_line: str | None
    own_lines: tuple[str, ...]


def code_of(node: cst.CSTNode) -> str:
    """The source text of a node."""
    return _EMPTY.code_for_node(node)


def gap(*whitespace: cst.CSTNode) -> Gap:
    """The comments in blanks that follow one another."""
    text = "".join(map(code_of, whitespace))
    if "\\" in text.partition("#")[0]:
        raise Unsupported("a line continued by a backslash")
    first, *rest = text.splitlines() or [""]
    own = [line.strip() for line in rest]
    while own and not own[-1]:
        own.pop()
    comments = tuple(line for line in own if line)
    if comments and "" in own:
        raise Unsupported("blank lines among comments")
    return Gap(first.strip() or None, comments)


def no_comment(*whitespace: cst.CSTNode) -> None:
    """Insist that there is no comment in these blanks."""
    found = gap(*whitespace)
    if found.same_line or found.own_lines:
        raise Unsupported("a comment inside an expression")


def normal(comment: str) -> str:
    """A comment with a blank behind its hash, as formatters write it."""
    if re.match(r"#([\s!:#]|$)", comment) or comment.startswith("#type:"):
        return comment
    return f"# {comment[1:]}"


def trailing(comment: str | None) -> Doc:
    """A comment at the end of the line."""
    if comment is None:
        return NOTHING
    text = f"  {normal(comment)}"
    return concat(Suffix(text, 0 if _PRAGMA.match(comment) else len(text)), Expand())


def above(comments: tuple[str, ...]) -> Doc:
    """Comments on lines of their own before an item."""
    return concat(*(concat(normal(comment), HARD) for comment in comments))


def below(comments: tuple[str, ...]) -> Doc:
    """Comments on lines of their own behind the last item."""
    return concat(*(concat(HARD, normal(comment)) for comment in comments))
