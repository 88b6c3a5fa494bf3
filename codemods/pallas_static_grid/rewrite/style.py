"""How a file is laid out, read off its own statements."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.rewrite.doc import Printer
from pallas_static_grid.rewrite.layout import Style, document
from pallas_static_grid.rewrite.syntax import indentation, starts_line
from pallas_static_grid.rewrite.units import units

_LENGTHS = (79, 80, 88, 100, 120)
_SAMPLE = 40
_OPENING = re.compile(r"^([ \t]*)(\S.*[(\[{])[ \t]*$", re.M)


def style_of(module: ModuleContext, line_length: int | None = None) -> Style:
    """The style of a file; `line_length` is what the project's configuration says, if it does."""
    unit = _unit(module)
    step = _step(module, unit)
    length = line_length or _line_length(module, step, 80 if len(unit) == 2 else 88)
    return Style(length, unit, step, _quote(module.text))


def _unit(module: ModuleContext) -> str:
    """What one block is indented against the one around it."""
    seen: Counter[str] = Counter()
    for node in ast.walk(module.tree):
        body = getattr(node, "body", None)
        if not (isinstance(node, ast.stmt) and isinstance(body, list) and body):
            continue
        first, _ = module.span(body[0])
        outer = indentation(module.text, module.span(node)[0])
        inner = indentation(module.text, first)
        if starts_line(module.text, first) and inner.startswith(outer) and inner != outer:
            seen[inner.removeprefix(outer)] += 1
    return seen.most_common(1)[0][0] if seen else "    "


def _step(module: ModuleContext, unit: str) -> str:
    """What the content of a bracket is indented against the line that opens it."""
    seen: Counter[str] = Counter()
    lines = module.text.splitlines()
    for line, below in pairwise(lines):
        match = _OPENING.match(line)
        if match is None or not below.strip() or "#" in line:
            continue
        inner = below[: len(below) - len(below.lstrip())]
        if inner.startswith(match.group(1)) and inner != match.group(1):
            seen[inner.removeprefix(match.group(1))] += 1
    return seen.most_common(1)[0][0] if seen else unit


def _line_length(module: ModuleContext, step: str, usual: int) -> int:
    """The line length under which most of the file's statements are as they are."""
    votes = dict.fromkeys(_LENGTHS, 0)
    for source, indent in _telling(module):
        doc = document(source)
        if doc is None:
            continue
        same = [n for n in _LENGTHS if Printer(n, indent, step).render(doc) == source]
        if same:
            for length in same:
                votes[length] += 1
    best = max(votes.values())
    return next(n for n in (usual, *_LENGTHS) if votes[n] == best)


def _telling(module: ModuleContext) -> Iterator[tuple[str, str]]:
    """Statements on several lines, and long ones on one line: the first few of the file."""
    count = 0
    for unit in units(module, 0, len(module.text)):
        source = unit.source(module.text)
        if "\n" not in source and len(unit.indent) + len(source) < min(_LENGTHS):
            continue
        yield source, unit.indent
        count += 1
        if count == _SAMPLE:
            return


def _quote(text: str) -> str:
    """The quote that most short strings of the file use."""
    double, single = text.count('"') - 3 * text.count('"""'), text.count("'")
    return "'" if single > double else '"'
