"""Arguments of a call, by parameter name."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from pallas_static_grid.analysis.interpret.annotations import from_annotation
from pallas_static_grid.analysis.interpret.mutation import changes, escape, is_mutable
from pallas_static_grid.analysis.interpret.tracing import def_trace, traced
from pallas_static_grid.analysis.values import (
    Dict,
    Function,
    Instance,
    Jit,
    Sequence,
    Tuple,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from pallas_static_grid.analysis.interpret.expressions import Expressions


def all_args(args: ast.arguments) -> list[ast.arg]:
    """Every named parameter in order (not `*args` and `**kwargs`)."""
    return [*args.posonlyargs, *args.args, *args.kwonlyargs]


def default_nodes(args: ast.arguments) -> dict[str, ast.expr]:
    """Default expressions by parameter name."""
    positional = [*args.posonlyargs, *args.args]
    out: dict[str, ast.expr] = {}
    for arg, default in zip(positional[::-1], args.defaults[::-1], strict=False):
        out[arg.arg] = default
    for arg, kw_default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        if kw_default is not None:
            out[arg.arg] = kw_default
    return out


def is_method(function: Function) -> bool:
    """Whether a def stands in a class body and takes the instance first."""
    return isinstance(function.scope.node, ast.ClassDef) and not decorated(
        function.node, "staticmethod"
    )


def decorated(node: ast.AST, name: str) -> bool:
    """Whether a def has the decorator of this bare name."""
    decorators = getattr(node, "decorator_list", [])
    return any(isinstance(d, ast.Name) and d.id == name for d in decorators)


def bind_call(
    run: Expressions,
    function: Function,
    args: list[Value],
    kwargs: dict[str, Value],
    starred: Value | None = None,
    double_starred: Value | None = None,
) -> dict[str, Value]:
    """Parameter values for one call; jitted functions get traced ones."""
    spec = function.node.args
    positional = [*spec.posonlyargs, *spec.args]
    given = list(args)
    if function.self_value is not None:
        given.insert(0, function.self_value)
    bound: dict[str, Value] = {}
    rest: list[Value] = []
    hidden = False
    if isinstance(starred, Tuple):
        given.extend(starred.items)
    elif starred is not None:
        hidden = True
    for index, value in enumerate(given):
        if index < len(positional):
            bound[positional[index].arg] = value
        else:
            rest.append(value)
    named = dict(kwargs)
    open_ended = False
    if isinstance(double_starred, Dict):
        named.update({str(k): v for k, v in double_starred.items})
        open_ended = not double_starred.complete
    elif double_starred is not None:
        open_ended = True
    names = {a.arg for a in all_args(spec)}
    extra = {k: v for k, v in named.items() if k not in names}
    bound.update({k: v for k, v in named.items() if k in names})
    defaults = default_nodes(spec)
    omitted: set[str] = set()
    for arg in all_args(spec):
        if arg.arg in bound:
            continue
        omitted.add(arg.arg)
        if (hidden and arg in positional) or open_ended:
            elem = run.picked(starred.elem) if isinstance(starred, Sequence) else None
            bound[arg.arg] = elem or Unknown(f"what `{arg.arg}` is given is out of sight")
        elif arg.arg in defaults:
            bound[arg.arg] = default_value(run, function, defaults[arg.arg])
        else:
            bound[arg.arg] = Unknown(f"`{arg.arg}` is not given at a call in sight")
    if spec.vararg is not None:
        bound[spec.vararg.arg] = Tuple(tuple(rest))
        if hidden:
            known = [starred.elem, *rest] if isinstance(starred, Sequence) else []
            elem = run.join_values(known) if known else Unknown("one of the arguments")
            bound[spec.vararg.arg] = Sequence(elem)
    if spec.kwarg is not None:
        bound[spec.kwarg.arg] = Dict(tuple(extra.items()), complete=not open_ended)
    if function.jit is not None:
        # What the call leaves out keeps its default: `jit` never sees it.
        for name, value in bound.items():
            if name not in omitted or isinstance(value, Unknown):
                bound[name] = jitted_parameter(run, function, function.jit, name, value)
    return bound


def placeholders(run: Expressions, function: Function) -> list[Value]:
    """Positional arguments as callers out of sight may give them."""
    spec = function.node.args
    out: list[Value] = []
    for arg in [*spec.posonlyargs, *spec.args]:
        reason = f"`{arg.arg}` is whatever the callers of `{function.name}` pass"
        told = from_annotation(
            run, arg.annotation, arg.arg, f"{function.qualname}:{arg.arg}", function
        )
        out.append(told if told is not None else Unknown(reason, trace=def_trace(function, reason)))
    return out


def default_value(run: Expressions, function: Function, node: ast.expr) -> Value:
    """A default, as it was where the function was defined."""
    value = run.eval_in(function.scope, function.module, node)
    if is_mutable(value):
        defaults = default_nodes(function.node.args)
        name = next((name for name, default in defaults.items() if default is node), "")
        if changes(function.node, name):
            escape(run, value, "__setattr__" if isinstance(value, Instance) else "__setitem__")
            reason = f"calls of `{function.name}` change the default of `{name}`"
            return Unknown(reason, trace=def_trace(function, reason))
    return value


def jitted_parameter(
    run: Expressions, function: Function, jit: Jit, name: str, value: Value
) -> Value:
    """What `jax.jit` makes of an argument."""
    if name in jit.static_names:
        return value
    line = jit.line or getattr(function.node, "lineno", 0)
    if not jit.known:
        reason = f"whether `{name}` of the jitted `{function.name}` is static is out of sight"
        return Unknown(reason, trace=def_trace(function, reason, line, jit.module))
    reason = (
        f"argument `{name}` of the jitted `{function.name}` (line {line}) "
        f"is not in `static_argnames`"
    )
    return traced(
        run,
        value,
        f"{function.qualname}:{name}",
        name,
        def_trace(function, reason, line, jit.module),
    )
