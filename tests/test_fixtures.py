"""Every fixture: exact output, stability, comments, formatting, and refusals as written down."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path

import pytest
from tool import launches_of, run_tool

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
CASES = sorted(path.parent for path in FIXTURES.glob("*/*/before.py"))
REWRITTEN = [case for case in CASES if (case / "after.py").exists()]


def name_of(case: Path) -> str:
    return case.relative_to(FIXTURES).as_posix()


def arguments_of(case: Path) -> list[str]:
    listed = case / "arguments.txt"
    return listed.read_text().splitlines() if listed.exists() else []


def copied(case: Path, workspace: Path) -> Path:
    """`before.py` and the modules it imports, in the workspace."""
    for file in case.glob("*.py"):
        if file.name not in ("after.py", "case.py"):
            shutil.copy(file, workspace)
    return workspace / "before.py"


def comments(text: str) -> Counter[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return Counter(token.string for token in tokens if token.type == tokenize.COMMENT)


def is_formatted(path: Path) -> bool:
    ruff = [sys.executable, "-m", "ruff"]
    if subprocess.run([*ruff, "--version"], capture_output=True, check=False).returncode != 0:
        pytest.skip("ruff is not installed")
    command = [*ruff, "format", "--check", "--isolated", str(path)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def refused(case: Path) -> list[tuple[int, str, int]]:
    listed = case / "refused.txt"
    lines = listed.read_text().splitlines() if listed.exists() else []
    entries = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    return [(int(launch), code, int(at)) for launch, code, at in entries]


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_output_is_exact_and_stable(case: Path, workspace: Path) -> None:
    arguments = arguments_of(case)
    file = copied(case, workspace)
    before = file.read_bytes()
    expected = case / "after.py"
    wanted = expected.read_bytes() if expected.exists() else before

    outcome = run_tool("apply", *arguments, file.name)
    assert outcome.exit_code in (0, 1), outcome.stderr
    assert file.read_bytes().decode() == wanted.decode()
    compile(wanted, str(file), "exec")

    again = run_tool("apply", *arguments, file.name)
    assert again.exit_code == outcome.exit_code
    assert file.read_bytes() == wanted


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_refusals_are_the_listed_ones(case: Path, workspace: Path) -> None:
    launches = launches_of(copied(case, workspace), *arguments_of(case))
    found = [
        (launch["line"], launch["refusal"]["code"], launch["refusal"]["line"])
        for launch in launches
        if launch["refusal"] is not None
    ]
    assert found == refused(case)
    for launch in launches:
        if launch["refusal"] is not None:
            assert launch["plans"] == []
            assert launch["refusal"]["reason"]
            assert launch["refusal"]["hint"]


@pytest.mark.parametrize("case", REWRITTEN, ids=name_of)
def test_comments_survive(case: Path) -> None:
    before = comments((case / "before.py").read_text())
    after = comments((case / "after.py").read_text())
    assert not before - after


@pytest.mark.parametrize("case", REWRITTEN, ids=name_of)
def test_formatting_survives(case: Path) -> None:
    if is_formatted(case / "before.py"):
        assert is_formatted(case / "after.py")


def test_refusals_and_no_ops_are_at_least_as_many_as_rewrites() -> None:
    assert len(CASES) - len(REWRITTEN) >= len(REWRITTEN)
