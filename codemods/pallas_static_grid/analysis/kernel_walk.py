"""Walk a kernel or an index map: what does it touch, where, and on every step or only on some?

The walk follows helpers, closures, `pl.when`, loops and copies in progress. It is conservative
about `always`: whatever may be skipped (a branch, a loop that may be empty, code after an early
return, an operand of a `where`) does not count as reached on every step.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from pallas_static_grid.analysis.symbolic import Sym
from pallas_static_grid.analysis.walk_calls import chosen, known_call, lazily, method_call
from pallas_static_grid.analysis.walk_names import (
    bind,
    forget_changed,
    forget_nonlocals,
    known_truth,
    merge,
)
from pallas_static_grid.analysis.walk_state import MAX_DEPTH, MAX_NODES
from pallas_static_grid.analysis.walk_statements import Statements
from pallas_static_grid.analysis.walk_values import (
    Constant,
    Env,
    Func,
    Items,
    Known,
    Loop,
    Method,
    Record,
    Scalar,
    Thing,
    When,
)


class Walk(Statements):
    """One walk; `accesses` holds what was touched, in order."""

    def call(self, func: Func, args: Sequence[Thing], kwargs: dict[str, Thing]) -> Thing:
        """Run a function's body and give what it returns."""
        if self.depth >= MAX_DEPTH or self.nodes > MAX_NODES:
            return Thing()
        names = bind(func.node, (*func.args, *args), {**func.kwargs, **kwargs})
        if names is None:
            return Thing()
        for name, default in self._defaults(func, names).items():
            names[name] = default
        env = Env(names, func.env, None, func.env.module)
        self.depth += 1
        before = self.always
        self.returned.append([])
        try:
            if isinstance(func.node, ast.Lambda):
                return self.evaluate(func.node.body, env)
            falls = self.block(func.node.body, env)
            results = self.returned[-1]
            if falls:
                results = [*results, Constant(None)]
            out = results[0]
            for other in results[1:]:
                out = merge(out, other)
            return out
        finally:
            self.returned.pop()
            self.depth -= 1
            self.always = before

    def _defaults(self, func: Func, names: dict[str, Thing]) -> dict[str, Thing]:
        args = func.node.args
        positional = [*args.posonlyargs, *args.args]
        late = positional[len(positional) - len(args.defaults) :]
        pairs = [*zip(late, args.defaults, strict=True)]
        pairs += [(a, d) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d]
        return {
            arg.arg: self.evaluate(default, func.env)
            for arg, default in pairs
            if arg.arg not in names
        }

    def call_expression(self, node: ast.Call, env: Env) -> Thing:
        """A call as it is written."""
        func = self.evaluate(node.func, env)
        if isinstance(func, Method) and isinstance(func.owner, Items | Record):
            forget_changed(node.func, func, env)
        if isinstance(func, Known) and lazily(func.name):
            return self._choice(node, func, env)
        args, kwargs = self._arguments(node, env)
        return self.apply(func, args, kwargs, node, env)

    def _choice(self, node: ast.Call, func: Known, env: Env) -> Thing:
        """`where` and its like: what is not chosen may be out of range, it is thrown away."""
        self.calls.append((func.name, node, env.module))
        if len(node.args) != 3 or node.keywords:
            args, kwargs = self._arguments(node, env)
            return known_call(self, func.name, args, kwargs, node, env)
        test = self.evaluate(node.args[0], env)
        taken = chosen(func.name, known_truth(test))
        parts = [test]
        for index, arg in enumerate(node.args[1:], 1):
            always = self.always
            self.always = always and taken == index
            parts.append(self.evaluate(arg, env))
            self.always = always
        return known_call(self, func.name, tuple(parts), {}, node, env)

    def _arguments(self, node: ast.Call, env: Env) -> tuple[tuple[Thing, ...], dict[str, Thing]]:
        args: list[Thing] = []
        for arg in node.args:
            thing = self.evaluate(arg, env)
            if isinstance(arg, ast.Starred):
                args.extend(thing.items if isinstance(thing, Items) else (Thing(),))
            else:
                args.append(thing)
        kwargs: dict[str, Thing] = {}
        for keyword in node.keywords:
            thing = self.evaluate(keyword.value, env)
            if keyword.arg is not None:
                kwargs[keyword.arg] = thing
            elif isinstance(thing, Record):
                kwargs.update(thing.fields)
        return tuple(args), kwargs

    def apply(
        self,
        func: Thing,
        args: tuple[Thing, ...],
        kwargs: dict[str, Thing],
        node: ast.expr,
        env: Env,
    ) -> Thing:
        """The result of a call."""
        match func:
            case Func():
                return self.call(func, args, kwargs)
            case Known():
                self.calls.append((func.name, node, env.module))
                merged = {**func.kwargs, **kwargs}
                return known_call(self, func.name, (*func.args, *args), merged, node, env)
            case Method():
                return method_call(self, func, args, kwargs, node, env)
            case When():
                if args:
                    self.sometimes_call(args[0], (), certain=func.certain)
                return Thing()
            case Loop():
                if args:
                    self.loop_call(args[0], func.low, func.high, ())
                return Constant(None)
            case _:
                return Thing()

    def sometimes_call(self, thing: Thing, args: tuple[Thing, ...], *, certain: bool) -> Thing:
        """Call a function that may not run."""
        if not isinstance(thing, Func):
            return Thing()
        always = self.always
        self.always = always and certain
        result = self.call(thing, args, {})
        self.always = always
        if not certain:
            forget_nonlocals(thing)
        return result

    def loop_call(
        self, thing: Thing, low: Sym | None, high: Sym | None, carry: tuple[Thing, ...]
    ) -> None:
        """Call a loop body for its first, its last and any index."""
        if not isinstance(thing, Func):
            return
        blank = tuple(Thing() for _ in carry)
        given = carry
        for index in self.ends(Loop(low, high)):
            self.call(thing, (Scalar(index), *given), {})
            self.rounds.pop()
            given = blank
        always, self.always = self.always, False
        self.call(thing, (self.fresh("a loop index", low), *blank), {})
        self.always = always


__all__ = ["Walk"]
