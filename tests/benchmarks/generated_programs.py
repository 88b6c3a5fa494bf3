"""Judges generated programs against their traces, and prints the yield per language feature.

    python tests/benchmarks/generated_programs.py [COUNT] [FIRST_SEED]

Exits with 1 if a verdict is contradicted by a trace, or more than a tenth of the dimensions are
unknown.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from generate_programs import Program, from_seed
from pallas_static_grid.model import Launch
from truth_programs import judge

UNKNOWN_AT_MOST = 0.10


@dataclass
class Tally:
    """Verdicts counted, in all and per feature."""

    verdicts: Counter[str] = field(default_factory=Counter)
    features: dict[str, Counter[str]] = field(default_factory=dict)
    contradicted: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def add(self, program: Program, launch: Launch) -> None:
        """Count the dimensions of one program."""
        for dim, features in zip(launch.dims, program.dims, strict=True):
            self.verdicts[dim.verdict] += 1
            for feature in features | program.features:
                self.features.setdefault(feature, Counter())[dim.verdict] += 1

    @property
    def unknown(self) -> float:
        """The share of unknown dimensions."""
        return self.verdicts["unknown"] / max(1, self.verdicts.total())


def run(seeds: range) -> Tally:
    """Judge the programs of these seeds."""
    tally = Tally()
    for seed in seeds:
        program = from_seed(seed)
        try:
            launch, findings = judge(program)
        except Exception as error:  # a crash of the tool is a finding, not the end of the run
            tally.failed.append(f"seed {seed}: {type(error).__name__}: {error}")
            continue
        tally.add(program, launch)
        tally.contradicted += [f"seed {seed}: {finding}" for finding in findings]
    return tally


def show(tally: Tally, count: int, seconds: float) -> None:
    """Print the table, the worst features first."""
    print(f"{'feature':36}{'dims':>7}{'static':>8}{'dynamic':>9}{'unknown':>9}{'share':>8}")
    rows = sorted(
        tally.features.items(), key=lambda row: (-row[1]["unknown"] / row[1].total(), row[0])
    )
    for feature, counts in rows:
        share = counts["unknown"] / counts.total()
        print(
            f"{feature:36}{counts.total():7}{counts['static']:8}{counts['dynamic']:9}"
            f"{counts['unknown']:9}{share:8.1%}"
        )
    for line in [*tally.contradicted, *tally.failed]:
        print(line)
    print(
        f"\n{count} programs, {tally.verdicts.total()} dimensions: {dict(tally.verdicts)}; "
        f"unknown {tally.unknown:.1%}; contradicted {len(tally.contradicted)}; "
        f"failed {len(tally.failed)}; {seconds:.0f} s"
    )


def main(arguments: list[str]) -> int:
    """Run and print; the exit code."""
    count = int(arguments[0]) if arguments else 2000
    first = int(arguments[1]) if len(arguments) > 1 else 0
    start = time.perf_counter()
    tally = run(range(first, first + count))
    show(tally, count, time.perf_counter() - start)
    bad = tally.contradicted or tally.failed or tally.unknown > UNKNOWN_AT_MOST
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
