"""The facts of kernels, index maps, operands and outputs that a mask stands on."""

from __future__ import annotations

import ast
import textwrap

import pytest
from pallas_static_grid.analysis import analyse
from pallas_static_grid.analysis.facts import LaunchFacts
from pallas_static_grid.analysis.index_maps import components_of
from pallas_static_grid.analysis.kernel_facts import LaunchShape
from pallas_static_grid.analysis.kernels import launch_shape
from pallas_static_grid.analysis.modules import parse_module
from pallas_static_grid.analysis.project import Project

HEAD = """
import functools
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
"""


def launches(source: str) -> tuple[LaunchFacts, ...]:
    text = HEAD + textwrap.dedent(source)
    return analyse(parse_module("kernels.py", text), Project())


def shape_of(source: str, ordinal: int = 0) -> LaunchShape:
    shape = launch_shape(launches(source)[ordinal])
    assert shape is not None
    return shape


def launched(kernel: str, call: str = "grid=(pl.cdiv(n, 8),)", operands: str = "x") -> str:
    return f"""
{textwrap.dedent(kernel)}

@jax.jit
def run(x, n):
    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return pl.pallas_call(
        kernel,
        in_specs=[block],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        {call},
    )({operands})
"""


# --- index maps


def components(source: str, rank: int) -> list[tuple[str, frozenset[int]]] | None:
    tree = ast.parse(source)
    node = next(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.Lambda))
    found = components_of(node, None, rank)
    return None if found is None else [(c.kind, c.axes) for c in found]


FIRST, SECOND, NONE = frozenset({0}), frozenset({1}), frozenset[int]()


@pytest.mark.parametrize(
    ("source", "rank", "expected"),
    [
        ("lambda i, j: (i, j)", 2, [("axis", FIRST), ("axis", SECOND)]),
        ("lambda i, j: (i, 0)", 2, [("axis", FIRST), ("constant", NONE)]),
        ("lambda i: (i + 1,)", 1, [("affine", FIRST)]),
        ("lambda i: (7 - i,)", 1, [("affine", FIRST)]),
        ("lambda i: (2 * i,)", 1, [("other", FIRST)]),
        ("lambda i: (i * 2,)", 1, [("affine", FIRST)]),
        ("lambda i: (i * 0,)", 1, [("other", FIRST)]),
        ("lambda i: (i // 4,)", 1, [("monotone", FIRST)]),
        ("lambda i, j: (i * 4 + j,)", 2, [("other", FIRST | SECOND)]),
        ("lambda i, j: (i % 2, j)", 2, [("other", FIRST), ("axis", SECOND)]),
        ("lambda i, ids: (ids[i], 0)", 1, [("table", FIRST), ("constant", NONE)]),
        ("lambda i, ids: (ids[0], i)", 1, [("table", NONE), ("axis", FIRST)]),
        ("lambda i, ids: (ids[i].astype(int), 0)", 1, [("table", FIRST), ("constant", NONE)]),
        ("lambda i, meta: (meta[2][i],)", 1, [("table", FIRST)]),
        ("lambda i, meta: (meta.ids[i],)", 1, [("table", FIRST)]),
        ("lambda i, *refs: (refs[1][i],)", 1, [("table", FIRST)]),
        ("lambda *args: (args[0], args[1][args[0]])", 1, [("axis", FIRST), ("table", FIRST)]),
        ("lambda i, j, k=3: (i + k, j)", 2, [("other", FIRST), ("axis", SECOND)]),
        ("lambda i: i", 1, [("axis", FIRST)]),
        ("lambda i: helper(i)", 1, None),
    ],
)
def test_what_a_map_depends_on(
    source: str, rank: int, expected: list[tuple[str, frozenset[int]]] | None
) -> None:
    found = components(source, rank)
    if expected is not None and expected[0] == ("table", NONE):
        # An entry that no step chooses still comes out of memory.
        assert found is not None
        assert found[1:] == expected[1:]
        assert found[0][0] == "table"
    else:
        assert found == expected


def test_a_def_is_followed_through_names_branches_and_swaps() -> None:
    source = """
    def rhs_map(n_i, visit, k_i, metadata, offset):
        _, group_of, _ = metadata
        if transposed:
            k_i, n_i = n_i, k_i
        return group_of[visit] - offset[0], k_i, n_i
    """
    found = components(textwrap.dedent(source), 3)
    both = frozenset({0, 2})
    assert found == [("table", frozenset({1})), ("other", both), ("other", both)]


def test_a_map_made_by_another_function_is_followed() -> None:
    shape = shape_of("""
    def kernel(rows, x_ref, out_ref):
        out_ref[...] = x_ref[...]

    @jax.jit
    def run(x, rows, n):
        def by_row(f):
            def index_map(i, rows):
                return f(rows[i])
            return index_map
        spec = pl.BlockSpec((8, 128), by_row(lambda row: (row, 0)))
        return pl.pallas_call(
            kernel,
            grid_spec=pltpu.PrefetchScalarGridSpec(
                num_scalar_prefetch=1, grid=(n,), in_specs=[spec], out_specs=spec
            ),
            out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        )(rows, x)
    """)
    index_map = shape.operands[1].specs[0].index_map
    assert index_map is not None and index_map.components is not None
    assert [c.kind for c in index_map.components] == ["table", "constant"]


