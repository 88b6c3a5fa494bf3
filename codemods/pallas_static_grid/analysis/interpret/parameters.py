"""What the parameters of a function are.

Judged in this order: jit with its static arguments, the call sites in sight, the annotation, the
use in the body; else unknown.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from pallas_static_grid.analysis.interpret.annotations import from_annotation
from pallas_static_grid.analysis.interpret.binding import (
    all_args,
    decorated,
    default_nodes,
    default_value,
    is_method,
    jitted_parameter,
)
from pallas_static_grid.analysis.interpret.contexts import Context
from pallas_static_grid.analysis.interpret.joins import join
from pallas_static_grid.analysis.interpret.tracing import def_trace, generalize, refined, traced
from pallas_static_grid.analysis.interpret.uses import from_use
from pallas_static_grid.analysis.symbolic import Atom
from pallas_static_grid.analysis.values import (
    Array,
    Class,
    Const,
    Dict,
    External,
    Float,
    Function,
    Instance,
    Int,
    Jit,
    Partial,
    Sequence,
    Trace,
    Tuple,
    Union,
    Unknown,
    Value,
    is_none,
    options,
)

if TYPE_CHECKING:
    from pallas_static_grid.analysis.interpret.expressions import Expressions


def judge(run: Expressions, function: Function) -> dict[str, Value]:
    """Parameter values for the canonical run of a function."""
    spec = function.node.args
    contexts = list(run.contexts.get(function.node, {}).values())
    contexts = [c for c in contexts if c.bound]
    extra = run.extra_contexts.get(function.node, ())
    contexts += [Context(b, step) for b, step in extra]
    bound: dict[str, Value] = {}
    names = [a.arg for a in all_args(spec)]
    if spec.vararg:
        names.append(spec.vararg.arg)
    if spec.kwarg:
        names.append(spec.kwarg.arg)
    by_name = {a.arg: a for a in [*all_args(spec), *(x for x in (spec.vararg, spec.kwarg) if x)]}
    jit = function.jit or run.wrapped_jit.get(function.node)
    rule = _judged_base(run, function) if function.node in run.rules else {}
    for index, name in enumerate(names):
        if index == 0 and is_method(function):
            bound[name] = self_value(run, function)
            continue
        value = _from_contexts(run, function, contexts, name)
        if value is None and function.node in run.rules:
            value = _from_rule(run, function, index, name, rule)
        bound[name] = _judge_one(run, function, by_name[name], value, jit)
        if function.node in run.disguised and jit is None:
            reason = f"what `{name}` becomes is not known: {run.disguised[function.node]}"
            bound[name] = _disguise(bound[name], Unknown(reason, trace=def_trace(function, reason)))
    return bound


def _disguise(value: Value, unknown: Unknown) -> Value:
    """A parameter that may reach the function traced: its numbers may be arrays."""
    match value:
        case Int() | Float():
            return unknown
        case Tuple():
            return replace(value, items=tuple(_disguise(v, unknown) for v in value.items))
        case Sequence() if value.array is None:
            return replace(value, elem=_disguise(value.elem, unknown))
        case Union():
            return replace(value, options=tuple(_disguise(v, unknown) for v in value.options))
        case _:
            return value


def self_value(run: Expressions, function: Function) -> Value:
    """What `self` (or `cls`) is in a method."""
    node = function.scope.node
    assert isinstance(node, ast.ClassDef)
    cls = Class(node, function.module, function.scope, function.scope.qualname)
    if decorated(function.node, "classmethod"):
        return cls
    return run.instance_of(cls, f"{function.scope.qualname}.self")


def _judged_base(run: Expressions, function: Function) -> dict[str, Value]:
    """The parameters of the function that `function` is a derivative rule of."""
    base = run.rules[function.node][0]
    if base.node not in run.closures or base.node is function.node:
        return {}
    return judge(run, base)


def _from_rule(
    run: Expressions, function: Function, index: int, name: str, judged: dict[str, Value]
) -> Value | None:
    """A parameter of a custom derivative rule: as the function has it, or traced."""
    base, kind, nondiff = run.rules[function.node]
    if not judged:
        return None
    params = [a.arg for a in [*base.node.args.posonlyargs, *base.node.args.args]]
    ident = f"{function.qualname}:{name}"
    trace = def_trace(function, f"`{function.name}` is a derivative rule of `{base.name}`")
    if kind == "bwd":
        if index < len(nondiff) and nondiff[index] < len(params):
            return generalize(run, judged[params[nondiff[index]]], ident, name)
        return Array(ident, text=name, trace=trace, tree=True)
    if index >= len(params):
        return None
    value = judged[params[index]]
    if index in nondiff:
        return generalize(run, value, ident, name)
    return traced(run, value, ident, name, trace)


def _from_contexts(
    run: Expressions, function: Function, contexts: list[Context], name: str
) -> Value | None:
    out: Value | None = None
    for context in contexts:
        if name not in context.bound:
            continue
        value = context.bound[name]
        cause = value.trace
        value = replace(value, trace=Trace(context.step, cause))
        value = generalize(run, value, f"{function.qualname}:{name}", name)
        if out is None:
            out = value
        elif isinstance(out, Int) and isinstance(value, Int):
            continue
        else:
            out = join(out, value, run.fresh)
    return out


def _judge_one(
    run: Expressions, function: Function, arg: ast.arg, value: Value | None, jit: Jit | None
) -> Value:
    name = arg.arg
    spec = function.node.args
    ident = f"{function.qualname}:{name}"
    if value is None and spec.vararg is not None and arg is spec.vararg:
        elem: Value = Unknown(f"what `*{name}` is given is out of sight")
        if jit is not None:
            elem = jitted_parameter(run, function, jit, name, elem)
        return Sequence(elem)
    if value is None and spec.kwarg is not None and arg is spec.kwarg:
        return Dict((), complete=False)
    default = default_nodes(spec).get(name)
    if isinstance(value, Array) and value.tree:
        told = from_annotation(run, arg.annotation, name, ident, function)
        value = refined(run, value, told, ident, name)
    if jit is not None:
        if name in jit.static_names:
            if value is not None and not _has_unknown(value):
                return value
            return _static_parameter(run, function, arg, value, default)
        inner = value if value is not None else Unknown("")
        if value is None:
            told = from_annotation(run, arg.annotation, name, ident, function)
            if isinstance(told, Instance | Tuple | Sequence | Union):
                inner = told
            out = jitted_parameter(run, function, jit, name, inner)
            if default is not None and not isinstance(out, Union):
                kept = default_value(run, function, default)
                if isinstance(kept, Const | Int | Tuple):
                    kept = generalize(run, kept, ident, name)
                    out = Union((replace(kept, trace=out.trace), out), trace=out.trace)
            return out
        if jit is function.jit and is_none(value) and not name.startswith("_"):
            told = from_annotation(run, arg.annotation, name, ident, function)
            return _or_given(run, function, jit, name, value, told)
        return value
    if value is not None and not _has_unknown(value):
        return value
    told = from_annotation(run, arg.annotation, name, ident, function)
    if told is not None and not isinstance(told, Unknown):
        if value is not None:
            known = [o for o in options(value) if not isinstance(o, Unknown)]
            for option in known:
                told = join(told, option, run.fresh)
        return told
    used = from_use(run, function, name, ident)
    if used is not None:
        if value is not None:
            for option in options(value):
                if not isinstance(option, Unknown) and not (
                    isinstance(option, Int) and isinstance(used, Int)
                ):
                    used = join(used, option, run.fresh)
        return used
    if value is not None:
        return value
    reason = f"`{name}` is whatever the callers of `{function.name}` pass"
    if default is not None and isinstance(default, ast.Constant) and default.value is not None:
        kind = default_value(run, function, default)
        if isinstance(kind, Const):
            return Unknown(reason, trace=def_trace(function, reason), ident=ident)
    return Unknown(reason, trace=def_trace(function, reason), ident=ident)


def _or_given(
    run: Expressions,
    function: Function,
    jit: Jit,
    name: str,
    none: Value,
    told: Value | None,
) -> Value:
    """An optional array that no call in sight passes: whoever calls from elsewhere may."""
    if told is None or not any(is_none(option) for option in options(told)):
        return none
    out = none
    for option in options(told):
        if isinstance(option, Array):
            out = join(out, jitted_parameter(run, function, jit, name, option), run.fresh)
    return out


def _has_unknown(value: Value) -> bool:
    return any(isinstance(option, Unknown) for option in options(value))


def _static_parameter(
    run: Expressions,
    function: Function,
    arg: ast.arg,
    value: Value | None,
    default: ast.expr | None,
) -> Value:
    """A static argument of a jitted function: a hashable Python value, never an array."""
    name = arg.arg
    ident = f"{function.qualname}:{name}"
    told = from_annotation(run, arg.annotation, name, ident, function)
    if told is not None and not isinstance(told, Unknown):
        return told
    reason = f"`{name}` is a static argument of the jitted `{function.name}`"
    trace = def_trace(function, reason)
    if default is not None:
        kind = default_value(run, function, default)
        if isinstance(kind, Tuple):
            return generalize(run, replace(kind, trace=trace), ident, name)
        if isinstance(kind, Const | Function | Class | Instance | External | Partial):
            if is_none(kind):
                number = from_use(run, function, name, ident) or _static_int(ident, name, trace)
                return Union((kind, number), trace=trace)
            return Unknown(reason, trace=trace)
    used = from_use(run, function, name, ident)
    if used is not None:
        return used
    return _static_int(ident, name, trace)


def _static_int(ident: str, name: str, trace: Trace) -> Int:
    return Int(Atom(("param", ident), name, static=True), part=name, trace=trace)
