"""The labels of `fixtures/launches`: measured under JAX, and compared with what the tool says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from pallas_static_grid import analysis
from pallas_static_grid.analysis.modules import parse_module
from pallas_static_grid.analysis.project import Project
from pallas_static_grid.model import Api, GridKind, Launch
from truth_labels import FIXTURES, Label, labels, modules, runs
from truth_recorder import Record, load, recording, vocabulary

RUNNABLE = [path for path in modules() if runs(path)]


def measure(path: Path) -> tuple[Record, ...]:
    """Import a module and evaluate its `Run:` expressions with the launches recorded."""
    with recording(FIXTURES) as recorder:
        module = load(path, FIXTURES)
        names = vocabulary(module)
        for expression in runs(path):
            eval(compile(expression, f"<run of {path.name}>", "eval"), names)
    return tuple(recorder.records)


def of(label: Label, records: tuple[Record, ...]) -> list[Record]:
    """The records of a labelled launch."""
    api = {"wrapper": "", "subscript": ""}.get(label.api, label.api)
    first, last = label.span
    return [
        record
        for record in records
        if record.api == api or (not api and record.api != "GridSpec")
        if any(file == str(label.path) and first <= line <= last for file, line in record.places)
    ]


def contradiction(label: Label, records: list[Record]) -> str | None:
    """How what was recorded contradicts a label, or None."""
    if label.unmeasured:
        return None
    if not records:
        return "no run reached it"
    if label.kind in ("none", "callable"):
        return next((f"was {r.kind}" for r in records if r.kind != label.kind), None)
    if label.kind == "opaque":
        seen = [entry for record in records for entry in record.dims]
        return _against(label.verdict, seen, records) if label.verdict != "unknown" else None
    for index, verdict in enumerate(label.dims):
        if any(len(record.dims) != len(label.dims) for record in records):
            return f"has {len(label.dims)} labels, was {[len(r.dims) for r in records]}"
        found = _against(verdict, [record.dims[index] for record in records], records)
        if found:
            return f"dim {index}: {found}"
    return None


def _against(verdict: str, seen: list[bool], records: list[Record]) -> str | None:
    if verdict == "static" and not all(seen):
        return f"static, but was no int in {seen.count(False)} of {len(seen)} runs"
    if verdict == "dynamic" and all(seen):
        return f"dynamic, but was an int in all {len(seen)} runs"
    if verdict == "unknown" and (all(seen) or not any(seen)):
        return f"unknown, but was {'always' if all(seen) else 'never'} an int in {len(seen)} runs"
    return None


@pytest.mark.jax
@pytest.mark.parametrize("path", RUNNABLE, ids=lambda p: p.relative_to(FIXTURES).as_posix())
def test_labels_agree_with_recordings(path: Path) -> None:
    records = measure(path)
    found = {label: contradiction(label, of(label, records)) for label in labels(path)}
    assert not {label.name: text for label, text in found.items() if text}
    flipped = {
        label.name: contradiction(flip(label), of(label, records))
        for label in found
        if not label.unmeasured and (label.kind != "tuple" or set(label.dims) - {"unknown"})
        if (label.kind, label.verdict) != ("opaque", "unknown")
    }
    assert all(flipped.values()), f"a wrong label would pass: {flipped}"


def flip(label: Label) -> Label:
    """The label with the opposite kind, verdict and dimensions."""
    other = {"static": "dynamic", "dynamic": "static", "none": "callable", "callable": "none"}
    dims = tuple(other.get(dim, dim) for dim in label.dims)
    verdict = other.get(label.verdict, label.verdict)
    return replace(label, dims=dims, verdict=verdict, kind=other.get(label.kind, label.kind))


@pytest.fixture(scope="module")
def project() -> Project:
    """All modules in sight of each other."""
    return Project((FIXTURES,))


def judged(path: Path, project: Project) -> dict[tuple[int, int], Launch]:
    """The launches that the tool finds in a module, by line and column."""
    name = project.module_name(path)
    module = parse_module(str(path), path.read_text(encoding="utf-8"), name, file=path)
    launches = [facts.launch for facts in analysis.analyse(module, project)]
    return {(launch.line, launch.column): launch for launch in launches}


def described(launch: Launch) -> tuple[object, ...]:
    """What a label says of a launch."""
    dims = tuple(dim.verdict for dim in launch.dims)
    return launch.line, launch.api, launch.function, launch.grid_kind, dims, launch.verdict


@pytest.mark.parametrize("path", modules(), ids=lambda p: p.relative_to(FIXTURES).as_posix())
def test_verdicts_agree_with_labels(path: Path, project: Project) -> None:
    found = judged(path, project)
    wanted = [(x.line, x.api, x.function, x.kind, x.dims, x.verdict) for x in labels(path)]
    assert sorted(described(launch) for launch in found.values()) == sorted(wanted)
    for launch in found.values():
        for dim in launch.dims:
            if dim.verdict != "static":
                assert dim.why and dim.why[-1].reason, "a verdict without a reason"


@pytest.mark.jax
@pytest.mark.smoke
@pytest.mark.parametrize("path", RUNNABLE[::5], ids=lambda p: p.relative_to(FIXTURES).as_posix())
def test_verdicts_agree_with_recordings(path: Path, project: Project) -> None:
    records = measure(path)
    found = judged(path, project)
    for label in labels(path):
        launch = next(x for x in found.values() if x.line == label.line)
        dims = tuple(dim.verdict for dim in launch.dims)
        as_label = replace(label, kind=launch.grid_kind, dims=dims, verdict=launch.verdict)
        assert not contradiction(as_label, of(label, records)), label.name


def test_labels_cover_the_forms() -> None:
    every = [label for path in modules() for label in labels(path)]
    assert len(modules()) >= 60
    assert {label.api for label in every} == set(get_args(Api))
    assert {label.kind for label in every} == set(get_args(GridKind))
