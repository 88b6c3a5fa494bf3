"""The grammar of generated launches: what is drawn about a launch, and how."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

STEP_NAMES = ("i", "j", "k")
AXIS_NAMES = ("rows", "columns", "depth")
UNBOUNDED = ("constant_maps", "clamped_maps", "modulo_maps", "element_spec", "guarded_subscript")
"""Features that leave a dynamic axis without a bound."""

SPOILERS = (
    *UNBOUNDED,
    "float_count",
    "computed_alias_keys",
    "hidden_arguments",
    "never_called",
    "unknown_kernel",
    "gradient_through_state",
    "bare_grid",
    "parallel_revisits",
    "aliased_to_another_window",
    "counted_by_another_name",
    "map_out_of_sight",
    "count_with_effect",
    "launched_in_a_comprehension",
    "shared_grid_spec",
    "state_on_gpu",
    "counting_map_on_gpu",
    "contradicting_count",
)
ON_GPU = ("state_on_gpu", "counting_map_on_gpu")

BODIES = ("map", "map", "guarded", "alias", "copied", "sum_out", "sum_scratch", "segments")
STYLES = (
    "partial",
    "nested kernel",
    "bound launch",
    "starred operands",
    "separate specs",
    "named grid",
    "grid spec",
    "grid variable",
    "name and cost",
    "map functions",
    "spare map parameter",
    "ids in place",
    "two outputs",
    "leading ones",
)
PLAIN_FOR = {
    "unknown_kernel": {"partial", "nested kernel", "bound launch", "starred operands"},
    "never_called": {"partial", "nested kernel", "bound launch", "starred operands"},
    "gradient_through_state": {"partial", "nested kernel", "bound launch", "starred operands"},
    "hidden_arguments": {"partial", "nested kernel", "bound launch", "starred operands"},
    "bare_grid": {"named grid", "grid variable"},
    "map_out_of_sight": {"map functions"},
    "shared_grid_spec": {"bound launch"},
    "launched_in_a_comprehension": {"bound launch", "starred operands"},
}
"""Styles that do not go with a spoiler."""


@dataclass(frozen=True)
class Axis:
    """A grid axis: its static bound and, where it is dynamic, how its count is written."""

    index: int
    bound: int
    count: str = "static"
    parallel: bool = False
    unit: int = 8
    """Rows per step, where the count is one of rows."""

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
            "rows": f"pl.cdiv({n}, {self.unit})",
            "full_rows": f"{n} // {self.unit}",
            "element": f"{n}[0]",
            "prefetched": f"{n}[0]",
            "mask": f"jnp.sum(mask{self.index})",
            "minimum": f"jnp.minimum({n}, {self.bound})",
            "chosen": f"jnp.where({n} > 0, {n}, 0)",
        }[self.count]

    def argument(self, count: int) -> tuple[str, Any]:
        """The parameter that brings the count in, and its value for `count` steps."""
        if self.count == "mask":
            return f"mask{self.index}", np.arange(self.bound) < count
        value = {
            "rows": self.unit * count - 3 * (count > 0),
            "full_rows": self.unit * count + 5,
            "chosen": count or -2,
        }
        number = value.get(self.count, count)
        scalar = np.int32(number)
        boxed = self.count in ("element", "prefetched")
        return f"n{self.index}", np.array([number], np.int32) if boxed else scalar

    def count_of(self, value: Any) -> int:
        """How many steps the value of the parameter stands for."""
        number = int(np.sum(value))
        counts = {"rows": -(-number // self.unit), "full_rows": number // self.unit}
        return max(counts.get(self.count, number), 0)


@dataclass(frozen=True)
class Operand:
    """An array that is cut into blocks, and the index expression of each of its dimensions."""

    name: str
    indices: tuple[str, ...]
    extents: tuple[int, ...]
    tile: tuple[int, int] = (8, 128)
    short_by: int = 0
    """Rows that are missing in the last block."""
    whole: bool = False
    """Whether the kernel gets all of it, and cuts its windows itself."""

    @property
    def shape(self) -> tuple[int, ...]:
        rows, columns = self.tile
        short = rows * self.extents[-2] - self.short_by
        return (*self.extents[:-2], short, columns * self.extents[-1])

    def window(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        *lead, row, column = index
        rows, columns = self.tile
        at = (
            slice(rows * row, rows * row + rows),
            slice(columns * column, columns * column + columns),
        )
        return (*lead, *at)


@dataclass(frozen=True)
class Spec:
    """Everything that is drawn about a launch."""

    axes: tuple[Axis, ...]
    inputs: tuple[Operand, ...]
    output: Operand
    body: str
    value: str
    style: frozenset[str]
    spoiler: str | None = None
    tables: dict[int, str] = field(default_factory=dict)
    """Axis index -> `permutation` or `sorted`."""

    @property
    def aliased(self) -> bool:
        return self.body == "alias"

    @property
    def prefetch(self) -> list[str]:
        names = [f"order{axis}" for axis in sorted(self.tables)]
        return names + [f"n{axis.index}" for axis in self.axes if axis.count == "prefetched"]

    @property
    def parallel(self) -> bool:
        return any(axis.parallel for axis in self.axes)

    @property
    def parameters(self) -> list[str]:
        """What the launching function takes."""
        names = [operand.name for operand in self.inputs]
        names += [f"order{axis}" for axis in sorted(self.tables)]
        if self.flags:
            names.append("flags")
        return names + [axis.argument(0)[0] for axis in self.axes if axis.dynamic]

    @property
    def flags(self) -> bool:
        return self.body == "guarded" or self.spoiler == "guarded_subscript"

    @property
    def features(self) -> tuple[str, ...]:
        found = {f"rank {len(self.axes)}", f"body {self.body}", *self.style}
        found |= {f"count {axis.count}" for axis in self.axes if axis.dynamic}
        found.add(f"dynamic axes {sum(axis.dynamic for axis in self.axes)}")
        found.add(f"block {self.output.tile}")
        found |= {f"table {kind}" for kind in self.tables.values()}
        text = " ".join(index for operand in self.inputs for index in operand.indices)
        maps = {"halved map": "//", "shifted map": "+", "counting map": "num_programs"}
        found |= {name for name, sign in maps.items() if sign in text}
        conditions = {
            "prefetch": bool(self.prefetch),
            "ragged": any(operand.short_by for operand in (*self.inputs, self.output)),
            "parallel axis": self.parallel,
            "parallel dynamic axis": any(axis.parallel and axis.dynamic for axis in self.axes),
            f"spoiled by {self.spoiler}": self.spoiler is not None,
        }
        found |= {name for name, holds in conditions.items() if holds}
        return tuple(sorted(found))


def draw(rng: random.Random, spoiler: str | None = None) -> Spec:
    """A launch, with one feature that spoils it if asked for."""
    rank = 1 if spoiler == "bare_grid" else rng.choice((1, 1, 2, 2, 3))
    body = _body(rng, spoiler)
    tile = rng.choice(((8, 128), (8, 128), (16, 128), (8, 256)))
    axes, tables = _axes(rng, rank, body, spoiler, tile[0])
    style = _style(rng, body, tables, axes, spoiler)
    inputs, output = _operands(rng, axes, tables, body, style, spoiler)
    # The TPU interpreter cannot run aliased arrays whose last block reaches past their end.
    if body == "map" and not spoiler and rng.random() < 0.4:
        inputs, output = _ragged(inputs, output)
    sized = [replace(operand, tile=tile) for operand in (*inputs, output)]
    inputs, output = tuple(sized[:-1]), sized[-1]
    operators = ("x * 2.0", "x + 1.0", "x * x") if len(inputs) == 1 else ("x + y", "x * y - 1.0")
    value = rng.choice(operators)
    if rng.random() < 0.3 and spoiler != "gradient_through_state":
        value += f" + {axes[rng.randrange(rank)].name}"
    return Spec(tuple(axes), inputs, output, body, value, style, spoiler, tables)


def _body(rng: random.Random, spoiler: str | None) -> str:
    body = rng.choice(BODIES)
    if spoiler in UNBOUNDED and body in ("guarded", "segments", "copied"):
        return "map"  # These bound the axis in the kernel.
    wanted = {
        "gradient_through_state": "sum_out",
        "computed_alias_keys": "alias",
        "aliased_to_another_window": "alias",
        "parallel_revisits": "sum_out",
        "state_on_gpu": "sum_out",
        "counting_map_on_gpu": "map",
        "contradicting_count": "map",  # Its output has extents in sight.
        "guarded_subscript": "map",
    }
    if spoiler == "map_out_of_sight" and body == "segments":
        return "map"
    return wanted.get(spoiler or "", body)


def _axes(
    rng: random.Random, rank: int, body: str, spoiler: str | None, unit: int
) -> tuple[list[Axis], dict[int, str]]:
    last = rank - 1
    reduces = body in ("sum_out", "sum_scratch", "segments")
    dynamic = set(rng.sample(range(rank), 2 if rank > 1 and rng.random() < 0.25 else 1))
    if spoiler in (
        "gradient_through_state",
        "parallel_revisits",
        "state_on_gpu",
        "guarded_subscript",
    ):
        dynamic = {last}
    axes: list[Axis] = []
    tables: dict[int, str] = {}
    counts = ("blocks", "rows", "full_rows", "element", "prefetched", "mask", "minimum", "chosen")
    for index in range(rank):
        reduced = reduces and index == last
        count = rng.choice(counts)
        if spoiler in UNBOUNDED and count in ("minimum", "mask"):
            count = "blocks"
        if spoiler and count == "prefetched":
            count = "element"
        # Parallel axes come first, or the interpreter refuses the launch.
        parallel = not reduced and all(a.parallel for a in axes) and rng.random() < 0.4
        if spoiler in ON_GPU:
            parallel = False
        if spoiler == "parallel_revisits":
            parallel = True
        bound = rng.randint(1 if rank > 1 else 3, 4 if rank < 3 else 3)
        if spoiler == "state_on_gpu" and reduced:
            bound = max(bound, 2)  # A single step carries nothing on.
        axes.append(Axis(index, bound, count if index in dynamic else "static", parallel, unit))
        if body == "segments" and reduced:
            tables[index] = "sorted"
        elif index in dynamic and rng.random() < 0.35 and spoiler != "guarded_subscript":
            tables[index] = "permutation"
    if spoiler in (*ON_GPU, "shared_grid_spec", "contradicting_count"):
        tables.clear()
    return axes, tables


def _style(
    rng: random.Random,
    body: str,
    tables: dict[int, str],
    axes: list[Axis],
    spoiler: str | None,
) -> frozenset[str]:
    style = {name for name in STYLES if rng.random() < 0.25}
    style -= PLAIN_FOR.get(spoiler or "", set())
    prefetch = bool(tables) or any(axis.count == "prefetched" for axis in axes)
    if prefetch or spoiler in ("hidden_arguments", "shared_grid_spec"):
        style.discard("grid spec")
    if not prefetch or "map functions" in style:
        style.discard("spare map parameter")
    if body != "map" or spoiler:
        style.discard("two outputs")
    if body == "copied":
        style.discard("leading ones")
    return frozenset(style)


def _operands(
    rng: random.Random,
    axes: list[Axis],
    tables: dict[int, str],
    body: str,
    style: frozenset[str],
    spoiler: str | None,
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
    order = list(axes)
    rng.shuffle(order)
    everything = [
        index_of(axis, by_table=axis.index in tables and body != "segments") for axis in order
    ]
    first = replace(output, name="x") if body == "alias" else operand("x", everything)
    inputs = [replace(first, whole=body == "copied")]
    if body == "alias" or rng.random() < 0.5:
        counting = bool(tables) and not {"map functions", "named grid"} & style
        changed = [_other_map(rng, axis, counting=counting) for axis in axes]
        plain = [index_of(axis, by_table=False) for axis in axes]
        inputs.append(operand("y", plain if spoiler else changed))
    return tuple(inputs), output


def _other_map(rng: random.Random, axis: Axis, *, counting: bool) -> tuple[str, int]:
    """An index that goes another way over the axis than the output's does."""
    kind = rng.random()
    if kind < 0.15:
        return f"{axis.name} // 2", -(-axis.bound // 2)
    if kind < 0.3:
        return f"{axis.name} + 1", axis.bound + 1
    if kind < 0.45 and counting and axis.dynamic:
        return f"pl.num_programs({axis.index}) - 1 - {axis.name}", axis.bound
    return axis.name, axis.bound


def _ragged(inputs: tuple[Operand, ...], output: Operand) -> tuple[tuple[Operand, ...], Operand]:
    """Arrays whose last block reaches past their end."""
    return tuple(replace(operand, short_by=3) for operand in inputs), replace(output, short_by=3)


def spoiled(spec: Spec, index: str) -> str:
    """The index without what it says about the bound of a dynamic axis."""
    for axis in spec.axes:
        if axis.dynamic and re.search(rf"\b{axis.name}\b", index):
            other = {
                "constant_maps": "0",
                "guarded_subscript": "0",
                "element_spec": "0",
                "clamped_maps": f"jnp.minimum({axis.name}, 1)",
                "modulo_maps": f"{axis.name} % 2",
            }.get(spec.spoiler or "", axis.name)
            return other if index == axis.name else index.replace(f"[{axis.name}]", f"[{other}]")
    return index
