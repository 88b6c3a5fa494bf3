"""Expressions of static shapes in NumPy or jnp terms, translated to Python integers."""

from __future__ import annotations

import ast
from dataclasses import replace

from pallas_static_grid.analysis.values import Function, options
from pallas_static_grid.model import Edit
from pallas_static_grid.rewrite.edits import replacement
from pallas_static_grid.transforms.shapes.calls import Calls
from pallas_static_grid.transforms.shapes.canonical import array_function, lookup
from pallas_static_grid.transforms.shapes.exact import (
    ENTRY,
    UNARY,
    Exact,
    Form,
    NotArithmetic,
    NotExact,
    Ratio,
    Vector,
    called,
    is_changed,
    looseness_of,
    tuple_text,
)
from pallas_static_grid.transforms.shapes.named import Names
from pallas_static_grid.transforms.shapes.state import Shared


class Translator(Calls, Names):
    """Translates the expressions of one launch's grid; collects edits of definitions and notes."""

    __slots__ = ()

    def whole(self, node: ast.expr) -> str | None:
        """A grid given as one array or scalar, as a tuple; None where it stays as it is."""
        form = self.form(node)
        if isinstance(form, Exact):
            return f"({form.text},)" if form.changed else None
        if isinstance(form, Vector):
            return tuple_text(form) if is_changed(form) else None
        raise NotExact(node, "a division whose rounding is not said")

    def form(self, node: ast.expr) -> Form:
        """What an expression is: an integer, a division, or a vector of lengths."""
        match node:
            case ast.Constant(value=int(value)) if not isinstance(value, bool):
                return self._verbatim(node, natural=value >= 0, positive=value > 0)
            case ast.Name():
                return self._name(node)
            case ast.Attribute(attr="shape"):
                self._refuse_traced(node)
                return Vector(None, self.module.segment(node))
            case ast.Attribute():
                return self._leaf(node, natural=node.attr in ("size", "ndim"))
            case ast.Subscript():
                return self._subscript(node)
            case ast.Tuple() | ast.List():
                entries = tuple(self.exact(element) for element in node.elts)
                return Vector(entries, changed=any(entry.changed for entry in entries))
            case ast.BinOp():
                return self._operation(node)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self.exact(operand)
                return (
                    replace(
                        self._rebuilt(node, inner), text=f"-{inner.within(UNARY)}", looseness=UNARY
                    )
                    if inner.changed
                    else self._verbatim(node)
                )
            case ast.IfExp(test=test, body=body, orelse=orelse):
                first, second = self.exact(body), self.exact(orelse)
                if not (first.changed or second.changed):
                    return self._verbatim(node)
                return self._choice(self.module.segment(test), first, second)
            case ast.Call():
                return self._call(node)
            case _:
                return self._leaf(node)

    def _rebuilt(self, node: ast.expr, *parts: Exact) -> Exact:
        natural = all(part.natural for part in parts)
        return Exact(self.module.segment(node), looseness_of(node), natural, changed=True)

    def _subscript(self, node: ast.Subscript) -> Form:
        index = _constant(node.slice)
        base = self.form(node.value) if _may_be_vector(node.value) else None
        if isinstance(base, Vector):
            if isinstance(node.slice, ast.Slice):
                if base.entries is None and base.each is None:
                    return Vector(None, self.module.segment(node))
                raise NotArithmetic
            if base.entries is None and base.each is None:
                text = f"{base.sequence}[{self.module.segment(node.slice)}]"
                return replace(self._verbatim(node, natural=True), text=text, changed=base.changed)
            entry = base.entry(index) if index is not None else None
            if entry is None and base.each is not None and base.entries is None:
                at = self.module.segment(node.slice)
                text = base.each.text.replace(ENTRY, f"{base.sequence}[{at}]")
                return replace(base.each, text=text)
            if entry is None:
                raise NotArithmetic
            return replace(entry, changed=True)
        return self._leaf(node, natural=_is_shape_entry(node))

    def _call(self, node: ast.Call) -> Form:
        if isinstance(node.func, ast.Attribute):
            method = self._method(node, node.func)
            if method is not None:
                return method
        found = array_function(node.func, self.scope)
        if found is not None:
            return self._library(node, *found)
        if isinstance(node.func, ast.Name):
            builtin = self._builtin(node, node.func.id)
            if builtin is not None:
                return builtin
            helper = self._helper(node, node.func)
            if helper is not None:
                return helper
        return self._leaf(node)

    def _builtin(self, node: ast.Call, name: str) -> Form | None:
        if lookup(self.scope, name) is not None or node.keywords:
            return None
        if name == "len":
            return self._leaf(node, natural=True)
        if name == "int" and len(node.args) == 1:
            if self._is_host(node):
                return self._host_int(node)
            return self._truncated(node, self.form(node.args[0]))
        if name in ("max", "min", "abs", "sum") and node.args:
            forms = [self.form(argument) for argument in node.args]
            if len(forms) == 1 and isinstance(forms[0], Vector):
                return self._reduced(node, name, forms[0])
            given = [form for form in forms if isinstance(form, Exact)]
            if len(given) != len(forms):
                raise NotArithmetic
            natural = (
                any(g.natural for g in given) if name == "max" else all(g.natural for g in given)
            )
            if not any(g.changed for g in given):
                return self._verbatim(node, natural=natural or name == "abs")
            return replace(called(name, *given), natural=natural or name == "abs")
        return None

    def _host_int(self, node: ast.Call) -> Exact:
        """`int(...)` of what NumPy or Python computes is a Python int already."""
        try:
            inner = self.form(node.args[0])
        except (NotExact, NotArithmetic, Shared):
            return self._verbatim(node)
        natural = (
            inner.top.natural
            if isinstance(inner, Ratio)
            else (isinstance(inner, Exact) and inner.natural)
        )
        return self._verbatim(node, natural=natural)

    def _helper(self, node: ast.Call, function: ast.Name) -> Exact | None:
        """A function in sight: its arguments, and what it returns, become integers."""
        value = lookup(self.scope, function.id)
        callee = next(iter(options(value))) if value is not None else None
        if not isinstance(callee, Function) or callee.module is not self.module:
            return None
        if not isinstance(callee.node, ast.FunctionDef) or node.keywords:
            return None
        given = [self.exact(a) for a in node.args if not isinstance(a, ast.Starred)]
        if len(given) != len(node.args):
            return None
        self._translate_returns(node, callee)
        if not any(argument.changed for argument in given):
            return self._verbatim(node)
        return called(self.module.segment(node.func), *given)

    def _translate_returns(self, node: ast.Call, callee: Function) -> None:
        assert isinstance(callee.node, ast.FunctionDef)
        inner = Translator(self.module, callee.scope, self.bindings, self.positive)
        edits: dict[tuple[int, int], Edit] = {}
        for statement in _returns(callee.node):
            made = inner.exact(statement)
            if made.changed:
                edits[self.module.span(statement)] = replacement(
                    self.module.span(statement), made.text
                )
        inner.edits.update(edits)
        if inner.edits and not self.bindings.helper_only_for_grids(callee.node):
            assert isinstance(node.func, ast.Name)
            raise Shared(node.func)
        self.join(inner)


def _constant(node: ast.expr) -> int | None:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _may_be_vector(node: ast.expr) -> bool:
    """Whether subscripting the expression may take an entry of a vector that is translated."""
    return isinstance(node, ast.Call | ast.BinOp | ast.Name | ast.Tuple | ast.List) or (
        isinstance(node, ast.Attribute) and node.attr == "shape"
    )


def _is_shape_entry(node: ast.Subscript) -> bool:
    return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"


def _returns(function: ast.FunctionDef) -> list[ast.expr]:
    """What a function returns, its inner functions aside."""
    found: list[ast.expr] = []
    stack: list[ast.AST] = list(function.body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Return) and node.value is not None:
            found.append(node.value)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            stack.extend(ast.iter_child_nodes(node))
    return found
