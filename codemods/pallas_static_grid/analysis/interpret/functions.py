"""Calling functions in sight."""

from __future__ import annotations

import ast
from dataclasses import replace

from pallas_static_grid.analysis import reach
from pallas_static_grid.analysis.interpret.binding import bind_call
from pallas_static_grid.analysis.interpret.contexts import Context
from pallas_static_grid.analysis.interpret.joins import forget, freeze, identity
from pallas_static_grid.analysis.interpret.machine import Frame, Handed
from pallas_static_grid.analysis.interpret.mutation import (
    DICT_METHODS,
    LIST_METHODS,
    called_method,
    is_place,
    set_attribute,
)
from pallas_static_grid.analysis.interpret.recording import Recording
from pallas_static_grid.analysis.interpret.tracing import traced
from pallas_static_grid.analysis.scopes import Scope
from pallas_static_grid.analysis.values import (
    Const,
    Dict,
    Function,
    Instance,
    Launcher,
    Partial,
    Sequence,
    Trace,
    Tuple,
    Union,
    Unknown,
    Value,
    options,
)
from pallas_static_grid.model import Step

MAX_DEPTH = 24
# How many statements are run for a file before its calls are no longer followed.
MAX_STATEMENTS = 25_000
# The same for one function that is run for its launches.
MAX_RUN_STATEMENTS = 4_000
# From here on, calls with the same arguments are not followed twice.
MANY_STATEMENTS = 4_000
# How often a body is entered again before its result is guessed from its other returns.
MAX_RECURSION = 6


