"""Scopes: what names are bound to while a body is being interpreted."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pallas_static_grid.analysis.values import Unknown, Value

if TYPE_CHECKING:
    from pallas_static_grid.analysis.symbolic import Sym
    from pallas_static_grid.model import Step


MAX_HISTORY = 40


@dataclass(frozen=True, slots=True, eq=False)
class Fact:
    """Something an `assert` or a guarded `raise` on the way proves.

    op is one of "eq", "le", "lt", "ge", "gt", "divides" (`left % right == 0`).
    """

    op: str
    left: Sym
    right: Sym
    step: Step


@dataclass(eq=False, slots=True)
class Scope:
    """The bindings of one function body, class body or module at one point of its run.

    `names` changes as statements run; `history` keeps every value that a name ever had, for
    closures, which see the name as it is when they run.
    """

    parent: Scope | None
    node: ast.AST
    qualname: str
    names: dict[str, Value] = field(default_factory=dict)
    history: dict[str, list[Value]] = field(default_factory=dict)
    moments: dict[str, list[int]] = field(default_factory=dict)
    """When each value of `history` was given, by the count of all bindings of the run."""
    facts: list[Fact] = field(default_factory=list)
    globals_: frozenset[str] = frozenset()
    nonlocals: frozenset[str] = frozenset()

    def push(self, name: str, value: Value, moment: int) -> None:
        """Note one more value of a name."""
        past = self.history.setdefault(name, [])
        when = self.moments.setdefault(name, [])
        if len(past) < MAX_HISTORY:
            past.append(value)
            when.append(moment)
        else:
            past[-1] = Unknown(f"`{name}` is assigned in too many places")

    def since(self, name: str, moment: int) -> list[Value]:
        """The values that a name has from a moment on, the one that it had then included."""
        past, when = self.history.get(name, []), self.moments.get(name, [])
        before = sum(1 for at in when if at <= moment)
        return past[max(before - 1, 0) :]

    def snapshot(self) -> Scope:
        """A copy that later statements do not change (facts and names as of now)."""
        return Scope(
            self.parent,
            self.node,
            self.qualname,
            dict(self.names),
            self.history,
            self.moments,
            list(self.facts),
            self.globals_,
            self.nonlocals,
        )
