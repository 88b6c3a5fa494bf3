"""The text of a generated launch."""

from __future__ import annotations

import re
from collections.abc import Iterator

from launch_grammar import AXIS_NAMES, ON_GPU, Operand, Spec, spoiled

HEAD = '''"""A generated launch."""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


'''


def source_of(spec: Spec) -> str:
    """The whole program."""
    kernel, kernel_name = _kernel(spec)
    body: list[str] = []
    if "nested kernel" in spec.style:
        body += ["    " + line if line else line for line in kernel] + [""]
        kernel = []
    specs = [_block_spec(spec, operand, body) for operand in spec.inputs]
    out_spec = _block_spec(spec, spec.output, body)
    if spec.flags:
        specs.append("pl.BlockSpec(memory_space=pltpu.SMEM)")
    if "separate specs" in spec.style:
        body += ["    in_specs = [", *[f"        {item}," for item in specs], "    ]"]
        body += [f"    out_spec = {out_spec}"]
        in_specs, out_spec = "in_specs", "out_spec"
    else:
        in_specs = "[" + ", ".join(specs) + "]"
    if "two outputs" in spec.style:
        out_spec = f"[{out_spec}, {out_spec}]"
    if "partial" in spec.style:
        kernel_name = f"functools.partial({kernel_name}, bias=1.0)"
    body += _call(spec, kernel_name, in_specs, out_spec)
    return _program(spec, kernel, body)


def _program(spec: Spec, kernel: list[str], body: list[str]) -> str:
    parameters = list(spec.parameters)
    if spec.spoiler == "hidden_arguments":
        parameters.append("**options")
    if spec.spoiler == "unknown_kernel":
        parameters.insert(0, "kernel")
    decorator = "" if spec.spoiler == "unknown_kernel" else "@jax.jit\n"
    head = HEAD
    if spec.spoiler == "map_out_of_sight":
        head = head.replace("as pltpu\n", "as pltpu\nfrom layouts import out_map\n")
    if spec.spoiler in ON_GPU:
        head = head.replace(
            "pallas as pl\n",
            "pallas as pl\nfrom jax.experimental.pallas import mosaic_gpu as plgpu\n",
        )
    head += "\n".join(kernel) + "\n\n\n" if kernel else ""
    if spec.spoiler == "unknown_kernel":
        body = [*_made_dynamic(spec), *body]
    text = f"{head}{decorator}def run({', '.join(parameters)}):\n" + "\n".join(body) + "\n"
    if spec.spoiler == "gradient_through_state":
        names = ", ".join(parameters)
        text += (
            f"\n\ndef gradient({names}):\n    return jax.grad(lambda x: jnp.sum(run({names})))(x)\n"
        )
    return text


def _made_dynamic(spec: Spec) -> Iterator[str]:
    """Without a jit in sight, something has to show that the counts are arrays."""
    for axis in spec.axes:
        name = axis.argument(0)[0]
        if axis.dynamic:
            yield f"    {name} = jnp.asarray({name})"


# -- specs -----------------------------------------------------------------------------------


def _block(spec: Spec, operand: Operand) -> str:
    lead = "1" if "leading ones" in spec.style else "None"
    sizes = [*[lead] * (len(operand.extents) - 2), *map(str, operand.tile)]
    return f"({', '.join(sizes)})"


def _block_spec(spec: Spec, operand: Operand, body: list[str]) -> str:
    """The spec; a map that is a function of its own is added to the body."""
    if operand.whole:
        return "pl.BlockSpec(memory_space=pl.ANY)"
    block, indices = _block(spec, operand), list(operand.indices)
    if spec.spoiler == "map_out_of_sight" and operand is spec.output:
        return f"pl.BlockSpec({block}, out_map)"
    if spec.spoiler == "element_spec" and operand.name == "x":
        rows = str(operand.tile[0])
        block = block.replace(rows, f"pl.Element({rows})", 1)
        indices[-2] = f"{indices[-2]} * {rows}"
    else:
        indices = [spoiled(spec, index) for index in indices]
    if spec.spoiler == "aliased_to_another_window" and operand.name == "x":
        indices = [_one_before(spec, index) for index in indices]
    if spec.spoiler == "counting_map_on_gpu" and operand.name == "x":
        last = {
            a.name: f"pl.num_programs({a.index}) - 1 - {a.name}" for a in spec.axes if a.dynamic
        }
        indices = [last.get(index, index) for index in indices]
    spare = "*_" if "spare map parameter" in spec.style and not spec.tables else ""
    names = [] if spare else spec.prefetch
    arguments = ", ".join([*(axis.name for axis in spec.axes), *names, *([spare] if spare else [])])
    result = f"({', '.join(indices)})"
    if "map functions" in spec.style:
        own = not spec.aliased or spec.spoiler is not None or operand.name == "y"
        name = f"{operand.name}_map" if own else "state_map"
        if f"    def {name}({arguments}):" not in body:
            body += [f"    def {name}({arguments}):", f"        return {result[1:-1]}", ""]
        return f"pl.BlockSpec({block}, {name})"
    return f"pl.BlockSpec({block}, lambda {arguments}: {result})"


