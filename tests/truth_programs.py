"""Runs generated programs and compares what was recorded with what the tool says."""

from __future__ import annotations

import itertools
import sys
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax.numpy as jnp
from generate_programs import FLAGS, Program
from pallas_static_grid.analysis import analyse
from pallas_static_grid.analysis.modules import parse_module
from pallas_static_grid.analysis.project import Project
from pallas_static_grid.model import Launch
from truth_recorder import Record, Stop, recording

ROOT = Path("/generated")
PATH = ROOT / "program.py"


def trace(program: Program) -> list[Record]:
    """Run a program for every combination of its flags; the launches that ran."""
    name = "generated_program"
    with recording(ROOT, stop=not program.repeats) as recorder:
        module = types.ModuleType(name)
        module.__file__ = str(PATH)
        sys.modules[name] = module
        try:
            exec(compile(program.source, str(PATH), "exec"), vars(module))
            for chosen in itertools.product([False, True], repeat=len(program.flags)):
                given = dict.fromkeys(FLAGS, False) | dict(zip(program.flags, chosen, strict=True))
                _call(vars(module)["entry"], program, given)
        finally:
            del sys.modules[name]
    return [record for record in recorder.records if record.api != "GridSpec"]


def _call(entry: Any, program: Program, flags: dict[str, bool]) -> None:
    x = jnp.ones((16, 8), jnp.float32)
    sizes = jnp.full((6,), 2, jnp.int32)
    n = jnp.int32(5) if program.traced_n and "annotations" in program.features else 5
    try:
        if "keyword only" in program.features:
            entry(x, sizes, n, **flags)
        else:
            entry(x, sizes, n, *flags.values())
    except Stop:
        return


@dataclass(frozen=True)
class Finding:
    """A dimension whose verdict and recordings disagree."""

    index: int
    verdict: str
    seen: tuple[bool, ...]

    def __str__(self) -> str:
        return f"dim {self.index} is called {self.verdict}, and was an int: {list(self.seen)}"


def contradictions(verdicts: tuple[str, ...], records: list[Record]) -> list[Finding]:
    """Dimensions called static that were no int, or called dynamic that always were."""
    found = []
    for index, verdict in enumerate(verdicts):
        seen = tuple(record.dims[index] for record in records)
        if (verdict == "static" and not all(seen)) or (verdict == "dynamic" and all(seen)):
            found.append(Finding(index, verdict, seen))
    return found


def verdicts(program: Program) -> tuple[Launch, ...]:
    """What the tool says of a program: the launches whose grid is in sight."""
    module = parse_module(str(PATH), program.source)
    launches = [facts.launch for facts in analyse(module, Project())]
    return tuple(launch for launch in launches if launch.grid_kind != "opaque")


def judge(program: Program) -> tuple[Launch, list[Finding]]:
    """Trace a program and judge it: its launch, and where the two disagree."""
    records = trace(program)
    found = verdicts(program)
    if len(found) != 1:
        raise AssertionError(f"{len(found)} launches with a grid, not one")
    launch = found[0]
    if any(len(record.dims) != len(launch.dims) for record in records):
        raise AssertionError(f"{len(launch.dims)} dimensions, not {len(program.dims)}")
    return launch, contradictions(tuple(dim.verdict for dim in launch.dims), records)
