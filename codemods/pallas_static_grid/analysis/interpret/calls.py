"""Evaluating calls."""

from __future__ import annotations

import ast
from dataclasses import replace

from pallas_static_grid.analysis import tables
from pallas_static_grid.analysis.interpret import library
from pallas_static_grid.analysis.interpret.decorators import Decorators
from pallas_static_grid.analysis.interpret.joins import join
from pallas_static_grid.analysis.values import (
    Array,
    Class,
    Const,
    Dict,
    External,
    Function,
    Instance,
    Int,
    Launcher,
    Partial,
    Returning,
    Sequence,
    Transformed,
    Tuple,
    Union,
    Unknown,
    Value,
)


class Calls(Decorators):
    """Evaluating calls."""

    def _expr_Call(self, node: ast.Call) -> Value:
        """A call expression."""
        if isinstance(node.func, ast.Subscript):
            launched = self.subscript_launch(node)
            if launched is not None:
                return launched
        changed = self.changing_call(node)
        if changed is not None:
            return changed
        updated = self.updated_array(node)
        if updated is not None:
            return updated
        func = self.eval(node.func)
        args: list[Value] = []
        starred: Sequence | None = None
        hidden = False
        for arg in node.args:
            if isinstance(arg, ast.Starred):
                value = self.eval(arg.value)
                if isinstance(value, Tuple) and not hidden:
                    args.extend(value.items)
                else:
                    hidden = True
                    if not isinstance(value, Sequence):
                        value = Sequence(self.iterated(value, arg.value))
                    starred = value if starred is None else self.among(starred, value.elem)
            else:
                value = self.eval(arg)
                if starred is not None:
                    starred = self.among(starred, value)
                else:
                    args.append(value)
        kwargs: dict[str, Value] = {}
        double: Value | None = None
        for keyword in node.keywords:
            value = self.eval(keyword.value)
            if keyword.arg is not None:
                kwargs[keyword.arg] = value
            elif isinstance(value, Dict):
                kwargs.update({str(k): v for k, v in value.items})
                if not value.complete:
                    double = Dict((), complete=False)
            else:
                double = Dict((), complete=False)
        return self.call_value(func, args, kwargs, node, starred=starred, double_starred=double)

    def among(self, hidden: Sequence, value: Value) -> Sequence:
        """Arguments of unknown number, of which `value` is one or more."""
        return Sequence(join(hidden.elem, value, self.fresh), trace=hidden.trace)

    def updated_array(self, node: ast.Call) -> Value | None:
        """`x.at[...].set(...)` and the like: an array as large as `x`."""
        match node.func:
            case ast.Attribute(
                attr="set"
                | "add"
                | "subtract"
                | "multiply"
                | "mul"
                | "divide"
                | "power"
                | "min"
                | "max"
                | "apply",
                value=ast.Subscript(value=ast.Attribute(attr="at", value=base_node)),
            ):
                base = self.eval(base_node)
            case _:
                return None
        if not isinstance(base, Array):
            return None
        for part in [*node.args, *(k.value for k in node.keywords)]:
            self.eval(part)
        return replace(
            base,
            ident=self.new_ident("at"),
            elem=None,
            ratio=None,
            entries=None,
            dims_of=base.dims_ident,
            text=self.segment(base_node),
        )

    def call_value(
        self,
        func: Value,
        args: list[Value],
        kwargs: dict[str, Value],
        node: ast.Call | None,
        *,
        starred: Value | None = None,
        double_starred: Value | None = None,
    ) -> Value:
        """What calling `func` gives."""
        match func:
            case Function():
                return self.call_in_sight(func, args, kwargs, node, starred, double_starred)
            case Partial():
                merged = {**dict(func.kwargs), **kwargs}
                if isinstance(func.func, External) and func.func.name in tables.LAUNCH_FUNCTIONS:
                    return self.launch_from_partial(func, args, kwargs, node, double_starred)
                return self.call_value(
                    func.func,
                    [*func.args, *args],
                    merged,
                    node,
                    starred=starred,
                    double_starred=double_starred,
                )
            case External():
                return self.call_external(func, args, kwargs, node, starred, double_starred)
            case Class():
                return self.construct(func, args, kwargs, node, starred, double_starred)
            case Transformed():
                return self.call_transformed(func, args, kwargs, node, starred, double_starred)
            case Returning():
                return func.result
            case Launcher():
                return self.call_launcher(func, args, kwargs, node, starred)
            case Union():
                results = [
                    self.call_value(
                        o, args, kwargs, node, starred=starred, double_starred=double_starred
                    )
                    for o in func.options
                    if not (isinstance(o, Const) and o.value is None)
                ]
                if results:
                    return self.join_values(results)
            case Instance():
                method = self.class_attribute(func.cls, "__call__")
                if isinstance(method, Function):
                    return self.call_in_sight(
                        replace(method, self_value=func),
                        args,
                        kwargs,
                        node,
                        starred,
                        double_starred,
                    )
            case _:
                pass
        if node is not None:
            self.hand_out([*args, *kwargs.values()], self.segment(node.func))
        if isinstance(func, Unknown):
            return Unknown(func.need, trace=func.trace)
        if node is None:
            return Unknown("a call out of sight")
        reason = f"what `{self.segment(node)}` returns is out of sight"
        return Unknown(reason, trace=self.trace(node, reason, func))

    def hand_out(self, values: list[Value], taker: str) -> None:
        """Functions given to something out of sight may be called with traced values there."""
        for value in values:
            inner = value
            while isinstance(inner, Partial | Transformed):
                inner = inner.func
            if isinstance(inner, Function) and inner.module is self.module:
                self.disguised.setdefault(inner.node, f"it is handed to `{taker}`, out of sight")

    def call_external(
        self,
        func: External,
        args: list[Value],
        kwargs: dict[str, Value],
        node: ast.Call | None,
        starred: Value | None,
        double_starred: Value | None,
    ) -> Value:
        """A call of something out of sight, by its canonical name."""
        name = func.name
        if name in tables.LAUNCH_FUNCTIONS and node is not None:
            return self.launch_call(name, args, kwargs, node, starred, double_starred)
        if name in tables.GRID_SPECS and node is not None:
            hidden = starred is not None or double_starred is not None
            return self.grid_spec_call(name, node, args, kwargs, hidden)
        if name in tables.BLOCK_SPECS and node is not None:
            return self.block_spec_call(name, node, args, kwargs)
        where: ast.AST = node if node is not None else self.frame.node
        if name == "super":
            found = self.super_call()
            if found is not None:
                return found
        wrapped = self.wrap_external(name, args, kwargs, where)
        if wrapped is not None:
            return wrapped
        given = args
        if isinstance(starred, Sequence) and name in tables.VARIADIC:
            given = [*args, self.one_of(starred.elem), self.one_of(starred.elem)]
        result = library.call(self, name, given, kwargs, where)
        if result is not None:
            hides = starred is not None or double_starred is not None
            return self.without_details(result, where) if hides else result
        if not tables.wraps_plainly(name):
            self.hand_out([*args, *kwargs.values()], name)
        reason = f"what `{self.segment(where)}` returns is out of sight"
        return Unknown(reason, trace=self.trace(where, reason))

    def without_details(self, value: Value, where: ast.AST) -> Value:
        """The result of a call with arguments out of sight: its kind, not its value."""
        match value:
            case Int():
                return Int(self.fresh(self.segment(where), static=True), trace=value.trace)
            case Array():
                return replace(value, shape=None, elem=None, ratio=None, entries=None, dims_of=None)
            case Tuple(items=items) if items and all(isinstance(item, Int) for item in items):
                elem = Int(self.fresh(self.segment(where), static=True))
                return Sequence(elem, trace=value.trace)
            case _:
                return value
