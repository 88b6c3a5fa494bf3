"""`apply --interactive`, driven through a pseudo-terminal."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import kernel_samples as k
import pexpect
import pytest

QUESTION = "Write this rewrite\\? \\[y,n,a,q,e,s,i,\\?\\] "
TEXT = k.module(k.review("one"), k.safe("two"), k.review("three"))


class Session:
    """The command on a terminal of 100 columns."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        self.child = pexpect.spawn(
            sys.executable,
            ["-m", "pallas_static_grid", "apply", "--interactive", *arguments],
            dimensions=(40, 100),
            encoding="utf-8",
            timeout=60,
            env={**os.environ, "TERM": "xterm-256color", **environment},
        )

    def asked(self, function: str) -> str:
        """Wait for the question about the launch in `function`; what was shown before it."""
        self.child.expect(QUESTION)
        shown = re.sub(r"\x1b\[[0-9;]*m", "", self.child.before or "").replace("\r\n", "\n")
        if function:
            assert f"  {function}  pad_and_mask" in shown
        return shown

    def answer(self, key: str) -> None:
        self.child.send(key)

    def end(self) -> tuple[int, str]:
        """Wait for the end; exit code and what was printed last."""
        self.child.expect(pexpect.EOF)
        self.child.close()
        assert self.child.exitstatus is not None
        return self.child.exitstatus, (self.child.before or "").replace("\r\n", "\n")


@pytest.fixture
def file(workspace: Path) -> Path:
    path = workspace / "f.py"
    path.write_text(TEXT)
    return path


def rewritten(text: str) -> set[str]:
    """The functions in which a rewrite stands."""
    parts = re.split(r"^def ", text, flags=re.MULTILINE)
    return {part.split("(")[0] for part in parts if "live_kernel" in part}


def test_yes_and_no(file: Path) -> None:
    session = Session()
    shown = session.asked("one")
    assert "1/3" in shown
    assert "f.py:12  one  pad_and_mask  review" in shown
    assert "-         grid=(pl.cdiv(n, 8),)," in shown
    session.answer("y")
    session.asked("two")
    assert rewritten(file.read_text()) == {"one"}, "what is accepted is written at once"
    session.answer("n")
    session.asked("three")
    session.answer("y")
    code, last = session.end()
    assert code == 1
    assert rewritten(file.read_text()) == {"one", "three"}
    assert "2 launches rewritten in 1 file, 1 left dynamic" in last
    assert "two: refused (declined)" in last
    compile(file.read_text(), "f.py", "exec")


def test_accepting_all_one_by_one_gives_what_apply_gives(file: Path) -> None:
    from tool import run_tool

    session = Session()
    for function in ("one", "two", "three"):
        session.asked(function)
        session.answer("y")
    assert session.end()[0] == 0
    by_hand = file.read_text()
    file.write_text(TEXT)
    assert run_tool("apply").exit_code == 0
    assert file.read_text() == by_hand


def test_all_and_quit(file: Path) -> None:
    (file.parent / "g.py").write_text(k.module(k.review("four")))
    session = Session()
    session.asked("one")
    session.answer("n")
    session.asked("two")
    session.answer("a")
    assert session.end()[0] == 1
    assert rewritten(file.read_text()) == {"two", "three"}
    assert "grid=(pl.cdiv(x.shape[0], 8),)" in (file.parent / "g.py").read_text()

    file.write_text(TEXT)
    session = Session()
    session.asked("one")
    session.answer("y")
    session.asked("two")
    session.answer("q")
    assert session.end()[0] == 1
    assert rewritten(file.read_text()) == {"one"}


@pytest.mark.parametrize("way", ["key", "signal", "end of input"])
def test_an_interrupt_leaves_what_is_accepted_and_nothing_else(file: Path, way: str) -> None:
    session = Session()
    session.asked("one")
    session.answer("y")
    session.asked("two")
    if way == "key":
        session.child.sendintr()
    elif way == "signal":
        import signal

        session.child.kill(signal.SIGINT)
    else:
        session.child.sendeof()
    code, last = session.end()
    assert code == 1
    assert "Traceback" not in last
    assert rewritten(file.read_text()) == {"one"}
    assert sorted(os.listdir(file.parent)) == ["f.py"]


def test_show_help_and_unknown_keys(file: Path) -> None:
    session = Session()
    session.asked("one")
    session.answer("s")
    shown = session.asked("")
    assert "argument `n` of the jitted `one`" in shown
    assert "assumes: " in shown
    for key in "?", "x":
        session.answer(key)
        assert "leave a pragma that says so" in session.asked("")
    session.answer("\r")
    session.answer("Y")
    session.asked("two")
    session.answer("q")
    session.end()
    assert rewritten(file.read_text()) == {"one"}


