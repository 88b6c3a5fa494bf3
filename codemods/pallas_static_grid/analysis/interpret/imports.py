"""Import statements: to modules in sight, or to names out of sight."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from pallas_static_grid.analysis import tables
from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.values import (
    External,
    Lazy,
    ModuleValue,
    Unknown,
    Value,
    settled,
)

if TYPE_CHECKING:
    from pallas_static_grid.analysis.interpret.machine import Machine


def bind_import(run: Machine, node: ast.Import) -> None:
    """`import a.b.c [as d]`."""
    for alias in node.names:
        if alias.asname:
            run.bind(run.scope, alias.asname, put_off(run, partial(module_value, run, alias.name)))
        else:
            first = alias.name.split(".")[0]
            run.bind(run.scope, first, put_off(run, partial(module_value, run, first)))


def bind_import_from(run: Machine, node: ast.ImportFrom) -> None:
    """`from [.]a import b [as c]`, star imports included."""
    source = absolute_name(run.frame.module, node)
    for alias in node.names:
        if alias.name == "*":
            star_import(run, source, node)
            continue
        name = alias.asname or alias.name
        run.bind(run.scope, name, put_off(run, partial(member, run, source, alias.name, node)))


def put_off(run: Machine, find: Callable[[], Value]) -> Value:
    """What an import leads to: now in the module that is analysed, else when it is asked for."""
    module = run.frame.module
    if module is run.module:
        return find()

    found: list[Value] = []
    pending = Unknown("an import that leads back to itself")

    def resolve() -> Value:
        if not found:
            found.append(pending)
            with run.inside(module):
                found[0] = find()
        return found[0]

    return Lazy(resolve)


def absolute_name(module: ModuleContext, node: ast.ImportFrom) -> str:
    """The dotted name that a (possibly relative) import names; "" where it leads outside."""
    if not node.level:
        return node.module or ""
    package = module.name.split(".") if module.name else []
    if not module.is_package and package:
        package = package[:-1]
    up = node.level - 1
    if up > len(package):
        return ""
    base = package[: len(package) - up] if up else package
    return ".".join([*base, *([node.module] if node.module else [])])


def module_value(run: Machine, dotted: str) -> Value:
    """A module by its dotted name."""
    found = find_module(run, dotted)
    return ModuleValue(found) if found is not None else External(tables.canonical(dotted))


def find_module(run: Machine, dotted: str) -> ModuleContext | None:
    """The module in sight, if it is; libraries that the tables know are never looked into."""
    if not dotted:
        return None
    top = dotted.split(".")[0]
    if dotted in tables.OPAQUE_PACKAGES or top in {"numpy", "math", "functools", "jaxlib"}:
        return None
    if top == "jax" and not dotted.startswith(tables.JAX_IN_SIGHT):
        return None
    found = run.project.find(dotted, run.frame.module.file)
    if found is not None and found.file is not None and found.file == run.module.file:
        return run.module
    return found


def member(run: Machine, source: str, name: str, node: ast.ImportFrom) -> Value:
    """`from source import name`."""
    found = find_module(run, source) if source else None
    if found is not None:
        value = module_member(run, found, name)
        if value is not None:
            return value
    inner = find_module(run, f"{source}.{name}" if source else name)
    if inner is not None and (found is not None or node.level or inner is not run.module):
        return ModuleValue(inner)
    if node.level and not source:
        return External(f".{name}")
    if found is not None:
        return Unknown(
            f"`{name}` is not found in `{source}`",
            trace=run.trace(node, f"`{name}` is not found in `{source}`"),
        )
    return External(tables.canonical(f"{source}.{name}"))


def module_member(run: Machine, module: ModuleContext, name: str) -> Value | None:
    """A global of a module in sight, once its top level ran."""
    scope = run.module_scope(module)
    value = scope.names.get(name)
    return settled(value) if value is not None else None


def star_import(run: Machine, source: str, node: ast.ImportFrom) -> None:
    """`from source import *`: the names of a module in sight, else of a known library only."""
    found = find_module(run, source) if source else None
    if found is not None:
        for name, value in run.module_scope(found).names.items():
            if not name.startswith("_"):
                run.bind(run.scope, name, value)
    else:
        run.star_imports.append((tables.canonical(source), node))
