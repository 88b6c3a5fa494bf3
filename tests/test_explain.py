"""`explain`: a launch by any of its lines, a name, a code, an error message."""

from __future__ import annotations

import re
from pathlib import Path

import kernel_samples as k
import pytest
from pallas_static_grid.catalogue import REFUSALS, TRANSFORMS, transforms
from tool import run_tool

BOUND_LAUNCH = """

@jax.jit
def later(x, n):
    scaled = pl.pallas_call(
        kernel,
        grid=(pl.cdiv(n, 8),),
        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )
    y = x + 1
    return scaled(
        y
    )
"""


@pytest.fixture
def file(workspace: Path) -> Path:
    path = workspace / "f.py"
    path.write_text(k.module(k.review(), k.refused(), k.unknown(), BOUND_LAUNCH))
    return path


def explained(what: str) -> str:
    outcome = run_tool("explain", what)
    assert outcome.exit_code == 0, outcome.stderr
    return outcome.stdout


def line(file: Path, text: str) -> int:
    return next(n for n, row in enumerate(file.read_text().splitlines(), 1) if text in row)


@pytest.mark.parametrize("offset", [-2, -1, 0, 2, 6])
def test_any_line_of_a_launch_or_its_function(file: Path, offset: int) -> None:
    at = k.line_of(file.read_text(), "scale")
    text = explained(f"f.py:{at + offset}")
    assert text.startswith(f"f.py:{at}:12: scale: pallas_call launch, dynamic\n")
    assert text.count("launch, ") == 1


def test_the_chain_the_bound_and_the_plan_are_told(file: Path) -> None:
    text = explained(f"f.py:{k.line_of(file.read_text(), 'scale')}")
    assert "grid[0] = pl.cdiv(n, 8): dynamic" in text
    assert "f.py:10: @jax.jit  (argument `n` of the jitted `scale`" in text
    assert "bound pl.cdiv(x.shape[0], 8), from what the launch addresses:" in text
    assert "lambda i: (i, 0)" in text
    assert "assumes: " in text
    assert re.search(r"plan:\n +pad_and_mask \(review\): ", text)


def test_a_refusal_is_spelled_out(file: Path) -> None:
    text = explained(f"f.py:{k.line_of(file.read_text(), 'endless')}")
    assert "no bound is in sight" in text
    assert "refused (no-bound)" in text
    assert REFUSALS["no-bound"].meaning.split(".")[0] in " ".join(text.split())
    assert "What to do: " in text
    assert "--bound 'f.py::endless::n=BOUND'" in " ".join(text.split())


def test_an_unknown_grid_says_what_would_have_to_be_known(file: Path) -> None:
    text = explained(f"f.py:{k.line_of(file.read_text(), 'helper')}")
    assert "`n` is whatever the callers of `helper` pass" in text
    assert "no plan: only a grid that is provably dynamic is rewritten" in text


def test_the_later_call_of_a_bound_launch(file: Path) -> None:
    expected = explained(f"f.py:{line(file, 'scaled = pl.pallas_call(')}")
    assert ": later: pallas_call launch, dynamic" in expected
    for text in ("return scaled(", "        y", "y = x + 1"):
        assert explained(f"f.py:{line(file, text)}") == expected


def test_a_column_and_other_spellings_of_the_path(file: Path) -> None:
    at = k.line_of(file.read_text(), "scale")
    expected = explained(f"f.py:{at}")
    assert explained(f"f.py:{at}:12") == expected
    assert explained(f"./f.py:{at}") == expected
    assert explained(f"{file}:{at}") == expected


def test_a_class_and_a_nested_function(workspace: Path) -> None:
    body = k.review("inner").replace("\n", "\n    ")
    Path("c.py").write_text(f"{k.HEAD}\n\nclass Kernels:\n    width = 8\n{body}\n")
    text = explained("c.py:11")
    assert ": Kernels.inner: " in text


@pytest.mark.parametrize("at", [1, 9, 9999])
def test_a_line_without_a_launch_is_told(file: Path, at: int) -> None:
    outcome = run_tool("explain", f"f.py:{at}")
    assert outcome.exit_code == 2
    assert f"f.py:{at}: no launch is on this line" in outcome.stderr
    launches = [k.line_of(file.read_text(), name) for name in ("scale", "endless", "helper")]
    assert ", ".join(map(str, launches)) in outcome.stderr


def test_files_that_fail_and_files_that_hold_nothing(workspace: Path) -> None:
    Path("bad.py").write_text("pallas_call(\n")
    outcome = run_tool("explain", "bad.py:1")
    assert outcome.exit_code == 3
    assert "bad.py: line 1: '(' was never closed" in outcome.stderr
    Path("plain.py").write_text("x = 1\n")
    assert run_tool("explain", "plain.py:1").exit_code == 2
    assert run_tool("explain", "nowhere.py:1").exit_code == 2


def test_options_count(file: Path) -> None:
    at = k.line_of(file.read_text(), "endless")
    outcome = run_tool("explain", "--bound", "f.py::endless::n=16", f"f.py:{at}")
    assert "bound 16, given by the user" in outcome.stdout


@pytest.mark.parametrize("name", [info.name for info in transforms()])
def test_every_transform_is_explained(name: str) -> None:
    text = explained(name)
    assert text.startswith(f"{name}\n")
    assert len(text.splitlines()) > 4
    assert name in TRANSFORMS


@pytest.mark.parametrize("code", sorted(REFUSALS))
def test_every_refusal_is_explained(code: str) -> None:
    text = " ".join(explained(code).split())
    assert text.startswith(f"{code}: {REFUSALS[code].title}")
    assert "What to do: " in text


@pytest.mark.parametrize(
    "message",
    [
        "NotImplementedError: dynamic grid bounds not supported in the Mosaic GPU backend",
        "Dynamic grid bounds not (yet) supported in GPU interpret mode.",
        "dynamic grid bounds not supported in the Triton backend",
    ],
)
def test_error_messages_are_explained(message: str) -> None:
    text = explained(message)
    assert "Raised by:" in text
    assert "Mosaic GPU" in text and "Triton" in text
    assert "What to do:" in text


def test_a_traceback_leads_to_the_launch(file: Path) -> None:
    at = line(file, "return scaled(")
    traceback = (
        "Traceback (most recent call last):\n"
        f'  File "f.py", line {at}, in later\n    return scaled(\n'
        "NotImplementedError: dynamic grid bounds not supported in the Triton backend\n"
    )
    text = explained(traceback)
    assert "Raised by:" in text
    assert ": later: pallas_call launch, dynamic" in text


@pytest.mark.parametrize(
    ("what", "right"), [("no_bound", "no-bound"), ("pad-and-mask", "pad_and_mask")]
)
def test_near_misses_name_the_right_word(what: str, right: str) -> None:
    outcome = run_tool("explain", what)
    assert outcome.exit_code == 2
    assert f"did you mean {right!r}?" in outcome.stderr


def test_what_is_not_known_is_told() -> None:
    outcome = run_tool("explain", "the weather is bad")
    assert outcome.exit_code == 2
    assert "nothing is known of 'the weather is bad'" in outcome.stderr
    assert outcome.stdout == ""
