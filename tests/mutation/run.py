"""Run every fixture's checks on one-line mutants of its rewritten file, and list the survivors.

    python tests/mutation/run.py [--only pad_and_mask/elementwise] [--processes 2]

`survivors.md` beside this file says of each known survivor why it is equivalent; one that is not
listed there makes the exit code 1.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
os.environ.setdefault("JAX_PLATFORMS", "cpu")

# Found by the path above, so not at the top.
import fixture_cases  # noqa: E402
from fixture_cases import Case  # noqa: E402
from mutants import Mutant, mutants  # noqa: E402

PATIENCE = 5
"""A mutant that awaits a DMA nobody started never ends: one that takes so many times as long as
the rewritten file itself counts as killed."""


def killed_by(case: Case, source: str) -> str | None:
    """The first check that fails on this text, or None if all of them pass."""
    with tempfile.TemporaryDirectory() as folder:
        for neighbour in case.folder.glob("*.py"):
            shutil.copy(neighbour, folder)
        path = Path(folder) / "after.py"
        path.write_text(source)
        try:
            for mode in case.modes():
                case.check(path, mode)
            for platform in case.get("LOWERS", ()):
                case.check_lowering(path, platform)
            if case.masked:
                case.check_dead_steps(path)
            case.check_overflows(path)
            if case.parallel:
                for mode, inputs in case.two_cores():
                    case.check(path, mode, inputs)
        except Exception as error:  # Any failure kills a mutant, whatever JAX makes of it.
            return type(error).__name__
    return None


def _serve(connection: Connection, name: str) -> None:
    """In a process of its own: one answer for each text that comes in."""
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - the interpreter prints what it raises
    (case,) = [case for case in fixture_cases.collected() if case.name == name]
    while True:
        connection.send(killed_by(case, connection.recv()))


def outcomes(case: Case) -> Iterator[tuple[Mutant, str | None]]:
    """What kills each mutant of one fixture."""
    text = case.after.read_text()
    judge: _Judge | None = None
    limit = 0.0
    for mutant in mutants(case.before.read_text(), text):
        if judge is None:
            judge = _Judge(case.name)
            start = time.monotonic()
            killer = judge.verdict(text, None)
            if killer is not None:
                raise RuntimeError(f"{case.name}: the rewritten file itself fails: {killer}")
            limit = max(limit, 60 + PATIENCE * (time.monotonic() - start))
        killer = judge.verdict(mutant.source, limit)
        yield mutant, killer
        if killer == NO_END:
            judge.end()
            judge = None
    if judge is not None:
        judge.end()


NO_END = "no end"


class _Judge:
    """A process that runs the checks of one fixture on one text after the other."""

    def __init__(self, name: str) -> None:
        context = get_context("spawn")
        self.ours, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, name), daemon=True)
        self.process.start()

    def verdict(self, text: str, limit: float | None) -> str | None:
        """What kills the text within so many seconds."""
        self.ours.send(text)
        if not self.ours.poll(limit):
            return NO_END
        killer: str | None = self.ours.recv()
        return killer

    def end(self) -> None:
        """No more texts."""
        self.process.kill()


def explained() -> tuple[str, ...]:
    """How the survivors begin that `survivors.md` explains."""
    lines = (HERE / "survivors.md").read_text().splitlines()
    return tuple(line.removeprefix("* `").split("`:")[0] for line in lines if line[:3] == "* `")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    options = parser.parse_args()
    cases = [
        case
        for case in fixture_cases.collected()
        if case.after.exists() and (not options.only or case.name in options.only)
    ]
    known, unexplained = explained(), 0
    tally: Counter[tuple[str, bool]] = Counter()
    with ThreadPoolExecutor(options.processes) as pool:
        for case, results in zip(cases, pool.map(lambda c: list(outcomes(c)), cases), strict=True):
            print(f"{case.name}: {len(results)} mutants", flush=True)
            for mutant, killer in results:
                tally[mutant.kind, killer is not None] += 1
                if killer is None:
                    labels = (f"{case.name}: {mutant}", f"any fixture: {mutant}")
                    is_known = any(label.startswith(known) for label in labels)
                    unexplained += not is_known
                    print(f"  {'explained' if is_known else 'SURVIVES'}  {labels[0]}")
    print(f"\n{'mutation':24s} killed  alive")
    for kind in sorted({kind for kind, _ in tally}):
        print(f"{kind:24s} {tally[kind, True]:6d} {tally[kind, False]:6d}")
    return int(unexplained > 0)


if __name__ == "__main__":
    sys.exit(main())
