"""Ragged paged attention for heads of 64: keys and values are interleaved in the cache's pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
from case import Case, Inputs
from ragged_batches import BATCHES, CHUNK, PAGE, PAGES, TOKENS, Batch, attended

QUERY_HEADS, HEADS, HEAD_DIM = 4, 2, 64
GROUP = QUERY_HEADS // HEADS
SCALE = 0.125


@dataclass(frozen=True)
class Form:
    """Which attention."""

    name: str
    window: int | None = None
    sink: bool = False

    @property
    def sinks(self) -> np.ndarray | None:
        """The sink of each query head."""
        return np.linspace(-1, 1, QUERY_HEADS).astype(np.float32) if self.sink else None


FORMS = (Form("plain"), Form("within a window", window=6), Form("with sinks", sink=True))


def _inputs() -> Inputs:
    random = np.random.RandomState(0)
    queries = random.standard_normal((TOKENS, QUERY_HEADS, HEAD_DIM)).astype(np.float32)
    keys, values = random.standard_normal((2, TOKENS, HEADS, HEAD_DIM)).astype(np.float32)
    cache = random.standard_normal((PAGES, PAGE, HEADS, 1, 2 * HEAD_DIM)).astype(np.float32)
    for form in FORMS:
        for label, batch in BATCHES.items():
            yield f"{label}, {form.name}", (queries, keys, values, cache, batch, form)


def expected(queries: Any, keys: Any, values: Any, cache: Any, batch: Batch, form: Form) -> Any:
    """The attention of the live tokens, and the cache with their keys and values."""
    out = np.full_like(queries, np.nan)
    cache = cache.copy()
    for number, rows in batch.queries:
        pages, length = batch.pages[number], batch.kv_lens[number]
        tokens = cache[pages].reshape(-1, HEADS, 2 * HEAD_DIM)
        new = np.concatenate([keys[rows], values[rows]], axis=2)
        tokens[length - len(new) : length] = new
        cache[pages] = tokens.reshape(cache[pages].shape)
        heads = np.repeat(tokens[:length], GROUP, axis=1)
        key, value = heads[..., :HEAD_DIM], heads[..., HEAD_DIM:]
        out[rows] = attended(queries[rows], key, value, SCALE, form.window, form.sinks)
    return out, cache


def expected_of_plain(*arguments: Any) -> Any:
    """As `expected`, where nothing is cut off.

    The second package's kernel, rewritten or not, begins each sequence's keys where its last
    query's window begins: earlier queries miss some, and those do not get into the cache.
    """
    results = expected(*arguments)
    if arguments[-1].window is None:
        return results
    return tuple(np.full_like(result, np.nan) for result in results)


def _entry(function: str, scale: str, sinks: str, module: ModuleType) -> Callable[..., Any]:
    import ref_views

    ref_views.install()
    attention = getattr(module, function)

    def run(queries: Any, keys: Any, values: Any, cache: Any, batch: Batch, form: Form) -> Any:
        return attention(
            queries,
            keys,
            values,
            cache,
            *batch.tables,
            sliding_window=form.window,
            chunk_prefill_size=CHUNK,
            num_kv_pages_per_block=2,
            num_queries_per_block=4,
            **{scale: SCALE, sinks: form.sinks},
        )

    return run


CASES = (
    Case(
        "tpu_inference",
        "tpu_inference.kernels.ragged_paged_attention.v3.kernel_hd64",
        "ragged_paged_attention_hd64",
        partial(_entry, "ragged_paged_attention_hd64", "sm_scale", "attention_sink"),
        _inputs,
        expected,
        bare=("tpu_inference.kernels.ragged_paged_attention.v3",),
        stand_ins=("tpu_inference.logger", "tpu_inference.utils"),
    ),
    Case(
        "ejkernel",
        "ejkernel.kernels._pallas.tpu.ragged_page_attention_v3._pallas_impl_fwd_h64",
        "ragged_paged_attention",
        partial(_entry, "ragged_paged_attention", "softmax_scale", "softmax_aux"),
        _inputs,
        expected_of_plain,
        bare=("ejkernel.kernels._pallas.tpu.ragged_page_attention_v3",),
    ),
)
