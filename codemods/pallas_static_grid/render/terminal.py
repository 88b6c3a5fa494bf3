"""What a person sees on a terminal: launches, rewrites with coloured diffs, the summary.

Source text goes out as `Text` and never through markup; only colours of the terminal's own
palette are used, and no backgrounds, so that light and dark themes both stay readable.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Sequence

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from pallas_static_grid.catalogue import REFUSALS
from pallas_static_grid.model import FileReport, Launch, Rewrite
from pallas_static_grid.outcome import (
    Summary,
    launches_of,
    rewrites_of,
    sentence,
    summarize,
)
from pallas_static_grid.render.hunks import Hunk, hunks
from pallas_static_grid.render.notes import bound_notes, one_line, place, reason
from pallas_static_grid.render.syntax import styled_lines
from pallas_static_grid.render.text import VERDICT_STYLES, scan_lines

_SAFETY_STYLES = {"safe": "bold green", "review": "bold yellow"}
_COMMONEST = 3


def make_console(*, color: bool, stream: io.TextIOBase | None = None) -> Console:
    """A console on stdout (or `stream`); colours as said, whatever the environment says."""
    return Console(
        file=stream or sys.stdout,  # type: ignore[arg-type]  # rich asks for IO[str]
        force_terminal=color or None,
        no_color=not color,
        color_system="standard" if color else None,
        highlight=False,
        markup=False,
        emoji=False,
        width=_width(),
    )


def show_diff(reports: Sequence[FileReport], *, color: bool) -> None:
    """Print every rewrite and the summary."""
    console = make_console(color=color)
    rewrites = list(rewrites_of(reports))
    for number, rewrite in enumerate(rewrites, start=1):
        show_rewrite(console, rewrite, number, len(rewrites))
    show_summary(console, reports)


def show_rewrite(console: Console, rewrite: Rewrite, number: int, total: int) -> None:
    """One rewrite: header, reason, what it rests on, diff."""
    for line in rewrite_header(rewrite, number, total):
        console.print(line)
    console.print()
    for text in diff_lines(rewrite.before, rewrite.after):
        console.print(text, soft_wrap=True)
    console.print()


def rewrite_header(rewrite: Rewrite, number: int, total: int) -> Iterator[RenderableType]:
    """What stands above the diff of a rewrite; prose, so it is wrapped between words."""
    launch = rewrite.launch
    title = Text(f" {number}/{total} ", "bold")
    yield Rule(title, align="left", style="dim", characters="─" if _unicode() else "-")
    head = Text(overflow="fold")
    head.append(place(launch), "bold")
    head.append(f"  {launch.function}  ")
    head.append(", ".join(plan.transform for plan in rewrite.plans), "cyan")
    head.append("  ")
    head.append(rewrite.safety, _SAFETY_STYLES[rewrite.safety])
    yield head
    yield _prose(reason(rewrite))
    yield from _foundations(launch)
    for note in rewrite.notes:
        yield _prose(f"note: {one_line(note)}", "dim")


def _foundations(launch: Launch) -> Iterator[RenderableType]:
    for dim in launch.dims:
        if dim.verdict == "static":
            continue
        line = _prose(f"grid[{dim.index}] = ")
        line.append(one_line(dim.expression), "bold")
        if dim.why:
            line.append(f": {one_line(dim.why[-1].reason)}")
        yield line
        if dim.bound is not None:
            notes = [note.strip() for note in bound_notes(dim.bound)]
            yield _indented(_prose(notes[0].rstrip(":")), 2)
            for note in notes:
                if note.startswith("assumes: "):
                    yield _indented(_prose(note, "yellow"), 2)


def _prose(text: str, style: str = "") -> Text:
    return Text(text, style, overflow="fold")


def diff_lines(before: str, after: str) -> Iterator[Text]:
    """The diff, in colours, with the changed parts of changed lines set off."""
    old, new = styled_lines(before), styled_lines(after)
    for hunk in hunks(before, after):
        yield Text(f"@@ line {hunk.new_start + 1} @@", "blue")
        yield from _hunk_lines(hunk, old, new)


def _hunk_lines(hunk: Hunk, old: Sequence[Text], new: Sequence[Text]) -> Iterator[Text]:
    width = len(str(max(len(old), len(new))))
    for line in hunk.lines:
        source = old if line.mark == "-" else new
        style = {"-": "red", "+": "green", " ": "dim"}[line.mark]
        out = Text()
        out.append(f"{line.number + 1:>{width}} ", "dim")
        out.append(f"{line.mark} ", f"bold {style}" if line.mark != " " else style)
        code = source[line.number].copy()
        for start, end in line.emphasis:
            code.stylize(f"bold underline {style}", start, end)
        out.append_text(code)
        yield out
        if line.unterminated:
            yield Text(" " * width + " \\ no line end at the end of the file", "dim")


def scan_text(reports: Sequence[FileReport], *, verbose: bool = False, quiet: bool = False) -> str:
    """The list of launches in colours, with the summary table below."""
    stream = io.StringIO()
    console = make_console(color=True, stream=stream)
    for line in scan_lines(reports, verbose=verbose, quiet=quiet):
        text = Text()
        for style, part in line:
            text.append(part, style)
        console.print(text, soft_wrap=True)
    if not quiet:
        show_details(console, reports)
    return stream.getvalue()


def show_summary(console: Console, reports: Sequence[FileReport]) -> None:
    """The numbers, then the commonest refusals spelled out."""
    summary = summarize(reports)
    console.print(Text(sentence(summary), "bold"), soft_wrap=True)
    show_details(console, reports)


def show_details(console: Console, reports: Sequence[FileReport]) -> None:
    """The table, and the commonest refusals with what to do about them."""
    summary = summarize(reports)
    if not summary.launches:
        return
    console.print(_table(summary))
    for code, count in summary.refusals.most_common(_COMMONEST):
        _spell_out(console, code, count, reports)


def _table(summary: Summary) -> Table:
    table = Table(show_header=True, header_style="bold", box=None, padding=(0, 2, 0, 0))
    for name in ("launches", "", "rewrites", "", "refusals", ""):
        table.add_column(name, justify="left" if name else "right", no_wrap=True)
    columns = (
        [
            (Text(name, VERDICT_STYLES.get(name, "dim")), count)
            for name, count in (*_verdicts(summary), ("ignored", summary.ignored))
            if count
        ],
        [(Text(name, "cyan"), count) for name, count in sorted(summary.transforms.items())],
        [(Text(name, "magenta"), count) for name, count in summary.refusals.most_common()],
    )
    for row in range(max(len(column) for column in columns)):
        cells: list[Text] = []
        for column in columns:
            filled = row < len(column)
            cells.append(column[row][0] if filled else Text())
            cells.append(Text(str(column[row][1])) if filled else Text())
        table.add_row(*cells)
    return table


def _verdicts(summary: Summary) -> list[tuple[str, int]]:
    return [(name, summary.verdicts[name]) for name in ("static", "dynamic", "unknown")]


def _spell_out(console: Console, code: str, count: int, reports: Sequence[FileReport]) -> None:
    first = next(
        launch.refusal
        for launch in launches_of(reports)
        if launch.refusal is not None and launch.refusal.code == code and not launch.ignored
    )
    entry = REFUSALS.get(code)
    head = Text()
    head.append(code, "magenta")
    head.append(f" ({count})")
    if entry is not None:
        head.append(f": {entry.title}")
    console.print()
    console.print(head)
    example = Text(f"{one_line(first.path)}:{first.line}: {one_line(first.reason)}")
    console.print(_indented(example))
    console.print(_indented(Text(f"next: {first.hint or (entry.next_step if entry else '')}")))


def _indented(text: Text, by: int = 4) -> Padding:
    return Padding(text, (0, 0, 0, by))


def _width() -> int | None:
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdigit() and int(columns) > 0 else None


def _unicode() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")
