"""The grouped matrix products of the installed JAX, rewritten in a copy, compute the same."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import jax_harness
import numpy as np
import pytest
from group_sizes import GROUPS, SHARDS, SIZES, TILING, K, M
from tool import launches_of, run_tool

pytestmark = pytest.mark.jax

N = 128

RANDOM = np.random.RandomState(0)
ROWS = RANDOM.randint(-3, 4, (M, K)).astype(np.float32)
COLUMNS = RANDOM.randint(-3, 4, (M, N)).astype(np.float32)
WEIGHTS = RANDOM.randint(-3, 4, (GROUPS, K, N)).astype(np.float32)
EXISTING = RANDOM.randint(-9, 9, (M, N)).astype(np.float32)
EXISTING_PRODUCTS = RANDOM.randint(-9, 9, (GROUPS, K, N)).astype(np.float32)


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The installed file, and a copy that the tool rewrote."""
    spec = importlib.util.find_spec("jax.experimental.pallas.ops.tpu.megablox")
    assert spec is not None and spec.submodule_search_locations
    source = Path(spec.submodule_search_locations[0]) / "gmm.py"
    folder = tmp_path_factory.mktemp("megablox")
    before, after = folder / "before.py", folder / "after.py"
    shutil.copy(source, before)
    shutil.copy(source, after)
    outcome = run_tool("apply", str(after))
    assert outcome.exit_code == 0, outcome.stdout
    return {"before": before, "after": after}


def test_both_launches_are_rewritten(versions: dict[str, Path]) -> None:
    found = launches_of(versions["before"])
    assert [launch["function"] for launch in found] == ["gmm", "tgmm"]
    assert [launch["verdict"] for launch in found] == ["dynamic", "dynamic"]
    assert [launch["verdict"] for launch in launches_of(versions["after"])] == ["static"] * 2


def groups_of(sizes: tuple[int, ...]) -> list[slice]:
    ends = np.cumsum(sizes)
    return [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]


def product(sizes: tuple[int, ...], first: int, count: int, existing: np.ndarray | None) -> Any:
    """Rows of other shards keep what they held, or are zero where the function zeroes them."""
    if existing is None:
        out = np.full((M, N), np.nan if count == GROUPS else 0, np.float32)
    else:
        out = existing.copy()
    for group, rows in enumerate(groups_of(sizes)):
        if first <= group < first + count:
            out[rows] = ROWS[rows] @ WEIGHTS[group]
    return out


def outer_products(sizes: tuple[int, ...], first: int, count: int, existing: Any) -> Any:
    products = [ROWS[rows].T @ COLUMNS[rows] for rows in groups_of(sizes)]
    out = np.stack(products[first : first + count])
    return out if existing is None else out + existing


def gmm_of(module: ModuleType, *, existing: bool) -> Callable[..., Any]:
    def run(rows: Any, weights: Any, sizes: Any, first: Any) -> Any:
        kept = jax_harness.jax.numpy.asarray(EXISTING) if existing else None
        return module.gmm(
            rows, weights, sizes, tiling=TILING, group_offset=first, existing_out=kept
        )

    return run


def tgmm_of(module: ModuleType, *, count: int, existing: bool) -> Callable[..., Any]:
    def run(rows: Any, columns: Any, sizes: Any, first: Any) -> Any:
        kept = jax_harness.jax.numpy.asarray(EXISTING_PRODUCTS[:count]) if existing else None
        return module.tgmm(
            rows.T,
            columns,
            sizes,
            tiling=TILING,
            group_offset=first,
            num_actual_groups=count,
            existing_out=kept,
        )

    return run


def inputs(*arrays: np.ndarray, first: int, chosen: tuple[tuple[int, ...], ...]) -> list[Any]:
    offset = jax_harness.jax.numpy.int32(first)
    return [(*arrays, np.array(sizes, np.int32), offset) for sizes in chosen]


@pytest.mark.parametrize("existing", [False, True], ids=["fresh", "existing"])
@pytest.mark.parametrize(("first", "count"), SHARDS, ids=["all", "shard"])
@pytest.mark.parametrize("version", ["before", "after"])
def test_gmm(
    versions: dict[str, Path], version: str, first: int, count: int, existing: bool
) -> None:
    weights = WEIGHTS[first : first + count]
    given = inputs(ROWS, weights, first=first, chosen=SIZES)
    kept = EXISTING if existing else None
    entry = partial(gmm_of, existing=existing)
    results = jax_harness.run_all(versions[version], entry, given, jax_harness.TPU)
    for sizes, result in zip(SIZES, results, strict=True):
        wrong = jax_harness.differences(result, product(sizes, first, count, kept))
        assert wrong is None, f"{sizes}: {wrong}"


@pytest.mark.parametrize("existing", [False, True], ids=["fresh", "existing"])
@pytest.mark.parametrize(("first", "count"), SHARDS, ids=["all", "shard"])
@pytest.mark.parametrize("version", ["before", "after"])
def test_tgmm(
    versions: dict[str, Path], version: str, first: int, count: int, existing: bool
) -> None:
    given = inputs(ROWS, COLUMNS, first=first, chosen=SIZES)
    kept = EXISTING_PRODUCTS[:count] if existing else None
    entry = partial(tgmm_of, count=count, existing=existing)
    results = jax_harness.run_all(versions[version], entry, given, jax_harness.TPU)
    for sizes, result in zip(SIZES, results, strict=True):
        wrong = jax_harness.differences(result, outer_products(sizes, first, count, kept))
        assert wrong is None, f"{sizes}: {wrong}"
