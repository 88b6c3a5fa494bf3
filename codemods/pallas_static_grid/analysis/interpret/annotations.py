"""What annotations promise."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from pallas_static_grid.analysis import tables
from pallas_static_grid.analysis.interpret.joins import join
from pallas_static_grid.analysis.interpret.tracing import def_trace
from pallas_static_grid.analysis.symbolic import Atom
from pallas_static_grid.analysis.values import (
    Annotation,
    Array,
    Class,
    Const,
    External,
    Float,
    Function,
    Int,
    Returning,
    Sequence,
    Trace,
    Tuple,
    Unknown,
    Value,
    options,
)

if TYPE_CHECKING:
    from pallas_static_grid.analysis.interpret.expressions import Expressions


def from_annotation(
    run: Expressions,
    node: ast.expr | None,
    name: str,
    ident: str = "",
    function: Function | None = None,
) -> Value | None:
    """What an annotation promises, or None where it promises nothing usable."""
    if node is None:
        return None
    ident = ident or name
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            parsed = ast.parse(node.value, mode="eval").body
        except SyntaxError:
            return None
        for inner in ast.walk(parsed):
            ast.copy_location(inner, node)
        node = parsed
    if isinstance(node, ast.Constant) and node.value is None:
        return Const(None)
    reason = f"`{name}` is annotated `{_text(node)}`"
    trace = run.trace(node, reason) if function is None else def_trace(function, reason)
    match node:
        case ast.Name(id="int") | ast.Name(id="bool"):
            return Int(Atom(("param", ident), name, static=True), trace=trace)
        case ast.Name(id="float"):
            return Float(trace=trace)
        case ast.Name(id="str") | ast.Name(id="bytes"):
            return Unknown(f"{reason}", trace=trace)
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return _annotated_union(run, [left, right], name, ident, function, trace)
        case ast.Subscript(value=base, slice=inner_slice):
            return _subscripted(run, base, inner_slice, name, ident, function, trace)
        case ast.Name() | ast.Attribute():
            target = (
                run.eval_in(function.scope, function.module, node)
                if function is not None
                else run.eval(node)
            )
            return annotated_by(run, target, name, ident, trace)
        case _:
            return None


def annotated_by(
    run: Expressions, target: Value, name: str, ident: str, trace: Trace
) -> Value | None:
    """A value of the class that an annotation names."""
    if isinstance(target, External):
        if target.name in tables.ARRAY_ANNOTATIONS:
            return Array(ident, text=name, trace=trace)
        if target.name in tables.NUMPY_ANNOTATIONS:
            scalar = target.name != "np.ndarray"
            return Array(ident, shape=() if scalar else None, numpy=True, text=name, trace=trace)
        if target.name.rsplit(".", 1)[-1] == "ShapeDtypeStruct":
            return Array(ident, text=name, trace=trace)
        if target.name in tables.INT_ANNOTATIONS:
            return Int(Atom(("param", ident), name, static=True), trace=trace)
    if isinstance(target, Annotation):
        with run.inside(target.module):
            return from_annotation(run, target.node, name, ident)
    if isinstance(target, Class):
        instance = run.instance_of(target, ident)
        return replace(instance, trace=trace)
    return None


def _annotated_union(
    run: Expressions,
    parts: list[ast.expr],
    name: str,
    ident: str,
    function: Function | None,
    trace: Trace,
) -> Value | None:
    values: list[Value] = []
    for part in parts:
        value = from_annotation(run, part, name, ident, function)
        values.append(value if value is not None else Unknown("", trace=trace))
    out = values[0]
    for value in values[1:]:
        out = join(out, value, run.fresh)
    kinds = {type(o) for o in options(out)}
    if Int in kinds and Array in kinds:
        reason = f"`{name}` may be an int or an array, its annotation says"
        return Unknown(reason, trace=trace)
    return out


def _subscripted(
    run: Expressions,
    base: ast.expr,
    index: ast.expr,
    name: str,
    ident: str,
    function: Function | None,
    trace: Trace,
) -> Value | None:
    head = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
    elements = index.elts if isinstance(index, ast.Tuple) else [index]
    if head == "Optional":
        return _annotated_union(
            run, [index, ast.copy_location(ast.Constant(None), index)], name, ident, function, trace
        )
    if head == "Union":
        return _annotated_union(run, list(elements), name, ident, function, trace)
    if head in tables.JAXTYPING:
        return Array(ident, text=name, trace=trace)
    if head in {"Annotated", "Final", "ClassVar", "Static"}:
        return from_annotation(run, elements[0], name, ident, function)
    if head in {"tuple", "Tuple"}:
        if (
            len(elements) == 2
            and isinstance(elements[1], ast.Constant)
            and (elements[1].value is Ellipsis)
        ):
            elem = from_annotation(run, elements[0], f"{name}[...]", f"{ident}[]", function)
            return Sequence(elem or Unknown(f"an element of `{name}`"), trace=trace)
        items = tuple(
            from_annotation(run, e, f"{name}[{i}]", f"{ident}[{i}]", function)
            or Unknown(f"`{name}[{i}]`", trace=trace)
            for i, e in enumerate(elements)
        )
        return Tuple(items, trace=trace)
    if head == "Callable" and len(elements) == 2:
        told = from_annotation(run, elements[1], f"what `{name}` returns", f"{ident}()", function)
        return Returning(told, trace=trace) if told is not None else None
    if head in {"Sequence", "list", "List", "Iterable"}:
        elem = from_annotation(run, elements[0], f"{name}[...]", f"{ident}[]", function)
        return Sequence(elem or Unknown(f"an element of `{name}`"), trace=trace)
    return None


def _text(node: ast.expr) -> str:
    return ast.unparse(node)
