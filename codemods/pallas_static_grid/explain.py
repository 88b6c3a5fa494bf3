"""`explain`: a launch, a transform, a refusal code, or an error message."""

from __future__ import annotations

import ast
import os
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pallas_static_grid.catalogue import REFUSALS, RefusalCode, TransformInfo, transforms
from pallas_static_grid.console import out, say
from pallas_static_grid.discover import display_path
from pallas_static_grid.errors import ErrorHelp, explain_error, support_table
from pallas_static_grid.model import Changed, Clean, Failed, Launch, Plan, Skipped
from pallas_static_grid.nearest import nearest
from pallas_static_grid.render.notes import bound_notes, one_line, refusal_note, step_note
from pallas_static_grid.run import run_paths
from pallas_static_grid.settings import Settings

_PLACE = re.compile(r"(?P<path>.+?):(?P<line>[1-9]\d*)(?::\d+)?:?")


def explain_command(what: str, settings: Settings) -> int:
    """Print the explanation; 0 if there is one, 2 if not, 3 if the file could not be handled."""
    text = sys.stdin.read() if what == "-" else what
    named = explain_name(text.strip())
    if named is not None:
        out(_joined(named))
        return 0
    place = _PLACE.fullmatch(text.strip())
    if place is not None and _is_path(place["path"], settings.cwd):
        return _explain_place(place["path"], int(place["line"]), settings)
    help_ = explain_error(text)
    if help_ is not None:
        out(_joined(error_lines(help_)))
        if help_.site is not None and (settings.cwd / help_.site[0]).is_file():
            out("\nThe launch in question:\n\n")
            _explain_place(*help_.site, settings)
        return 0
    known = (*(info.name for info in transforms()), *REFUSALS)
    say(f"error: nothing is known of {one_line(text)!r}")
    if " " not in text.strip():
        say(f"did you mean {nearest(text.strip(), known)!r}?")
    say("explain takes a transform, a refusal code, PATH:LINE, or an error message")
    return 2


def explain_name(name: str) -> list[str] | None:
    """The text on a transform or a refusal code."""
    by_name = {info.name: info for info in transforms()}
    if name in by_name:
        return transform_lines(by_name[name])
    if name in REFUSALS:
        return refusal_lines(REFUSALS[name])
    return None


def transform_lines(info: TransformInfo) -> list[str]:
    """What a transform does."""
    lines = [info.name, "=" * len(info.name), "", *info.text.splitlines()]
    if not info.default:
        lines += ["", f"Runs only where it is asked for: --select {info.name}"]
    return lines


def refusal_lines(code: RefusalCode) -> list[str]:
    """What a refusal means, and what to do."""
    head = f"{code.code}: {code.title}"
    wrapped = [*_wrapped(code.meaning), "", *_wrapped(f"What to do: {code.next_step}")]
    return [head, "=" * len(head), "", *wrapped]


def error_lines(help_: ErrorHelp) -> list[str]:
    """What an error message means, who raises it, what is supported, what to do."""
    lines = [help_.title, "=" * len(help_.title), "", *_wrapped(help_.text), ""]
    lines += [*_wrapped(help_.cause), "", "Raised by:"]
    lines += [f"  {raised.where}: jax {raised.versions}" for raised in help_.raised]
    rows = support_table()
    lines += ["", *_table([row[:-1] for row in rows]), ""]
    for row in rows[1:]:
        if row[-1]:
            lines += _wrapped(f"{row[0]}: {row[-1]}", "  ")
    lines += ["", "What to do:"]
    for step in help_.what_to_do:
        lines += _wrapped(f"* {step}", "  ", "    ")
    return lines


