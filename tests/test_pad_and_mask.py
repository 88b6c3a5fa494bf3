"""What pad_and_mask writes, piece by piece, and what it leaves alone with which reason."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest
from tool import launches_of, run_tool

HEAD = """\
import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

"""


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def after(source: str, *arguments: str) -> str:
    """The file once the tool has been applied; it must not be refused, and be stable."""
    file = Path("launch.py")
    file.write_text(HEAD + textwrap.dedent(source))
    outcome = run_tool("apply", *arguments, file.name)
    assert outcome.exit_code == 0, outcome.stdout + outcome.stderr
    text = file.read_text()
    ast.parse(text)
    assert run_tool("apply", *arguments, file.name).exit_code == 0
    assert file.read_text() == text
    return text


def refusal(source: str, *arguments: str) -> tuple[str, str]:
    """The code of the one refusal, and the text of the line that it names."""
    file = Path("launch.py")
    text = HEAD + textwrap.dedent(source)
    file.write_text(text)
    found = [
        (launch["refusal"]["code"], text.splitlines()[launch["refusal"]["line"] - 1].strip())
        for launch in launches_of(file, *arguments)
        if launch["refusal"] is not None
    ]
    assert len(found) == 1
    run_tool("apply", *arguments, file.name)
    assert file.read_text() == text
    return found[0]


def simple(
    body: str = "out_ref[...] = x_ref[...] * 2.0",
    *,
    before: str = "",
    specs: str = "in_specs=[block],\n        out_specs=block,",
    more: str = "",
    block: str = "pl.BlockSpec((8, 128), lambda i: (i, 0))",
    grid: str = "(pl.cdiv(n, 8),)",
    call: str = "(x)",
) -> str:
    inner = textwrap.indent(textwrap.dedent(body), "    ")
    return f"""
def double_kernel(x_ref, out_ref):
{inner}


@jax.jit
def double(x, n):
{textwrap.indent(before, "    ")}
    block = {block}
    return pl.pallas_call(
        double_kernel,
        grid={grid},
        {specs}
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        {more}
    ){call}
"""


def prefetching(
    *,
    body: str = "out_ref[...] = x_ref[...]",
    in_map: str = "lambda i, ids: (ids[i], 0)",
    out_map: str = "lambda i, ids: (i, 0)",
    more: str = "",
    grid: str = "(n,)",
) -> str:
    return f"""
def take_kernel(ids, x_ref, out_ref):
{textwrap.indent(textwrap.dedent(body), "    ")}


@jax.jit
def take(x, ids, n):
    return pl.pallas_call(
        take_kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid={grid},
            in_specs=[pl.BlockSpec((8, 128), {in_map})],
            out_specs=pl.BlockSpec((8, 128), {out_map}),
        ),
        out_shape=jax.ShapeDtypeStruct((ids.shape[0] * 8, 128), x.dtype),
        {more}
    )(ids, x)
"""


def function(text: str, name: str) -> str:
    """The text of a def."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            found = ast.get_source_segment(text, node)
            assert found is not None
            return textwrap.dedent(" " * node.col_offset + found)
    raise LookupError(name)


# --- the guard


def test_work_moves_below_one_guard_and_the_count_comes_first() -> None:
    text = after(simple())
    assert function(text, "double_kernel") == textwrap.dedent("""\
        def double_kernel(num_live_ref, x_ref, out_ref):
            # The grid is as long as it can get; blocks past the live ones do nothing.
            @pl.when(pl.program_id(0) < num_live_ref[0])
            def _live_block():
                out_ref[...] = x_ref[...] * 2.0""")


def test_a_step_that_the_kernel_names_is_used() -> None:
    text = after(simple("tile = pl.program_id(0)\nout_ref[...] = x_ref[...] + tile"))
    assert "@pl.when(tile < num_live_ref[0])" in text
    assert "    def _live_block():\n        out_ref[...] = x_ref[...] + tile" in text


def test_a_read_in_the_middle_of_the_body_moves_above_the_guard() -> None:
    text = after(
        simple("""\
        x = x_ref[...]

        tile = pl.program_id(0)  # which one

        out_ref[...] = x + tile
        """)
    )
    assert function(text, "double_kernel") == textwrap.dedent("""\
        def double_kernel(num_live_ref, x_ref, out_ref):
            tile = pl.program_id(0)  # which one

            # The grid is as long as it can get; blocks past the live ones do nothing.
            @pl.when(tile < num_live_ref[0])
            def _live_block():
                x = x_ref[...]

                out_ref[...] = x + tile""")


