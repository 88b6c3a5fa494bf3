"""Launches drawn from a grammar, each with inputs and a NumPy simulation of the original.

Two classes. A *bounded* launch has evidence for a static bound by construction; what it computes
is simulated step by step. A *hopeless* one differs in a single feature that takes the ground
from under any rewrite, and has to be refused.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

STEP_NAMES = ("i", "j", "k")
GARBAGE = (-1, 10**6)
UNBOUNDED = ("constant_maps", "clamped_maps", "modulo_maps", "element_spec")
"""Features that leave a dynamic axis without a bound."""

SPOILERS = (
    *UNBOUNDED,
    "float_count",
    "computed_alias_keys",
    "hidden_arguments",
    "never_called",
    "unknown_kernel",
    "gradient_through_state",
)


@dataclass(frozen=True)
class Axis:
    """A grid axis: its static bound and, where it is dynamic, how its count is written."""

    index: int
    bound: int
    count: str = "static"
    parallel: bool = False
    table: bool = False
    """Whether maps go through a table along this axis."""

    @property
    def dynamic(self) -> bool:
        return self.count != "static"

    @property
    def name(self) -> str:
        return STEP_NAMES[self.index]

    @property
    def entry(self) -> str:
        """The grid entry as it is written."""
        n = f"n{self.index}"
        return {
            "static": str(self.bound),
            "blocks": n,
            "rows": f"pl.cdiv({n}, 8)",
            "full_rows": f"{n} // 8",
            "element": f"{n}[0]",
            "prefetched": f"{n}[0]",
            "mask": f"jnp.sum(mask{self.index})",
            "minimum": f"jnp.minimum({n}, {self.bound})",
        }[self.count]

    def argument(self, count: int) -> tuple[str, Any]:
        """The parameter that brings the count in, and its value for `count` steps."""
        if self.count == "mask":
            return f"mask{self.index}", np.arange(self.bound) < count
        value = {"rows": 8 * count - 3 * (count > 0), "full_rows": 8 * count + 5}
        number = value.get(self.count, count)
        scalar = np.int32(number)
        boxed = self.count in ("element", "prefetched")
        return f"n{self.index}", np.array([number], np.int32) if boxed else scalar


@dataclass(frozen=True)
class Operand:
    """An array that is cut into blocks, and the index expression of each of its dimensions."""

    name: str
    indices: tuple[str, ...]
    extents: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self.extents[:-2], 8 * self.extents[-2], 128 * self.extents[-1])

    @property
    def block(self) -> str:
        return "(" + ", ".join(["None"] * (len(self.extents) - 2) + ["8", "128"]) + ")"

    def window(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        *lead, row, column = index
        return (*lead, slice(8 * row, 8 * row + 8), slice(128 * column, 128 * column + 128))


@dataclass(frozen=True)
class Spec:
    """Everything that is drawn about a launch."""

    axes: tuple[Axis, ...]
    inputs: tuple[Operand, ...]
    output: Operand
    body: str
    value: str
    aliased: bool
    style: frozenset[str]
    spoiler: str | None = None
    tables: dict[int, str] = field(default_factory=dict)
    """Axis index -> `permutation` or `sorted`."""

    @property
    def prefetch(self) -> list[str]:
        names = [f"order{axis}" for axis in sorted(self.tables)]
        return names + [f"n{axis.index}" for axis in self.axes if axis.count == "prefetched"]

    @property
    def parallel(self) -> bool:
        return any(axis.parallel for axis in self.axes)

    @property
    def features(self) -> tuple[str, ...]:
        found = {f"rank {len(self.axes)}", f"body {self.body}", *self.style}
        found |= {f"count {axis.count}" for axis in self.axes if axis.dynamic}
        found.add(f"dynamic axes {sum(axis.dynamic for axis in self.axes)}")
        if self.prefetch:
            found.add("prefetch")
        if self.tables:
            found.add("tables")
        if self.parallel:
            found.add("parallel axis")
        if any(axis.parallel and axis.dynamic for axis in self.axes):
            found.add("parallel dynamic axis")
        if self.aliased:
            found.add("aliased")
        if self.spoiler:
            found.add(f"spoiled by {self.spoiler}")
        return tuple(sorted(found))


@dataclass(frozen=True)
class Launch:
    """A program with one launch, its inputs, and what it computes."""

    source: str
    features: tuple[str, ...]
    parallel: bool
    inputs: tuple[tuple[str, tuple[Any, ...]], ...]
    reference: Callable[..., Any]


def bounded(seed: int) -> Launch:
    """A launch that a sound rewrite exists for."""
    return _launch(_draw(random.Random(seed)), seed)


def hopeless(seed: int) -> Launch:
    """A launch that has to be refused."""
    rng = random.Random(f"hopeless {seed}")
    return _launch(_draw(rng, SPOILERS[seed % len(SPOILERS)]), seed)


# -- drawing ---------------------------------------------------------------------------------


def _draw(rng: random.Random, spoiler: str | None = None) -> Spec:
    rank = rng.choice((1, 1, 2, 2, 3))
    body = rng.choice(("map", "map", "guarded", "alias", "sum_out", "sum_scratch", "segments"))
    if spoiler in UNBOUNDED and body in ("guarded", "segments"):
        body = "map"  # These read a table along the axis, which bounds it.
    if spoiler == "gradient_through_state":
        body = "sum_out"
    if spoiler == "computed_alias_keys":
        body = "alias"
    reduces = body in ("sum_out", "sum_scratch", "segments")
    last = rank - 1
    dynamic = set(rng.sample(range(rank), 2 if rank > 1 and rng.random() < 0.25 else 1))
    if spoiler == "gradient_through_state":
        dynamic = {last}
    axes, tables = [], {}
    for index in range(rank):
        reduced = reduces and index == last
        count = rng.choice(
            ("blocks", "rows", "full_rows", "element", "prefetched", "mask", "minimum")
        )
        if spoiler in UNBOUNDED and count in ("minimum", "mask"):
            count = "blocks"
        if spoiler and count == "prefetched":
            count = "element"
        axis = Axis(
            index,
            rng.randint(1 if rank > 1 else 3, 4 if rank < 3 else 3),
            count if index in dynamic else "static",
            # Parallel axes come first, or the interpreter refuses the launch.
            parallel=not reduced and all(a.parallel for a in axes) and rng.random() < 0.4,
        )
        axes.append(axis)
        if body == "segments" and reduced:
            tables[index] = "sorted"
        elif index in dynamic and rng.random() < 0.35:
            tables[index] = "permutation"
    inputs, output = _operands(rng, axes, tables, body)
    operators = ("x * 2.0", "x + 1.0", "x * x") if len(inputs) == 1 else ("x + y", "x * y - 1.0")
    value = rng.choice(operators)
    if rng.random() < 0.3 and spoiler != "gradient_through_state":
        value += f" + {axes[rng.randrange(rank)].name}"
    possible = ("partial", "nested kernel", "bound launch", "starred operands", "separate specs")
    style = frozenset(name for name in possible if rng.random() < 0.3)
    if spoiler in ("unknown_kernel", "never_called", "gradient_through_state", "hidden_arguments"):
        style -= {"partial", "nested kernel", "bound launch", "starred operands"}
    return Spec(tuple(axes), inputs, output, body, value, body == "alias", style, spoiler, tables)


def _operands(
    rng: random.Random, axes: list[Axis], tables: dict[int, str], body: str
) -> tuple[tuple[Operand, ...], Operand]:
    """Inputs that follow all axes, and an output that no two steps write unless it is summed."""

    def index_of(axis: Axis, *, by_table: bool) -> tuple[str, int]:
        if by_table:
            return f"order{axis.index}[{axis.name}]", axis.bound + (axis.index == 0)
        return axis.name, axis.bound

    def operand(name: str, used: list[tuple[str, int]]) -> Operand:
        padded = [*used, *[("0", 1)] * (2 - len(used))]
        if len(used) == 1 and rng.random() < 0.3:
            padded.reverse()
        return Operand(name, tuple(i for i, _ in padded), tuple(e for _, e in padded))

    reduces = body in ("sum_out", "sum_scratch")
    out_axes = axes[:-1] if reduces else axes
    out_by_table = body != "segments" and rng.random() < 0.5
    written = [
        index_of(
            axis,
            by_table=axis.index in tables
            and (out_by_table or (body == "segments" and axis is axes[-1])),
        )
        for axis in out_axes
    ]
    output = operand("out", written)
    read_by_table = body != "segments"
    order = list(axes)
    rng.shuffle(order)
    everything = [index_of(axis, by_table=axis.index in tables and read_by_table) for axis in order]
    first = (
        Operand("x", output.indices, output.extents)
        if body == "alias"
        else operand("x", everything)
    )
    inputs = [first]
    if body == "alias" or rng.random() < 0.4:
        inputs.append(operand("y", [index_of(axis, by_table=False) for axis in axes]))
    return tuple(inputs), output


# -- writing ---------------------------------------------------------------------------------


def _launch(spec: Spec, seed: int) -> Launch:
    rng = np.random.RandomState(seed)
    arrays = {
        operand.name: rng.randint(-4, 5, operand.shape).astype(np.float32)
        for operand in spec.inputs
    }
    inputs = tuple(_inputs(spec, arrays, rng))
    return Launch(_source(spec), spec.features, spec.parallel, inputs, _simulation(spec))


def _parameters(spec: Spec) -> list[str]:
    names = [operand.name for operand in spec.inputs]
    names += [f"order{axis}" for axis in sorted(spec.tables)]
    if spec.body == "guarded":
        names.append("flags")
    return names + [axis.argument(0)[0] for axis in spec.axes if axis.dynamic]


def _inputs(
    spec: Spec, arrays: dict[str, Any], rng: np.random.RandomState
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    dynamic = [axis for axis in spec.axes if axis.dynamic]
    for counts in _counts([axis.bound for axis in dynamic]):
        given = dict(arrays)
        for axis, count in zip(dynamic, counts, strict=True):
            name, value = axis.argument(count)
            given[name] = value
        live = dict(zip((axis.index for axis in dynamic), counts, strict=True))
        for index, kind in spec.tables.items():
            bound = spec.axes[index].bound
            table = np.full(bound, GARBAGE[rng.randint(2)], np.int32)
            count = live.get(index, bound)
            drawn = rng.permutation(bound + (index == 0 and kind == "permutation"))[:count]
            table[:count] = np.sort(drawn // 2) if kind == "sorted" else drawn
            given[f"order{index}"] = table
        given["flags"] = rng.randint(0, 2, spec.axes[-1].bound).astype(np.int32)
        label = ", ".join(
            f"n{axis.index}={count}" for axis, count in zip(dynamic, counts, strict=True)
        )
        yield label, tuple(given[name] for name in _parameters(spec))


def _counts(bounds: list[int]) -> list[tuple[int, ...]]:
    """Zero, one, a middle value and the maximum; with two axes some of their combinations."""
    single = [sorted({0, min(1, bound), bound // 2, bound}) for bound in bounds]
    if len(bounds) == 1:
        return [(count,) for count in single[0]]
    first, second = bounds
    return sorted({(0, 0), (0, second), (first, 0), (1, 1), (first // 2, second), (first, second)})


def _source(spec: Spec) -> str:
    kernel, kernel_name = _kernel(spec)
    body = []
    if "nested kernel" in spec.style:
        body += ["    " + line if line else line for line in kernel] + [""]
        kernel = []
    specs = [_block_spec(spec, operand) for operand in spec.inputs]
    out_spec = _block_spec(spec, spec.output)
    if spec.body == "guarded":
        specs.append("pl.BlockSpec(memory_space=pltpu.SMEM)")
    if "separate specs" in spec.style:
        body += ["    in_specs = [", *[f"        {item}," for item in specs], "    ]"]
        body += [f"    out_spec = {out_spec}"]
        in_specs, out_spec = "in_specs", "out_spec"
    else:
        in_specs = "[" + ", ".join(specs) + "]"
    if "partial" in spec.style:
        kernel_name = f"functools.partial({kernel_name}, bias=1.0)"
    body += _call(spec, kernel_name, in_specs, out_spec)
    parameters = _parameters(spec)
    if spec.spoiler == "hidden_arguments":
        parameters.append("**options")
    if spec.spoiler == "unknown_kernel":
        parameters.insert(0, "kernel")
    decorator = "" if spec.spoiler == "unknown_kernel" else "@jax.jit\n"
    head = HEAD + ("\n".join(kernel) + "\n\n\n" if kernel else "")
    text = f"{head}{decorator}def run({', '.join(parameters)}):\n" + "\n".join(body) + "\n"
    if spec.spoiler == "unknown_kernel":
        text = text.replace("    return", "".join(_made_dynamic(spec)) + "    return", 1)
    if spec.spoiler == "gradient_through_state":
        names = ", ".join(parameters)
        text += (
            f"\n\ndef gradient({names}):\n    return jax.grad(lambda x: jnp.sum(run({names})))(x)\n"
        )
    return text


HEAD = '''"""A generated launch."""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


'''


def _made_dynamic(spec: Spec) -> Iterator[str]:
    """Without a jit in sight, something has to show that the counts are arrays."""
    for axis in spec.axes:
        name = axis.argument(0)[0]
        if axis.dynamic:
            yield f"    {name} = jnp.asarray({name})\n"


def _block_spec(spec: Spec, operand: Operand) -> str:
    arguments = ", ".join([*(axis.name for axis in spec.axes), *spec.prefetch])
    block, indices = operand.block, list(operand.indices)
    if spec.spoiler == "element_spec" and operand.name == "x":
        block = block.replace("8", "pl.Element(8)", 1)
        indices[-2] = f"{indices[-2]} * 8"
    else:
        indices = [_spoiled(spec, index) for index in indices]
    return f"pl.BlockSpec({block}, lambda {arguments}: ({', '.join(indices)}))"


def _spoiled(spec: Spec, index: str) -> str:
    """The index without what it says about the bound of a dynamic axis."""
    for axis in spec.axes:
        if axis.dynamic and axis.name in index.replace("order", ""):
            spoiled = {
                "constant_maps": "0",
                "element_spec": "0",
                "clamped_maps": f"jnp.minimum({axis.name}, 1)",
                "modulo_maps": f"{axis.name} % 2",
            }.get(spec.spoiler or "", axis.name)
            return (
                spoiled if index == axis.name else index.replace(f"[{axis.name}]", f"[{spoiled}]")
            )
    return index


def _call(spec: Spec, kernel: str, in_specs: str, out_spec: str) -> list[str]:
    grid = ", ".join(axis.entry for axis in spec.axes) + ("," if len(spec.axes) == 1 else "")
    if spec.spoiler == "float_count":
        dynamic = next(axis for axis in spec.axes if axis.dynamic)
        grid = grid.replace(dynamic.entry, f"jnp.ceil(jnp.float32({dynamic.bound}))", 1)
    scratch = "[pltpu.VMEM((8, 128), jnp.float32)]" if spec.body == "sum_scratch" else None
    placed = [f"grid=({grid})", f"in_specs={in_specs}", f"out_specs={out_spec}"]
    if spec.spoiler == "hidden_arguments":
        placed = [f"grid=({grid})", "**options"]
    if scratch:
        placed.append(f"scratch_shapes={scratch}")
    if spec.prefetch:
        inner = ", ".join([f"num_scalar_prefetch={len(spec.prefetch)}", *placed])
        placed = [f"grid_spec=pltpu.PrefetchScalarGridSpec({inner})"]
    placed.append(f"out_shape=jax.ShapeDtypeStruct({spec.output.shape}, jnp.float32)")
    if spec.aliased:
        key = len(spec.prefetch)
        computed = f"{{at: 0 for at, name in enumerate('abcdefgh') if name == {'abcdefgh'[key]!r}}}"
        keys = computed if spec.spoiler == "computed_alias_keys" else f"{{{key}: 0}}"
        placed.append(f"input_output_aliases={keys}")
    if spec.parallel:
        kinds = ", ".join('"parallel"' if axis.parallel else '"arbitrary"' for axis in spec.axes)
        comma = "," if len(spec.axes) == 1 else ""
        placed.append(f"compiler_params=pltpu.CompilerParams(dimension_semantics=({kinds}{comma}))")
    operands = [*spec.prefetch, *(operand.name for operand in spec.inputs)]
    if spec.body == "guarded":
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
    return [*before, "    return " + made[0], *made[1:-1], f"    )({given})"]


def _kernel(spec: Spec) -> tuple[list[str], str]:
    refs = [*spec.prefetch, *(f"{operand.name}_ref" for operand in spec.inputs)]
    if spec.body == "guarded":
        refs.append("flags_ref")
    refs.append("out_ref")
    if spec.body == "sum_scratch":
        refs.append("acc_ref")
    if "partial" in spec.style:
        refs += ["*", "bias"]
    lines = [f"def kernel({', '.join(refs)}):"]
    lines += [f"    {axis.name} = pl.program_id({axis.index})" for axis in spec.axes]
    lines += [f"    {operand.name} = {operand.name}_ref[...]" for operand in spec.inputs]
    bias = " + bias" if "partial" in spec.style else ""
    lines.append(f"    value = {spec.value}{bias}")
    last = spec.axes[-1]
    when = {
        "map": ["    out_ref[...] = value"],
        "alias": ["    out_ref[...] = value"],
        "guarded": [
            "",
            f"    @pl.when(flags_ref[{last.name}] != 0)",
            "    def _store():",
            "        out_ref[...] = value",
        ],
        "sum_out": [
            "",
            f"    @pl.when({last.name} == 0)",
            "    def _zero():",
            "        out_ref[...] = jnp.zeros_like(out_ref)",
            "",
            "    out_ref[...] += value",
        ],
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
            "        out_ref[...] = acc_ref[...]",
        ],
        "segments": [
            f"    before = jnp.maximum({last.name} - 1, 0)",
            f"    is_first = order{last.index}[{last.name}] != order{last.index}[before]",
            "",
            f"    @pl.when(({last.name} == 0) | is_first)",
            "    def _zero():",
            "        out_ref[...] = jnp.zeros_like(out_ref)",
            "",
            "    out_ref[...] += value",
        ],
    }[spec.body]
    return lines + when, "kernel"


# -- simulating ------------------------------------------------------------------------------


def _simulation(spec: Spec) -> Callable[..., Any]:
    """Runs the steps one after the other as the original does; NaN where nothing is written."""

    def simulate(*args: Any) -> Any:
        given = dict(zip(_parameters(spec), args, strict=True))
        counts = [_count(axis, given) for axis in spec.axes]
        shape = spec.output.shape
        out = given["x"].copy() if spec.aliased else np.full(shape, np.nan, np.float32)
        previous, window, acc = None, None, None
        for ids in itertools.product(*map(range, counts)):
            names = dict(zip(STEP_NAMES, ids, strict=False))
            scope = {**given, **names}
            at = spec.output.window(_evaluate(spec.output, scope))
            if at != previous:
                previous, window = at, np.full((8, 128), np.nan, np.float32)
            blocks = {
                operand.name: given[operand.name][operand.window(_evaluate(operand, scope))]
                for operand in spec.inputs
            }
            value = eval(spec.value, {**blocks, **names}) + ("partial" in spec.style)
            last = spec.axes[-1]
            step = names[last.name]
            if spec.body in ("map", "alias") or (spec.body == "guarded" and given["flags"][step]):
                window = value
            elif spec.body == "sum_out":
                window = value if step == 0 else window + value
            elif spec.body == "sum_scratch":
                acc = value if step == 0 else acc + value
                window = acc if step == counts[-1] - 1 else window
            elif spec.body == "segments":
                table = given[f"order{last.index}"]
                first = step == 0 or table[step] != table[step - 1]
                window = value if first else window + value
            out[at] = window
        return out

    return simulate


def _count(axis: Axis, given: dict[str, Any]) -> int:
    if not axis.dynamic:
        return axis.bound
    value = int(np.sum(given[axis.argument(0)[0]]))
    return {"rows": -(-value // 8), "full_rows": value // 8}.get(axis.count, value)


def _evaluate(operand: Operand, scope: dict[str, Any]) -> tuple[int, ...]:
    return tuple(int(eval(index, {}, scope)) for index in operand.indices)
