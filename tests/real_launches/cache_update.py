"""Updates of a KV cache: slices of new rows are copied to where a table says."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
from case import Case, Inputs

PAGE, PAGES, HEADS, HEAD_DIM = 4, 6, 2, 128
TOKENS = 16
SLOTS, PER_BLOCK = 6, 2
COUNTS = (0, 1, 2, 3, 5, 6)


def _inputs(*, block: int = PER_BLOCK) -> Inputs:
    """The table holds garbage from the first block of it on in which no slice is live."""
    random = np.random.RandomState(0)
    new = random.standard_normal((TOKENS, HEADS, HEAD_DIM)).astype(np.float32)
    cache = random.standard_normal((PAGES * PAGE, HEADS, HEAD_DIM)).astype(np.float32)
    lengths = np.array([4, 1, 3, 2, 4, 2])
    starts = np.cumsum(lengths) - lengths
    pages = np.array([3, 0, 5, 1, 4, 2])
    for count in COUNTS:
        slices = np.stack([pages * PAGE, starts, lengths]).astype(np.int32)
        slices[:, count:] = 0
        slices[:, -(-count // block) * block :] = 10**6
        yield f"{count} of {SLOTS} slices", (new, slices, cache, np.array([count], np.int32))


def _paged() -> Inputs:
    """As `_inputs`, in five dimensions: pages, and heads split by their packing."""
    for label, (new, slices, cache, count) in _inputs():
        split = (HEADS // 2, 2, HEAD_DIM)
        yield (
            label,
            (
                new.reshape(TOKENS, 1, *split),
                slices,
                cache.reshape(PAGES, PAGE, *split),
                count,
            ),
        )


def updated(new: Any, slices: Any, cache: Any, count: Any) -> Any:
    """The cache after the copies."""
    rows = cache.reshape(PAGES * PAGE, -1).copy()
    for to, start, length in slices.T[: count[0]]:
        rows[to : to + length] = new.reshape(TOKENS, -1)[start : start + length]
    return rows.reshape(cache.shape)


def _within_mesh(module: ModuleType) -> Callable[..., Any]:
    import jax

    axis = jax.sharding.AxisType.Auto

    def run(*arguments: Any) -> Any:
        with jax.set_mesh(jax.make_mesh((1,), ("tensor",), axis_types=(axis,))):
            return module.kv_cache_update(
                *arguments, page_size=PAGE, num_slices_per_block=PER_BLOCK
            )

    return run


def _update(module: ModuleType) -> Callable[..., Any]:
    return partial(module.kv_cache_update, page_size=PAGE, num_slices_per_block=PER_BLOCK)


def _impl(module: ModuleType) -> Callable[..., Any]:
    import jax

    impl = partial(module.kv_cache_update_impl, page_size=PAGE, num_slices_per_block=PER_BLOCK)
    return jax.jit(impl)


SGLANG = "sgl_jax.srt.kernels.update_kv_cache.update_kv_cache"
CASES = (
    Case(
        "sglang_jax/python",
        SGLANG,
        "kv_cache_update_impl",
        _impl,
        _paged,
        updated,
        bare=("sgl_jax.srt.kernels.update_kv_cache",),
        stand_ins=("fastapi", "psutil", "zmq"),
        modes=("tpu", "tpu_eager"),
    ),
    Case(
        "sglang_jax/python",
        SGLANG,
        "kv_cache_update._kv_cache_update_wrapper",
        _within_mesh,
        _inputs,
        updated,
        bare=("sgl_jax.srt.kernels.update_kv_cache",),
        stand_ins=("fastapi", "psutil", "zmq"),
        modes=("tpu", "tpu_eager"),
    ),
    Case(
        "tpu_inference",
        "tpu_inference.kernels.ragged_paged_attention.v2.ragged_kv_cache_update",
        "_kv_cache_update",
        _update,
        partial(_inputs, block=1),
        updated,
        bare=("tpu_inference.kernels.ragged_paged_attention.v2",),
        stand_ins=("torch", "torchax", "vllm"),
        modes=("tpu", "tpu_eager"),
    ),
)
