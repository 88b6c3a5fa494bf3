"""Text to HTML: everything that comes from a source file passes through here."""

from __future__ import annotations

import html
import itertools
import re
import unicodedata

from pallas_static_grid.render.highlight import Mark

_CODE = re.compile(r"`([^`\n]+)`")


def text(value: object) -> str:
    """Escaped text, safe as content and inside a quoted attribute."""
    return "".join(_character(c) for c in str(value))


def prose(value: str) -> str:
    """Escaped text in which parts in backquotes are code."""
    return _CODE.sub(lambda match: f"<code>{match.group(1)}</code>", text(value))


def code(
    line: str, marks: tuple[Mark, ...] = (), emphasis: tuple[tuple[int, int], ...] = ()
) -> str:
    """A line of source, coloured, with the emphasised ranges marked, invisible characters shown."""
    cuts = {0, len(line)}
    for start, end, _ in marks:
        cuts |= {min(start, len(line)), min(end, len(line))}
    for start, end in emphasis:
        cuts |= {start, end}
    points = sorted(cuts)
    out: list[str] = []
    for start, end in itertools.pairwise(points):
        classes = [kind for first, last, kind in marks if first <= start and end <= last][:1]
        if any(first <= start and end <= last for first, last in emphasis):
            classes.append("em")
        part = "".join(_visible(c) for c in line[start:end])
        out.append(f'<span class="{" ".join(classes)}">{part}</span>' if classes else part)
    return "".join(out)


def _character(c: str) -> str:
    if c in "\t\n":
        return c
    return html.escape(c) if not _is_hidden(c) else f"\\u{ord(c):04x}"


def _visible(c: str) -> str:
    if c == "\t" or not _is_hidden(c):
        return html.escape(c)
    name = {"\r": "CR", "\f": "FF", "\ufeff": "BOM"}.get(c, f"U+{ord(c):04X}")
    return f'<span class="ctl">{name}</span>'


def _is_hidden(c: str) -> bool:
    """Whether a character would not show, or would change how others show (bidirectional marks)."""
    return unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")
