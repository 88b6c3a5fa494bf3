"""`match` statements."""

from __future__ import annotations

import ast

from pallas_static_grid.analysis.interpret.joins import join_names
from pallas_static_grid.analysis.interpret.narrowing import Narrowing
from pallas_static_grid.analysis.symbolic import Num
from pallas_static_grid.analysis.values import (
    Array,
    Const,
    Int,
    Tuple,
    Union,
    Unknown,
    Value,
)


class Patterns(Narrowing):
    """`match` statements."""

    def _stmt_Match(self, node: ast.Match) -> bool:
        subject = self.eval(node.subject)
        before = dict(self.scope.names)
        facts = list(self.scope.facts)
        ends: list[dict[str, Value]] = []
        covered = False
        for case in node.cases:
            self.scope.names = dict(before)
            self.scope.facts = list(facts)
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
            self.scope.names = join_names(self.scope.names, other, self.fresh)
        self.scope.facts = facts
        self.settle()
        return True

    def match_pattern(self, pattern: ast.pattern, subject: Value, node: ast.AST) -> bool | None:
        """Bind the names of a pattern; True or False where the outcome is certain."""
        match pattern:
            case ast.MatchAs(pattern=None, name=name):
                if name:
                    self.bind(self.scope, name, subject)
                return True
            case ast.MatchAs(pattern=inner, name=name) if inner is not None:
                inner_result = self.match_pattern(inner, subject, node)
                if name:
                    self.bind(self.scope, name, subject)
                return inner_result
            case ast.MatchValue(value=value):
                wanted = self.eval(value)
                if isinstance(wanted, Const) and isinstance(subject, Const):
                    return bool(wanted.value == subject.value)
                if (
                    isinstance(wanted, Int)
                    and isinstance(subject, Int)
                    and isinstance(wanted.expr, Num)
                    and isinstance(subject.expr, Num)
                ):
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
                            self.bind(
                                self.scope,
                                part.name,
                                self.slice_of(subject, index, index + 1 - len(patterns), node),
                            )
                        continue
                    at = index if not stars or index < stars[0] else index - len(patterns)
                    size = None if stars else len(patterns)
                    inner_outcome = self.match_pattern(
                        part, self.element(subject, at, size, node), node
                    )
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


def _irrefutable(pattern: ast.pattern) -> bool:
    return isinstance(pattern, ast.MatchAs) and pattern.pattern is None
