"""The diff of one rewrite as a table; the script makes the side-by-side form out of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pallas_static_grid.model import Rewrite
from pallas_static_grid.render.highlight import Mark, line_marks
from pallas_static_grid.render.hunks import HunkLine, hunks
from pallas_static_grid.render.page import markup


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two texts, with the colours of its lines."""

    lines: Sequence[str]
    marks: dict[int, tuple[Mark, ...]]
    crlf: bool
    """Whether every line ends in CR and LF, so that the CR need not be pointed out."""

    def html(self, line: HunkLine) -> str:
        """The line, with a mark where the text ends without a line end."""
        text = self.lines[line.number]
        body = markup.code(
            text.removesuffix("\r") if self.crlf else text,
            self.marks.get(line.number + 1, ()),
            line.emphasis,
        )
        return body + '<span class="eof">no newline at end</span>' if line.unterminated else body


def table(rewrite: Rewrite, label: str) -> str:
    """The whole diff of a rewrite."""
    old, new = _side(rewrite.before), _side(rewrite.after)
    rows: list[str] = []
    shift = 0
    for hunk in hunks(rewrite.before, rewrite.after):
        rows.append(f'<tr class="h"><td colspan="4">line {hunk.new_start - shift + 1}</td></tr>')
        for line in hunk.lines:
            rows.append(_line(line, shift, old, new))
            shift += {"+": 1, "-": -1, " ": 0}[line.mark]
    return (
        f'<div class="diffbox" tabindex="0" role="region" aria-label="{markup.text(label)}">'
        '<table class="diff"><thead class="sr"><tr><th scope="col">old line</th>'
        '<th scope="col">new line</th><th scope="col">sign</th><th scope="col">source</th></tr>'
        f"</thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _side(text: str) -> _Side:
    lines = text.split("\n")
    return _Side(lines, line_marks(text), all(line.endswith("\r") for line in lines[:-1]))


def _line(line: HunkLine, shift: int, old: _Side, new: _Side) -> str:
    """A row; `shift` is how many more lines the new text has above than the old one."""
    number = line.number + 1
    if line.mark == "-":
        return _row("d", str(number), "", "-", old.html(line))
    if line.mark == "+":
        return _row("a", "", str(number), "+", new.html(line))
    return _row("c", str(number - shift), str(number), " ", new.html(line))


def _row(kind: str, old: str, new: str, sign: str, body: str) -> str:
    return (
        f'<tr class="{kind}"><td class="n">{old}</td><td class="n">{new}</td>'
        f'<td class="g">{sign}</td><td class="l">{body}</td></tr>'
    )
