"""Mails: one per rewrite, each for `git am` on top of the one before."""

from __future__ import annotations

from pathlib import Path

import pytest
from pallas_static_grid.render.mbox import message, render
from pallas_static_grid.render.unified import to_bytes
from patch_tools import Repository, changed, git
from test_unified import CONTENTS, NAMES, NEW, OLD

MIDDLE = OLD.replace(b"line 10\n", b"ten\n")
AFTER = MIDDLE.replace(b"line 11\n", b"eleven\nand more\n")


def log(repository: Repository, form: str) -> list[str]:
    return git(repository.root, "log", "--reverse", f"--format={form}").decode().splitlines()[1:]


def test_each_rewrite_is_a_commit(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    repository.start({"a.py": OLD, "b.py": OLD})
    mails = render([changed("a.py", OLD, MIDDLE, AFTER), changed("b.py", OLD, NEW)])
    repository.am(to_bytes(mails))
    assert log(repository, "%s") == [
        "a.py: give scale_0 a static grid",
        "a.py: give scale_1 a static grid",
        "b.py: give scale_0 a static grid",
    ]
    assert git(repository.root, "show", "HEAD~1:a.py") == AFTER
    assert git(repository.root, "show", "HEAD~2:a.py") == MIDDLE
    assert (tmp_path / "b.py").read_bytes() == NEW


def test_the_message_says_why_and_how_to_check(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    repository.start({"a.py": OLD})
    repository.am(to_bytes(render([changed("a.py", OLD, NEW)])))
    body = git(repository.root, "log", "-1", "--format=%B").decode()
    for expected in (
        "Dead steps do nothing.",
        "grid[0] = steps is dynamic",
        "a.py:3: steps = pl.cdiv(n, 8)",
        "bound pl.cdiv(x.shape[0], 8)",
        "pl.BlockSpec((8,), lambda i: (i,))",
        "assumes: n <= x.shape[0]",
        "labelled review",
        "dead steps are not free",
        "To check:",
    ):
        assert expected in body
    assert max(map(len, body.splitlines())) <= 100


@pytest.mark.parametrize("name", [name for name in CONTENTS if CONTENTS[name][1]])
def test_every_content_survives_the_mail(tmp_path: Path, name: str) -> None:
    before, after = CONTENTS[name]
    repository = Repository(tmp_path)
    repository.start({"src/f.py": before})
    repository.am(to_bytes(render([changed("src/f.py", before, after)])))
    assert git(repository.root, "show", "HEAD:src/f.py") == after


@pytest.mark.parametrize("name", NAMES)
def test_every_name_survives_the_mail(tmp_path: Path, name: str) -> None:
    repository = Repository(tmp_path)
    repository.start({name: OLD})
    repository.am(to_bytes(render([changed(name, OLD, NEW)])))
    assert (tmp_path / name).read_bytes() == NEW
    assert len(log(repository, "%s")) == 1


def test_long_lines_survive_the_mail(tmp_path: Path) -> None:
    before = OLD.replace(b"line 14", b"x" * 5000)
    after = before.replace(b"line 15\n", b"line 15\n# " + b"\xc3\xa9" * 2000 + b"\n")
    repository = Repository(tmp_path)
    repository.start({"f.py": before})
    repository.am(to_bytes(render([changed("f.py", before, after)])))
    assert (tmp_path / "f.py").read_bytes() == after


def test_the_author_is_the_one_given(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    repository.start({"f.py": OLD})
    mails = render([changed("f.py", OLD, NEW)], "Jörg Müller <jm@example.invalid>")
    repository.am(to_bytes(mails))
    assert log(repository, "%an %ae") == ["Jörg Müller jm@example.invalid"]


def test_no_line_of_a_message_is_taken_for_a_mail_or_a_patch() -> None:
    report = changed("f.py", OLD, NEW)
    (rewrite,) = report.rewrites
    from dataclasses import replace

    tricky = replace(rewrite, notes=("From here on", "--- no", "diff -u", "Index: 3", "@@ x"))
    lines = message(tricky).splitlines()
    for start in ("From ", "---", "diff -", "Index: ", "@@ "):
        assert not any(line.startswith(start) for line in lines)


def test_nothing_to_change_gives_no_mail() -> None:
    assert render([]) == ""
