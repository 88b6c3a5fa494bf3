"""Run the shell sessions in README.md, and compare or replace the output shown there.

    python docs/console.py            write what the commands print now
    python docs/console.py --check    exit 1 if something else is printed than shown

A session is a fenced block marked `console`: lines that start with `$ ` are commands, `> ` goes on
with one, and the rest is output. All sessions run one after the other in a copy of fixtures/demo
that is a repository of its own. A line `...` in shown output stands for any lines.

The first block marked `diff` is the patch of one kernel of the demo, without its head.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
EXAMPLE = "raggedkit/kernels/gated.py"
DIFF = re.compile(r"^```diff\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Step:
    """A command and what is shown of its output."""

    command: str
    shown: str

    @property
    def source(self) -> str:
        """The command as it stands in the block."""
        first, *rest = self.command.split("\n")
        return "\n".join([f"$ {first}", *(f"> {line}".rstrip() for line in rest)]) + "\n"


def sessions(text: str) -> list[list[Step]]:
    """The steps of each session of a page."""
    return [steps(match.group(1)) for match in BLOCK.finditer(text)]


def steps(block: str) -> list[Step]:
    """The commands of a block with the output that follows each."""
    commands: list[list[str]] = []
    outputs: list[list[str]] = []
    for line in block.splitlines(keepends=True):
        if line.startswith("$ "):
            commands.append([line[2:].rstrip("\n")])
            outputs.append([])
        elif line.startswith("> ") and not outputs[-1]:
            commands[-1].append(line[2:].rstrip("\n"))
        elif line.rstrip() == ">" and not outputs[-1]:
            commands[-1].append("")
        else:
            outputs[-1].append(line)
    return [
        Step("\n".join(command), "".join(output))
        for command, output in zip(commands, outputs, strict=True)
    ]


class Shell:
    """A fresh copy of the demo repository, and the commands run in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "demo"
        shutil.copytree(
            ROOT / "fixtures" / "demo",
            self.folder,
            ignore=shutil.ignore_patterns("__pycache__", ".*"),
        )
        self.environment = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "COLUMNS": "100",
            "NO_COLOR": "1",
            "JAX_PLATFORMS": "cpu",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_ADDOPTS": "-p no:cacheprovider",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
            **{
                f"GIT_{who}_{what}": value
                for who in ("AUTHOR", "COMMITTER")
                for what, value in (("NAME", "Ann"), ("EMAIL", "ann@example.org"))
            },
        }
        for command in ("git init -q -b main", "git add .", "git commit -q -m start"):
            self.run(command)

    def run(self, command: str) -> str:
        """What a command prints, on both streams."""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        lines = [line.rstrip() for line in done.stdout.splitlines()]
        return "".join(line + "\n" for line in lines)


def agrees(shown: str, printed: str) -> bool:
    """Whether the shown output is what was printed, `...` standing for any lines."""
    parts = re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE)
    pattern = "(?:.*\n)*?".join(re.escape(part) for part in parts)
    return re.fullmatch(pattern, printed) is not None


def example(folder: Path) -> str:
    """The hunks that the tool makes for the example."""
    printed = Shell(folder).run(f"pallas-static-grid diff --quiet {EXAMPLE}")
    return printed[printed.index("@@ ") :]


def run_all(text: str, folder: Path) -> list[tuple[Step, str]]:
    """Every step of a page, with what it prints now."""
    shell = Shell(folder)
    return [(step, shell.run(step.command)) for session in sessions(text) for step in session]


def differences(text: str, folder: Path) -> list[tuple[Step, str]]:
    """The steps of a page that print something else than is shown."""
    return [
        (step, printed)
        for step, printed in run_all(text, folder)
        if not agrees(step.shown, printed)
    ]


def brought_up_to_date(text: str, folder: Path) -> str:
    """The page with what its commands print now.

    Shown output that agrees stays as it is, and so does output that leaves lines out.
    """
    results = iter(run_all(text, folder))

    def block(match: re.Match[str]) -> str:
        parts = [
            step.source + (step.shown if _stays(step, printed) else printed)
            for step, printed in (next(results) for _ in steps(match.group(1)))
        ]
        return "```console\n" + "".join(parts) + "```"

    with tempfile.TemporaryDirectory() as other:
        hunks = example(Path(other))
    text = DIFF.sub(lambda match: f"```diff\n{hunks}```", text, count=1)
    return BLOCK.sub(block, text)


def _stays(step: Step, printed: str) -> bool:
    if "...\n" in step.shown and not agrees(step.shown, printed):
        print(f"to be changed by hand:\n{step.source}{printed}", file=sys.stderr)
        return True
    return agrees(step.shown, printed)


def main(arguments: list[str]) -> int:
    """Compare, or bring up to date."""
    text = README.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        if arguments != ["--check"]:
            README.write_text(brought_up_to_date(text, Path(folder)), encoding="utf-8")
            return 0
        found = differences(text, Path(folder))
    for step, printed in found:
        print(f"{step.source}{printed}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
