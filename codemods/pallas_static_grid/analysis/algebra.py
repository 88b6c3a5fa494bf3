"""A normal form for integer expressions: sums of products of what cannot be taken apart.

`poly(sym)` multiplies out and folds; two expressions with equal polynomials are equal wherever
both are defined. Divisions, remainders, minima and maxima stay whole ("generators"), brought into
one of their equal spellings. What is known of the atoms (signs, divisibility, equalities) comes
in as a `Knowledge`; with `NOTHING` the form holds for all integers.
"""

from __future__ import annotations

from math import gcd
from typing import Protocol

from pallas_static_grid.analysis.polynomials import (
    Choice,
    Gen,
    Monomial,
    Poly,
    add,
    exact_quotient,
    generator,
    is_static_gen,
    is_static_poly,
    leans_negative,
    make,
    multiply,
    number,
    scale,
    subtract,
    text_key,
    to_sym,
)
from pallas_static_grid.analysis.symbolic import Atom, Num, Op, Sym, atoms

MAX_TERMS = 40
"""A product that would have more terms stays whole."""


MAX_NODES = 200
"""A larger expression is not taken apart: it is equal to itself and nothing else is known."""


class Knowledge(Protocol):
    """What is known of the atoms while an expression is brought into normal form."""

    def substitute(self, atom: Atom) -> Poly | None:
        """What an atom is known to equal."""
        ...

    def divisible(self, dividend: Poly, divisor: Poly) -> bool:
        """Whether the divisor is known to divide the dividend."""
        ...

    def least(self, value: Poly) -> int | None:
        """A number that the value is known not to fall below."""
        ...

    def most(self, value: Poly) -> int | None:
        """A number that the value is known not to exceed."""
        ...


class Nothing:
    """No knowledge beyond arithmetic."""

    def substitute(self, atom: Atom) -> Poly | None:
        """Nothing."""
        return None

    def divisible(self, dividend: Poly, divisor: Poly) -> bool:
        """Only by arithmetic."""
        return exact_quotient(dividend, divisor) is not None

    def least(self, value: Poly) -> int | None:
        """A constant is its own limit."""
        return value.constant

    def most(self, value: Poly) -> int | None:
        """A constant is its own limit."""
        return value.constant


NOTHING = Nothing()


def poly(sym: Sym, know: Knowledge = NOTHING) -> Poly:
    """The normal form of an expression."""
    if isinstance(sym, Op) and _larger(sym, MAX_NODES):
        static = all(atom.static for atom in atoms(sym))
        return generator(Choice(sym, Op("whole", (Atom(("whole",), "it", static),))))
    return _poly(sym, know)


def _larger(sym: Op, limit: int) -> bool:
    stack: list[Sym] = [sym]
    while stack and limit >= 0:
        limit -= 1
        part = stack.pop()
        if isinstance(part, Op):
            stack.extend(part.args)
    return limit < 0


def _poly(sym: Sym, know: Knowledge) -> Poly:
    match sym:
        case Num(value):
            return number(value)
        case Atom():
            known = know.substitute(sym)
            return generator(sym) if known is None else known
        case Op("add", args):
            return add(*(_poly(a, know) for a in args))
        case Op("mul", args):
            return _product([_poly(a, know) for a in args])
        case Op("sub", (a, b)):
            return subtract(_poly(a, know), _poly(b, know))
        case Op("neg", (a,)):
            return scale(_poly(a, know), -1)
        case Op("floordiv", (a, b)):
            return floor_quotient(_poly(a, know), _poly(b, know), know, sym)
        case Op("cdiv", (a, b)):
            return ceil_quotient(_poly(a, know), _poly(b, know), know, sym)
        case Op("truncdiv", (a, b)):
            return _truncated(_poly(a, know), _poly(b, know), know, sym)
        case Op("mod", (a, b)):
            return remainder(_poly(a, know), _poly(b, know), know, sym)
        case Op("pow", (a, Num(exponent))) if 0 <= exponent <= 8:
            return _product([_poly(a, know)] * exponent)
        case Op("min" | "max", args):
            return extremum(sym.kind, [_poly(a, know) for a in args], know, sym)
        case Op("select", args):
            sides = [_poly(a, know) for a in args]
            if all(side == sides[0] for side in sides):
                return sides[0]
            return _whole("select", sides, sym)
        case _:
            return _whole(sym.kind, [_poly(a, know) for a in sym.args], sym)


def _product(polys: list[Poly]) -> Poly:
    out = number(1)
    for p in polys:
        if len(out.terms) * len(p.terms) > MAX_TERMS:
            return generator(_op("mul", [to_sym(q) for q in polys]))
        out = multiply(out, p)
    return out


