"""Ragged batches for the paged attention kernels: sequences of unlike lengths, cut into pages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

PAGE = 4
PAGES_PER_SEQUENCE = 4
SEQUENCES = 4
TOKENS = 32
PAGES = 24
CHUNK = 8
"""Query tokens of a sequence in the prefill part."""


@dataclass(frozen=True)
class Batch:
    """What is live in a batch; the rest of every table holds garbage."""

    kv_lens: tuple[int, ...]
    q_lens: tuple[int, ...]
    distribution: tuple[int, int, int]
    """Where the sequences that decode, that prefill, and all of them end."""

    @property
    def tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The kernels' tables: key lengths, pages, query offsets, distribution."""
        live = len(self.kv_lens)
        kv_lens = np.full(SEQUENCES, 10**6, np.int32)
        kv_lens[:live] = self.kv_lens
        offsets = np.full(SEQUENCES + 1, 10**6, np.int32)
        offsets[: live + 1] = np.cumsum((0, *self.q_lens))
        pages = np.random.RandomState(7).permutation(PAGES)[: SEQUENCES * PAGES_PER_SEQUENCE]
        pages[live * PAGES_PER_SEQUENCE :] = 10**6
        return kv_lens, pages.astype(np.int32), offsets, np.array(self.distribution, np.int32)

    @property
    def pages(self) -> np.ndarray:
        """The pages of each live sequence."""
        table = self.tables[1].reshape(SEQUENCES, PAGES_PER_SEQUENCE)
        return table[: len(self.kv_lens)]

    @property
    def without_gaps(self) -> tuple[np.ndarray, np.ndarray]:
        """Offsets in keys, rounded up to pages, and the pages of all sequences in a row."""
        counts = [-(-length // PAGE) for length in self.kv_lens]
        offsets = np.full(SEQUENCES + 1, 10**6, np.int32)
        offsets[: len(counts) + 1] = np.cumsum((0, *counts)) * PAGE
        used = [page for row, count in zip(self.pages, counts, strict=True) for page in row[:count]]
        pages = np.full(SEQUENCES * PAGES_PER_SEQUENCE, 10**6, np.int32)
        pages[: len(used)] = used
        return offsets, pages

    @property
    def queries(self) -> Iterator[tuple[int, slice]]:
        """Each live sequence's number and its rows among the query tokens."""
        for number, length in enumerate(self.q_lens):
            start = sum(self.q_lens[:number])
            yield number, slice(start, start + length)


BATCHES = {
    "no sequence": Batch((), (), (0, 0, 0)),
    "one decodes": Batch((5,), (1,), (1, 1, 1)),
    "one of many tokens": Batch((9,), (6,), (0, 0, 1)),
    "three decode": Batch((3, 16, 1), (1, 1, 1), (3, 3, 3)),
    "two of a chunk": Batch((8, 13), (8, 8), (0, 2, 2)),
    "of each kind": Batch((5, 11, 14), (1, 8, 3), (1, 2, 3)),
    "as many as fit": Batch((16, 8, 13, 16), (1, 8, 3, 16), (1, 2, 4)),
    "as many as fit decode": Batch((16, 8, 13, 16), (1, 1, 1, 1), (4, 4, 4)),
}


def attended(
    queries: np.ndarray, keys: np.ndarray, values: np.ndarray, scale: float, window: int | None,
    sink: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """Causal attention of the last tokens of one sequence: tokens, heads, features."""
    scores = np.einsum("qhd,khd->hqk", queries, keys) * scale
    at = np.arange(len(keys))[None, :]
    own = len(keys) - len(queries) + np.arange(len(queries))[:, None]
    hidden = at > own if window is None else (at > own) | (at <= own - window)
    scores = np.where(hidden, -np.inf, scores)
    if sink is not None:
        sunk = np.broadcast_to(sink[:, None, None], (*scores.shape[:2], 1))
        scores = np.concatenate([scores, sunk], axis=2)
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    weights /= weights.sum(axis=2, keepdims=True)
    return np.asarray(np.einsum("hqk,khd->qhd", weights[:, :, : len(keys)], values))
