"""What launches are given, and what their kernels do under the TPU interpreter.

A dead step is to do nothing: this compares the work of a rewritten launch with the original's.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import jax
import jax_harness
import numpy as np
from jax._src.pallas.mosaic.interpret import interpret_pallas_call as tpu_interpreter
from jax.experimental import pallas as pl
from jax_harness import Mode


@dataclasses.dataclass
class Work:
    """What one launch did."""

    steps: int = 0
    stores: int = 0
    """Writes to refs by the kernel's own code."""
    copies: int = 0
    """DMAs that it started."""
    loads: Counter[str] = dataclasses.field(default_factory=Counter)
    """Input windows that were brought in, by the names of their refs."""
    flushes: Counter[str] = dataclasses.field(default_factory=Counter)
    """Output windows that were written back."""
    wrapped: int = 0
    """Reads at an index below zero, which the interpreter takes from the end."""


@dataclasses.dataclass(frozen=True)
class Allowed:
    """What dead steps may do all the same."""

    stores: int = 0
    """Aliased blocks that each dead step hands on."""
    stores_if_empty: int = 0
    """The same, only where nothing is live."""
    loads: bool = False
    """Whether input windows may move, since the index maps cannot read the count."""
    flushes: bool = False
    """Whether output windows may."""

    @classmethod
    def of(cls, after: str) -> Allowed:
        """As the rewritten text promises: maps that are pinned, blocks that are handed on."""
        kept = {"always": 0, "empty": 0}
        for node in ast.walk(ast.parse(after)):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("_keep"):
                (guard,) = node.decorator_list
                kept["empty" if "<= 0" in ast.unparse(guard) else "always"] += len(node.body)
        pinned = "num_scalar_prefetch" in after
        moves = not pinned or bool(kept["always"])
        return cls(kept["always"], kept["empty"], moves, moves)


@dataclasses.dataclass(frozen=True)
class Record:
    """What was seen of a file's launches."""

    launches: list[list[Work]]
    """For each input, what each launch did."""
    operands: list[list[str]]
    """The types of the operands of each launch, as they were traced."""


def record(
    path: Path,
    entry: Callable[[ModuleType], Callable[..., Any]],
    inputs: Sequence[Sequence[Any]],
    mode: Mode,
) -> Record:
    """Run a file on all inputs and watch its launches; the HLO interpreter shows no work."""
    launches: list[Work] = []
    operands: list[list[str]] = []
    ends: list[int] = []

    def one_by_one() -> Iterator[Sequence[Any]]:
        for args in inputs:
            yield args
            ends.append(len(launches))

    with _watched(launches), _noted(operands):
        jax_harness.run_all(path, entry, one_by_one(), mode)
    per_input = [launches[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    return Record(per_input, operands)


@contextlib.contextmanager
def _noted(operands: list[list[str]]) -> Iterator[None]:
    """Note what launches are given, when they are traced."""
    original = pl.pallas_call

    def noting_pallas_call(*launch_args: Any, **launch_kwargs: Any) -> Any:
        launch = original(*launch_args, **launch_kwargs)

        def noting_launch(*given: Any, **named: Any) -> Any:
            operands.append([str(leaf.dtype) for leaf in jax.tree.leaves(given)])
            return launch(*given, **named)

        return noting_launch

    with mock.patch.object(pl, "pallas_call", noting_pallas_call):
        yield


def added_by_dead_steps(before: list[Work], after: list[Work], allowed: Allowed) -> str | None:
    """What the rewritten launches do besides what the original ones do, or None."""
    if len(before) != len(after):
        return f"{len(after)} launches, expected {len(before)}"
    for old, new in zip(before, after, strict=True):
        dead = new.steps - old.steps
        per_step = allowed.stores if old.steps else allowed.stores + allowed.stores_if_empty
        most = old.stores + dead * per_step
        if not old.stores <= new.stores <= most:
            return f"{new.stores} stores, expected {old.stores} to {most}"
        if new.copies != old.copies:
            return f"{new.copies} DMAs, expected {old.copies}"
        if new.wrapped > old.wrapped:
            return f"{new.wrapped} reads at an index below zero"
        # With nothing live there is no block to stay on.
        if old.steps and not allowed.loads and (more := _besides(new.loads, old.loads)):
            return f"input windows brought in besides: {dict(more)}"
        if old.steps and not allowed.flushes and (more := _besides(new.flushes, old.flushes)):
            return f"output windows written back besides: {dict(more)}"
    return None


def _besides(new: Counter[str], old: Counter[str]) -> Counter[str]:
    """How much more often windows moved; a wrapper that takes `*refs` names them by number."""
    if len(new) == len(old) and all("[" in name for name in new):
        old = Counter(dict(zip(new, old.values(), strict=True)))
    return new - old


def wrongly_carried(before: list[list[str]], after: list[list[str]]) -> str | None:
    """Live counts that are not int32: they come in front of all other operands."""
    for old, new in zip(before, after, strict=True):
        counts = new[: len(new) - len(old)]
        if counts != ["int32"] * len(counts):
            return f"live counts of the types {', '.join(counts)}"
    return None


@contextlib.contextmanager
def _watched(launches: list[Work]) -> Iterator[None]:
    def note(name: str, values: tuple[Any, ...], names: dict[str, Any]) -> None:
        if name == "_initialize_shared_memory":
            launches.append(Work())
            return
        work = launches[-1]
        work.steps += name == "_check_for_revisiting"
        work.stores += name == "swap"
        work.copies += name == "dma_start"
        if name == "get":  # token, device, core, memory space, buffer, then where in the buffer
            indices = jax.tree.leaves(values[5])
            work.wrapped += any(np.any(np.asarray(index) < 0) for index in indices)
        if (window := names.get("input_name")) is not None:
            work.loads[str(window)] += 1
        if (window := names.get("output_name")) is not None:
            work.flushes[str(window)] += 1

    with contextlib.ExitStack() as stack:
        for name in (
            "_initialize_shared_memory",
            "_check_for_revisiting",
            "get",
            "store",
            "swap",
            "dma_start",
        ):
            watched = _noting(name, getattr(tpu_interpreter, name), note)
            stack.enter_context(mock.patch.object(tpu_interpreter, name, watched))
        yield


def _noting(
    name: str,
    function: Callable[..., Any],
    note: Callable[[str, tuple[Any, ...], dict[str, Any]], None],
) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        note(name, args, kwargs)
        return function(*args, **kwargs)

    return wrapper
