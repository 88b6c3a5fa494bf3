"""Interpreting a module: the order in which its functions are run."""

from __future__ import annotations

import ast

from pallas_static_grid.analysis import reach
from pallas_static_grid.analysis.interpret import outside
from pallas_static_grid.analysis.interpret.joins import freeze
from pallas_static_grid.analysis.interpret.loops import Loops
from pallas_static_grid.analysis.interpret.machine import Frame
from pallas_static_grid.analysis.interpret.parameters import judge
from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.scopes import Fact, Scope
from pallas_static_grid.analysis.values import (
    Function,
    Value,
)

MAX_RUNS = 6


class Interpreter(Loops):
    """Interpreting a module: the order in which its functions are run."""

    def run(self) -> None:
        """Interpret the module and every function that can reach a launch."""
        reached = reach.reachable(self.module, self.project, every=self.target is not None)
        if not reached.at_all:
            return
        self.reaching = reached.functions
        self.module_scope(self.module)
        order = reach.callers_first(self.module, reached.functions)
        self.run_functions(order)
        if self.target is None and self.sites:
            found = outside.callers(self, outside.undecided(self))
            for node, contexts in found.items():
                self.extra_contexts[node] = [(c.bound, c.step) for c in contexts]
            if found:
                self.run_functions(order)

    def run_functions(self, order: list[ast.AST]) -> None:
        """Run functions until nothing new is learned of their parameters."""
        runs: dict[ast.AST, int] = {}
        seen: dict[ast.AST, object] = {}
        for _ in range(MAX_RUNS):
            changed = False
            for node in order:
                if node not in self.closures or runs.get(node, 0) >= MAX_RUNS:
                    continue
                function, facts = self.closures[node]
                bound = judge(self, function)
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
        self.run_start = self.statements
        scope = Scope(function.scope, node, function.qualname)
        scope.facts.extend(facts)
        # One body with several closures (a decorator's wrapper): which calls what, only
        # the calls in sight tell, and those were followed.
        several = len({id(made) for made in self.instances.get(node, ())}) > 1
        quiet = several and bool(self.contexts.get(node))
        frame = Frame(
            scope, function.module, node, canonical=True, root=node, moment=function.moment
        )
        self.frames.append(frame)
        self.muted += quiet
        try:
            for name, value in bound.items():
                self.bind(scope, name, value)
            self.body(node)
            self.touch_untouched()
        finally:
            self.muted -= quiet
            self.frames.pop()

    def forget(self, root: ast.AST) -> None:
        """Drop what an earlier run of `root` recorded."""
        for contexts in self.contexts.values():
            for key in [key for key in contexts if key[0] is root]:
                del contexts[key]
        for site in self.sites.values():
            if site.function_node is root:
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
