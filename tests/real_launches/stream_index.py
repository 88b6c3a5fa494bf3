"""The best cache entries of each query, by scores that a kernel streams out block by block."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
from case import Case, Inputs

HEADS, DIM, PAGE, PAGES, PER_SEQUENCE = 4, 128, 128, 9, 2
BEST, RATIO = 32, 2
LENGTHS = {"decode": 1, "mixed": 3}
BATCHES: dict[str, tuple[str, ...]] = {
    "no sequence": (),
    "one decode": ("decode",),
    "one batch of decodes": ("decode",) * 2,
    "decodes beside a batch": ("decode",) * 3,
    "one mixed": ("mixed",),
    "both": ("decode", "decode", "decode", "mixed"),
    "as many as fit": ("mixed",) * 4,
}
SEQUENCES = 4
TOKENS = 12


def _inputs(*, quantized: bool) -> Inputs:
    random = np.random.RandomState(0)
    queries = random.standard_normal((TOKENS, HEADS, DIM)).astype(np.float32)
    weights = random.uniform(-1.5, 1.5, (TOKENS, HEADS)).astype(np.float32)
    keys = random.randint(-6, 7, (PAGES, PAGE, DIM)).astype(np.float32)
    kv_lens = np.array([200, 12, 512, 300], np.int32)
    pages = random.permutation(PAGES)[: SEQUENCES * PER_SEQUENCE].astype(np.int32)
    for label, batch in BATCHES.items():
        live = len(batch)
        ends = np.cumsum([LENGTHS[kind] for kind in batch], dtype=np.int32)
        starts = np.full(SEQUENCES + 1, 10**6, np.int32)
        starts[: live + 1] = [0, *ends]
        lens = np.where(np.arange(SEQUENCES) < live, kv_lens, 10**6).astype(np.int32)
        table = pages.copy()
        table[live * PER_SEQUENCE :] = 10**6
        decodes = batch.count("decode")
        distribution = np.array([decodes, decodes, live], np.int32)
        yield label, (quantized, queries, weights, keys, lens, table, starts, distribution)


def _cache(keys: Any, quantized: bool) -> Any:
    """Eight-bit keys with a scale of one half behind each, or plain ones."""
    import jax.numpy as jnp

    if not quantized:
        return jnp.asarray(keys, jnp.bfloat16).reshape(PAGES, PAGE // 2, 2, DIM)
    values = np.asarray(jnp.asarray(keys, jnp.float8_e4m3fn)).view(np.uint8)
    scale = np.asarray(jnp.full((1,), 0.5, jnp.float8_e8m0fnu)).view(np.uint8)
    records = np.zeros((PAGES, PAGE, 2 * DIM), np.uint8)
    records[..., :DIM] = values
    records[..., DIM] = scale[0]
    return records.reshape(PAGES, PAGE // 4, 4, 2 * DIM)


def _entry(module: ModuleType) -> Callable[..., Any]:
    import ref_views

    ref_views.install()

    def run(quantized: bool, queries: Any, weights: Any, keys: Any, *tables: Any) -> Any:
        return module.streamindex_topk(
            queries,
            weights,
            _cache(keys, quantized),
            *tables,
            k=BEST,
            compression_ratio=RATIO,
            num_kv_pages_per_block=1,
            num_queries_per_block=2,
            decode_req_batch_size=2,
        )

    return run


def best(
    quantized: bool,
    queries: Any,
    weights: Any,
    keys: Any,
    lens: Any,
    table: Any,
    starts: Any,
    distribution: Any,
) -> Any:
    """The places of the highest scores, and -1 where there are no more; -1 for other tokens."""
    out = np.full((TOKENS, BEST), -1)
    for sequence in range(distribution[2]):
        rows = np.arange(starts[sequence], starts[sequence + 1])
        mine = table[sequence * PER_SEQUENCE : (sequence + 1) * PER_SEQUENCE]
        cached = keys[mine].reshape(-1, DIM) * (0.5 if quantized else 1)
        places = np.arange(len(cached))
        for row in rows:
            position = lens[sequence] - (starts[sequence + 1] - row)
            inner = np.maximum(queries[row] @ cached.T, 0)
            scores = (inner * weights[row][:, None]).sum(0)
            seen = (places < lens[sequence] // RATIO) & (places <= position // RATIO)
            scores[~seen] = -np.inf
            order = np.argsort(-scores, kind="stable")[:BEST]
            out[row] = np.where(scores[order] == -np.inf, -1, order)
    return out


CASES = (
    Case(
        "tpu_inference",
        "tpu_inference.kernels.experimental.deepseek_v4.indexer.streamindex_topk",
        "streamindex_topk.run_topk_kernel",
        _entry,
        partial(_inputs, quantized=True),
        best,
        bare=("tpu_inference.kernels.experimental.deepseek_v4.indexer",),
        modes=("tpu", "tpu_eager"),
    ),
    Case(
        "sglang_jax/python",
        "sgl_jax.srt.kernels.dsa.streamindex_topk",
        "streamindex_topk.run_topk_kernel",
        _entry,
        partial(_inputs, quantized=True),
        best,
        bare=("sgl_jax.srt.kernels.dsa",),
        modes=("tpu", "tpu_eager"),
    ),
    Case(
        "sglang_jax/python",
        "sgl_jax.srt.kernels.dsa.streamindex_topk",
        "streamindex_topk.run_topk_kernel",
        _entry,
        partial(_inputs, quantized=False),
        best,
        bare=("sgl_jax.srt.kernels.dsa",),
        modes=("tpu",),
    ),
)
