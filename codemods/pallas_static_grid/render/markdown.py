"""The Markdown report, for the description of a pull request.

GitHub takes 65,536 characters there: diffs that would not fit are left out, and it is said so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pallas_static_grid.catalogue import REFUSALS
from pallas_static_grid.model import FileReport, Rewrite
from pallas_static_grid.render.digest import (
    Entry,
    Totals,
    entries,
    headline,
    location,
    plural,
    status,
    totals,
    warnings,
)
from pallas_static_grid.render.notes import one_line, rewrite_notes

LIMIT = 64_000
_TABLE = 24_000
"""Characters that the table of launches may take."""
_CELL = 100
_WARNINGS = 50
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#+!|~@&-])")
_CODE = re.compile(r"(`[^`]+`)")


def render(reports: Sequence[FileReport], limit: int = LIMIT) -> str:
    """Summary, table of launches, and a collapsible diff for each rewrite."""
    counted = totals(reports)
    found = [entry for report in reports for entry in entries(report)]
    head = "\n".join(
        [
            "## Static grids for Pallas launches",
            "",
            *_summary(counted),
            *_table([entry for entry in found if _is_listed(entry)]),
            *_refusals(counted),
            *_trouble(reports, counted),
        ]
    )
    rewrites = [entry.rewrite for entry in found if entry.rewrite is not None]
    return _with_diffs(head, rewrites, limit)


def _with_diffs(head: str, rewrites: Sequence[Rewrite], limit: int) -> str:
    parts = [head]
    room = limit - len(head) - 200
    left_out = 0
    for rewrite in rewrites:
        block = _details(rewrite)
        if len(block) <= room:
            parts.append(block)
            room -= len(block)
        else:
            left_out += 1
    if left_out:
        parts.append(
            f"\n{plural(left_out, 'diff')} left out, because the text would be too long for a pull "
            "request. `pallas-static-grid diff` shows all.\n"
        )
    return "".join(parts)


def _summary(counted: Totals) -> Iterator[str]:
    verdicts = ", ".join(f"{count} {name}" for name, count in counted.verdicts if count)
    found = plural(counted.launches, "launch", "launches")
    yield f"{found} in {plural(counted.files, 'file')}" + (f": {verdicts}." if verdicts else ".")
    if counted.rewrites:
        by_name = ", ".join(f"{count} × `{name}`" for name, count in counted.transforms)
        yield (
            f"{plural(counted.rewrites, 'rewrite')} ({by_name}), of which {counted.safe} safe and "
            f"{counted.rewrites - counted.safe} to review."
        )
    if counted.refused:
        yield f"{plural(counted.refused, 'dynamic launch', 'dynamic launches')} refused."
    yield ""


def _is_listed(entry: Entry) -> bool:
    return entry.launch.verdict != "static" and not entry.launch.ignored


def _table(found: Sequence[Entry]) -> Iterator[str]:
    if not found:
        return
    yield "| launch | function | grid | outcome | bound |"
    yield "| --- | --- | --- | --- | --- |"
    rows = [_row(entry) for entry in found]
    room = _TABLE
    listed = 0
    while listed < len(rows) and room >= len(rows[listed]):
        room -= len(rows[listed])
        listed += 1
    yield from rows[:listed]
    if len(rows) > listed:
        yield ""
        yield f"{len(rows) - listed} more launches are not listed."
    yield ""


def _row(entry: Entry) -> str:
    launch = entry.launch
    cells = (
        _cell(location(launch)),
        _cell(launch.function),
        _cell(launch.grid or ""),
        _outcome(entry),
        ", ".join(_cell(dim.bound.expression) for dim in launch.dims if dim.bound),
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _cell(text: str) -> str:
    line = one_line(text)
    return code(line if len(line) <= _CELL else line[: _CELL - 1] + "…")


def _outcome(entry: Entry) -> str:
    launch = entry.launch
    if entry.rewrite is not None:
        names = ", ".join(code(plan.transform) for plan in entry.rewrite.plans)
        return f"{names}, {entry.rewrite.safety}"
    if status(entry) == "together":
        return "static together with another launch"
    if launch.refusal is not None:
        return f"refused: {code(launch.refusal.code)}"
    return launch.verdict


def _refusals(counted: Totals) -> Iterator[str]:
    if not counted.refusals:
        return
    yield "### What was refused, and what helps"
    yield ""
    for name, count in counted.refusals:
        known = REFUSALS.get(name)
        words = f" {known.title}. {known.next_step}" if known else ""
        yield f"* {code(name)} ({count}):{words}"
    yield ""


def _trouble(reports: Sequence[FileReport], counted: Totals) -> Iterator[str]:
    lines = [f"* {code(f.path)} could not be handled: {plain(f.message)}" for f in counted.failed]
    lines += [f"* {code(path)}: {plain(text)}" for path, text in warnings(reports)]
    if lines:
        yield "### Warnings"
        yield ""
        yield from lines[:_WARNINGS]
        if len(lines) > _WARNINGS:
            yield f"* and {len(lines) - _WARNINGS} more"
        yield ""


def _details(rewrite: Rewrite) -> str:
    launch = rewrite.launch
    names = ", ".join(plan.transform for plan in rewrite.plans)
    title = f"{location(launch)} in {launch.function}: {names} ({rewrite.safety})"
    return "\n".join(
        [
            "",
            "<details>",
            f"<summary>{_html(one_line(title))}</summary>",
            "",
            plain(headline(launch)),
            "",
            fenced("\n".join(rewrite_notes(rewrite)[1:]), "text"),
            "",
            fenced(_diff(rewrite), "diff"),
            "",
            "</details>",
            "",
        ]
    )


def _diff(rewrite: Rewrite) -> str:
    """The patch without its header, which the title has already."""
    lines = rewrite.patch.encode("utf-8", "surrogateescape").decode("utf-8", "replace").split("\n")
    start = next((i for i, line in enumerate(lines) if line.startswith("@@ ")), 0)
    return "\n".join(line.rstrip("\r") for line in lines[start:]).rstrip("\n")


def fenced(text: str, language: str) -> str:
    """A code block whose fence is longer than any run of backquotes in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    body = re.sub(r"[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", "\ufffd", text)
    return f"{fence}{language}\n{body}\n{fence}"


def code(text: str) -> str:
    """Text as a code span that it cannot break out of."""
    plain_text = one_line(text)
    if not plain_text:
        return ""
    longest = max((len(run) for run in re.findall(r"`+", plain_text)), default=0)
    marks = "`" * (longest + 1)
    edge = " " if plain_text.startswith("`") or plain_text.endswith("`") else ""
    return f"{marks}{edge}{plain_text}{edge}{marks}"


def plain(text: str) -> str:
    """Text in which nothing but parts in backquotes is markup."""
    parts = _CODE.split(one_line(text))
    return "".join(part if _CODE.fullmatch(part) else _SPECIAL.sub(r"\\\1", part) for part in parts)


def _html(text: str) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped.replace("`", "&#96;").replace("*", "&#42;").replace("_", "&#95;")
