"""GitHub workflow commands: annotations on the lines of launches and failed files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pallas_static_grid.model import Failed, FileReport, Launch, Skipped
from pallas_static_grid.render.digest import Entry, entries, headline, status, warnings

_TITLES = {
    "rewrite": "Dynamic Pallas grid",
    "together": "Dynamic Pallas grid",
    "refused": "Dynamic Pallas grid, no rewrite",
    "none": "Pallas grid not known to be static",
}


def render(reports: Sequence[FileReport]) -> str:
    """One annotation for every launch that is not static, every failed file and every warning."""
    found = [line for report in reports for line in _file(report)]
    found += [_command("warning", text, file=path) for path, text in warnings(reports)]
    return "".join(line + "\n" for line in found)


def _file(report: FileReport) -> Iterator[str]:
    if isinstance(report, Failed):
        title = f"Could not be handled ({report.stage})"
        yield _command("error", report.message, file=report.path, title=title)
    if isinstance(report, Skipped) and report.refused:
        yield _command("warning", report.reason, file=report.path, title="Not rewritten")
    for entry in entries(report):
        if not entry.launch.ignored and entry.launch.verdict != "static":
            yield _launch(entry)


def _launch(entry: Entry) -> str:
    launch = entry.launch
    level = "warning" if launch.verdict == "dynamic" else "notice"
    return _command(
        level,
        "\n".join([headline(launch), *_outcome(launch)]),
        file=launch.path,
        line=str(launch.line),
        endLine=str(launch.end_line),
        title=_TITLES[status(entry)],
    )


def _outcome(launch: Launch) -> Iterator[str]:
    for plan in launch.plans:
        yield f"{plan.transform} ({plan.safety}): {plan.summary}"
    if launch.refusal is not None:
        yield f"{launch.refusal.code}: {launch.refusal.reason}"
        yield launch.refusal.hint


def _command(level: str, message: str, **properties: str) -> str:
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{level} {listed}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
