"""Scopes: what names are bound to while a body is being interpreted."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pallas_static_grid.analysis.values import Value

if TYPE_CHECKING:
    from pallas_static_grid.analysis.symbolic import Sym
    from pallas_static_grid.model import Step


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
    facts: list[Fact] = field(default_factory=list)
    globals_: frozenset[str] = frozenset()
    nonlocals: frozenset[str] = frozenset()

    def snapshot(self) -> Scope:
        """A copy that later statements do not change (facts and names as of now)."""
        return Scope(
            self.parent,
            self.node,
            self.qualname,
            dict(self.names),
            self.history,
            list(self.facts),
            self.globals_,
            self.nonlocals,
        )
