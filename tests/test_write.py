"""Writing: whole or not at all; links, modes and the user's changes are kept."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from pallas_static_grid.write import dirty, write_file
from patch_tools import Repository

BEFORE, AFTER = b"grid = (n,)\n", b"grid = (4,)\n"


def test_the_content_is_replaced_and_nothing_is_left_behind(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(BEFORE)
    assert write_file("a.py", file, BEFORE, AFTER) is None
    assert file.read_bytes() == AFTER
    assert os.listdir(tmp_path) == ["a.py"]


@pytest.mark.parametrize("mode", [0o755, 0o644, 0o600, 0o664])
def test_the_mode_is_kept(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(BEFORE)
    file.chmod(mode)
    assert write_file("a.py", file, BEFORE, AFTER) is None
    assert stat.S_IMODE(file.stat().st_mode) == mode


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    real = tmp_path / "real" / "a.py"
    real.write_bytes(BEFORE)
    real.chmod(0o755)
    link = tmp_path / "link.py"
    link.symlink_to("real/a.py")
    assert write_file("link.py", link, BEFORE, AFTER) is None
    assert link.is_symlink()
    assert real.read_bytes() == AFTER
    assert stat.S_IMODE(real.stat().st_mode) == 0o755


def test_a_read_only_file_is_told_and_not_written(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(BEFORE)
    file.chmod(0o444)
    failed = write_file("a.py", file, BEFORE, AFTER)
    assert failed is not None
    assert (failed.path, failed.stage) == ("a.py", "write")
    assert "read-only" in failed.message
    assert file.read_bytes() == BEFORE


def test_a_file_that_changed_meanwhile_is_told_and_not_written(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(b"mine\n")
    failed = write_file("a.py", file, BEFORE, AFTER)
    assert failed is not None
    assert "changed" in failed.message
    assert file.read_bytes() == b"mine\n"


def test_a_file_that_is_gone_is_told(tmp_path: Path) -> None:
    failed = write_file("a.py", tmp_path / "a.py", BEFORE, AFTER)
    assert failed is not None
    assert "No such file" in failed.message
    assert os.listdir(tmp_path) == []


def test_what_git_calls_modified_or_untracked_is_dirty(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    names = ["clean.py", "modified.py", "staged.py", "sub/a b.py", "*.py"]
    repository.start(dict.fromkeys(names, BEFORE))
    (tmp_path / "modified.py").write_bytes(AFTER)
    (tmp_path / "sub/a b.py").write_bytes(AFTER)
    (tmp_path / "new.py").write_bytes(BEFORE)
    (tmp_path / "staged.py").write_bytes(AFTER)
    from patch_tools import git

    git(tmp_path, "add", "staged.py")
    root = tmp_path.resolve()
    files = {root / name: name for name in (*names, "new.py")}
    assert dirty(files) == (
        "modified.py is modified",
        "new.py is untracked",
        "staged.py is modified",
        "sub/a b.py is modified",
    )
    assert dirty({root / "clean.py": "clean.py", root / "*.py": "*.py"}) == ()


def test_outside_a_repository_nothing_is_dirty(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(BEFORE)
    assert dirty({(tmp_path / "a.py").resolve(): "a.py"}) == ()


def test_nothing_to_write_asks_nothing() -> None:
    assert dirty({}) == ()
