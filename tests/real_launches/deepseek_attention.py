"""Attention over a compressed cache: softmax sums of a window's attention come in and go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from case import Case, Inputs
from ragged_batches import BATCHES, CHUNK, PAGE, PAGES, TOKENS, Batch

HEADS, HEAD_DIM = 4, 512
QUANTIZED, SCALES, ROTARY = 448, 7, 64
LANES, PACKED = 128, 4
SCALE = 0.05
WINDOW = 6
TOP = 8
SINKS = np.linspace(-1, 1, HEADS).astype(np.float32)


@dataclass(frozen=True)
class Sums:
    """The unfinished softmax of each token: weighted values, weights, largest score."""

    values: np.ndarray
    weights: np.ndarray
    largest: np.ndarray


def _sums(random: np.random.RandomState) -> Sums:
    weights = random.uniform(1, 2, (TOKENS, HEADS)).astype(np.float32)
    largest = random.standard_normal((TOKENS, HEADS)).astype(np.float32)
    values = _halves(random, TOKENS, HEADS, HEAD_DIM)
    return Sums(values, weights, largest)


def _halves(random: np.random.RandomState, *shape: int) -> np.ndarray:
    """Random numbers that bfloat16 holds exactly."""
    return random.randint(-8, 9, shape).astype(np.float32) / 8


def _bytes_of(values: np.ndarray) -> np.ndarray:
    """bfloat16 bytes in rows of lanes: low bytes in the even rows, high bytes in the odd ones."""
    halves = (values.view(np.uint32) >> 16).reshape(*values.shape[:-1], -1, LANES)
    rows = np.stack([halves & 0xFF, halves >> 8], axis=-2).astype(np.uint8)
    return rows.reshape(*values.shape[:-1], -1, PACKED, LANES)


def _added(sums: Sums, row: int, scores: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A token's attention: what the sums hold, the scored keys, and the sinks."""
    largest = np.maximum(sums.largest[row], scores.max(axis=1, initial=-np.inf))
    weights = np.exp(scores - largest[:, None])
    kept = np.exp(sums.largest[row] - largest)
    total = kept * sums.weights[row] + weights.sum(axis=1) + np.exp(SINKS - largest)
    out = kept[:, None] * sums.values[row] + weights @ values
    return np.asarray(out / total[:, None])


def _dense_inputs() -> Inputs:
    random = np.random.RandomState(0)
    queries, sums = _halves(random, TOKENS, HEADS, HEAD_DIM), _sums(random)
    cache = _halves(random, PAGES, PAGE, HEAD_DIM)
    for label, batch in BATCHES.items():
        seen = np.full(TOKENS, 10**6, np.int32)
        for number, rows in batch.queries:
            length, count = batch.kv_lens[number], batch.q_lens[number]
            seen[rows] = length - count + 1 + np.arange(count)
        yield label, (queries, cache, seen, sums, batch)


def dense(queries: Any, cache: Any, seen: Any, sums: Sums, batch: Batch) -> Any:
    """Every token attends to the first keys of its sequence."""
    out = np.full_like(queries, np.nan)
    for number, rows in batch.queries:
        keys = cache[batch.pages[number]].reshape(-1, HEAD_DIM)
        for row in range(rows.start, rows.stop):
            chosen = keys[: seen[row]]
            out[row] = _added(sums, row, queries[row] @ chosen.T * SCALE, chosen)
    return out


def _dense(module: ModuleType) -> Callable[..., Any]:
    import jax.numpy as jnp

    _install()

    def run(queries: Any, cache: Any, seen: Any, sums: Sums, batch: Batch) -> Any:
        kv_lens, pages, offsets, distribution = batch.tables
        packed = _bytes_of(cache).reshape(PAGES, 2 * PAGE, PACKED, LANES)
        return module.mla_ragged_paged_attention(
            queries.astype(jnp.bfloat16), packed, kv_lens, seen, pages, offsets, distribution,
            SINKS, sums.values.astype(jnp.bfloat16), sums.weights, sums.largest, sm_scale=SCALE,
            chunk_prefill_size=CHUNK, num_kv_pages_per_block=2, num_queries_per_block=(1, 4, 1),
        )  # fmt: skip

    return run


def _windowed_inputs() -> Inputs:
    random = np.random.RandomState(0)
    queries, new = _halves(random, TOKENS, HEADS, HEAD_DIM), _halves(random, TOKENS, HEAD_DIM)
    cache = _halves(random, PAGES, PAGE, HEAD_DIM)
    for label, batch in BATCHES.items():
        yield label, (queries, new, cache, batch)


def windowed(queries: Any, new: Any, cache: Any, batch: Batch) -> Any:
    """Every token attends to the keys in its window; new keys go into the cache."""
    cache = cache.copy()
    out = np.full_like(queries, np.nan)
    nothing = Sums(np.zeros_like(out), np.zeros(out.shape[:2]), np.full(out.shape[:2], -np.inf))
    for number, rows in batch.queries:
        pages, length, count = batch.pages[number], batch.kv_lens[number], batch.q_lens[number]
        keys = cache[pages].reshape(-1, HEAD_DIM)
        keys[length - count : length] = new[rows]
        cache[pages] = keys.reshape(cache[pages].shape)
        for row in range(rows.start, rows.stop):
            end = length - rows.stop + row + 1
            chosen = keys[max(end - WINDOW, 0) : end]
            out[row] = _added(nothing, row, queries[row] @ chosen.T * SCALE, chosen)
    return out, _bytes_of(cache).reshape(PAGES, 2 * PAGE, PACKED, LANES)