# --- kernels


def test_reads_of_the_grid_are_found_wherever_they_stand() -> None:
    kernel = shape_of(
        launched("""
        def kernel(x_ref, out_ref):
            i, j = pl.program_id(0), pl.program_id(axis=1)

            @pl.when(i == pl.num_programs(0) - 1)
            def _last():
                out_ref[...] = x_ref[...] + pl.program_id(0)
        """)
    ).kernel
    assert [(r.kind, r.axis, r.bound_to, r.statement) for r in kernel.reads] == [
        ("program_id", 0, "i", 0),
        ("program_id", 1, "j", 0),
        ("num_programs", 0, None, 1),
        ("program_id", 0, None, 1),
    ]


@pytest.mark.parametrize(
    "call",
    ["lax_.axis_size('rows')", "apply(pl.num_programs, 0)", "pl.num_programs(axis)"],
)
def test_a_read_whose_axis_is_not_a_literal_is_seen_as_such(call: str) -> None:
    kernel = shape_of(
        launched(f"""
        def kernel(x_ref, out_ref):
            out_ref[...] = x_ref[...] * {call}
        """)
    ).kernel
    assert [(r.kind, r.axis) for r in kernel.reads] == [("num_programs", None)]


def test_reads_in_called_functions_are_found() -> None:
    kernel = shape_of(
        launched("""
        def last():
            return pl.program_id(0) == pl.num_programs(0) - 1

        def scaled(ref):
            return jnp.where(last(), 0.0, ref[...])

        def kernel(x_ref, out_ref):
            out_ref[...] = scaled(x_ref)
        """)
    ).kernel
    assert {(r.kind, r.axis) for r in kernel.helper_reads} == {
        ("program_id", 0),
        ("num_programs", 0),
    }


def test_what_may_stand_above_a_guard() -> None:
    kernel = shape_of(
        launched("""
        def kernel(x_ref, out_ref):
            '''Doubles.'''
            i = pl.program_id(0)
            is_first = i == 0
            x = x_ref[...]
            out_ref[...] = jnp.where(is_first, x, 2 * x)
        """)
    ).kernel
    kinds = [statement.kind for statement in kernel.statements]
    assert kinds == ["docstring", "program_id", "pure", "other", "other"]


def test_the_conditions_of_an_existing_guard_are_spelled_out() -> None:
    kernel = shape_of(
        launched("""
        def kernel(x_ref, out_ref):
            i = pl.program_id(0)
            n = x_ref[3]

            @pl.when((i < n) & (pl.program_id(1) == 0))
            def _work():
                out_ref[...] = x_ref[...]
        """)
    ).kernel
    assert kernel.statements[-1].conjuncts == ("program_id(0) < x_ref[3]", "program_id(1) == 0")


def test_other_uses_of_a_kernel_are_counted() -> None:
    source = launched("""
    def kernel(x_ref, out_ref):
        out_ref[...] = x_ref[...]
    """)
    assert shape_of(source).kernel.uses == 0
    again = source + "\n\ndef also(x_ref, out_ref):\n    kernel(x_ref, out_ref)\n"
    assert shape_of(again).kernel.uses == 1


def test_a_partial_under_a_name_is_no_other_use() -> None:
    source = """
    def scale_kernel(x_ref, out_ref, *, factor):
        out_ref[...] = x_ref[...] * factor

    @jax.jit
    def run(x, n):
        block = pl.BlockSpec((8, 128), lambda i: (i, 0))
        kernel = functools.partial(scale_kernel, factor=2.0)
        return pl.pallas_call(
            kernel, grid=(n,), in_specs=[block], out_specs=block, out_shape=x
        )(x)
    """
    kernel = shape_of(source).kernel
    assert (kernel.name, kernel.uses, [r.name for r in kernel.refs]) == (
        "scale_kernel",
        0,
        ["x_ref", "out_ref"],
    )


def test_nonlocal_and_yield_reach_outside() -> None:
    kernel = shape_of("""
    @jax.jit
    def run(x, n):
        calls = 0

        def kernel(x_ref, out_ref):
            nonlocal calls
            calls += 1
            out_ref[...] = x_ref[...]

        block = pl.BlockSpec((8, 128), lambda i: (i, 0))
        return pl.pallas_call(
            kernel, grid=(n,), in_specs=[block], out_specs=block, out_shape=x
        )(x)
    """).kernel
    assert kernel.outside is not None


def test_calls_out_of_sight_are_told_apart_by_package() -> None:
    source = HEAD + textwrap.dedent("""
    import einsteins
    from ours.helpers import hidden

    def kernel(x_ref, out_ref):
        out_ref[...] = hidden(einsteins.dot(x_ref[...]))

    @jax.jit
    def run(x, n):
        block = pl.BlockSpec((8, 128), lambda i: (i, 0))
        return pl.pallas_call(
            kernel, grid=(n,), in_specs=[block], out_specs=block, out_shape=x
        )(x)
    """)
    facts = analyse(parse_module("kernels.py", source, "ours.kernels"), Project())
    shape = launch_shape(facts[0])
    assert shape is not None
    assert shape.kernel.unseen_calls == ("ours.helpers.hidden",)
    assert shape.kernel.foreign_calls == ("einsteins.dot",)


