"""A static value as one readable Python expression over the names in scope at a launch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from pallas_static_grid.analysis.algebra import (
    Choice,
    Gen,
    Monomial,
    Poly,
    exact_quotient,
    number,
    poly,
    subtract,
)
from pallas_static_grid.analysis.intervals import Facts
from pallas_static_grid.analysis.operands import only_array
from pallas_static_grid.analysis.scopes import Scope
from pallas_static_grid.analysis.symbolic import Atom, Op, Sym, is_static
from pallas_static_grid.analysis.values import (
    Array,
    Const,
    Dict,
    External,
    Instance,
    Int,
    Sequence,
    Tuple,
    Union,
    Unknown,
    Value,
)

SUM, PRODUCT, UNARY, PRIMARY = 1, 2, 3, 4
MAX_ITEMS = 24
_STEP = re.compile(r"\.[A-Za-z_]\w*|\[\d+\]")
_PATH = re.compile(r"(?:\.[A-Za-z_]\w*|\[\d+\])+")
Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Text:
    """An expression with its precedence and how much there is to read."""

    text: str
    level: int
    cost: int

    def at(self, level: int) -> str:
        """The text, in parentheses where it binds less tightly than `level`."""
        return self.text if self.level >= level else f"({self.text})"


@dataclass(slots=True)
class Names:
    """What the names at one place stand for."""

    facts: Facts
    values: dict[Poly, Text] = field(default_factory=dict)
    """Ints by their normal form."""
    literals: dict[int, list[str]] = field(default_factory=dict)
    """Names bound to a known number."""
    arrays: dict[str, Text] = field(default_factory=dict)
    """Arrays by identity."""
    lengths: dict[str, Text] = field(default_factory=dict)
    """Arrays by the identity of their lengths."""
    trees: dict[str, Text] = field(default_factory=dict)
    """Traced values that may have fields, by identity; a field's is `identity.field`."""
    shapes: dict[str, Text] = field(default_factory=dict)
    """Names bound to the shape of an array, by the array's identity."""
    taken: frozenset[str] = frozenset()
    cdiv: str | None = None

    @staticmethod
    def at(scope: Scope | None, facts: Facts) -> Names:
        """The names as the code at the end of `scope` sees them."""
        names = Names(facts)
        seen: set[str] = set()
        for name, value in visible(scope):
            seen.add(name)
            if isinstance(value, External):
                names.note_import(name, value.name)
            else:
                names.note(Text(name, PRIMARY, 1), value, 0)
        names.taken = frozenset(seen)
        return names

    def note_import(self, name: str, canonical: str) -> None:
        """Remember under which name `cdiv` can be called."""
        if canonical == "pl.cdiv" and (self.cdiv is None or "." in self.cdiv):
            self.cdiv = name
        elif canonical == "pl" and self.cdiv is None:
            self.cdiv = f"{name}.cdiv"

    def note(self, text: Text, value: Value, depth: int) -> None:
        """Remember what `text` stands for, and its parts."""
        match value:
            case Int(expr=expr) if is_static(expr) and not value.is_bool:
                self.note_value(text, expr)
            case Array(ident=ident):
                _keep_cheaper(self.arrays, ident, text)
                borrowed = Text(text.text, PRIMARY, text.cost + (value.dims_of is not None))
                _keep_cheaper(self.lengths, value.dims_ident, borrowed)
                if value.tree:
                    _keep_cheaper(self.trees, ident, text)
                for axis, extent in enumerate(value.shape or ()):
                    if isinstance(extent, Int) and is_static(extent.expr):
                        self.note_value(_shape(text, axis), extent.expr)
            case Union() if (array := only_array(value)) is not None:
                self.note(text, array, depth)
            case Unknown(ident=ident) if ident:
                _keep_cheaper(self.arrays, ident, text)
                _keep_cheaper(self.lengths, ident, text)
            case Sequence(array=Array(dims_ident=ident)):
                _keep_cheaper(self.shapes, ident, text)
            case Tuple(items=items) if depth < 3 and len(items) <= MAX_ITEMS:
                for index, item in enumerate(items):
                    self.note(
                        Text(f"{text.text}[{index}]", PRIMARY, text.cost + 1), item, depth + 1
                    )
            case Instance(fields=fields) if depth < 3 and len(fields) <= MAX_ITEMS:
                for name, item in fields:
                    if not isinstance(item, External):
                        self.note(
                            Text(f"{text.text}.{name}", PRIMARY, text.cost + 1), item, depth + 1
                        )
            case Dict(items=items) if depth < 2 and len(items) <= MAX_ITEMS:
                for key, item in items:
                    if isinstance(key, str):
                        entry = Text(f'{text.text}["{key}"]', PRIMARY, text.cost + 4)
                        self.note(entry, item, depth + 1)
            case _:
                pass

    def note_value(self, text: Text, expr: Sym) -> None:
        """Remember an int; a literal is better written as such than by a name's part."""
        form = poly(expr, self.facts)
        if form.constant is None:
            _keep_cheaper(self.values, form, text)
        else:
            self.literals.setdefault(form.constant, []).append(text.text)

    def render(self, form: Poly, hints: frozenset[str] = frozenset()) -> str | None:
        """The expression for a static value, or None where names in scope do not give it.

        A number is written by a name only if that is among `hints`, the words of the code that
        gave the value: other names may be equal by chance.
        """
        found = Writer(self, hints).text_of(form, 0)
        return None if found is None else found.text

    def with_lengths(self, ident: str) -> Text | None:
        """The expression for an array with the lengths of the array `ident`."""
        if ident in self.lengths:
            return self.lengths[ident]
        for known, text in self.trees.items():
            path = ident.removeprefix(known)
            if path != ident and _PATH.fullmatch(path):
                steps = len(_STEP.findall(path))
                return Text(text.text + path, PRIMARY, text.cost + steps)
        return None

    def name_of(self, ident: str) -> str | None:
        """The expression for an array."""
        text = self.arrays.get(ident)
        return None if text is None else text.text


