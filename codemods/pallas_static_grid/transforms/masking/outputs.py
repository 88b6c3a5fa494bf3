"""What dead steps may do to each output: nothing, stay on a live block, or hand it on.

A dead step writes nothing, but the window that it names is flushed all the same. That is harmless
where no live step names the same block, and where the block of the last live step just stays
in its window. An aliased output must keep what it held besides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pallas_static_grid.analysis.kernel_facts import (
    AxisFacts,
    LaunchShape,
    MapFacts,
    OperandFacts,
    OutputFacts,
    SpecFacts,
)
from pallas_static_grid.model import Target
from pallas_static_grid.transforms.masking.guard import Keep
from pallas_static_grid.transforms.masking.refusing import Refused, refused


@dataclass(frozen=True, slots=True)
class OutputPlan:
    """How one output is protected."""

    output: OutputFacts
    pin: bool
    """Whether dead steps are sent to the last live block by the index map."""
    keep: Keep | None = None
    dump: Dump | None = None
    """Where dead steps go instead, on a parallel axis."""


@dataclass(frozen=True, slots=True)
class Dump:
    """Blocks at the end of an output for the dead steps of a parallel axis."""

    output: OutputFacts
    place: int
    """The dimension that is made longer."""
    extent: str
    block: str
    operand: OperandFacts | None
    """The operand that the output is aliased to: it is made longer too."""


@dataclass(frozen=True, slots=True)
class _Case:
    """One output under the axes that are dynamic."""

    shape: LaunchShape
    output: OutputFacts
    spec: SpecFacts | None
    pins: bool
    target: Target

    @property
    def dynamic(self) -> tuple[AxisFacts, ...]:
        return tuple(axis for axis in self.shape.axes if axis.dynamic)

    def refuse(self, code: str, reason: str) -> Refused:
        line = self.shape.line if self.spec is None else self.spec.line
        return refused(self.shape, code, f"output {self.output.index}: {reason}", line=line)


def plan_outputs(
    shape: LaunchShape, *, pins: bool, target: Target, parameters: tuple[str, ...] | None
) -> tuple[OutputPlan, ...]:
    """A plan per output, or a refusal.

    `pins`: index maps can read the live count (scalar prefetch). `parameters` are the kernel's
    refs in order, None where they have no names of their own.
    """
    if shape.outputs is None:
        if shape.alias_keys is None:
            raise refused(
                shape,
                "dynamic-alias-keys",
                "the keys of `input_output_aliases` are not written down as literals",
                line=shape.alias_line,
            )
        raise refused(
            shape, "opaque-arguments", "the outputs or their specs are not written down in sight"
        )
    plans: list[OutputPlan] = []
    for output in shape.outputs:
        case = _Case(shape, output, output.spec, pins, target)
        plans.append(_plan(case, parameters))
    return tuple(plans)


def _plan(case: _Case, parameters: tuple[str, ...] | None) -> OutputPlan:
    spec = case.spec
    if spec is not None and spec.memory == "raw":
        return OutputPlan(case.output, pin=False)
    if spec is not None and (spec.memory == "unknown" or not spec.plain):
        raise case.refuse("non-blocked-spec", "its spec is not plainly blocked, or not in sight")
    index_map = None if spec is None else spec.index_map
    hidden = spec is not None and spec.hidden_map
    if hidden or (index_map is not None and index_map.components is None):
        raise case.refuse("index-map-out-of-sight", "what its index map returns is not in sight")
    aliased = case.output.aliases is not None
    if writes_apart(index_map, case.dynamic):
        reads = index_map is not None and (index_map.tables or index_map.num_programs)
        if reads and not (case.pins and _in_order(case)):
            dump = _dump(case, index_map)
            if dump is not None:
                return OutputPlan(case.output, False, None, dump)
            raise case.refuse(
                "revisited-output-on-parallel-axis",
                "its index map reads a table or the count, also on dead steps of a parallel axis",
            )
        if aliased and not (case.pins and _in_order(case)):
            return OutputPlan(case.output, False, _keep(case, parameters, empty=False))
        pin = case.pins and _in_order(case)
        keep = _keep(case, parameters, empty=True) if aliased else None
        return OutputPlan(case.output, pin, keep)
    if not aliased and not _in_order(case) and _stays_by_axis(case, index_map):
        return OutputPlan(case.output, pin=False)
    return _revisited(case, index_map, parameters, aliased)


def _stays_by_axis(case: _Case, index_map: MapFacts | None) -> bool:
    """Whether each dynamic axis either leaves live blocks alone or stays on the block it is on.

    A step that is dead by an axis of the first kind names a block of its own; one that is dead by
    an axis of the second kind follows, in order, on the live steps that name the same block.
    """
    if index_map is None or index_map.tables or index_map.num_programs:
        return False
    if case.target not in ("auto", "tpu"):
        return False
    for axis in case.dynamic:
        inner = case.shape.axes[axis.index :]
        ordered = all(other.semantics == "sequential" for other in inner)
        stays = ordered and not index_map.axes & {other.index for other in inner}
        if not stays and not writes_apart(index_map, (axis,)):
            return False
    return True


def writes_apart(index_map: MapFacts | None, dynamic: tuple[AxisFacts, ...]) -> bool:
    """Whether a dead step never names a block that a live step names.

    On an axis of at most one step, a dead step means that no step is live.
    """
    components = () if index_map is None else index_map.components or ()
    return all(
        axis.grid_one or any(c.injective and c.axes == {axis.index} for c in components)
        for axis in dynamic
    )


def _in_order(case: _Case) -> bool:
    """Whether the dynamic axes and all inside them run in order on the target."""
    if case.target == "triton":
        return False
    first = min(axis.index for axis in case.dynamic)
    return all(axis.semantics == "sequential" for axis in case.shape.axes[first:])


def _revisited(
    case: _Case, index_map: MapFacts | None, parameters: tuple[str, ...] | None, aliased: bool
) -> OutputPlan:
    """Dead steps name blocks that live steps name: they must follow directly on these."""
    if case.target == "triton" and (case.spec is None or case.spec.memory == "whole"):
        return OutputPlan(case.output, pin=False)
    if case.target not in ("auto", "tpu"):
        raise case.refuse(
            "carried-state-on-parallel-axis",
            "steps of the dynamic axis share a block, and GPU backends run them in parallel",
        )
    if not _in_order(case):
        dump = _dump(case, index_map)
        if dump is not None:
            return OutputPlan(case.output, False, None, dump)
        raise case.refuse(
            "revisited-output-on-parallel-axis",
            "steps of a parallel axis name the same block, dead ones among them",
        )
    stays = _stays(case, index_map)
    if not stays and not case.pins:
        raise case.refuse(
            "not-supported",
            "dead steps would come back to a block after others, and its index map cannot "
            "read the live count without scalar prefetch",
        )
    keep = _keep(case, parameters, empty=True) if aliased else None
    return OutputPlan(case.output, pin=case.pins, keep=keep)


def _dump(case: _Case, index_map: MapFacts | None) -> Dump | None:
    """A dump block for an output whose blocks a table chooses; None where it cannot be made."""
    shape, output, spec = case.shape, case.output, case.spec
    if not case.pins or index_map is None or index_map.bare or spec is None or not spec.local:
        return None
    if len(shape.outputs or ()) != 1 or spec.other_launches or index_map.num_programs:
        return None
    if len(case.dynamic) != 1:
        return None
    if output.shape_code is None or output.extents is None or spec.block is None:
        return None
    inner = {axis.index for axis in case.dynamic}
    for place, component in enumerate(index_map.components or ()):
        if component.kind != "table" or not component.axes & inner:
            continue
        code = spec.block[place] if place < len(spec.block) else None
        squeezed = place < len(spec.squeezed) and spec.squeezed[place]
        block = "1" if squeezed else None if code is None else code.text
        extent = output.extents[place] if place < len(output.extents) else None
        if block is not None and extent is not None:
            return _with_operand(case, Dump(output, place, extent, block, None))
    return None


def _with_operand(case: _Case, dump: Dump) -> Dump | None:
    """The same, with the operand that the output is aliased to; no other operand may share."""
    shape, spec = case.shape, case.spec
    operand = None if case.output.aliases is None else _operand(case)
    for other in shape.operands:
        shares = any(s.span is not None and spec and s.span == spec.span for s in other.specs)
        if shares and other is not operand:
            return None
    if operand is None:
        return dump
    if operand.text is None or operand.other_specs or not same_windows(operand.spec, spec):
        return None
    return replace(dump, operand=operand)


def _stays(case: _Case, index_map: MapFacts | None) -> bool:
    """Whether dead steps name the block of the step before them without any help."""
    if index_map is None or index_map.components is None:
        return True
    if index_map.tables:
        return False
    first = min(axis.index for axis in case.dynamic)
    inner = {axis.index for axis in case.shape.axes[first:]}
    return not index_map.axes & inner


def _keep(case: _Case, parameters: tuple[str, ...] | None, *, empty: bool) -> Keep:
    """The hand-over of an aliased block from the operand's window to the output's."""
    shape, output = case.shape, case.output
    operand = _operand(case)
    if parameters is None:
        raise case.refuse(
            "aliased-output", "it is aliased, and the kernel's refs have no names of their own"
        )
    if operand.other_specs or not same_windows(operand.spec, output.spec):
        raise case.refuse(
            "aliased-output",
            "it is aliased to an operand with another window, so a dead step cannot hand the "
            "block on",
        )
    place = len(shape.operands) + output.index
    names = parameters[place], parameters[operand.index]
    return Keep(names[0], names[1], empty, operand.maybe_none)


def _operand(case: _Case) -> OperandFacts:
    index = case.output.aliases
    if index is None or not 0 <= index < len(case.shape.operands):
        raise refused(
            case.shape,
            "dynamic-alias-keys",
            f"output {case.output.index}: which operand it is aliased to is not written down",
            line=case.shape.alias_line,
        )
    return case.shape.operands[index]


def same_windows(one: SpecFacts | None, other: SpecFacts | None) -> bool:
    """Whether two specs cut the same windows on every step."""
    if one is None or other is None:
        return one is other
    if one.span is not None and one.span == other.span:
        return True
    same_memory = (one.memory, one.memory_name) == (other.memory, other.memory_name)
    if not same_memory or (one.block is None) != (other.block is None):
        return False
    if one.block_code is not None and other.block_code is not None:
        texts = {one.block_code.text, other.block_code.text}
        if len(texts) > 1:
            return False
    if one.index_map is None or other.index_map is None:
        return one.index_map is other.index_map
    return one.index_map.code.text == other.index_map.code.text


__all__ = ["Dump", "OutputPlan", "plan_outputs", "same_windows", "writes_apart"]