def _one_before(spec: Spec, index: str) -> str:
    dynamic = {axis.name for axis in spec.axes if axis.dynamic}
    tables = {f"order{axis.index}[{axis.name}]" for axis in spec.axes if axis.dynamic}
    return f"jnp.maximum({index} - 1, 0)" if index in dynamic | tables else index


# -- the launch ------------------------------------------------------------------------------


def _grid(spec: Spec) -> str:
    entries = [axis.entry for axis in spec.axes]
    dynamic = next(axis.index for axis in spec.axes if axis.dynamic)
    if spec.spoiler == "float_count":
        entries[dynamic] = f"jnp.ceil(jnp.float32({spec.axes[dynamic].bound}))"
    if spec.spoiler == "count_with_effect":
        entries[dynamic] = "counts.pop()"
    if spec.spoiler == "contradicting_count":
        axis = spec.axes[dynamic]
        entries[dynamic] = f"jnp.maximum({axis.entry}, {axis.bound + 9})"
    if spec.spoiler == "bare_grid":
        return entries[0]
    if "named grid" in spec.style:
        named = zip(AXIS_NAMES, entries, strict=False)
        entries = [f'("{name}", {entry})' for name, entry in named]
    return f"({', '.join(entries)}{',' if len(entries) == 1 else ''})"


def _call(spec: Spec, kernel: str, in_specs: str, out_spec: str) -> list[str]:
    before: list[str] = []
    grid = _grid(spec)
    if spec.spoiler == "count_with_effect":
        dynamic = next(axis for axis in spec.axes if axis.dynamic)
        before.append(f"    counts = [0, {dynamic.entry}]")
    if "grid variable" in spec.style:
        before.append(f"    grid = {grid}")
        grid = "grid"
    placed = [f"grid={grid}", f"in_specs={in_specs}", f"out_specs={out_spec}"]
    if spec.spoiler == "hidden_arguments":
        placed = [f"grid={grid}", "**options"]
    rows, columns = spec.output.tile
    vmem = f"pltpu.VMEM(({rows}, {columns}), jnp.float32)"
    if spec.body == "sum_scratch":
        placed.append(f"scratch_shapes=[{vmem}]")
    if spec.body == "copied":
        placed.append(f"scratch_shapes=[{vmem}, pltpu.SemaphoreType.DMA]")
    if spec.prefetch:
        inner = ", ".join([f"num_scalar_prefetch={len(spec.prefetch)}", *placed])
        placed = [f"grid_spec=pltpu.PrefetchScalarGridSpec({inner})"]
    elif "grid spec" in spec.style:
        placed = [f"grid_spec=pl.GridSpec({', '.join(placed)})"]
    elif spec.spoiler == "shared_grid_spec":
        before.append(f"    grid_spec = pl.GridSpec({', '.join(placed)})")
        placed = ["grid_spec=grid_spec"]
    placed += _rest(spec)
    return [*before, *_launched(spec, kernel, placed)]


def _rest(spec: Spec) -> Iterator[str]:
    """The other keywords of the launch."""
    shape = f"jax.ShapeDtypeStruct({spec.output.shape}, jnp.float32)"
    yield f"out_shape=[{shape}, {shape}]" if "two outputs" in spec.style else f"out_shape={shape}"
    if spec.aliased:
        key = len(spec.prefetch)
        computed = f"{{at: 0 for at, name in enumerate('abcdefgh') if name == {'abcdefgh'[key]!r}}}"
        keys = computed if spec.spoiler == "computed_alias_keys" else f"{{{key}: 0}}"
        yield f"input_output_aliases={keys}"
    if spec.spoiler in ON_GPU:
        yield "compiler_params=plgpu.CompilerParams()"
    elif spec.parallel:
        kinds = ", ".join('"parallel"' if axis.parallel else '"arbitrary"' for axis in spec.axes)
        comma = "," if len(spec.axes) == 1 else ""
        yield f"compiler_params=pltpu.CompilerParams(dimension_semantics=({kinds}{comma}))"
    if "name and cost" in spec.style:
        cost = "flops=8, transcendentals=0, bytes_accessed=64"
        yield f"cost_estimate=pl.CostEstimate({cost})"
        yield 'name="generated"'


