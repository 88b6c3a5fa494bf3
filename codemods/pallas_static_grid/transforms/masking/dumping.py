"""Dump blocks: dead steps of a parallel axis write behind the end, and the end is cut off.

Each dead step has a block of its own: steps of a parallel axis run in any order, so that one block
for all of them would be visited again and again.
"""

from __future__ import annotations

import ast

from pallas_static_grid.model import Edit, Span
from pallas_static_grid.rewrite.edits import insertion
from pallas_static_grid.rewrite.locate import call_at, expression_at
from pallas_static_grid.rewrite.names import fresh, taken_at
from pallas_static_grid.transforms.masking.draft import Draft
from pallas_static_grid.transforms.masking.outputs import Dump
from pallas_static_grid.transforms.masking.pins import PinItem, step_names
from pallas_static_grid.transforms.masking.texts import as_operand, as_summand


def dump_dead_steps(draft: Draft, dump: Dump, items: list[PinItem]) -> list[str]:
    """Edits that make the output longer, route dead steps there and cut the result.

    `items` are the specs of the output (and of the operand it is aliased to). Gives the lines
    that define the block count and the map wrapper.
    """
    at = expression_at(draft.module, draft.shape.call)
    taken = taken_at(draft.module.tree, at)
    pl = draft.name_of("jax.experimental.pallas", at)
    jnp = draft.name_of("jax.numpy", at)
    noun = draft.names[draft.dynamic[0].index].noun
    number = fresh(taken, "first_dump_block", "dump_start")
    wrapper = fresh(taken, f"dump_dead_{noun}")
    bound = draft.dynamic[0].bound or ""
    blocks = f"{number} + {as_summand(bound)}"
    longer = f"({blocks}) * {as_operand(dump.block)}" if dump.block != "1" else blocks
    _lengthen_output(draft, dump, longer)
    if dump.operand is not None:
        _lengthen_operand(draft, dump, longer, jnp)
    _cut_results(draft, dump)
    for item in items:
        index_map = item.spec.index_map
        assert index_map is not None
        span = index_map.code.span
        draft.add([insertion(span.start, f"{wrapper}("), Edit(Span(span.end, span.end), ")")])
    count = dump.extent if dump.block == "1" else f"{pl}.cdiv({dump.extent}, {dump.block})"
    return [f"{number} = {count}", "", *_wrapper(draft, dump, items[0], wrapper, number, noun, jnp)]


def _wrapper(
    draft: Draft, dump: Dump, item: PinItem, name: str, number: str, noun: str, jnp: str
) -> list[str]:
    unit = draft.unit
    index_map = item.spec.index_map
    assert index_map is not None and index_map.components is not None
    steps = step_names(draft.shape, [index_map], frozenset({"index_map", "block", "prefetched"}))
    axis = draft.dynamic[0]
    step = steps[axis.index]
    count = draft.shape.counts[axis.index]
    ref = draft.names[axis.index].ref
    parameters = [ref]
    live = f"{ref}[0]"
    if draft.reads[axis.index] != live and count is not None:
        parameters = []
        live = count.with_ref(f"prefetched[{count.operand}]")
    moved = list(steps)
    moved[axis.index] = f"{jnp}.where(is_live, {step}, 0)"
    entries = []
    for place, component in enumerate(index_map.components):
        if place == dump.place:
            entries.append(f"{jnp}.where(is_live, block[{place}], {number} + {step})")
        elif component.kind in ("table", "other"):
            entries.append(f"{jnp}.where(is_live, block[{place}], 0)")
        else:
            entries.append(f"block[{place}]")
    comma = "," if len(entries) == 1 else ""
    words = noun.replace("_", " ")
    return [
        f"def {name}(index_map):",
        f'{unit}"""Dead {words} go to blocks of their own at the end, which is cut off again."""',
        "",
        f"{unit}def dumped({', '.join([*steps, *parameters])}, *prefetched):",
        f"{unit * 2}is_live = {step} < {live}",
        f"{unit * 2}block = index_map({', '.join(moved)}, *prefetched)",
        f"{unit * 2}return ({', '.join(entries)}{comma})",
        "",
        f"{unit}return dumped",
    ]


def _lengthen_output(draft: Draft, dump: Dump, longer: str) -> None:
    output = dump.output
    assert output.shape_code is not None
    if output.shape_entries is not None:
        draft.add([Edit(output.shape_entries[dump.place].span, longer)])
        return
    text = as_operand(output.shape_code.text)
    before = f"*{text}[:{dump.place}], " if dump.place else ""
    after = f"*{text}[{dump.place + 1}:]"
    draft.add([Edit(output.shape_code.span, f"({before}{longer}, {after})")])


def _lengthen_operand(draft: Draft, dump: Dump, longer: str, jnp: str) -> None:
    operand = dump.operand
    assert operand is not None and operand.spec is not None and operand.spec.index_map is not None
    rank = len(operand.spec.index_map.components or ())
    more = f"{longer} - {as_summand(dump.extent)}"
    pads = ["(0, 0)"] * rank
    pads[dump.place] = f"(0, {more})"
    comma = "," if rank == 1 else ""
    for call in draft.shape.calls:
        node = call_at(draft.module, call.span)
        given = node.args[operand.index]
        span = Span(*draft.module.span(given))
        draft.add([Edit(span, f"{jnp}.pad({operand.text}, ({', '.join(pads)}{comma}))")])


def _cut_results(draft: Draft, dump: Dump) -> None:
    """`launch(...)` -> `launch(...)[:n]`."""
    simple = isinstance(ast.parse(dump.extent, mode="eval").body, ast.Name | ast.Constant)
    end = f":{dump.extent}" if simple else f": {dump.extent}"
    cut = ", ".join([*[":"] * dump.place, end])
    for call in draft.shape.calls:
        draft.add([insertion(call.span.end, f"[{cut}]")])


__all__ = ["dump_dead_steps"]
