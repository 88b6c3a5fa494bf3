"""Arithmetic on shapes: what each expression becomes, and that it has the same value."""

from __future__ import annotations

import math
from textwrap import dedent, indent
from types import SimpleNamespace

import pytest
from pallas_static_grid import analysis
from pallas_static_grid.analysis.modules import parse_module
from pallas_static_grid.analysis.project import Project
from pallas_static_grid.model import EditGroup, Refusal
from pallas_static_grid.rewrite.edits import apply
from pallas_static_grid.transforms import static_shape_arithmetic
from pallas_static_grid.transforms.base import PlanContext

HEAD = """\
import math
import numpy as np
import jax, jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
B = 8
def kernel(x_ref, out_ref): out_ref[...] = x_ref[...]
"""
TAIL = """
@jax.jit
def jitted(x, n): return f(x, n)
"""


def planned(source: str) -> tuple[str, EditGroup | Refusal | None]:
    """The text after the transform (as it was without one), and what the transform said."""
    facts = analysis.analyse(parse_module("m.py", source), Project())[0]
    found = static_shape_arithmetic.plan(facts, PlanContext())
    return apply(source, found.edits) if isinstance(found, EditGroup) else source, found


def with_grid(expression: str) -> str:
    launch = f"    return pl.pallas_call(kernel, grid={expression}, out_shape=x)(x)\n"
    return f"{HEAD}def f(x, n):\n{launch}{TAIL}"


def with_body(body: str) -> str:
    return f"{HEAD}def f(x, n):\n{indent(dedent(body), '    ')}{TAIL}"


EXACT = [
    ("jnp.ceil(x.shape[0] / B).astype(int)", "pl.cdiv(x.shape[0], B)"),
    ("jnp.ceil(x.shape[0] / B).astype('int32')", "pl.cdiv(x.shape[0], B)"),
    ("jnp.int32(jnp.ceil(x.shape[0] / B))", "pl.cdiv(x.shape[0], B)"),
    ("jnp.ceil(jnp.divide(x.shape[0], B)).astype(jnp.int32)", "pl.cdiv(x.shape[0], B)"),
    ("jnp.ceil((x.shape[0] + 1) / (2 * B)).astype(int)", "pl.cdiv(x.shape[0] + 1, 2 * B)"),
    ("jnp.floor(x.shape[0] / B).astype(int)", "x.shape[0] // B"),
    ("(jnp.asarray(x.shape[0]) / B).astype(int)", "x.shape[0] // B"),
    ("lax.div(x.shape[0], B)", "x.shape[0] // B"),
    ("lax.rem(x.shape[0], B)", "x.shape[0] % B"),
    ("lax.mul(lax.add(x.shape[0], 1), 2)", "(x.shape[0] + 1) * 2"),
    ("jnp.floor_divide(x.shape[0], B) * 2", "x.shape[0] // B * 2"),
    ("2 * jnp.floor_divide(x.shape[0], B)", "2 * (x.shape[0] // B)"),
    ("jnp.subtract(x.size, jnp.subtract(9, 4))", "x.size - (9 - 4)"),
    ("-jnp.negative(x.shape[0] + 1)", "--(x.shape[0] + 1)"),
    ("jnp.mod(x.shape[0], B) + 1", "x.shape[0] % B + 1"),
    ("jnp.remainder(x.shape[0], 3)", "x.shape[0] % 3"),
    ("jnp.minimum(x.shape[0], 8) // B", "min(x.shape[0], 8) // B"),
    ("lax.max(x.shape[0] // B, 1)", "max(x.shape[0] // B, 1)"),
    ("jnp.clip(x.shape[0], 1, 8)", "min(max(x.shape[0], 1), 8)"),
    ("lax.clamp(1, x.shape[0], 8)", "min(max(x.shape[0], 1), 8)"),
    ("jnp.where(x.shape[0] > 3, 4, 2)", "4 if x.shape[0] > 3 else 2"),
    ("jnp.where(x.shape[0] > 3, 4, 2) * 2", "(4 if x.shape[0] > 3 else 2) * 2"),
    ("jnp.prod(jnp.array(x.shape))", "math.prod(x.shape)"),
    ("jnp.array(x.shape).prod() // B", "math.prod(x.shape) // B"),
    ("np.prod(x.shape[:-1])", "math.prod(x.shape[:-1])"),
    ("np.prod((x.shape[0], 2))", "math.prod((x.shape[0], 2))"),
    ("jnp.sum(jnp.array(x.shape))", "sum(x.shape)"),
    ("np.max(x.shape)", "max(x.shape)"),
    ("(np.array(x.shape) // 2).sum()", "sum(size // 2 for size in x.shape)"),
    ("(np.array(x.shape) // 2)[1]", "x.shape[1] // 2"),
    ("np.array([x.shape[0], 3])[0] // 2", "x.shape[0] // 2"),
    ("jnp.square(x.shape[1])", "x.shape[1] ** 2"),
    ("jnp.abs(x.shape[0] - 9)", "abs(x.shape[0] - 9)"),
    ("np.int64(4)", "4"),
    ("np.uint32(x.shape[0])", "x.shape[0]"),
    ("np.array(x.shape[0]) // B", "x.shape[0] // B"),
    ("np.ceil(x.shape[0] / B).astype(int)", "pl.cdiv(x.shape[0], B)"),
    ("pl.cdiv(jnp.array(x.shape[0]), B)", "pl.cdiv(x.shape[0], B)"),
    ("max(np.int64(3), x.shape[0])", "max(3, x.shape[0])"),
    ("len(x.shape) * np.int32(2)", "len(x.shape) * 2"),
    ("jnp.size(x) // np.int32(4)", "jnp.size(x) // 4"),
]
SHAPES = [(1, 1), (3, 5), (8, 2), (9, 4), (16, 128), (1023, 7)]