def _op(kind: str, args: list[Sym]) -> Op:
    return Op(kind, tuple(args))


def _whole(kind: str, parts: list[Poly], origin: Op | None) -> Poly:
    """The expression as a generator of its own."""
    inner = _op(kind, [to_sym(p) for p in parts])
    if kind == "select" or any(_has_choice(g) for p in parts for g in p.generators()):
        return generator(Choice(origin if origin is not None else inner, inner))
    return generator(inner)


def _has_choice(gen: Gen) -> bool:
    return isinstance(gen, Choice)


def floor_quotient(a: Poly, b: Poly, know: Knowledge, origin: Op | None = None) -> Poly:
    """The normal form of `a // b`."""
    divisor = b.constant
    if divisor == 0:
        return _whole("floordiv", [a, b], origin)
    if divisor is not None and divisor < 0:
        return floor_quotient(scale(a, -1), number(-divisor), know, origin)
    whole, rest = _split(a, b, know)
    if divisor is not None:
        return add(whole, _floor_by_number(rest, divisor, know, origin))
    return add(whole, _floor_by_poly(rest, b, know, origin))


def ceil_quotient(a: Poly, b: Poly, know: Knowledge, origin: Op | None = None) -> Poly:
    """The normal form of `-(-a // b)`."""
    return scale(floor_quotient(scale(a, -1), b, know, origin), -1)


def _split(a: Poly, b: Poly, know: Knowledge) -> tuple[Poly, Poly]:
    """`a == whole * b + rest` with all that is a known multiple of `b` in `whole`."""
    everything = exact_quotient(a, b)
    if everything is not None:
        return everything, number(0)
    whole: list[Poly] = []
    rest: list[tuple[Monomial, int]] = []
    for term in a.terms:
        piece = Poly((term,))
        quotient = exact_quotient(piece, b)
        if quotient is None and term[0] and know.divisible(piece, b):
            sign = 1 if term[1] > 0 else -1
            quotient = scale(_whole("floordiv", [scale(piece, sign), b], None), sign)
        if quotient is None:
            rest.append(term)
        else:
            whole.append(quotient)
    left = make(rest)
    if len(left.terms) > 1 and know.divisible(left, b):
        return add(*whole, _whole("floordiv", [left, b], None)), number(0)
    return add(*whole), left


