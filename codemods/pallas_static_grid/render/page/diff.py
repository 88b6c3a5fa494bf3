"""The diff of one rewrite as a table; the script makes the side-by-side form out of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from pallas_static_grid.model import Rewrite
from pallas_static_grid.render.highlight import Mark, line_marks
from pallas_static_grid.render.page import markup
from pallas_static_grid.render.pieces import changes, split

_CONTEXT = 3
_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_ALIKE = 0.45

Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two texts, with the colours of its lines."""

    lines: Sequence[str]
    marks: dict[int, tuple[Mark, ...]]

    def html(self, index: int, emphasis: Ranges = ()) -> str:
        """The line at `index` (0-based), and a mark where the file ends without a line end."""
        line = self.lines[index]
        body = markup.code(line.removesuffix("\n"), self.marks.get(index + 1, ()), emphasis)
        return body if line.endswith("\n") else body + '<span class="eof">no newline at end</span>'


def table(rewrite: Rewrite, label: str) -> str:
    """The whole diff of a rewrite."""
    old = _side(rewrite.before)
    new = _side(rewrite.after)
    hunks = list(_grouped(list(changes(old.lines, new.lines)), len(old.lines)))
    rows = "".join(_hunk(hunk, old, new) for hunk in hunks)
    return (
        f'<div class="diffbox" tabindex="0" role="region" aria-label="{markup.text(label)}">'
        '<table class="diff"><thead class="sr"><tr><th scope="col">old line</th>'
        '<th scope="col">new line</th><th scope="col">sign</th><th scope="col">source</th></tr>'
        f"</thead><tbody>{rows}</tbody></table></div>"
    )


def _side(text: str) -> _Side:
    lines = split(text)
    return _Side(lines, line_marks(text))


_Change = tuple[int, int, int, int]


def _grouped(found: Sequence[_Change], length: int) -> Iterator[list[_Change]]:
    """Changes so near to each other that they share a hunk."""
    group: list[_Change] = []
    for change in found:
        if group and change[0] - group[-1][1] > 2 * _CONTEXT:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _hunk(group: Sequence[_Change], old: _Side, new: _Side) -> str:
    first, last = group[0], group[-1]
    start = max(0, first[0] - _CONTEXT)
    end = min(len(old.lines), last[1] + _CONTEXT)
    offset = first[2] - first[0]
    rows = [
        f'<tr class="h"><td colspan="4">line {start + 1}</td></tr>',
        *_context(start, first[0], offset, old),
    ]
    for at, (i, j, k, m) in enumerate(group):
        rows += _changed(i, j, k, m, old, new)
        until = group[at + 1][0] if at + 1 < len(group) else end
        rows += _context(j, until, m - j, old)
    return "".join(rows)


def _context(start: int, end: int, offset: int, old: _Side) -> Iterator[str]:
    for i in range(start, end):
        yield _row("c", str(i + 1), str(i + offset + 1), " ", old.html(i))


def _changed(i: int, j: int, k: int, m: int, old: _Side, new: _Side) -> Iterator[str]:
    removed, added = _emphasis(old.lines[i:j], new.lines[k:m])
    for at in range(i, j):
        yield _row("d", str(at + 1), "", "-", old.html(at, removed.get(at - i, ())))
    for at in range(k, m):
        yield _row("a", "", str(at + 1), "+", new.html(at, added.get(at - k, ())))


def _row(kind: str, old: str, new: str, sign: str, body: str) -> str:
    return (
        f'<tr class="{kind}"><td class="n">{old}</td><td class="n">{new}</td>'
        f'<td class="g">{sign}</td><td class="l">{body}</td></tr>'
    )


def _emphasis(
    removed: Sequence[str], added: Sequence[str]
) -> tuple[dict[int, Ranges], dict[int, Ranges]]:
    """What differs within the lines of a change that are alike, as character ranges."""
    old: dict[int, Ranges] = {}
    new: dict[int, Ranges] = {}
    for i, j in _pairs(removed, added):
        a, b = _WORD.findall(removed[i].rstrip("\n")), _WORD.findall(added[j].rstrip("\n"))
        matcher = SequenceMatcher(None, a, b, autojunk=False)
        codes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
        old[i] = tuple(_range(a, code[1], code[2]) for code in codes if code[1] < code[2])
        new[j] = tuple(_range(b, code[3], code[4]) for code in codes if code[3] < code[4])
    return old, new


def _pairs(removed: Sequence[str], added: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Lines of the two sides that are versions of each other, in order."""
    if len(removed) * len(added) > 2500:
        return
    following = 0
    for i, old in enumerate(removed):
        scores = [
            (SequenceMatcher(None, old.strip(), added[j].strip(), autojunk=False).ratio(), -j)
            for j in range(following, len(added))
        ]
        best, place = max(scores, default=(0.0, 0))
        if best > _ALIKE and old.strip():
            yield i, -place
            following = 1 - place


def _range(words: Sequence[str], start: int, end: int) -> tuple[int, int]:
    first = sum(map(len, words[:start]))
    return first, first + sum(map(len, words[start:end]))
