"""Scans installed packages and prints what was found, how much is unknown, and what it cost.

    python tests/benchmarks/scan_wheels.py [PATH_OR_PACKAGE ...]     (jax if nothing is given)
    python tests/benchmarks/scan_wheels.py --alarms PATH       every launch that is not static

The processor time is set against that of `ast.parse` over the same candidate files. "Handed" are
launches inside wrappers, whose grid is judged at the wrapper's calls; they do not count for the
share of unknowns, and neither do launches without a grid.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LAUNCH_WORDS = (b"pallas_call", b"pallas", b"GridSpec")
HANDED_ON = "handed in"


@dataclass(frozen=True)
class Scan:
    """One run of `scan` over a tree."""

    name: str
    report: dict[str, Any]
    seconds: float
    megabytes: float
    parse_seconds: float
    candidates: int

    @property
    def launches(self) -> list[dict[str, Any]]:
        """Every launch of the tree."""
        return list(self.report["launches"])

    def judged(self) -> Iterator[dict[str, Any]]:
        """The launches that have a grid of their own."""
        for launch in self.launches:
            if launch["grid_kind"] != "none" and not handed_on(launch):
                yield launch


def handed_on(launch: dict[str, Any]) -> bool:
    """Whether the launch stands in a wrapper, which takes the grid from its caller."""
    return launch["grid_kind"] == "opaque" and any(
        HANDED_ON in step["reason"] for step in launch["why"]
    )


def locate(name: str) -> Path:
    """A path, or the folder of an installed package."""
    if Path(name).exists():
        return Path(name)
    found = importlib.util.find_spec(name)
    if found is None or not found.submodule_search_locations:
        raise SystemExit(f"{name} is neither a path nor an installed package")
    return Path(found.submodule_search_locations[0])


def parse_time(root: Path) -> tuple[float, int]:
    """Seconds that `ast.parse` takes over the files that may hold a launch, and their number."""
    texts = []
    for path in sorted(root.rglob("*.py")):
        data = path.read_bytes()
        if any(word in data for word in LAUNCH_WORDS):
            texts.append(data)
    start = time.process_time()
    for data in texts:
        try:
            ast.parse(data)
        except SyntaxError:
            continue
    return time.process_time() - start, len(texts)


def scan(name: str) -> Scan:
    """Scan one tree in a process of its own."""
    root = locate(name).resolve()
    with tempfile.TemporaryFile("w+b") as output:
        command = [sys.executable, "-m", "pallas_static_grid", "scan", "--format=json", "--jobs=1"]
        child = subprocess.Popen(
            [*command, root.name], cwd=root.parent, stdout=output, stderr=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(child.pid, 0)
        seconds = usage.ru_utime + usage.ru_stime
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        report = json.loads(output.read() or b'{"launches": [], "files": [], "scanned": 0}')
    parsed, candidates = parse_time(root)
    return Scan(root.name, report, seconds, usage.ru_maxrss / 1024, parsed, candidates)


HEAD = (
    f"{'tree':22}{'files':>6}{'cand.':>6}{'launch':>7}{'handed':>7}{'grid':>6}{'static':>7}"
    f"{'dynam.':>7}{'unkn.':>6}{'share':>7}{'bounds':>7}{'plans':>6}{'refus.':>7}{'s':>7}"
    f"{'parse':>7}{'ratio':>7}{'MB':>6}"
)


def row(result: Scan) -> str:
    """One line of the table."""
    judged = list(result.judged())
    verdicts = Counter(launch["verdict"] for launch in judged)
    bounds = sum(dim["bound"] is not None for launch in judged for dim in launch["dims"])
    share = verdicts["unknown"] / max(1, len(judged))
    return (
        f"{result.name:22}{result.report['scanned']:6}{result.candidates:6}"
        f"{len(result.launches):7}{sum(map(handed_on, result.launches)):7}{len(judged):6}"
        f"{verdicts['static']:7}{verdicts['dynamic']:7}{verdicts['unknown']:6}{share:7.1%}"
        f"{bounds:7}{sum(bool(x['plans']) for x in judged):6}"
        f"{sum(x['refusal'] is not None for x in judged):7}{result.seconds:7.1f}"
        f"{result.parse_seconds:7.2f}{result.seconds / max(result.parse_seconds, 1e-9):7.1f}"
        f"{result.megabytes:6.0f}"
    )


def alarms(result: Scan) -> Iterator[str]:
    """Every launch that is not static, with the end of its chain."""
    for launch in result.judged():
        if launch["verdict"] == "static":
            continue
        place = f"{launch['path']}:{launch['line']} {launch['function']} ({launch['api']})"
        yield f"{launch['verdict']:8} {place} {launch['grid']}"
        steps = [("grid", launch["why"], None)] if not launch["dims"] else []
        steps += [
            (dim["expression"], dim["why"], dim["bound"])
            for dim in launch["dims"]
            if dim["verdict"] != "static"
        ]
        for expression, why, bound in steps:
            for step in why[-3:]:
                yield f"    {expression}: {step['path']}:{step['line']} {step['reason']}"
            if bound is not None:
                yield f"    {expression} <= {bound['expression']} ({bound['kind']})"
        if launch["refusal"] is not None:
            yield f"    refused: {launch['refusal']['code']}: {launch['refusal']['reason']}"
        for plan in launch["plans"]:
            yield f"    plan: {plan['transform']} ({plan['safety']}): {plan['summary']}"


def main(arguments: list[str]) -> int:
    """Print the table, or the alarms."""
    if arguments[:1] == ["--alarms"]:
        for name in arguments[1:]:
            print("\n".join(alarms(scan(name))))
        return 0
    print(HEAD)
    failed = False
    for name in arguments or ["jax"]:
        result = scan(name)
        print(row(result), flush=True)
        for file in result.report["files"]:
            if file["status"] == "failed":
                failed = True
                print(f"    failed: {file['path']}: {file['reason']}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