def _launched(spec: Spec, kernel: str, placed: list[str]) -> list[str]:
    operands = [*spec.prefetch, *(operand.name for operand in spec.inputs)]
    if spec.flags:
        operands.append("flags")
    made = [
        "pl.pallas_call(",
        f"        {kernel},",
        *[f"        {item}," for item in placed],
        "    )",
    ]
    if spec.spoiler == "never_called":
        return ["    return " + made[0], *made[1:]]
    before: list[str] = []
    given = ", ".join(operands)
    if "starred operands" in spec.style:
        before = [f"    operands = [{given}]"]
        given = "*operands"
    if "bound launch" in spec.style:
        return [*before, "    launch = " + made[0], *made[1:], f"    return launch({given})"]
    if spec.spoiler == "launched_in_a_comprehension":
        return [*before, "    return [" + made[0], *made[1:-1], f"    )({given}) for _ in '.']"]
    if spec.spoiler == "shared_grid_spec":
        before += ["    first = " + made[0], *made[1:-1], f"    )({given})"]
        return [*before, "    return first, " + made[0], *made[1:-1], f"    )({given})"]
    return [*before, "    return " + made[0], *made[1:-1], f"    )({given})"]


# -- the kernel ------------------------------------------------------------------------------


def _kernel(spec: Spec) -> tuple[list[str], str]:
    refs = [*spec.prefetch, *(f"{operand.name}_ref" for operand in spec.inputs)]
    if spec.flags:
        refs.append("flags_ref")
    refs.append("out_ref")
    if "two outputs" in spec.style:
        refs.append("also_ref")
    refs += {"sum_scratch": ["acc_ref"], "copied": ["buffer_ref", "sem"]}.get(spec.body, [])
    if "partial" in spec.style:
        refs += ["*", "bias"]
    lines = [f"def kernel({', '.join(refs)}):"]
    if spec.spoiler == "counted_by_another_name":
        lines.append("    steps_along = pl.num_programs")
    if "ids in place" not in spec.style:
        lines += [f"    {axis.name} = pl.program_id({axis.index})" for axis in spec.axes]
    for operand in spec.inputs:
        lines += _read(spec, operand)
    bias = " + bias" if "partial" in spec.style else ""
    bias += " + steps_along(0)" if spec.spoiler == "counted_by_another_name" else ""
    lines.append(f"    value = {spec.value}{bias}")
    lines += _work(spec)
    if "ids in place" in spec.style:
        lines = [lines[0], *(_in_place(spec, line) for line in lines[1:])]
    return lines, "kernel"


def _in_place(spec: Spec, line: str) -> str:
    """The line with the steps read where they are used."""
    for axis in spec.axes:
        line = re.sub(rf"\b{axis.name}\b", f"pl.program_id({axis.index})", line)
    return line


def _at(spec: Spec, operand: Operand) -> str:
    """The subscript of a block's ref, which has leading dimensions of one or none."""
    lead = len(operand.extents) - 2
    return ", ".join(["0"] * lead) if lead and "leading ones" in spec.style else "..."


def _read(spec: Spec, operand: Operand) -> list[str]:
    name = operand.name
    if not operand.whole:
        return [f"    {name} = {name}_ref[{_at(spec, operand)}]"]
    *lead, row, column = operand.indices
    rows, columns = operand.tile
    window = [*lead, f"pl.ds({row} * {rows}, {rows})", f"pl.ds({column} * {columns}, {columns})"]
    return [
        f"    copy = pltpu.make_async_copy({name}_ref.at[{', '.join(window)}], buffer_ref, sem)",
        "    copy.start()",
        "    copy.wait()",
        f"    {name} = buffer_ref[...]",
    ]


def _work(spec: Spec) -> list[str]:
    """What the kernel does with the value."""
    last = spec.axes[-1]
    out = f"out_ref[{_at(spec, spec.output)}]"
    store = [f"    {out} = value"]
    if "two outputs" in spec.style:
        store.append(f"    also_ref[{_at(spec, spec.output)}] = value * 2.0")
    zero = ["    def _zero():", "        out_ref[...] = jnp.zeros_like(out_ref)", ""]
    if spec.spoiler == "guarded_subscript":
        within = f"    @pl.when({last.name} < flags_ref.shape[0])"
        return ["", within, "    def _store():", f"        {out} = value * flags_ref[{last.name}]"]
    table = f"order{last.index}"
    return {
        "map": store,
        "alias": store,
        "copied": store,
        "guarded": [
            "",
            f"    @pl.when(flags_ref[{last.name}] != 0)",
            "    def _store():",
            f"        {out} = value",
        ],
        "sum_out": ["", f"    @pl.when({last.name} == 0)", *zero, f"    {out} += value"],
        "sum_scratch": [
            "",
            f"    @pl.when({last.name} == 0)",
            "    def _zero():",
            "        acc_ref[...] = jnp.zeros_like(acc_ref)",
            "",
            "    acc_ref[...] += value",
            "",
            f"    @pl.when({last.name} == pl.num_programs({last.index}) - 1)",
            "    def _store():",
            f"        {out} = acc_ref[...]",
        ],
        "segments": [
            f"    before = jnp.maximum({last.name} - 1, 0)",
            f"    is_first = {table}[{last.name}] != {table}[before]",
            "",
            f"    @pl.when(({last.name} == 0) | is_first)",
            *zero,
            f"    {out} += value",
        ],
    }[spec.body]
