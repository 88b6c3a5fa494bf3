"""What follows from a test: narrower values and facts."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from pallas_static_grid.analysis.interpret.expressions import Expressions
from pallas_static_grid.analysis.scopes import Fact
from pallas_static_grid.analysis.symbolic import Num
from pallas_static_grid.analysis.values import (
    Class,
    Const,
    Dict,
    Float,
    Function,
    Int,
    Partial,
    Returning,
    Sequence,
    Transformed,
    Tuple,
    Union,
    Unknown,
    Value,
    is_part,
    options,
)


class Narrowing(Expressions):
    """What follows from a test: narrower values and facts."""

    def narrow(self, test: ast.expr, outcome: bool) -> None:
        """What follows for names and facts from `test` being true or false."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self.narrow(operand, not outcome)
            case ast.BoolOp(op=ast.And(), values=values) if outcome:
                for value in values:
                    self.narrow(value, True)
            case ast.BoolOp(op=ast.Or(), values=values) if not outcome:
                for value in values:
                    self.narrow(value, False)
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                operands = [left, *comparators]
                if outcome or len(ops) == 1:
                    for a, operator, b in zip(operands, ops, operands[1:], strict=False):
                        self.narrow_compare(a, operator, b, outcome, test)
            case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), kind]):
                self.narrow_isinstance(name, kind, outcome)
            case ast.Call(func=ast.Name(id="callable"), args=[ast.Name(id=name)]):
                self.narrow_options(
                    name,
                    lambda option: (
                        isinstance(option, _CALLABLE) == outcome
                        or isinstance(option, Unknown)
                        or is_part(option)
                    ),
                )
            case ast.Name(id=name):
                self.narrow_truth(name, outcome)
            case ast.BinOp(op=ast.Mod()) if not outcome:
                self.add_divides(test, test)
            case _:
                pass

    def narrow_compare(
        self, left: ast.expr, operator: ast.cmpop, right: ast.expr, outcome: bool, node: ast.AST
    ) -> None:
        """Facts from one comparison."""
        if (
            isinstance(operator, ast.Is | ast.IsNot | ast.Eq | ast.NotEq)
            and isinstance(right, ast.Constant)
            and right.value is None
        ):
            positive = isinstance(operator, ast.Is | ast.Eq) == outcome
            if isinstance(left, ast.Name):
                self.narrow_none(left.id, positive)
            return
        kind = _COMPARE.get((type(operator), outcome))
        if kind is None:
            return
        if kind == "eq" and isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mod):
            zero = self.eval(right)
            if isinstance(zero, Int) and zero.expr == Num(0):
                self.add_divides(left, node)
        a, b = self.scalar(self.eval(left)), self.scalar(self.eval(right))
        if a is not None and b is not None:
            step = self.step(
                node, f"`{self.segment(left)}` and `{self.segment(right)}` are compared here"
            )
            self.scope.facts.append(Fact(kind, a, b, step))

    def add_divides(self, test: ast.BinOp, node: ast.AST) -> None:
        """`a % b == 0` holds from here on."""
        a, b = self.scalar(self.eval(test.left)), self.scalar(self.eval(test.right))
        if a is not None and b is not None:
            text = f"`{self.segment(test.right)}` divides `{self.segment(test.left)}`"
            self.scope.facts.append(Fact("divides", a, b, self.step(node, text)))

    def narrow_none(self, name: str, is_none: bool) -> None:
        """`name is None` is `is_none`."""
        value = self.scope.names.get(name)
        if value is None:
            return
        kept: list[Value] = []
        for option in options(value):
            none = isinstance(option, Const) and option.value is None
            if isinstance(option, Unknown) or is_part(option):
                kept.append(Const(None, trace=option.trace) if is_none else option)
            elif none == is_none:
                kept.append(option)
        if kept:
            self.scope.names[name] = (
                kept[0] if len(kept) == 1 else Union(tuple(kept), trace=value.trace)
            )

    def narrow_truth(self, name: str, outcome: bool) -> None:
        """`if name:` took the branch `outcome`."""
        value = self.scope.names.get(name)
        if isinstance(value, Union) and outcome:
            kept = [o for o in value.options if not (isinstance(o, Const) and not o.value)]
            if kept and len(kept) < len(value.options):
                self.scope.names[name] = (
                    kept[0] if len(kept) == 1 else replace(value, options=tuple(kept))
                )

    def narrow_options(self, name: str, keep: Callable[[Value], bool]) -> None:
        """Keep the alternatives of a name that a test lets through."""
        value = self.scope.names.get(name)
        if value is None:
            return
        kept = [option for option in options(value) if keep(option)]
        if kept:
            self.scope.names[name] = (
                kept[0] if len(kept) == 1 else Union(tuple(kept), trace=value.trace)
            )

    def narrow_isinstance(self, name: str, kind: ast.expr, outcome: bool) -> None:
        """`isinstance(name, kind)` is `outcome`."""
        value = self.scope.names.get(name)
        if value is None:
            return
        wanted = self.segment(kind)
        kept: list[Value] = []
        for option in options(value):
            if wanted == "int" and isinstance(option, Unknown):
                if outcome:
                    atom = self.fresh(name, static=True)
                    kept.append(Int(atom, trace=option.trace))
                else:
                    kept.append(option)
            elif (
                wanted in _KINDS
                and not isinstance(option, Unknown)
                and not is_part(option)
                and (isinstance(option, _KINDS[wanted]) != outcome)
            ):
                continue
            else:
                kept.append(option)
        if kept:
            self.scope.names[name] = (
                kept[0] if len(kept) == 1 else Union(tuple(kept), trace=value.trace)
            )


_CALLABLE = (Function, Partial, Transformed, Returning, Class)


_KINDS: dict[str, type[Value] | tuple[type[Value], ...]] = {
    "int": Int,
    "float": Float,
    "tuple": (Tuple, Sequence),
    "list": (Tuple, Sequence),
    "(list, tuple)": (Tuple, Sequence),
    "(tuple, list)": (Tuple, Sequence),
    "dict": Dict,
}


_COMPARE: dict[tuple[type[ast.cmpop], bool], str] = {
    (ast.Eq, True): "eq",
    (ast.NotEq, False): "eq",
    (ast.LtE, True): "le",
    (ast.Gt, False): "le",
    (ast.Lt, True): "lt",
    (ast.GtE, False): "lt",
    (ast.GtE, True): "ge",
    (ast.Lt, False): "ge",
    (ast.Gt, True): "gt",
    (ast.LtE, False): "gt",
}