@pytest.mark.parametrize(("before", "after"), EXACT)
def test_exact_forms(before: str, after: str) -> None:
    text, found = planned(with_grid(f"({before},)"))
    assert isinstance(found, EditGroup)
    assert found.safety == "safe"
    assert f"grid=({after},)" in text
    launch = analysis.analyse(parse_module("m.py", text), Project())[0].launch
    assert launch.verdict == "static"


@pytest.mark.jax
@pytest.mark.parametrize(("before", "after"), EXACT)
def test_exact_forms_have_the_same_value(before: str, after: str) -> None:
    import jax
    import numpy as np
    from jax.experimental import pallas as pl

    names = {"jnp": jax.numpy, "lax": jax.lax, "np": np, "pl": pl, "math": math, "B": 8}
    for shape in SHAPES:
        x = (
            np.zeros(shape)
            if "jnp.size" in before
            else SimpleNamespace(shape=shape, size=math.prod(shape), ndim=len(shape))
        )
        value = eval(after, {**names, "x": x})
        assert type(value) is int
        assert value == int(eval(before, {**names, "x": x}))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("np.array(x.shape) // B", "tuple(size // B for size in x.shape)"),
        ("np.array([4, x.shape[0]])", "(4, x.shape[0])"),
        ("jnp.array([4])", "(4,)"),
        ("np.int64(4)", "(4,)"),
        ("[np.int64(4), 2]", "[4, 2]"),
        ('(("rows", np.int64(4)), ("columns", 2))', '(("rows", 4), ("columns", 2))'),
    ],
)
def test_grids_of_other_kinds(before: str, after: str) -> None:
    text, found = planned(with_grid(before))
    assert isinstance(found, EditGroup)
    assert f"grid={after}, out_shape" in text


@pytest.mark.parametrize(
    "expression",
    [
        "jnp.log2(x.shape[0]).astype(int)",
        "jnp.sqrt(x.shape[0]).astype(int)",
        "jnp.round(x.shape[0] / B).astype(int)",
        "jnp.mean(jnp.array(x.shape)).astype(int)",
        "jnp.int8(x.shape[0])",
        "np.uint32(x.shape[0] - 9)",
        "lax.div(x.shape[0] - 9, B)",
        "lax.rem(-x.shape[0], B)",
        "(jnp.asarray(x.shape[0] - 9) / B).astype(int)",
        "jnp.power(2, x.shape[0] - 9)",
        "jnp.asarray(x.shape[0]).astype(jnp.float32).astype(int)",
    ],
)
def test_what_has_no_exact_form_is_refused(expression: str) -> None:
    _, found = planned(with_grid(f"({expression},)"))
    assert isinstance(found, Refusal)
    assert found.code == "inexact-arithmetic"
    assert found.line == 9