def test_a_read_inside_an_inner_condition_is_hoisted() -> None:
    text = after(
        simple("""\
        @pl.when(x_ref[0, 0] > 0)
        def _positive():
            out_ref[...] = x_ref[...] + pl.program_id(0)
        """)
    )
    assert "    step = pl.program_id(0)\n" in text
    assert "out_ref[...] = x_ref[...] + step" in text
    assert text.count("pl.program_id(0)") == 1


def test_num_programs_of_the_dynamic_axis_becomes_the_count_and_others_stay() -> None:
    text = after(
        simple(
            "last = (pl.num_programs(0) - 1) + pl.num_programs(1)\nout_ref[...] = last",
            grid="(pl.cdiv(n, 8), 2)",
            block="pl.BlockSpec((8, 128), lambda i, j: (i, j))",
        )
    )
    assert "last = (num_live_ref[0] - 1) + pl.num_programs(1)" in text


def test_multi_line_strings_and_comments_stay_as_they_are() -> None:
    source = simple('# why\nnote = """\nas it is\n"""\ndel note\nout_ref[...] = x_ref[...]  # done')
    line = next(line for line in source.splitlines() if "as it is" in line)
    text = after(source)
    assert f'"""\n{line}\n' in text
    assert "        # why\n" in text
    assert "        out_ref[...] = x_ref[...]  # done" in text


def test_a_lambda_and_a_shared_kernel_are_wrapped_at_the_launch() -> None:
    text = after(simple() + "\n\ndef also(x_ref, out_ref):\n    double_kernel(x_ref, out_ref)\n")
    assert function(text, "double_kernel").startswith("def double_kernel(x_ref, out_ref):")
    assert function(text, "double_live_kernel") == textwrap.dedent("""\
        def double_live_kernel(num_live_ref, x_ref, out_ref):
            # The grid is as long as it can get; blocks past the live ones do nothing.
            @pl.when(pl.program_id(0) < num_live_ref[0])
            def _live_block():
                double_kernel(x_ref, out_ref)""")


def test_names_in_use_are_not_taken() -> None:
    source = simple("num_live_ref = x_ref[...]\nout_ref[...] = num_live_ref").replace(
        "    block =", "    num_live_blocks = 3\n    del num_live_blocks\n    block ="
    )
    text = after(source)
    assert "def double_kernel(live_blocks_count_ref, x_ref, out_ref):" in text
    assert "live_blocks_count = jnp.full(" in text


# --- carriers


@pytest.mark.parametrize(
    ("target", "spec", "width"),
    [
        ("portable", "pl.BlockSpec()", 128),
        ("triton", "pl.BlockSpec((1,), lambda *_: (0,))", 1),
        ("mosaic_gpu", "pl.BlockSpec(memory_space=pltpu.SMEM)", 1),
    ],
)
def test_the_carrier_is_what_the_target_takes(target: str, spec: str, width: int) -> None:
    text = after(simple(), "--target", target)
    assert f"in_specs=[{spec}, block]," in text
    assert f"jnp.full(({width},), pl.cdiv(n, 8), jnp.int32)" in text


def test_a_tpu_launch_gets_scalar_prefetch() -> None:
    text = after(simple(), "--target", "tpu")
    assert "grid_spec=pltpu.PrefetchScalarGridSpec(" in text
    assert "num_scalar_prefetch=1," in text
    assert "pin_dead_blocks(lambda i: (i, 0))" in text


def test_without_in_specs_the_default_serves_the_count_too() -> None:
    text = after(
        simple(
            "rows = pl.ds(pl.program_id(0) * 8, 8)\nout_ref[rows] = x_ref[rows]",
            specs="",
            before="assert x.shape[0] % 8 == 0",
        ),
        "--target",
        "triton",
    )
    assert "in_specs" not in text
    assert ")(num_live_blocks, x)" in text


def test_specs_and_operands_in_a_list_are_spread_behind_the_count() -> None:
    text = after(
        simple(
            before="block_of_rows = pl.BlockSpec((8, 128), lambda i: (i, 0))\n"
            "specs = [block_of_rows]\noperands = [x]",
            specs="in_specs=specs,\n        out_specs=block,",
            call="(*operands)",
        )
    )
    assert "in_specs=[pl.BlockSpec(), *specs]," in text
    assert ")(num_live_blocks, *operands)" in text


