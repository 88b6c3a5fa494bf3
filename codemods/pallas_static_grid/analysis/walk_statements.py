"""Statements of a kernel or an index map."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_static_grid.analysis.symbolic import Num, Sym, is_static, op
from pallas_static_grid.analysis.walk_names import (
    as_load,
    known_truth,
    leaves_loop,
    merge_names,
    stored_names,
    unpacked,
)
from pallas_static_grid.analysis.walk_state import MAX_NODES, MAX_UNROLLED
from pallas_static_grid.analysis.walk_subscripts import Subscripts
from pallas_static_grid.analysis.walk_values import (
    Constant,
    Env,
    Func,
    Items,
    Loop,
    Ref,
    Scalar,
    Thing,
    View,
)


class Statements(Subscripts):
    """Walking statements."""

    def block(self, statements: list[ast.stmt], env: Env) -> bool:
        """Walk statements; False if the end is certainly not reached."""
        return all(self.statement(statement, env) for statement in statements)

    def statement(self, node: ast.stmt, env: Env) -> bool:
        """Walk one statement; False if what follows is certainly not reached."""
        self.nodes += 1
        if self.nodes > MAX_NODES:
            self.always = False
            return False
        match node:
            case ast.Expr(value=value):
                self.evaluate(value, env)
            case ast.Assign(targets=targets, value=value):
                thing = self.evaluate(value, env)
                for target in targets:
                    self.assign(target, thing, env)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.assign(target, self.evaluate(value, env), env)
            case ast.AugAssign():
                self._augmented(node, env)
            case ast.Return(value=value):
                thing = Constant(None) if value is None else self.evaluate(value, env)
                self.returned[-1].append(thing)
                return False
            case ast.If():
                return self._if(node, env)
            case ast.For():
                self._for(node, env)
            case ast.While(test=test, body=body, orelse=orelse):
                self.evaluate(test, env)
                self._sometimes([*body, *orelse], env)
            case ast.With(items=items, body=body):
                for item in items:
                    thing = self.evaluate(item.context_expr, env)
                    if item.optional_vars is not None:
                        self.assign(item.optional_vars, thing, env)
                return self.block(body, env)
            case ast.Try(body=body, orelse=orelse, finalbody=final, handlers=handlers):
                falls = self.block([*body, *orelse], env)
                for handler in handlers:
                    self._sometimes(handler.body, env)
                return self.block(final, env) and falls
            case ast.FunctionDef():
                self._define(node, env)
            case ast.Raise():
                return False
            case ast.Assert(test=test):
                self.evaluate(test, env)
            case ast.Nonlocal(names=names):
                env.nonlocals.update(names)
            case ast.Match(subject=subject, cases=cases):
                self.evaluate(subject, env)
                for case in cases:
                    self._sometimes(case.body, env)
                self.always = False
            case ast.Break() | ast.Continue():
                self.always = False
            case _:
                pass
        return True

    def _if(self, node: ast.If, env: Env) -> bool:
        test = self.evaluate(node.test, env)
        truth = known_truth(test)
        if truth is not None:
            return self.block(node.body if truth else node.orelse, env)
        before, always = dict(env.names), self.always
        ends: list[dict[str, Thing]] = []
        returned = len(self.returned[-1])
        for body in (node.body, node.orelse):
            env.names, self.always = dict(before), False
            if self.block(body, env):
                ends.append(env.names)
        # A `return` anywhere inside may have left the function.
        left = len(self.returned[-1]) > returned
        self.always = always and not left and not leaves_loop([*node.body, *node.orelse])
        env.names = ends[0] if ends else before
        for other in ends[1:]:
            env.names = merge_names(env.names, other)
        return bool(ends)

    def _sometimes(self, body: list[ast.stmt], env: Env) -> None:
        """Walk code that may run never, once or often."""
        before, always = dict(env.names), self.always
        self.always = False
        for name in stored_names(body):
            if name in env.names:
                env.names[name] = Thing()
        returned = len(self.returned[-1])
        self.block(body, env)
        env.names = merge_names(before, env.names)
        self.always = always and len(self.returned[-1]) == returned

    def _for(self, node: ast.For, env: Env) -> None:
        iterable = self.evaluate(node.iter, env)
        plain = not any(isinstance(n, ast.Break | ast.Continue) for n in ast.walk(node))
        if isinstance(iterable, Items) and plain and len(iterable.items) <= MAX_UNROLLED:
            for item in iterable.items:
                self.assign(node.target, item, env)
                self.block(node.body, env)
            self.block(node.orelse, env)
            return
        if isinstance(iterable, Items) and iterable.items and plain:
            self.assign(node.target, iterable.items[0], env)
            self.block(node.body, env)
        elif isinstance(iterable, Loop) and plain:
            for index in self.ends(iterable):
                before = dict(env.names)
                self.assign(node.target, Scalar(index), env)
                self.block(node.body, env)
                env.names = merge_names(before, env.names)
                self.rounds.pop()
        self.assign(node.target, self._element(iterable), env)
        self._sometimes(node.body, env)
        self.block(node.orelse, env)

    def ends(self, loop: Loop) -> Iterator[Sym]:
        """The first and the last index of a loop with a static number of rounds.

        While an index is in use, the number is on the list of `rounds`.
        """
        low, high = loop.low, loop.high
        if low is None or high is None or not (is_static(low) and is_static(high)):
            return
        count = op("sub", high, low)
        if isinstance(count, Num) and count.value < 1:
            return
        for index in (low, op("sub", high, Num(1))):
            self.rounds.append(count)
            yield index

    def _element(self, iterable: Thing) -> Thing:
        if isinstance(iterable, Loop):
            return self.fresh("a loop index", iterable.low)
        if isinstance(iterable, Items) and all(isinstance(i, Scalar) for i in iterable.items):
            return self.fresh("a loop index")
        return Thing()

    def _define(self, node: ast.FunctionDef, env: Env) -> None:
        func = Func(node, env)
        thing: Thing = func
        for decorator in reversed(node.decorator_list):
            thing = self.apply(self.evaluate(decorator, env), (thing,), {}, decorator, env)
        env.names[node.name] = thing if isinstance(thing, Func | Constant) else func

    def _augmented(self, node: ast.AugAssign, env: Env) -> None:
        right = self.evaluate(node.value, env)
        load = as_load(node.target)
        left = self.evaluate(load, env)
        self.assign(node.target, self.binary(node.op, left, right), env)

    def assign(self, target: ast.expr, thing: Thing, env: Env) -> None:
        """Bind a target, or write through a ref."""
        match target:
            case ast.Name(id=name):
                self._bind_name(name, thing, env)
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                for element, part in zip(elts, unpacked(thing, elts), strict=True):
                    inner = element.value if isinstance(element, ast.Starred) else element
                    self.assign(inner, part, env)
            case ast.Subscript(value=base, slice=index):
                owner = self.evaluate(base, env)
                at = self.indices(index, env)
                if isinstance(owner, Ref | View):
                    self.touch(owner, at, "write", target, env.module)
            case _:
                pass

    def _bind_name(self, name: str, thing: Thing, env: Env) -> None:
        home = env
        if name in env.nonlocals:
            while home.parent is not None and name not in home.parent.names:
                home = home.parent
            home = home.parent or env
            thing = Thing()
        home.names[name] = thing
