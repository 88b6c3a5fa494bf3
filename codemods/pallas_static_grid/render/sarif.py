"""The SARIF 2.1.0 report: rules with help, code flows along the chain, fixes from the rewrites."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from urllib.parse import quote

from pallas_static_grid import __version__
from pallas_static_grid.catalogue import REFUSALS, transforms
from pallas_static_grid.model import Changed, Failed, FileReport, Skipped, Step
from pallas_static_grid.render.digest import Entry, chain, entries, headline, status, warnings
from pallas_static_grid.render.page.data import Chosen, chosen
from pallas_static_grid.render.pieces import Composition

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_ROOT = "SRCROOT"
_UNKNOWN = "unknown-grid"
_DYNAMIC = "dynamic-grid"
Json = None | bool | int | str | Sequence["Json"] | Mapping[str, "Json"]
Object = dict[str, Json]


def render(reports: Sequence[FileReport]) -> str:
    """The report as JSON text."""
    results = [result for report in reports for result in _results(report)]
    rules = _rules({str(result["ruleId"]) for result in results})
    index = {str(rule["id"]): at for at, rule in enumerate(rules)}
    for result in results:
        result["ruleIndex"] = index[str(result["ruleId"])]
    driver: Object = {
        "name": "pallas-static-grid",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": rules,
    }
    run: Object = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "newlineSequences": ["\n"],
        "originalUriBaseIds": {
            _ROOT: {"description": {"text": "The directory that the paths are relative to."}}
        },
        "invocations": [
            {
                "executionSuccessful": not any(isinstance(r, Failed) for r in reports),
                "toolExecutionNotifications": list(_notifications(reports)),
            }
        ],
        "results": results,
    }
    document: Object = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


# ---- rules -------------------------------------------------------------------------------------


def _rules(used: Iterable[str]) -> list[Object]:
    """The rules that occur: a transform, a refusal's code, or one of the two general ones."""
    known = {
        _DYNAMIC: (
            "A grid dimension is not a Python int",
            "GPU backends, GPU interpret mode and differentiation take static grids only.",
            "Make the grid dimension a Python int.",
        ),
        _UNKNOWN: (
            "A grid dimension depends on code out of sight",
            "Whether the grid is static depends on callers or on code that was not read.",
            "Scan the whole tree, or pass an int.",
        ),
        **{
            info.name: (info.summary.rstrip("."), info.text, "Review the fix and apply it.")
            for info in transforms()
        },
        **{code: (known.title, known.meaning, known.next_step) for code, known in REFUSALS.items()},
    }
    return [_rule(name, *known.get(name, (name, name, name))) for name in sorted(used)]


def _rule(name: str, title: str, meaning: str, advice: str) -> Object:
    return {
        "id": name,
        "name": "".join(part.capitalize() for part in name.replace("_", "-").split("-")),
        "shortDescription": {"text": title},
        "fullDescription": {"text": meaning},
        "help": {
            "text": f"{meaning}\n\nWhat to do: {advice}",
            "markdown": f"{meaning}\n\n**What to do:** {advice}",
        },
        "defaultConfiguration": {"level": "note" if name == _UNKNOWN else "warning"},
    }


# ---- results -----------------------------------------------------------------------------------


def _results(report: FileReport) -> Iterator[Object]:
    file = chosen(report) if isinstance(report, Changed) else None
    seen: dict[str, int] = {}
    for entry in entries(report):
        if entry.launch.verdict == "static":
            continue
        identity = "|".join((entry.launch.path, entry.launch.function, entry.launch.grid or ""))
        seen[identity] = seen.get(identity, 0) + 1
        fingerprint = hashlib.sha256(f"{identity}|{seen[identity]}".encode()).hexdigest()
        yield _result(entry, file, fingerprint)


def _result(entry: Entry, file: Chosen | None, fingerprint: str) -> Object:
    launch = entry.launch
    result: Object = {
        "ruleId": _rule_of(entry),
        "level": "note" if launch.verdict == "unknown" else "warning",
        "message": {"text": " ".join(_message(entry))},
        "locations": [
            {
                **_location(launch.path, launch.line, launch.column, launch.end_line),
                "logicalLocations": [{"fullyQualifiedName": launch.function, "kind": "function"}],
            }
        ],
        "partialFingerprints": {"launch/v1": fingerprint},
        "codeFlows": [_flow(steps) for _, steps in chain(launch)],
        "properties": {"verdict": launch.verdict, "api": launch.api, "grid": launch.grid},
    }
    evidence = [step for dim in launch.dims if dim.bound for step in dim.bound.evidence]
    related = [_step(step) for step in evidence]
    if launch.refusal is not None:
        refusal = launch.refusal
        related.append(_step(Step(refusal.path, refusal.line, "", refusal.reason)))
    if related:
        result["relatedLocations"] = related
    if launch.ignored:
        result["suppressions"] = [{"kind": "inSource", "status": "accepted"}]
    if entry.rewrite is not None and file is not None:
        result["fixes"] = [_fix(entry, file)]
    return result


