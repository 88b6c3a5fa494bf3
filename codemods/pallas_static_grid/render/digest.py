"""What the report renderers have in common: counts, sentences, a launch and its rewrite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pallas_static_grid.model import (
    Changed,
    Clean,
    Dim,
    Failed,
    FileReport,
    Launch,
    Rewrite,
    Skipped,
    Step,
)
from pallas_static_grid.outcome import rewrites_of, summarize
from pallas_static_grid.render.notes import one_line

Status = Literal["rewrite", "together", "refused", "ignored", "none"]
"""`together`: made static by the rewrite of another launch."""
Counts = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """A launch, with its rewrite if it gets one."""

    launch: Launch
    rewrite: Rewrite | None = None
    place: int = -1
    """Which rewrite of the file it is, counted from 0."""


@dataclass(frozen=True, slots=True)
class Totals:
    """The numbers at the head of a report; ignored launches count as such and as nothing else."""

    files: int
    launches: int
    verdicts: Counts
    rewrites: int
    safe: int
    transforms: Counts
    refusals: Counts
    ignored: int
    failed: tuple[Failed, ...]
    skipped: tuple[Skipped, ...]

    @property
    def refused(self) -> int:
        """How many launches are refused."""
        return sum(count for _, count in self.refusals)


def entries(report: FileReport) -> tuple[Entry, ...]:
    """The launches of a file in source order."""
    if isinstance(report, Clean):
        return tuple(Entry(launch) for launch in report.launches)
    if not isinstance(report, Changed):
        return ()
    places = {_key(rewrite.launch): at for at, rewrite in enumerate(report.rewrites)}
    found: list[Entry] = []
    for launch in report.launches:
        place = places.get(_key(launch), -1)
        rewrite = report.rewrites[place] if place >= 0 else None
        found.append(Entry(rewrite.launch if rewrite else launch, rewrite, place))
    return tuple(found)


def _key(launch: Launch) -> tuple[int, int]:
    return launch.line, launch.column


def totals(reports: Sequence[FileReport]) -> Totals:
    """Count what the reports hold."""
    summary = summarize(reports)
    rewrites = tuple(rewrites_of(reports))
    verdicts = summary.verdicts
    return Totals(
        files=summary.files,
        launches=summary.launches,
        verdicts=tuple((name, verdicts[name]) for name in ("dynamic", "unknown", "static")),
        rewrites=len(rewrites),
        safe=sum(rewrite.safety == "safe" for rewrite in rewrites),
        transforms=_counts(plan.transform for rewrite in rewrites for plan in rewrite.plans),
        refusals=_ordered(summary.refusals),
        ignored=summary.ignored,
        failed=tuple(report for report in reports if isinstance(report, Failed)),
        skipped=tuple(report for report in reports if isinstance(report, Skipped)),
    )


def status(entry: Entry) -> Status:
    """What becomes of a launch."""
    if entry.launch.ignored:
        return "ignored"
    if entry.rewrite is not None:
        return "rewrite"
    if entry.launch.plans:
        return "together"
    return "refused" if entry.launch.refusal is not None else "none"


def chain(launch: Launch) -> tuple[tuple[Dim | None, tuple[Step, ...]], ...]:
    """The chains to show: of each dimension that is not static, or of the grid as a whole."""
    if launch.why:
        return ((None, launch.why),)
    return tuple((dim, dim.why) for dim in launch.dims if dim.verdict != "static" and dim.why)


def headline(launch: Launch) -> str:
    """One sentence on why the launch has its verdict."""
    found = chain(launch)
    if launch.verdict == "static":
        return "Every grid dimension is a Python int." if launch.dims else "There is no grid."
    if not found:
        return f"The grid is {launch.verdict}."
    dim, steps = next((one for one in found if _decides(one[0], launch)), found[0])
    subject = f"Grid dimension {dim.index} is" if dim else "The grid is"
    cause = steps[-1]
    reason = one_line(cause.reason).rstrip(".")
    where = "" if f"line {cause.line}" in reason else f" (line {cause.line})"
    return f"{subject} {dim.verdict if dim else launch.verdict}: {reason}{where}."


def _decides(dim: Dim | None, launch: Launch) -> bool:
    return dim is None or dim.verdict == launch.verdict


def location(launch: Launch) -> str:
    """`path:line`."""
    return f"{launch.path}:{launch.line}"


def plural(count: int, one: str, many: str = "") -> str:
    """`1 launch`, `2 launches`."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def warnings(reports: Sequence[FileReport]) -> Iterator[tuple[str, str]]:
    """The warnings of all files, as path and text."""
    for report in reports:
        if isinstance(report, Clean | Changed):
            for text in report.warnings:
                yield report.path, text


def _counts(names: Iterable[str]) -> Counts:
    return _ordered(Counter(names))


def _ordered(counter: Counter[str]) -> Counts:
    return tuple(sorted(counter.items(), key=lambda item: (-item[1], item[0])))
