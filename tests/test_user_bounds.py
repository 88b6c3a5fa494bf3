"""A bound given by the user that is too small shows in the result: no work is lost silently."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import jax_harness
import numpy as np
import pytest
from tool import run_tool

FIXTURE = Path(__file__).resolve().parent.parent / "fixtures" / "pad_and_mask" / "user_bound"
BOUND = 4
pytestmark = pytest.mark.jax


@pytest.fixture
def bounded(workspace: Path) -> Path:
    """The fixture's file, rewritten with the user's bound."""
    file = workspace / "before.py"
    shutil.copy(FIXTURE / "before.py", file)
    outcome = run_tool("apply", f"--bound=before.py::iterate::steps={BOUND}", file.name)
    assert outcome.exit_code == 0, outcome.stderr
    return file


def inputs(steps: int) -> tuple[np.ndarray, np.ndarray, np.int32]:
    return np.eye(128, dtype=np.float32), np.ones((8, 128), np.float32), np.int32(steps)


def traced(module: Any) -> Any:
    return module.iterate


def eager(module: Any) -> Any:
    return module.iterate.__wrapped__


@pytest.mark.parametrize("entry", [traced, eager])
def test_within_the_bound_nothing_changes(bounded: Path, entry: Any) -> None:
    result = jax_harness.run(bounded, entry, inputs(BOUND), jax_harness.TPU)
    np.testing.assert_array_equal(result, np.full((8, 128), 0.5**BOUND))


def test_beyond_the_bound_a_trace_gives_nan(bounded: Path) -> None:
    result = jax_harness.run(bounded, traced, inputs(BOUND + 1), jax_harness.TPU)
    assert np.isnan(result).all()


def test_beyond_the_bound_a_concrete_count_raises(bounded: Path) -> None:
    with pytest.raises(ValueError, match=f"more than {BOUND} steps"):
        jax_harness.run(bounded, eager, inputs(BOUND + 1), jax_harness.TPU)


def test_the_patch_says_whose_bound_it_is(workspace: Path) -> None:
    shutil.copy(FIXTURE / "before.py", workspace)
    outcome = run_tool("diff", f"--bound=before.py::iterate::steps={BOUND}", "before.py")
    assert outcome.exit_code == 1
    assert "user" in outcome.stdout.split("--- ")[0]
