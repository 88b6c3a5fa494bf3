"""Counts that are operands already: `grid=(distribution[2],)` with `distribution` passed."""

from __future__ import annotations

import ast

from pallas_static_grid.analysis.facts import LaunchFacts
from pallas_static_grid.analysis.kernel_facts import (
    ROOT,
    AxisFacts,
    CountOperand,
    OperandFacts,
)
from pallas_static_grid.analysis.values import Function, OperandCall, Partial


def count_operands(
    facts: LaunchFacts, axes: tuple[AxisFacts, ...], operands: tuple[OperandFacts, ...]
) -> tuple[CountOperand | None, ...]:
    """Per axis: the operand that holds its live count already."""
    return tuple(_count_operand(facts, axis, operands) if axis.dynamic else None for axis in axes)


def _count_operand(
    facts: LaunchFacts, axis: AxisFacts, operands: tuple[OperandFacts, ...]
) -> CountOperand | None:
    if axis.code is None:
        return None
    found, since = ast.parse(f"({axis.code.text}\n)", mode="eval").body, axis.line
    if isinstance(found, ast.Name):
        assigned = _bound_once(facts, found)
        if assigned is not None:
            found, since = assigned, assigned.lineno
    roots = {
        name: operand
        for name, operand in zip(_operand_names(facts, len(operands)), operands, strict=True)
        if name is not None and _readable(operand)
    }
    rewriter = _Rooted(frozenset(roots))
    copy = rewriter.visit(ast.parse(ast.unparse(found), mode="eval").body)
    if len(rewriter.used) != 1 or not _only_globals(facts, copy):
        return None
    name = rewriter.used.pop()
    if _changes_later(facts, name, since):
        return None
    return CountOperand(roots[name].index, ast.unparse(copy))


def _operand_names(facts: LaunchFacts, count: int) -> list[str | None]:
    """The names of the operands that every call passes as they are."""
    calls = [_names_in(facts, call)[:count] for call in facts.site.calls]
    padded = [names + [None] * (count - len(names)) for names in calls]
    return [
        names[0] if names and len(set(names)) == 1 else None for names in zip(*padded, strict=True)
    ] or [None] * count


def _names_in(facts: LaunchFacts, call: OperandCall) -> list[str | None]:
    """The names of a call's operands, up to a star over something that is not in sight."""
    out: list[str | None] = []
    for arg in call.node.args:
        nodes = [arg]
        if isinstance(arg, ast.Starred):
            inner = arg.value
            display = _bound_once(facts, inner) if isinstance(inner, ast.Name) else inner
            if not isinstance(display, ast.Tuple):
                break
            nodes = display.elts
        if any(isinstance(node, ast.Starred) for node in nodes):
            break
        out += [node.id if isinstance(node, ast.Name) else None for node in nodes]
    return out


def _changes_later(facts: LaunchFacts, name: str, since: int) -> bool:
    """Whether a name may mean something else at the call than in the line that gives the count."""
    where = facts.site.function_node or facts.module.tree
    # In a loop, and in a function called from here, a later line may run earlier.
    looping = {
        inner
        for loop in ast.walk(where)
        if isinstance(loop, ast.For | ast.AsyncFor | ast.While)
        for inner in ast.walk(loop)
    }
    return any(
        name in _changed(node)
        and (
            node in looping
            or isinstance(node, ast.Global | ast.Nonlocal)
            or getattr(node, "lineno", since) >= since
        )
        for node in ast.walk(where)
    )


def _changed(node: ast.AST) -> tuple[str, ...]:
    """The names that a node binds, or whose value it changes."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return (name,)
        case ast.Attribute(value=inner, ctx=ast.Store() | ast.Del()):
            return _root_of(inner)
        case ast.Subscript(value=inner, ctx=ast.Store() | ast.Del()):
            return _root_of(inner)
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=inner))):
            return _root_of(inner)
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            return tuple(names)
        case _:
            return ()


def _root_of(node: ast.expr) -> tuple[str, ...]:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return (node.id,) if isinstance(node, ast.Name) else ()


def _readable(operand: OperandFacts) -> bool:
    """Whether the kernel finds the whole operand in its ref on every step."""
    spec = operand.spec
    if operand.prefetched or spec is None or spec.memory in ("whole", "smem"):
        return True
    components = spec.index_map.components if spec.index_map is not None else ()
    return (
        spec.memory == "windowed"
        and all(c.kind == "constant" for c in components or ())
        and components is not None
    )


class _Rooted(ast.NodeTransformer):
    """Elements of operands at literal places, with `ROOT` for the operand's name."""

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names
        self.used: set[str] = set()

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """`counts[0]`, `batch.counts[0]`, `metadata[2][0]`."""
        root = self._root(node)
        if root is None or root.id not in self.names:
            self.generic_visit(node)
            return node
        self.used.add(root.id)
        root.id = ROOT
        return node

    def _root(self, node: ast.expr) -> ast.Name | None:
        match node:
            case ast.Name():
                return node
            case ast.Subscript(value=inner, slice=ast.Constant(value=int(place))) if place >= 0:
                return self._root(inner)
            case ast.Attribute(value=inner, attr=attr) if attr not in ("shape", "dtype", "at"):
                return self._root(inner)
            case _:
                return None


def _only_globals(facts: LaunchFacts, expression: ast.expr) -> bool:
    """Whether the kernel can compute the expression from the operand and global names."""
    kernel = facts.site.args["kernel"].value if "kernel" in facts.site.args else None
    kernel = kernel.func if isinstance(kernel, Partial) else kernel
    if not isinstance(kernel, Function) or kernel.module is not facts.module:
        return False
    hidden = {arg.arg for arg in ast.walk(kernel.node) if isinstance(arg, ast.arg)}
    hidden |= _stored(kernel.node)
    outer = kernel.scope
    while outer.parent is not None:
        hidden |= set(outer.names)
        outer = outer.parent
    names = {n.id for n in ast.walk(expression) if isinstance(n, ast.Name)} - {ROOT}
    if facts.site.function_node is not None:
        hidden |= _stored(facts.site.function_node)
        hidden |= {a.arg for a in ast.walk(facts.site.function_node) if isinstance(a, ast.arg)}
    return all(name in outer.names and name not in hidden for name in names)


def _stored(node: ast.AST) -> set[str]:
    return {
        n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }


def _bound_once(facts: LaunchFacts, name: ast.Name) -> ast.expr | None:
    """The value of a local name that is bound once."""
    where = facts.site.function_node
    if where is None:
        return None
    values = [
        n.value
        for n in ast.walk(where)
        if isinstance(n, ast.Assign)
        and any(isinstance(t, ast.Name) and t.id == name.id for t in n.targets)
    ]
    stores = sum(
        isinstance(n, ast.Name) and n.id == name.id and isinstance(n.ctx, ast.Store)
        for n in ast.walk(where)
    )
    return values[0] if len(values) == 1 and stores == 1 else None
