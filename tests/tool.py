"""Runs the command as a user would, in this process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from pallas_static_grid.cli import main

# The command forks a process per run, and these are slow to import: here they are imported once.
from pallas_static_grid.transforms import TRANSFORMS  # noqa: F401


@dataclass(frozen=True)
class Outcome:
    """What one command printed and returned."""

    exit_code: int
    stdout: str
    stderr: str


def run_tool(*arguments: str, typed: str = "") -> Outcome:
    """`pallas-static-grid ARGUMENTS`; an exception is not an exit code, so it is raised."""
    result = CliRunner().invoke(main, list(arguments), input=typed)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Outcome(result.exit_code, result.stdout, result.stderr)


def launches_of(file: Path, *arguments: str) -> list[dict[str, Any]]:
    """The launches of a file as `diff --format json` gives them."""
    outcome = run_tool("diff", "--format=json", *arguments, str(file))
    if outcome.exit_code not in (0, 1):
        raise RuntimeError(outcome.stderr)
    launches: list[dict[str, Any]] = json.loads(outcome.stdout)["launches"]
    return [launch for launch in launches if Path(launch["path"]).name == file.name]
