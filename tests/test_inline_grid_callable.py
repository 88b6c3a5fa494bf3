"""Grid functions: what they become, and when they are left."""

from __future__ import annotations

from textwrap import dedent

import pytest
from pallas_static_grid import analysis
from pallas_static_grid.analysis.modules import parse_module
from pallas_static_grid.analysis.project import Project
from pallas_static_grid.model import EditGroup, Refusal
from pallas_static_grid.rewrite.edits import apply
from pallas_static_grid.transforms import inline_grid_callable
from pallas_static_grid.transforms.base import PlanContext

HEAD = """\
import functools
from jax.experimental import pallas as pl
BLOCK = 8
def kernel(x_ref, out_ref, **_): out_ref[...] = x_ref[...]
"""


def planned(source: str) -> tuple[str, EditGroup | Refusal | None]:
    """The text after the transform (as it was without one), and what the transform said."""
    text = HEAD + dedent(source)
    facts = analysis.analyse(parse_module("m.py", text), Project())[0]
    found = inline_grid_callable.plan(facts, PlanContext())
    return apply(text, found.edits) if isinstance(found, EditGroup) else text, found


def launch(grid: str, call: str = "(x)", kernel: str = "kernel") -> str:
    return f"return pl.pallas_call({kernel}, grid={grid}, out_shape=x){call}"


