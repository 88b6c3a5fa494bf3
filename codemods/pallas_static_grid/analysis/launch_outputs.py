"""The outputs of a launch: their specs, and the operands whose buffers they take over."""

from __future__ import annotations

import ast

from pallas_static_grid.analysis.facts import LaunchFacts
from pallas_static_grid.analysis.kernel_facts import AliasKey, Code, OperandFacts, OutputFacts
from pallas_static_grid.analysis.launch_aliases import operands_taken_over
from pallas_static_grid.analysis.launch_operands import element_code, shape_key
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
    facts: LaunchFacts,
    rank: int,
    operands: tuple[OperandFacts, ...],
    prefetched: int | None,
    keys: tuple[AliasKey, ...] | None,
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
    aliased = operands_taken_over(keys, operands, found)
    if aliased is None:
        return None
    nodes = _nodes(shape, len(shapes))
    return tuple(
        OutputFacts(
            index,
            spec,
            aliased[index][0] if index in aliased else None,
            index in aliased and aliased[index][1],
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
