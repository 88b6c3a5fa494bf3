"""Classes registered as pytrees: which fields are traced, and which stay Python values."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_static_grid.analysis.values import Class


def static_fields(cls: Class) -> frozenset[str]:
    """Fields that a registered pytree class keeps as Python values (metadata, `meta_fields`)."""
    out: set[str] = set()
    for statement in cls.node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            call = statement.value
            if isinstance(call, ast.Call) and any(map(_keeps_static, call.keywords)):
                out.add(statement.target.id)
    for call in _registrations(cls):
        for keyword in call.keywords:
            if keyword.arg == "meta_fields":
                out |= {
                    node.value
                    for node in ast.walk(keyword.value)
                    if isinstance(node, ast.Constant) and isinstance(node.value, str)
                }
    return frozenset(out)


def flattened_fields(cls: Class) -> frozenset[str] | None:
    """Fields that `tree_flatten` gives as children; None where the class has none of its own."""
    for statement in cls.node.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "tree_flatten":
            return frozenset(_children(statement))
    return None


def _children(flatten: ast.FunctionDef) -> Iterator[str]:
    me = flatten.args.args[0].arg if flatten.args.args else ""
    assigned = {
        target.id: node.value
        for node in ast.walk(flatten)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(flatten):
        if not isinstance(node, ast.Return) or not isinstance(node.value, ast.Tuple):
            continue
        first = node.value.elts[0] if node.value.elts else None
        if isinstance(first, ast.Name):
            first = assigned.get(first.id)
        parts = first.elts if isinstance(first, ast.Tuple | ast.List) else []
        for part in parts:
            if isinstance(part, ast.Attribute) and ast.unparse(part.value) == me:
                yield part.attr


def _keeps_static(keyword: ast.keyword) -> bool:
    """`static=True`, `pytree_node=False`, `metadata={"static": True}` or `dict(static=True)`."""
    wanted = {"static": True, "pytree_node": False}
    if keyword.arg in wanted:
        return _is(keyword.value, wanted[keyword.arg])
    if keyword.arg != "metadata":
        return False
    match keyword.value:
        case ast.Call(keywords=keywords):
            return any(k.arg == "static" and _is(k.value, True) for k in keywords)
        case ast.Dict(keys=keys, values=values):
            return any(
                isinstance(key, ast.Constant) and key.value == "static" and _is(value, True)
                for key, value in zip(keys, values, strict=True)
            )
        case _:
            return False


def _is(node: ast.expr, value: bool) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def _registrations(cls: Class) -> Iterator[ast.Call]:
    """Calls of `register_dataclass` on the class: as a decorator or at the top of the module."""
    for decorator in cls.node.decorator_list:
        if isinstance(decorator, ast.Call) and "register_dataclass" in ast.unparse(decorator):
            yield decorator
    for statement in cls.module.tree.body:
        call = statement.value if isinstance(statement, ast.Expr) else None
        if (
            isinstance(call, ast.Call)
            and ast.unparse(call.func).endswith("register_dataclass")
            and call.args
            and isinstance(call.args[0], ast.Name)
            and call.args[0].id == cls.node.name
        ):
            yield call