def launch_explanation(launch: Launch) -> Iterator[str]:
    """A launch: each dimension's chain and bound, the plan or the refusal, what blocks it."""
    where = f"{one_line(launch.path)}:{launch.line}:{launch.column}"
    yield f"{where}: {launch.function}: {launch.api} launch, {launch.verdict}"
    grid = one_line(launch.grid) if launch.grid is not None else "none"
    yield f"  grid: {grid} ({launch.grid_kind})"
    for step in launch.why:
        yield f"    {step_note(step)}"
    for dim in launch.dims:
        yield f"  grid[{dim.index}] = {one_line(dim.expression)}: {dim.verdict}"
        for step in dim.why:
            yield f"    {step_note(step)}"
        if dim.bound is not None:
            for note in bound_notes(dim.bound):
                yield f"  {note}"
        elif dim.verdict == "dynamic":
            yield "    no bound is in sight"
    yield from _outlook(launch)
    for blocker in launch.blockers:
        place = f"{one_line(blocker.path)}:{blocker.line}"
        yield f"  not on {blocker.target}: {one_line(blocker.reason)} [{place}]"


def _outlook(launch: Launch) -> Iterator[str]:
    if launch.ignored:
        yield "  ignored: a pragma leaves this launch alone"
        return
    if launch.verdict == "unknown":
        yield "  no plan: only a grid that is provably dynamic is rewritten"
    if launch.plans:
        yield "  plan:"
        for plan in launch.plans:
            yield f"    {_plan(plan)}"
    if launch.refusal is not None:
        yield f"  {refusal_note(launch.refusal)}"
        entry = REFUSALS.get(launch.refusal.code)
        if entry is not None:
            yield from _wrapped(entry.meaning, "    ")
        advice = launch.refusal.hint or (entry.next_step if entry is not None else "")
        if advice:
            yield from _wrapped(f"What to do: {one_line(advice)}", "    ")


def _plan(plan: Plan) -> str:
    return f"{plan.transform} ({plan.safety}): {one_line(plan.summary)}"


def launches_at(launches: Sequence[Launch], line: int, text: str | bytes) -> list[Launch]:
    """The launches that a line belongs to: theirs, their later calls', their function's."""
    own = [launch for launch in launches if launch.line <= line <= launch.end_line]
    own = own or [launch for launch in launches if line in launch.call_lines]
    if own:
        return own
    for first, last in _functions_around(text, line):
        inside = [launch for launch in launches if first <= launch.line <= last]
        if inside:
            return inside
    return []


def _functions_around(text: str | bytes, line: int) -> list[tuple[int, int]]:
    """The line ranges of the functions and classes around a line, innermost first."""
    ranges: list[tuple[int, int]] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
            last = node.end_lineno or node.lineno
            if first <= line <= last:
                ranges.append((first, last))
    return sorted(ranges, key=lambda found: found[1] - found[0])


def _explain_place(path: str, line: int, settings: Settings) -> int:
    options = replace(settings.options, include_generated=True, jobs=1)
    report = next(
        report
        for report in run_paths((path,), settings.cwd, options).reports
        if not isinstance(report, Skipped) or not report.reason.startswith("a link")
    )
    if isinstance(report, Failed):
        say(f"error: {one_line(report.path)}: {one_line(report.message)}")
        return 3
    known = report.launches if isinstance(report, Clean | Changed) else ()
    text = (settings.cwd / path).read_bytes()
    found = launches_at(known, line, text) if known else []
    if found:
        out(_joined([part for launch in found for part in (*launch_explanation(launch), "")][:-1]))
        return 0
    name = display_path(Path(os.path.normpath(settings.cwd / path)), settings.cwd)
    say(f"error: {one_line(name)}:{line}: no launch is on this line or in the function around it")
    if known:
        lines = ", ".join(str(launch.line) for launch in known)
        say(f"launches of this file are on these lines: {lines}")
    elif isinstance(report, Skipped):
        say(f"{one_line(name)}: {one_line(report.reason)}")
    return 2


def _is_path(path: str, cwd: Path) -> bool:
    return (cwd / path).exists() or path.endswith((".py", ".ipynb"))


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _wrapped(text: str, first: str = "", rest: str | None = None) -> list[str]:
    """A paragraph of prose; code in it is never broken."""
    return textwrap.wrap(
        text,
        88,
        initial_indent=first,
        subsequent_indent=first if rest is None else rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _joined(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