def test_literal_and_computed_alias_keys_shift() -> None:
    more = "input_output_aliases={0: 0},"
    assert "input_output_aliases={1: 0}," in after(simple(more=more))
    listed = simple(
        before="operands = [x]",
        specs="in_specs=[pl.BlockSpec(memory_space=pl.ANY)],\n"
        "        out_specs=pl.BlockSpec(memory_space=pl.ANY),",
        more="input_output_aliases={len(operands) - 1: 0},",
        call="(*operands)",
        grid="(jnp.minimum(n, 4),)",
    )
    assert "input_output_aliases={len(operands) - 1 + 1: 0}," in after(listed)


# --- maps and outputs


def test_tables_are_read_at_live_steps_only() -> None:
    text = after(prefetching())
    assert function(text, "pin_dead_steps") == textwrap.dedent('''\
        def pin_dead_steps(index_map):
            """Dead steps stay on the last live block and move no data."""

            def pinned(i, num_live_ref, *prefetched):
                num_live = num_live_ref[0]
                i = jnp.clip(i, 0, jnp.maximum(num_live - 1, 0))
                block = index_map(i, *prefetched)
                return tuple(jnp.where(num_live > 0, index, 0) for index in block)

            return pinned''')


def test_static_axes_inside_stay_on_their_last_step_too() -> None:
    text = after(
        prefetching(
            in_map="lambda i, k, ids: (ids[i], k)",
            out_map="lambda i, k, ids: (i, k)",
            grid="(n, x.shape[1] // 128)",
        )
    )
    assert "k = jnp.where(i < num_live, k, x.shape[1] // 128 - 1)" in text


def test_a_bare_index_is_no_tuple() -> None:
    source = prefetching().replace(
        "(8, 128), lambda i, ids: (ids[i], 0)", "(8,), lambda i, ids: ids[i]"
    )
    source = source.replace("(8, 128), lambda i, ids: (i, 0)", "(8,), lambda i, ids: i")
    source = source.replace("(ids.shape[0] * 8, 128)", "(ids.shape[0] * 8,)")
    assert "return jax.tree.map(lambda index: jnp.where(num_live > 0, index, 0), block)" in after(
        source
    )


def test_an_aliased_window_keeps_what_it_held() -> None:
    text = after(simple(more="input_output_aliases={0: 0},"))
    assert "    is_live = pl.program_id(0) < num_live_ref[0]\n" in text
    assert "    @pl.when(jnp.logical_not(is_live))\n    def _keep():\n" in text
    assert "        out_ref[...] = x_ref[...]\n" in text


def test_an_aliased_ref_without_a_window_needs_no_keeping() -> None:
    text = after(
        simple(
            "rows = pl.ds(pl.program_id(0) * 8, 8)\nout_ref[rows] = x_ref[rows]",
            specs="in_specs=[pl.BlockSpec(memory_space=pl.ANY)],\n"
            "        out_specs=pl.BlockSpec(memory_space=pl.ANY),",
            more="input_output_aliases={0: 0},",
            before="assert x.shape[0] % 8 == 0",
        )
    )
    assert "_keep" not in text


def test_the_grid_stays_within_the_shortest_array() -> None:
    source = simple("out_ref[...] = x_ref[...] + y_ref[...]", call="(x, y)")
    source = source.replace("(x_ref, out_ref)", "(x_ref, y_ref, out_ref)")
    source = source.replace("def double(x, n)", "def double(x, y, n)")
    source = source.replace("in_specs=[block]", "in_specs=[block, block]")
    assert "grid=(pl.cdiv(min(x.shape[0], y.shape[0]), 8),)," in after(source)


def test_a_grid_that_other_code_reads_stays_and_the_launch_gets_its_own() -> None:
    text = after(simple(before="grid = (pl.cdiv(n, 8),)\nprint(len(grid))", grid="grid"))
    assert "    grid = (pl.cdiv(n, 8),)\n" in text
    assert "grid=(pl.cdiv(x.shape[0], 8),)," in text


def test_the_mask_free_form_changes_the_grid_and_nothing_else() -> None:
    before = HEAD + textwrap.dedent(simple())
    text = after(simple(), "--mask-free")
    assert text == before.replace("grid=(pl.cdiv(n, 8),),", "grid=(pl.cdiv(x.shape[0], 8),),")


