"""In whose grid the functions nested in a kernel run."""

from __future__ import annotations

import ast
import textwrap

import pytest
from pallas_static_grid.analysis.kernel_nested import grids_of

BODY = """
def body(x_ref):
    pl.program_id(0)
"""


def grids(kernel: str, *, name: str = "body") -> set[str]:
    """The grids that the nested function `name` may run in."""
    (node,) = ast.parse("def kernel(ref):\n" + textwrap.indent(kernel, "    ")).body
    assert isinstance(node, ast.FunctionDef)
    found = grids_of(node)
    functions = [f for f in ast.walk(node) if isinstance(f, ast.FunctionDef) and f.name == name]
    return {grid for function in functions for grid in found.get(function, ())}


@pytest.mark.parametrize(
    ("use", "grid"),
    [
        ("body(ref)", "own"),
        ("jax.lax.fori_loop(0, 4, body, None)", "own"),
        ("lax.cond(p, lambda: body(ref), other)", "own"),
        ("pl.when(p)(functools.partial(body, ref))", "own"),
        ("fori_loop(0, 4, functools.partial(body, 1), None)", "own"),
        ("lax.switch(n, [other, body])", "own"),
        ("run = lambda: body(ref)\nrun()", "own"),
        ("pltpu.emit_pipeline(body, grid=(n,))(ref)", "other"),
        ("pltpu.emit_pipeline(functools.partial(body, 1), grid=(n,))(ref)", "other"),
        ("pltpu.emit_pipeline(lambda x: body(x), grid=(n,))(ref)", "other"),
        ("functools.partial(pltpu.emit_pipeline, grid=(n,))(body)(ref)", "other"),
        ("plgpu.emit_pipeline_warp_specialized(body, grid=(n,))(ref)", "other"),
        ("def outer(x):\n    body(x)\npltpu.emit_pipeline(outer, grid=(n,))(ref)", "other"),
        ("run_it(body, grid=(n,))(ref)", "unclear"),
        ("run = functools.partial(body, 1)\nrun(ref)", "unclear"),
        ("bodies = {'a': body}", "unclear"),
        ("return body", "unclear"),
    ],
)
def test_one_use(use: str, grid: str) -> None:
    assert grids(BODY + use) == {grid}


def test_both_grids() -> None:
    assert grids(BODY + "body(ref)\npltpu.emit_pipeline(body, grid=(n,))(ref)") == {"own", "other"}


def test_never_run() -> None:
    assert grids(BODY + "ref[...] = 0") == set()


@pytest.mark.parametrize(
    ("decorator", "grid"),
    [
        ("pl.when(i == 0)", "own"),
        ("functools.partial(pl.run_scoped, sem=sem)", "own"),
        ("functools.partial(pltpu.emit_pipeline, grid=(n,))", "other"),
        ("pipelined(grid=(n,))", "unclear"),
    ],
)
def test_decorated(decorator: str, grid: str) -> None:
    assert grids(f"\n@{decorator}" + BODY) == {grid}


def test_within_a_pipeline() -> None:
    inner = "@pl.when(first)\n" + BODY.strip()
    kernel = "def stage(x):\n" + textwrap.indent(inner, "    ")
    assert grids(kernel + "\npltpu.emit_pipeline(stage, grid=(n,))(ref)") == {"other"}
