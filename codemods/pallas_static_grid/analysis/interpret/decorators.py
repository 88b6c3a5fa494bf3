"""Decorators, and test parameters that they give."""

from __future__ import annotations

import ast

from pallas_static_grid.analysis import tables
from pallas_static_grid.analysis.interpret.binding import placeholders
from pallas_static_grid.analysis.interpret.transformations import Transformations
from pallas_static_grid.analysis.values import (
    Class,
    Const,
    Dict,
    External,
    Function,
    Instance,
    Launcher,
    Partial,
    Transformed,
    Tuple,
    Unknown,
    Value,
)


class Decorators(Transformations):
    """Decorators, and test parameters that they give."""

    def decorate(self, decorator: ast.expr, value: Value) -> Value:
        """What a decorator makes of a function."""
        deco = self.eval(decorator)
        if isinstance(deco, External) and deco.name in {"property", "functools.cached_property"}:
            return value
        if isinstance(deco, External) and deco.name in {"staticmethod", "classmethod"}:
            return value
        if (
            isinstance(deco, Partial | External)
            and _is_custom_rule(deco)
            and isinstance(value, Function)
        ):
            given = dict(deco.kwargs) if isinstance(deco, Partial) else {}
            self.nondiff[value.node] = self.nondiff_positions(value, given)
        told = False
        if isinstance(decorator, ast.Call) and isinstance(value, Function):
            told = self.parametrised(decorator, value)
        call = decorator if isinstance(decorator, ast.Call) else None
        out = self.apply_decorator(deco, value, call, decorator)
        if isinstance(value, Function) and not told and self.hides(decorator, deco, out):
            self.disguised[value.node] = f"`{self.segment(decorator)}` is out of sight"
        return value if isinstance(out, Unknown) and not isinstance(deco, Function) else out

    def hides(self, node: ast.expr, deco: Value, out: Value) -> bool:
        """Whether what a decorator does with the arguments is out of sight."""
        inner = deco
        if isinstance(deco, Unknown) and isinstance(node, ast.Call):
            inner = self.eval(node.func)
        while isinstance(inner, Partial):
            inner = inner.func
        if isinstance(inner, External):
            kept = isinstance(out, Function) and out.jit is None and not out.custom_rule
            return kept and not tables.wraps_plainly(inner.name)
        return isinstance(inner, Unknown) or isinstance(out, Unknown)

    def parametrised(self, node: ast.Call, value: Function) -> bool:
        """Test parameters given by a decorator are call sites in sight; whether there are any."""
        func = node.func
        name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
        spec = value.node.args
        names = [a.arg for a in [*spec.posonlyargs, *spec.args] if a.arg != "self"]
        bound: dict[str, Value] = {}
        if name in {"product", "sample_product"}:
            for keyword in node.keywords:
                if keyword.arg:
                    bound[keyword.arg] = self.iterated(self.eval(keyword.value), keyword.value)
        elif name == "parametrize" and len(node.args) >= 2:
            given = self.eval(node.args[0])
            if isinstance(given, Const) and isinstance(given.value, str):
                wanted = [n.strip() for n in given.value.split(",")]
                row = self.iterated(self.eval(node.args[1]), node.args[1])
                if len(wanted) == 1:
                    bound[wanted[0]] = row
                else:
                    bound.update(
                        {n: self.element(row, i, len(wanted), node) for i, n in enumerate(wanted)}
                    )
        elif name in {"parameters", "named_parameters"} and node.args:
            rows = [self.eval(a) for a in node.args if not isinstance(a, ast.Starred)]
            if (
                len(rows) == 1
                and isinstance(rows[0], Tuple)
                and all(isinstance(item, Tuple | Dict) for item in rows[0].items)
            ):
                rows = list(rows[0].items)
            bound = self.rows_by_name(rows, names, named=name == "named_parameters", node=node)
        if bound:
            self.extra_contexts.setdefault(value.node, []).append(
                (bound, self.step(node, f"`{value.name}` is run with these parameters"))
            )
        return bool(bound)

    def rows_by_name(
        self, rows: list[Value], names: list[str], *, named: bool, node: ast.AST
    ) -> dict[str, Value]:
        """Test parameters by name, joined over the rows of `parameterized.parameters`."""
        columns: dict[str, list[Value]] = {}
        for row in rows:
            if isinstance(row, Dict):
                for key, item in row.items:
                    columns.setdefault(str(key), []).append(item)
                continue
            items = list(row.items) if isinstance(row, Tuple) else [row]
            for column, item in zip(names, items[1:] if named else items, strict=False):
                columns.setdefault(column, []).append(item)
        return {k: self.join_values(v) for k, v in columns.items() if k in names}

    def apply_decorator(
        self, deco: Value, value: Value, call: ast.Call | None, where: ast.expr
    ) -> Value:
        """`deco(value)`, where what is out of sight gives the function back."""
        if isinstance(deco, External):
            if deco.name == "functools.wraps.decorator":
                return value
            known = self.wrap_external(deco.name, [value], {}, where)
            return known if known is not None else value
        if isinstance(deco, Partial) and isinstance(deco.func, External):
            if deco.func.name in tables.LAUNCH_FUNCTIONS:
                return self.launch_from_partial(deco, [value], {}, call, None)
            known = self.wrap_external(
                deco.func.name, [*deco.args, value], dict(deco.kwargs), where
            )
            return known if known is not None else value
        if isinstance(deco, Launcher):
            return self.call_launcher(deco, [value], {}, call, None)
        if isinstance(deco, Function | Partial | Transformed | Class):
            return self.call_value(deco, [value], {}, call)
        return value

    def call_decorated(self, function: Function, value: Value) -> None:
        """Call what a decorator made of a function, as callers out of sight may."""
        if isinstance(value, Function) and value.node is function.node:
            return
        if not isinstance(value, Function | Transformed | Partial | Instance):
            return
        args = placeholders(self, function)
        if isinstance(self.scope.node, ast.ClassDef):
            args = args[1:]
        self.call_value(value, args, {}, None)


def _is_custom_rule(value: Value) -> bool:
    inner = value.func if isinstance(value, Partial) else value
    return isinstance(inner, External) and inner.name in tables.CUSTOM_RULES
