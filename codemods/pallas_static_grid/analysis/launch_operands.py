"""The operands of a launch: how they reach it, and what they flatten to."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from pallas_static_grid.analysis.facts import LaunchFacts
from pallas_static_grid.analysis.kernel_facts import (
    CallFacts,
    Code,
    OperandFacts,
    SpecFacts,
)
from pallas_static_grid.analysis.launch_specs import alternatives
from pallas_static_grid.analysis.launch_trees import taken_apart
from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.symbolic import Num
from pallas_static_grid.analysis.values import (
    Arg,
    Array,
    Const,
    Dict,
    Instance,
    Int,
    LaunchSite,
    OperandCall,
    Sequence,
    Tuple,
    Unknown,
    Value,
    is_none,
    options,
)
from pallas_static_grid.model import Span


def prefetch_count(site: LaunchSite) -> int | None:
    """`num_scalar_prefetch` where it is a literal; 0 without a prefetching grid spec."""
    arg = site.spec_arg("num_scalar_prefetch")
    if arg is None:
        return 0
    value = arg.value
    return value.expr.value if isinstance(value, Int) and isinstance(value.expr, Num) else None


def call_facts(site: LaunchSite) -> tuple[CallFacts, ...]:
    """The calls of the launch."""
    return tuple(
        CallFacts(
            Span(*site.module.span(call.node)),
            call.node.lineno,
            call.function,
            call.module is site.module and not call.node.keywords and _sees_launch(site, call),
        )
        for call in site.calls
    )


def _sees_launch(site: LaunchSite, call: OperandCall) -> bool:
    """Whether a call stands in the function that launches, or in one nested in it."""
    where = site.function_node
    return where is None or any(node is call.node for node in ast.walk(where))


def operands_of(facts: LaunchFacts, rank: int) -> tuple[tuple[OperandFacts, ...], bool]:
    """The operands of the launch's calls, and whether all of them are known."""
    site = facts.site
    if not site.calls:
        return (), False
    call = site.calls[0]
    complete = all(other.complete for other in site.calls)
    alike = all(len(other.args) == len(call.args) for other in site.calls)
    prefetched = prefetch_count(site) or 0
    specs = _specs(facts, rank, len(call.args) - prefetched)
    out: list[OperandFacts] = []
    for index, arg in enumerate(call.args):
        found = () if index < prefetched or specs is None else specs[index - prefetched]
        torn = not found and _is_tree(arg.value) and taken_apart(site, index, rank)
        operand = _operand(facts, call, index, arg, index < prefetched, found)
        out.append(replace(operand, leaves=None, leaf_counts=None) if torn else operand)
    return tuple(out), complete and alike and (specs is not None or prefetched == len(call.args))


def _specs(facts: LaunchFacts, rank: int, count: int) -> tuple[tuple[SpecFacts, ...], ...] | None:
    """The specs of each operand behind the prefetched ones; None where they are not in sight."""
    arg = facts.site.spec_arg("in_specs")
    if arg is None or is_none(arg.value):
        return ((),) * count
    values = _items(arg.value)
    if values is None or len(values) != count:
        return None
    return tuple(alternatives(facts, value, rank) for value in values)


def element_code(facts: LaunchFacts, name: str, place: int) -> Code | None:
    """Element `place` of the display given as an argument of the launch or its grid spec."""
    arg = facts.site.spec_arg(name)
    if arg is None or arg.node is None:
        return None
    node: ast.expr | None = arg.node
    if isinstance(node, ast.Tuple | ast.List):
        plain = not any(isinstance(e, ast.Starred) for e in node.elts)
        node = node.elts[place] if plain and place < len(node.elts) else None
    elif name == "in_specs" or place:
        node = None
    if node is None:
        return None
    return Code(Span(*facts.module.span(node)), facts.module.segment(node))


def _items(value: Value) -> tuple[Value, ...] | None:
    found = [v for v in options(value) if isinstance(v, Tuple)]
    return found[0].items if len(found) == 1 else None


def _is_tree(value: Value) -> bool:
    return any(isinstance(option, Array) and option.tree for option in options(value))


def _operand(
    facts: LaunchFacts,
    call: OperandCall,
    index: int,
    arg: Arg,
    prefetched: bool,
    specs: tuple[SpecFacts, ...],
) -> OperandFacts:
    same = [other.args[index] for other in facts.site.calls if index < len(other.args)]
    texts = {_plain_text(facts.module, a.node) for a in same}
    text = texts.pop() if len(texts) == 1 else None
    value = arg.value
    shape = value.shape if isinstance(value, Array) else None
    place = index - (prefetch_count(facts.site) or 0)
    return OperandFacts(
        index,
        text,
        leaves(value),
        prefetched,
        specs[0] if specs else None,
        None if prefetched else element_code(facts, "in_specs", place),
        specs[1:],
        leaf_counts(value),
        none=all(is_none(v) for v in options(value)),
        maybe_none=any(is_none(v) for v in options(value)),
        scalar_int=isinstance(value, Array) and value.shape == (),
        shape_key=shape_key(value),
        extents=_extents(text, shape),
    )


def _plain_text(module: ModuleContext, node: ast.expr | None) -> str | None:
    """The text of a name or a dotted name."""
    inner = node
    while isinstance(inner, ast.Attribute):
        inner = inner.value
    if node is None or not isinstance(inner, ast.Name):
        return None
    return module.segment(node)


def _extents(text: str | None, shape: tuple[Value, ...] | None) -> tuple[str | None, ...] | None:
    if text is None:
        return None
    rank = 8 if shape is None else len(shape)
    return tuple(f"{text}.shape[{axis}]" for axis in range(rank))


def shape_key(value: Value) -> tuple[object, ...] | None:
    """A key of an array's lengths: equal keys mean equal lengths."""
    if not isinstance(value, Array):
        return None
    if value.shape is not None and all(isinstance(length, Int) for length in value.shape):
        return tuple(length.expr for length in value.shape if isinstance(length, Int))
    return ("of", value.dims_ident)


def leaves(value: Value) -> int | None:
    """How many arrays a value flattens to."""
    counts = {_leaves(v) for v in options(value)}
    return counts.pop() if len(counts) == 1 else None


def leaf_counts(value: Value) -> tuple[int, ...] | None:
    """How many arrays each alternative of a value flattens to."""
    counts = {_leaves(v) for v in options(value)}
    known = sorted(count for count in counts if count is not None)
    return None if None in counts else tuple(known)


def _leaves(value: Value) -> int | None:
    match value:
        case Array():
            return 1
        case Const(value=None):
            return 0
        case Int():
            return 1
        case Tuple(items=items):
            return _sum(leaves(item) for item in items)
        case Dict(items=pairs, complete=True):
            return _sum(leaves(item) for _, item in pairs)
        case Instance(fields=fields) if fields:
            return _sum(leaves(item) for _, item in fields)
        case Sequence() | Unknown():
            return None
        case _:
            return None


def _sum(counts: Iterator[int | None]) -> int | None:
    total = 0
    for count in counts:
        if count is None:
            return None
        total += count
    return total
