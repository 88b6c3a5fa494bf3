"""Evaluating an expression: the dispatch over its kinds."""

from __future__ import annotations

import ast

from pallas_static_grid.analysis.interpret.displays import Displays
from pallas_static_grid.analysis.interpret.machine import Frame
from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.scopes import Scope
from pallas_static_grid.analysis.values import (
    Function,
    Value,
)


class Expressions(Displays):
    """Evaluating an expression: the dispatch over its kinds."""

    def eval(self, node: ast.expr) -> Value:
        """The value of an expression in the running scope."""
        handler = getattr(self, "_expr_" + type(node).__name__, None)
        if handler is None:
            return self.opaque(node)
        value: Value = handler(node)
        return value

    def eval_in(self, scope: Scope, module: ModuleContext, node: ast.expr) -> Value:
        """The value of an expression in another scope (a default, an annotation)."""
        self.frames.append(Frame(scope, module, scope.node, canonical=False, root=None))
        try:
            return self.eval(node)
        finally:
            self.frames.pop()

    def remember_closure(self, function: Function) -> None:
        """Keep a function of the module for its canonical run."""
        if function.module is not self.module:
            return
        if not self.frame.canonical:
            made = self.frame.call if self.frame.call is not None else function.scope
            self.instances.setdefault(function.node, []).append(made)
        known = self.closures.get(function.node)
        if known is None or self.frame.canonical:
            facts = tuple(fact for scope in _chain(self.scope) for fact in scope.facts)
            self.closures[function.node] = (function, facts)


def _chain(scope: Scope) -> list[Scope]:
    out: list[Scope] = []
    link: Scope | None = scope
    while link is not None:
        out.append(link)
        link = link.parent
    return out
