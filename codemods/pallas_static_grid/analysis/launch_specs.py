"""Block specs: block shape, index map, memory space, and who else uses them."""

from __future__ import annotations

import ast

from pallas_static_grid.analysis.facts import LaunchFacts
from pallas_static_grid.analysis.index_maps import map_facts
from pallas_static_grid.analysis.kernel_facts import Code, MapFacts, Memory, SpecFacts
from pallas_static_grid.analysis.kernel_reads import own_nodes
from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.values import (
    Arg,
    BlockSpec,
    Dict,
    External,
    Instance,
    LaunchSite,
    Tuple,
    Value,
    is_none,
    options,
)
from pallas_static_grid.model import Span

_RAW = frozenset({"ANY", "HBM", "GMEM", "HOST"})
_WINDOW = frozenset({"VMEM", "SMEM", "CMEM", "WGMEM"})
_OTHER_BLOCKS = frozenset({"Element", "BoundedSlice", "Indirect", "Unblocked"})


def spec_facts(facts: LaunchFacts, value: Value, rank: int) -> SpecFacts | None:
    """The facts of a spec; None for no spec (the whole array).

    Alternatives that differ are read as one only where one of them is None.
    """
    found = [v for v in options(value) if not is_none(v)]
    if not found:
        return None
    if len(found) > 1 or not isinstance(found[0], BlockSpec):
        return _unreadable(facts, found)
    return _facts(facts, found[0], rank)


def alternatives(facts: LaunchFacts, value: Value, rank: int) -> tuple[SpecFacts, ...]:
    """The facts of each spec that a value may be; none for no spec."""
    found = [v for v in options(value) if not is_none(v)]
    if len(found) > 1 and all(isinstance(v, BlockSpec) for v in found):
        return tuple(_facts(facts, v, rank) for v in found if isinstance(v, BlockSpec))
    if len(found) == 1 and (items := _leaves(found[0])) is not None:
        return tuple(spec for item in items for spec in alternatives(facts, item, rank))
    one = spec_facts(facts, value, rank)
    return () if one is None else (one,)


def _leaves(value: Value) -> tuple[Value, ...] | None:
    """The specs in a tree of specs, where the operand is a tree too."""
    match value:
        case Tuple(items=items):
            return items
        case Instance(fields=fields) if fields:
            return tuple(item for _, item in fields)
        case Dict(items=pairs, complete=True):
            return tuple(item for _, item in pairs)
        case _:
            return None


def _unreadable(facts: LaunchFacts, found: list[Value]) -> SpecFacts:
    """What may be no block spec; its line is where it was bound in this file, or 0."""
    value = next((v for v in found if not isinstance(v, BlockSpec)), found[0])
    steps = value.trace.steps() if value.trace is not None else ()
    lines = [step.line for step in steps if step.path == facts.module.path]
    if isinstance(value, BlockSpec):
        lines = [value.node.lineno]
    line = lines[0] if lines else 0
    return SpecFacts(None, line, False, None, None, (), None, "unknown", None, False)


def _facts(facts: LaunchFacts, spec: BlockSpec, rank: int) -> SpecFacts:
    module = spec.module
    here = module is facts.module
    block = spec.block_shape
    shaped = block is not None and not is_none(block.value)
    mapped = spec.index_map is not None and not is_none(spec.index_map.value)
    memory, name = _memory(spec.memory_space)
    entries = _entries(module, block) if shaped and block is not None else None
    windowed = shaped or mapped
    if memory == "windowed" and not windowed:
        memory = "whole"
    plain = spec.kind.endswith("BlockSpec") and not _odd_blocks(block) and not spec.other
    index_map: MapFacts | None = None
    if mapped and spec.index_map is not None:
        index_map = map_facts(module, spec.index_map, rank)
    return SpecFacts(
        Span(*module.span(spec.node)) if here else None,
        spec.node.lineno,
        plain,
        entries,
        _code(module, block) if shaped else None,
        _squeezed(block) if shaped else (),
        index_map,
        memory,
        name,
        _used_elsewhere(facts, spec),
        here and _is_local(facts, spec),
        mapped and index_map is None,
    )


def _code(module: ModuleContext, arg: Arg | None) -> Code | None:
    if arg is None or arg.node is None:
        return None
    return Code(Span(*module.span(arg.node)), module.segment(arg.node))


def _memory(arg: Arg | None) -> tuple[Memory, str | None]:
    """How a spec's memory space makes the ref: `windowed`, `smem`, `raw` or `unknown`."""
    if arg is None or is_none(arg.value):
        return "windowed", None
    names = {_last_name(v) for v in options(arg.value)}
    if None in names and arg.node is not None:
        names = {_node_name(arg.node)}
    if names <= _RAW:
        return "raw", next(iter(names))
    if names == {"SMEM"}:
        return "smem", "SMEM"
    return ("windowed" if names <= _WINDOW else "unknown"), next(iter(names))


def _last_name(value: Value) -> str | None:
    return value.name.rpartition(".")[2] if isinstance(value, External) else None


def _node_name(node: ast.expr) -> str | None:
    match node:
        case ast.Attribute(attr=name):
            return name
        case ast.Call(func=function):
            return _node_name(function)
        case _:
            return None


def _entries(module: ModuleContext, arg: Arg) -> tuple[Code | None, ...] | None:
    """The entries of a block shape that is written as a display."""
    node = arg.node
    if isinstance(node, ast.Tuple | ast.List):
        elements: list[ast.expr | None] = list(node.elts)
    elif isinstance(arg.value, Tuple):
        elements = list(arg.value.nodes) or [None] * len(arg.value.items)
    else:
        return None
    if any(isinstance(element, ast.Starred) for element in elements):
        return None
    return tuple(
        None
        if element is None or (isinstance(element, ast.Constant) and element.value is None)
        else Code(Span(*module.span(element)), module.segment(element))
        for element in elements
    )


def _squeezed(arg: Arg | None) -> tuple[bool, ...]:
    if arg is None or not isinstance(arg.value, Tuple):
        return ()
    return tuple(is_none(item) or _is_squeezed(item) for item in arg.value.items)


def _is_squeezed(value: Value) -> bool:
    return isinstance(value, External) and value.name.rpartition(".")[2] in ("squeezed", "Squeezed")


def _odd_blocks(arg: Arg | None) -> bool:
    """Whether a block shape is (partly) not counted in blocks."""
    if arg is None or arg.node is None:
        return False
    return any(
        getattr(node, "attr", getattr(node, "id", "")) in _OTHER_BLOCKS
        for node in ast.walk(arg.node)
    )


def _used_elsewhere(facts: LaunchFacts, spec: BlockSpec) -> bool:
    return any(
        found.node is spec.node
        for other in facts.siblings
        if other is not facts.site
        for found in specs_of(other)
    )


def _is_local(facts: LaunchFacts, spec: BlockSpec) -> bool:
    """Whether a spec is built by the function that launches (not by one nested in it)."""
    function = facts.site.function_node
    if function is None or not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return function is None
    return any(node is spec.node for stmt in function.body for node in own_nodes(stmt))


def specs_of(site: LaunchSite) -> list[BlockSpec]:
    """Every block spec that a launch may use."""
    found: list[BlockSpec] = []
    for name in ("in_specs", "out_specs"):
        arg = site.spec_arg(name)
        if arg is not None:
            _collect(arg.value, found)
    return found


def _collect(value: Value, found: list[BlockSpec]) -> None:
    for option in options(value):
        if isinstance(option, BlockSpec):
            found.append(option)
        elif isinstance(option, Tuple):
            for item in option.items:
                _collect(item, found)
