"""Names of dimensions: their definitions become integers, or stand in for them."""

from __future__ import annotations

import ast

from pallas_static_grid.analysis.symbolic import Atom, Num, Op, Sym
from pallas_static_grid.analysis.values import Array, Float, Int, Sequence, Tuple, options
from pallas_static_grid.rewrite.edits import replacement
from pallas_static_grid.rewrite.names import enclosing
from pallas_static_grid.transforms.shapes.bindings import Definition
from pallas_static_grid.transforms.shapes.canonical import lookup
from pallas_static_grid.transforms.shapes.exact import (
    Exact,
    Form,
    NotArithmetic,
    Ratio,
    Vector,
    is_changed,
    marked,
    tuple_text,
)
from pallas_static_grid.transforms.shapes.state import Shared, State


class Names(State):
    """What a name stands for."""

    __slots__ = ()

    def _name(self, node: ast.Name) -> Form:
        value = lookup(self.scope, node.id)
        if value is None:
            return self._unseen(node)
        found = list(options(value))
        if all(isinstance(option, Int) for option in found):
            signs = [_signs(option.expr) for option in found if isinstance(option, Int)]
            return self._verbatim(
                node, natural=all(n for n, _ in signs), positive=all(p for _, p in signs)
            )
        if all(isinstance(option, Tuple | Sequence) for option in found):
            return Vector(None, node.id)
        if any(isinstance(option, Array | Float) for option in found):
            return self._followed(node)
        raise NotArithmetic

    def _unseen(self, node: ast.Name) -> Form:
        """A name of a helper's own: a parameter, or something it computes."""
        scope = self.bindings.binder(node, node.id)
        if scope is None or self.bindings.definitions(scope, node.id) is None:
            self.assumed = True
            return self._verbatim(node)
        return self._followed(node)

    def _followed(self, node: ast.Name) -> Form:
        """A name of an array: its definitions become integers, or stand in for it."""
        scope = self.bindings.binder(node, node.id)
        definitions = None if scope is None else self.bindings.definitions(scope, node.id)
        if scope is None or definitions is None or node.id in self._following:
            raise NotArithmetic
        self._following.append(node.id)
        outer = self.scope
        self.scope = self._scope_of(definitions[0].statement)
        try:
            forms = [self.form(definition.value) for definition in definitions]
        finally:
            self._following.pop()
            self.scope = outer
        if not any(is_changed(form) for form in forms):
            natural = all(isinstance(form, Exact) and form.natural for form in forms)
            if all(isinstance(form, Vector) for form in forms):
                return Vector(None, node.id)
            return self._verbatim(node, natural=natural)
        if self.bindings.only_for_grids(scope, node.id):
            return self._redefined(node, definitions, forms)
        if len(forms) == 1 and self._may_stand_in(definitions[0], node):
            return marked(forms[0])
        raise Shared(node)

    def _redefined(
        self, node: ast.Name, definitions: tuple[Definition, ...], forms: list[Form]
    ) -> Form:
        if any(isinstance(form, Ratio) for form in forms):
            if len(forms) == 1 and self._may_stand_in(definitions[0], node):
                return forms[0]
            raise Shared(node)
        for definition, form in zip(definitions, forms, strict=True):
            span = self.module.span(definition.value)
            text = form.text if isinstance(form, Exact) else tuple_text(form)  # type: ignore[arg-type]  # no Ratio is left
            if is_changed(form):
                self.edits[span] = replacement(span, text)
        if all(isinstance(form, Vector) for form in forms):
            return Vector(None, node.id)
        natural = all(isinstance(form, Exact) and form.natural for form in forms)
        return self._verbatim(node, natural=natural)

    def _may_stand_in(self, definition: Definition, node: ast.Name) -> bool:
        """Whether the definition's expression means the same where the name is read."""
        module_level = self.bindings.binder(node, node.id) is self.module.tree
        if module_level and self._is_host(definition.value):
            # `int(NAME)` says more than a copy of the constant's value.
            return False
        names = {n.id for n in ast.walk(definition.value) if isinstance(n, ast.Name)}
        here = set(enclosing(self.module.tree, node))
        return (
            all(
                self.bindings.stays(definition.value, name)
                and self._same_binder(definition, node, name)
                for name in names
            )
            and enclosing(self.module.tree, definition.statement)[-1] in here
        )

    def _same_binder(self, definition: Definition, node: ast.Name, name: str) -> bool:
        there = self.bindings.binder(definition.statement, name)
        return there is self.bindings.binder(node, name)


def _signs(sym: Sym) -> tuple[bool, bool]:
    """Whether a symbolic integer is certainly not negative, and certainly positive."""
    match sym:
        case Num(value=value):
            return value >= 0, value > 0
        case Atom(lo=Num(value=low)):
            return low >= 0, low > 0
        case Op(kind="add" | "mul" as kind, args=args):
            signs = [_signs(arg) for arg in args]
            natural = all(n for n, _ in signs)
            positives = [p for _, p in signs]
            return natural, natural and (any(positives) if kind == "add" else all(positives))
        case Op(kind="floordiv" | "cdiv" as kind, args=(top, bottom)):
            over, under = _signs(top), _signs(bottom)
            return over[0] and under[1], kind == "cdiv" and over[1] and under[1]
        case Op(kind="max", args=args):
            signs = [_signs(arg) for arg in args]
            return any(n for n, _ in signs), any(p for _, p in signs)
        case Op(kind="min" | "select", args=args):
            signs = [_signs(arg) for arg in args]
            return all(n for n, _ in signs), all(p for _, p in signs)
        case _:
            return False, False
