"""README.md shows what the commands print: every shell session in it is run again."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def console() -> ModuleType:
    spec = importlib.util.spec_from_file_location("console", ROOT / "docs" / "console.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["console"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.jax
def test_the_sessions_print_what_is_shown(tmp_path: Path) -> None:
    jax = pytest.importorskip("jax")
    shown_on = re.findall(r'"jax==([\d.]+)', (ROOT / "pyproject.toml").read_text())
    if jax.__version__ not in shown_on:
        pytest.skip(f"the sessions are shown as jax {' and '.join(shown_on)} print them")
    found = console().differences(README, tmp_path)
    report = "\n".join(f"{step.source}{printed}" for step, printed in found)
    assert not found, f"run python docs/console.py; now printed:\n{report}"


def test_the_example_is_what_the_tool_makes(tmp_path: Path) -> None:
    module = console()
    (shown, *_) = module.DIFF.findall(README)
    assert shown == module.example(tmp_path), "run python docs/console.py"


def test_every_shell_block_is_a_session_or_the_two_commands() -> None:
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    shells = [(kind, text) for kind, text in blocks if kind in ("sh", "bash", "shell", "console")]
    plain = [text for kind, text in shells if kind != "console"]
    assert all(text.startswith("python3 -m venv .venv && ") for text in plain)
    assert len(plain) == 2
    assert any(kind == "console" for kind, _ in shells)


def test_a_wrong_output_is_found() -> None:
    module = console()
    assert module.agrees("a\n...\nc\n", "a\nb\nb\nc\n")
    assert module.agrees("a\n...\n", "a\n")
    assert not module.agrees("a\n...\nc\n", "a\nb\n")
    assert not module.agrees("a\n", "a\nb\n")
    assert not module.agrees("a.\n", "ab\n")
    (steps,) = module.sessions("x\n```console\n$ a\nout\n$ b <<E\n> c\n> E\n> no\n```\n")
    assert [(step.command, step.shown) for step in steps] == [
        ("a", "out\n"),
        ("b <<E\nc\nE\nno", ""),
    ]
