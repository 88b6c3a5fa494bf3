"""How far the blocked arrays of a launch reach along each dynamic axis, against its bound."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pallas_static_grid.analysis.algebra import Poly, ceil_quotient, number, poly, subtract, to_sym
from pallas_static_grid.analysis.bound_evidence import site_facts
from pallas_static_grid.analysis.bounds import bound_forms
from pallas_static_grid.analysis.facts import LaunchFacts
from pallas_static_grid.analysis.intervals import Facts, prove_le
from pallas_static_grid.analysis.inverting import Solved, steps_within
from pallas_static_grid.analysis.kernel_facts import Reach
from pallas_static_grid.analysis.kernel_walk import Walk
from pallas_static_grid.analysis.operands import (
    BLOCKED,
    ELEMENT,
    SQUEEZED,
    BlockDim,
    Blocked,
    Received,
    block_dims,
    length,
    received,
)
from pallas_static_grid.analysis.range_evidence import single_function
from pallas_static_grid.analysis.rendering import Names
from pallas_static_grid.analysis.symbolic import atoms, is_static
from pallas_static_grid.analysis.values import BlockSpec
from pallas_static_grid.analysis.walk_values import Items, Scalar, Thing, step_index

_WORD = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class _Question:
    """What stays the same while one launch is looked at."""

    facts: LaunchFacts
    known: Facts
    names: Names
    bounds: dict[int, Poly | None]
    """Per dynamic axis: its bound."""
    words: dict[int, frozenset[str]]
    """Per dynamic axis: the names that its bound is written with."""


def reaches_of(facts: LaunchFacts) -> tuple[Reach, ...]:
    """One entry per dimension of a blocked array that a dynamic axis walks along."""
    site = facts.site
    known = site_facts(site)
    forms = bound_forms(facts)
    bounds = {d.index: forms.get(d.index) for d in facts.launch.dims if d.verdict == "dynamic"}
    words = {
        dim.index: frozenset(_WORD.findall(f"{dim.expression} {dim.bound.expression}"))
        for dim in facts.launch.dims
        if dim.bound is not None
    }
    question = _Question(facts, known, Names.at(site.scope, known), bounds, words)
    out: dict[Reach, None] = {}
    for call in site.calls:
        got = received(site, call)
        for part in got.blocked:
            if part.spec is not None and part.spec.index_map is not None:
                for reach in _of_part(question, part, part.spec, got):
                    out.setdefault(reach)
    return tuple(out)


def _of_part(question: _Question, part: Blocked, spec: BlockSpec, got: Received) -> list[Reach]:
    assert spec.index_map is not None
    rank = len(question.facts.launch.dims)
    walk = Walk((None,) * rank)
    function = single_function(walk, spec.index_map.value, spec.module)
    dims = block_dims(spec)
    if function is None:
        return [_unknown(question, part, spec, axis) for axis in question.bounds]
    steps = tuple(Scalar(step_index(axis)) for axis in range(rank))
    result = walk.call(function, (*steps, *got.prefetched), {})
    items = result.items if isinstance(result, Items) else (result,)
    if dims is None or len(items) != len(dims):
        moving = [axis for axis in question.bounds if not _stays(items, axis)]
        return [_unknown(question, part, spec, axis) for axis in moving]
    out: list[Reach] = []
    for place, (index, dim) in enumerate(zip(items, dims, strict=True)):
        out += _of_index(question, part, spec, place, index, dim)
    return out


def _stays(items: Sequence[Thing], axis: int) -> bool:
    """Whether the same block is named on every step along an axis, whatever the block's shape."""
    return all(
        isinstance(item, Scalar) and step_index(axis) not in atoms(item.sym) for item in items
    )


def _of_index(
    question: _Question, part: Blocked, spec: BlockSpec, place: int, index: Thing, dim: BlockDim
) -> list[Reach]:
    if not isinstance(index, Scalar):
        return []
    mentioned = atoms(index.sym)
    out: list[Reach] = []
    for axis, bound in question.bounds.items():
        if step_index(axis) not in mentioned:
            continue
        limit = _last_block(question, part, place, dim)
        solved = (
            None
            if limit is None
            else steps_within(index.sym, limit, axis, question.known, natural=True)
        )
        if not isinstance(solved, Solved):
            out.append(_unknown(question, part, spec, axis))
            continue
        within = bound is not None and prove_le(to_sym(bound), to_sym(solved.form), question.known)
        text = question.names.render(solved.form, question.words.get(axis, frozenset()))
        out.append(Reach(axis, _start(question, spec), part.label, spec.node.lineno, text, within))
    return out


def _last_block(question: _Question, part: Blocked, place: int, dim: BlockDim) -> Poly | None:
    """The largest block index along a dimension."""
    extent = length(part.value, place, part.label)
    if extent is None or not is_static(extent):
        return None
    size = poly(extent, question.known)
    if dim.kind in (SQUEEZED, ELEMENT):
        return subtract(size, number(1))
    if dim.kind != BLOCKED or dim.size is None or not is_static(dim.size):
        return None
    blocks = ceil_quotient(size, poly(dim.size, question.known), question.known)
    return subtract(blocks, number(1))


def _unknown(question: _Question, part: Blocked, spec: BlockSpec, axis: int) -> Reach:
    return Reach(axis, _start(question, spec), part.label, spec.node.lineno, None, False)


def _start(question: _Question, spec: BlockSpec) -> int:
    """What `SpecFacts.span` starts with, or -1 for a spec of another file."""
    module = question.facts.module
    return module.span(spec.node)[0] if spec.module is module else -1


__all__ = ["reaches_of"]
