"""Index maps of a launch with scalar prefetch: dead steps stay on the last live block."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from pallas_static_grid.analysis.kernel_facts import (
    AxisFacts,
    Code,
    LaunchShape,
    MapFacts,
    SpecFacts,
)
from pallas_static_grid.model import Edit, Span
from pallas_static_grid.rewrite.edits import insertion
from pallas_static_grid.rewrite.locate import expression_at
from pallas_static_grid.rewrite.names import fresh, identifiers, taken_at
from pallas_static_grid.rewrite.syntax import insert_parameter
from pallas_static_grid.transforms.masking.draft import Draft
from pallas_static_grid.transforms.masking.refusing import refused
from pallas_static_grid.transforms.masking.texts import as_summand, parsed


@dataclass(frozen=True, slots=True)
class PinItem:
    """A spec, and how the launch names it where it cannot be edited where it is built."""

    spec: SpecFacts
    references: tuple[Code, ...] = ()


@dataclass(frozen=True, slots=True)
class PinPlan:
    """What is done to the index maps."""

    pinned: tuple[PinItem, ...]
    """Specs whose map is wrapped, each once."""
    passed: tuple[PinItem, ...]
    """Specs of outputs whose dead blocks may be visited: the map just skips the new operand."""
    maps_count: bool
    """Whether the maps get the live counts as parameters, in place of `num_programs`."""


def pin_maps(draft: Draft, plan: PinPlan, new_axes: tuple[int, ...]) -> list[str]:
    """Edits that wrap the maps; gives the lines that define the wrapper."""
    for item in plan.passed:
        _pass_by(draft, item, len(new_axes))
    if not plan.pinned:
        return []
    maps = [item.spec.index_map for item in plan.pinned if item.spec.index_map is not None]
    at = expression_at(draft.module, draft.shape.call)
    taken = taken_at(draft.module.tree, at)
    nouns = [draft.names[axis.index].noun for axis in draft.dynamic]
    noun = nouns[0] if len(nouns) == 1 else "steps"
    name = fresh(taken, f"pin_dead_{noun}")
    for item in plan.pinned:
        _wrap_map(draft, item, name, at)
        if plan.maps_count:
            _count_in_map(draft, item)
    return _wrapper_lines(draft, name, noun, maps, new_axes, at, maps_count=plan.maps_count)


def _count_in_map(draft: Draft, item: PinItem) -> None:
    """Give a lambda the live counts as parameters and let it read these."""
    index_map = item.spec.index_map
    assert index_map is not None
    node = expression_at(draft.module, index_map.code.span)
    assert isinstance(node, ast.Lambda)
    for axis in draft.dynamic:
        ref = draft.names[axis.index].ref
        draft.add(insert_parameter(draft.module, node, len(draft.shape.axes), ref))
    for read in index_map.num_programs:
        if read.axis is not None and read.axis in draft.reads:
            draft.add([Edit(read.code.span, f"{draft.names[read.axis].ref}[0]")])


def _wrap_map(draft: Draft, item: PinItem, name: str, at: ast.AST) -> None:
    index_map = item.spec.index_map
    assert index_map is not None
    if item.references:
        _respecify(draft, item, at, lambda ref: f"{name}({ref}.index_map)")
        return
    span = index_map.code.span
    draft.add([insertion(span.start, f"{name}("), Edit(Span(span.end, span.end), ")")])


def _respecify(draft: Draft, item: PinItem, at: ast.AST, new_map: Callable[[str], str]) -> None:
    """Give the launch a spec of its own, made from the shared one."""
    pl = draft.name_of("jax.experimental.pallas", at)
    for reference in item.references:
        ref = reference.text
        memory = f", memory_space={ref}.memory_space" if item.spec.memory_name else ""
        text = f"{pl}.BlockSpec({ref}.block_shape, {new_map(ref)}{memory})"
        draft.add([Edit(reference.span, text)])


def _pass_by(draft: Draft, item: PinItem, new_operands: int) -> None:
    """Let a map skip the new operands, which come first among the prefetched ones."""
    index_map = item.spec.index_map
    if index_map is None or not new_operands:
        return
    rank = len(draft.shape.axes)
    parameters = index_map.parameters
    swallows = any(parameter.startswith("*") for parameter in parameters)
    indifferent = index_map.constant or len(parameters) == rank + 1
    if swallows and indifferent and not index_map.tables:
        return
    skipped = [f"_{'' if n == 0 else n}" for n in range(new_operands)]
    steps = step_names(draft.shape, [index_map], frozenset(skipped))
    listed = ", ".join(steps)
    head = f"lambda {', '.join([*steps, *skipped])}, *prefetched: "
    if item.references:
        at = expression_at(draft.module, draft.shape.call)
        tail = f".index_map({listed}, *prefetched)"
        _respecify(draft, item, at, lambda ref: f"{head}{ref}{tail}")
        return
    if index_map.lambda_span is not None and index_map.lambda_span == index_map.code.span:
        node = expression_at(draft.module, index_map.code.span)
        if isinstance(node, ast.Lambda) and len(parameters) >= rank:
            for name in skipped:
                draft.add(insert_parameter(draft.module, node, rank, name))
            return
    inner = index_map.code.text
    inner = f"({inner})" if index_map.lambda_span is not None else inner
    draft.add([Edit(index_map.code.span, f"{head}{inner}({listed}, *prefetched)")])


def _wrapper_lines(
    draft: Draft,
    name: str,
    noun: str,
    maps: list[MapFacts],
    new_axes: tuple[int, ...],
    at: ast.AST,
    *,
    maps_count: bool,
) -> list[str]:
    unit = draft.unit
    jnp = draft.name_of("jax.numpy", at)
    shape = draft.shape
    extents = _inner_extents(draft, maps)
    used = {word for text in extents.values() for word in _names(text)}
    reads, header = _count_reads(draft, new_axes)
    steps = step_names(shape, maps, frozenset(used | {"index_map", "block", "prefetched"}))
    one = len(draft.dynamic) == 1
    lives = {
        axis.index: "num_live" if one else f"num_live_{draft.names[axis.index].noun}"
        for axis in draft.dynamic
    }
    body = [f"{lives[axis]} = {text}" for axis, text in reads.items()]
    body += _moved_steps(shape, draft.dynamic, steps, lives, extents, jnp)
    passed = header.parameters if maps_count else header.passed
    call = f"index_map({', '.join([*steps, *passed])})"
    if maps_count or any(m.tables or m.components is None for m in maps):
        alive = " & ".join(f"({live} > 0)" if not one else f"{live} > 0" for live in lives.values())
        body.append(f"block = {call}")
        if any(m.bare for m in maps):
            jax = draft.name_of("jax", at)
            kept = f"lambda index: {jnp}.where({alive}, index, 0)"
            body.append(f"return {jax}.tree.map({kept}, block)")
        else:
            body.append(f"return tuple({jnp}.where({alive}, index, 0) for index in block)")
    else:
        body.append(f"return {call}")
    first = ", ".join([*steps, *header.parameters])
    return [
        f"def {name}(index_map):",
        f'{unit}"""Dead {noun.replace("_", " ")} stay on the last live block and move no data."""',
        "",
        f"{unit}def pinned({first}):",
        *(f"{unit * 2}{line}" for line in body),
        "",
        f"{unit}return pinned",
    ]


@dataclass(frozen=True, slots=True)
class _Header:
    """The parameters of the wrapping map behind the steps, and what the inner map gets."""

    parameters: tuple[str, ...]
    passed: tuple[str, ...]


def _count_reads(draft: Draft, new_axes: tuple[int, ...]) -> tuple[dict[int, str], _Header]:
    """How each live count is read in an index map."""
    added = [draft.names[axis].ref for axis in new_axes]
    reads: dict[int, str] = {}
    for axis in draft.dynamic:
        count = draft.shape.counts[axis.index]
        if axis.index in new_axes or count is None:
            reads[axis.index] = f"{draft.names[axis.index].ref}[0]"
        else:
            reads[axis.index] = count.with_ref(f"prefetched[{count.operand}]")
    return reads, _Header((*added, "*prefetched"), ("*prefetched",))


def _moved_steps(
    shape: LaunchShape,
    dynamic: tuple[AxisFacts, ...],
    steps: list[str],
    lives: dict[int, str],
    extents: dict[int, str],
    jnp: str,
) -> list[str]:
    """Lines that move dead steps: inner axes to their last step, then the axis itself."""
    lines: list[str] = []
    for axis in reversed(shape.axes):
        outer = [d.index for d in dynamic if d.index < axis.index]
        last = extents.get(axis.index)
        if axis.index in lives:
            last = f"{lives[axis.index]} - 1"
        name = steps[axis.index]
        if outer and last is not None:
            tests = [f"{steps[d]} < {lives[d]}" for d in outer]
            alive = tests[0] if len(tests) == 1 else " & ".join(f"({t})" for t in tests)
            lines.append(f"{name} = {jnp}.where({alive}, {name}, {last})")
        if axis.index in lives:
            live = lives[axis.index]
            lines.append(f"{name} = {jnp}.clip({name}, 0, {jnp}.maximum({live} - 1, 0))")
    return lines


def _inner_extents(draft: Draft, maps: list[MapFacts]) -> dict[int, str]:
    """The last step of each static axis inside a dynamic one that some map depends on."""
    first = min(axis.index for axis in draft.dynamic)
    needed = frozenset(axis for m in maps for axis in m.axes)
    if any(m.components is None for m in maps):
        needed = frozenset(axis.index for axis in draft.shape.axes)
    out: dict[int, str] = {}
    for axis in draft.shape.axes:
        if axis.dynamic or axis.index < first or axis.index not in needed:
            continue
        if axis.code is None:
            raise refused(draft.shape, "opaque-arguments", "a grid entry is not in sight")
        text = axis.code.text
        if text.isdigit():
            if int(text) > 1:
                out[axis.index] = str(int(text) - 1)
            continue
        out[axis.index] = f"{as_summand(text)} - 1"
    return out


def _names(text: str) -> set[str]:
    return set(identifiers(parsed(text)))


def step_names(shape: LaunchShape, maps: list[MapFacts], taken: frozenset[str]) -> list[str]:
    """Names for the steps: those of the first map that has one per axis and none taken."""
    rank = len(shape.axes)
    for index_map in maps:
        names = list(index_map.parameters[:rank])
        plain = len(names) == rank and all(n.isidentifier() and n.strip("_") for n in names)
        if plain and not taken & set(names):
            return names
    letters = [name for name in ("i", "j", "k", "l", "m", "n") if name not in taken]
    if rank <= len(letters):
        return letters[:rank]
    return [f"step_{axis}" for axis in range(rank)]


__all__ = ["PinItem", "PinPlan", "pin_maps", "step_names"]
