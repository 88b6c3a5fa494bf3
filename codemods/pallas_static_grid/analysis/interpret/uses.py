"""What the use of a parameter tells of it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from pallas_static_grid.analysis.interpret.binding import all_args
from pallas_static_grid.analysis.symbolic import Atom
from pallas_static_grid.analysis.traversal import walk
from pallas_static_grid.analysis.values import (
    Array,
    Function,
    Int,
    Trace,
    Value,
)
from pallas_static_grid.model import Step

if TYPE_CHECKING:
    from pallas_static_grid.analysis.interpret.expressions import Expressions


_ARRAY_USES = frozenset(
    {
        "shape",
        "dtype",
        "at",
        "astype",
        "sum",
        "max",
        "min",
        "reshape",
        "ravel",
        "cumsum",
        "prod",
        "argmax",
        "argmin",
        "argsort",
        "transpose",
        "mean",
        "T",
        "any",
        "all",
        "nonzero",
        "squeeze",
    }
)


_SHAPE_CALLS = frozenset(
    {
        "BlockSpec",
        "ShapeDtypeStruct",
        "VMEM",
        "SMEM",
        "zeros",
        "ones",
        "full",
        "empty",
        "broadcast_to",
        "broadcasted_iota",
        "Buffered",
    }
)


def from_use(run: Expressions, function: Function, name: str, ident: str) -> Value | None:
    """What the body does with a parameter that only an int, or only an array, allows."""
    if function.node not in run.uses:
        run.uses[function.node] = _uses(function.node)
    found = run.uses[function.node].get(name)
    if found is None:
        return None
    kind, where, reason = found
    module = function.module
    line = getattr(where, "lineno", 1)
    trace = Trace(Step(module.path, line, module.line_text(line), reason))
    if kind == "int":
        return Int(Atom(("param", ident), name, static=True), trace=trace)
    return Array(ident, text=name, trace=trace)


def _uses(node: ast.AST) -> dict[str, tuple[str, ast.AST, str]]:
    """By parameter name: how the body of a function uses it, where that tells what it is."""
    spec = getattr(node, "args", None)
    assert isinstance(spec, ast.arguments)
    names = {a.arg for a in all_args(spec)}
    out: dict[str, tuple[str, ast.AST, str]] = {}
    body = getattr(node, "body", [])
    for top in body if isinstance(body, list) else [body]:
        for inner in walk(top):
            if isinstance(inner, ast.Call):
                for name in names:
                    reason = _int_use(inner, name)
                    if reason is not None:
                        out[name] = ("int", inner, reason)
                    elif _is_operand(inner, name):
                        out.setdefault(name, ("array", inner, f"`{name}` is an operand"))
            elif (
                isinstance(inner, ast.Attribute)
                and isinstance(inner.value, ast.Name)
                and inner.value.id in names
                and inner.attr in _ARRAY_USES
            ):
                name = inner.value.id
                out.setdefault(name, ("array", inner, f"`{name}` is used as an array"))
    return out


def _is_operand(call: ast.Call, name: str) -> bool:
    """Whether `name` is an operand of a launch: `pl.pallas_call(...)(name)`."""
    func = call.func
    if not isinstance(func, ast.Call):
        return False
    inner = func.func
    head = inner.attr if isinstance(inner, ast.Attribute) else getattr(inner, "id", "")
    return head in {"pallas_call"} and any(
        isinstance(arg, ast.Name) and arg.id == name for arg in call.args
    )


def _int_use(call: ast.Call, name: str) -> str | None:
    func = call.func
    head = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
    if head == "range" and any(isinstance(a, ast.Name) and a.id == name for a in call.args):
        return f"`{name}` is given to `range`, which takes Python ints"
    if head in _SHAPE_CALLS:
        shapes: list[ast.expr] = []
        if call.args:
            shapes.append(call.args[0])
        if head in {"broadcast_to", "broadcasted_iota"} and len(call.args) > 1:
            shapes.append(call.args[1])
        shapes += [k.value for k in call.keywords if k.arg in {"block_shape", "shape"}]
        for shape in shapes:
            if isinstance(shape, ast.Tuple | ast.List) and any(
                isinstance(e, ast.Name) and e.id == name for e in shape.elts
            ):
                return f"`{name}` is a length in a shape, which takes Python ints"
    return None
