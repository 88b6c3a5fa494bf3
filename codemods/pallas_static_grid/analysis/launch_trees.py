"""Prefetched operands of unknown structure: whether the launch's functions take them apart."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_static_grid.analysis.kernel_reads import FunctionNode
from pallas_static_grid.analysis.launch_specs import specs_of
from pallas_static_grid.analysis.values import Function, LaunchSite, Partial, Value, options

REF_ATTRIBUTES = frozenset({"at", "dtype", "get", "ndim", "shape", "size"})
"""What kernels and index maps read off the ref of one array."""


def taken_apart(site: LaunchSite, index: int, rank: int) -> bool:
    """Whether prefetched operand `index` is used as a pytree: unpacked, or indexed twice."""
    return any(
        _is_tree(node, name)
        for function, place in _takers(site, index, rank)
        for node, name in [_parameter(function, place)]
        if name is not None
    )


def _takers(site: LaunchSite, index: int, rank: int) -> Iterator[tuple[Value, int]]:
    """The functions that get the operand, each with the parameter's place."""
    kernel = site.args.get("kernel")
    if kernel is not None:
        yield from ((value, index) for value in options(kernel.value))
    for spec in specs_of(site):
        if spec.index_map is not None:
            yield from ((value, rank + index) for value in options(spec.index_map.value))


def _parameter(value: Value, place: int) -> tuple[FunctionNode | None, str | None]:
    while isinstance(value, Partial):
        place += len(value.args)
        value = value.func
    if not isinstance(value, Function):
        return None, None
    args = [*value.node.args.posonlyargs, *value.node.args.args]
    return value.node, args[place].arg if place < len(args) else None


def _is_tree(node: FunctionNode | None, name: str) -> bool:
    return node is not None and any(_takes_apart(inner, name) for inner in ast.walk(node))


def _takes_apart(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Assign(targets=[ast.Tuple() | ast.List()], value=ast.Name(id=used)):
            return used == name
        case ast.For(iter=ast.Name(id=used)) | ast.Starred(value=ast.Name(id=used)):
            return used == name
        case ast.Subscript(value=ast.Subscript(value=ast.Name(id=used))):
            return used == name
        case ast.Attribute(value=ast.Name(id=used), attr=attribute):
            return used == name and attribute not in REF_ATTRIBUTES
        case _:
            return False
