"""Block-sparse attention: tables list the blocks of the mask that hold anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
from case import Case, Inputs
from ragged_batches import attended

HEADS, KEY_HEADS, HEAD_DIM = 4, 2, 128
QUERIES, KEYS = 64, 384
ROWS, COLUMNS = 16, 128
SLOTS = (QUERIES // ROWS) * (KEYS // COLUMNS)
"""How many blocks there are; the tables are as long, as those of sharded masks may be."""


@dataclass(frozen=True)
class Form:
    """Which attention."""

    name: str
    one_key_head: bool = False
    residuals: bool = False
    segments: bool = False
    sinks: bool = False
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def sink(self) -> np.ndarray | None:
        """The sink of each query head."""
        return np.linspace(-1, 1, HEADS).astype(np.float32) if self.sinks else None


FORMS = (
    Form("plain"),
    Form("one key head, sinks", one_key_head=True, sinks=True),
    Form("segments, what the backward pass needs", segments=True, residuals=True),
    Form("divided later", residuals=True, options=(("fuse_reciprocal", False),)),
)


def masks() -> dict[str, np.ndarray | None]:
    """What each query may see; None is everything, by a launch of static grid."""
    query, key = np.arange(QUERIES)[:, None], np.arange(KEYS)[None, :]
    at = query * KEYS // QUERIES
    nothing = np.zeros((QUERIES, KEYS), bool)
    one, few = nothing.copy(), nothing.copy()
    one[ROWS : 2 * ROWS, COLUMNS : 2 * COLUMNS] = True
    few[:ROWS, : COLUMNS + 5] = True
    few[3 * ROWS :, 2 * COLUMNS + 7 :] = True
    return {
        "everything": None,
        "no block": nothing,
        "one block": one,
        "a few blocks": few,
        "a window": (key > at - 100) & (key <= at),
        "causal": key <= at,
        "every block": key <= at + KEYS - 6,
    }


@dataclass(frozen=True)
class Tables:
    """The blocks of a mask, as the kernels take them; garbage stands behind the live ones."""

    mask: np.ndarray

    @property
    def fields(self) -> dict[str, np.ndarray]:
        """By the name of the field that takes them."""
        blocks = self.mask.reshape(QUERIES // ROWS, ROWS, KEYS // COLUMNS, COLUMNS)
        blocks = blocks.swapaxes(1, 2)
        active = np.argwhere(blocks.any(axis=(2, 3)))
        chosen = blocks[active[:, 0], active[:, 1]]
        whole = chosen.all(axis=(1, 2))
        partials = chosen[~whole] if (~whole).any() else np.ones((1, ROWS, COLUMNS), bool)
        upcoming = np.minimum(np.cumsum(~whole) - ~whole, len(partials) - 1)
        return {
            "mask_next": _padded(upcoming),
            "active_rows": _padded(active[:, 0]),
            "active_cols": _padded(active[:, 1]),
            "block_mask": _padded(np.where(whole, 2, 1)),
            "num_active_blocks": np.array([len(active)], np.int32),
            "partial_mask_blocks": partials.astype(np.int8),
        }


def _padded(live: np.ndarray) -> np.ndarray:
    table = np.full(SLOTS, -1, np.int8)
    table[: len(live)] = live
    return table


def _inputs(forms: tuple[Form, ...]) -> Inputs:
    random = np.random.RandomState(0)
    queries = random.standard_normal((HEADS, QUERIES, HEAD_DIM)).astype(np.float32) / 10
    keys, values = random.standard_normal((2, KEY_HEADS, KEYS, HEAD_DIM)).astype(np.float32)
    for form in forms:
        heads = 1 if form.one_key_head else KEY_HEADS
        for label, mask in masks().items():
            yield f"{label}, {form.name}", (queries, keys[:heads], values[:heads], mask, form)


def segments() -> tuple[np.ndarray, np.ndarray]:
    """The segment of each query and of each key."""
    return np.arange(QUERIES, dtype=np.int32) * 2 // QUERIES, (
        np.arange(KEYS, dtype=np.int32) * 2 // KEYS
    )


def expected(
    queries: Any, keys: Any, values: Any, mask: Any, form: Form, *, later: float, base: float
) -> Any:
    """The attention; NaN where a query sees nothing, but zeros where there is no block at all.

    `later` is what a division after the kernel makes of no block; `base` is that of the sinks.
    """
    if mask is not None and not mask.any():
        return np.full_like(queries, later if form.options else 0)
    seen = np.ones((QUERIES, KEYS), bool) if mask is None else mask
    if form.segments:
        of_query, of_key = segments()
        seen = seen & (of_query[:, None] == of_key)
    out = np.full_like(queries, np.nan)
    group = HEADS // len(keys)
    sink = None if form.sink is None else form.sink * np.log(base)
    for row in np.flatnonzero(seen.any(axis=1)):
        chosen = np.flatnonzero(seen[row])
        key, value = (np.repeat(a[:, chosen], group, axis=0).swapaxes(0, 1) for a in (keys, values))
        out[:, row] = attended(queries[:, row][None], key, value, 1.0, None, sink)[0]
    return out


def _entry(raw: bool, module: ModuleType) -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    def run(queries: Any, keys: Any, values: Any, mask: Any, form: Form) -> Any:
        fields = dict.fromkeys(module.MaskInfo._fields)
        if mask is not None:
            fields |= {name: jnp.asarray(table) for name, table in Tables(mask).fields.items()}
        config = module.SplashConfig(
            block_q=ROWS, block_kv=COLUMNS, block_kv_compute=COLUMNS, **dict(form.options)
        )
        given = (
            module.MaskInfo(**fields),
            jnp.asarray(queries),
            jnp.asarray(keys[0] if form.one_key_head else keys),
            jnp.asarray(values[0] if form.one_key_head else values),
            module.base.SegmentIds(*map(jnp.asarray, segments())) if form.segments else None,
            None if form.sink is None else jnp.asarray(form.sink),
        )
        known: dict[str, Any] = {
            "mask_value": module.base.DEFAULT_MASK_VALUE,
            "is_mqa": form.one_key_head,
            "config": config,
            "mask_function": None,
            "fwd_mask_sparsity": 1.0,
        }
        if raw:
            attention = jax.jit(partial(module._splash_attention_forward_ring_raw, **known))
            out, stats = attention(*given)
            total = stats["l_linear"][..., None]
            return jnp.where(total == 0, 0, out / total)
        results = module._splash_attention(
            given[0], None, *given[1:], save_residuals=form.residuals, dkv_mask_sparsity=1.0,
            **known,
        )  # fmt: skip
        return results[0] if form.residuals else results

    return run


FORWARD, RAW = "_splash_attention_forward", "_splash_attention_forward_ring_raw"
MAXTEXT = "maxtext.kernels.tokamax_splash_attention"
TOKAMAX = "tokamax._src.ops.experimental.tpu.splash_attention"
MAXDIFFUSION = "maxdiffusion.kernels.splash_attention"
CASES = tuple(
    Case(
        package,
        f"{parent}.splash_attention_kernel",
        function,
        partial(_entry, function == RAW),
        partial(_inputs, FORMS[:2] if function == RAW else FORMS),
        partial(expected, later=later, base=base),
        bare=(parent,),
    )
    for package, parent, function, later, base in (
        ("maxtext", MAXTEXT, FORWARD, 0, np.e),
        ("tokamax", TOKAMAX, FORWARD, np.nan, np.e),
        ("maxdiffusion/src", MAXDIFFUSION, FORWARD, np.nan, 2),
        ("maxdiffusion/src", MAXDIFFUSION, RAW, 0, 2),
    )
)
