"""What a kernel or an index map may call, and where that reads `program_id` and `num_programs`.

A method is known by its name alone where the object is not: any method of that name, of a class in
the modules that take part, may be the one.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pallas_static_grid.analysis.kernel_facts import GridRead
from pallas_static_grid.analysis.kernel_reads import (
    FunctionNode,
    body_of,
    local_names,
    reads_in,
    resolve,
)
from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.scopes import Scope
from pallas_static_grid.analysis.values import (
    Class,
    Dict,
    External,
    Function,
    Instance,
    Partial,
    Sequence,
    Tuple,
    Value,
    options,
)

_KNOWN_PACKAGES = frozenset(
    [
        "jax",
        "jnp",
        "lax",
        "np",
        "numpy",
        "pl",
        "pltpu",
        "plgpu",
        "plt",
        "plsc",
        "math",
        "functools",
        "operator",
        "itertools",
        "typing",
        "dataclasses",
        "builtins",
        "collections",
        "warnings",
        "logging",
        "abc",
        "enum",
        "string",
        "re",
        "os",
        "sys",
    ]
)
_DEPTH = 6


def helper_reads(
    module: ModuleContext,
    node: FunctionNode,
    scope: Scope | None,
    given: Iterable[Value] = (),
) -> tuple[tuple[GridRead, ...], tuple[str, ...]]:
    """Reads in functions that the kernel calls, and the names of calls that lead out of sight.

    `given`: what the kernel gets besides its references, by a partial or as the bound object.
    """
    search = _Search({node}, [module])
    for value in given:
        search.hold(value, 0)
    search.follow(module, node, scope, 0)
    return tuple(search.reads), tuple(search.unseen)


@dataclass(slots=True)
class _Search:
    seen: set[ast.AST]
    modules: list[ModuleContext]
    reads: list[GridRead] = field(default_factory=list)
    unseen: dict[str, None] = field(default_factory=dict)
    kept: set[int] = field(default_factory=set)
    """The values that were looked into."""

    def follow(
        self, module: ModuleContext, node: FunctionNode, scope: Scope | None, depth: int
    ) -> None:
        """Look at what the text of a function mentions."""
        local = local_names(node)
        for name, called in _mentions(node):
            hidden = isinstance(name, ast.Name) and name.id in local
            value = None if hidden else resolve(name, scope)
            for option in options(value) if value is not None else ():
                if called or not isinstance(option, External):
                    self.hold(option, depth)
            if value is None and isinstance(name, ast.Attribute):
                self._methods(name.attr, depth)

    def hold(self, value: Value, depth: int) -> None:
        """Look into a value that the code may call, or call parts of."""
        for option in options(value):
            if id(option) in self.kept:
                continue
            self.kept.add(id(option))
            match option:
                case External(name=name):
                    if not _known(name):
                        self.unseen.setdefault(name)
                case Function():
                    self._function(option, depth)
                    if option.self_value is not None:
                        self.hold(option.self_value, depth)
                case Partial(func=func, args=args, kwargs=kwargs):
                    for part in (func, *args, *(part for _, part in kwargs)):
                        self.hold(part, depth)
                case Tuple(items=items):
                    for item in items:
                        self._held_by_data(item, depth)
                case Sequence(elem=elem):
                    self._held_by_data(elem, depth)
                case Dict(items=pairs):
                    for _, item in pairs:
                        self._held_by_data(item, depth)
                case Class():
                    self._class(option)
                    self._methods("__init__", depth)
                case Instance(cls=cls, fields=pairs):
                    self._class(cls)
                    self._methods("__call__", depth)
                    for _, item in pairs:
                        self._held_by_data(item, depth)
                case _:
                    inner = getattr(option, "func", None)
                    if isinstance(inner, Value):
                        self.hold(inner, depth)

    def _held_by_data(self, value: Value, depth: int) -> None:
        """Parts of data are called by the code in sight, or are no functions."""
        if not isinstance(value, External):
            self.hold(value, depth)

    def _class(self, cls: Class) -> None:
        if cls.module not in self.modules:
            self.modules.append(cls.module)
        for base in cls.node.bases:
            value = resolve(base, cls.scope)
            for option in options(value) if value is not None else ():
                if isinstance(option, Class) and id(option) not in self.kept:
                    self.kept.add(id(option))
                    self._class(option)

    def _function(self, function: Function, depth: int) -> None:
        if function.node in self.seen:
            return
        self.seen.add(function.node)
        if depth >= _DEPTH:
            self.unseen.setdefault(function.name)
            return
        self._read(function.module, function.node, function.scope)
        self.follow(function.module, function.node, function.scope, depth + 1)

    def _methods(self, name: str, depth: int) -> None:
        """Any method of this name may be the one that is called."""
        for module in tuple(self.modules):
            for method in _methods_named(module, name):
                if method in self.seen:
                    continue
                self.seen.add(method)
                self._read(module, method, module.scope)
                if depth < _DEPTH:
                    unseen, self.unseen = self.unseen, {}
                    self.follow(module, method, module.scope, depth + 1)
                    self.unseen = unseen

    def _read(self, module: ModuleContext, node: FunctionNode, scope: Scope | None) -> None:
        self.reads += [
            GridRead(r.kind, r.axis, r.code, r.line, None, None)
            for r in reads_in(module, node, scope)
        ]


def _mentions(node: FunctionNode) -> Iterator[tuple[ast.expr, bool]]:
    """The names and dotted names that the text of a function reads, and if it may call them."""
    for statement in body_of(node):
        owners = {n.value for n in ast.walk(statement) if isinstance(n, ast.Attribute)}
        called = {n.func for n in ast.walk(statement) if isinstance(n, ast.Call)}
        for child in ast.walk(statement):
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load):
                yield child, child not in owners
            elif isinstance(child, ast.Attribute) and isinstance(child.ctx, ast.Load):
                yield child, child in called


def _methods_named(module: ModuleContext, name: str) -> Iterator[FunctionNode]:
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.ClassDef):
            continue
        for statement in node.body:
            match statement:
                case ast.FunctionDef() | ast.AsyncFunctionDef() if statement.name == name:
                    yield statement
                case ast.Assign(targets=[ast.Name(id=bound)], value=ast.expr() as value):
                    if bound == name:
                        yield from (n for n in ast.walk(value) if isinstance(n, ast.Lambda))
                case _:
                    pass


def _known(name: str) -> bool:
    root = name.partition(".")[0]
    return root in _KNOWN_PACKAGES or (name == root and hasattr(builtins, root))
