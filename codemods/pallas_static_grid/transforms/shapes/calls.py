"""Calls of library functions, as operators and builtins."""

from __future__ import annotations

import ast
from dataclasses import replace

from pallas_static_grid.analysis.scopes import Scope
from pallas_static_grid.transforms.shapes.arithmetic import WRAPS, Arithmetic
from pallas_static_grid.transforms.shapes.canonical import array_function
from pallas_static_grid.transforms.shapes.exact import (
    POWER,
    UNARY,
    Exact,
    Form,
    NotArithmetic,
    NotExact,
    Ratio,
    Vector,
    called,
    marked,
)
from pallas_static_grid.transforms.shapes.functions import (
    INEXACT,
    INTEGER_TYPES,
    NARROW,
    REDUCTIONS,
    SAME,
    UNSIGNED,
)


class Calls(Arithmetic):
    """Calls of functions and methods of NumPy, `jnp`, `lax`, `pl` and `math`."""

    __slots__ = ()

    def _method(self, node: ast.Call, function: ast.Attribute) -> Form | None:
        name = function.attr
        if name not in ("astype", "item", *REDUCTIONS) or array_function(function, self.scope):
            return None
        if name == "astype":
            inner = self.form(function.value)
            self._check_type(node, node.args[0] if node.args else None, inner)
            return self._truncated(node, inner)
        if node.args or node.keywords:
            return None
        if name == "item":
            return replace(self.exact(function.value), changed=True)
        return self._reduced(node, name, self.form(function.value))

    def _check_type(self, node: ast.expr, dtype: ast.expr | None, inner: Form) -> None:
        """Insist on an integer type that holds the value."""
        name = _type_name(dtype, self.scope)
        if name is None or name not in INTEGER_TYPES:
            raise NotExact(node, "a conversion to a type that is not known to be an integer")
        self._check_width(node, name, inner)

    def _check_width(self, node: ast.expr, name: str, inner: Form) -> None:
        if name in NARROW:
            raise NotExact(node, f"`{name}` is too narrow: the value may wrap")
        if name in UNSIGNED and not (isinstance(inner, Exact) and inner.natural):
            raise NotExact(node, f"`{name}` wraps negative values")

    def _library(self, node: ast.Call, name: str, numpy: bool) -> Form:
        if name in INEXACT:
            self._arguments_known(node)
            raise NotExact(node, f"`{self.module.segment(node.func)}` rounds: {INEXACT[name]}")
        if name in ("size", "ndim", "math.prod", "math.isqrt", "math.gcd"):
            return self._leaf(node, natural=True)
        if name == "shape":
            self._refuse_traced(node)
            return Vector(None, self.module.segment(node))
        arguments = self._positional(node, name)
        if name in INTEGER_TYPES:
            self._check_width(node, name, arguments[0])
            return self._truncated(node, arguments[0])
        if name in ("array", "asarray"):
            for keyword in node.keywords:
                self._check_type(node, keyword.value, arguments[0])
            if len(node.args) > 1:
                self._check_type(node, node.args[1], arguments[0])
            if isinstance(arguments[0], Ratio):
                return arguments[0]
            return marked(arguments[0])
        if name in REDUCTIONS:
            if node.keywords:
                raise NotArithmetic
            return self._reduced(node, name, arguments[0])
        return self._arithmetic(node, name, numpy, arguments)

    def _positional(self, node: ast.Call, name: str) -> list[Form]:
        """The arguments; a dtype behind an array's value is looked at elsewhere."""
        if name in ("array", "asarray"):
            if not node.args or {k.arg for k in node.keywords} - {"dtype"}:
                raise NotArithmetic
            return [self.form(node.args[0])]
        if node.keywords and name not in REDUCTIONS:
            raise NotArithmetic
        if any(isinstance(argument, ast.Starred) for argument in node.args) or not node.args:
            raise NotArithmetic
        if name == "where":
            return [self.form(argument) for argument in node.args[1:]]
        return [self.form(argument) for argument in node.args]

    def _arguments_known(self, node: ast.Call) -> None:
        """Insist that the arguments are shapes: else the call is none of this module's business."""
        for argument in node.args:
            self.form(argument)

    def _arithmetic(self, node: ast.Call, name: str, numpy: bool, arguments: list[Form]) -> Form:
        short = SAME.get(name)
        if name in ("ceil", "math.ceil", "lax.ceil", "floor", "math.floor", "lax.floor"):
            return self._rounded(node, name.rpartition(".")[2], numpy, arguments[0])
        if name in ("trunc", "fix"):
            return self._truncated(node, arguments[0])
        if name in ("divide", "true_divide") and len(arguments) == 2:
            top, bottom = arguments
            if isinstance(top, Exact) and isinstance(bottom, Exact):
                return Ratio(top, bottom, node)
        elif short is not None and len(arguments) == 2:
            if name in ("lax.div", "lax.rem", "fmod"):
                self._insist_on_signs(node, arguments)
            if short == "*" and not self._is_host(node):
                self.notes.setdefault(WRAPS)
            return self._signed(node, short, arguments[0], arguments[1])
        else:
            made = self._function(node, name, [a for a in arguments if isinstance(a, Exact)])
            if made is not None and all(isinstance(a, Exact) for a in arguments):
                return made
        raise NotArithmetic

    def _function(self, node: ast.Call, name: str, given: list[Exact]) -> Exact | None:
        """Functions that become a builtin or an operator."""
        match name, given:
            case (("minimum" | "fmin" | "lax.min"), [a, b]):
                made = called(self._builtin_name(node, "min"), a, b)
                return replace(made, natural=a.natural and b.natural)
            case (("maximum" | "fmax" | "lax.max"), [a, b]):
                made = called(self._builtin_name(node, "max"), a, b)
                return replace(
                    made, natural=a.natural or b.natural, positive=a.positive or b.positive
                )
            case "clip", [a, low, high]:
                inner = called(self._builtin_name(node, "max"), a, low)
                made = called(self._builtin_name(node, "min"), inner, high)
                return replace(made, natural=(a.natural or low.natural) and high.natural)
            case "lax.clamp", [low, a, high]:
                return self._function(node, "clip", [a, low, high])
            case (("abs" | "absolute" | "lax.abs"), [a]):
                return replace(called(self._builtin_name(node, "abs"), a), natural=True)
            case (("negative" | "lax.neg"), [a]):
                return Exact(f"-{a.within(UNARY)}", UNARY, changed=True)
            case "square", [a]:
                return Exact(f"{a.within(0)} ** 2", POWER, True, a.positive, changed=True)
            case (("power" | "lax.pow"), [a, b]):
                return self._power(node, a, b)
            case "where", [a, b]:
                return self._choice(self._condition(node.args[0]), a, b)
            case "pl.cdiv", [a, b]:
                return self._divided_up(node, a, b)
            case _:
                return None

    def _divided_up(self, node: ast.Call, top: Exact, bottom: Exact) -> Exact:
        if not (top.changed or bottom.changed):
            return self._verbatim(node, natural=top.natural)
        text = f"{self.module.segment(node.func)}({top.text}, {bottom.text})"
        return Exact(text, natural=top.natural, positive=top.positive, changed=True)

    def _condition(self, node: ast.expr) -> str:
        """A comparison of lengths, which Python decides while tracing."""
        if not isinstance(node, ast.Compare) or len(node.ops) != 1:
            raise NotArithmetic
        for side in (node.left, *node.comparators):
            if self.exact(side).changed:
                raise NotArithmetic
        return self.module.segment(node)

    def _insist_on_signs(self, node: ast.Call, arguments: list[Form]) -> None:
        top, bottom = arguments
        natural = isinstance(top, Exact) and top.natural
        if not (natural and isinstance(bottom, Exact) and bottom.positive):
            name = self.module.segment(node.func)
            raise NotExact(
                node,
                f"`{name}` rounds towards zero, Python's division down, and nothing in sight says "
                "that the operands are not negative",
                of_signs=True,
            )


def _type_name(node: ast.expr | None, scope: Scope | None) -> str | None:
    match node:
        case ast.Constant(value=str(name)):
            return name
        case ast.Name(id="int"):
            return "int"
        case None:
            return None
        case _:
            found = array_function(node, scope)
            return found[0] if found is not None else None
