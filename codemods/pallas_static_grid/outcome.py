"""What a run amounts to: counts and exit codes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pallas_static_grid.model import Changed, Clean, Failed, FileReport, Launch, Rewrite, Skipped

Command = Literal["scan", "diff", "apply"]


@dataclass(frozen=True, slots=True)
class Summary:
    """The numbers of a run. Ignored launches count as such and as nothing else."""

    launches: int
    files: int
    verdicts: Counter[str]
    ignored: int
    rewrites: int
    safe: int
    """Rewrites that are safe in all their parts."""
    transforms: Counter[str]
    refusals: Counter[str]
    failed: int
    unreadable_launches: int
    """Files that may hold launches and are not rewritten at all (notebooks)."""


def launches_of(reports: Sequence[FileReport]) -> Iterator[Launch]:
    """All launches, in order."""
    for report in reports:
        if isinstance(report, Clean | Changed):
            yield from report.launches


def rewrites_of(reports: Sequence[FileReport]) -> Iterator[Rewrite]:
    """All rewrites, in order."""
    for report in reports:
        if isinstance(report, Changed):
            yield from report.rewrites


def summarize(reports: Sequence[FileReport]) -> Summary:
    """Count."""
    launches = list(launches_of(reports))
    live = [launch for launch in launches if not launch.ignored]
    return Summary(
        launches=len(launches),
        files=len({launch.path for launch in launches}),
        verdicts=Counter(launch.verdict for launch in live),
        ignored=len(launches) - len(live),
        rewrites=sum(1 for launch in live if launch.plans),
        safe=sum(
            1
            for launch in live
            if launch.plans and all(plan.safety == "safe" for plan in launch.plans)
        ),
        transforms=Counter(plan.transform for launch in live for plan in launch.plans),
        refusals=Counter(launch.refusal.code for launch in live if launch.refusal is not None),
        failed=sum(isinstance(report, Failed) for report in reports),
        unreadable_launches=sum(
            isinstance(report, Skipped) and report.refused for report in reports
        ),
    )


def exit_code(
    command: Command,
    reports: Sequence[FileReport],
    *,
    fail_on_unknown: bool = False,
    exit_zero: bool = False,
) -> int:
    """0, 1 or 3; 3 beats 1. (2 is for what keeps a run from starting.)"""
    summary = summarize(reports)
    if summary.failed:
        return 3
    if command == "diff":
        return int(any(isinstance(report, Changed) for report in reports) and not exit_zero)
    if command == "apply":
        left = sum(summary.refusals.values()) + summary.unreadable_launches
        return int(left > 0)
    hits = summary.verdicts["dynamic"] + summary.unreadable_launches
    if fail_on_unknown:
        hits += summary.verdicts["unknown"]
    return int(hits > 0)


def sentence(summary: Summary) -> str:
    """The summary in one line."""
    if not summary.launches:
        return "no launches"
    parts = [
        f"{summary.verdicts[verdict]} {verdict}"
        for verdict in ("static", "dynamic", "unknown")
        if summary.verdicts[verdict]
    ]
    if summary.ignored:
        parts.append(f"{summary.ignored} ignored")
    text = (
        f"{counted(summary.launches, 'launch', 'launches')} in "
        f"{counted(summary.files, 'file', 'files')}: {', '.join(parts)}"
    )
    tail: list[str] = []
    if summary.rewrites:
        tail.append(f"{summary.rewrites} can be made static ({_by_safety(summary)})")
    if summary.refusals:
        tail.append(f"{sum(summary.refusals.values())} refused")
    return f"{text}; {', '.join(tail)}" if tail else text


def _by_safety(summary: Summary) -> str:
    review = summary.rewrites - summary.safe
    parts = [f"{summary.safe} safe"] if summary.safe else []
    parts += [f"{review} to review"] if review else []
    return ", ".join(parts)


def counted(number: int, one: str, many: str) -> str:
    """`1 launch`, `2 launches`."""
    return f"{number} {one if number == 1 else many}"
