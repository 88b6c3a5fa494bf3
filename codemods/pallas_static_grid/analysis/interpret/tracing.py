"""What values become at a tracing boundary, and what a call site tells of a parameter."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pallas_static_grid.analysis.interpret.pytrees import flattened_fields, static_fields
from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.symbolic import Atom
from pallas_static_grid.analysis.values import (
    Array,
    BlockSpec,
    Class,
    Const,
    Dict,
    External,
    Float,
    Function,
    GridSpec,
    Instance,
    Int,
    Launcher,
    ModuleValue,
    Partial,
    Sequence,
    Struct,
    Trace,
    Transformed,
    Tuple,
    Union,
    Unknown,
    Value,
    options,
)
from pallas_static_grid.model import Step

if TYPE_CHECKING:
    from pallas_static_grid.analysis.interpret.expressions import Expressions


def traced(run: Expressions, value: Value, ident: str, text: str, trace: Trace | None) -> Value:
    """A value after it went through a tracing boundary: leaves become arrays."""
    match value:
        case Int():
            return Array(
                ident, shape=(), dtype="bool" if value.is_bool else "int", text=text, trace=trace
            )
        case Float():
            return Array(ident, shape=(), dtype="float", text=text, trace=trace)
        case Array():
            shape = None
            if value.shape is not None:
                shape = value.shape
            return Array(
                value.ident if not value.numpy else ident,
                shape,
                value.dtype,
                dims_of=value.dims_of,
                text=value.text or text,
                trace=trace,
                elem=value.elem if value.elem is not None and not value.numpy else None,
                tree=value.tree,
            )
        case Const():
            return value if value.value is None else Unknown(f"`{text}` is no array", trace=trace)
        case Tuple():
            items = tuple(
                traced(run, v, f"{ident}[{i}]", f"{text}[{i}]", trace)
                for i, v in enumerate(value.items)
            )
            return replace(value, items=items, nodes=(), trace=trace)
        case Sequence():
            if value.array is not None:
                return Sequence(Array(f"{ident}[]", (), "int", text=text, trace=trace), trace=trace)
            return Sequence(
                traced(run, value.elem, f"{ident}[]", f"{text}[...]", trace), trace=trace
            )
        case Dict():
            items_d = tuple(
                (k, traced(run, v, f"{ident}[{k!r}]", f"{text}[{k!r}]", trace))
                for k, v in value.items
            )
            return replace(value, items=items_d, node=None, trace=trace)
        case Instance():
            return replace(
                value, fields=_traced_fields(run, value, ident, text, trace), trace=trace
            )
        case Union():
            return Union(
                tuple(
                    traced(run, v, f"{ident}|{i}", text, trace) for i, v in enumerate(value.options)
                ),
                trace=trace,
            )
        case Unknown():
            return Array(ident, text=text, trace=trace, tree=True)
        case _:
            return value


def _traced_fields(
    run: Expressions, value: Instance, ident: str, text: str, trace: Trace | None
) -> tuple[tuple[str, Value], ...]:
    """The fields of a pytree object: children are traced, the others stay what they are."""
    meta = static_fields(value.cls)
    children = flattened_fields(value.cls)
    out: list[tuple[str, Value]] = []
    for name, had in value.fields:
        field = had
        if children is not None and name not in children:
            field = Unknown(f"`{text}.{name}` is no child of the pytree in sight", trace=trace)
        elif name not in meta:
            field = traced(run, had, f"{ident}.{name}", f"{text}.{name}", trace)
        out.append((name, field))
    return tuple(out)


def refined(run: Expressions, value: Value, told: Value | None, ident: str, name: str) -> Value:
    """A traced pytree of unknown structure, with the structure that an annotation tells."""
    if not isinstance(value, Array) or not value.tree:
        return value
    kinds = (
        [o for o in options(told) if isinstance(o, Instance | Tuple | Sequence)]
        if (told is not None)
        else []
    )
    if len(kinds) != 1:
        return value
    return traced(run, kinds[0], ident, name, value.trace)


def generalize(run: Expressions, value: Value, ident: str, text: str) -> Value:
    """The kind of a value without which one it is: what a call site tells of a parameter."""
    match value:
        case Int():
            return replace(value, expr=Atom(("param", ident), text, static=True))
        case Float():
            return replace(value, ratio=None)
        case Array():
            shape = None
            if value.shape is not None:
                shape = tuple(
                    Int(Atom(("dim", ident, axis), f"{text}.shape[{axis}]", static=True))
                    for axis in range(len(value.shape))
                )
            return Array(
                ident,
                shape,
                value.dtype,
                numpy=value.numpy,
                text=text,
                trace=value.trace,
                tree=value.tree,
            )
        case Tuple():
            items = tuple(
                generalize(run, v, f"{ident}[{i}]", f"{text}[{i}]")
                for i, v in enumerate(value.items)
            )
            return replace(value, items=items, nodes=())
        case Sequence():
            if value.array is not None:
                return Sequence(
                    Int(Atom(("param", f"{ident}[]"), f"{text}[...]", static=True)),
                    trace=value.trace,
                )
            return replace(value, elem=generalize(run, value.elem, f"{ident}[]", f"{text}[...]"))
        case Dict():
            return replace(
                value,
                items=tuple(
                    (k, generalize(run, v, f"{ident}[{k!r}]", f"{text}[{k!r}]"))
                    for k, v in value.items
                ),
                node=None,
            )
        case Instance():
            return replace(
                value,
                ident=ident,
                fields=tuple(
                    (k, generalize(run, v, f"{ident}.{k}", f"{text}.{k}")) for k, v in value.fields
                ),
            )
        case Union():
            return replace(
                value,
                options=tuple(
                    generalize(run, v, f"{ident}|{i}" if isinstance(v, Array) else ident, text)
                    for i, v in enumerate(value.options)
                ),
            )
        case Struct():
            return replace(
                value, shape=generalize(run, value.shape, f"{ident}.shape", f"{text}.shape")
            )
        case (
            Function()
            | Class()
            | External()
            | ModuleValue()
            | Partial()
            | Transformed()
            | BlockSpec()
            | GridSpec()
            | Launcher()
            | Const()
            | Unknown()
        ):
            return value
        case _:
            return value


def def_trace(
    function: Function, reason: str, line: int = 0, module: ModuleContext | None = None
) -> Trace:
    """A chain that ends at a function, or at the line (of `module`) that says what it is."""
    if not line:
        line, module = getattr(function.node, "lineno", 1), function.module
    module = module or function.module
    return Trace(Step(module.path, line, module.line_text(line), reason))
