"""Multi-head latent attention over pages: all heads share a latent key, which is the value too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
from case import Case, Inputs
from ragged_batches import BATCHES, CHUNK, PAGE, PAGES, TOKENS, Batch, attended

HEADS, LATENT, ROTARY = 4, 128, 128
SCALE = 0.1
VMEM = 64 * 2**20


@dataclass(frozen=True)
class Form:
    """How a package's function differs from the others."""

    scale: str = "sm_scale"
    prefills: bool = True
    """Whether sequences of one chunk are worked on at all."""
    cumulative_keys: bool = False
    """Whether each sequence's pages follow the last one's without a gap."""
    heads_first: bool = False
    options: tuple[tuple[str, Any], ...] = ()


def _inputs(form: Form) -> Inputs:
    random = np.random.RandomState(0)
    latent = random.standard_normal((TOKENS, HEADS, LATENT)).astype(np.float32)
    rotary = random.standard_normal((TOKENS, HEADS, ROTARY)).astype(np.float32)
    new = random.standard_normal((TOKENS, LATENT + ROTARY)).astype(np.float32)
    cache = random.standard_normal((PAGES, PAGE, 1, LATENT + ROTARY)).astype(np.float32)
    for label, batch in BATCHES.items():
        decode, prefill, live = batch.distribution
        if not form.prefills or (
            not dict(form.options).get("chunk_prefill_size") and prefill > decode
        ):
            batch = Batch(batch.kv_lens, batch.q_lens, (decode, decode, live))
        yield label, (latent, rotary, new, cache, batch)


def expected(latent: Any, rotary: Any, new: Any, cache: Any, batch: Batch) -> Any:
    """The attention of the live tokens, and the cache with their keys."""
    out = np.full_like(latent, np.nan)
    cache = cache.copy()
    queries = np.concatenate([latent, rotary], axis=2)
    for number, rows in batch.queries:
        pages, length = batch.pages[number], batch.kv_lens[number]
        tokens = cache[pages].reshape(-1, 1, LATENT + ROTARY)
        tokens[length - len(new[rows]) : length, 0] = new[rows]
        cache[pages] = tokens.reshape(cache[pages].shape)
        keys = np.repeat(tokens[:length], HEADS, axis=1)
        out[rows] = attended(queries[rows], keys, keys[..., :LATENT], SCALE, None)
    return out, cache


def _entry(function: str, form: Form, module: ModuleType) -> Callable[..., Any]:
    import jax
    import ref_views

    ref_views.install()
    attention = getattr(module, function)

    def run(latent: Any, rotary: Any, new: Any, cache: Any, batch: Batch) -> Any:
        kv_lens, pages, offsets, distribution = batch.tables
        tables = [kv_lens, pages, offsets, distribution]
        if form.cumulative_keys:
            cumulative, pages = batch.without_gaps
            tables = [kv_lens, pages, offsets, cumulative, distribution]
        if form.heads_first:
            latent = latent.swapaxes(0, 1)
        out, cache = attention(
            latent,
            rotary,
            new[:, :LATENT],
            new[:, LATENT:],
            cache,
            *tables,
            num_kv_pages_per_block=2,
            num_queries_per_block=4,
            vmem_limit_bytes=VMEM,
            **{form.scale: SCALE},
            **dict(form.options),
        )
        return (jax.numpy.swapaxes(out, 0, 1) if form.heads_first else out), cache

    return run


def _case(package: str, module: str, scanned: str, function: str, form: Form, **more: Any) -> Case:
    entry = partial(_entry, function, form)
    return Case(package, module, scanned, entry, partial(_inputs, form), expected, **more)


EJKERNEL = "ejkernel.kernels._pallas.tpu.multi_latent_ragged_page_attention"
NESTED = "mla_ragged_paged_attention.run_mla_kernel"
PAIRS = ("decode_batch_size", 2)
WIDE = ("s_dtype", "float32")
CHUNKS = ("chunk_prefill_size", CHUNK)
CASES = (
    _case(
        "ejkernel",
        f"{EJKERNEL}._pallas_impl_fwd",
        "mla_ragged_paged_attention",
        "mla_ragged_paged_attention",
        Form("softmax_scale", options=(CHUNKS,)),
        bare=(EJKERNEL, "ejkernel.kernels._pallas.tpu.ragged_page_attention_v3"),
    ),
    _case(
        "ejkernel",
        f"{EJKERNEL}_v2._pallas_impl_fwd",
        "_mla_ragged_paged_attention_v2_impl.run_mla_kernel",
        "_mla_ragged_paged_attention_v2_impl",
        Form(prefills=False),
        bare=(f"{EJKERNEL}_v2",),
    ),
    _case(
        "sglang_jax/python",
        "sgl_jax.srt.kernels.mla.v2.kernel",
        NESTED,
        "mla_ragged_paged_attention",
        Form(prefills=False, cumulative_keys=True, options=(PAIRS,)),
        bare=("sgl_jax.srt.kernels.mla.v2",),
    ),
    _case(
        "tokamax",
        "tokamax._src.ops.experimental.mla.pallas_mosaic_tpu_kernel",
        NESTED,
        "mla_ragged_paged_attention",
        Form(prefills=False, options=(PAIRS, WIDE)),
        bare=("tokamax._src.ops.experimental.mla",),
    ),
    _case(
        "tpu_inference",
        "tpu_inference.kernels.mla.v2.kernel",
        NESTED,
        "mla_ragged_paged_attention",
        Form(heads_first=True, options=(PAIRS, WIDE, CHUNKS)),
        bare=("tpu_inference.kernels.mla.v2",),
        stand_ins=("tpu_inference.logger",),
    ),
)