INLINED = [
    # operands
    ("x, b=8", launch("lambda a: (a.shape[0] // b,)"), "(x.shape[0] // b,)"),
    ("x, b=8", launch("lambda a: a.shape[0] // b"), "(x.shape[0] // b,)"),
    ("x, b=8", launch("lambda a: [a.size, b]"), "[x.size, b]"),
    ("x, b=8", launch("lambda: (b,)"), "(b,)"),
    ("x, b=8", launch("lambda *_, **__: (b,)"), "(b,)"),
    ("x, b=8", launch("lambda a, b=b: (a.size // b,)"), "(x.size // b,)"),
    ("x, b=8", launch("lambda a, c=2: (a.size // c,)"), "(x.size // 2,)"),
    ("x, cfg", launch("lambda a: (a.size,)", "(cfg.x)"), "(cfg.x.size,)"),
    ("x, y", launch("lambda a, c: (a.size, c.shape[1])", "(x, y)"), "(x.size, y.shape[1])"),
    # a dict of constants
    ("x, block", launch('lambda meta: (x.size // meta["BLOCK"],)'), "(x.size // BLOCK,)"),
    ("x, size", launch('lambda meta: (x.size // meta["SIZE"],)'), "(x.size // size,)"),
    ("x, b_size", launch('lambda m: (x.size // m["BSIZE"],)'), "(x.size // b_size,)"),
    ("x, size", launch('lambda **meta: (x.size // meta["SIZE"],)'), "(x.size // size,)"),
    (
        "x, size",
        launch('lambda m: (x.size // m["B"],)', kernel="functools.partial(kernel, B=2 * size)"),
        "(x.size // (2 * size),)",
    ),
    (
        "x, size",
        launch('lambda m: (pl.cdiv(x.size, m["B"]),)', kernel="functools.partial(kernel, B=4 + 4)"),
        "(pl.cdiv(x.size, 4 + 4),)",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("parameters", "body", "grid"), INLINED)
def test_the_tuple_of_a_lambda(parameters: str, body: str, grid: str) -> None:
    text, found = planned(f"def f({parameters}):\n    {body}\n")
    assert isinstance(found, EditGroup), found
    assert f"grid={grid}, out_shape" in text


@pytest.mark.parametrize(
    ("parameters", "body"),
    [
        ("x, b=8", launch("lambda a: (a.size,)", "(x + 1)")),
        ("x, b=8", launch("lambda a, c: (a.size,)", "(x)")),
        ("x, y", launch("lambda a: (a.size,)", "(*y)")),
        ("x, y", launch("lambda a, c: (a.size, c.shape[1])", "(*[x, y])")),
        ("x", launch('lambda meta: (x.size // meta["SIZE"],)')),
        ("x, s_ize, si_ze", launch('lambda meta: (x.size // meta["SIZE"],)')),
        ("x, size", launch('lambda meta: (meta["SIZE"], len(meta))')),
        ("x, size", launch('lambda meta: (meta.get("SIZE", 8),)')),
        ("x", launch("lambda a: (n := a.size, n)")),
        ("x", launch("lambda a: tuple(map(lambda n: n, a.shape))")),
        ("x, y", launch("lambda *a: (a[0].size,)", "(x, y)")),
        ("x", launch("lambda y: (y.size,)", "")),
        ("x", launch("functools.partial(lambda a, n: (n,), n=2)")),
        ("x", "x = x + 1\n    run = " + launch("lambda a: (a.size,)", "")[7:]
         + "\n    x = x + 1\n    return run(x)"),
    ],
)  # fmt: skip
def test_what_cannot_be_replaced_is_refused(parameters: str, body: str) -> None:
    _, found = planned(f"def f({parameters}):\n    {body}\n")
    assert isinstance(found, Refusal), found
    assert found.code == "callable-not-inlinable"
    assert found.hint


def test_launches_with_a_tuple_are_left() -> None:
    assert planned(f"def f(x):\n    {launch('(x.size,)')}\n")[1] is None


def test_the_function_goes_where_only_this_launch_reads_it() -> None:
    text, _ = planned(f"""
        def f(x):
            def grid(a):
                return a.size, 1

            {launch("grid")}
        """)
    assert "def grid" not in text
    assert "grid=(x.size, 1)" in text


def test_the_function_stays_where_something_else_reads_it() -> None:
    text, _ = planned(f"""
        def f(x):
            grid = lambda a: (a.size,)
            print(grid(x))
            {launch("grid")}
        """)
    assert "grid = lambda a: (a.size,)" in text
    assert "grid=(x.size,)" in text


def test_a_commented_function_stays() -> None:
    text, found = planned(f"""
        def f(x):
            # one step per element
            def grid(a):
                return (a.size,)

            {launch("grid")}
        """)
    assert isinstance(found, EditGroup)
    assert "# one step per element\n" in text
    assert "grid=(x.size,)" in text


def test_a_tuple_is_written_where_its_names_are_known() -> None:
    text, _ = planned(f"""
        def f(x):
            grid = lambda a: (a.size,)
            y = x * 2
            {launch("grid", "(y)")}
        """)
    assert "grid=(y.size,)" in text
    assert "lambda" not in text


def test_branches_become_a_choice() -> None:
    text, found = planned(f"""
        def f(x, wide):
            def grid(a):
                rows = a.shape[0] + 1
                if wide:
                    return (rows * 2,)
                elif rows > 8:
                    return (rows,)
                return (1,)

            {launch("grid")}
        """)
    assert isinstance(found, EditGroup)
    written = " ".join(text.split())
    assert "((x.shape[0] + 1) * 2,) if wide else" in written
    assert "(x.shape[0] + 1,) if (x.shape[0] + 1) > 8 else (1,)" in written


def test_certainty() -> None:
    exact = planned(f"def f(x):\n    {launch('lambda a: (a.size,)')}\n")[1]
    guessed = planned(f"def f(x):\n    {launch('lambda x: (x.size,)', '')}\n")[1]
    assert isinstance(exact, EditGroup) and isinstance(guessed, EditGroup)
    assert (exact.safety, guessed.safety) == ("safe", "review")


def test_a_module_function_means_the_names_of_the_module() -> None:
    _, found = planned(f"""
        def grid(a):
            return (a.size // BLOCK,)

        def f(x, BLOCK):
            {launch("grid")}
        """)
    assert isinstance(found, Refusal)
    assert "BLOCK" in found.reason
