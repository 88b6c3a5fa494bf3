"""What a translation knows and collects, and the parts of expressions that stay as they are."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Self

from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.scopes import Scope
from pallas_static_grid.analysis.values import Array, Float, options
from pallas_static_grid.model import Edit
from pallas_static_grid.rewrite.names import bound_in, enclosing
from pallas_static_grid.transforms.shapes.bindings import Bindings
from pallas_static_grid.transforms.shapes.canonical import array_function, lookup
from pallas_static_grid.transforms.shapes.exact import (
    Exact,
    Form,
    NotArithmetic,
    NotExact,
    Ratio,
    looseness_of,
)


class Shared(Exception):
    """A name holds the dimension and serves other ends too, or is bound in several ways."""

    def __init__(self, node: ast.Name) -> None:
        super().__init__(node.id)
        self.node = node


@dataclass(slots=True)
class State:
    """One translation: where it is, and the edits and notes that it collects."""

    module: ModuleContext
    scope: Scope | None
    bindings: Bindings
    positive: frozenset[str] = frozenset()
    """Expressions that are certainly positive: the block sizes of the launch."""
    edits: dict[tuple[int, int], Edit] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    imports: list[Edit] = field(default_factory=list)
    assumed: bool = False
    """Something was left as it is that is not known to be an integer."""
    _following: list[str] = field(default_factory=list)

    def enter(self, node: ast.expr) -> None:
        """Begin with an entry: names mean what they mean where it stands."""
        self.scope = self._scope_of(node)
        self.assumed = False

    def fork(self) -> Self:
        """A translator for one entry, whose edits count only if it is joined again."""
        return type(self)(self.module, self.scope, self.bindings, self.positive)

    def join(self, other: State) -> None:
        """Take over what another translator collected."""
        self.edits.update(other.edits)
        self.notes.update(other.notes)
        self.imports.extend(other.imports)

    def _scope_of(self, node: ast.AST) -> Scope | None:
        """The scope in which `node` is evaluated, as far as it is known."""
        around = enclosing(self.module.tree, node)[-1]
        scope = self.scope
        while scope is not None:
            if scope.node is around:
                return scope
            scope = scope.parent
        return self.module.scope

    def form(self, node: ast.expr) -> Form:
        """What an expression is: an integer, a division, or a vector of lengths."""
        raise NotImplementedError

    def exact(self, node: ast.expr) -> Exact:
        """The exact integer form of a scalar expression."""
        form = self.form(node)
        if isinstance(form, Exact):
            return form
        if isinstance(form, Ratio):
            raise NotExact(node, "a division whose rounding is not said")
        raise NotArithmetic

    def _verbatim(self, node: ast.expr, *, natural: bool = False, positive: bool = False) -> Exact:
        text = self.module.segment(node)
        positive = positive or " ".join(text.split()) in self.positive
        return Exact(text, looseness_of(node), natural or positive, positive)

    def _leaf(self, node: ast.expr, *, natural: bool = False) -> Exact:
        """Something that is not taken apart; it stays as it is written."""
        self._refuse_traced(node)
        self.assumed |= not natural
        return self._verbatim(node, natural=natural)

    def _refuse_traced(self, node: ast.expr) -> None:
        """Give up where an array's own value (not its shape) is read."""
        lengths = {
            id(inner.value)
            for inner in ast.walk(node)
            if isinstance(inner, ast.Attribute) and inner.attr in ("shape", "size", "ndim", "dtype")
        }
        for inner in ast.walk(node):
            if isinstance(inner, ast.Call) and self._measures(inner):
                lengths |= {id(argument) for argument in inner.args}
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and id(inner) not in lengths:
                value = lookup(self.scope, inner.id)
                if value is not None and any(
                    isinstance(option, Array | Float) for option in options(value)
                ):
                    raise NotArithmetic

    def _measures(self, node: ast.Call) -> bool:
        if isinstance(node.func, ast.Name) and node.func.id == "len":
            return True
        found = array_function(node.func, self.scope)
        return found is not None and found[0] in ("size", "shape", "ndim")

    def _is_host(self, node: ast.expr) -> bool:
        """Whether nothing of JAX takes part in an expression."""
        for inner in ast.walk(node):
            if isinstance(inner, ast.Attribute | ast.Name):
                found = array_function(inner, self.scope)
                if found is not None and not found[1] and not found[0].startswith("pl."):
                    return False
        return True

    def _builtin_name(self, node: ast.expr, name: str) -> str:
        """A builtin, unless the file gives its name to something else."""
        if any(name in bound_in(scope) for scope in enclosing(self.module.tree, node)):
            raise NotExact(node, f"`{name}` is not Python's own here")
        return name
