"""Grouped matrix products: row groups of one matrix, each with a matrix of its own."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
from case import Case, Inputs
from group_sizes import GROUPS, SHARDS, SIZES, TILING, K, M

N = 256

RANDOM = np.random.RandomState(0)
ROWS = RANDOM.randint(-3, 4, (M, K)).astype(np.float32)
COLUMNS = RANDOM.randint(-3, 4, (M, N)).astype(np.float32)
WEIGHTS = RANDOM.randint(-3, 4, (GROUPS, K, N)).astype(np.float32)
SCALES = RANDOM.randint(1, 4, (GROUPS, 2, 1, N)).astype(np.float32)
BIASES = RANDOM.randint(-9, 9, (GROUPS, 1, N)).astype(np.float32)
EXISTING = RANDOM.randint(-9, 9, (M, N)).astype(np.float32)
EXISTING_PRODUCTS = RANDOM.randint(-9, 9, (GROUPS, K, N)).astype(np.float32)


def _inputs(*variants: str) -> Inputs:
    """Every variant with every shard and all sizes."""
    for variant in variants:
        for first, count in SHARDS:
            for sizes in SIZES:
                label = f"{variant}, groups {first} to {first + count - 1} of {sizes}"
                yield label, (variant, first, count, sizes)


def _scaled_inputs() -> Inputs:
    """The alias of the existing output counts on exactly one of the scales and the biases."""
    return _inputs("plain", "scaled", "existing, scaled", "existing, biased", "existing")


def _groups(sizes: tuple[int, ...]) -> list[slice]:
    ends = np.cumsum(sizes)
    return [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]


def products(variant: str, first: int, count: int, sizes: tuple[int, ...]) -> Any:
    """Rows of other groups keep what they held, or are zero where the function zeroes them."""
    if "existing" in variant:
        out = EXISTING.copy()
    else:
        out = np.full((M, N), np.nan if count == GROUPS else 0, np.float32)
    weights = WEIGHTS
    if "scaled" in variant:
        halves = WEIGHTS.reshape(GROUPS, 2, K // 2, N) * SCALES
        weights = halves.reshape(GROUPS, K, N)
    for group, rows in enumerate(_groups(sizes)):
        if first <= group < first + count:
            out[rows] = ROWS[rows] @ weights[group]
            if "biased" in variant:
                out[rows] += BIASES[group]
    return out


def outer_products(variant: str, first: int, count: int, sizes: tuple[int, ...]) -> Any:
    """What a group of no rows adds is zero."""
    out = np.stack([ROWS[rows].T @ COLUMNS[rows] for rows in _groups(sizes)])[first : first + count]
    return out + EXISTING_PRODUCTS[:count] if variant == "existing" else out


def _quantized(array: Any, axis: int) -> Any:
    """Whole numbers of eight bits, with one scale for each slice along an axis."""
    import jax.numpy as jnp

    qwix = importlib.import_module("qwix")
    shape = tuple(1 if at == axis else size for at, size in enumerate(array.shape))
    return qwix.QArray(jnp.asarray(array, jnp.int8), jnp.full(shape, 0.5, jnp.float32))


def _gmm(module: ModuleType, name: str = "gmm", **fixed: Any) -> Callable[..., Any]:
    import jax.numpy as jnp

    def run(variant: str, first: int, count: int, sizes: tuple[int, ...]) -> Any:
        rows, weights = jnp.asarray(ROWS), jnp.asarray(WEIGHTS[first : first + count])
        options = dict(fixed)
        if "existing" in variant:
            options["existing_out"] = jnp.asarray(EXISTING)
        if variant == "transposed":
            options["transpose_rhs"] = True
            weights = weights.swapaxes(1, 2)
        if "scaled" in variant:
            options["rhs_scale"] = jnp.asarray(SCALES[first : first + count])
            weights = weights.astype(jnp.int8)
        if "biased" in variant:
            options["rhs_bias"] = jnp.asarray(BIASES[first : first + count])
        if variant == "quantized":
            rows, weights = _quantized(rows, 1), _quantized(weights, 1)
        offset = jnp.int32(first)
        return getattr(module, name)(
            rows, weights, jnp.array(sizes), tiling=TILING, group_offset=offset, **options
        )

    return run


def _tgmm(module: ModuleType, name: str = "tgmm", **fixed: Any) -> Callable[..., Any]:
    import jax.numpy as jnp

    def run(variant: str, first: int, count: int, sizes: tuple[int, ...]) -> Any:
        rows, columns = jnp.asarray(ROWS.T), jnp.asarray(COLUMNS)
        options = dict(fixed, num_actual_groups=count)
        if variant == "existing":
            options["existing_out"] = jnp.asarray(EXISTING_PRODUCTS[:count])
        if variant == "quantized":
            rows, columns = _quantized(rows, 1), _quantized(columns, 0)
        offset = jnp.int32(first)
        return getattr(module, name)(
            rows, columns, jnp.array(sizes), tiling=TILING, group_offset=offset, **options
        )

    return run


def _quarter(function: Callable[..., Any]) -> Callable[..., Any]:
    """The reference of quantized operands: both have the scale a half."""

    def run(variant: str, *arguments: Any) -> Any:
        return function(variant, *arguments) * (0.25 if variant == "quantized" else 1)

    return run


MAXTEXT = "maxtext.kernels.megablox.backend"
EJKERNEL = "ejkernel.kernels._pallas.tpu.grouped_matmul._pallas_impl"
EJKERNEL_2 = "ejkernel.kernels._pallas.tpu.grouped_matmulv2._pallas_impl"
TOKAMAX = "tokamax._src.ops.ragged_dot.pallas_mosaic_tpu_kernel"
SGLANG = "sgl_jax.srt.kernels.gmm.megablox_gmm_kernel.gmm"
TPU_INFERENCE = "tpu_inference.kernels.megablox.gmm"
FLOAT: dict[str, Any] = {"preferred_element_type": np.float32}
TOKAMAX_FIXED: dict[str, Any] = {"precision": None, "out_dtype": np.float32}

CASES = (
    Case(
        "maxtext",
        MAXTEXT,
        "gmm",
        _gmm,
        partial(_inputs, "plain", "existing", "transposed", "quantized"),
        _quarter(products),
        bare=("maxtext.kernels.megablox",),
    ),
    Case(
        "maxtext",
        MAXTEXT,
        "tgmm",
        _tgmm,
        partial(_inputs, "plain", "existing", "quantized"),
        _quarter(outer_products),
        bare=("maxtext.kernels.megablox",),
    ),
    Case(
        "ejkernel",
        EJKERNEL,
        "grouped_matmul",
        partial(_gmm, name="grouped_matmul"),
        partial(_inputs, "plain", "existing", "transposed"),
        products,
        bare=("ejkernel.kernels._pallas.tpu.grouped_matmul",),
    ),
    Case(
        "ejkernel",
        EJKERNEL,
        "transposed_grouped_matmul",
        partial(_tgmm, name="transposed_grouped_matmul"),
        partial(_inputs, "plain", "existing"),
        outer_products,
        bare=("ejkernel.kernels._pallas.tpu.grouped_matmul",),
    ),
    Case(
        "ejkernel",
        EJKERNEL_2,
        "grouped_matmul",
        partial(_gmm, name="grouped_matmul", **FLOAT),
        partial(_inputs, "plain", "transposed"),
        products,
        bare=("ejkernel.kernels._pallas.tpu.grouped_matmulv2",),
    ),
    Case(
        "ejkernel",
        EJKERNEL_2,
        "transposed_grouped_matmul",
        partial(_tgmm, name="transposed_grouped_matmul", **FLOAT),
        partial(_inputs, "plain"),
        outer_products,
        bare=("ejkernel.kernels._pallas.tpu.grouped_matmulv2",),
    ),
    Case(
        "tokamax",
        TOKAMAX,
        "gmm",
        partial(_gmm, **TOKAMAX_FIXED),
        partial(_inputs, "plain", "transposed"),
        products,
        bare=("tokamax._src.ops.ragged_dot",),
    ),
    Case(
        "tokamax",
        TOKAMAX,
        "tgmm",
        partial(_tgmm, **TOKAMAX_FIXED),
        partial(_inputs, "plain"),
        outer_products,
        bare=("tokamax._src.ops.ragged_dot",),
    ),
    Case(
        "sglang_jax/python",
        SGLANG,
        "gmm",
        _gmm,
        _scaled_inputs,
        products,
        bare=("sgl_jax.srt.kernels.gmm.megablox_gmm_kernel",),
    ),
    Case(
        "tpu_inference",
        TPU_INFERENCE,
        "gmm",
        _gmm,
        _scaled_inputs,
        products,
        bare=("tpu_inference.kernels.megablox",),
        stand_ins=("torch", "torchax", "vllm"),
    ),
)
