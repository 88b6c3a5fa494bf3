"""Generated launches whose bounds are held against runs.

A launch is put together from a grid, index maps and what its kernel touches. Its bound is computed;
then it is run under TPU interpret mode with counts whose grid exceeds the bound. The interpreter
raises for whatever leaves an array, so that a run that goes through contradicts the bound.

`python tests/bounds_programs.py --programs 500` is the long mode; it prints how many launches got a
bound, by feature.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

GRIDS = {
    "n": 4,
    "pl.cdiv(n, B)": 4,
    "n // B": 2,
    "n * 2": 1,
    "n + 1": 1,
    "jnp.minimum(n, M)": 2,
    "jnp.clip(n, 0, M)": 1,
    "jnp.maximum(n, 1)": 1,
    "n % M": 1,
    "jnp.where(n > 2, n, 0)": 1,
    "jnp.where(n > 0, 1, 0)": 1,
    "pl.cdiv(jnp.minimum(n, x.shape[0]), B)": 2,
    "jnp.minimum(n, ids.shape[0])": 1,
    "lax.div(jnp.maximum(n, 0), 2)": 1,
    "jnp.minimum(n, M) * 2 - 1": 1,
    "M - jnp.clip(n, 0, 3)": 1,
    "(jnp.minimum(n, M) + B - 1) // B": 1,
    "(ids > n).sum()": 1,
    "jnp.count_nonzero(ids >= 0) - jnp.clip(n, 0, 1)": 1,
}
MAPS = {
    "i": 5,
    "0": 9,
    "i + 1": 2,
    "i // 2": 1,
    "2 * i": 1,
    "(i + 1) // 2": 1,
    "off[0] + i": 1,
    "jnp.maximum(i - 1, 0)": 1,
    "pl.num_programs(0) - 1 - i": 1,
    "jnp.minimum(i, 1)": 1,
    "jnp.clip(i, 0, 1)": 1,
    "i % 2": 1,
    "lax.rem(i, 2)": 1,
    "jnp.where(i < 1, i, 0)": 1,
    "ids[i] * 0": 2,
    "ids[i + 1] * 0": 1,
    "ids[jnp.minimum(i, 1)] * 0": 1,
    "jnp.where(i < 2, ids[i], 0) * 0": 1,
    "by_helper(ids, i) * 0": 1,
}
TOUCHES = {
    "": 4,
    "total += ids_ref[i]": 3,
    "total += ids_ref[i + 1]": 1,
    "total += ids_ref[2 * i]": 1,
    "total += ids_ref[i // 2]": 1,
    "total += by_helper(ids_ref, i)": 1,
    "total += ids_ref[off_ref[0] + i]": 1,
    "total += ids_ref[jnp.minimum(i, 2)]": 1,
    "total += ids_ref[i % 3]": 1,
    "total += ids_ref[jnp.maximum(i - 1, 0)]": 1,
    "total += jnp.where(i < 2, ids_ref[jnp.minimum(i, 1)], 0)": 1,
    "total += lax.cond(i < 2, lambda: ids_ref[i], lambda: 0)": 1,
    "total += lax.fori_loop(0, 2, lambda k, t: t + ids_ref[i + k], 0)": 1,
    "total += lax.fori_loop(0, off_ref[0], lambda k, t: t + ids_ref[i], 0)": 1,
    "for k in range(2):\n        total += ids_ref[2 * i + k]": 1,
    "@pl.when(i < 2)\n    def _early():\n        out_ref[...] = x_ref[...] * ids_ref[i]": 1,
    "@pl.when(i < off_ref[0])\n    def _some():\n        out_ref[...] = x_ref[...] * ids_ref[i]": 1,
    "pltpu.sync_copy(y_hbm.at[pl.ds(i * B, B)], buffer)": 2,
    "pltpu.sync_copy(y_hbm.at[pl.ds((i + 1) * B, B)], buffer)": 1,
    "pltpu.sync_copy(y_hbm.at[pl.ds(jnp.minimum(i, 0) * B, B)], buffer)": 1,
    "@pl.when(i == 0)\n    def _first():\n"
    "        pltpu.sync_copy(y_hbm.at[pl.ds(i * B, B)], buffer)": 1,
    "copy = pltpu.make_async_copy(y_hbm.at[pl.ds(i * B, B)], buffer, sem)\n"
    "    copy.start()\n    copy.wait()": 1,
}
FACTS = {"": 4, "assert x.shape[0] % B == 0": 2, "assert x.shape[0] == y.shape[0]": 1}

TEMPLATE = """
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

