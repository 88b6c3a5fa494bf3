"""What a name in the source refers to, by its full name in the library it comes from."""

from __future__ import annotations

import ast

from pallas_static_grid.analysis.scopes import Scope
from pallas_static_grid.analysis.values import External, Value, options, settled

# The short names under which the analysis knows the modules; whether they are NumPy's.
_OWNERS = {"np": True, "jnp": False}


def lookup(scope: Scope | None, name: str) -> Value | None:
    """The value of a name in a scope and those around it; None where nothing in sight binds it."""
    inner = True
    while scope is not None:
        if name in scope.names and (inner or not isinstance(scope.node, ast.ClassDef)):
            past = scope.history.get(name, [])
            if inner or len(past) <= 1:
                return settled(scope.names[name])
            return None
        inner = False
        scope = scope.parent
    return None


def full_name(node: ast.expr, scope: Scope | None) -> str | None:
    """The canonical dotted name of `jnp.ceil` or `cdiv`, if it is one of an external module."""
    match node:
        case ast.Name(id=name):
            value = lookup(scope, name)
            found = list(options(value)) if value is not None else []
            if len(found) == 1 and isinstance(found[0], External):
                return found[0].name
            return None
        case ast.Attribute(value=inner, attr=attr):
            owner = full_name(inner, scope)
            return None if owner is None else f"{owner}.{attr}"
        case _:
            return None


def array_function(node: ast.expr, scope: Scope | None) -> tuple[str, bool] | None:
    """The name of a NumPy-like function, and whether it is NumPy's own."""
    name = full_name(node, scope)
    if name is None:
        return None
    owner, _, rest = name.partition(".")
    if owner in _OWNERS:
        return rest, _OWNERS[owner]
    if owner in ("lax", "pl", "math"):
        return name, owner == "math"
    return None
