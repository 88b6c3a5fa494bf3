"""The plain list of launches that `scan` prints, one paragraph per launch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pallas_static_grid.model import Blocker, Dim, FileReport, Launch, Refusal, Skipped, Step
from pallas_static_grid.outcome import (
    counted,
    launches_of,
    rewrites_of,
    sentence,
    summarize,
)
from pallas_static_grid.render.notes import (
    bound_notes,
    one_line,
    refusal_note,
    step_note,
    title,
)

Segment = tuple[str, str]
"""A piece of a line: the style it has on a terminal, and its text."""
Line = tuple[Segment, ...]

VERDICT_STYLES = {"static": "green", "dynamic": "bold red", "unknown": "yellow"}


def render(reports: Sequence[FileReport], *, verbose: bool = False, quiet: bool = False) -> str:
    """The list as text."""
    lines = scan_lines(reports, verbose=verbose, quiet=quiet)
    return "".join("".join(text for _, text in line).rstrip() + "\n" for line in lines)


def scan_lines(
    reports: Sequence[FileReport], *, verbose: bool = False, quiet: bool = False
) -> Iterator[Line]:
    """The lines of the list; quiet: only launches that count, and no summary."""
    notebooks = [r for r in reports if isinstance(r, Skipped) and r.refused]
    for launch in launches_of(reports):
        if not quiet or (launch.verdict != "static" and not launch.ignored):
            yield from launch_lines(launch, verbose=verbose)
    for report in notebooks:
        yield (("bold", one_line(report.path)), ("", ": "), ("yellow", report.reason))
    if quiet:
        return
    summary = summarize(reports)
    if summary.launches or notebooks:
        yield ()
    tail = f"; {counted(len(notebooks), 'notebook', 'notebooks')} not read" if notebooks else ""
    yield (("bold", sentence(summary)), ("", tail))


def launch_lines(launch: Launch, *, verbose: bool = False) -> Iterator[Line]:
    """One launch: verdict, dimensions that are not static, plan or refusal, blockers."""
    where = f"{one_line(launch.path)}:{launch.line}:{launch.column}"
    grid = f"grid={one_line(launch.grid)}" if launch.grid is not None else "no grid"
    verdict: Segment = (VERDICT_STYLES[launch.verdict], launch.verdict)
    note = " (ignored)" if launch.ignored else ""
    rest = f": {launch.function}: {grid}"
    yield (("bold", where), ("", ": "), verdict, ("dim", note), ("", rest))
    if launch.verdict != "static" or verbose:
        yield from _why(launch.why, launch.path, verbose)
    for dim in launch.dims:
        if dim.verdict != "static":
            yield from _dim(dim, launch.path, verbose)
    for plan in launch.plans:
        yield (
            ("", "    plan: "),
            ("cyan", plan.transform),
            ("", f" ({plan.safety}): {one_line(plan.summary)}"),
        )
    if launch.refusal is not None and not launch.ignored:
        refusal = launch.refusal
        where = _where(refusal, launch.path)
        text = f"refused ({refusal.code}): {one_line(refusal.reason)} [{where}]"
        yield (("", "    "), ("magenta", text))
        if launch.refusal.hint:
            yield (("dim", f"        {one_line(launch.refusal.hint)}"),)
    for blocker in launch.blockers if launch.verdict != "static" or verbose else ():
        where = _where(blocker, launch.path)
        yield (("dim", f"    not on {blocker.target}: {one_line(blocker.reason)} [{where}]"),)


def _dim(dim: Dim, path: str, verbose: bool) -> Iterator[Line]:
    head = f"    grid[{dim.index}] = {one_line(dim.expression)} is {dim.verdict}"
    cause = dim.why[-1] if dim.why else None
    if cause is None or verbose:
        yield (("", head),)
    else:
        yield (("", f"{head}: {one_line(cause.reason)} [{_where(cause, path)}]"),)
    if verbose:
        yield from _why(dim.why, path, verbose)
    if dim.bound is not None:
        notes = list(bound_notes(dim.bound))
        for line in notes if verbose else notes[:1]:
            yield (("", "    " + line.rstrip(":" if not verbose else "")),)


def _why(steps: Sequence[Step], path: str, verbose: bool) -> Iterator[Line]:
    for step in steps if verbose else steps[-1:]:
        if verbose:
            yield (("", f"        {step_note(step)}"),)
        else:
            yield (("", f"    {one_line(step.reason)} [{_where(step, path)}]"),)


def _where(place: Step | Refusal | Blocker, path: str) -> str:
    """`line N`, or `path:N` where it is in another file than the launch."""
    if place.path == path:
        return f"line {place.line}"
    return f"{one_line(place.path)}:{place.line}"


def apply_text(reports: Sequence[FileReport], *, quiet: bool = False) -> str:
    """What `apply` did, and which dynamic launches it left."""
    lines: list[str] = []
    rewrites = list(rewrites_of(reports))
    if not quiet:
        lines.extend(f"rewrote {title(rewrite)}" for rewrite in rewrites)
    for launch in launches_of(reports):
        if launch.refusal is not None and not launch.ignored:
            where = f"{one_line(launch.path)}:{launch.line}"
            lines.append(f"left {where} {launch.function}: {refusal_note(launch.refusal)}")
    for report in reports:
        if isinstance(report, Skipped) and report.refused:
            lines.append(f"left {one_line(report.path)}: {report.reason}")
    if not quiet:
        files = len({rewrite.launch.path for rewrite in rewrites})
        lines.append(
            f"{counted(len(rewrites), 'launch', 'launches')} rewritten in "
            f"{counted(files, 'file', 'files')}, "
            f"{sum(summarize(reports).refusals.values())} left dynamic"
            if rewrites
            else f"nothing to do ({sentence(summarize(reports))})"
        )
    return "".join(f"{line}\n" for line in lines)
