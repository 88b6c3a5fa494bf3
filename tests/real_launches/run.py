"""Rewrite launches of public packages in a scratch copy, and run them before and after.

    python tests/real_launches/run.py --root DIR [--only TEXT] [--list]

DIR holds one folder per package, unpacked (`pip download --no-deps NAME`, then `unzip`; or a
clone): `--list` names the folders and the files that are looked for. Nothing in DIR is changed.
The packages' light dependencies must be installed beside this project and JAX; a launch that cannot
be imported or run is reported with the error's text. The modules beside this one give, for each
launch, inputs and, where that is easy, a NumPy reference (see `case.py`).

Printed is one row per launch: what the tool made of it, and how that was checked. Both versions run
under TPU interpret mode, where memory that nobody wrote holds NaN and blocks out of bounds raise.
Exit code 1 if any result differs, or if a rewrite raises where the original did not.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
os.environ.setdefault("JAX_PLATFORMS", "cpu")

# Found by the path above, so not at the top.
from case import Case  # noqa: E402

SECONDS = 900
"""A rewrite that awaits a DMA nobody started never ends."""
TOOL = (sys.executable, "-m", "pallas_static_grid")
NO_LAUNCH = "no such launch"
NO_FAMILIES = {"run", "case", "child", "compare", "ragged_batches", "ref_views"}


@dataclass(frozen=True)
class Row:
    """What became of one launch."""

    case: Case
    outcome: str
    checked: str
    failed: bool = False


def families() -> Iterator[tuple[str, Case]]:
    """The cases of the modules beside this one, each with its module's name."""
    for path in sorted(HERE.glob("*.py")):
        if path.stem not in NO_FAMILIES:
            for case in importlib.import_module(path.stem).CASES:
                yield path.stem, case


def rewritten(case: Case, root: Path, scratch: Path) -> Path:
    """A copy of the case's package in which the tool rewrote the file of the launch."""
    copy = scratch / case.package
    if not copy.exists():
        ignored = shutil.ignore_patterns(".git", "__pycache__")
        shutil.copytree(root / case.package, copy, ignore=ignored)
    tool_output("apply", "--allow-dirty", *case.arguments, case.file, folder=scratch)
    return scratch


def tool_output(*arguments: str, folder: Path) -> bytes:
    """What the command prints, run in a folder; it exits 1 where something can be rewritten."""
    done = subprocess.run((*TOOL, *arguments), cwd=folder, capture_output=True)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr.decode())
    return done.stdout


def outcome_of(case: Case, root: Path) -> str:
    """What the tool plans for the launch: a transform's name, or a refusal's code."""
    found = tool_output("scan", "--format=json", *case.arguments, case.file, folder=root)
    launches = [
        launch for launch in json.loads(found)["launches"] if launch["function"] == case.function
    ]
    if not launches:
        return NO_LAUNCH
    (launch,) = launches
    if launch["refusal"] is not None:
        return f"refused: {launch['refusal']['code']}"
    return ", ".join(plan["transform"] for plan in launch["plans"]) or launch["verdict"]


def results_of(family: str, index: int, root: Path, mode: str) -> list[tuple[str, Any]]:
    """What a child process got for each input of a case: arrays, or an error's text."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "results"
        child = (sys.executable, HERE / "child.py", family, str(index), root, mode, out)
        try:
            done = subprocess.run(child, capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return [("all", f"no end after {SECONDS} s")]
        if not out.exists():
            return [("all", (done.stderr.strip().splitlines() or ["no output"])[-1])]
        results: list[tuple[str, Any]] = pickle.loads(out.read_bytes())
        return results


def check(family: str, index: int, case: Case, root: Path, scratch: Path) -> Row:
    """Rewrite, run, compare."""
    from compare import verdict_of

    if not (root / case.file).exists():
        return Row(case, "-", f"not run: no {case.file}")
    try:
        outcome = outcome_of(case, root)
        if "pad_and_mask" not in outcome:
            return Row(case, outcome, "-", failed=outcome == NO_LAUNCH)
        after_root = rewritten(case, root, scratch)
    except RuntimeError as error:
        return Row(case, "the tool fails", str(error).strip(), failed=True)
    checked = []
    failed = False
    for mode in case.modes:
        before = results_of(family, index, root, mode)
        after = results_of(family, index, after_root, mode)
        verdict = verdict_of(case, before, after)
        failed |= verdict.failed
        checked.append(f"{mode}: {verdict.text}")
    return Row(case, outcome, "; ".join(checked), failed)


def main() -> int:
    """Run the cases asked for and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--root", type=Path, required=True, help="folder with the packages")
    parser.add_argument("--only", default="", help="part of a launch's name")
    parser.add_argument("--list", action="store_true", help="list the launches, run nothing")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        positions: dict[str, int] = {}
        for family, case in families():
            index = positions[family] = positions.get(family, -1) + 1
            if options.only not in case.name:
                continue
            if options.list:
                print(case.name)
                continue
            row = check(family, index, case, options.root.resolve(), Path(scratch))
            print(f"| {case.name} | {row.outcome} | {row.checked} |", flush=True)
            rows.append(row)
    return int(any(row.failed for row in rows))


if __name__ == "__main__":
    sys.exit(main())
