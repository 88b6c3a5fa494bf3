"""A run: paths to reports, in processes, in a fixed order."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pallas_static_grid.analysis.project import Project
from pallas_static_grid.discover import Candidate, Discovery, discover, display_path, patch_path
from pallas_static_grid.model import (
    Changed,
    Clean,
    Failed,
    FileReport,
    Launch,
    Options,
    UserBound,
)
from pallas_static_grid.pipeline import examine
from pallas_static_grid.pool import Lost, Pool
from pallas_static_grid.source import Source, decode

_LIMIT = 300.0
"""Seconds after which a file is given up; files take milliseconds."""
_LARGE = 100_000
"""Characters from which a file's syntax tree is let go of at once."""
_WORTH_A_PROCESS = 500_000
"""Bytes of candidates from which a second process pays."""

Progress = Callable[[int, int, int], None]
"""Called with files done, files in all, and launches found."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a run found: one report per file, in the order of their paths."""

    reports: tuple[FileReport, ...]
    scanned: int
    warnings: tuple[str, ...] = ()
    stdin: bytes = b""
    """The source, where it came in by stdin."""


def run_paths(
    paths: Sequence[str], cwd: Path, options: Options, progress: Progress | None = None
) -> Run:
    """Examine all files under `paths`. Raises MissingPath."""
    found = discover(paths, cwd, options.exclude)
    reports = [*found.settled, *_examined(found, cwd, options, progress)]
    ordered = tuple(sorted(reports, key=lambda report: report.path))
    return Run(ordered, found.scanned, found.warnings + _unmatched(options, ordered))


def run_text(data: bytes, filename: str, cwd: Path, options: Options) -> Run:
    """Examine what came in by stdin; `filename` says where it belongs."""
    file = Path(os.path.normpath(cwd / filename))
    path = display_path(file, cwd)
    on_disk = file.resolve() if file.parent.is_dir() else None
    source = decode(path, data, patch_path(file, cwd) if on_disk is not None else path, on_disk)
    if isinstance(source, Failed):
        return Run((source,), 1, (), data)
    report = examine_alone(source, options, cwd)
    return Run((report,), 1, _unmatched(options, (report,)), data)


def examine_alone(
    source: Source, options: Options, cwd: Path, chosen: Collection[int] | None = None
) -> FileReport:
    """The report on one source, made in a process of its own.

    `chosen` are the launches, counted in source order, that may be rewritten; None for all.
    """
    task = partial(examine, source, options, project_for((), cwd), chosen)
    report = next(report for _, report in Pool(_call, [task], 1, _LIMIT).results([0]))
    return Failed(source.path, "analyse", report.reason) if isinstance(report, Lost) else report


def examine_candidate(candidate: Candidate, options: Options, project: Project) -> FileReport:
    """The report on a discovered file."""
    source = source_of(candidate)
    if isinstance(source, Failed):
        return source
    report = examine(source, options, project)
    if len(source.text) > _LARGE:
        # Syntax trees and what was made of them hold each other: let go of large ones at once.
        gc.collect()
    return report


def source_of(candidate: Candidate) -> Source | Failed:
    """A discovered file as text."""
    return decode(candidate.path, candidate.data, candidate.patch_path, candidate.file)


def project_for(roots: Sequence[Path], cwd: Path) -> Project:
    """The files in sight of a run."""
    return Project(tuple(roots), partial(display_path, cwd=cwd))


def _examined(
    found: Discovery, cwd: Path, options: Options, progress: Progress | None
) -> Iterator[FileReport]:
    files = found.candidates
    if not files:
        return
    work = partial(_work, options=options, project=project_for(found.roots, cwd))
    order = sorted(range(len(files)), key=lambda i: (-len(files[i].data), files[i].path))
    launches = 0
    pool = Pool(work, files, _jobs(options.jobs, files), _LIMIT)
    for done, (index, report) in enumerate(pool.results(order), start=1):
        if isinstance(report, Lost):
            report = Failed(files[index].path, "analyse", report.reason)
        launches += len(report.launches) if isinstance(report, Clean | Changed) else 0
        if progress is not None:
            progress(done, len(files), launches)
        yield report


def _work(candidate: Candidate, options: Options, project: Project) -> FileReport:
    return examine_candidate(candidate, options, project)


def _call(task: Callable[[], FileReport]) -> FileReport:
    return task()


def _jobs(asked: int, files: Sequence[Candidate]) -> int:
    if asked:
        return asked
    size = sum(len(file.data) for file in files)
    return min(os.cpu_count() or 1, 1 + size // _WORTH_A_PROCESS)


def _unmatched(options: Options, reports: Sequence[FileReport]) -> tuple[str, ...]:
    """Flags that name a launch or a dimension which is not there."""
    launches = [
        launch
        for report in reports
        if isinstance(report, Clean | Changed)
        for launch in report.launches
    ]
    out: list[str] = []
    for path, line in options.only:
        if not any(
            launch.path == path
            and (launch.line <= line <= launch.end_line or line in launch.call_lines)
            for launch in launches
        ):
            out.append(f"--only {path}:{line}: no launch is on that line")
    out.extend(_without_dimension(bound, launches) for bound in options.bounds)
    return tuple(warning for warning in out if warning)


def _without_dimension(bound: UserBound, launches: Sequence[Launch]) -> str:
    """A warning where a bound names no function or no dimension of a launch in it."""
    where = f"{bound.path}::{bound.function}"
    inside = [
        launch
        for launch in launches
        if launch.path == bound.path and launch.function == bound.function
    ]
    if not inside:
        return f"--bound: no launch is in {where} (see `scan` for paths and functions)"
    wanted = _squeezed(bound.expression)
    names = [
        name
        for launch in inside
        for dim in launch.dims
        for name in (_squeezed(dim.expression), f"dims[{dim.index}]")
    ]
    readable = all(launch.grid_kind == "tuple" for launch in inside)
    if wanted in names or not readable:
        return ""
    shown = ", ".join(
        f"`{dim.expression}` or `dims[{dim.index}]`" for launch in inside for dim in launch.dims
    )
    return f"--bound: no dimension of {where} is `{bound.expression}`; there is {shown}"


def _squeezed(text: str) -> str:
    return "".join(text.split())
