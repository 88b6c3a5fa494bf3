"""Statements are laid out as the real formatter does it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pallas_static_grid.rewrite.layout import Style, lay_out

from tests.layout_snippets import Snippets, framed

SETTINGS = [(80, 2), (88, 4), (100, 4), (100, 2)]


def ruff() -> str | None:
    """The formatter beside this Python, or on the path."""
    beside = Path(sys.executable).with_name("ruff")
    return str(beside) if beside.exists() else shutil.which("ruff")


def formatted(statements: list[str], length: int, width: int) -> list[str]:
    """What the formatter makes of each statement in a function's body."""
    executable = ruff()
    assert executable is not None
    text = "".join(map(framed, statements))
    command = [executable, "format", "--isolated", "--line-length", str(length)]
    done = subprocess.run(
        [*command, "--config", f"indent-width={width}", "-"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    unit = " " * width
    return [
        statement_of(part.split("\n"), unit) for part in done.stdout.split(f"\n{unit}END\n")[:-1]
    ]


def statement_of(lines: list[str], unit: str) -> str:
    """The statement in the frame that the formatter gave back."""
    while not lines[0].startswith("def frame():"):
        lines = lines[1:]
    lines = lines[1:]
    for end in (f"{unit}{unit}pass", f"{unit}def inner():"):
        if end in lines:
            lines = lines[: lines.index(end)]
    return "\n".join(lines).strip("\n").removeprefix(unit)


@pytest.mark.skipif(ruff() is None, reason="ruff is not installed")
@pytest.mark.parametrize(("length", "width"), SETTINGS)
@pytest.mark.parametrize("seed", range(3))
def test_as_the_formatter_does(length: int, width: int, seed: int) -> None:
    snippets = Snippets(seed)
    statements = [snippets.statement() for _ in range(250)]
    unit = " " * width
    style = Style(length, unit, unit)
    different, known = [], 0
    for statement, wanted in zip(statements, formatted(statements, length, width), strict=True):
        found = lay_out(statement, style, unit)
        if found is None:
            continue
        known += 1
        if found != wanted or lay_out(wanted, style, unit) not in (wanted, None):
            different.append(f"{statement}\n--- wanted\n{wanted}\n--- found\n{found}")
    assert not different, "\n\n".join(different[:3])
    assert known > 0.95 * len(statements)


LAID_OUT = [
    (
        "in_specs=[pl.BlockSpec(), pl.BlockSpec((BLOCK,), lambda i: (i,))]",
        "in_specs = [\n    pl.BlockSpec(),\n    pl.BlockSpec((BLOCK,), lambda i: (i,)),\n]",
    ),
    (
        "return pl.pallas_call(kernel, grid=(n,), out_shape=shape)(num_live, gate, up)",
        "return pl.pallas_call(\n    kernel, grid=(n,), out_shape=shape\n)(num_live, gate, up)",
    ),
    (
        "def kernel(num_live_ref, metadata, group_offset, lhs_ref):",
        "def kernel(\n    num_live_ref, metadata, group_offset, lhs_ref\n):",
    ),
    (
        "def k(num_live_ref, metadata, group_offset, lhs_ref, rhs_ref):",
        "def k(\n    num_live_ref,\n    metadata,\n    group_offset,\n    lhs_ref,\n"
        "    rhs_ref,\n):",
    ),
    ("grid = (a,)", "grid = (a,)"),
    ("f(  # why\n  a,\n  b)", "f(  # why\n    a, b\n)"),
    ("f(\n  # the gate\n  a, b  # last\n  # end\n)",
     "f(\n    # the gate\n    a,\n    b,  # last\n    # end\n)"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "wanted"), LAID_OUT)
def test_known_layouts(source: str, wanted: str) -> None:
    assert lay_out(source, Style(line_length=50)) == wanted


@pytest.mark.parametrize(
    "source",
    [
        "x = 1; y = 2",
        "x = aaaaaaaaaaaaaaa(1).bbbbbbbbbbbbbbbb(2).cccccccccccccc(3).ddd(4)",
        'x = """\n  text"""',
        "x = f(a,\n\n  # two blocks\n\n  # of comments\n  b)",
        "x = a \\\n  + b",
        "x = (a  # left\n  + b)",
        "not python at all",
    ],
)
def test_what_is_not_known_is_left(source: str) -> None:
    assert lay_out(source, Style(line_length=50)) is None
