"""Runs the command as a user would, in this process."""

from __future__ import annotations

from dataclasses import dataclass

from click.testing import CliRunner


@dataclass(frozen=True)
class Outcome:
    """What one command printed and returned."""

    exit_code: int
    stdout: str
    stderr: str


def run_tool(*arguments: str) -> Outcome:
    """`pallas-static-grid ARGUMENTS`; an exception is not an exit code, so it is raised."""
    from pallas_static_grid.cli import main

    result = CliRunner().invoke(main, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Outcome(result.exit_code, result.stdout, result.stderr)
