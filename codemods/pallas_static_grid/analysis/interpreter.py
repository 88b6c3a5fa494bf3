"""The abstract interpreter: statements, scopes, functions, and the order of evaluation.

A module is run once for its top level; then every function from which a launch can be reached is
run with parameters as its call sites in sight, its jit, its annotations or its use tell. Launches
are recorded on the way. Expressions are in `expressions.py`, known functions in `calls.py`.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from pallas_static_grid.analysis import parameters, reach
from pallas_static_grid.analysis.contexts import Context
from pallas_static_grid.analysis.expressions import Expressions
from pallas_static_grid.analysis.imports import bind_import, bind_import_from
from pallas_static_grid.analysis.joins import forget, freeze, join, join_names, widen
from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.project import Project
from pallas_static_grid.analysis.scopes import Fact, Scope
from pallas_static_grid.analysis.symbolic import Atom, Num, Op, Sym
from pallas_static_grid.analysis.values import (
    Array,
    Class,
    Const,
    Dict,
    Float,
    Function,
    GridSpec,
    Instance,
    Int,
    Jit,
    LaunchSite,
    ModuleValue,
    Partial,
    Returning,
    Sequence,
    Trace,
    Transformed,
    Tuple,
    Union,
    Unknown,
    Value,
    options,
)
from pallas_static_grid.model import Step

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
MAX_DEPTH = 24
MAX_STATEMENTS = 400_000
MAX_RUNS = 6


@dataclass(eq=False, slots=True)
class Frame:
    """One running body."""

    scope: Scope
    module: ModuleContext
    node: ast.AST
    canonical: bool
    """False while a callee is run only for what it returns."""
    call: ast.Call | None = None
    caller: Frame | None = None
    returns: list[Value] = field(default_factory=list)
    yields: bool = False
    yielded: list[Value] = field(default_factory=list)
    loop_exits: list[dict[str, Value]] = field(default_factory=list)
    root: ast.AST | None = None
    """The function whose canonical run this is part of."""


@dataclass(frozen=True, eq=False, slots=True)
class Handed:
    """A value that a call handed to a function in sight, with its expression."""

    value: Value
    callee: ast.AST
    call: ast.Call
    caller: Frame
    source: ast.expr | None


class Interpreter(Expressions):
    """Runs one module; `sites` are its launches afterwards."""

    def __init__(self, module: ModuleContext, project: Project) -> None:
        self.module = module
        self.project = project
        self.counter = itertools.count()
        self.frames: list[Frame] = []
        self.statements = 0
        self.sites: dict[ast.AST, LaunchSite] = {}
        self.grid_specs: dict[ast.AST, GridSpec] = {}
        self.used_specs: set[ast.AST] = set()
        self.partials: dict[ast.AST, tuple[Partial, Frame]] = {}
        self.launched_partials: set[ast.AST] = set()
        self.contexts: dict[ast.AST, dict[tuple[object, ...], Context]] = {}
        self.closures: dict[ast.AST, tuple[Function, tuple[Fact, ...]]] = {}
        self.wrapped_jit: dict[ast.AST, Jit] = {}
        self.differentiating: list[Step] = []
        self.class_fields: dict[ast.AST, dict[str, Value]] = {}
        self.class_stack: set[ast.AST] = set()
        self.modules: dict[int, Scope] = {}
        self.opaque_sites: set[ast.AST] = set()
        self.rules: dict[ast.AST, tuple[Function, str, tuple[int, ...]]] = {}
        self.nondiff: dict[ast.AST, tuple[int, ...]] = {}
        self.star_imports: list[tuple[str, ast.ImportFrom]] = []
        self.hidden_args: set[ast.AST] = set()
        self.site_runs: dict[ast.AST, int] = {}
        self.spec_scopes: dict[ast.AST, tuple[Scope, ast.AST | None]] = {}
        self.run_id = 0
        self.muted = 0
        self.generators: dict[ast.AST, bool] = {}
        self.uses: dict[ast.AST, dict[str, tuple[str, ast.AST, str]]] = {}
        self.untouched: list[Transformed] = []
        self.touched: set[int] = set()
        self.kept_steps: list[Step] = []
        self.extra_contexts: dict[ast.AST, list[tuple[dict[str, Value], Step]]] = {}
        self.wrapper_names: dict[int, set[str]] = {}
        self.handed: dict[int, list[Handed]] = {}
        self.guesses: dict[ast.AST, Value | None] = {}
        self.recursed: set[ast.AST] = set()

    # --- running ---------------------------------------------------------------------------

    def run(self) -> None:
        """Interpret the module and every function that can reach a launch."""
        self.module_scope(self.module)
        relevant = reach.relevant_functions(self.module, self.project)
        order = reach.callers_first(self.module, relevant)
        runs: dict[ast.AST, int] = {}
        seen: dict[ast.AST, object] = {}
        for _ in range(MAX_RUNS):
            changed = False
            for node in order:
                if node not in self.closures or runs.get(node, 0) >= MAX_RUNS:
                    continue
                function, facts = self.closures[node]
                bound = parameters.judge(self, function)
                key = (
                    tuple((name, freeze(value)) for name, value in bound.items()),
                    id(function.scope),
                    bool(self.differentiating),
                )
                if seen.get(node) == key:
                    continue
                seen[node] = key
                runs[node] = runs.get(node, 0) + 1
                self.run_root(function, bound, facts)
                changed = True
            if not changed:
                break

    def run_root(
        self, function: Function, bound: dict[str, Value], facts: tuple[Fact, ...]
    ) -> None:
        """The canonical run of a function: its launches and calls are recorded."""
        node = function.node
        self.forget(node)
        self.run_id += 1
        scope = Scope(function.scope, node, function.qualname)
        scope.facts.extend(facts)
        frame = Frame(scope, function.module, node, canonical=True, root=node)
        self.frames.append(frame)
        try:
            for name, value in bound.items():
                self.bind(scope, name, value)
            self.body(node)
            self.touch_untouched()
        finally:
            self.frames.pop()

    def forget(self, root: ast.AST) -> None:
        """Drop what an earlier run of `root` recorded."""
        for contexts in self.contexts.values():
            for key in [key for key in contexts if key[0] is root]:
                del contexts[key]
        for site in self.sites.values():
            if site.function_node is root:
                site.dims_seen.clear()
                site.calls.clear()

    def module_scope(self, module: ModuleContext) -> Scope:
        """The scope of a module after its top level ran."""
        if module.scope is not None:
            return module.scope
        scope = Scope(None, module.tree, "<module>")
        module.scope = scope
        canonical = module is self.module
        frame = Frame(scope, module, module.tree, canonical, root=module.tree)
        saved, self.frames = self.frames, [frame]
        try:
            self.block(module.tree.body)
            if canonical:
                self.touch_untouched()
        finally:
            self.frames = saved
        return scope

    @property
    def frame(self) -> Frame:
        """The running frame."""
        return self.frames[-1]

    @property
    def scope(self) -> Scope:
        """The running scope."""
        return self.frames[-1].scope

    def body(self, node: ast.AST) -> None:
        """Run the body of a function or lambda; results are in the frame's `returns`."""
        if isinstance(node, ast.Lambda):
            self.frame.returns.append(self.eval(node.body))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and self.block(node.body):
            self.frame.returns.append(Const(None, trace=self.trace(node, "nothing is returned")))

    def bind(self, scope: Scope, name: str, value: Value) -> None:
        """Give `name` a new value."""
        target = scope
        if name in scope.globals_:
            while target.parent is not None:
                target = target.parent
        elif name in scope.nonlocals:
            target = scope.parent or scope
            while name not in target.history and target.parent is not None:
                target = target.parent
        target.names[name] = value
        past = target.history.setdefault(name, [])
        if len(past) < 12:
            past.append(value)
        else:
            past[-1] = Unknown(f"`{name}` is assigned in too many places")

    def lookup(self, name: str) -> Value | None:
        """The value of a name here, or None where nothing in sight binds it."""
        scope: Scope | None = self.scope
        first = True
        while scope is not None:
            skip = not first and isinstance(scope.node, ast.ClassDef)
            if not skip and name in scope.names and name not in scope.globals_:
                if first or self.is_running(scope):
                    return scope.names[name]
                past = scope.history.get(name, [scope.names[name]])
                return past[0] if len(past) == 1 else self.join_values(past)
            first = False
            scope = scope.parent
        return None

    def is_running(self, scope: Scope) -> bool:
        """Whether the body of `scope` is being run (so that names are as they are now)."""
        return any(frame.scope is scope for frame in self.frames)

    def fresh(self, text: str, *, static: bool, lo: Sym | None = None, hi: Sym | None = None,
              evidence: tuple[Step, ...] = ()) -> Atom:
        """A new unknown integer."""
        return Atom(("value", next(self.counter)), text, static, lo, hi, evidence)

    def step(self, node: ast.AST, reason: str) -> Step:
        """A step at a node of the running module."""
        module = self.frame.module if self.frames else self.module
        line = getattr(node, "lineno", 1)
        return Step(module.path, line, module.line_text(line), reason)

    def trace(self, node: ast.AST, reason: str, cause: Value | None = None) -> Trace:
        """A trace at a node, on top of that of `cause`."""
        return Trace(self.step(node, reason), cause.trace if cause is not None else None)

    def join_values(self, values: list[Value]) -> Value:
        """The join of several values."""
        out = values[0]
        for value in values[1:]:
            out = join(out, value, self.fresh)
        return out

    # --- statements ------------------------------------------------------------------------

    def block(self, statements: list[ast.stmt]) -> bool:
        """Run statements; False if the end is not reached."""
        return all(self.statement(statement) for statement in statements)

    def statement(self, node: ast.stmt) -> bool:
        """Run one statement; False if control does not go on after it."""
        self.statements += 1
        if self.statements > MAX_STATEMENTS:
            raise RecursionError("the file takes too many steps to analyse")
        handler = getattr(self, "stmt_" + type(node).__name__, None)
        if handler is None:
            return True
        result = handler(node)
        return result is not False

    def stmt_Expr(self, node: ast.Expr) -> None:
        self.eval(node.value)

    def stmt_Assign(self, node: ast.Assign) -> None:
        value = self.eval(node.value)
        for target in node.targets:
            self.assign(target, value, node)

    def stmt_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            value = self.eval(node.value)
            if isinstance(value, Unknown):
                told = parameters.from_annotation(self, node.annotation, self.segment(node.target))
                value = told if told is not None else value
            self.assign(node.target, value, node)

    def stmt_AugAssign(self, node: ast.AugAssign) -> None:
        load = ast.copy_location(_as_load(node.target), node.target)
        value = self.binary(node.op, self.eval(load), self.eval(node.value), node)
        self.assign(node.target, value, node)

    def assign(self, target: ast.expr, value: Value, node: ast.AST) -> None:
        """Bind a target to a value, unpacking as the target asks."""
        match target:
            case ast.Name(id=name):
                trace = self.trace(node, f"`{name}` is assigned here", value)
                self.bind(self.scope, name, replace(value, trace=trace))
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                self.unpack(elts, value, node)
            case ast.Starred(value=inner):
                self.assign(inner, value, node)
            case ast.Attribute(value=ast.Name(id=name), attr=attr):
                self.set_attribute(name, attr, value, node)
            case ast.Subscript(value=ast.Name(id=name)):
                self.set_item(name, target, value)
            case _:
                pass

    def unpack(self, elts: list[ast.expr], value: Value, node: ast.AST) -> None:
        """Assign the elements of a value to several targets."""
        starred = next((i for i, e in enumerate(elts) if isinstance(e, ast.Starred)), None)
        for index, target in enumerate(elts):
            if starred is None:
                part = self.element(value, index, len(elts), node)
            elif index < starred:
                part = self.element(value, index, None, node)
            elif index > starred:
                part = self.element(value, index - len(elts), None, node)
            else:
                part = self.slice_of(value, starred, starred + 1 - len(elts), node)
            self.assign(target, part, node)

    def set_attribute(self, name: str, attr: str, value: Value, node: ast.AST) -> None:
        """`name.attr = value` on an instance in sight."""
        base = self.lookup(name)
        if not isinstance(base, Instance):
            return
        trace = self.trace(node, f"`{name}.{attr}` is assigned here", value)
        value = replace(value, trace=trace)
        fields = dict(base.fields)
        fields[attr] = value
        self.scope.names[name] = replace(base, fields=tuple(fields.items()))

    def set_item(self, name: str, target: ast.Subscript, value: Value) -> None:
        """`name[key] = value` on a dict or list in sight."""
        base = self.lookup(name)
        key = self.eval(target.slice)
        if isinstance(base, Dict) and isinstance(key, Const):
            items = {**dict(base.items), key.value: value}
            self.scope.names[name] = replace(base, items=tuple(items.items()), node=None)
        elif isinstance(base, Dict):
            self.scope.names[name] = replace(base, complete=False, node=None)
        elif isinstance(base, Tuple | Sequence):
            elem = Unknown(f"an element of `{name}` is assigned", trace=base.trace)
            at = key.expr.value if isinstance(key, Int) and isinstance(key.expr, Num) else None
            if isinstance(base, Tuple) and at is not None and -len(base.items) <= at < len(
                base.items
            ):
                new = list(base.items)
                new[at] = value
                self.scope.names[name] = replace(base, items=tuple(new), nodes=())
            else:
                self.scope.names[name] = Sequence(elem, trace=base.trace)
        past = self.scope.history.setdefault(name, [])
        past.append(self.scope.names.get(name, Unknown(f"`{name}` is changed")))

    def stmt_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.scope.names.pop(target.id, None)

    def stmt_Import(self, node: ast.Import) -> None:
        bind_import(self, node)

    def stmt_ImportFrom(self, node: ast.ImportFrom) -> None:
        bind_import_from(self, node)

    def stmt_Global(self, node: ast.Global) -> None:
        self.scope.globals_ |= frozenset(node.names)

    def stmt_Nonlocal(self, node: ast.Nonlocal) -> None:
        self.scope.nonlocals |= frozenset(node.names)

    def stmt_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        prefix = "" if self.scope.qualname == "<module>" else self.scope.qualname + "."
        function = Function(node, self.frame.module, self.scope, prefix + node.name)
        self.remember_closure(function)
        self.defaults(node.args)
        value: Value = function
        for decorator in reversed(node.decorator_list):
            value = self.decorate(decorator, value)
        self.bind(self.scope, node.name, value)
        if value is not function and self.frame.canonical:
            self.call_decorated(function, value)

    def call_decorated(self, function: Function, value: Value) -> None:
        """Call what a decorator made of a function, as callers out of sight may."""
        if isinstance(value, Function) and value.node is function.node:
            return
        if not isinstance(value, Function | Transformed | Partial | Instance):
            return
        args = parameters.placeholders(self, function)
        if isinstance(self.scope.node, ast.ClassDef):
            args = args[1:]
        self.call_value(value, args, {}, None)

    stmt_AsyncFunctionDef = stmt_FunctionDef

    def remember_closure(self, function: Function) -> None:
        """Keep a function of the module for its canonical run."""
        if function.module is not self.module:
            return
        known = self.closures.get(function.node)
        if known is None or self.frame.canonical:
            facts = tuple(fact for scope in _chain(self.scope) for fact in scope.facts)
            self.closures[function.node] = (function, facts)

    def defaults(self, args: ast.arguments) -> None:
        """Evaluate parameter defaults where the function is defined."""
        for default in [*args.defaults, *args.kw_defaults]:
            if default is not None:
                self.eval(default)

    def stmt_ClassDef(self, node: ast.ClassDef) -> None:
        prefix = "" if self.scope.qualname == "<module>" else self.scope.qualname + "."
        scope = Scope(self.scope, node, prefix + node.name)
        for base in node.bases:
            self.eval(base)
        frame = replace_frame(self.frame, scope)
        self.frames.append(frame)
        try:
            self.block(node.body)
        finally:
            self.frames.pop()
        value: Value = Class(node, self.frame.module, scope, prefix + node.name)
        for decorator in reversed(node.decorator_list):
            self.eval(decorator)
        self.bind(self.scope, node.name, value)

    def stmt_Return(self, node: ast.Return) -> bool:
        value = self.eval(node.value) if node.value else Const(None)
        self.frame.returns.append(self.returned(value, node))
        return False

    def returned(self, value: Value, node: ast.AST) -> Value:
        """A value with the return statement in its chain; of a tuple, in that of each element."""
        trace = self.trace(node, "this is returned", value)
        if isinstance(value, Tuple):
            items = tuple(self.returned(item, node) for item in value.items)
            return replace(value, items=items, trace=trace)
        if isinstance(value, Function | GridSpec | Instance):
            return value
        return replace(value, trace=trace)

    def stmt_Raise(self, node: ast.Raise) -> bool:
        if node.exc is not None:
            self.eval(node.exc)
        return False

    def stmt_Break(self, node: ast.Break) -> bool:
        self.frame.loop_exits.append(dict(self.scope.names))
        return False

    stmt_Continue = stmt_Break

    def stmt_If(self, node: ast.If) -> bool:
        test = self.eval(node.test)
        truth = self.truth(test)
        names, facts = dict(self.scope.names), list(self.scope.facts)
        results: list[tuple[dict[str, Value], list[Fact]]] = []
        for outcome, statements in ((True, node.body), (False, node.orelse)):
            if truth is (not outcome):
                continue
            self.scope.names, self.scope.facts = dict(names), list(facts)
            self.narrow(node.test, outcome)
            if self.block(statements):
                results.append((self.scope.names, self.scope.facts))
        if not results:
            self.scope.names, self.scope.facts = names, facts
            return False
        self.scope.names = results[0][0]
        self.scope.facts = results[0][1]
        for other, other_facts in results[1:]:
            self.scope.names = join_names(self.scope.names, other, self.fresh)
            self.scope.facts = [f for f in self.scope.facts if f in other_facts]
        return True

    def stmt_Assert(self, node: ast.Assert) -> None:
        self.eval(node.test)
        self.narrow(node.test, True)

    def stmt_For(self, node: ast.For | ast.AsyncFor) -> bool:
        iterable = self.eval(node.iter)
        element = self.iterated(iterable, node.iter)
        return self.loop(node, node.body, node.orelse, lambda: self.assign(
            node.target, element, node))

    stmt_AsyncFor = stmt_For

    def stmt_While(self, node: ast.While) -> bool:
        def test() -> None:
            self.eval(node.test)

        forever = isinstance(node.test, ast.Constant) and bool(node.test.value)
        return self.loop(node, node.body, node.orelse, test, at_least_once=forever)

    def loop(self, node: ast.stmt, body: list[ast.stmt], orelse: list[ast.stmt], head: object,
             *, at_least_once: bool = False) -> bool:
        """Run a loop body until what it changes is stable."""
        assert callable(head)
        saved, self.frame.loop_exits = self.frame.loop_exits, []
        before = dict(self.scope.names)
        facts = list(self.scope.facts)
        # Names that the body changes hold any of their values: widen them before the last run.
        start = before
        for attempt in range(3):
            self.scope.names = dict(start)
            self.scope.facts = list(facts)
            head()
            self.block(body)
            after = self.scope.names
            for exit_names in self.frame.loop_exits:
                after = join_names(after, exit_names, self.fresh)
            if attempt == 0:
                changed = [k for k in after if k in before and after[k] is not before[k]]
                start = {**before, **{k: widen(before[k], after[k], self.fresh) for k in changed}}
        self.frame.loop_exits = saved
        self.scope.names = (
            after if at_least_once else join_names(start, after, self.fresh, missing_ok=True)
        )
        self.scope.facts = facts
        for name in list(self.scope.names):
            value = self.scope.names[name]
            if value is not before.get(name):
                self.scope.history.setdefault(name, []).append(value)
        return self.block(orelse) if orelse else True

    def stmt_With(self, node: ast.With | ast.AsyncWith) -> bool:
        for item in node.items:
            value = self.eval(item.context_expr)
            if item.optional_vars is not None:
                if not isinstance(value, Instance):
                    value = Unknown(f"`{self.segment(item.context_expr)}` is entered",
                                    trace=value.trace)
                self.assign(item.optional_vars, value, node)
        return self.block(node.body)

    stmt_AsyncWith = stmt_With

    def stmt_Try(self, node: ast.Try) -> bool:
        before = dict(self.scope.names)
        ends: list[dict[str, Value]] = []
        reached = self.block(node.body)
        if reached and node.orelse:
            reached = self.block(node.orelse)
        after = self.scope.names
        if reached:
            ends.append(after)
        middle = join_names(before, after, self.fresh, missing_ok=True)
        for handler in node.handlers:
            self.scope.names = dict(middle)
            if handler.name:
                self.bind(self.scope, handler.name, Unknown("an exception"))
            if self.block(handler.body):
                ends.append(self.scope.names)
        if ends:
            self.scope.names = ends[0]
            for other in ends[1:]:
                self.scope.names = join_names(self.scope.names, other, self.fresh,
                                              missing_ok=True)
        final = self.block(node.finalbody) if node.finalbody else True
        return bool(ends) and final

    stmt_TryStar = stmt_Try

    def stmt_Match(self, node: ast.Match) -> bool:
        subject = self.eval(node.subject)
        before = dict(self.scope.names)
        ends: list[dict[str, Value]] = []
        covered = False
        for case in node.cases:
            self.scope.names = dict(before)
            verdict = self.match_pattern(case.pattern, subject, node)
            if verdict is False:
                continue
            if case.guard is not None:
                self.eval(case.guard)
            elif _irrefutable(case.pattern) or verdict:
                covered = True
            if self.block(case.body):
                ends.append(self.scope.names)
            if covered:
                break
        if not covered:
            ends.append(before)
        if not ends:
            return False
        self.scope.names = ends[0]
        for other in ends[1:]:
            self.scope.names = join_names(self.scope.names, other, self.fresh, missing_ok=True)
        return True

    def match_pattern(self, pattern: ast.pattern, subject: Value, node: ast.AST) -> bool | None:
        """Bind the names of a pattern; True or False where the outcome is certain."""
        match pattern:
            case ast.MatchAs(pattern=None, name=name):
                if name:
                    self.bind(self.scope, name, subject)
                return True
            case ast.MatchAs(pattern=inner, name=name) if inner is not None:
                outcome = self.match_pattern(inner, subject, node)
                if name:
                    self.bind(self.scope, name, subject)
                return outcome
            case ast.MatchValue(value=value):
                wanted = self.eval(value)
                if isinstance(wanted, Const) and isinstance(subject, Const):
                    return bool(wanted.value == subject.value)
                if (isinstance(wanted, Int) and isinstance(subject, Int)
                        and isinstance(wanted.expr, Num) and isinstance(subject.expr, Num)):
                    return wanted.expr.value == subject.expr.value
                return None
            case ast.MatchSingleton(value=value):
                if isinstance(subject, Const):
                    return subject.value is value
                if isinstance(subject, Int) and value is not None:
                    if subject.is_bool and isinstance(subject.expr, Num):
                        return bool(subject.expr.value) is value
                    return None
                return None if isinstance(subject, Unknown | Union) else False
            case ast.MatchSequence(patterns=patterns):
                stars = [i for i, p in enumerate(patterns) if isinstance(p, ast.MatchStar)]
                if isinstance(subject, Tuple) and not stars and len(subject.items) != len(patterns):
                    return False
                if isinstance(subject, Int | Const | Array):
                    return False if not isinstance(subject, Array) else None
                outcome: bool | None = True if isinstance(subject, Tuple) else None
                for index, part in enumerate(patterns):
                    if isinstance(part, ast.MatchStar):
                        if part.name:
                            self.bind(self.scope, part.name, self.slice_of(
                                subject, index, index + 1 - len(patterns), node))
                        continue
                    at = index if not stars or index < stars[0] else index - len(patterns)
                    size = None if stars else len(patterns)
                    inner_outcome = self.match_pattern(
                        part, self.element(subject, at, size, node), node)
                    if inner_outcome is not True:
                        outcome = None if inner_outcome is None else False
                        if inner_outcome is False:
                            return False
                return outcome
            case ast.MatchOr(patterns=patterns):
                outcomes = [self.match_pattern(p, subject, node) for p in patterns]
                if any(o is True for o in outcomes):
                    return True
                return False if all(o is False for o in outcomes) else None
            case _:
                for inner_node in ast.walk(pattern):
                    bound = getattr(inner_node, "name", None)
                    if isinstance(bound, str):
                        self.bind(self.scope, bound, Unknown(f"`{bound}` is matched"))
                return None

    # --- facts and narrowing -----------------------------------------------------------------

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
            case ast.BoolOp(op=ast.Or(), values=[ast.Compare() as a, ast.Compare() as b]):
                self.narrow_or(a, b)
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                operands = [left, *comparators]
                if outcome or len(ops) == 1:
                    for a, operator, b in zip(operands, ops, operands[1:], strict=False):
                        self.narrow_compare(a, operator, b, outcome, test)
            case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), kind]):
                self.narrow_isinstance(name, kind, outcome)
            case ast.Call(func=ast.Name(id="callable"), args=[ast.Name(id=name)]):
                self.narrow_options(name, lambda option: (
                    isinstance(option, _CALLABLE) == outcome or isinstance(option, Unknown)))
            case ast.Name(id=name):
                self.narrow_truth(name, outcome)
            case ast.BinOp(op=ast.Mod()) if not outcome:
                self.add_divides(test, test)
            case _:
                pass

    def narrow_or(self, a: ast.Compare, b: ast.Compare) -> None:
        """`x is None or ...` tells nothing certain; kept for symmetry of reading."""

    def narrow_compare(
        self, left: ast.expr, operator: ast.cmpop, right: ast.expr, outcome: bool, node: ast.AST
    ) -> None:
        """Facts from one comparison."""
        if isinstance(operator, ast.Is | ast.IsNot | ast.Eq | ast.NotEq) and isinstance(
            right, ast.Constant
        ) and right.value is None:
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
            step = self.step(node, f"`{self.segment(left)}` and `{self.segment(right)}` are "
                                   f"compared here")
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
            if isinstance(option, Unknown):
                kept.append(Const(None, trace=option.trace) if is_none else option)
            elif none == is_none:
                kept.append(option)
        if kept:
            self.scope.names[name] = kept[0] if len(kept) == 1 else Union(
                tuple(kept), trace=value.trace)

    def narrow_truth(self, name: str, outcome: bool) -> None:
        """`if name:` took the branch `outcome`."""
        value = self.scope.names.get(name)
        if isinstance(value, Union) and outcome:
            kept = [o for o in value.options if not (isinstance(o, Const) and not o.value)]
            if kept and len(kept) < len(value.options):
                self.scope.names[name] = kept[0] if len(kept) == 1 else replace(
                    value, options=tuple(kept))

    def narrow_options(self, name: str, keep: Callable[[Value], bool]) -> None:
        """Keep the alternatives of a name that a test lets through."""
        value = self.scope.names.get(name)
        if value is None:
            return
        kept = [option for option in options(value) if keep(option)]
        if kept:
            self.scope.names[name] = kept[0] if len(kept) == 1 else Union(
                tuple(kept), trace=value.trace)

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
            elif wanted in _KINDS and not isinstance(option, Unknown) and (
                isinstance(option, _KINDS[wanted]) != outcome
            ):
                continue
            else:
                kept.append(option)
        if kept:
            self.scope.names[name] = kept[0] if len(kept) == 1 else Union(
                tuple(kept), trace=value.trace)

    # --- functions ---------------------------------------------------------------------------

    def call_function(
        self, function: Function, args: list[Value], kwargs: dict[str, Value] | None = None,
        call: ast.Call | None = None, *, starred: Value | None = None,
        double_starred: Value | None = None,
    ) -> Value:
        """What a function in sight returns for these arguments; records nothing of its body."""
        kwargs = kwargs or {}
        node = function.node
        bound = parameters.bind_call(self, function, args, kwargs, starred, double_starred)
        if not self.muted and function.module is self.module:
            self.record_context(function, bound, call)
        if call is not None:
            for value, source in _given(args, kwargs, starred, double_starred, call):
                entry = Handed(value, node, call, self.frame, source)
                self.handed.setdefault(id(value), []).append(entry)
        running = any(frame.node is node and frame.scope.node is node for frame in self.frames)
        if running or len(self.frames) > MAX_DEPTH:
            self.recursed.add(node)
            guess = self.guesses.get(node)
            return guess if guess is not None else Unknown(
                f"`{function.name}` calls itself",
                trace=self.trace(call or node, f"`{function.name}` calls itself"))
        result = self.inline(function, bound, call)
        if node in self.recursed and not self.guesses.get(node):
            result = self.recursive(function, bound, call, result)
        return result

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

    def inline(
        self, function: Function, bound: dict[str, Value], call: ast.Call | None
    ) -> Value:
        """Run a body for what it returns."""
        node = function.node
        scope = Scope(function.scope, node, function.qualname)
        frame = Frame(scope, function.module, node, canonical=False, call=call,
                      caller=self.frame, root=self.frame.root)
        if node not in self.generators:
            self.generators[node] = reach.is_generator(node)
        frame.yields = self.generators[node]
        saved = self.differentiating
        if function.custom_rule:
            self.differentiating = []
        self.frames.append(frame)
        try:
            for name, value in bound.items():
                self.bind(scope, name, value)
            self.body(node)
        finally:
            self.frames.pop()
            self.differentiating = saved
        if frame.yields:
            if frame.yielded:
                return Sequence(self.join_values(frame.yielded))
            return Unknown(f"`{function.name}` yields nothing in sight")
        if not frame.returns:
            return Unknown(f"`{function.name}` does not return",
                           trace=self.trace(call or node, f"`{function.name}` does not return"))
        return self.join_values(frame.returns)

    def record_context(
        self, function: Function, bound: dict[str, Value], call: ast.AST | None
    ) -> None:
        """Note a call in sight of a function of this module."""
        key = (self.frame.root, call if call is not None else function.node)
        step = self.step(call if call is not None else function.node,
                         f"`{function.name}` is called here")
        self.contexts.setdefault(function.node, {})[key] = Context(dict(bound), step)


def _given(
    args: list[Value], kwargs: dict[str, Value], starred: Value | None,
    double_starred: Value | None, call: ast.Call,
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


def _chain(scope: Scope) -> list[Scope]:
    out: list[Scope] = []
    link: Scope | None = scope
    while link is not None:
        out.append(link)
        link = link.parent
    return out


def replace_frame(frame: Frame, scope: Scope) -> Frame:
    """The same run in an inner scope (a class body)."""
    return Frame(scope, frame.module, scope.node, frame.canonical, frame.call, frame.caller,
                 root=frame.root)


def _as_load(node: ast.expr) -> ast.expr:
    match node:
        case ast.Name(id=name):
            return ast.Name(id=name, ctx=ast.Load())
        case ast.Attribute(value=value, attr=attr):
            return ast.Attribute(value=value, attr=attr, ctx=ast.Load())
        case ast.Subscript(value=value, slice=index):
            return ast.Subscript(value=value, slice=index, ctx=ast.Load())
        case _:
            return node


def _irrefutable(pattern: ast.pattern) -> bool:
    return isinstance(pattern, ast.MatchAs) and pattern.pattern is None


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
__all__ = ["Frame", "Interpreter"]