def test_the_mask_free_form_gives_way_to_the_guard_where_it_is_unsound() -> None:
    text = after(simple(more="input_output_aliases={0: 0},"), "--mask-free")
    assert "_keep" in text


def test_more_work_than_the_user_s_bound_shows() -> None:
    source = simple(
        "out_ref[...] = x_ref[...] * 2.0",
        block="pl.BlockSpec((8, 128), lambda i: (0, 0))",
        grid="(n,)",
    )
    text = after(source, "--bound", "launch.py::double::n=4")
    check = function(text, "check_num_steps")
    assert "fits = num_live_steps[0] <= 4" in check
    assert 'raise ValueError("the grid needs more than 4 steps")' in check
    assert "return check_num_steps(outputs)" in text


# --- refusals


def test_an_output_aliased_to_another_window() -> None:
    source = simple(
        more="input_output_aliases={0: 0},",
        specs="in_specs=[pl.BlockSpec((8, 128), lambda i: (0, 0))],\n        out_specs=block,",
    )
    assert refusal(source)[0] == "aliased-output"


@pytest.mark.parametrize(
    ("refs", "count"),
    [
        ("x_ref: Ref, out_ref: Ref", "num_live_ref: Ref, x_ref"),
        ("x_ref: Ref, out_ref", "num_live_ref, x_ref"),
        ("x_ref: Shaped[8], out_ref: Shaped[8]", "num_live_ref, x_ref"),
    ],
)
def test_the_count_is_annotated_as_all_refs_are(refs: str, count: str) -> None:
    source = "Ref = object\nShaped = {8: object}\n" + simple()
    assert count in after(source.replace("(x_ref, out_ref)", f"({refs})", 1))


def test_a_ref_that_hands_its_block_on_is_no_longer_deleted() -> None:
    body = "del x_ref\nout_ref[...] = jnp.zeros_like(out_ref)"
    assert "del x_ref" in after(simple(body))
    aliased = after(simple(body, more="input_output_aliases={0: 0},"))
    assert "del x_ref" not in aliased
    assert "out_ref[...] = x_ref[...]" in aliased


def test_a_deletion_in_the_guard_would_make_the_name_local() -> None:
    assert "del x_ref" not in after(simple("x = x_ref[...]\nout_ref[...] = x\ndel x_ref"))
    branch = after(simple("if True:\n    out_ref[...] = x_ref[...]\n    del x_ref"))
    # The kernel stays as it is, under a guard of its own.
    assert "\n        del x_ref" in branch


@pytest.mark.parametrize("body", ["out_ref[...] = 0.0\ndel x_ref", "del x_ref; out_ref[...] = 0.0"])
def test_a_deletion_that_cannot_be_edited_by_itself(body: str) -> None:
    code, line = refusal(simple(body, more="input_output_aliases={0: 0},"))
    assert code == "kernel-not-guardable"
    assert "del x_ref" in line


def test_a_block_shared_by_steps_on_a_gpu() -> None:
    source = simple(
        "out_ref[...] += x_ref[...]",
        specs="in_specs=[block],\n        out_specs=pl.BlockSpec((8, 128), lambda i: (0, 0)),",
    )
    for target in ("portable", "triton", "mosaic_gpu"):
        assert refusal(source, "--target", target)[0] == "carried-state-on-parallel-axis"
    assert "_live_block" in after(source, "--target", "tpu")


def test_a_block_shared_by_steps_of_a_parallel_axis() -> None:
    source = simple(
        "out_ref[...] += x_ref[...]",
        specs="in_specs=[block],\n        out_specs=pl.BlockSpec((8, 128), lambda i: (0, 0)),",
        more="compiler_params=pltpu.CompilerParams(dimension_semantics=('parallel',)),",
    )
    code, line = refusal(source)
    assert code == "revisited-output-on-parallel-axis"
    assert "lambda i: (0, 0)" in line


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("out_ref[...] = x_ref[...] * jax.lax.axis_size('rows')", "axis_size"),
        ("axis = 0\nout_ref[...] = x_ref[...] * pl.num_programs(axis)", "num_programs(axis)"),
    ],
)
def test_reads_of_the_grid_that_cannot_be_replaced(body: str, line: str) -> None:
    code, text = refusal(simple(body))
    assert code == "kernel-not-guardable"
    assert line in text


