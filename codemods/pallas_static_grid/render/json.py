"""The JSON report, schema 1."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from pallas_static_grid.model import (
    Blocker,
    Bound,
    Clean,
    Dim,
    Failed,
    FileReport,
    Launch,
    Plan,
    Refusal,
    Skipped,
    Step,
)

SCHEMA = 1
Json = None | bool | int | str | Sequence["Json"] | Mapping[str, "Json"]


def render(reports: Sequence[FileReport], scanned: int, *, patches: bool = False) -> str:
    """The report as JSON text; `patches` adds each plan's patch."""
    document: Json = {
        "schema": SCHEMA,
        "scanned": scanned,
        "files": [file for report in reports for file in _files(report)],
        "launches": [
            _launch(launch, patches)
            for report in reports
            if not isinstance(report, Skipped | Failed)
            for launch in report.launches
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def _files(report: FileReport) -> list[Json]:
    if isinstance(report, Failed):
        return [_file(report.path, "failed", report.message)]
    if isinstance(report, Skipped):
        return [_file(report.path, "skipped", report.reason)]
    if isinstance(report, Clean) and report.skipped is not None:
        return [_file(report.path, "skipped", report.skipped)]
    if not report.launches:
        return [_file(report.path, "skipped", "no launch")]
    return [_file(report.path, "launches", None)]


def _file(path: str, status: str, reason: str | None) -> Json:
    return {"path": path, "status": status, "reason": reason}


def _launch(launch: Launch, patches: bool) -> Json:
    return {
        "path": launch.path,
        "line": launch.line,
        "column": launch.column,
        "end_line": launch.end_line,
        "api": launch.api,
        "function": launch.function,
        "grid": launch.grid,
        "grid_kind": launch.grid_kind,
        "ignored": launch.ignored,
        "verdict": launch.verdict,
        "why": _steps(launch.why),
        "dims": [_dim(dim) for dim in launch.dims],
        "plans": [_plan(plan, patches) for plan in launch.plans],
        "refusal": None if launch.refusal is None else _refusal(launch.refusal),
        "blockers": [_blocker(blocker) for blocker in launch.blockers],
    }


def _dim(dim: Dim) -> Json:
    return {
        "index": dim.index,
        "expression": dim.expression,
        "verdict": dim.verdict,
        "why": _steps(dim.why),
        "bound": None if dim.bound is None else _bound(dim.bound),
    }


def _bound(bound: Bound) -> Json:
    return {
        "expression": bound.expression,
        "kind": bound.kind,
        "evidence": _steps(bound.evidence),
        "assumes": list(bound.assumes),
    }


def _plan(plan: Plan, patches: bool) -> Json:
    found: dict[str, Json] = {
        "transform": plan.transform,
        "safety": plan.safety,
        "summary": plan.summary,
    }
    if patches:
        found["patch"] = plan.patch or ""
    return found


def _refusal(refusal: Refusal) -> Json:
    return {
        "code": refusal.code,
        "reason": refusal.reason,
        "path": refusal.path,
        "line": refusal.line,
        "hint": refusal.hint,
    }


def _blocker(blocker: Blocker) -> Json:
    return {
        "target": blocker.target,
        "reason": blocker.reason,
        "path": blocker.path,
        "line": blocker.line,
    }


def _steps(steps: Sequence[Step]) -> Json:
    return [
        {"path": step.path, "line": step.line, "text": step.text, "reason": step.reason}
        for step in steps
    ]
