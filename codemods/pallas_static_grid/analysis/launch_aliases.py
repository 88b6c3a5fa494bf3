"""Aliases of a launch: the keys of `input_output_aliases`, and the operands that they mean."""

from __future__ import annotations

import ast

from pallas_static_grid.analysis.kernel_facts import AliasKey, Code, OperandFacts, SpecFacts
from pallas_static_grid.analysis.symbolic import Num, Op, Sym
from pallas_static_grid.analysis.values import Dict, Int, LaunchSite, is_none, options
from pallas_static_grid.model import Span


def operands_taken_over(
    keys: tuple[AliasKey, ...] | None,
    operands: tuple[OperandFacts, ...],
    specs: tuple[SpecFacts | None, ...],
) -> dict[int, tuple[int, bool]] | None:
    """Output -> operand, over flattened operands as the keys count them; and if it is assumed."""
    if keys is None:
        return None
    out: dict[int, tuple[int, bool]] = {}
    for output in {key.output for key in keys}:
        if output is None:
            return None
        spec = specs[output] if output < len(specs) else None
        held = [key.values for key in keys if key.output == output]
        numbers = frozenset[int]().union(*held) if all(held) else frozenset[int]()
        meant = _at_leaf(numbers, operands, spec)
        if len(meant) == 1:
            out[output] = meant[0], False
            continue
        alike = [index for index in meant if _shares_spec(operands[index], spec)]
        out[output] = (alike[0], True) if len(alike) == 1 else (-1, False)
    return out


def _shares_spec(operand: OperandFacts, spec: SpecFacts | None) -> bool:
    """Whether an operand has the very spec of an output, so that they have the same windows."""
    if spec is None or spec.span is None or operand.spec is None:
        return False
    return operand.spec.span == spec.span and not operand.other_specs


def _at_leaf(
    keys: frozenset[int], operands: tuple[OperandFacts, ...], spec: SpecFacts | None
) -> tuple[int, ...]:
    """The operands whose leaf numbers are among `keys`, the numbers that a key may be.

    Operands that may be None shift the leaves behind them; of the operands that the key may mean,
    only those count that have as many dimensions as the output: others would be refused. Empty
    where an operand may be any number of leaves.
    """
    rank = _rank(spec)
    positions = {0}
    found: list[OperandFacts] = []
    for operand in operands:
        if operand.leaf_counts is None:
            return ()
        if any(p <= k < p + n for k in keys for p in positions for n in operand.leaf_counts):
            found.append(operand)
        positions = {p + n for p in positions for n in operand.leaf_counts}
    fitting = [o for o in found if rank is None or _rank(o.spec) in (None, rank)]
    if any(max(o.leaf_counts or (0,)) != 1 for o in fitting):
        return ()
    return tuple(o.index for o in fitting)


def _rank(spec: SpecFacts | None) -> int | None:
    """How many dimensions a spec's array has."""
    index_map = None if spec is None else spec.index_map
    if spec is not None and spec.block is not None:
        return len(spec.block)
    components = None if index_map is None else index_map.components
    return None if components is None else len(components)


def alias_keys(site: LaunchSite) -> tuple[AliasKey, ...] | None:
    """The keys of `input_output_aliases`, or None where they are not written down in sight."""
    arg = site.args.get("input_output_aliases")
    if arg is None or is_none(arg.value):
        return ()
    node = arg.node
    if node is None:
        return None
    displays = _displays(site, node)
    if displays is None:
        return None
    found: list[AliasKey] = []
    for display in displays:
        for key, value in zip(display.keys, display.values, strict=True):
            if key is None:
                return None
            found.append(_alias_key(site, key, value))
    return tuple(found)


def _displays(site: LaunchSite, node: ast.expr) -> list[ast.Dict] | None:
    """The dict displays that an expression may be: literally, by condition, by a local name."""
    if isinstance(node, ast.Dict):
        return [node]
    if isinstance(node, ast.IfExp):
        both = [_displays(site, node.body), _displays(site, node.orelse)]
        return None if None in both else [d for part in both if part for d in part]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        return [] if not node.args and not node.keywords else None
    if not isinstance(node, ast.Name) or site.function_node is None:
        return None
    values: list[ast.expr] = []
    reads = 0
    for inner in ast.walk(site.function_node):
        if isinstance(inner, ast.Assign) and _targets(inner, node.id):
            values.append(inner.value)
        elif isinstance(inner, ast.AnnAssign) and inner.value is not None:
            if isinstance(inner.target, ast.Name) and inner.target.id == node.id:
                values.append(inner.value)
        elif isinstance(inner, ast.Name) and inner.id == node.id:
            reads += isinstance(inner.ctx, ast.Load)
            if isinstance(inner.ctx, ast.Del):
                return None
    stores = sum(
        isinstance(n, ast.Name) and n.id == node.id and isinstance(n.ctx, ast.Store)
        for n in ast.walk(site.function_node)
    )
    if reads != 1 or stores != len(values) or not values:
        return None
    found: list[ast.Dict] = []
    for value in values:
        if isinstance(value, ast.Name):
            return None
        part = _displays(site, value)
        if part is None:
            return None
        found += part
    return found


def _targets(node: ast.Assign, name: str) -> bool:
    return len(node.targets) == 1 and any(
        isinstance(t, ast.Name) and t.id == name for t in node.targets
    )


def _alias_key(site: LaunchSite, key: ast.expr, value: ast.expr) -> AliasKey:
    module = site.module
    code = Code(Span(*module.span(key)), module.segment(key))
    output = value.value if isinstance(value, ast.Constant) else None
    output = output if isinstance(output, int) and not isinstance(output, bool) else None
    return AliasKey(code, _key_values(site, key, output), output, isinstance(key, ast.Constant))


def _key_values(site: LaunchSite, key: ast.expr, output: int | None) -> frozenset[int]:
    """The numbers that a key may be: as written, as its name holds, or as the dict holds it."""
    if isinstance(key, ast.Constant):
        number = key.value
        if isinstance(number, int) and not isinstance(number, bool):
            return frozenset({number})
        return frozenset()
    held = {
        key
        for option in options(site.args["input_output_aliases"].value)
        if isinstance(option, Dict)
        for key, value in option.items
        if isinstance(value, Int) and value.expr == Num(output if output is not None else -1)
    }
    only = held.pop() if len(held) == 1 else None
    if isinstance(only, int):
        return frozenset({only})
    if not isinstance(key, ast.Name) or _stored_after(site, key):
        return frozenset()
    value = site.scope.names.get(key.id)
    return _numbers(value.expr) if isinstance(value, Int) else frozenset()


def _stored_after(site: LaunchSite, name: ast.Name) -> bool:
    """Whether a name is bound again behind a place where it is read."""
    if site.function_node is None:
        return True
    return any(
        isinstance(node, ast.Name)
        and node.id == name.id
        and not isinstance(node.ctx, ast.Load)
        and (node.lineno, node.col_offset) > (name.lineno, name.col_offset)
        for node in ast.walk(site.function_node)
    )


def _numbers(expr: Sym) -> frozenset[int]:
    """The numbers that an expression may be; empty if it may be another."""
    match expr:
        case Num(value=value):
            return frozenset({value})
        case Op(kind="select", args=args):
            parts = [_numbers(arg) for arg in args]
            return frozenset().union(*parts) if all(parts) else frozenset()
        case Op(kind="add", args=args):
            sums = frozenset({0})
            for arg in args:
                sums = frozenset(a + b for a in sums for b in _numbers(arg))
            return sums
        case _:
            return frozenset()