def test_keys_may_be_followed_by_return(file: Path) -> None:
    session = Session()
    session.asked("one")
    session.child.sendline("y")
    session.asked("two")
    session.child.sendline("n")
    session.asked("three")
    session.child.sendline("n")
    session.end()
    assert rewritten(file.read_text()) == {"one"}


def test_ignore_leaves_a_pragma(file: Path) -> None:
    from tool import run_tool

    session = Session()
    session.asked("one")
    session.answer("i")
    session.asked("two")
    session.answer("y")
    session.asked("three")
    session.answer("i")
    code, _ = session.end()
    assert code == 0, "an ignored launch does not count"
    text = file.read_text()
    assert text.count("pl.pallas_call(  # pallas-static-grid: ignore\n") == 2
    assert rewritten(text) == {"two"}
    outcome = run_tool("scan")
    assert outcome.exit_code == 0
    assert "unused" not in outcome.stderr


def editor(folder: Path, code: str) -> str:
    """An editor that runs `code` on the text of the patch."""
    script = folder / "editor.sh"
    body = f"import sys\npath = sys.argv[1]\ntext = open(path).read()\n{code}\n"
    (folder / "editor_body.txt").write_text(body)
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{folder}/editor_body.txt" "$1"\n')
    script.chmod(0o755)
    return str(script)


def test_edit_changes_the_patch_before_it_is_written(
    file: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    tools = tmp_path_factory.mktemp("tools")
    code = (
        "assert 'argument `n` of the jitted `one`' in text\n"
        "open(path, 'w').write(text.replace('live_kernel', 'my_kernel')"
        ".replace('+    return pl', '+    # by hand\\n+    return pl'))"
    )
    session = Session(EDITOR=editor(tools, code), VISUAL="")
    session.asked("one")
    session.answer("e")
    session.asked("two")
    session.answer("y")
    session.asked("three")
    session.answer("n")
    code_, last = session.end()
    assert code_ == 1
    text = file.read_text()
    assert "def my_kernel(" in text
    assert rewritten(text) == {"two"}
    assert "2 launches rewritten" in last
    compile(text, "f.py", "exec")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("open(path, 'w').write(text.replace('    return pl', '    return qq'))", "not there"),
        ("open(path, 'w').write(text.replace('+    def live_', '+    deff live_'))", "compile"),
        ("open(path, 'w').write('')", "no hunk"),
        ("pass", "nothing was saved"),
        ("sys.exit(1)", "diting failed"),
    ],
)
def test_an_edit_that_does_not_apply_or_compile_is_not_written(
    file: Path, tmp_path_factory: pytest.TempPathFactory, code: str, message: str
) -> None:
    tools = tmp_path_factory.mktemp("tools")
    session = Session(EDITOR=editor(tools, code), VISUAL="")
    session.asked("one")
    session.answer("e")
    assert message in session.asked("")
    assert file.read_text() == TEXT
    session.answer("q")
    assert session.end()[0] == 1
    assert file.read_text() == TEXT


def test_an_edit_that_leaves_the_grid_dynamic_is_told(
    file: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    tools = tmp_path_factory.mktemp("tools")
    old, new = "+        grid=(pl.cdiv(x.shape[0]", "+        grid=(pl.cdiv(n"
    code = f"open(path, 'w').write(text.replace({old!r}, {new!r}))"
    session = Session(EDITOR=editor(tools, code), VISUAL="")
    session.asked("one")
    session.answer("e")
    assert "still dynamic" in session.asked("two")
    session.answer("a")
    assert session.end()[0] == 1


def test_a_file_that_changes_meanwhile_is_not_overwritten(file: Path) -> None:
    session = Session()
    session.asked("one")
    file.write_text(TEXT + "# mine\n")
    session.answer("y")
    code, last = session.end()
    assert code == 3
    assert "f.py: not written: the file changed" in last
    assert file.read_text() == TEXT + "# mine\n"


def test_only_and_safe_only(file: Path) -> None:
    session = Session("--safe-only")
    session.asked("two")
    session.answer("y")
    session.end()
    assert rewritten(file.read_text()) == {"two"}
    session = Session("--only", f"f.py:{k.line_of(file.read_text(), 'three')}")
    session.asked("three")
    session.answer("y")
    assert session.end()[0] == 0
    assert rewritten(file.read_text()) == {"two", "three"}


def test_dirty_files_are_refused_before_anything_is_asked(file: Path) -> None:
    from patch_tools import Repository

    Repository(file.parent).start({"f.py": TEXT.encode()})
    file.write_text(TEXT + "# mine\n")
    code, last = Session().end()
    assert code == 2
    assert "f.py is modified" in last


@pytest.mark.parametrize("environment", [{"TERM": "dumb"}, {"NO_COLOR": "1"}])
def test_without_colours(file: Path, environment: dict[str, str]) -> None:
    session = Session(**environment)
    session.child.expect(QUESTION)
    shown = session.child.before or ""
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", shown)
    assert "one" in shown
    session.answer("q")
    session.end()
