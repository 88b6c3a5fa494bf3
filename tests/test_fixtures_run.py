"""Fixtures with a `case.py`: before and after compute what NumPy computes."""

from __future__ import annotations

from typing import Any

import fixture_cases
import pytest
from fixture_cases import Case

pytestmark = pytest.mark.jax

# What an original raises that cannot run: its backend's refusal, or a grid of the wrong kind.
_ERRORS = (NotImplementedError, TypeError, IndexError, ValueError)
CASES = fixture_cases.collected()
REWRITTEN = [case for case in CASES if case.after.exists()]


def sampled(cases: list[Case]) -> set[str]:
    """The names of the cases that run on every JAX version: one of each transform, or marked."""
    first: dict[str, str] = {}
    for case in cases:
        first.setdefault(case.folder.parent.name, case.name)
    marked = {case.name for case in cases if case.get("SMOKE", False)}
    return marked | set(first.values())


SAMPLE = sampled(REWRITTEN)


def parameters(cases: list[Case]) -> list[Any]:
    return [
        pytest.param(case, id=case.name, marks=[pytest.mark.smoke] if case.name in SAMPLE else [])
        for case in cases
    ]


@pytest.mark.parametrize("case", parameters(CASES))
def test_original_computes_what_numpy_computes(case: Case) -> None:
    raises = case.get("BEFORE_RAISES", None)
    for mode in case.modes(original=True):
        if raises is None:
            case.check(case.before, mode)
        else:
            with pytest.raises(_ERRORS, match=raises):
                case.check(case.before, mode)


@pytest.mark.parametrize("case", parameters(REWRITTEN))
def test_rewritten_computes_what_numpy_computes(case: Case) -> None:
    for mode in case.modes():
        case.check(case.after, mode)


@pytest.mark.parametrize("case", parameters([case for case in REWRITTEN if case.parallel]))
def test_rewritten_agrees_on_two_cores(case: Case) -> None:
    for mode, inputs in case.two_cores():
        case.check(case.after, mode, inputs)


@pytest.mark.parametrize("case", parameters([c for c in REWRITTEN if c.get("overflows", None)]))
def test_work_beyond_the_users_bound_shows(case: Case) -> None:
    case.check_overflows(case.after)


@pytest.mark.parametrize("case", parameters([case for case in REWRITTEN if case.masked]))
def test_dead_steps_do_nothing(case: Case) -> None:
    case.check_dead_steps(case.after, sample=True)


@pytest.mark.parametrize("case", parameters([c for c in REWRITTEN if c.get("LOWERS", ())]))
def test_rewritten_lowers(case: Case) -> None:
    for platform in case.get("LOWERS", ()):
        case.check_lowering(case.after, platform)
