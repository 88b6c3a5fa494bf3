"""The outputs of a launch: their specs, and the operands whose buffers they take over."""

from __future__ import annotations

import ast

from pallas_static_grid.analysis.facts import LaunchFacts
from pallas_static_grid.analysis.kernel_facts import Code, OperandFacts, OutputFacts, SpecFacts
from pallas_static_grid.analysis.launch_operands import alias_keys, element_code, shape_key
from pallas_static_grid.analysis.launch_specs import spec_facts
from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.values import (
    Arg,
    Array,
    Const,
    Int,
    Struct,
    Tuple,
    Value,
    options,
)
from pallas_static_grid.model import Span


def outputs_of(
    facts: LaunchFacts, rank: int, operands: tuple[OperandFacts, ...], prefetched: int | None
) -> tuple[OutputFacts, ...] | None:
    """The outputs in order; None where they or the alias keys are not in sight."""
    shape = facts.site.args.get("out_shape")
    shape = facts.site.args.get("out_type") if shape is None else shape
    if shape is None or prefetched is None:
        return None
    shapes = _items(shape.value)
    specs = _specs(facts, len(shapes))
    if specs is None:
        return None
    found = tuple(None if spec is None else spec_facts(facts, spec, rank) for spec in specs)
    aliased = _aliased(facts, operands, found)
    if aliased is None:
        return None
    nodes = _nodes(shape, len(shapes))
    return tuple(
        OutputFacts(
            index,
            spec,
            aliased.get(index),
            element_code(facts, "out_specs", index),
            _shape_key(value),
            _extents(facts.module, value, node),
            *_written_shape(facts, value),
        )
        for index, (value, spec, node) in enumerate(zip(shapes, found, nodes, strict=True))
    )


def _items(value: Value) -> tuple[Value, ...]:
    found = [v for v in options(value) if isinstance(v, Tuple)]
    return found[0].items if len(found) == 1 else (value,)


def _nodes(arg: Arg, count: int) -> tuple[ast.expr | None, ...]:
    node = arg.node
    if isinstance(node, ast.Tuple | ast.List) and len(node.elts) == count:
        return tuple(node.elts)
    return (node,) if count == 1 else (None,) * count


def _specs(facts: LaunchFacts, count: int) -> tuple[Value | None, ...] | None:
    arg = facts.site.spec_arg("out_specs")
    if arg is None or isinstance(arg.value, Const):
        return (None,) * count
    found = [v for v in options(arg.value) if isinstance(v, Tuple)]
    if len(found) == 1:
        return found[0].items if len(found[0].items) == count else None
    return (arg.value,) if count == 1 else None


def _aliased(
    facts: LaunchFacts,
    operands: tuple[OperandFacts, ...],
    specs: tuple[SpecFacts | None, ...],
) -> dict[int, int] | None:
    """Output -> operand, over flattened operands as the keys count them."""
    keys = alias_keys(facts.site)
    if keys is None:
        return None
    out: dict[int, int] = {}
    for key in keys:
        if key.output is None:
            return None
        rank = _rank(specs[key.output]) if key.output < len(specs) else None
        operand = None if key.value is None else _at_leaf(key.value, operands, rank)
        out[key.output] = -1 if operand is None else operand
    return out


def _at_leaf(key: int, operands: tuple[OperandFacts, ...], rank: int | None) -> int | None:
    """The operand whose leaf number `key` is.

    Operands that may be None shift the leaves behind them; of the operands that the key may mean,
    only those count that have as many dimensions as the output (`rank`): others would be refused.
    """
    positions = {0}
    found: list[OperandFacts] = []
    for operand in operands:
        if operand.leaf_counts is None:
            return None
        if any(p <= key < p + n for p in positions for n in operand.leaf_counts):
            found.append(operand)
        positions = {p + n for p in positions for n in operand.leaf_counts}
    fitting = [o for o in found if rank is None or _rank(o.spec) in (None, rank)]
    if len(fitting) != 1 or max(fitting[0].leaf_counts or (0,)) != 1:
        return None
    return fitting[0].index


def _rank(spec: SpecFacts | None) -> int | None:
    """How many dimensions a spec's array has."""
    index_map = None if spec is None else spec.index_map
    if spec is not None and spec.block is not None:
        return len(spec.block)
    components = None if index_map is None else index_map.components
    return None if components is None else len(components)


def _shape_key(value: Value) -> tuple[object, ...] | None:
    if isinstance(value, Struct):
        shape = value.shape
        if isinstance(shape, Tuple) and all(isinstance(i, Int) for i in shape.items):
            return tuple(i.expr for i in shape.items if isinstance(i, Int))
        array = getattr(shape, "array", None)
        return ("of", array.dims_ident) if isinstance(array, Array) else None
    return shape_key(value)


def _extents(
    module: ModuleContext, value: Value, node: ast.expr | None
) -> tuple[str | None, ...] | None:
    """Python text of each length of an output."""
    call = value.node if isinstance(value, Struct) else None
    if call is None:
        if isinstance(node, ast.Name) and isinstance(value, Array):
            return tuple(f"{node.id}.shape[{axis}]" for axis in range(8))
        return None
    shape = _shape_node(call)
    if isinstance(shape, ast.Tuple | ast.List):
        if any(isinstance(e, ast.Starred) for e in shape.elts):
            return None
        return tuple(module.segment(element) for element in shape.elts)
    if isinstance(shape, ast.Attribute | ast.Name):
        text = module.segment(shape)
        return tuple(f"{text}[{axis}]" for axis in range(8))
    return None


def _written_shape(facts: LaunchFacts, value: Value) -> tuple[Code | None, tuple[Code, ...] | None]:
    """The shape argument of a struct that is written in the launching call itself."""
    if not isinstance(value, Struct):
        return None, None
    module = facts.module
    inside = any(node is value.node for node in ast.walk(facts.site.node))
    shape = _shape_node(value.node)
    if not inside or shape is None:
        return None, None
    code = Code(Span(*module.span(shape)), module.segment(shape))
    if not isinstance(shape, ast.Tuple | ast.List):
        return code, None
    if any(isinstance(element, ast.Starred) for element in shape.elts):
        return None, None
    return code, tuple(Code(Span(*module.span(e)), module.segment(e)) for e in shape.elts)


def _shape_node(call: ast.Call) -> ast.expr | None:
    given = next((k.value for k in call.keywords if k.arg == "shape"), None)
    return call.args[0] if call.args else given
