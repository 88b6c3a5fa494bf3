"""From a source to its report: units, chains of rewrites, subsets, what is shared."""

from __future__ import annotations

from pathlib import Path

import kernel_samples as k
import pytest
from pallas_static_grid.model import (
    Changed,
    Clean,
    Edit,
    EditGroup,
    Failed,
    FileReport,
    Options,
    Refusal,
    Span,
)
from pallas_static_grid.patching import apply_patch
from pallas_static_grid.pipeline import examine
from pallas_static_grid.render.unified import to_bytes
from pallas_static_grid.run import project_for
from pallas_static_grid.source import Source, decode
from pallas_static_grid.syntax_errors import syntax_message
from pallas_static_grid.transforms import PlanContext
from pallas_static_grid.transforms.base import Registered
from pallas_static_grid.transforms.planning import plan_launch, usable

SHARED = (
    k.HEAD
    + """

def twice(x):
    steps = jnp.ceil(x.shape[0] / 8).astype(int)
    spec = pl.BlockSpec((8, 128), lambda i: (i, 0))
    y = pl.pallas_call(kernel, grid=(steps,), in_specs=[spec], out_specs=spec, out_shape=x)(x)
    return pl.pallas_call(kernel, grid=(steps,), in_specs=[spec], out_specs=spec, out_shape=x)(y)
"""
)
CALLABLE = (
    k.HEAD
    + """

def meta(x):
    grid = lambda meta: (jnp.ceil(x.shape[0] / meta["B"]).astype(int),)
    B = 8
    spec = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return pl.pallas_call(kernel, grid=grid, in_specs=[spec], out_specs=spec, out_shape=x)(x)
"""
)


def examined(
    text: str, chosen: tuple[int, ...] | None = None, options: Options | None = None
) -> FileReport:
    source = decode("f.py", text.encode())
    assert isinstance(source, Source)
    return examine(source, options or Options(), project_for((), Path.cwd()), chosen)


def changed(text: str, chosen: tuple[int, ...] | None = None) -> Changed:
    report = examined(text, chosen)
    assert isinstance(report, Changed), report
    return report


def test_rewrites_form_a_chain_from_before_to_after() -> None:
    text = k.module(k.review("one"), k.refused(), k.safe("two"), k.review("three"))
    report = changed(text)
    assert [rewrite.ordinal for rewrite in report.rewrites] == [0, 2, 3]
    current = report.before
    for rewrite in report.rewrites:
        assert rewrite.before.encode() == current
        current = apply_patch(current, to_bytes(rewrite.patch))
        assert rewrite.after.encode() == current
        compile(current, "f.py", "exec")
    assert current == report.after


def test_the_patches_of_the_plans_are_the_patch_of_the_rewrite() -> None:
    report = changed(CALLABLE)
    (rewrite,) = report.rewrites
    assert [plan.transform for plan in rewrite.plans] == [
        "inline_grid_callable",
        "static_shape_arithmetic",
    ]
    current = report.before
    for plan in rewrite.plans:
        current = apply_patch(current, to_bytes(plan.patch or ""))
        compile(current, "f.py", "exec")
    assert current == report.after
    (launch,) = report.launches
    assert launch.dims == (), "a callable grid has no dimensions"
    assert rewrite.launch.dims[0].bound is not None, "but what it returns has, for the reader"


@pytest.mark.parametrize("chosen", [(), (0,), (2,), (0, 3), (2, 3), (0, 2, 3)])
def test_a_subset_is_a_chain_with_fewer_launches(chosen: tuple[int, ...]) -> None:
    text = k.module(k.review("one"), k.static("mid"), k.safe("two"), k.review("three"))
    report = examined(text, chosen)
    assert not isinstance(report, Failed)
    got = [rewrite.ordinal for rewrite in report.rewrites] if isinstance(report, Changed) else []
    assert got == list(chosen)
    assert isinstance(report, Clean | Changed)
    codes = [launch.refusal.code if launch.refusal else None for launch in report.launches]
    assert codes == [
        "declined" if ordinal in {0, 2, 3} - set(chosen) else None for ordinal in range(4)
    ]


def test_launches_that_share_a_grid_change_together() -> None:
    report = changed(SHARED)
    (rewrite,) = report.rewrites
    first, second = report.launches
    assert rewrite.launch.line == first.line
    assert f"the launch on line {second.line} becomes static with this edit" in rewrite.notes
    assert [plan.transform for plan in second.plans] == ["static_shape_arithmetic"]
    assert f"together with the launch on line {first.line}" in second.plans[0].summary
    assert second.refusal is None
    only_second = changed(SHARED, (1,))
    assert only_second.after == report.after
    assert [bool(launch.plans) for launch in only_second.launches] == [True, True]


def test_a_launch_under_a_pragma_is_not_changed_through_another_one() -> None:
    lines = SHARED.splitlines()
    lines[-1] += "  # pallas-static-grid: ignore"
    report = examined("\n".join(lines) + "\n")
    assert isinstance(report, Clean)
    first, second = report.launches
    assert second.ignored
    assert first.refusal is not None
    assert first.refusal.code == "shared-definition"
    assert first.refusal.line == second.line


def test_refusals_point_into_the_original_file() -> None:
    text = k.module(k.review("one"), k.refused())
    report = changed(text)
    refused = report.launches[1]
    assert refused.refusal is not None
    assert refused.refusal.line == k.line_of(text, "endless")


