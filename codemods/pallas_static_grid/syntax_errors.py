"""Syntax errors in a line, and a word on syntax that only a newer Python knows."""

from __future__ import annotations

import re
import sys

from pallas_static_grid.source import split_lines

_NEWER = (
    ((3, 12), re.compile(r"^\s*(?:async\s+)?(?:def|class)\s+\w+\s*\[")),
    ((3, 12), re.compile(r"^\s*type\s+\w+\s*(?:\[|=)")),
    ((3, 12), re.compile(r"""\b[rR]?[fF][rR]?['"]""")),
    ((3, 14), re.compile(r"""(?<![\w'"])(?:[tT][rR]?|[rR][tT])['"]""")),
    ((3, 14), re.compile(r"^\s*except\*?\s+[\w.]+\s*,")),
)


def syntax_message(
    error: SyntaxError, text: str, running: tuple[int, int] = sys.version_info[:2]
) -> str:
    """`line N: message`, with the Python that the line seems to need where that is newer."""
    line = error.lineno or 1
    lines = split_lines(text)
    content = lines[line - 1] if line <= len(lines) else ""
    message = f"line {line}: {error.msg}"
    needed = [version for version, pattern in _NEWER if pattern.search(content)]
    newer = [version for version in needed if version > running]
    if newer:
        major, minor = min(newer)
        message += (
            f" (the line looks like syntax of Python {major}.{minor}; "
            f"this is Python {running[0]}.{running[1]}: run the tool under a newer one)"
        )
    return message
