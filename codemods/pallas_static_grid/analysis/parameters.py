"""What the parameters of a function are.

Judged in this order: jit with its static arguments, the call sites in sight, the annotation, the
use in the body; else unknown.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from pallas_static_grid.analysis import tables
from pallas_static_grid.analysis.contexts import Context
from pallas_static_grid.analysis.joins import join
from pallas_static_grid.analysis.symbolic import Atom, Num
from pallas_static_grid.analysis.traversal import walk
from pallas_static_grid.analysis.values import (
    Array,
    Annotation,
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
    Jit,
    Launcher,
    ModuleValue,
    Partial,
    Returning,
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
    from pallas_static_grid.analysis.interpreter import Interpreter


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
    return isinstance(function.scope.node, ast.ClassDef) and not _decorated(
        function.node, "staticmethod"
    )


def _decorated(node: ast.AST, name: str) -> bool:
    decorators = getattr(node, "decorator_list", [])
    return any(isinstance(d, ast.Name) and d.id == name for d in decorators)


def bind_call(
    run: Interpreter,
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
            elem = starred.elem if isinstance(starred, Sequence) else None
            bound[arg.arg] = elem or Unknown(f"what `{arg.arg}` is given is out of sight")
        elif arg.arg in defaults:
            bound[arg.arg] = default_value(run, function, defaults[arg.arg])
        else:
            bound[arg.arg] = Unknown(f"`{arg.arg}` is not given at a call in sight")
    if spec.vararg is not None:
        bound[spec.vararg.arg] = (
            Sequence(Unknown("one of the arguments")) if hidden else Tuple(tuple(rest))
        )
    if spec.kwarg is not None:
        bound[spec.kwarg.arg] = Dict(tuple(extra.items()), complete=not open_ended)
    if function.jit is not None:
        # What the call leaves out keeps its default: `jit` never sees it.
        for name, value in bound.items():
            if name not in omitted or isinstance(value, Unknown):
                bound[name] = jitted_parameter(run, function, function.jit, name, value)
    return bound


def placeholders(run: Interpreter, function: Function) -> list[Value]:
    """Positional arguments as callers out of sight may give them."""
    spec = function.node.args
    out: list[Value] = []
    for arg in [*spec.posonlyargs, *spec.args]:
        reason = f"`{arg.arg}` is whatever the callers of `{function.name}` pass"
        told = from_annotation(run, arg.annotation, arg.arg, f"{function.qualname}:{arg.arg}",
                               function)
        out.append(told if told is not None else Unknown(
            reason, trace=_def_trace(function, reason)))
    return out


def default_value(run: Interpreter, function: Function, node: ast.expr) -> Value:
    """A default, as it was where the function was defined."""
    return run.eval_in(function.scope, function.module, node)


def jitted_parameter(
    run: Interpreter, function: Function, jit: Jit, name: str, value: Value
) -> Value:
    """What `jax.jit` makes of an argument."""
    if name in jit.static_names:
        return value
    line = jit.line or getattr(function.node, "lineno", 0)
    if not jit.known:
        reason = f"whether `{name}` of the jitted `{function.name}` is static is out of sight"
        return Unknown(reason, trace=_def_trace(function, reason, line))
    reason = (
        f"argument `{name}` of the jitted `{function.name}` (line {line}) "
        f"is not in `static_argnames`"
    )
    return traced(run, value, f"{function.qualname}:{name}", name,
                  _def_trace(function, reason, line))


def _def_trace(function: Function, reason: str, line: int = 0) -> Trace:
    line = line or getattr(function.node, "lineno", 1)
    module = function.module
    return Trace(Step(module.path, line, module.line_text(line), reason))


def traced(run: Interpreter, value: Value, ident: str, text: str, trace: Trace | None) -> Value:
    """A value after it went through a tracing boundary: leaves become arrays."""
    match value:
        case Int():
            return Array(ident, shape=(), dtype="bool" if value.is_bool else "int", text=text,
                         trace=trace)
        case Float():
            return Array(ident, shape=(), dtype="float", text=text, trace=trace)
        case Array():
            shape = None
            if value.shape is not None:
                shape = value.shape
            return Array(
                value.ident if not value.numpy else ident, shape, value.dtype,
                dims_of=value.dims_of, text=value.text or text, trace=trace,
                elem=value.elem if value.elem is not None and not value.numpy else None,
                tree=value.tree,
            )
        case Const():
            return value if value.value is None else Unknown(
                f"`{text}` is no array", trace=trace)
        case Tuple():
            items = tuple(
                traced(run, v, f"{ident}[{i}]", f"{text}[{i}]", trace)
                for i, v in enumerate(value.items)
            )
            return replace(value, items=items, nodes=(), trace=trace)
        case Sequence():
            if value.array is not None:
                return Sequence(Array(f"{ident}[]", (), "int", text=text, trace=trace),
                                trace=trace)
            return Sequence(traced(run, value.elem, f"{ident}[]", f"{text}[...]", trace),
                            trace=trace)
        case Dict():
            items_d = tuple((k, traced(run, v, f"{ident}[{k!r}]", f"{text}[{k!r}]", trace))
                            for k, v in value.items)
            return replace(value, items=items_d, node=None, trace=trace)
        case Instance():
            meta = static_fields(value.cls)
            fields = tuple(
                (k, v if k in meta else traced(run, v, f"{ident}.{k}", f"{text}.{k}", trace))
                for k, v in value.fields
            )
            return replace(value, fields=fields, trace=trace)
        case Union():
            return Union(tuple(traced(run, v, f"{ident}|{i}", text, trace)
                               for i, v in enumerate(value.options)), trace=trace)
        case Unknown():
            return Array(ident, text=text, trace=trace, tree=True)
        case _:
            return value


def refined(run: Interpreter, value: Value, told: Value | None, ident: str, name: str) -> Value:
    """A traced pytree of unknown structure, with the structure that an annotation tells."""
    if not isinstance(value, Array) or not value.tree:
        return value
    kinds = [o for o in options(told) if isinstance(o, Instance | Tuple | Sequence)] if (
        told is not None) else []
    if len(kinds) != 1:
        return value
    return traced(run, kinds[0], ident, name, value.trace)


def static_fields(cls: Class) -> frozenset[str]:
    """Fields that a registered pytree class keeps as Python values (`static=True`, metadata)."""
    out: set[str] = set()
    for statement in cls.node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            call = statement.value
            if isinstance(call, ast.Call):
                for keyword in call.keywords:
                    text = ast.unparse(keyword.value)
                    if (keyword.arg == "static" and text == "True") or (
                        keyword.arg == "pytree_node" and text == "False"
                    ) or (keyword.arg == "metadata" and "static" in text):
                        out.add(statement.target.id)
    return frozenset(out)


def judge(run: Interpreter, function: Function) -> dict[str, Value]:
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
    rule = judged_base(run, function) if function.node in run.rules else {}
    for index, name in enumerate(names):
        if index == 0 and is_method(function):
            bound[name] = self_value(run, function)
            continue
        value = _from_contexts(run, function, contexts, name)
        if value is None and function.node in run.rules:
            value = _from_rule(run, function, index, name, rule)
        bound[name] = _judge_one(run, function, by_name[name], value, jit)
    return bound


def self_value(run: Interpreter, function: Function) -> Value:
    """What `self` (or `cls`) is in a method."""
    node = function.scope.node
    assert isinstance(node, ast.ClassDef)
    cls = Class(node, function.module, function.scope, function.scope.qualname)
    if _decorated(function.node, "classmethod"):
        return cls
    return run.instance_of(cls, f"{function.scope.qualname}.self")


def judged_base(run: Interpreter, function: Function) -> dict[str, Value]:
    """The parameters of the function that `function` is a derivative rule of."""
    base = run.rules[function.node][0]
    if base.node not in run.closures or base.node is function.node:
        return {}
    return judge(run, base)


def _from_rule(
    run: Interpreter, function: Function, index: int, name: str, judged: dict[str, Value]
) -> Value | None:
    """A parameter of a custom derivative rule: as the function has it, or traced."""
    base, kind, nondiff = run.rules[function.node]
    if not judged:
        return None
    params = [a.arg for a in [*base.node.args.posonlyargs, *base.node.args.args]]
    ident = f"{function.qualname}:{name}"
    trace = _def_trace(function, f"`{function.name}` is a derivative rule of `{base.name}`")
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
    run: Interpreter, function: Function, contexts: list[Context], name: str
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
    run: Interpreter, function: Function, arg: ast.arg, value: Value | None, jit: Jit | None
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
            return Unknown(reason, trace=_def_trace(function, reason))
    return Unknown(reason, trace=_def_trace(function, reason))


def _has_unknown(value: Value) -> bool:
    return any(isinstance(option, Unknown) for option in options(value))


def _static_parameter(
    run: Interpreter, function: Function, arg: ast.arg, value: Value | None,
    default: ast.expr | None,
) -> Value:
    """A static argument of a jitted function: a hashable Python value, never an array."""
    name = arg.arg
    ident = f"{function.qualname}:{name}"
    told = from_annotation(run, arg.annotation, name, ident, function)
    if told is not None and not isinstance(told, Unknown):
        return told
    reason = f"`{name}` is a static argument of the jitted `{function.name}`"
    trace = _def_trace(function, reason)
    if default is not None:
        kind = default_value(run, function, default)
        if isinstance(kind, Tuple):
            return generalize(run, replace(kind, trace=trace), ident, name)
        if isinstance(kind, Const | Function | Class | Instance | External | Partial):
            if isinstance(kind, Const) and kind.value is None:
                used = from_use(run, function, name, ident) or _static_int(ident, name, trace)
                return Union((kind, used), trace=trace)
            return Unknown(reason, trace=trace)
    used = from_use(run, function, name, ident)
    if used is not None:
        return used
    return StaticArgument(run, ident, name, trace)


def StaticArgument(run: Interpreter, ident: str, name: str, trace: Trace) -> Value:
    """A static argument of which nothing else is known: as a number it is a Python int."""
    return _static_int(ident, name, trace)


def _static_int(ident: str, name: str, trace: Trace) -> Int:
    return Int(Atom(("param", ident), name, static=True), trace=trace)


def generalize(run: Interpreter, value: Value, ident: str, text: str) -> Value:
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
            return Array(ident, shape, value.dtype, numpy=value.numpy, text=text,
                         trace=value.trace, tree=value.tree)
        case Tuple():
            items = tuple(
                generalize(run, v, f"{ident}[{i}]", f"{text}[{i}]")
                for i, v in enumerate(value.items)
            )
            return replace(value, items=items, nodes=())
        case Sequence():
            if value.array is not None:
                return Sequence(Int(Atom(("param", f"{ident}[]"), f"{text}[...]", static=True)),
                                trace=value.trace)
            return replace(value, elem=generalize(run, value.elem, f"{ident}[]", f"{text}[...]"))
        case Dict():
            return replace(value, items=tuple(
                (k, generalize(run, v, f"{ident}[{k!r}]", f"{text}[{k!r}]"))
                for k, v in value.items
            ), node=None)
        case Instance():
            return replace(value, ident=ident, fields=tuple(
                (k, generalize(run, v, f"{ident}.{k}", f"{text}.{k}")) for k, v in value.fields
            ))
        case Union():
            return replace(value, options=tuple(
                generalize(run, v, f"{ident}|{i}" if isinstance(v, Array) else ident, text)
                for i, v in enumerate(value.options)
            ))
        case Struct():
            return replace(value, shape=generalize(run, value.shape, f"{ident}.shape",
                                                   f"{text}.shape"))
        case (
            Function() | Class() | External() | ModuleValue() | Partial() | Transformed()
            | BlockSpec() | GridSpec() | Launcher() | Const() | Unknown()
        ):
            return value
        case _:
            return value


# --- annotations ------------------------------------------------------------------------------


def from_annotation(
    run: Interpreter,
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
    trace = run.trace(node, reason) if function is None else _def_trace(function, reason)
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
                if function is not None else run.eval(node)
            )
            return annotated_by(run, target, name, ident, trace)
        case _:
            return None


def annotated_by(
    run: Interpreter, target: Value, name: str, ident: str, trace: Trace
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
        if target.name == "int":
            return Int(Atom(("param", ident), name, static=True), trace=trace)
    if isinstance(target, Annotation):
        with run.inside(target.module):
            return from_annotation(run, target.node, name, ident)
    if isinstance(target, Class):
        instance = run.instance_of(target, ident)
        return replace(instance, trace=trace)
    return None


def _annotated_union(
    run: Interpreter, parts: list[ast.expr], name: str, ident: str,
    function: Function | None, trace: Trace,
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
    run: Interpreter, base: ast.expr, index: ast.expr, name: str, ident: str,
    function: Function | None, trace: Trace,
) -> Value | None:
    head = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
    elements = index.elts if isinstance(index, ast.Tuple) else [index]
    if head == "Optional":
        return _annotated_union(run, [index, ast.copy_location(ast.Constant(None), index)],
                                name, ident, function, trace)
    if head == "Union":
        return _annotated_union(run, list(elements), name, ident, function, trace)
    if head in tables.JAXTYPING:
        return Array(ident, text=name, trace=trace)
    if head in {"Annotated", "Final", "ClassVar", "Static"}:
        return from_annotation(run, elements[0], name, ident, function)
    if head in {"tuple", "Tuple"}:
        if len(elements) == 2 and isinstance(elements[1], ast.Constant) and (
            elements[1].value is Ellipsis
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


# --- use --------------------------------------------------------------------------------------

_ARRAY_USES = frozenset(
    {"shape", "dtype", "at", "astype", "sum", "max", "min", "reshape", "ravel", "cumsum", "prod",
     "argmax", "argmin", "argsort", "transpose", "mean", "T", "any", "all", "nonzero", "squeeze"}
)
_SHAPE_CALLS = frozenset(
    {"BlockSpec", "ShapeDtypeStruct", "VMEM", "SMEM", "zeros", "ones", "full", "empty",
     "broadcast_to", "broadcasted_iota", "Buffered"}
)


def from_use(run: Interpreter, function: Function, name: str, ident: str) -> Value | None:
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


def literal(value: int) -> Int:
    """A Python int of known value."""
    return Int(Num(value))
