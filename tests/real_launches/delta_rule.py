"""Gated delta rules: one recurrent state per request, updated token by token."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from case import Case, Inputs

TOKENS, REQUESTS, STATES = 16, 4, 6
QK_HEADS, HEADS, DIM, LANES = 1, 2, 128, 128
STARTS = np.array([0, 5, 6, 13, 16], np.int32)
SLOTS = np.array([4, 0, 5, 2], np.int32)
SCALE = DIM**-0.5
BLOCK = 2
"""Tokens in a block: several blocks in a sequence, and more than one sequence in a launch."""

RANDOM = np.random.RandomState(0)


def _normal(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


QUERIES, KEYS = _normal(TOKENS, QK_HEADS, DIM), _normal(TOKENS, QK_HEADS, DIM)
VALUES, GATES = _normal(TOKENS, HEADS, DIM), -np.abs(_normal(TOKENS, HEADS, DIM))
BETAS = np.broadcast_to(_normal(TOKENS, HEADS, 1), (TOKENS, HEADS, LANES))
STATE = _normal(STATES, HEADS, DIM, DIM)
A_LOG = np.broadcast_to(_normal(HEADS, 1), (HEADS, LANES))
DT_BIAS = np.broadcast_to(_normal(HEADS, 1), (HEADS, LANES))
HAS_STATE = np.array([1, 0, 1, 1], np.int32)


def _inputs(*ranges: tuple[int, int]) -> Inputs:
    for gated in (False, True):
        for first, end in ranges:
            label = f"requests {first} to {end}{', gated in the kernel' if gated else ''}"
            yield label, (gated, np.array([first, end], np.int32))


def _recurrent_inputs() -> Inputs:
    return _inputs((0, 0), (2, 2), (0, 1), (1, 3), (3, 4), (0, 4))


def _decode_inputs() -> Inputs:
    return _inputs((0, 4), (1, 4), (2, 4), (3, 4), (4, 4))


def _gates(gated: bool) -> dict[str, Any]:
    return {"A_log": A_LOG, "dt_bias": DT_BIAS, "use_gate_in_kernel": True} if gated else {}


def _recurrent(module: ModuleType) -> Callable[..., Any]:
    import jax

    module.get_default_block_sizes = lambda *_, **__: BLOCK  # type: ignore[attr-defined]

    @jax.jit
    def plain(distribution: Any) -> Any:
        return run(distribution, False)

    @jax.jit
    def gated(distribution: Any) -> Any:
        return run(distribution, True)

    def run(distribution: Any, gated: bool) -> Any:
        return module.fused_recurrent_gdn(
            QUERIES,
            KEYS,
            VALUES,
            STARTS,
            GATES,
            STATE,
            SLOTS,
            BETAS,
            HAS_STATE,
            scale=SCALE,
            use_qk_l2norm=True,
            distribution=distribution,
            **_gates(gated),
        )

    return lambda is_gated, distribution: (gated if is_gated else plain)(distribution)


def _decode(module: ModuleType) -> Callable[..., Any]:
    module.get_default_block_sizes = lambda *_, **__: BLOCK  # type: ignore[attr-defined]

    def run(gated: bool, distribution: Any) -> Any:
        return module.fused_decoding_gdn(
            QUERIES,
            KEYS,
            VALUES,
            GATES,
            STATE,
            SLOTS,
            distribution,
            BETAS,
            scale=SCALE,
            use_qk_l2norm_in_kernel=True,
            **_gates(gated),
        )

    return run


def _recurrent_result(gated: bool, distribution: Any) -> Any:
    first, end = distribution
    return _updated(
        gated,
        [(SLOTS[r], range(STARTS[r], STARTS[r + 1]), HAS_STATE[r]) for r in range(first, end)],
    )


def _decode_result(gated: bool, distribution: Any) -> Any:
    return _updated(gated, [(SLOTS[r], range(r, r + 1), 1) for r in range(distribution[0])])


def _updated(gated: bool, requests: list[tuple[int, range, int]]) -> tuple[Any, Any]:
    """What no request has, stays: the values among the outputs, and the states."""
    out, states = VALUES.copy(), STATE.copy()
    for slot, tokens, has_state in requests:
        state = states[slot] * has_state
        for t in tokens:
            state, out[t] = _step(gated, state, t)
        states[slot] = state
    return out, states


def _step(gated: bool, state: Any, t: int) -> tuple[Any, Any]:
    query, key = (x[t].repeat(HEADS, 0) for x in (QUERIES, KEYS))
    query, key = (x / np.sqrt((x * x).sum(-1, keepdims=True) + 1e-6) for x in (query, key))
    gate = GATES[t]
    if gated:
        gate = -np.exp(A_LOG[:, :1]) * np.log1p(np.exp(gate + DT_BIAS))
    state = state * np.exp(gate)[:, :, None]
    missing = VALUES[t] - np.einsum("hk,hkv->hv", key, state)
    change = missing / (1 + np.exp(-BETAS[t]))
    state = state + key[:, :, None] * change[:, None, :]
    return state, np.einsum("hk,hkv->hv", query * SCALE, state)


PACKAGE = "tpu_inference.kernels.gdn.v1"
CASES = (
    # With DMAs as late as they may be, more than two sequences go wrong in the original, too: it
    # loads a state into a buffer from which the one before is still being stored.
    Case(
        "tpu_inference",
        f"{PACKAGE}.fused_gdn_recurrent_kernel",
        "fused_recurrent_gdn",
        _recurrent,
        _recurrent_inputs,
        _recurrent_result,
        bare=(PACKAGE,),
        modes=("tpu", "tpu_eager"),
    ),
    Case(
        "tpu_inference",
        f"{PACKAGE}.fused_gdn_decode_kernel",
        "fused_decoding_gdn",
        _decode,
        _decode_inputs,
        _decode_result,
        bare=(PACKAGE,),
        modes=("tpu", "tpu_eager"),
    ),
)
