"""The tool against generated launches: rewritten ones compute the same, hopeless ones are refused.

As a script, the long mode:

    python tests/differential.py --launches 500 --processes 2

prints how many launches of each feature were rewritten, refused, and found equal.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import generate_launches
import jax_harness
from generate_launches import Launch
from pallas_static_grid.model import Changed, Clean, Options
from pallas_static_grid.pipeline import examine
from pallas_static_grid.run import project_for
from pallas_static_grid.source import Source, decode

Kind = Literal["bounded", "hopeless"]


@dataclass(frozen=True)
class Verdict:
    """What became of one generated launch."""

    kind: Kind
    seed: int
    features: tuple[str, ...]
    refusal: str | None
    """The refusal's code; None if the launch was rewritten."""
    problem: str | None = None
    """How the rewritten launch differs from the original, if it does."""

    @property
    def outcome(self) -> str:
        if self.problem is not None:
            return "wrong"
        return "rewritten" if self.refusal is None else "refused"


def generated(kind: Kind, seed: int) -> Launch:
    make = generate_launches.bounded if kind == "bounded" else generate_launches.hopeless
    return make(seed)


def rewrite(launch: Launch) -> tuple[str, str | None]:
    """What the tool made of a launch, and the refusal's code if it left it alone."""
    source = decode("generated.py", launch.source.encode(), "generated.py")
    assert isinstance(source, Source)
    report = examine(source, Options(), project_for((), Path.cwd()))
    if isinstance(report, Changed):
        return report.after.decode(), None
    assert isinstance(report, Clean), report
    found = report.launches[0]
    code = found.refusal.code if found.refusal else f"no plan, {found.verdict}"
    return launch.source, code


def check(kind: Kind, seed: int, *, run: bool = True, originals: bool = False) -> Verdict:
    """Rewrite one generated launch and, if asked, run it at every count."""
    launch = generated(kind, seed)
    text, refusal = rewrite(launch)
    problem = None
    if refusal is None and run:
        with tempfile.TemporaryDirectory() as folder:
            before, after = Path(folder) / "before.py", Path(folder) / "after.py"
            before.write_text(launch.source)
            after.write_text(text)
            problem = next(_problems(launch, before if originals else None, after), None)
    return Verdict(kind, seed, launch.features, refusal, problem)


def _problems(launch: Launch, before: Path | None, after: Path) -> Iterator[str]:
    if before is not None:
        mode = jax_harness.TPU_SEQUENTIAL if launch.parallel else jax_harness.TPU
        yield from _differences(launch, before, mode)
    yield from _differences(launch, after, jax_harness.TPU)
    for seed in (0, 1) if launch.parallel else ():
        mode = jax_harness.two_cores(seed, watch_races=False)
        yield from _differences(launch, after, mode)


def _differences(launch: Launch, path: Path, mode: jax_harness.Mode) -> Iterator[str]:
    arguments = [args for _, args in launch.inputs]
    try:
        results = jax_harness.run_all(path, _entry, arguments, mode)
    except Exception as error:  # Whatever a wrong rewrite makes JAX raise is a finding.
        text = [line for line in str(error).splitlines() if "Error" in line] or [str(error)]
        yield f"{path.stem}, {mode.name}: {type(error).__name__}: {text[-1][:200]}"
        return
    for (label, args), result in zip(launch.inputs, results, strict=True):
        wrong = jax_harness.differences(result, launch.reference(*args))
        if wrong is not None:
            yield f"{path.stem}, {mode.name}, {label}: {wrong}"


def _entry(module: ModuleType) -> Any:
    return module.run


def _check_one(task: tuple[Kind, int]) -> Verdict:
    return check(*task, run=task[0] == "bounded", originals=True)


def main() -> int:
    """The long mode."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--launches", type=int, default=500)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.launches)
    kinds: tuple[Kind, ...] = ("bounded", "hopeless")
    tasks = [(kind, seed) for kind in kinds for seed in seeds]
    return report(list(_watched(_verdicts(tasks, options.processes), len(tasks))))


def _verdicts(tasks: list[tuple[Kind, int]], processes: int) -> Iterator[Verdict]:
    """The verdicts in order, from new processes now and then: JAX keeps all that it compiled.

    (A pool's own limit of tasks per process can wait for ever for a process to replace one.)
    """
    some = 50 * processes
    for first in range(0, len(tasks), some):
        with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
            yield from pool.map(_check_one, tasks[first : first + some], chunksize=5)


def _watched(verdicts: Iterable[Verdict], total: int) -> Iterator[Verdict]:
    """Print how far it is every 25 launches, and at once what is wrong."""
    so_far: Counter[str] = Counter()
    for number, verdict in enumerate(verdicts, 1):
        so_far[f"{verdict.kind} {verdict.outcome}"] += 1
        if verdict.problem is not None:
            print(f"{verdict.kind} seed {verdict.seed}: {verdict.problem}", flush=True)
        if number % 25 == 0 or number == total:
            print(f"{number} of {total}: {dict(so_far)}", flush=True)
        yield verdict


def report(verdicts: list[Verdict]) -> int:
    """Print the yields; non-zero if a launch was wrong or a limit was missed."""
    failed = 0
    for kind in ("bounded", "hopeless"):
        chosen = [verdict for verdict in verdicts if verdict.kind == kind]
        totals = Counter(verdict.outcome for verdict in chosen)
        print(f"\n{kind}: {dict(totals)} of {len(chosen)}")
        print(f"{'feature':32s} rewritten  refused  wrong")
        for feature in sorted({name for verdict in chosen for name in verdict.features}):
            row = Counter(v.outcome for v in chosen if feature in v.features)
            print(f"{feature:32s} {row['rewritten']:9d} {row['refused']:8d} {row['wrong']:6d}")
        print("refused as:", dict(Counter(v.refusal for v in chosen if v.refusal).most_common()))
        for verdict in chosen:
            if verdict.problem is not None:
                print(f"seed {verdict.seed}: {verdict.problem}")
        limit = 0.1 * len(chosen) if kind == "bounded" else len(chosen)
        enough = totals["refused"] <= limit if kind == "bounded" else totals["refused"] == limit
        failed |= bool(totals["wrong"]) or not enough
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