@pytest.mark.parametrize(
    "expression",
    [
        "n // B",
        "jnp.ceil(n / B).astype(int)",
        "jnp.log2(n).astype(int)",
        "jnp.minimum(n, x.shape[0])",
        "x.shape[0] / B",
        "x.shape[0] // B",
        "int(np.ceil(x.shape[0] / B))",
        "math.ceil(x.shape[0] / B)",
        "np.bool_(True)",
        "x[0]",
        "jnp.sum(x)",
    ],
)
def test_data_floats_and_ints_are_none_of_its_business(expression: str) -> None:
    assert planned(with_grid(f"({expression},)"))[1] is None


def test_both_entries_or_a_refusal() -> None:
    _, found = planned(with_grid("(np.int64(4), jnp.log2(x.shape[0]).astype(int))"))
    assert isinstance(found, Refusal)


LAUNCH = "return pl.pallas_call(kernel, grid=(steps,), out_shape=x)(x)\n"


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        # only the grid reads it: the definition
        ("steps = jnp.ceil(x.shape[0] / B).astype(int)\n", ["steps = pl.cdiv(x.shape[0], B)"]),
        ("steps, m = np.int64(4), n\n", ["steps, m = 4, n"]),
        ("steps: int = np.int64(4)\n", ["steps: int = 4"]),
        # through another name
        ("rows = jnp.asarray(x.shape[0])\nsteps = rows // B\n", ["rows = x.shape[0]\n"]),
        # something else reads it: the entry
        ("steps = jnp.int32(x.shape[0])\nprint(steps)\n", ["jnp.int32(", "grid=(x.shape[0],)"]),
        # a NumPy value that cannot be followed: its int
        ("steps, m = np.array(x.shape) // B\n", ["np.array(", "grid=(int(steps),)"]),
        # what the analysis knows of a name bound twice, on one path
        (
            "steps = jnp.int32(x.shape[0])\nsteps = steps // B\nprint(steps)\n",
            ["jnp.int32(", "grid=(x.shape[0] // B,)"],
        ),
    ],
)
def test_names(body: str, wanted: list[str]) -> None:
    text, found = planned(with_body(body + LAUNCH))
    assert isinstance(found, EditGroup)
    for part in wanted:
        assert part in text


def test_a_name_of_several_values_that_others_read_is_refused() -> None:
    body = """\
        if x.ndim:
            steps = jnp.int32(x.shape[0])
        else:
            steps = lax.div(x.shape[0], 2)
        print(steps)
        """
    _, found = planned(with_body(dedent(body) + LAUNCH))
    assert isinstance(found, Refusal)
    assert found.code == "grid-name-shared"


def test_the_names_in_the_definition_must_mean_the_same_at_the_launch() -> None:
    body = "rows = x.shape[0]\nsteps = jnp.int32(rows)\nrows = rows + 1\nprint(steps, rows)\n"
    text, found = planned(with_body(body + LAUNCH))
    assert isinstance(found, EditGroup)
    assert "grid=(x.shape[0],)" in text


def test_notes_say_where_floats_differ() -> None:
    _, found = planned(with_grid("(jnp.ceil(x.shape[0] / B).astype(int),)"))
    assert isinstance(found, EditGroup)
    assert any("float32" in note for note in found.notes)
    _, found = planned(with_grid("(np.ceil(x.shape[0] / B).astype(int),)"))
    assert isinstance(found, EditGroup)
    assert any("float64" in note for note in found.notes)


def test_missing_imports_are_added_and_unused_ones_dropped() -> None:
    source = (
        "import numpy as np\nfrom jax.experimental.pallas import pallas_call\n\n\n"
        "def run(kernel, x):\n"
        "    return pallas_call(kernel, grid=(np.prod(x.shape),), out_shape=x)(x)\n"
    )
    text, found = planned(source)
    assert isinstance(found, EditGroup)
    assert text.startswith("import math\n\n")
    assert "numpy" not in text
