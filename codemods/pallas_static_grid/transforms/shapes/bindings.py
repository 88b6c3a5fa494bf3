"""Where a name gets its value, and whether anything but grids reads it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from pallas_static_grid.analysis.launches import grid_argument
from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.values import LaunchSite
from pallas_static_grid.rewrite.names import FunctionNode, bound_in, enclosing, path_to


@dataclass(frozen=True, slots=True)
class Definition:
    """One plain assignment of a name: the statement and the expression it takes its value from."""

    statement: ast.stmt
    value: ast.expr


@dataclass(slots=True)
class Bindings:
    """The names of a module, by the scopes that bind them."""

    module: ModuleContext
    sites: tuple[LaunchSite, ...]
    _grids: set[ast.AST] = field(default_factory=set)

    def __post_init__(self) -> None:
        for site in self.sites:
            _, node, _ = grid_argument(site)
            if node is not None:
                self._grids.add(node)

    def binder(self, at: ast.AST, name: str) -> ast.AST | None:
        """The scope whose binding of `name` the node `at` sees."""
        scopes = enclosing(self.module.tree, at)
        for depth, scope in enumerate(reversed(scopes)):
            if depth and isinstance(scope, ast.ClassDef):
                continue
            if name in bound_in(scope):
                return scope
        return None

    def definitions(self, scope: ast.AST, name: str) -> tuple[Definition, ...] | None:
        """All that binds `name` in a scope, if that is plain assignments only."""
        if isinstance(scope, FunctionNode) and name in (
            argument.arg for argument in ast.walk(scope.args) if isinstance(argument, ast.arg)
        ):
            return None
        found: list[Definition] = []
        stores = 0
        for node in _own(scope):
            if isinstance(node, ast.Name) and node.id == name:
                stores += not isinstance(node.ctx, ast.Load)
            elif isinstance(node, ast.Assign):
                found += _assigned(node, name)
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                if isinstance(node.target, ast.Name) and node.target.id == name:
                    found.append(Definition(node, node.value))
            elif isinstance(node, ast.Global | ast.Nonlocal) and name in node.names:
                return None
        inner = any(
            isinstance(node, ast.Global | ast.Nonlocal) and name in node.names
            for node in ast.walk(scope)
        )
        return tuple(found) if found and stores == len(found) and not inner else None

    def reads(self, scope: ast.AST, name: str) -> Iterator[ast.Name]:
        """Every place that reads the `name` bound in `scope`."""
        for node in ast.walk(scope):
            if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
                continue
            if node.id == name and self.binder(node, name) is scope:
                yield node

    def only_for_grids(self, scope: ast.AST, name: str) -> bool:
        """Whether grids alone read the name, directly or through names that only they read.

        A module's own names may be imported elsewhere.
        """
        return not isinstance(scope, ast.Module) and self._only(scope, name, frozenset())

    def helper_only_for_grids(self, function: ast.FunctionDef) -> bool:
        """Whether a function in sight is called for grids alone, and is no public one."""
        scope = self.binder_of_definition(function)
        private = not isinstance(scope, ast.Module) or function.name.startswith("_")
        return private and self._only(scope, function.name, frozenset())

    def binder_of_definition(self, function: ast.AST) -> ast.AST:
        """The scope in which a function is defined."""
        return enclosing(self.module.tree, function)[-1]

    def _only(self, scope: ast.AST, name: str, seen: frozenset[tuple[int, str]]) -> bool:
        key = (id(scope), name)
        if key in seen:
            return True
        return all(self._for_grid(node, seen | {key}) for node in self.reads(scope, name))

    def _for_grid(self, node: ast.Name, seen: frozenset[tuple[int, str]]) -> bool:
        path = path_to(self.module.tree, node)
        if node in self._grids or any(above in self._grids for above in path):
            return True
        for above in reversed(path):
            if isinstance(above, ast.Lambda | ast.Call) and not _is_arithmetic(above):
                return False
            if isinstance(above, ast.Assign) and len(above.targets) == 1:
                target = above.targets[0]
                scope = enclosing(self.module.tree, above)[-1]
                return isinstance(target, ast.Name) and self._only(scope, target.id, seen)
            if isinstance(above, ast.Return):
                function = enclosing(self.module.tree, above)[-1]
                return isinstance(function, ast.FunctionDef) and self.helper_only_for_grids(
                    function
                )
            if isinstance(above, ast.stmt):
                return False
        return False

    def stays(self, at: ast.AST, name: str) -> bool:
        """Whether the name is bound once only, so that it means the same wherever it is read."""
        scope = self.binder(at, name)
        if scope is None:
            return True
        stores = [
            node
            for node in ast.walk(scope)
            if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)
        ]
        if isinstance(scope, FunctionNode) and name in (
            argument.arg for argument in ast.walk(scope.args) if isinstance(argument, ast.arg)
        ):
            return not stores
        return len(stores) <= 1


def _is_arithmetic(node: ast.AST) -> bool:
    """A call by a dotted name: arithmetic, as opposed to a function handed around."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute)


def _assigned(node: ast.Assign, name: str) -> Iterator[Definition]:
    """The definitions of `name` in an assignment, also as one of several unpacked values."""
    for target in node.targets:
        if isinstance(target, ast.Name) and target.id == name:
            yield Definition(node, node.value)
        elif isinstance(target, ast.Tuple | ast.List) and isinstance(
            node.value, ast.Tuple | ast.List
        ):
            if len(target.elts) != len(node.value.elts) or any(
                isinstance(e, ast.Starred) for e in [*target.elts, *node.value.elts]
            ):
                continue
            for part, value in zip(target.elts, node.value.elts, strict=True):
                if isinstance(part, ast.Name) and part.id == name:
                    yield Definition(node, value)


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope without the insides of functions and classes in it."""
    body = getattr(scope, "body", [])
    stack: list[ast.AST] = list(body) if isinstance(body, list) else [body]
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, FunctionNode | ast.ClassDef):
            stack.extend(ast.iter_child_nodes(node))