class Functions(Recording):
    """Calling functions in sight."""

    def call_function(
        self,
        function: Function,
        args: list[Value],
        kwargs: dict[str, Value] | None = None,
        call: ast.Call | None = None,
        *,
        starred: Value | None = None,
        double_starred: Value | None = None,
    ) -> Value:
        """What a function in sight returns for these arguments; records nothing of its body."""
        kwargs = kwargs or {}
        node = function.node
        bound = bind_call(self, function, args, kwargs, starred, double_starred)
        if not self.muted and function.module is self.module:
            self.record_context(function, bound, call)
        elif self.target is not None and function.module.file == self.target:
            where = call if call is not None else function.node
            step = self.step(where, f"`{function.name}` is called here")
            self.target_calls.append((function.qualname, Context(dict(bound), step)))
        if call is not None:
            for value, source in _given(args, kwargs, starred, double_starred, call):
                entry = Handed(value, node, call, self.frame, source)
                self.handed.setdefault(id(value), []).append(entry)
        if (
            self.statements > MAX_STATEMENTS
            or self.statements - self.run_start > MAX_RUN_STATEMENTS
        ):
            reason = f"`{function.name}` is not followed: it takes too many steps to get there"
            return Unknown(reason, trace=self.trace(call or node, reason))
        running = sum(frame.scope.node is node for frame in self.frames)
        if running > MAX_RECURSION or len(self.frames) > MAX_DEPTH:
            self.recursed.add(node)
            guess = self.guesses.get(node)
            return (
                guess
                if guess is not None
                else Unknown(
                    f"`{function.name}` calls itself",
                    trace=self.trace(call or node, f"`{function.name}` calls itself"),
                )
            )
        key = self.memo_key(function, bound)
        if key is not None and key in self.memo:
            return self.memo[key][0]
        before = self.mutations
        result = self.inline(function, bound, call)
        if key is not None and self.mutations == before:
            # The arguments are kept too: keys hold identities of what must not be freed.
            self.memo[key] = (result, bound)
        if node in self.recursed and not self.guesses.get(node):
            result = self.recursive(function, bound, call, result)
        return result

    def memo_key(self, function: Function, bound: dict[str, Value]) -> object | None:
        """What a call's result depends on; None where the call does more than give a result.

        Only in files that take many steps: a kept result has the chain of the first such call.
        """
        if (
            self.statements < MANY_STATEMENTS
            or self.differentiating
            or function.node in self.reaching
        ):
            return None
        args = tuple((name, identity(value)) for name, value in bound.items())
        return (self.run_id, id(function.node), id(function.scope), args)

    def recursive(
        self, function: Function, bound: dict[str, Value], call: ast.Call | None, first: Value
    ) -> Value:
        """The result of a function that calls itself: a guess from the other returns, checked."""
        node = function.node
        need = f"`{function.name}` calls itself"
        known = [o for o in options(first) if not (isinstance(o, Unknown) and o.need == need)]
        if not known:
            return first
        guess = forget(self.join_values(known), self.fresh)
        self.guesses[node] = guess
        try:
            names = {k: forget(v, self.fresh) for k, v in bound.items()}
            again = forget(self.inline(function, names, call), self.fresh)
        finally:
            self.guesses[node] = None
            self.recursed.discard(node)
        return replace(guess, trace=first.trace) if freeze(again) == freeze(guess) else again

    def inline(self, function: Function, bound: dict[str, Value], call: ast.Call | None) -> Value:
        """Run a body for what it returns."""
        node = function.node
        scope = Scope(function.scope, node, function.qualname)
        frame = Frame(
            scope,
            function.module,
            node,
            canonical=False,
            call=call,
            caller=self.frame,
            moment=function.moment,
            root=self.frame.root,
        )
        if node not in self.generators:
            self.generators[node] = reach.is_generator(node)
        frame.yields = self.generators[node]
        saved = self.differentiating
        if function.custom_rule:
            self.differentiating = []
        self.frames.append(frame)
        depth = len(self.frames)
        try:
            for name, value in bound.items():
                self.bind(scope, name, value)
            self.body(node)
        except RecursionError:
            del self.frames[depth:]
            reason = f"`{function.name}` calls too deeply to be followed"
            return Unknown(reason, trace=self.trace(call or node, reason))
        finally:
            self.frames.pop()
            self.differentiating = saved
        if frame.yields:
            if frame.yielded:
                return Sequence(self.join_values(frame.yielded))
            return Unknown(f"`{function.name}` yields nothing in sight")
        if not frame.returns:
            return Unknown(
                f"`{function.name}` does not return",
                trace=self.trace(call or node, f"`{function.name}` does not return"),
            )
        return self.join_values(frame.returns)

    def record_context(
        self, function: Function, bound: dict[str, Value], call: ast.AST | None
    ) -> None:
        """Note a call in sight of a function of this module."""
        key = (self.frame.root, call if call is not None else next(self.counter))
        step = self.step(
            call if call is not None else function.node, f"`{function.name}` is called here"
        )
        self.contexts.setdefault(function.node, {})[key] = Context(dict(bound), step)

    def call_in_sight(
        self,
        func: Function,
        args: list[Value],
        kwargs: dict[str, Value],
        node: ast.Call | None,
        starred: Value | None,
        double_starred: Value | None,
    ) -> Value:
        """A call of a function in sight."""
        result = self.call_function(
            func, args, kwargs, node, starred=starred, double_starred=double_starred
        )
        if node is not None and self.frame.module is self.module and self.frame.canonical:
            result = self.spec_wrapper(func, args, kwargs, node, result)
        if func.node in self.disguised and func.jit is None:
            reason = f"what `{func.name}` returns is not known: {self.disguised[func.node]}"
            return Unknown(reason, trace=self.trace(node or func.node, reason))
        if func.jit is not None:
            step = self.step(node or func.node, f"`{func.name}` is jitted: it returns arrays")
            result = traced(
                self, result, self.new_ident("jit"), func.name, result.trace or Trace(step)
            )
        if node is not None and not isinstance(func.node, ast.Lambda):
            where = self.step(node, f"this calls `{func.name}`")
            result = _under(result, where)
        return result

    def changing_call(self, node: ast.Call) -> Value | None:
        """`place.append(x)`, `setattr(x, name, value)`: a call that changes an object in sight."""
        match node.func:
            case ast.Attribute(value=place, attr=method) if (
                method in LIST_METHODS | DICT_METHODS and is_place(place)
            ):
                base = self.eval(place)
                if not isinstance(base, Tuple | Sequence | Dict | Union):
                    return None
                if any(isinstance(a, ast.Starred) for a in node.args):
                    return None
                args = [self.eval(a) for a in node.args]
                given = {k.arg: self.eval(k.value) for k in node.keywords if k.arg}
                if any(k.arg is None for k in node.keywords):
                    args.append(Unknown("`**` of a value"))
                return called_method(self, base, method, args, given)
            case ast.Name(id="setattr") | ast.Attribute(attr="__setattr__") if len(node.args) == 3:
                base, key, value = (self.eval(a) for a in node.args)
                name = key.value if isinstance(key, Const) else None
                set_attribute(self, base, name if isinstance(name, str) else None, value, node)
                return Const(None)
            case _:
                return None

    def body(self, node: ast.AST) -> None:
        """Run the body of a function or lambda; results are in the frame's `returns`."""
        if isinstance(node, ast.Lambda):
            self.frame.returns.append(self.eval(node.body))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and self.block(node.body):
            self.frame.returns.append(Const(None, trace=self.trace(node, "nothing is returned")))


def _given(
    args: list[Value],
    kwargs: dict[str, Value],
    starred: Value | None,
    double_starred: Value | None,
    call: ast.Call,
) -> list[tuple[Value, ast.expr | None]]:
    """The values of a call beside their expressions, where those are in sight."""
    sources: list[ast.expr | None] = [None] * len(args)
    if not any(isinstance(a, ast.Starred) for a in call.args) and len(call.args) == len(args):
        sources = list(call.args)
    written = {k.arg: k.value for k in call.keywords if k.arg}
    out = list(zip(args, sources, strict=True))
    out += [(value, written.get(name)) for name, value in kwargs.items()]
    if isinstance(starred, Tuple):
        out += [(value, None) for value in starred.items]
    if isinstance(double_starred, Dict):
        out += [(value, None) for _, value in double_starred.items]
    return out


def _under(value: Value, step: Step) -> Value:
    """A value with one more step in its chain."""
    match value:
        case Tuple():
            items = tuple(_under(v, step) for v in value.items)
            return replace(value, items=items, trace=Trace(step, value.trace))
        case Instance() | Launcher() | Function() | Partial():
            return value
        case _:
            return replace(value, trace=Trace(step, value.trace))
