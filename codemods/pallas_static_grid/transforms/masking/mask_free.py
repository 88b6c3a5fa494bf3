"""The mask-free form: the bound in the grid and nothing else, where dead steps do no harm.

Dead steps then compute blocks that were undefined before. That is sound without aliases, state
carried across steps, or a block that both a dead and a live step write; it survives
differentiation, and costs the work of the dead steps.
"""

from __future__ import annotations

from pallas_static_grid.analysis.facts import LaunchFacts
from pallas_static_grid.analysis.kernel_facts import LaunchShape, SpecFacts
from pallas_static_grid.transforms.masking.cover import covered_bounds
from pallas_static_grid.transforms.masking.outputs import writes_apart
from pallas_static_grid.transforms.masking.refusing import Refused


def mask_free_bounds(facts: LaunchFacts, shape: LaunchShape) -> dict[int, str] | str:
    """The bounds of the mask-free form, or why it would not be sound."""
    obstacle = _obstacle(shape)
    if obstacle is not None:
        return obstacle
    try:
        return covered_bounds(shape, frozenset())
    except Refused as refused:
        return refused.refusal.reason


def _obstacle(shape: LaunchShape) -> str | None:
    kernel = shape.kernel
    if shape.alias_keys is None or shape.alias_keys:
        return "an output is aliased to an operand"
    if shape.has_scratch:
        return "scratch may carry state across the steps"
    if shape.num_scalar_prefetch != 0:
        return "it reads prefetched tables, which may hold anything beyond the live part"
    if any(read.kind == "num_programs" for read in (*kernel.reads, *kernel.helper_reads)):
        return "the kernel reads `num_programs`"
    if kernel.unseen_calls or kernel.foreign_calls or kernel.outside is not None or kernel.effects:
        return "the kernel may do more than write its outputs"
    if shape.outputs is None:
        return "its outputs are not in sight"
    if not all(_is_blocked(spec) for spec in shape.specs):
        return "a ref is not a block that the grid steps through"
    reads_step = bool(kernel.reads or kernel.helper_reads)
    if reads_step and any(operand.spec is None for operand in shape.operands):
        return "the kernel may address a whole array by the step"
    dynamic = tuple(axis for axis in shape.axes if axis.dynamic)
    for output in shape.outputs:
        index_map = None if output.spec is None else output.spec.index_map
        if not writes_apart(index_map, dynamic):
            return f"dead steps write blocks of output {output.index} that live steps write"
        if index_map is not None and index_map.num_programs:
            return "an index map reads `num_programs`"
    return None


def _is_blocked(spec: SpecFacts) -> bool:
    return spec.plain and spec.memory == "windowed" and spec.index_map is not None


__all__ = ["mask_free_bounds"]