def _floor_by_number(a: Poly, c: int, know: Knowledge, origin: Op | None) -> Poly:
    shift, low = divmod(a.offset, c)
    free = subtract(a, number(a.offset))
    if not free.terms:
        return number(shift)
    common = gcd(c, *(coefficient for _, coefficient in free.terms))
    if common > 1:
        free = make((m, k // common) for m, k in free.terms)
        return add(
            number(shift),
            floor_quotient(add(free, number(low // common)), number(c // common), know, origin),
        )
    sign = 1
    if leans_negative(free):
        sign, free, low = -1, scale(free, -1), c - 1 - low
    nested = _nested(free, number(c), low, know)
    if nested is not None:
        return add(number(shift), scale(nested, sign))
    if low == c - 1:
        part = _whole("cdiv", [free, number(c)], origin)
    else:
        part = _whole("floordiv", [add(free, number(low)), number(c)], origin)
    return add(number(shift), scale(part, sign))


def _nested(inner: Poly, divisor: Poly, low: int, know: Knowledge) -> Poly | None:
    """Merge `(x // a) // b` and `cdiv(cdiv(x, a), b)` for `b > 0`."""
    gen = inner.single
    if not isinstance(gen, Op) or (know.least(divisor) or 0) < 1:
        return None
    top = divisor.constant
    if gen.kind == "floordiv" and low == 0:
        a, b = (poly(arg, know) for arg in gen.args)
        return floor_quotient(a, multiply(b, divisor), know)
    if gen.kind == "cdiv" and top is not None and low == top - 1:
        a, b = (poly(arg, know) for arg in gen.args)
        return ceil_quotient(a, multiply(b, divisor), know)
    return None


def _floor_by_poly(a: Poly, b: Poly, know: Knowledge, origin: Op | None) -> Poly:
    if not a.terms:
        return number(0)
    a, b = _cancel(a, b)
    if b.constant is not None:
        return floor_quotient(a, b, know, origin)
    positive = (know.least(b) or 0) >= 1
    if a.offset <= -1 and len(a.terms) > 1 and positive:
        # floor((x - 1) / b) == ceil(x / b) - 1 for b > 0
        return subtract(ceil_quotient(add(a, number(1)), b, know, origin), number(1))
    if leans_negative(a):
        opposite = scale(a, -1)
        return scale(_whole("cdiv", [opposite, b], origin), -1)
    if positive:
        low, high = know.least(a), know.most(subtract(a, b))
        if low is not None and low >= 0 and high is not None and high < 0:
            return number(0)
    nested = _nested(a, b, 0, know)
    return nested if nested is not None else _whole("floordiv", [a, b], origin)


def _cancel(a: Poly, b: Poly) -> tuple[Poly, Poly]:
    """Divide both by the factors that all their terms share (none of which is zero)."""
    for gen in b.generators():
        while all(gen in m for p in (a, b) for m, _ in p.terms):
            by = generator(gen)
            smaller_a, smaller_b = exact_quotient(a, by), exact_quotient(b, by)
            if smaller_a is None or smaller_b is None:
                break
            a, b = smaller_a, smaller_b
    common = gcd(*(c for p in (a, b) for _, c in p.terms))
    if common > 1:
        a, b = (make((m, c // common) for m, c in p.terms) for p in (a, b))
    return a, b


def _truncated(a: Poly, b: Poly, know: Knowledge, origin: Op) -> Poly:
    low, divisor = know.least(a), know.least(b)
    if low is not None and low >= 0 and divisor is not None and divisor >= 1:
        return floor_quotient(a, b, know, origin)
    value, by = a.constant, b.constant
    if value is not None and by:
        quotient = abs(value) // abs(by)
        return number(quotient if (value < 0) == (by < 0) else -quotient)
    return _whole("truncdiv", [a, b], origin)


def remainder(a: Poly, b: Poly, know: Knowledge, origin: Op | None = None) -> Poly:
    """The normal form of `a % b`."""
    divisor = b.constant
    if divisor == 0:
        return _whole("mod", [a, b], origin)
    _, rest = _split(a, b, know)
    if divisor is not None:
        rest = make((m, c % divisor) for m, c in rest.terms)
    value = rest.constant
    if value == 0 or (value is not None and divisor is not None):
        return number(value)
    if (know.least(b) or 0) >= 1:
        low, high = know.least(rest), know.most(subtract(rest, b))
        if low is not None and low >= 0 and high is not None and high < 0:
            return rest
    return _whole("mod", [rest, b], origin)


def extremum(kind: str, parts: list[Poly], know: Knowledge, origin: Op | None = None) -> Poly:
    """The normal form of `min(...)` or `max(...)`."""
    flat: list[Poly] = []
    for part in parts:
        gen = part.single
        if isinstance(gen, Op) and gen.kind == kind:
            flat.extend(poly(arg, know) for arg in gen.args)
        else:
            flat.append(part)
    kept: list[Poly] = []
    for part in flat:
        if any(_dominates(kind, other, part, know) for other in kept):
            continue
        kept = [other for other in kept if not _dominates(kind, part, other, know)]
        kept.append(part)
    if len(kept) == 1:
        return kept[0]
    kept.sort(key=lambda p: text_key(to_sym(p)))
    return _whole(kind, kept, origin)


def _dominates(kind: str, a: Poly, b: Poly, know: Knowledge) -> bool:
    """Whether `kind(a, b)` is always `a`."""
    gap = subtract(a, b)
    if kind == "min":
        high = know.most(gap)
        return high is not None and high <= 0
    low = know.least(gap)
    return low is not None and low >= 0


def expand_remainders(sym: Sym) -> Sym:
    """Every `a % b` as `a - b * (a // b)`, so that round-ups in unlike spellings compare equal."""
    if not isinstance(sym, Op):
        return sym
    if sym.kind == "select":
        return sym
    args = tuple(expand_remainders(a) for a in sym.args)
    if sym.kind == "mod":
        a, b = args
        return Op("sub", (a, Op("mul", (b, Op("floordiv", (a, b))))))
    return Op(sym.kind, args) if args != sym.args else sym


def normal(sym: Sym, know: Knowledge = NOTHING) -> Sym:
    """The expression in normal form."""
    return to_sym(poly(sym, know))


def equal(a: Sym, b: Sym, know: Knowledge = NOTHING) -> bool:
    """Whether two expressions are known to be equal wherever both are defined."""
    if poly(a, know) == poly(b, know):
        return True
    return poly(expand_remainders(a), know) == poly(expand_remainders(b), know)


__all__ = [
    "MAX_NODES",
    "MAX_TERMS",
    "NOTHING",
    "Choice",
    "Gen",
    "Knowledge",
    "Monomial",
    "Nothing",
    "Poly",
    "add",
    "ceil_quotient",
    "equal",
    "exact_quotient",
    "expand_remainders",
    "extremum",
    "floor_quotient",
    "generator",
    "is_static_gen",
    "is_static_poly",
    "leans_negative",
    "make",
    "multiply",
    "normal",
    "number",
    "poly",
    "remainder",
    "scale",
    "subtract",
    "text_key",
    "to_sym",
]