def test_a_rewrite_that_cannot_be_encoded_is_thrown_away(monkeypatch: pytest.MonkeyPatch) -> None:
    report = attempt_with(monkeypatch, "ö", "# coding: ascii\n" + k.module(k.review()))
    assert "cannot be written as ascii" in report


@pytest.mark.parametrize(
    ("replacement", "message"),
    [
        ("(", "does not parse"),
        ("16 if True else", "does not parse"),
        ("{} + 0", "still dynamic after 8 transforms"),
        ("{}", "changed nothing"),
        ("mystery(x)", "grid[0] is no longer known to be static or dynamic"),
        ("16 + 0 * len([lambda a, a: a])", "does not compile: duplicate argument"),
    ],
)
def test_a_rewrite_that_does_not_hold_is_thrown_away_and_told(
    monkeypatch: pytest.MonkeyPatch, replacement: str, message: str
) -> None:
    assert message in attempt_with(monkeypatch, replacement, k.module(k.review()))


def test_a_transform_that_crashes_costs_one_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(facts: object, context: PlanContext) -> None:
        raise KeyError("boom")

    warning = attempt(monkeypatch, k.module(k.review()), Registered("pad_and_mask", crash))
    assert "KeyError: 'boom' (test_pipeline.py:" in warning


def attempt_with(monkeypatch: pytest.MonkeyPatch, replacement: str, text: str) -> str:
    """What is told of a faulty transform that puts `replacement` where the dimension stands."""

    def plan(facts: object, context: PlanContext) -> EditGroup:
        module = facts.module.text  # type: ignore[attr-defined]  # the real facts
        start = module.index("grid=(") + len("grid=(")
        end = module.index(",),", start)
        new = replacement.format(module[start:end])
        return EditGroup("pad_and_mask", "safe", "faulty", (Edit(Span(start, end), new),))

    return attempt(monkeypatch, text, Registered("pad_and_mask", plan))


def attempt(monkeypatch: pytest.MonkeyPatch, text: str, transform: Registered) -> str:
    monkeypatch.setattr("pallas_static_grid.attempts.TRANSFORMS", (transform,))
    report = examined(text)
    assert isinstance(report, Clean), "nothing is changed"
    (launch,) = report.launches
    assert launch.refusal is not None
    assert launch.refusal.code == "check-failed"
    (warning,) = report.warnings
    assert warning.startswith(f"line {launch.line}: a rewrite was thrown away: ")
    return warning


def refusal(code: str) -> Refusal:
    return Refusal(code, code, "f.py", 1, "")


@pytest.mark.parametrize(
    ("codes", "chosen"),
    [
        (("no-bound", "inexact-arithmetic"), "inexact-arithmetic"),
        (("not-supported", "no-bound"), "no-bound"),
        (("float-grid", "aliased-output"), "float-grid"),
        ((None, "no-bound"), "no-bound"),
        ((None, None), None),
    ],
)
def test_the_most_specific_refusal_is_given(
    codes: tuple[str | None, ...], chosen: str | None
) -> None:
    def planner(code: str | None) -> Registered:
        return Registered(str(code), lambda facts, context: code and refusal(code))

    decision = plan_launch(None, PlanContext(), [planner(code) for code in codes])  # type: ignore[arg-type]  # the planners look at nothing
    assert decision.group is None
    assert (decision.refusal.code if decision.refusal else None) == chosen


def test_an_edit_beats_refusals_above_and_below_it() -> None:
    group = EditGroup("b", "safe", "", ())
    transforms = [
        Registered("a", lambda facts, context: refusal("no-bound")),
        Registered("b", lambda facts, context: group),
        Registered("c", lambda facts, context: refusal("float-grid")),
    ]
    assert plan_launch(None, PlanContext(), transforms).group is group  # type: ignore[arg-type]  # the planners look at nothing


def test_select_and_ignore_decide_what_is_used() -> None:
    names = ("pad_and_mask", "cover_tail", "grid_guard", "inline_grid_callable")
    transforms = [Registered(name, lambda facts, context: None) for name in names]

    def used(**options: tuple[str, ...]) -> list[str]:
        return [transform.name for transform in usable(transforms, Options(**options))]  # type: ignore[arg-type]  # names of transforms only

    assert used() == ["pad_and_mask", "inline_grid_callable"]
    assert used(select=("cover_tail", "pad_and_mask")) == ["pad_and_mask", "cover_tail"]
    assert used(ignore=("pad_and_mask",)) == ["inline_grid_callable"]
    assert used(select=("cover_tail",), ignore=("cover_tail",)) == []


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("def f[T](x): pass\n", "3.12"),
        ("type X = int\n", "3.12"),
        ("try: pass\nexcept A, B: pass\n", "3.14"),
        ("def (:\n", None),
        ("x = = 1\n", None),
    ],
)
def test_syntax_that_needs_a_newer_python_is_named(text: str, needed: str | None) -> None:
    error = SyntaxError("invalid syntax", ("f.py", text.count("\n"), 1, ""))
    message = syntax_message(error, text, running=(3, 11))
    assert message.startswith(f"line {text.count(chr(10))}: invalid syntax")
    assert ("looks like syntax of" in message) == (needed is not None)
    if needed is not None:
        assert f"Python {needed};" in message
    assert "looks like" not in syntax_message(error, text, running=(3, 99))


def test_launches_are_reported_as_they_are_in_the_file() -> None:
    report = changed(k.module(k.review("one"), k.review("two")))
    lines = [k.line_of(report.before.decode(), name) for name in ("one", "two")]
    assert [launch.line for launch in report.launches] == lines
    assert [launch.verdict for launch in report.launches] == ["dynamic", "dynamic"]
