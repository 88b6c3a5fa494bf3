"""No verdict is ever contradicted by a trace, whatever the program around the launch.

`python tests/benchmarks/generated_programs.py` runs many more, and prints the yield per feature.
"""

from __future__ import annotations

import pytest
from generate_programs import Generator, Program, from_seed
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from truth_programs import judge

UNKNOWN_AT_MOST = 0.10


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """A program whose every choice is Hypothesis's, so that a failing one shrinks."""
    return Generator(lambda below: draw(st.integers(0, below - 1))).build()


@pytest.mark.jax
@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(programs())
def test_no_verdict_is_contradicted_by_a_trace(program: Program) -> None:
    _, findings = judge(program)
    assert not findings, f"{[str(f) for f in findings]}\n{program.source}"


@pytest.mark.jax
@pytest.mark.smoke
def test_seeded_programs_are_judged_rightly_and_mostly_known() -> None:
    dims = []
    for seed in range(80):
        program = from_seed(seed)
        launch, findings = judge(program)
        assert not findings, f"seed {seed}: {[str(f) for f in findings]}\n{program.source}"
        dims += [dim.verdict for dim in launch.dims]
    assert dims.count("unknown") <= UNKNOWN_AT_MOST * len(dims)
    assert min(dims.count("static"), dims.count("dynamic")) > 0.25 * len(dims)