# --- the launch


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ("name='run'", ["sequential", "sequential"]),
        (
            "compiler_params=pltpu.CompilerParams(dimension_semantics=('parallel', 'arbitrary'))",
            ["parallel", "sequential"],
        ),
        ("compiler_params=pltpu.CompilerParams(vmem_limit_bytes=1)", ["sequential"] * 2),
        ("compiler_params=make_params()", ["unknown"] * 2),
        (
            "compiler_params=pltpu.CompilerParams(dimension_semantics=semantics)",
            ["unknown", "unknown"],
        ),
        ("compiler_params=pltpu.CompilerParams(**options)", ["unknown", "unknown"]),
    ],
)
def test_whether_axes_run_in_order(params: str, expected: list[str]) -> None:
    shape = shape_of(
        launched(
            "def kernel(x_ref, out_ref):\n    out_ref[...] = x_ref[...]",
            f"grid=(pl.cdiv(n, 8), 1), {params}",
        )
    )
    assert [axis.semantics for axis in shape.axes] == expected


@pytest.mark.parametrize(
    ("keys", "operand", "aliased"),
    [("{0: 0}", "x", 0), ("{1: 0}", "(x, x), x", None), ("{2: 0}", "(x, x), x", 1)],
)
def test_alias_keys_count_flattened_operands(keys: str, operand: str, aliased: int | None) -> None:
    specs = "[block]" if operand == "x" else "[(block, block), block]"
    refs = "x_ref" if operand == "x" else "pair, x_ref"
    shape = shape_of(f"""
    def kernel({refs}, out_ref):
        out_ref[...] = x_ref[...]

    @jax.jit
    def run(x, n):
        block = pl.BlockSpec((8, 128), lambda i: (i, 0))
        return pl.pallas_call(
            kernel,
            grid=(n,),
            in_specs={specs},
            out_specs=block,
            out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
            input_output_aliases={keys},
        )({operand})
    """)
    assert shape.outputs is not None
    assert shape.outputs[0].aliases == (-1 if aliased is None else aliased)


def test_a_count_that_is_an_element_of_an_operand_is_recognized() -> None:
    shape = shape_of("""
    ROWS = 8

    def kernel(sizes, x_ref, out_ref):
        out_ref[...] = x_ref[...]

    @jax.jit
    def run(x, sizes):
        block = pl.BlockSpec((8, 128), lambda i, sizes: (i, 0))
        count = pl.cdiv(sizes[2], ROWS)
        return pl.pallas_call(
            kernel,
            grid_spec=pltpu.PrefetchScalarGridSpec(
                num_scalar_prefetch=1, grid=(count,), in_specs=[block], out_specs=block
            ),
            out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        )(sizes, x)
    """)
    count = shape.counts[0]
    assert count is not None
    assert (count.operand, count.with_ref("sizes_ref")) == (0, "pl.cdiv(sizes_ref[2], ROWS)")


def test_a_count_with_a_local_length_is_not_one_that_the_kernel_can_compute() -> None:
    shape = shape_of("""
    def kernel(sizes, x_ref, out_ref):
        out_ref[...] = x_ref[...]

    @jax.jit
    def run(x, sizes):
        rows = x.shape[0] // 4
        block = pl.BlockSpec((8, 128), lambda i, sizes: (i, 0))
        return pl.pallas_call(
            kernel,
            grid_spec=pltpu.PrefetchScalarGridSpec(
                num_scalar_prefetch=1,
                grid=(pl.cdiv(sizes[2], rows),),
                in_specs=[block],
                out_specs=block,
            ),
            out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        )(sizes, x)
    """)
    assert shape.counts == (None,)


def test_which_arrays_reach_as_far_as_the_bound() -> None:
    shape = shape_of("""
    def kernel(x_ref, y_ref, out_ref):
        out_ref[...] = x_ref[...] + y_ref[...]

    @jax.jit
    def run(x, y, n):
        block = pl.BlockSpec((8, 128), lambda i: (i, 0))
        return pl.pallas_call(
            kernel,
            grid=(n,),
            in_specs=[block, block],
            out_specs=block,
            out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        )(x, y)
    """)
    within = {reach.label: reach.within for reach in shape.reaches}
    assert within == {"x": True, "y": False, "the output": True}
    assert {r.steps for r in shape.reaches if r.label == "y"} == {"pl.cdiv(y.shape[0], 8)"}


def test_arguments_hidden_by_stars_are_said_to_be_hidden() -> None:
    shape = shape_of("""
    def kernel(x_ref, out_ref):
        out_ref[...] = x_ref[...]

    @jax.jit
    def run(x, n, **options):
        return pl.pallas_call(kernel, grid=(n,), **options)(x)
    """)
    assert shape.hidden
