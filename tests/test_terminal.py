"""The terminal: exact source text, colours of the palette, any width, no markup."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import kernel_samples as k
import pexpect
import pytest
from pallas_static_grid.model import Changed, Clean, FileReport, Refusal
from pallas_static_grid.render.hunks import hunks
from pallas_static_grid.render.syntax import styled_lines
from pallas_static_grid.render.terminal import (
    diff_lines,
    make_console,
    scan_text,
    show_rewrite,
    show_summary,
)
from patch_tools import changed, launch_at
from report_samples import reports

BEFORE = '''import x
"""[bold]Rows[/bold] :smile:"""
def f(x, n):
    y = x[int], x[red]  # a comment [dim]
    return launch(y, grid=(pl.cdiv(n, 8), 4))
'''
AFTER = BEFORE.replace("pl.cdiv(n, 8)", "pl.cdiv(x.shape[0], 8)")
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def rewrite_text(report: Changed, *, color: bool = False, width: int = 80) -> str:
    stream = io.StringIO()
    console = make_console(color=color, stream=stream)
    console.width = width
    for number, rewrite in enumerate(report.rewrites, start=1):
        show_rewrite(console, rewrite, number, len(report.rewrites))
    return stream.getvalue()


def sample() -> Changed:
    return changed("src/f.py", BEFORE.encode(), AFTER.encode())


def refused(code: str, line: int) -> Clean:
    launch = launch_at("g.py", line)
    refusal = Refusal(code, f"reason for {code} [x]", "g.py", line, f"advice for {code}")
    return Clean("g.py", (replace(launch, refusal=refusal),))


@pytest.mark.parametrize("width", [80, 200, 20])
def test_source_text_is_exact_at_any_width(width: int) -> None:
    lines = [line.rstrip() for line in rewrite_text(sample(), width=width).splitlines()]
    for number, line in enumerate(BEFORE.splitlines(), start=1):
        if number in (2, 3, 4):
            assert f"{number}   {line}" in lines
    assert "5 -     return launch(y, grid=(pl.cdiv(n, 8), 4))" in lines
    assert "5 +     return launch(y, grid=(pl.cdiv(x.shape[0], 8), 4))" in lines


def test_the_header_says_where_what_how_safe_and_why() -> None:
    text = rewrite_text(sample(), width=200)
    assert "src/f.py:1  scale_0  pad_and_mask  review" in text
    assert "Dead steps do nothing." in text
    assert "grid[0] = steps: `n` is an argument of the jitted function" in text
    assert "bound pl.cdiv(x.shape[0], 8), from what the launch addresses" in text
    assert "assumes: n <= x.shape[0]" in text
    assert "note: dead steps are not free" in text


def test_colours_only_add_to_the_text() -> None:
    plain, coloured = rewrite_text(sample()), rewrite_text(sample(), color=True)
    assert "\x1b" not in plain
    assert ESCAPE.sub("", coloured) == plain
    assert "\x1b[35mreturn\x1b[0m" in coloured


def test_no_backgrounds_and_no_colours_outside_the_palette() -> None:
    codes = {
        int(code)
        for sequence in ESCAPE.findall(rewrite_text(sample(), color=True) + scan_text(reports()))
        for code in sequence[2:-1].split(";")
    }
    assert codes <= {0, 1, 2, 3, 4, *range(30, 38)}
    assert not codes & {30, 37}  # unreadable on a dark or on a light background


def test_what_changed_within_a_line_is_set_off() -> None:
    (hunk,) = hunks(BEFORE, AFTER)
    removed = next(line for line in hunk.lines if line.mark == "-")
    added = next(line for line in hunk.lines if line.mark == "+")
    old, new = BEFORE.splitlines()[4], AFTER.splitlines()[4]
    assert [old[a:b] for a, b in removed.emphasis] == ["n"]
    assert [new[a:b] for a, b in added.emphasis] == ["x.shape[0]"]
    assert "\x1b[1;4;32mx.shape" in rewrite_text(sample(), color=True)


def test_prose_is_wrapped_between_words() -> None:
    head = rewrite_text(sample(), width=40).split("@@ line")[0]
    assert all(len(line) <= 40 for line in head.splitlines())
    assert "  assumes: n <= x.shape[0]" in head


def test_new_indentation_alone_is_not_set_off() -> None:
    (hunk,) = hunks("def f():\n    a = b(c)\n", "def f():\n    if x:\n        a = b(c)\n")
    assert all(line.emphasis == () for line in hunk.lines)


def test_lines_that_begin_alike_are_compared() -> None:
    old, new = "    grid=(n,),\n)(x)\n", "    grid=(table.shape[0] // 8,),\n)(count, x)\n"
    (hunk,) = hunks(old, new)
    assert [bool(line.emphasis) for line in hunk.lines] == [True, False, True, True]


def test_lines_that_have_nothing_in_common_are_not_set_off() -> None:
    (hunk,) = hunks("a = 1\n", "import os\nsomething(else_)\n")
    assert all(line.emphasis == () for line in hunk.lines)


def test_a_missing_line_end_is_told() -> None:
    lines = [line.plain for line in diff_lines("a = 1", "a = 1\n")]
    assert lines == [
        "@@ line 1 @@",
        "1 - a = 1",
        "  \\ no line end at the end of the file",
        "1 + a = 1",
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a = '\x1b[2J'\n", ["a = '\u241b[2J'", ""]),
        ("a\rb\n", ["a\u240db", ""]),
        ("a\r\nb\r\n", ["a ", "b ", ""]),
        ("a\r\nb\n", ["a\u240d", "b", ""]),
        ("\x0ca\u2028b\x9b\n", ["\u240ca\u2424b\ufffd", ""]),
        ("\ta\n", ["\ta", ""]),
    ],
)
def test_control_characters_are_shown_and_not_obeyed(text: str, shown: list[str]) -> None:
    assert [line.plain for line in styled_lines(text)] == shown


def test_tokens_get_their_colours_at_the_right_characters() -> None:
    (line, _) = styled_lines("grün = 'ä'  # [red]\n")
    spans = {(line.plain[span.start : span.end], str(span.style)) for span in line.spans}
    assert ("# [red]", "italic dim") in spans
    assert any(text == "ä" and style == "yellow" for text, style in spans)


def test_the_summary_counts_and_spells_out_the_three_commonest_refusals() -> None:
    found: list[FileReport] = [sample()]
    for code, count in (("no-bound", 4), ("aliased-output", 3), ("float-grid", 2), ("odd", 1)):
        found += [refused(code, line) for line in range(1, count + 1)]
    stream = io.StringIO()
    show_summary(make_console(color=False, stream=stream), found)
    text = stream.getvalue()
    assert "11 launches in 2 files: 11 dynamic" in text
    assert re.search(r"pad_and_mask +1 +no-bound +4", text) is None  # the launch has no plan
    assert re.search(r"no-bound +4", text)
    assert "no-bound (4): Nothing in sight bounds the dimension" in text
    assert "g.py:1: reason for aliased-output [x]" in text
    assert "next: advice for float-grid" in text
    assert "advice for odd" not in text


@pytest.mark.parametrize("width", [80, 200])
def test_the_summary_fits(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    stream = io.StringIO()
    show_summary(make_console(color=False, stream=stream), reports())
    text = stream.getvalue()
    assert re.search(r"launches +rewrites +refusals", text)
    assert all(len(line) <= width for line in text.splitlines()[1:])
    for name in ("static_shape_arithmetic", "pad_and_mask", "no-bound"):
        assert name in text


def test_the_list_of_launches_is_the_plain_one_in_colours() -> None:
    from pallas_static_grid.render import text

    plain = text.render(reports())
    coloured = ESCAPE.sub("", scan_text(reports()))
    listed = [line.rstrip() for line in coloured.splitlines()]
    for line in plain.splitlines():
        assert line in listed


# -- on a pseudo-terminal -------------------------------------------------------------------------


def on_terminal(*arguments: str, width: int = 80, **environment: str) -> tuple[int, str]:
    """The command on a terminal: exit code, and all that appears there."""
    child = pexpect.spawn(
        sys.executable,
        ["-m", "pallas_static_grid", *arguments],
        dimensions=(40, width),
        encoding="utf-8",
        timeout=120,
        env={**os.environ, "TERM": "xterm-256color", **environment},
    )
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus is not None
    return child.exitstatus, (child.before or "").replace("\r\n", "\n")


@pytest.fixture
def kernels(workspace: Path) -> Path:
    text = k.module(k.review(), k.safe(), k.refused()).replace("2.0", "2.0  # [red] :smile:")
    (workspace / "f.py").write_text(text)
    return workspace


@pytest.mark.parametrize("width", [80, 200])
def test_diff_shows_rewrites_and_a_summary(kernels: Path, width: int) -> None:
    code, shown = on_terminal("diff", width=width)
    assert code == 1
    plain = ESCAPE.sub("", shown)
    assert "f.py:12  scale  pad_and_mask  review" in plain
    assert "f.py:23  capped  pad_and_mask  safe" in plain
    assert re.search(r"launches +rewrites +refusals", plain)
    assert "no-bound (1): Nothing in sight bounds the dimension" in plain
    assert "\x1b[1;31m- " in shown and "\x1b[1;32m+ " in shown
    assert "diff --git" not in plain


def test_scan_is_coloured_and_exact(kernels: Path) -> None:
    code, shown = on_terminal("scan")
    assert code == 1
    assert "\x1b[1;31mdynamic\x1b[0m" in shown
    assert "f.py:12:12: dynamic: scale: grid=(pl.cdiv(n, 8),)" in ESCAPE.sub("", shown)


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {}])
def test_without_colours_nothing_is_lost(kernels: Path, environment: dict[str, str]) -> None:
    flags = () if environment else ("--no-color",)
    _, coloured = on_terminal("diff")
    _, shown = on_terminal("diff", *flags, **environment)
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]", shown)
    assert ESCAPE.sub("", shown) == ESCAPE.sub("", coloured)
    _, listed = on_terminal("scan", *flags, **environment)
    assert "\x1b" not in listed


def test_a_dumb_terminal_gets_the_plain_patch(kernels: Path) -> None:
    code, shown = on_terminal("diff", TERM="dumb")
    assert code == 1
    assert "\x1b" not in shown
    assert "diff --git a/f.py b/f.py" in shown


def test_long_runs_have_a_progress_bar_that_goes_away(workspace: Path) -> None:
    for number in range(60):
        (workspace / f"f{number}.py").write_text(k.module(k.review()))
    _, shown = on_terminal("scan", "--jobs", "1", "--output", "out.txt")
    counts = re.findall(r"(\d+)/60 +(\d+) launches", ESCAPE.sub("", shown))
    assert len(counts) > 3
    assert any(done == launches != "0" for done, launches in counts)
    assert "\x1b[2K" in shown.split(" launches")[-1], "the line is cleared"


def test_short_runs_and_pipes_have_no_progress_bar(kernels: Path) -> None:
    _, shown = on_terminal("scan")
    assert "1/1" not in shown
    done = subprocess.run(
        [sys.executable, "-m", "pallas_static_grid", "scan"], capture_output=True, text=True
    )
    assert done.stderr == ""
