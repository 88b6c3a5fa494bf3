"""The diff of one rewrite as a table; the script makes the side-by-side form out of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pallas_static_grid.model import Rewrite
from pallas_static_grid.render.highlight import Mark, line_marks
from pallas_static_grid.render.page import markup
from pallas_static_grid.render.page.rows import Row, hunks
from pallas_static_grid.render.pieces import split

_CLASSES = {"same": "c", "removed": "d", "added": "a"}
_SIGNS = {"same": " ", "removed": "-", "added": "+"}


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two texts, with the colours of its lines."""

    lines: Sequence[str]
    marks: dict[int, tuple[Mark, ...]]
    crlf: bool
    """Whether every line ends in CR and LF, so that the CR need not be pointed out."""

    def html(self, index: int, row: Row) -> str:
        """The line, with a mark where the text ends without a line end."""
        line = self.lines[index]
        text = line.removesuffix("\n")
        body = markup.code(
            text.removesuffix("\r") if self.crlf else text,
            self.marks.get(index + 1, ()),
            row.emphasis,
        )
        return body if line != text else body + '<span class="eof">no newline at end</span>'


def table(rewrite: Rewrite, label: str) -> str:
    """The whole diff of a rewrite."""
    old, new = _side(rewrite.before), _side(rewrite.after)
    rows: list[str] = []
    for hunk in hunks(old.lines, new.lines):
        first = next((row.old for row in hunk if row.old is not None), 0)
        rows.append(f'<tr class="h"><td colspan="4">line {first + 1}</td></tr>')
        rows += [_row(row, old, new) for row in hunk]
    return (
        f'<div class="diffbox" tabindex="0" role="region" aria-label="{markup.text(label)}">'
        '<table class="diff"><thead class="sr"><tr><th scope="col">old line</th>'
        '<th scope="col">new line</th><th scope="col">sign</th><th scope="col">source</th></tr>'
        f"</thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _side(text: str) -> _Side:
    lines = split(text)
    return _Side(lines, line_marks(text), all(line.endswith("\r\n") for line in lines[:-1]))


def _row(row: Row, old: _Side, new: _Side) -> str:
    kind = _CLASSES[row.kind] + (" i" if row.indented else "")
    pair = f' data-p="{row.pair}"' if row.pair else ""
    body = new.html(row.new, row) if row.new is not None else old.html(row.old or 0, row)
    return (
        f'<tr class="{kind}"{pair}><td class="n">{_number(row.old)}</td>'
        f'<td class="n">{_number(row.new)}</td><td class="g">{_SIGNS[row.kind]}</td>'
        f'<td class="l">{body}</td></tr>'
    )


def _number(index: int | None) -> str:
    return "" if index is None else str(index + 1)