def _rule_of(entry: Entry) -> str:
    launch = entry.launch
    if launch.verdict == "unknown":
        return _UNKNOWN
    if launch.plans:
        return launch.plans[-1].transform
    if launch.refusal is not None and not launch.ignored:
        return launch.refusal.code
    return _DYNAMIC


def _message(entry: Entry) -> Iterator[str]:
    launch = entry.launch
    yield headline(launch)
    for plan in launch.plans:
        yield f"{plan.transform} ({plan.safety}): {plan.summary.rstrip('.')}."
    for dim in launch.dims:
        if dim.bound is not None and status(entry) == "rewrite":
            yield f"Bound: {dim.bound.expression}."
            for assumption in dim.bound.assumes:
                yield f"Assumes: {assumption.rstrip('.')}."
    if launch.refusal is not None and not launch.ignored:
        yield f"Refused ({launch.refusal.code}): {launch.refusal.reason.rstrip('.')}."
        yield launch.refusal.hint


def _flow(steps: Sequence[Step]) -> Object:
    """The chain in the order in which the value flows: from the cause to the grid."""
    locations = [{"location": _step(step)} for step in reversed(steps)]
    return {"threadFlows": [{"locations": locations}]}


def _step(step: Step) -> Object:
    location = _location(step.path, step.line)
    location["message"] = {"text": f"{step.text}: {step.reason}" if step.text else step.reason}
    return location


def _location(
    path: str, line: int, column: int | None = None, end_line: int | None = None
) -> Object:
    region: Object = {"startLine": max(1, line)}
    if column is not None:
        region["startColumn"] = column
    if end_line is not None and end_line >= line:
        region["endLine"] = end_line
    return {"physicalLocation": {"artifactLocation": _artifact(path), "region": region}}


def _artifact(path: str) -> Object:
    return {"uri": quote(path, safe="/"), "uriBaseId": _ROOT}


# ---- fixes -------------------------------------------------------------------------------------


def _fix(entry: Entry, file: Chosen) -> Object:
    """The rewrite, with those that it cannot be taken without, as edits of the original."""
    group = file.group_of(entry.place)
    others = len(file.composition.groups[group]) - 1
    summary = "; ".join(plan.summary for plan in entry.launch.plans)
    together = f" (with {others} more of this file)" if others else ""
    return {
        "description": {"text": summary + together},
        "artifactChanges": [
            {
                "artifactLocation": _artifact(file.report.path),
                "replacements": list(replacements(file.composition, group)),
            }
        ],
    }


def replacements(composition: Composition, group: int) -> Iterator[Object]:
    """The line edits that a group makes to the original file."""
    taken = composition.taken((group,))
    before = 0
    removed: list[str] = []
    added: list[str] = []
    previous = ""
    for line in composition.lines:
        if line.added is not None:
            if line.added in taken and line.removed not in taken:
                added.append(line.text)
            continue
        if line.removed is not None and line.removed in taken:
            removed.append(line.text)
        else:
            yield from _replacement(before, removed, added, previous)
            before += len(removed) + 1
            removed, added = [], []
            previous = line.text
    yield from _replacement(before, removed, added, previous)


def _replacement(
    before: int, removed: Sequence[str], added: Sequence[str], previous: str
) -> Iterator[Object]:
    """Replace the lines after the first `before` ones; `previous` is the last of those."""
    if not removed and not added:
        return
    text = "".join(added)
    if removed:
        last = removed[-1].removesuffix("\n")
        if text.endswith("\n") and removed[-1].endswith("\n"):
            region = _region(before + 1, 1, before + len(removed), len(last) + 1)
            text = text.removesuffix("\n")
        elif removed[-1].endswith("\n"):
            region = _region(before + 1, 1, before + len(removed) + 1, 1)
        else:
            region = _region(before + 1, 1, before + len(removed), len(last) + 1)
    elif previous and not previous.endswith("\n"):
        region = _region(before, len(previous) + 1, before, len(previous) + 1)
    else:
        region = _region(before + 1, 1, before + 1, 1)
    yield {"deletedRegion": region, "insertedContent": {"text": text}}


def _region(line: int, column: int, end_line: int, end_column: int) -> Object:
    return {
        "startLine": line,
        "startColumn": column,
        "endLine": end_line,
        "endColumn": end_column,
    }


# ---- what went wrong ---------------------------------------------------------------------------


def _notifications(reports: Sequence[FileReport]) -> Iterator[Object]:
    for report in reports:
        if isinstance(report, Failed):
            yield _notification("error", report.path, f"{report.stage}: {report.message}")
        elif isinstance(report, Skipped) and report.refused:
            yield _notification("warning", report.path, report.reason)
    for path, text in warnings(reports):
        yield _notification("warning", path, text)


def _notification(level: str, path: str, text: str) -> Object:
    return {
        "level": level,
        "message": {"text": text},
        "locations": [{"physicalLocation": {"artifactLocation": _artifact(path)}}],
    }
