"""The errors that dynamic grids raise on GPU backends: there before, gone after the tool ran."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import jax_harness
import numpy as np
import pytest
from tool import run_tool

INTERPRET_ERROR = "Dynamic grid bounds not (yet) supported in GPU interpret mode."
LOWERING_ERROR = (
    "dynamic grid bounds not supported in the Mosaic GPU backend"
    if jax_harness.MOSAIC_GPU_CALLS
    else "dynamic grid bounds not supported in the Triton backend"
)
pytestmark = [pytest.mark.jax, pytest.mark.smoke]

WINDOWS = '''
"""Adds a bias to the live rows, in windows cut by hand: as GPU interpret mode takes them."""

import jax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def add_bias_kernel(x_ref, bias_ref, out_ref):
    rows = pl.ds(pl.program_id(0) * 8, 8)
    out_ref[rows] = x_ref[rows] + bias_ref[...]


@jax.jit
def run(x, bias, num_rows):
    whole = pl.BlockSpec(memory_space=plgpu.GMEM)
    return pl.pallas_call(
        add_bias_kernel,
        grid=(pl.cdiv(num_rows, 8),),
        in_specs=[whole, whole],
        out_specs=whole,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x, bias)
'''
BLOCKS = '''
"""Adds a bias to the live rows, block by block: as a GPU backend lowers it."""

import jax
from jax.experimental import pallas as pl


def add_bias_kernel(x_ref, bias_ref, out_ref):
    out_ref[...] = x_ref[...] + bias_ref[...]


@jax.jit
def run(x, bias, num_rows):
    rows = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return pl.pallas_call(
        add_bias_kernel,
        grid=(pl.cdiv(num_rows, 8),),
        in_specs=[rows, pl.BlockSpec((8, 128), lambda i: (0, 0))],
        out_specs=rows,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x, bias)
'''


def run_of(module: ModuleType) -> Any:
    return module.run


def rewritten(source: str, workspace: Path) -> tuple[Path, Path]:
    """The source as a file, and what `apply` made of a copy of it."""
    before, after = workspace / "before.py", workspace / "after.py"
    before.write_text(source)
    shutil.copy(before, after)
    outcome = run_tool("apply", after.name)
    assert outcome.exit_code == 0, outcome.stderr
    assert after.read_text() != source
    return before, after


def inputs(rows: int, live: int) -> tuple[np.ndarray, np.ndarray, np.int32]:
    x = np.random.RandomState(0).randn(rows, 128).astype(np.float32)
    return x, np.full((8, 128), 0.5, np.float32), np.int32(live)


def test_gpu_interpret_mode_runs_after(workspace: Path) -> None:
    before, after = rewritten(WINDOWS, workspace)
    # GPU interpret mode runs the first step only, so there is only one to compare.
    x, bias, live = inputs(8, 5)
    with pytest.raises(NotImplementedError) as error:
        jax_harness.run(before, run_of, (x, bias, live), jax_harness.GPU)
    assert str(error.value) == INTERPRET_ERROR

    result = jax_harness.run(after, run_of, (x, bias, live), jax_harness.GPU)
    np.testing.assert_array_equal(result, x + bias)
    untouched = jax_harness.run(after, run_of, (x, bias, np.int32(0)), jax_harness.GPU)
    assert not np.array_equal(untouched, x + bias)


@pytest.mark.parametrize("source", [WINDOWS, BLOCKS], ids=["windows", "blocks"])
@pytest.mark.parametrize("live", [0, 1, 11, 24])
def test_values_agree(source: str, live: int, workspace: Path) -> None:
    mode = jax_harness.HLO if source is WINDOWS else jax_harness.TPU
    x, bias, count = inputs(24, live)
    expected = np.full_like(x, np.nan)
    end = -(-live // 8) * 8
    expected[:end] = (x.reshape(3, 8, 128) + bias).reshape(24, 128)[:end]
    for version in rewritten(source, workspace):
        result = jax_harness.run(version, run_of, (x, bias, count), mode)
        assert jax_harness.differences(result, expected) is None


def test_lowering_for_gpu_succeeds_after(workspace: Path) -> None:
    before, after = rewritten(BLOCKS, workspace)
    arguments = inputs(24, 11)
    with pytest.raises(NotImplementedError) as error:
        jax_harness.lower(before, run_of, arguments, "cuda")
    assert str(error.value) == LOWERING_ERROR

    assert "module" in jax_harness.lower(after, run_of, arguments, "cuda")


@pytest.mark.skipif(
    not jax_harness.MOSAIC_GPU_CALLS, reason="this JAX sends no pallas_call to Mosaic GPU"
)
def test_lowering_windows_for_mosaic_gpu_succeeds_after(workspace: Path) -> None:
    before, after = rewritten(WINDOWS, workspace)
    arguments = inputs(24, 11)
    with pytest.raises(NotImplementedError) as error:
        jax_harness.lower(before, run_of, arguments, "cuda")
    assert str(error.value) == LOWERING_ERROR

    assert "module" in jax_harness.lower(after, run_of, arguments, "cuda")