B = {block}
M = {most}


def by_helper(table, at):
    return table[at]


def kernel(ids_ref, off_ref, x_ref, y_hbm, out_ref, buffer, sem):
    i = pl.program_id(0)
    total = 0
    {first}
    {second}
    out_ref[...] = x_ref[...] * total


def launch(ids, off, x, y, n):
    {fact}
    steps = {grid}
    return steps, pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(({out_rows}, 4), jnp.float32),
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=2,
            grid=(steps,),
            in_specs=[
                pl.BlockSpec(({in_block}, 4), lambda i, ids, off: ({in_map}, 0)),
                pl.BlockSpec(memory_space=pl.ANY),
            ],
            out_specs=pl.BlockSpec((B, 4), lambda i, ids, off: ({out_map}, 0)),
            scratch_shapes=[pltpu.VMEM((B, 4), jnp.float32), pltpu.SemaphoreType.DMA],
        ),
        interpret=pltpu.InterpretParams(),
    )(ids, off, x, y)


launch = jax.jit(launch)
"""


@dataclass(frozen=True)
class Program:
    """A launch and the sizes of its operands."""

    text: str
    rows: int
    y_rows: int
    table: int
    offset: int
    features: tuple[str, ...]


@dataclass
class Result:
    """What came of the programs."""

    programs: int = 0
    bounded: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    tight: int = 0
    alive: int = 0
    """Launches of which some run was accepted at all."""
    runs: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)
    got: Counter[str] = field(default_factory=Counter)
    contradictions: list[str] = field(default_factory=list)


def pick(rng: random.Random, table: dict[str, int]) -> str:
    return rng.choices(list(table), list(table.values()))[0]


def program(seed: int) -> Program:
    """The program of a seed."""
    rng = random.Random(seed)
    block, most = rng.randint(1, 4), rng.randint(1, 9)
    fact = pick(rng, FACTS)
    rows = rng.randint(1, 16)
    if "%" in fact:
        rows = block * rng.randint(1, 5)
    y_rows = rows if "==" in fact and "%" not in fact else rng.randint(block, 16)
    element = rng.random() < 0.15
    in_map = f"({pick(rng, MAPS)}) * B" if element else pick(rng, MAPS)
    out_map = "0" if rng.random() < 0.75 else "i"
    parts = {
        "grid": pick(rng, GRIDS),
        "in_map": in_map,
        "out_map": out_map,
        "first": pick(rng, TOUCHES),
        "second": pick(rng, TOUCHES),
        "fact": fact,
    }
    text = TEMPLATE.format(
        block=block,
        most=most,
        in_block="pl.Element(B)" if element else "B",
        out_rows="x.shape[0]" if out_map == "i" else "B",
        **parts,
    )
    features = tuple(f"{name}: {part}" for name, part in parts.items() if part)
    return Program(text, rows, y_rows, rng.randint(1, 9), rng.randint(0, 2), features)


def bound_of(text: str) -> tuple[str | None, str]:
    """The bound's expression (or None) and its kind (or the refusal's code)."""
    from pallas_static_grid.analysis import analyse
    from pallas_static_grid.analysis.modules import parse_module
    from pallas_static_grid.analysis.project import Project

    (facts,) = analyse(parse_module("generated.py", text), Project(()))
    assert facts.launch.verdict == "dynamic", text
    (dim,) = facts.launch.dims
    if dim.bound is None:
        assert facts.launch.refusal is not None
        return None, facts.launch.refusal.code
    return dim.bound.expression, dim.bound.kind


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep what the interpreter prints of the exceptions that are wanted from the terminal."""
    sys.stderr.flush()
    with tempfile.TemporaryFile() as sink:
        saved = os.dup(2)
        os.dup2(sink.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(saved, 2)
            os.close(saved)


def run(module: ModuleType, operands: tuple[Any, ...], n: int) -> bool:
    """Whether the launch accepts a count (everything stays in range)."""
    import jax
    from jax.experimental.pallas import tpu as pltpu

    try:
        with quiet():
            jax.block_until_ready(module.launch(*operands, n))
    except Exception as error:
        assert "Out-of-bounds" in str(error) or "CpuCallback" in str(error), error
        pltpu.reset_tpu_interpret_mode_state()
        return False
    return True


def check(seed: int, result: Result) -> None:
    """Hold the bound of one program against runs."""
    import jax.numpy as jnp

    made = program(seed)
    result.programs += 1
    result.seen.update(made.features)
    expression, kind = bound_of(made.text)
    if expression is None:
        result.refused[kind] += 1
        return
    result.bounded += 1
    result.kinds[kind] += 1
    result.got.update(made.features)
    module = ModuleType("generated")
    exec(compile(made.text, "<generated>", "exec"), module.__dict__)
    operands = (
        jnp.arange(made.table, dtype=jnp.int32),
        jnp.full((1,), made.offset, jnp.int32),
        jnp.ones((made.rows, 4)),
        jnp.ones((made.y_rows, 4)),
    )
    names = dict(zip(("ids", "off", "x", "y"), operands, strict=True))
    bound = eval(expression, dict(module.__dict__), names)
    assert isinstance(bound, int), expression
    grid = made.text.split("steps = ")[1].split("\n")[0]
    steps = {n: int(eval(grid, dict(module.__dict__), names | {"n": n})) for n in range(-3, 45)}
    beyond = sorted({s: n for n, s in reversed(steps.items()) if s > max(bound, 0)}.items())
    if kind == "value" and beyond:
        result.contradictions.append(f"seed {seed}: the grid is {beyond[0]}, the bound {bound}")
        return
    for count, n in beyond[:2]:
        result.runs += 1
        if run(module, operands, n):
            result.contradictions.append(
                f"seed {seed}: {count} steps are accepted, the bound {expression} is {bound}"
            )
            return
    exact = [n for n, s in steps.items() if s == bound and s > 0]
    fewest = sorted((s, n) for n, s in steps.items() if 0 < s < bound)
    result.runs += 1
    if exact and run(module, operands, exact[0]):
        result.tight += 1
        result.alive += 1
    elif fewest and run(module, operands, fewest[0][1]):
        result.alive += 1


def report(result: Result) -> str:
    """The numbers, with the yield of each feature."""
    lines = [
        f"{result.programs} launches, {result.bounded} with a bound "
        f"({', '.join(f'{k} {v}' for k, v in sorted(result.kinds.items()))}), "
        f"{sum(result.refused.values())} refused "
        f"({', '.join(f'{k} {v}' for k, v in sorted(result.refused.items()))})",
        f"{result.runs} runs; {result.alive} launches run, {result.tight} of them up to the bound",
    ]
    for feature, seen in sorted(result.seen.items()):
        lines.append(f"  {result.got[feature]:4d} of {seen:4d}  {' '.join(feature.split())}")
    lines += [f"CONTRADICTION {text}" for text in result.contradictions]
    return "\n".join(lines)


def main() -> int:
    """The long mode."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    result = Result()
    for seed in range(options.seed, options.seed + options.programs):
        check(seed, result)
    print(report(result))
    return 1 if result.contradictions else 0


if __name__ == "__main__":
    sys.exit(main())
