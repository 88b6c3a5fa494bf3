"""What a walk carries along: reachability, accesses, calls."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.symbolic import Atom, Num, Sym
from pallas_static_grid.analysis.walk_values import (
    Access,
    Env,
    Given,
    Index,
    Ref,
    Scalar,
    Thing,
    Transfer,
    View,
)

Prover = Callable[[Sym, Sym, tuple[Sym, ...]], bool]
MAX_DEPTH = 12
MAX_NODES = 60_000
MAX_UNROLLED = 8


class State:
    """The state of a walk, and the steps that its parts call on each other."""

    def __init__(
        self,
        axis_names: Sequence[str | None] = (),
        at_most: Prover | None = None,
        given: Given | None = None,
    ) -> None:
        self.axis_names = tuple(axis_names)
        self.given = given
        self.at_most = at_most
        """Whether `a <= b` is known to hold on every step, given values that are at least 1."""
        self.rounds: list[Sym] = []
        """Static numbers of rounds of the loops around, not known to be positive."""
        self.accesses: list[Access] = []
        self.calls: list[tuple[str, ast.expr, ModuleContext]] = []
        """Calls of functions out of sight, by canonical name."""
        self.always = True
        self.piped = False
        """Whether the code runs in the grid of a pipeline inside the kernel."""
        self.depth = 0
        self.nodes = 0
        self.fresh_count = 0
        self.returned: list[list[Thing]] = []

    def fresh(self, text: str, lo: Sym | None = None) -> Scalar:
        """An integer of which nothing is known but a lower limit."""
        self.fresh_count += 1
        return Scalar(Atom(("walk", self.fresh_count), text, static=False, lo=lo))

    def touch(
        self,
        base: Ref | View,
        index: tuple[Index, ...],
        kind: str,
        node: ast.expr,
        module: ModuleContext,
    ) -> None:
        """Note that a ref is read, written or copied."""
        if isinstance(base, View):
            self.touch_ref(base.ref, base.index, kind, base.node, base.module)
        else:
            self.touch_ref(base, index, kind, node, module)

    def touch_ref(
        self, ref: Ref, index: tuple[Index, ...], kind: str, node: ast.expr, module: ModuleContext
    ) -> None:
        """Note an access."""
        rounds = self.unknown_rounds()
        self.accesses.append(Access(ref, index, kind, self.always, node, module, rounds))

    def use(self, thing: Thing, kind: str, node: ast.expr, module: ModuleContext) -> None:
        """Note the use of a ref or view that is handed to something that touches it."""
        if isinstance(thing, Ref | View):
            self.touch(thing, (), kind, node, module)
        elif isinstance(thing, Transfer):
            for view in thing.views:
                self.use(view, kind, node, module)

    def unknown_rounds(self) -> tuple[Sym, ...]:
        """The rounds of the loops around that are not known to be positive."""
        return tuple(dict.fromkeys(r for r in self.rounds if not isinstance(r, Num)))

    # What the parts further down the chain do.

    def evaluate(self, node: ast.expr, env: Env) -> Thing:
        """What an expression is."""
        raise NotImplementedError

    def subscript(self, node: ast.Subscript, owner: Thing, index: ast.expr, env: Env) -> Thing:
        """`owner[index]`."""
        raise NotImplementedError

    def window(self, node: ast.Slice, env: Env) -> Thing:
        """`start:stop`."""
        raise NotImplementedError

    def call_expression(self, node: ast.Call, env: Env) -> Thing:
        """A call as it is written."""
        raise NotImplementedError

    def assign(self, target: ast.expr, thing: Thing, env: Env) -> None:
        """Bind a target, or write through a ref."""
        raise NotImplementedError

    def apply(
        self,
        func: Thing,
        args: tuple[Thing, ...],
        kwargs: dict[str, Thing],
        node: ast.expr,
        env: Env,
    ) -> Thing:
        """The result of a call."""
        raise NotImplementedError
