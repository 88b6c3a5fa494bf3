"""Running loops until what they change is stable."""

from __future__ import annotations

import ast

from pallas_static_grid.analysis.interpret.joins import join_names, widen
from pallas_static_grid.analysis.interpret.statements import Statements


class Loops(Statements):
    """Running loops until what they change is stable."""

    def _stmt_For(self, node: ast.For | ast.AsyncFor) -> bool:
        iterable = self.eval(node.iter)
        element = self.iterated(iterable, node.iter)
        return self.loop(
            node, node.body, node.orelse, lambda: self.assign(node.target, element, node)
        )

    _stmt_AsyncFor = _stmt_For

    def _stmt_While(self, node: ast.While) -> bool:
        def test() -> None:
            self.eval(node.test)

        forever = isinstance(node.test, ast.Constant) and bool(node.test.value)
        return self.loop(node, node.body, node.orelse, test, at_least_once=forever)

    def loop(
        self,
        node: ast.stmt,
        body: list[ast.stmt],
        orelse: list[ast.stmt],
        head: object,
        *,
        at_least_once: bool = False,
    ) -> bool:
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
        self.scope.names = after if at_least_once else join_names(start, after, self.fresh)
        self.scope.facts = facts
        self.settle()
        return self.block(orelse) if orelse else True
