"""Expressions of a kernel or an index map."""

from __future__ import annotations

import ast

from pallas_static_grid.analysis.symbolic import Num, Sym, op
from pallas_static_grid.analysis.walk_lookups import Lookups
from pallas_static_grid.analysis.walk_names import (
    is_something,
    known_truth,
    merge,
    on_the_step,
    unary,
)
from pallas_static_grid.analysis.walk_state import MAX_NODES, MAX_UNROLLED
from pallas_static_grid.analysis.walk_values import (
    Constant,
    Env,
    Func,
    Items,
    Record,
    Scalar,
    Thing,
)


class Expressions(Lookups):
    """Evaluating expressions."""

    def evaluate(self, node: ast.expr, env: Env) -> Thing:
        """What an expression is."""
        self.nodes += 1
        if self.nodes > MAX_NODES:
            self.always = False
            return Thing()
        match node:
            case ast.Constant(value=bool() | None | str() as value):
                return Constant(value)
            case ast.Constant(value=int(value)):
                return Scalar(Num(value))
            case ast.Constant(value=value):
                return Constant(value)
            case ast.Name(id=name):
                return self.look_up(name, env)
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                return self._display(elts, env)
            case ast.Attribute(value=base, attr=attr):
                return self.attribute(self.evaluate(base, env), attr)
            case ast.Subscript(value=base, slice=index):
                return self.subscript(node, self.evaluate(base, env), index, env)
            case ast.Call():
                return self.call_expression(node, env)
            case ast.BinOp(left=left, op=operator, right=right):
                return self.binary(operator, self.evaluate(left, env), self.evaluate(right, env))
            case ast.UnaryOp(op=operator, operand=operand):
                return unary(operator, self.evaluate(operand, env))
            case ast.Compare():
                return self._compare(node, env)
            case ast.BoolOp(op=operator, values=parts):
                return self._bool(operator, parts, env)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._either(test, body, orelse, env)
            case ast.Lambda():
                return Func(node, env)
            case ast.NamedExpr(target=target, value=value):
                thing = self.evaluate(value, env)
                self.assign(target, thing, env)
                return thing
            case ast.Slice():
                return self.window(node, env)
            case ast.Starred(value=value):
                return self.evaluate(value, env)
            case ast.Dict(keys=keys, values=items) if all(
                isinstance(k, ast.Constant) and isinstance(k.value, str) for k in keys
            ):
                names = [k.value for k in keys if isinstance(k, ast.Constant)]
                things = [self.evaluate(i, env) for i in items]
                return Record({str(n): t for n, t in zip(names, things, strict=True)})
            case ast.ListComp() | ast.GeneratorExp() | ast.SetComp() | ast.DictComp():
                return self._comprehension(node, env)
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self.evaluate(child, env)
                return Thing()

    def _comprehension(
        self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp, env: Env
    ) -> Thing:
        inner = Env(dict(env.names), env.parent, env.scope, env.module)
        first = self.evaluate(node.generators[0].iter, env)
        simple = len(node.generators) == 1 and not node.generators[0].ifs
        if (
            isinstance(first, Items)
            and simple
            and isinstance(node, ast.ListComp | ast.GeneratorExp)
            and len(first.items) <= MAX_UNROLLED
        ):
            out = []
            for item in first.items:
                self.assign(node.generators[0].target, item, inner)
                out.append(self.evaluate(node.elt, inner))
            return Items(tuple(out))
        always, self.always = self.always, False
        for generator in node.generators:
            self.assign(generator.target, Thing(), inner)
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        for part in parts:
            self.evaluate(part, inner)
        self.always = always
        return Thing()

    def _display(self, elts: list[ast.expr], env: Env) -> Thing:
        out: list[Thing] = []
        for element in elts:
            thing = self.evaluate(element, env)
            if not isinstance(element, ast.Starred):
                out.append(thing)
            elif isinstance(thing, Items):
                out.extend(thing.items)
            else:
                return Thing()
        return Items(tuple(out))

    def _either(self, test: ast.expr, body: ast.expr, orelse: ast.expr, env: Env) -> Thing:
        truth = known_truth(self.evaluate(test, env))
        if truth is not None:
            return self.evaluate(body if truth else orelse, env)
        always, self.always = self.always, False
        one, other = self.evaluate(body, env), self.evaluate(orelse, env)
        self.always = always
        return merge(one, other)

    def _bool(self, operator: ast.boolop, parts: list[ast.expr], env: Env) -> Thing:
        always = self.always
        stop = isinstance(operator, ast.Or)
        result: Thing = Thing()
        for part in parts:
            result = self.evaluate(part, env)
            truth = known_truth(result)
            if truth is stop:
                break
            if truth is None:
                self.always = False
        else:
            result = result if self.always == always else Thing()
        self.always = always
        return result

    def _compare(self, node: ast.Compare, env: Env) -> Thing:
        left = self.evaluate(node.left, env)
        rights = [self.evaluate(c, env) for c in node.comparators]
        if len(rights) != 1:
            return Thing()
        right = rights[0]
        match node.ops[0]:
            case ast.Is() | ast.IsNot() | ast.Eq() | ast.NotEq() if isinstance(right, Constant):
                if isinstance(left, Constant):
                    same = left.value is right.value or left.value == right.value
                elif right.value is None and is_something(left):
                    same = False
                else:
                    return Thing()
                return Constant(same == isinstance(node.ops[0], ast.Is | ast.Eq))
            case operator if isinstance(left, Scalar) and isinstance(right, Scalar):
                return self._compared(operator, left.sym, right.sym)
            case _:
                return Thing()

    def _compared(self, operator: ast.cmpop, left: Sym, right: Sym) -> Thing:
        """A comparison, where it comes out the same on every step."""
        one = Num(1)
        match operator:
            case ast.Lt():
                below = self._known(op("add", left, one), right, right, left)
            case ast.GtE():
                below = self._known(right, left, op("add", left, one), right)
            case ast.LtE():
                below = self._known(left, right, op("add", right, one), left)
            case ast.Gt():
                below = self._known(op("add", right, one), left, left, right)
            case ast.Eq() | ast.NotEq():
                gap = op("sub", left, right)
                if not isinstance(gap, Num):
                    return Thing()
                below = (gap.value == 0) == isinstance(operator, ast.Eq)
            case _:
                below = None
        return Thing() if below is None else Constant(below)

    def _known(self, a: Sym, b: Sym, c: Sym, d: Sym) -> bool | None:
        """True if `a <= b` is known, False if `c <= d` is."""
        gaps = (op("sub", a, b), op("sub", c, d))
        for gap, answer in zip(gaps, (True, False), strict=True):
            if isinstance(gap, Num) and gap.value <= 0:
                return answer
        if self.at_most is not None and self.always and on_the_step(a, b):
            rounds = self.unknown_rounds()
            if self.at_most(a, b, rounds):
                return True
            if self.at_most(c, d, rounds):
                return False
        return None
