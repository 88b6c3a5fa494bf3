"""Runs the command on fixtures, with what their folders say beside `before.py`."""

from __future__ import annotations

import contextlib
import json
import runpy
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from pallas_static_grid import attempts
from tool import Outcome, launches_of, run_tool

NOT_OURS = ("after.py", "case.py", "transform.py")
"""Files of a fixture that the code in `before.py` has nothing to do with."""


def arguments_of(case: Path) -> list[str]:
    """Further command-line options."""
    listed = case / "arguments.txt"
    return listed.read_text().splitlines() if listed.exists() else []


def copied(case: Path, workspace: Path) -> Path:
    """`before.py` and the modules it imports, in the workspace."""
    for file in case.glob("*.py"):
        if file.name not in NOT_OURS:
            shutil.copy(file, workspace)
    return workspace / "before.py"


def apply(case: Path, file: Path) -> Outcome:
    """`apply`, with the answers of the fixture where it gives any."""
    answers = case / "answers.txt"
    asking = ["--interactive"] if answers.exists() else []
    keys = answers.read_text() if answers.exists() else ""
    with _transforms(case):
        return run_tool("apply", *asking, *arguments_of(case), file.name, typed=keys)


def refusals(case: Path, file: Path) -> list[dict[str, Any]]:
    """The refused launches of the file, as JSON reports list them; `file` may be changed."""
    if (case / "answers.txt").exists():
        before = file.read_bytes()
        report = file.with_name("report.json")
        keys = (case / "answers.txt").read_text()
        given = ("--interactive", "--format=json", f"--output={report.name}")
        run_tool("apply", *given, *arguments_of(case), file.name, typed=keys)
        launches = json.loads(report.read_text())["launches"]
        report.unlink()
        file.write_bytes(before)
    else:
        with _transforms(case):
            launches = launches_of(file, *arguments_of(case))
    return [launch for launch in launches if launch["refusal"] is not None]


@contextlib.contextmanager
def _transforms(case: Path) -> Iterator[None]:
    """The transform of the fixture takes the place of all others."""
    with contextlib.ExitStack() as stack:
        path = case / "transform.py"
        if path.exists():
            transform = runpy.run_path(str(path))["TRANSFORM"]
            stack.enter_context(mock.patch.object(attempts, "TRANSFORMS", (transform,)))
        yield
