"""No launch that is accepted as it stands has more steps than its bound: a sample."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax")
SPEC = importlib.util.spec_from_file_location(
    "bounds_programs", Path(__file__).parent / "bounds_programs.py"
)
assert SPEC is not None and SPEC.loader is not None
programs = importlib.util.module_from_spec(SPEC)
sys.modules["bounds_programs"] = programs
SPEC.loader.exec_module(programs)


@pytest.mark.jax
def test_no_accepted_run_exceeds_its_bound() -> None:
    result = programs.Result()
    for seed in range(1000, 1012):
        programs.check(seed, result)
    assert result.contradictions == []
    assert result.bounded >= 5
    assert result.tight >= 2


def test_generated_programs_are_judged_without_jax() -> None:
    answers = [programs.bound_of(programs.program(seed).text) for seed in range(120)]
    bounded = [expression for expression, _ in answers if expression is not None]
    assert len(bounded) >= 50
    assert all("None" not in expression for expression in bounded)
