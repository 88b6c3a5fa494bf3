"""The launch's grid and specs moved into a grid spec with scalar prefetch, as TPUs have it.

Only the form changes: nothing is prefetched yet. What follows can then hand the live count to the
kernel and to the index maps alike.
"""

from __future__ import annotations

import ast

from pallas_static_grid.analysis.facts import LaunchFacts
from pallas_static_grid.analysis.kernel_facts import LaunchShape
from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.model import Edit, Span
from pallas_static_grid.rewrite.brackets import call_brackets
from pallas_static_grid.rewrite.edits import insertion
from pallas_static_grid.rewrite.imports import needed
from pallas_static_grid.rewrite.locate import call_at
from pallas_static_grid.rewrite.syntax import insert_argument, remove_item

_MOVED = ("grid", "in_specs", "out_specs", "scratch_shapes")


def to_scalar_prefetch(facts: LaunchFacts, shape: LaunchShape) -> list[Edit] | None:
    """Edits that give the launch a `PrefetchScalarGridSpec`; None where they cannot be made."""
    module = facts.module
    node = call_at(module, shape.holder)
    found = needed(module, "jax.experimental.pallas.tpu", node, dotted=False)
    if shape.spec_kind is not None:
        edits = _renamed(module, node, found.text)
    else:
        edits = _gathered(module, node, found.text)
    return None if edits is None else [*found.edits, *edits]


def _renamed(module: ModuleContext, node: ast.Call, pltpu: str) -> list[Edit] | None:
    """`pl.GridSpec(...)` -> `pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=0, ...)`."""
    if not isinstance(node.func, ast.Name | ast.Attribute):
        return None
    zero = "0" if node.args else "num_scalar_prefetch=0"
    name = Edit(Span(*module.span(node.func)), f"{pltpu}.PrefetchScalarGridSpec")
    return [name, *insert_argument(module, node, 0, zero)]


def _gathered(module: ModuleContext, node: ast.Call, pltpu: str) -> list[Edit] | None:
    """The keywords of the grid, gathered where the first of them stands."""
    brackets = call_brackets(module, node)
    if any(keyword.arg is None for keyword in node.keywords):
        return None
    places: dict[int, str] = {}
    for keyword in node.keywords:
        start = module.span(keyword)[0]
        for index, item in enumerate(brackets.items):
            if keyword.arg in _MOVED and item.start <= start < item.end:
                places[index] = keyword.arg or ""
    first = next((index for index, name in sorted(places.items())), None)
    if first is None or "grid" not in places.values():
        return None
    last = first
    while last + 1 in places:
        last += 1
    if "grid" not in [places[index] for index in range(first, last + 1)]:
        return None
    apart = [index for index in sorted(places) if index > last]
    edits: list[Edit] = []
    moved = [module.text[brackets.items[i].start : brackets.items[i].end] for i in apart]
    for index in apart:
        edits += remove_item(module.text, brackets, index)
    head = f"grid_spec={pltpu}.PrefetchScalarGridSpec(num_scalar_prefetch=0, "
    end = brackets.items[last]
    closing = end.end if end.comma is None else end.comma
    edits.append(insertion(brackets.items[first].start, head))
    edits.append(insertion(closing, f"{''.join(f', {text}' for text in moved)})"))
    return edits


__all__ = ["to_scalar_prefetch"]
