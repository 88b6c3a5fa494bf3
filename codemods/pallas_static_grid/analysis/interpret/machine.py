"""The state of a run: frames, scopes, names, and what was found on the way."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from pallas_static_grid.analysis import reach
from pallas_static_grid.analysis.interpret.contexts import Context
from pallas_static_grid.analysis.interpret.joins import join
from pallas_static_grid.analysis.interpret.mutation import is_mutable
from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.project import Project
from pallas_static_grid.analysis.scopes import Fact, Scope
from pallas_static_grid.analysis.symbolic import Atom, Num, Sym
from pallas_static_grid.analysis.values import (
    Arg,
    Class,
    Const,
    External,
    Function,
    GridSpec,
    Instance,
    Int,
    Jit,
    LaunchSite,
    ModuleValue,
    Partial,
    Trace,
    Transformed,
    Tuple,
    Unknown,
    Value,
    settled,
)
from pallas_static_grid.model import Step


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
    moment: int = -1
    """When the running function was defined."""
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


class Machine:
    """What is known so far, and where the run is."""

    def __init__(self, module: ModuleContext, project: Project) -> None:
        self.module = module
        self.project = project
        # Shared, since values of imported modules are kept from one run to the next.
        self.counter = project.counter
        self.clock = itertools.count()
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
        self.site_runs: dict[ast.AST, int] = {}
        self.spec_scopes: dict[ast.AST, tuple[Scope, ast.AST | None]] = {}
        self.run_id = 0
        self.mutations = 0
        self.muted = 0
        # By function: what made it, where a call of the function around it did.
        self.instances: dict[ast.AST, list[object]] = {}
        # A file whose functions' calls are collected (when this run serves the analysis of it).
        self.target: Path | None = None
        self.target_calls: list[tuple[str, Context]] = []
        self.run_start = 0
        self.rebinding: dict[ast.AST, dict[str, ast.AST]] = {}
        self.disguised: dict[ast.AST, str] = {}
        self.memo: dict[object, tuple[Value, dict[str, Value]]] = {}
        self.reaching: set[ast.AST] = set()
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

    @property
    def frame(self) -> Frame:
        """The running frame."""
        return self.frames[-1]

    @property
    def scope(self) -> Scope:
        """The running scope."""
        return self.frames[-1].scope

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
        if target is not scope:
            self.mutations += 1
        if not value.cells and is_mutable(value):
            value = replace(value, cells=self.new_cells())
        target.names[name] = value
        target.push(name, value, self.moment())

    def new_cells(self) -> frozenset[int]:
        """The identity of a new object that may change in place."""
        return frozenset({next(self.counter)})

    def settle(self) -> None:
        """Note what names hold where paths have met, for closures defined from here on."""
        moment = self.moment()
        for name, value in self.scope.names.items():
            past = self.scope.history.get(name)
            if past is None or past[-1] is not value:
                self.scope.push(name, value, moment)

    def moment(self) -> int:
        """A number that grows with every binding of the run."""
        return next(self.clock)

    def lookup(self, name: str) -> Value | None:
        """The value of a name here, or None where nothing in sight binds it."""
        scope: Scope | None = self.scope
        first = True
        while scope is not None:
            skip = not first and isinstance(scope.node, ast.ClassDef)
            if not skip and name in scope.names and name not in scope.globals_:
                if first or self.is_running(scope):
                    value = settled(scope.names[name])
                    return (
                        value
                        if first and scope.parent is None
                        else self.rebound(scope, name, value)
                    )
                past = scope.since(name, self.frame.moment) or [scope.names[name]]
                past = [settled(value) for value in past]
                known = past[0] if len(past) == 1 else self.join_values(past)
                return self.rebound(scope, name, known)
            first = False
            scope = scope.parent
        return None

    def rebound(self, scope: Scope, name: str, value: Value) -> Value:
        """A value that functions rebind by `global` or `nonlocal`, whenever they are called."""
        where = self.rebinding.get(scope.node)
        if where is None:
            where = self.rebinding[scope.node] = reach.rebound_names(scope.node)
        node = where.get(name)
        if node is None or isinstance(value, Function | Class | External | ModuleValue):
            return value
        reason = f"`{name}` is assigned by a function that declares it `{_keyword(node)}`"
        unknown = Unknown(reason, trace=self.trace(node, reason))
        return self.join_values([value, unknown])

    def is_running(self, scope: Scope) -> bool:
        """Whether the body of `scope` is being run (so that names are as they are now)."""
        return any(frame.scope is scope for frame in self.frames)

    def fresh(
        self,
        text: str,
        *,
        static: bool,
        lo: Sym | None = None,
        hi: Sym | None = None,
        evidence: tuple[Step, ...] = (),
    ) -> Atom:
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

    def new_ident(self, kind: str) -> str:
        """A fresh identity for an array."""
        return f"{kind}:{next(self.counter)}"

    def segment(self, node: ast.AST) -> str:
        """Source text of a node of the running module, on one line and not too long."""
        module = self.frame.module
        try:
            text = module.segment(node)  # type: ignore[arg-type]
        except (IndexError, AttributeError):
            text = ast.unparse(node)
        text = " ".join(text.split())
        return text if len(text) <= 80 else text[:77] + "..."

    def opaque(self, node: ast.expr, cause: Value | None = None) -> Unknown:
        """An expression of which nothing is known."""
        reason = f"what `{self.segment(node)}` is, is out of sight"
        return Unknown(reason, trace=self.trace(node, reason, cause))

    def unknown_of(self, node: ast.AST, *operands: Value) -> Unknown:
        """An operation with an unknown operand."""
        cause = next((v for v in operands if isinstance(v, Unknown)), None)
        if cause is not None:
            return Unknown(cause.need, trace=cause.trace)
        reason = f"what `{self.segment(node)}` is, is out of sight"
        return Unknown(reason, trace=self.trace(node, reason))

    def int_list(self, value: Value | None) -> list[int] | None:
        """A constant int or tuple of ints; [] for None, Python's None where it is not constant."""
        if value is None or (isinstance(value, Const) and value.value is None):
            return []
        items = value.items if isinstance(value, Tuple) else (value,)
        out: list[int] = []
        for item in items:
            if not (isinstance(item, Int) and isinstance(item.expr, Num)):
                return None
            out.append(item.expr.value)
        return out

    @contextmanager
    def inside(self, module: ModuleContext) -> Iterator[None]:
        """Evaluate in the top-level scope of a module for a while."""
        self.frames.append(Frame(self.module_scope(module), module, module.tree, canonical=False))
        try:
            yield
        finally:
            self.frames.pop()

    # --- what the classes above this one define ---------------------------------------------

    def eval(self, node: ast.expr) -> Value:
        """The value of an expression in the running scope."""
        raise NotImplementedError

    def remember_closure(self, function: Function) -> None:
        """Keep a function of the module for its canonical run."""
        raise NotImplementedError

    def narrow(self, test: ast.expr, outcome: bool) -> None:
        """What follows for names and facts from `test` being true or false."""
        raise NotImplementedError

    def note_differentiation(self, site: LaunchSite) -> None:
        """The launch is reached under jvp, vjp or grad."""
        raise NotImplementedError

    def note_specs(self, given: dict[str, Arg]) -> None:
        """Grid specs that a launch uses are no launches of their own."""
        raise NotImplementedError

    def class_attribute(self, cls: Class, attr: str) -> Value | None:
        """An attribute of a class or of its bases in sight."""
        raise NotImplementedError

    def instance_attribute(self, base: Instance, attr: str, node: ast.expr) -> Value:
        """An attribute of an instance: field, property, method, class attribute."""
        raise NotImplementedError

    def instance_of(self, cls: Class, ident: str) -> Instance:
        """An instance of which only the class is known."""
        raise NotImplementedError

    def is_classmethod(self, function: Function) -> bool:
        """Whether a function in a class body takes the class first."""
        raise NotImplementedError

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
        raise NotImplementedError

    def assign(self, target: ast.expr, value: Value, node: ast.AST) -> None:
        """Bind a target to a value, unpacking as the target asks."""
        raise NotImplementedError

    def block(self, statements: list[ast.stmt]) -> bool:
        """Run statements; False if the end is not reached."""
        raise NotImplementedError

    def module_scope(self, module: ModuleContext) -> Scope:
        """The scope of a module after its top level ran."""
        raise NotImplementedError


def _keyword(node: ast.AST) -> str:
    return "global" if isinstance(node, ast.Global) else "nonlocal"


def replace_frame(frame: Frame, scope: Scope) -> Frame:
    """The same run in an inner scope (a class body)."""
    return Frame(
        scope,
        frame.module,
        scope.node,
        frame.canonical,
        frame.call,
        frame.caller,
        moment=frame.moment,
        root=frame.root,
    )