def _windowed(module: ModuleType) -> Callable[..., Any]:
    import jax.numpy as jnp

    _install()

    def run(queries: Any, new: Any, cache: Any, batch: Batch) -> Any:
        packed = _bytes_of(cache).reshape(PAGES, 2 * PAGE, PACKED, LANES)
        results = module.mla_sliding_window_ragged_paged_attention(
            queries.astype(jnp.bfloat16), new.astype(jnp.bfloat16), packed, *batch.tables, SINKS,
            sm_scale=SCALE, sliding_window=WINDOW, logical_page_size=PAGE,
            chunk_prefill_size=CHUNK, num_kv_pages_per_block=2, num_queries_per_block=(1, 4, 4),
        )  # fmt: skip
        return results[:2]

    return run


def _sparse_inputs() -> Inputs:
    random = np.random.RandomState(0)
    queries, sums = _halves(random, TOKENS, HEADS, HEAD_DIM), _sums(random)
    cache = _halves(random, PAGES, PAGE, HEAD_DIM)
    for label, batch in BATCHES.items():
        chosen = np.full((TOKENS, TOP), -1, np.int32)
        for number, rows in batch.queries:
            for row in range(rows.start, rows.stop):
                among = random.permutation(batch.kv_lens[number])[:TOP]
                chosen[row, : len(among)] = among
        yield label, (queries, cache, chosen, sums, batch)


def sparse(queries: Any, cache: Any, chosen: Any, sums: Sums, batch: Batch) -> Any:
    """Every token attends to the keys chosen for it."""
    out = np.full_like(queries, np.nan)
    for number, rows in batch.queries:
        keys = cache[batch.pages[number]].reshape(-1, HEAD_DIM)
        for row in range(rows.start, rows.stop):
            found = keys[chosen[row][chosen[row] >= 0]]
            out[row] = _added(sums, row, queries[row] @ found.T * SCALE, found)
    return out


def _sparse(module: ModuleType) -> Callable[..., Any]:
    import jax.numpy as jnp

    _install()
    # The gather before the kernel runs on a TPU's sparse cores.
    module.csa_gather = type("_", (), {"csa_gather": staticmethod(_gathered)})  # type: ignore[attr-defined]

    def run(queries: Any, cache: Any, chosen: Any, sums: Sums, batch: Batch) -> Any:
        _, pages, offsets, distribution = batch.tables
        pages = np.where(np.arange(len(pages)) < batch.pages.size, pages, 0).astype(np.int32)
        small = np.zeros((PAGES, PAGE, HEAD_DIM), np.uint8)
        eight = jnp.asarray(cache[..., :QUANTIZED]).astype(jnp.float8_e4m3fn)
        small[..., :QUANTIZED] = np.asarray(eight).view(np.uint8)
        small[..., QUANTIZED : QUANTIZED + SCALES] = 127  # 2 ** 0
        rotary = np.asarray(jnp.asarray(cache[..., QUANTIZED:]).astype(jnp.bfloat16))
        # Rows of high bytes, then of low ones, four tokens together.
        halves = rotary.view(np.uint16)
        split = np.concatenate([halves >> 8, halves & 0xFF], axis=-1).astype(np.uint8)
        return module.sparse_ragged_paged_attention(
            queries, small.reshape(PAGES, PAGE, PACKED, LANES),
            split.reshape(PAGES, PAGE // PACKED, PACKED, LANES), chosen, pages, offsets,
            distribution, SINKS, sums.values, sums.weights, sums.largest, sm_scale=SCALE,
            gather_and_attention_chunk_size=TOKENS // 2, attention_kernel_batch_size=4,
        )  # fmt: skip

    return run


def _gathered(small: Any, rotary: Any, indices: Any) -> Any:
    """The rows of both caches at `indices`; the second one as bfloat16."""
    import jax
    import jax.numpy as jnp

    bits = rotary.reshape(-1, 2, ROTARY).astype(jnp.uint16)
    halves = jax.lax.bitcast_convert_type(bits[:, 0] << 8 | bits[:, 1], jnp.bfloat16)
    return small.reshape(-1, HEAD_DIM)[indices], halves[indices]


def _install() -> None:
    """Give this JAX what the kernels take for granted."""
    import ref_views
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu

    ref_views.install()
    if not hasattr(pltpu, "reciprocal"):
        pltpu.reciprocal = pl.reciprocal  # type: ignore[attr-defined]


PARENT = "tpu_inference.kernels.experimental.deepseek_v4.core_attention"
CASES = tuple(
    Case("tpu_inference", f"{PARENT}.{module}", function, entry, inputs, reference, bare=(PARENT,))
    for module, function, entry, inputs, reference in (
        ("mla", "mla_ragged_paged_attention.run_mla_kernel", _dense, _dense_inputs, dense),
        (
            "mla_swa",
            "mla_sliding_window_ragged_paged_attention.run_mla_kernel",
            _windowed,
            _windowed_inputs,
            windowed,
        ),
        (
            "sparse_mla",
            "sparse_ragged_paged_attention.run_mla_kernel",
            _sparse,
            _sparse_inputs,
            sparse,
        ),
    )
)