@dataclass(frozen=True, slots=True)
class Writer:
    """One expression being written."""

    names: Names
    hints: frozenset[str]

    def _number(self, value: int) -> Text:
        """A number, by the names that the code at hand uses for it or for its parts."""
        plain = Text(str(value), PRIMARY if value >= 0 else UNARY, 1)
        if abs(value) <= 1:
            return plain
        for name in self.names.literals.get(value, ()):
            if name in self.hints:
                return Text(name, PRIMARY, 1)
        if str(value) in self.hints:
            return plain
        return self._composed(value) or plain

    def _composed(self, value: int) -> Text | None:
        known = [
            (number, name)
            for number, names in self.names.literals.items()
            for name in names
            if name in self.hints and number > 1
        ]
        if len(known) > 8:
            return None
        for a, over in known:
            for b, under in known:
                if a > b and a // b == value and a % b == 0:
                    return _binary(Text(over, PRIMARY, 1), "//", Text(under, PRIMARY, 1))
        for a, name in known:
            if value % a == 0 and str(value // a) in self.hints:
                return _binary(Text(str(value // a), PRIMARY, 1), "*", Text(name, PRIMARY, 1))
        return None

    def text_of(self, form: Poly, depth: int) -> Text | None:
        """The shortest expression for a polynomial."""
        if form.constant is not None:
            return self._number(form.constant)
        known = self.names.values.get(form)
        if known is not None:
            return known
        if depth > 6:
            return None
        options = [self._by_offset(form), self._by_terms(form, depth)]
        return min(
            (o for o in options if o is not None), key=lambda o: (o.cost, o.text), default=None
        )

    def _by_offset(self, form: Poly) -> Text | None:
        """A name and a number."""
        best: Text | None = None
        for known, text in self.names.values.items():
            gap = subtract(form, known).constant
            if gap is not None:
                sign = "+" if gap > 0 else "-"
                size = self._number(abs(gap)).at(PRODUCT)
                option = Text(f"{text.text} {sign} {size}", SUM, text.cost + 3)
                best = option if best is None or option.cost < best.cost else best
        return best

    def _by_terms(self, form: Poly, depth: int) -> Text | None:
        terms = sorted(form.terms, key=lambda t: (t[1] < 0, t[0] == ()))
        if len(terms) > 1 and terms[0][1] < 0:
            terms = sorted(terms, key=lambda t: t[0] == ())
        out: Text | None = None
        for monomial, coefficient in terms:
            part = self._term(monomial, abs(coefficient), depth)
            if part is None:
                return None
            if out is None:
                out = part if coefficient > 0 else _negated(part)
            else:
                sign = "+" if coefficient > 0 else "-"
                right = part.at(PRODUCT) if coefficient < 0 else part.text
                out = Text(f"{out.text} {sign} {right}", SUM, out.cost + part.cost + 2)
        return out

    def _term(self, monomial: Monomial, coefficient: int, depth: int) -> Text | None:
        whole = Poly(((monomial, coefficient),))
        known = self.names.values.get(whole) if monomial else None
        if known is not None:
            return known
        if not monomial:
            return self.text_of(number(coefficient), depth)
        if coefficient != 1:
            bare = self._term(monomial, 1, depth)
            if bare is None:
                return None
            factor = self.text_of(number(coefficient), depth)
            assert factor is not None
            text = f"{bare.at(PRODUCT)} * {factor.at(UNARY)}"
            if " // " in bare.text and bare.level == PRODUCT:
                text = f"{factor.at(UNARY)} * ({bare.text})"
            return Text(text, PRODUCT, bare.cost + factor.cost + 2)
        if len(monomial) > 1:
            return self._product(monomial, depth)
        return self._generator(monomial[0], depth)

    def _product(self, monomial: Monomial, depth: int) -> Text | None:
        for known, text in self.names.values.items():
            if len(known.terms) != 1:
                continue
            rest = exact_quotient(Poly(((monomial, 1),)), known)
            if rest is not None and len(known.terms[0][0]) > 1:
                other = self.text_of(rest, depth + 1)
                if other is not None:
                    return _binary(text, "*", other)
        parts = [self.text_of(Poly((((g,), 1),)), depth + 1) for g in monomial]
        out = parts[0]
        for part in parts[1:]:
            if out is None or part is None:
                return None
            if part.level == PRODUCT:
                out, part = part, out
            out = _binary(out, "*", part)
        return out

    def _generator(self, gen: Gen, depth: int) -> Text | None:
        if isinstance(gen, Choice):
            return None
        if isinstance(gen, Atom):
            return self._atom(gen)
        args = [self.text_of(poly(a, self.names.facts), depth + 1) for a in gen.args]
        parts = [a for a in args if a is not None]
        if len(parts) != len(args):
            return None
        return self._operation(gen, parts)

    def _operation(self, gen: Op, parts: list[Text]) -> Text | None:
        match gen.kind:
            case "floordiv":
                return _binary(parts[0], "//", parts[1])
            case "mod":
                return _binary(parts[0], "%", parts[1])
            case "cdiv" if self.names.cdiv is not None:
                return _call(self.names.cdiv, parts)
            case "cdiv":
                text = f"-(-{parts[0].at(UNARY)} // {parts[1].at(UNARY)})"
                return Text(text, UNARY, parts[0].cost + parts[1].cost + 4)
            case "min" | "max" if gen.kind not in self.names.taken:
                return _call(gen.kind, parts)
            case "mul":
                out = parts[0]
                for part in parts[1:]:
                    out = _binary(out, "*", part)
                return out
            case _:
                return None

    def _atom(self, atom: Atom) -> Text | None:
        match atom.key:
            case ("dim", str(ident), int(axis)):
                if ident in self.names.shapes:
                    text = self.names.shapes[ident]
                    return Text(f"{text.text}[{axis}]", PRIMARY, text.cost + 1)
                array = self.names.with_lengths(ident)
                return None if array is None else _shape(array, axis)
            case ("size", str(ident)):
                array = self.names.with_lengths(ident)
                if array is None:
                    return None
                return Text(f"{array.text}.size", PRIMARY, array.cost + 1)
            case _:
                return None


def _keep_cheaper(table: dict[Key, Text], key: Key, text: Text) -> None:
    old = table.get(key)
    if old is None or text.cost < old.cost:
        table[key] = text


def _shape(array: Text, axis: int) -> Text:
    return Text(f"{array.text}.shape[{axis}]", PRIMARY, array.cost + 2)


def _negated(part: Text) -> Text:
    return Text(f"-{part.at(UNARY)}", UNARY, part.cost + 1)


def _binary(left: Text, sign: str, right: Text) -> Text:
    text = f"{left.at(PRODUCT)} {sign} {right.at(UNARY)}"
    return Text(text, PRODUCT, left.cost + right.cost + 2)


def _call(name: str, parts: list[Text]) -> Text:
    inside = ", ".join(part.text for part in parts)
    return Text(f"{name}({inside})", PRIMARY, 2 + sum(part.cost for part in parts))


def visible(scope: Scope | None) -> Iterator[tuple[str, Value]]:
    """The names that can be used at the end of `scope`, inner ones first.

    A name of an outer scope counts only if it has one value throughout.
    """
    seen: set[str] = set()
    inner = scope
    while scope is not None:
        if scope is inner or not isinstance(scope.node, ast.ClassDef):
            for name, value in scope.names.items():
                if name in seen:
                    continue
                seen.add(name)
                if scope is inner or _one_value(scope.history.get(name, [])):
                    yield name, value
                else:
                    yield name, Const(None)
        scope = scope.parent


def _one_value(past: list[Value]) -> bool:
    return all(_same(value, past[0]) for value in past[1:])


def _same(a: Value, b: Value) -> bool:
    if a is b:
        return True
    match a, b:
        case Int(expr=x), Int(expr=y):
            return poly(x) == poly(y)
        case Array(ident=x), Array(ident=y):
            return x == y
        case Unknown(ident=x), Unknown(ident=y):
            return x == y and x != ""
        case External(name=x), External(name=y):
            return x == y
        case _:
            return False
