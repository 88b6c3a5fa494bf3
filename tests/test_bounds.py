"""Labelled launches: bound, kind, evidence lines and assumptions, or the refusal, are exact.

The labels are comments above each function of `fixtures/bounds/*.py`:

    # bound: EXPRESSION            (`bound[1]:` for the second dimension)
    # kind: value | range | user
    # assumes: TEXT                (one line each; none means nothing is assumed)
    # refused: CODE
    # because: PART OF THE REASON

`# given: FUNCTION::EXPRESSION=BOUND` passes a `--bound`. A trailing `# evidence` marks the lines
that the bound rests on, `# evidence: NAME` those outside the function `NAME`; `# here` is the line
of a refusal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest
from pallas_static_grid.analysis import analyse
from pallas_static_grid.analysis.facts import LaunchFacts
from pallas_static_grid.analysis.modules import parse_module
from pallas_static_grid.analysis.project import Project
from pallas_static_grid.model import Bound, UserBound

FIXTURES = Path(__file__).parent.parent / "fixtures" / "bounds"
LABEL = re.compile(r"^# (bound(?:\[(\d+)\])?|kind|assumes|refused|because|given): (.*)$")


@dataclass
class Label:
    """What is expected of the launch of one function."""

    path: Path
    function: str
    line: int
    bounds: dict[int | None, str] = field(default_factory=dict)
    kind: str | None = None
    assumes: list[str] = field(default_factory=list)
    refused: str | None = None
    because: list[str] = field(default_factory=list)
    given: list[str] = field(default_factory=list)
    evidence: set[int] = field(default_factory=set)
    here: set[int] = field(default_factory=set)


def labels_of(path: Path) -> list[Label]:
    lines = path.read_text().splitlines()
    found: list[Label] = []
    pending: list[re.Match[str]] = []
    for number, line in enumerate(lines, 1):
        match = LABEL.match(line)
        if match:
            pending.append(match)
            continue
        start = re.match(r"(?:def|class) (\w+)", line)
        if start and pending:
            found.append(_label(path, start[1], number, pending))
            pending = []
        elif line and not line.startswith(("#", "@", ")", " ")):
            pending = []
    for label in found:
        later = [
            n
            for n, line in enumerate(lines[label.line :], label.line + 1)
            if line and not line[0].isspace() and line[0] not in ")]"
        ]
        end = later[0] if later else len(lines) + 1
        for number, line in enumerate(lines, 1):
            inside = label.line <= number < end
            mark = re.search(r"# evidence(?:: (.*))?$", line)
            if mark and (inside if mark[1] is None else label.function in mark[1].split(", ")):
                label.evidence.add(number)
            mark = re.search(r"# here(?:: (.*))?$", line)
            if mark and (inside if mark[1] is None else label.function in mark[1].split(", ")):
                label.here.add(number)
    return found


def _label(path: Path, function: str, line: int, matches: list[re.Match[str]]) -> Label:
    label = Label(path, function, line)
    for match in matches:
        name, axis, text = match.groups()
        if name.startswith("bound"):
            label.bounds[int(axis) if axis else None] = text
        elif name == "kind":
            label.kind = text
        elif name == "refused":
            label.refused = text
        else:
            {"assumes": label.assumes, "because": label.because, "given": label.given}[name].append(
                text
            )
    return label


@cache
def facts_of(path: Path, given: tuple[UserBound, ...] = ()) -> tuple[LaunchFacts, ...]:
    module = parse_module(path.name, path.read_text(), path.stem, file=path)
    return analyse(module, Project((path.parent,)), given)


def launch_of(label: Label) -> LaunchFacts:
    bounds = []
    for text in label.given:
        function, rest = text.split("::", 1)
        expression, bound = rest.split("=", 1)
        bounds.append(UserBound(label.path.name, function, expression, bound))
    (facts,) = [
        f
        for f in facts_of(label.path, tuple(bounds))
        if f.launch.function.split(".")[0] == label.function and f.launch.grid_kind != "opaque"
    ]
    return facts


ALL = [label for path in sorted(FIXTURES.glob("*.py")) for label in labels_of(path)]
NAMES = [f"{label.path.stem}-{label.function}" for label in ALL]


@pytest.mark.parametrize("label", ALL, ids=NAMES)
def test_label(label: Label) -> None:
    launch = launch_of(label).launch
    assert launch.verdict == "dynamic"
    got = {d.index: d.bound for d in launch.dims if d.verdict == "dynamic"}
    if label.refused is not None:
        assert launch.refusal is not None, got
        assert launch.refusal.code == label.refused
        for part in label.because:
            assert part in launch.refusal.reason
        assert {launch.refusal.line} == (label.here or {launch.line})
        return
    assert launch.refusal is None
    bounds = {k: b for k, b in got.items() if isinstance(b, Bound)}
    if None in label.bounds:
        assert [b.expression for b in bounds.values()] == [label.bounds[None]]
    else:
        assert {k: b.expression for k, b in bounds.items()} == label.bounds
    assert {b.kind for b in bounds.values()} == {label.kind}
    lines = {step.line for b in bounds.values() for step in b.evidence}
    assert lines == label.evidence
    assert all(step.reason and step.text for b in bounds.values() for step in b.evidence)
    if len(bounds) == 1:
        assert [a for b in bounds.values() for a in b.assumes] == label.assumes


def test_there_are_enough_labels() -> None:
    assert len(ALL) >= 80
    assert len([label for label in ALL if label.refused]) >= 30
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.py")), ids=lambda p: p.stem)
def test_every_launch_is_labelled(path: Path) -> None:
    named = {label.function for label in labels_of(path)}
    for facts in facts_of(path):
        if facts.launch.verdict == "dynamic":
            assert facts.launch.function.split(".")[0] in named


def test_the_hint_is_the_option_to_type() -> None:
    (label,) = [label for label in ALL if label.function == "bare_argument"]
    refusal = launch_of(label).launch.refusal
    assert refusal is not None
    option = "--bound 'by_value.py::bare_argument::steps * 2=BOUND'"
    assert refusal.hint == f"give the bound: {option}"
    label.given.append("bare_argument::steps * 2=MAX_STEPS")
    try:
        (dim,) = launch_of(label).launch.dims
    finally:
        label.given.clear()
    assert dim.bound is not None and dim.bound.kind == "user"
