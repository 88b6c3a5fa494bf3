"""Sums of products of integers that cannot be taken apart: the data of the algebra."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pallas_static_grid.analysis.symbolic import Atom, Num, Op, Sym, atoms


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """An expression that holds a `select`: equal to itself only, not to its look-alikes."""

    whole: Op
    """The expression as it was met; its identity is the identity of the value."""
    inner: Op
    """The same with its parts in normal form."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Choice) and self.whole is other.whole

    def __hash__(self) -> int:
        return id(self.whole)


Gen = Atom | Op | Choice


Monomial = tuple[Gen, ...]


@dataclass(frozen=True, slots=True)
class Poly:
    """Terms with their coefficients, none zero, in one order."""

    terms: tuple[tuple[Monomial, int], ...]

    @property
    def constant(self) -> int | None:
        """The value, if the polynomial is a number."""
        if not self.terms:
            return 0
        if len(self.terms) == 1 and self.terms[0][0] == ():
            return self.terms[0][1]
        return None

    @property
    def offset(self) -> int:
        """The constant term."""
        return next((c for m, c in self.terms if m == ()), 0)

    @property
    def single(self) -> Gen | None:
        """The generator that the polynomial consists of, if it is just one."""
        if len(self.terms) == 1:
            monomial, coefficient = self.terms[0]
            if coefficient == 1 and len(monomial) == 1:
                return monomial[0]
        return None

    def generators(self) -> tuple[Gen, ...]:
        """Every generator, once, in order."""
        return tuple(dict.fromkeys(g for m, _ in self.terms for g in m))


def text_key(sym: Gen | Sym) -> str:
    """A text that orders expressions."""
    match sym:
        case Num(value):
            return str(value)
        case Atom():
            return f"{sym.text}:{sym.key}"
        case Op(kind, args):
            return f"{kind}({','.join(text_key(a) for a in args)})"
        case Choice():
            return text_key(sym.inner)


def make(terms: Iterable[tuple[Monomial, int]]) -> Poly:
    """Collect like terms."""
    total: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        total[monomial] = total.get(monomial, 0) + coefficient
    kept = [(m, c) for m, c in total.items() if c]
    if len(kept) > 1:
        kept.sort(key=lambda term: (not term[0], [text_key(g) for g in term[0]]))
    return Poly(tuple(kept))


def number(value: int) -> Poly:
    """The polynomial of a literal."""
    return Poly((((), value),)) if value else Poly(())


def generator(gen: Gen) -> Poly:
    """The polynomial of one generator."""
    return Poly((((gen,), 1),))


def add(*polys: Poly) -> Poly:
    """The sum."""
    return make(term for p in polys for term in p.terms)


def scale(p: Poly, factor: int) -> Poly:
    """A multiple."""
    return Poly(tuple((m, c * factor) for m, c in p.terms)) if factor else Poly(())


def subtract(a: Poly, b: Poly) -> Poly:
    """The difference."""
    return add(a, scale(b, -1))


def multiply(a: Poly, b: Poly) -> Poly:
    """The product."""
    return make(
        (tuple(sorted((*m, *n), key=text_key)), c * d) for m, c in a.terms for n, d in b.terms
    )


def exact_quotient(dividend: Poly, divisor: Poly) -> Poly | None:
    """`dividend / divisor` where that is a polynomial with whole coefficients."""
    if not divisor.terms:
        return None
    if len(divisor.terms) == 1:
        quotient = [_term_quotient(term, divisor.terms[0]) for term in dividend.terms]
        kept = [term for term in quotient if term is not None]
        return make(kept) if len(kept) == len(quotient) else None
    if not dividend.terms:
        return number(0)
    lead = _term_quotient(dividend.terms[0], divisor.terms[0])
    if lead is None:
        return None
    factor = Poly((lead,))
    return factor if multiply(factor, divisor) == dividend else None


def _term_quotient(
    term: tuple[Monomial, int], by: tuple[Monomial, int]
) -> tuple[Monomial, int] | None:
    if term[1] % by[1]:
        return None
    left = list(term[0])
    for gen in by[0]:
        if gen not in left:
            return None
        left.remove(gen)
    return tuple(left), term[1] // by[1]


def leans_negative(p: Poly) -> bool:
    """Which of `p` and `-p` is the spelling to keep; lengths of arrays are best positive."""
    score = 0
    for monomial, coefficient in p.terms:
        if monomial:
            heavy = any(isinstance(g, Atom) and g.key[0] == "dim" for g in monomial)
            score += (2 if heavy else 1) * (1 if coefficient > 0 else -1)
    return p.terms[0][1] < 0 if score == 0 else score < 0


def to_sym(p: Poly) -> Sym:
    """The polynomial as an expression, sums before differences."""
    if not p.terms:
        return Num(0)
    plus = [_term(m, c) for m, c in p.terms if c > 0]
    minus = [_term(m, -c) for m, c in p.terms if c < 0]
    if not plus:
        if len(p.terms) == 1:
            monomial, coefficient = p.terms[0]
            return Num(coefficient) if not monomial else Op("neg", (minus[0],))
        return Op("neg", (minus[0] if len(minus) == 1 else Op("add", tuple(minus)),))
    out: Sym = plus[0] if len(plus) == 1 else Op("add", tuple(plus))
    for part in minus:
        out = Op("sub", (out, part))
    return out


def _term(monomial: Monomial, coefficient: int) -> Sym:
    if not monomial:
        return Num(coefficient)
    factors: list[Sym] = [g.inner if isinstance(g, Choice) else g for g in monomial]
    if coefficient != 1:
        factors.insert(0, Num(coefficient))
    return factors[0] if len(factors) == 1 else Op("mul", tuple(factors))


def is_static_gen(gen: Gen) -> bool:
    """Whether a generator is a Python int at trace time."""
    whole = gen.inner if isinstance(gen, Choice) else gen
    return all(atom.static for atom in atoms(whole))


def is_static_poly(p: Poly) -> bool:
    """Whether every generator is a Python int at trace time."""
    return all(is_static_gen(g) for g in p.generators())