def test_a_parameter_that_is_bound_again_beside_a_read_of_the_step() -> None:
    code, _ = refusal(simple("x_ref = x_ref.at[...]\nout_ref[...] = x_ref[...] + pl.program_id(0)"))
    assert code == "kernel-not-guardable"
    # Without such a read the kernel can be wrapped as it is.
    assert "double_live_kernel" in after(simple("x_ref = x_ref.at[...]\nout_ref[...] = x_ref[...]"))


def test_helpers_that_read_the_grid() -> None:
    source = "def last():\n    return pl.program_id(0) == pl.num_programs(0) - 1\n\n" + simple(
        "out_ref[...] = jnp.where(last(), 0.0, x_ref[...])"
    )
    assert refusal(source)[0] == "kernel-not-guardable"


def test_num_programs_in_a_map_without_prefetch() -> None:
    code, line = refusal(
        simple(
            block="pl.BlockSpec((8, 128), lambda i: (pl.num_programs(0) - 1 - i, 0))",
        )
    )
    assert code == "num-programs-in-index-map"
    assert "pl.num_programs(0)" in line


def test_element_indexed_windows() -> None:
    code, _ = refusal(
        simple(
            block="pl.BlockSpec((pl.Element(8), 128), lambda i: (i * 8, 0))",
            grid="(jnp.minimum(n, 4),)",
        )
    )
    assert code == "non-blocked-spec"


def test_alias_keys_built_at_run_time() -> None:
    code, _ = refusal(
        simple(before="aliases = dict(zip([0], [0]))", more="input_output_aliases=aliases,")
    )
    assert code == "dynamic-alias-keys"


def test_a_launch_in_a_lambda() -> None:
    source = """
    def double_kernel(x_ref, out_ref):
        out_ref[...] = x_ref[...] * 2.0

    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
    double = jax.jit(
        lambda x, n: pl.pallas_call(
            double_kernel, grid=(n,), in_specs=[block], out_specs=block, out_shape=x
        )(x)
    )
    """
    assert refusal(source)[0] == "not-supported"


def test_params_made_elsewhere_may_ask_for_parallel_steps() -> None:
    scattered = "lambda i, ids: (ids[i], 0)"
    in_order = after(prefetching(out_map=scattered))
    assert "dump" not in in_order
    unknown = after(prefetching(out_map=scattered, more="compiler_params=params(),"))
    assert "jnp.where(is_live, block[0], first_dump_block + i)" in unknown
    assert ")(num_live_steps, ids, x)[: ids.shape[0] * 8]" in unknown


def test_maps_that_count_get_an_operand_of_their_own_beside_a_count_that_is_there() -> None:
    text = after(
        prefetching(
            out_map="lambda i, ids: (pl.num_programs(0) - 1 - i, 0)",
            grid="(jnp.minimum(ids[0], 4),)",
        )
    )
    assert "def take_kernel(num_live_ref, ids, x_ref, out_ref):" in text
    assert "def pinned(i, num_live_ref, *prefetched):" in text
    assert "block = index_map(i, num_live_ref, *prefetched)" in text
    assert "lambda i, num_live_ref, ids: (num_live_ref[0] - 1 - i, 0)" in text


def test_a_count_in_a_prefetched_operand_is_read_there() -> None:
    text = after(prefetching(grid="(ids[0],)"))
    assert "def take_kernel(ids, x_ref, out_ref):" in text
    assert "@pl.when(pl.program_id(0) < ids[0])" in text
    assert "num_live = prefetched[0][0]" in text


def test_a_parallel_axis_with_blocks_of_its_own_beside_one_that_accumulates() -> None:
    source = simple(
        "out_ref[...] += x_ref[...]",
        specs="in_specs=[block],\n        out_specs=pl.BlockSpec((8, 128), lambda i, k: (i, 0)),",
        block="pl.BlockSpec((8, 128), lambda i, k: (i, k))",
        grid="(pl.cdiv(n, 8), pl.cdiv(n, 128))",
        more="compiler_params=pltpu.CompilerParams(dimension_semantics=('parallel', 'arbitrary')),",
    )
    text = after(source)
    assert "pl.BlockSpec((8, 128), lambda i, k, _, _1: (i, 0))" in text
    swapped = source.replace("('parallel', 'arbitrary')", "('arbitrary', 'parallel')")
    assert refusal(swapped)[0] == "revisited-output-on-parallel-axis"
    aliased = source.replace("compiler_params", "input_output_aliases={0: 0}, compiler_params")
    assert refusal(aliased)[0] == "revisited-output-on-parallel-axis"
