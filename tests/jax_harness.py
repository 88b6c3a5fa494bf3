"""Runs the kernels of a source file under JAX's interpreters, or lowers them, as the file stands.

Only tests import this: it brings JAX in. A run imports the file afresh, so that nothing traced
under one interpreter is seen by the next one.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import numpy as np
from jax._src.pallas.mosaic import tpu_info
from jax._src.pallas.mosaic.interpret import interpret_pallas_call as tpu_interpreter
from jax._src.pallas.mosaic_gpu.interpret import gpu_callbacks as gpu_interpreter
from jax._src.pallas.mosaic_gpu.interpret.params import InterpretGPUParams
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.sharding import AbstractDevice, AbstractMesh, AxisType, use_abstract_mesh

JAX_VERSION = tuple(int(part) for part in jax.__version__.split(".")[:3])
MOSAIC_GPU_CALLS = JAX_VERSION < (0, 11, 2)
"""Whether `pallas_call` goes to Mosaic GPU when nothing else is asked for, or to Triton."""

SEEDS = range(8)
"""A racy kernel passes with some seeds: it takes several to say that there is no race."""

_DEVICES = {"tpu": ("TPU v5 lite", 1), "cuda": ("NVIDIA H100 80GB HBM3", 132)}
_serial = itertools.count()

# A pipeline inside a kernel asks what the tiles of the device are.
tpu_info.registry["cpu"] = lambda: pltpu.get_tpu_info_for_chip(pltpu.ChipVersion.TPU_V5E, 1)


@dataclasses.dataclass(frozen=True)
class Mode:
    """One way to run a launch on the CPU."""

    name: str
    params: Any
    sequential: bool = False
    """Read `parallel` as `arbitrary`: the TPU interpreter refuses a parallel dynamic axis."""
    watch_races: bool = False


HLO = Mode("hlo", True)
TPU = Mode("tpu", pltpu.InterpretParams(uninitialized_memory="nan"))
TPU_EAGER = Mode("tpu_eager", dataclasses.replace(TPU.params, dma_execution_mode="eager"))
TPU_SEQUENTIAL = dataclasses.replace(TPU, name="tpu_sequential", sequential=True)
GPU = Mode("gpu", InterpretGPUParams())


def two_cores(seed: int, *, watch_races: bool = True) -> Mode:
    """Two TPU cores that share the parallel axes, in an order drawn from `seed`."""
    params = dataclasses.replace(
        TPU.params, num_cores_or_threads=2, random_seed=seed, detect_races=watch_races
    )
    return Mode(f"tpu_two_cores_seed_{seed}", params, watch_races=watch_races)


@contextlib.contextmanager
def interpreted(mode: Mode) -> Iterator[None]:
    """Everything traced inside runs in `mode`, whatever its source says about `interpret`."""
    jax.clear_caches()
    launch = pl.pallas_call
    if mode.sequential:
        pl.pallas_call = _without_parallel_axes(launch)
    try:
        with pltpu.force_tpu_interpret_mode(mode.params):
            yield
    finally:
        pl.pallas_call = launch
        reset()


def reset() -> None:
    """Forget what a run left behind; after a failure the interpreters keep their memory."""
    pltpu.reset_tpu_interpret_mode_state()
    gpu_interpreter.reset_gpu_interpret_mode_state()
    jax.clear_caches()


def _without_parallel_axes(launch: Callable[..., Any]) -> Callable[..., Any]:
    def sequential_pallas_call(*args: Any, **kwargs: Any) -> Any:
        params = kwargs.get("compiler_params")
        if getattr(params, "dimension_semantics", None) is not None:
            kwargs["compiler_params"] = dataclasses.replace(params, dimension_semantics=None)
        return launch(*args, **kwargs)

    return sequential_pallas_call


def load(path: Path) -> ModuleType:
    """Import a file afresh; its neighbours in the same folder are importable by name."""
    neighbours = {neighbour.stem for neighbour in path.parent.glob("*.py")}
    name = f"_{path.stem}_{next(_serial)}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"not a Python file: {path}")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
        for neighbour in neighbours | {name}:
            sys.modules.pop(neighbour, None)
    return module


def run_all(
    path: Path,
    entry: Callable[[ModuleType], Callable[..., Any]],
    inputs: Iterable[Sequence[Any]],
    mode: Mode,
) -> list[Any]:
    """What `entry(module)(*args)` returns under `mode` for each input, as NumPy arrays."""
    with interpreted(mode):
        function = entry(load(path))
        results = []
        for args in inputs:
            result = jax.tree.map(np.asarray, jax.block_until_ready(function(*args)))
            races = tpu_interpreter.races
            if mode.watch_races and races is not None and races.races_found:
                raise RuntimeError(f"the race detector found a race in {path.name}, {mode.name}")
            results.append(result)
        return results


def run(
    path: Path, entry: Callable[[ModuleType], Callable[..., Any]], args: Sequence[Any], mode: Mode
) -> Any:
    """What `entry(module)(*args)` returns under `mode`."""
    return run_all(path, entry, [args], mode)[0]


def lower(
    path: Path,
    entry: Callable[[ModuleType], Callable[..., Any]],
    args: Sequence[Any],
    platform: str,
) -> str:
    """The module that `entry(module)(*args)` lowers to for `platform`: `tpu` or `cuda`."""
    reset()
    with _as_on(platform):
        function = jax.jit(entry(load(path)))
        return function.trace(*args).lower(lowering_platforms=(platform,)).as_text()


def _as_on(platform: str) -> contextlib.AbstractContextManager[Any]:
    kind, cores = _DEVICES[platform]
    device = AbstractDevice(device_kind=kind, num_cores=cores, platform=platform)
    return use_abstract_mesh(
        AbstractMesh((1,), ("x",), axis_types=(AxisType.Auto,), abstract_device=device)
    )


def differences(result: Any, expected: Any) -> str | None:
    """Where `result` is not what is expected, or None; what is undefined is not compared.

    Undefined are NaNs of an expected floating array and the masked entries of a masked one.
    """
    got, want = jax.tree.leaves(result), jax.tree.leaves(expected, is_leaf=_is_array)
    if len(got) != len(want):
        return f"{len(got)} results, expected {len(want)}"
    for index, (actual, wanted) in enumerate(zip(got, want, strict=True)):
        if actual.shape != wanted.shape:
            return f"result {index} has the shape {actual.shape}, expected {wanted.shape}"
        defined = ~np.ma.getmaskarray(wanted)
        values = np.ma.getdata(wanted)
        if np.issubdtype(values.dtype, np.floating):
            defined &= ~np.isnan(values)
        wrong = defined & ~np.isclose(actual, values, rtol=1e-5, atol=1e-5)
        if wrong.any():
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            return (
                f"result {index} differs in {wrong.sum()} of {defined.sum()} defined entries, "
                f"first at {at}: {actual[at]}, expected {values[at]}"
            )
    return None


def _is_array(value: object) -> bool:
    return isinstance(value, np.ndarray)
