"""Launches drawn from a grammar, each with inputs and a NumPy simulation of the original.

Two classes. A *bounded* launch has evidence for a static bound by construction; what it computes
is simulated step by step. A *hopeless* one differs in a single feature that takes the ground
from under any rewrite, and has to be refused.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from launch_grammar import SPOILERS, STEP_NAMES, Operand, Spec, draw
from launch_source import source_of

GARBAGE = (-1, 10**6)


@dataclass(frozen=True)
class Launch:
    """A program with one launch, its inputs, and what it computes."""

    source: str
    features: tuple[str, ...]
    parallel: bool
    inputs: tuple[tuple[str, tuple[Any, ...]], ...]
    reference: Callable[..., Any]


def bounded(seed: int) -> Launch:
    """A launch that a sound rewrite exists for."""
    return _launch(draw(random.Random(seed)), seed)


def hopeless(seed: int) -> Launch:
    """A launch that has to be refused."""
    rng = random.Random(f"hopeless {seed}")
    return _launch(draw(rng, SPOILERS[seed % len(SPOILERS)]), seed)


def _launch(spec: Spec, seed: int) -> Launch:
    rng = np.random.RandomState(seed)
    arrays = {
        operand.name: rng.randint(-4, 5, operand.shape).astype(np.float32)
        for operand in spec.inputs
    }
    inputs = tuple(_inputs(spec, arrays, rng))
    return Launch(source_of(spec), spec.features, spec.parallel, inputs, _simulation(spec))


def _inputs(
    spec: Spec, arrays: dict[str, Any], rng: np.random.RandomState
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    dynamic = [axis for axis in spec.axes if axis.dynamic]
    for counts in _counts([axis.bound for axis in dynamic]):
        given = dict(arrays)
        for axis, count in zip(dynamic, counts, strict=True):
            name, value = axis.argument(count)
            given[name] = value
        live = dict(zip((axis.index for axis in dynamic), counts, strict=True))
        for index, kind in spec.tables.items():
            bound = spec.axes[index].bound
            table = np.full(bound, GARBAGE[rng.randint(2)], np.int32)
            count = live.get(index, bound)
            drawn = rng.permutation(bound + (index == 0 and kind == "permutation"))[:count]
            table[:count] = np.sort(drawn // 2) if kind == "sorted" else drawn
            given[f"order{index}"] = table
        given["flags"] = rng.randint(0, 2, spec.axes[-1].bound).astype(np.int32)
        label = ", ".join(
            f"n{axis.index}={count}" for axis, count in zip(dynamic, counts, strict=True)
        )
        yield label, tuple(given[name] for name in spec.parameters)


def _counts(bounds: list[int]) -> list[tuple[int, ...]]:
    """Zero, one, a middle value and the maximum; with two axes some of their combinations."""
    single = [sorted({0, min(1, bound), bound // 2, bound}) for bound in bounds]
    if len(bounds) == 1:
        return [(count,) for count in single[0]]
    first, second = bounds
    return sorted({(0, 0), (0, second), (first, 0), (1, 1), (first // 2, second), (first, second)})


def _simulation(spec: Spec) -> Callable[..., Any]:
    """Runs the steps one after the other as the original does; NaN where nothing is written."""

    def simulate(*args: Any) -> Any:
        given = dict(zip(spec.parameters, args, strict=True))
        counts = [
            axis.count_of(given[axis.argument(0)[0]]) if axis.dynamic else axis.bound
            for axis in spec.axes
        ]
        given["pl"] = SimpleNamespace(num_programs=counts.__getitem__)
        shape = spec.output.shape
        out = given["x"].copy() if spec.aliased else np.full(shape, np.nan, np.float32)
        previous: tuple[Any, ...] | None = None
        window: Any = None
        acc: Any = None
        for ids in itertools.product(*map(range, counts)):
            names = dict(zip(STEP_NAMES, ids, strict=False))
            scope = {**given, **names}
            at = spec.output.window(_evaluate(spec.output, scope))
            if at != previous:
                previous, window = at, np.full(spec.output.tile, np.nan, np.float32)
            blocks = {
                operand.name: _cut(operand, given[operand.name], _evaluate(operand, scope))
                for operand in spec.inputs
            }
            value = eval(spec.value, {**blocks, **names}) + ("partial" in spec.style)
            last = spec.axes[-1]
            step = names[last.name]
            if spec.body in ("map", "alias", "copied") or (
                spec.body == "guarded" and given["flags"][step]
            ):
                window = value
            elif spec.body == "sum_out":
                window = value if step == 0 else window + value
            elif spec.body == "sum_scratch":
                acc = value if step == 0 else acc + value
                window = acc if step == counts[-1] - 1 else window
            elif spec.body == "segments":
                table = given[f"order{last.index}"]
                first = step == 0 or table[step] != table[step - 1]
                window = value if first else window + value
            room = out[at].shape
            out[at] = window[: room[0], : room[1]]
        return [out, out * 2.0] if "two outputs" in spec.style else out

    return simulate


def _cut(operand: Operand, array: Any, index: tuple[int, ...]) -> Any:
    """A block of an array; what lies past its end is not defined."""
    found = array[operand.window(index)]
    block = np.full(operand.tile, np.nan, np.float32)
    block[: found.shape[0], : found.shape[1]] = found
    return block


def _evaluate(operand: Operand, scope: dict[str, Any]) -> tuple[int, ...]:
    return tuple(int(eval(index, {}, scope)) for index in operand.indices)
