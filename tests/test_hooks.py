"""The hooks for pre-commit: the manifest, what each entry does, and pre-commit's own try-repo."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CASE = ROOT / "fixtures" / "pad_and_mask" / "elementwise"
HOOKS = ("pallas-static-grid-scan", "pallas-static-grid-diff")


def manifest() -> dict[str, dict[str, str]]:
    """The hooks by id; the manifest is so plain that every line is `key: value`."""
    text = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    hooks = [dict(re.findall(r"(\w+): (.+)", part)) for part in re.split(r"^- ", text, flags=re.M)]
    return {hook["id"]: hook for hook in hooks[1:]}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a dynamic launch and a static one, both staged."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "dynamic.py").write_bytes((CASE / "before.py").read_bytes())
    (tmp_path / "static.py").write_bytes((CASE / "before.py").read_bytes())
    apply = [sys.executable, "-m", "pallas_static_grid", "apply", "--allow-dirty", "static.py"]
    subprocess.run(apply, cwd=tmp_path, check=True, capture_output=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    return tmp_path


def run_entry(hook: str, folder: Path, *files: str) -> subprocess.CompletedProcess[str]:
    """What pre-commit does: the entry's command with the staged files behind it."""
    program, *arguments = shlex.split(manifest()[hook]["entry"])
    assert program == "pallas-static-grid"
    command = [sys.executable, "-m", "pallas_static_grid", *arguments, *files]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_manifest() -> None:
    assert tuple(manifest()) == HOOKS
    for hook in manifest().values():
        assert hook["language"] == "python"
        assert hook["types"] == "[python]"
        assert hook["name"]
        assert hook["description"].endswith(".")


@pytest.mark.parametrize("hook", HOOKS)
def test_entry_fails_for_a_dynamic_grid_and_writes_nothing(hook: str, repository: Path) -> None:
    before = (repository / "dynamic.py").read_bytes()
    done = run_entry(hook, repository, "dynamic.py", "static.py")
    assert done.returncode == 1
    assert "dynamic.py" in done.stdout
    assert (repository / "dynamic.py").read_bytes() == before


@pytest.mark.parametrize("hook", HOOKS)
def test_entry_passes_for_static_grids(hook: str, repository: Path) -> None:
    assert run_entry(hook, repository, "static.py").returncode == 0


def test_the_patch_of_the_diff_hook_applies(repository: Path) -> None:
    done = run_entry("pallas-static-grid-diff", repository, "dynamic.py")
    subprocess.run(["git", "apply", "-"], cwd=repository, input=done.stdout, text=True, check=True)
    assert (repository / "dynamic.py").read_bytes() == (repository / "static.py").read_bytes()


@pytest.mark.skipif(
    importlib.util.find_spec("pre_commit") is None,
    reason="needs pre-commit (pip install pre-commit), which fetches the tool's dependencies",
)
@pytest.mark.parametrize("hook", HOOKS)
def test_try_repo(hook: str, repository: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    def hook_run(file: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pre_commit", "try-repo", ROOT, hook, "--files", file]
        return subprocess.run(command, cwd=repository, capture_output=True, text=True)

    assert hook_run("static.py").returncode == 0
    failed = hook_run("dynamic.py")
    assert failed.returncode == 1
    assert f"- hook id: {hook}" in failed.stdout
    assert "dynamic.py" in failed.stdout
