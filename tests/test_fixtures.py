"""Every fixture: exact output, stability, comments, formatting, and refusals as written down."""

from __future__ import annotations

import io
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path

import pytest
from fixture_tool import apply, copied, refusals
from pallas_static_grid.catalogue import REFUSALS

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
CASES = sorted(path.parent for path in FIXTURES.glob("*/*/before.py"))
REWRITTEN = [case for case in CASES if (case / "after.py").exists()]


def name_of(case: Path) -> str:
    return case.relative_to(FIXTURES).as_posix()


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
    file = copied(case, workspace)
    before = file.read_bytes()
    expected = case / "after.py"
    wanted = expected.read_bytes() if expected.exists() else before

    outcome = apply(case, file)
    assert outcome.exit_code in (0, 1), outcome.stderr
    assert file.read_bytes().decode() == wanted.decode()
    compile(wanted, str(file), "exec")

    again = apply(case, file)
    assert again.exit_code == outcome.exit_code
    assert file.read_bytes() == wanted


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_refusals_are_the_listed_ones(case: Path, workspace: Path) -> None:
    launches = refusals(case, copied(case, workspace))
    found = [
        (launch["line"], launch["refusal"]["code"], launch["refusal"]["line"])
        for launch in launches
    ]
    assert found == refused(case)
    for launch in launches:
        assert launch["plans"] == []
        assert launch["refusal"]["reason"]
        assert launch["refusal"]["hint"]


def test_every_refusal_code_has_a_fixture() -> None:
    shown = {code for case in CASES for _, code, _ in refused(case)}
    assert shown == set(REFUSALS)


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
