"""What facts prove about integers: signs, divisibility, `<=`, and static upper bounds.

Everything here is conservative: what is not proven is not known. A bound is found by climbing:
one part of the expression after the other is replaced by something that it cannot exceed, until
only Python ints are left.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pallas_static_grid.analysis.algebra import (
    Choice,
    Gen,
    Monomial,
    Poly,
    add,
    ceil_quotient,
    exact_quotient,
    extremum,
    floor_quotient,
    generator,
    is_static_gen,
    is_static_poly,
    make,
    multiply,
    number,
    poly,
    scale,
    subtract,
    to_sym,
)
from pallas_static_grid.analysis.knowledge import DEPTH, Facts, replace_atom, substitute
from pallas_static_grid.analysis.symbolic import Atom, Op, Sym
from pallas_static_grid.model import Step

BUDGET = 250
"""How many expressions one climb looks at."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A static expression that a value cannot exceed, and what that rests on."""

    form: Poly
    steps: tuple[Step, ...] = ()
    """Places in the source that the proof uses."""
    positive: tuple[Sym, ...] = ()
    """Static divisors that are taken to be at least 1 without proof."""
    moves: tuple[str, ...] = ()
    """Kinds of the operations that gave way on the climb (`min`, `mod`, `select`, ...)."""

    @property
    def value(self) -> Sym:
        """The limit as an expression."""
        return to_sym(self.form)


@dataclass(frozen=True, slots=True)
class _Move:
    """A part of an expression and what stands in for it."""

    to: Poly
    steps: tuple[Step, ...] = ()
    positive: tuple[Sym, ...] = ()
    kind: str = ""


class _Climb:
    """One search for limits of an expression."""

    def __init__(self, facts: Facts, *, assume: bool, every: bool, budget: int = BUDGET) -> None:
        self.facts = facts
        self.assume = assume
        """Whether a static divisor may be taken as positive without proof (and said so)."""
        self.every = every
        """Whether static parts may give way too (to compare), or only dynamic ones."""
        self.budget = budget

    def walk(self, start: Poly) -> Iterator[tuple[Poly, Limit]]:
        """The start and everything above it that is reached, nearest first."""
        queue: list[tuple[Poly, Limit]] = [(start, Limit(start))]
        seen = {start}
        while queue and self.budget > 0:
            here, how = queue.pop(0)
            self.budget -= 1
            yield here, how
            for move in self.moves(here):
                if move.to in seen:
                    continue
                seen.add(move.to)
                queue.append((move.to, _after(how, move)))

    def moves(self, p: Poly, up: bool = True, depth: int = 0) -> Iterator[_Move]:
        """Polynomials that are nowhere below `p` (above, if not `up`)."""
        for index, (monomial, coefficient) in enumerate(p.terms):
            if not monomial:
                continue
            others = Poly(p.terms[:index] + p.terms[index + 1 :])
            rising = (coefficient > 0) == up
            for move in self._term_moves(monomial, abs(coefficient), rising, depth):
                signed = move.to if coefficient > 0 else scale(move.to, -1)
                yield _Move(add(others, signed), move.steps, move.positive, move.kind)
        yield from self._fact_moves(p, up)
        if up:
            yield from self._pair_moves(p)

    def _pair_moves(self, p: Poly) -> Iterator[_Move]:
        """`a // b - c // b <= cdiv(a - c, b)` and the like for `b >= 1`."""
        quotients = [
            (m[0], c)
            for m, c in p.terms
            if len(m) == 1 and isinstance(m[0], Op) and m[0].kind in ("floordiv", "cdiv")
        ]
        for one, plus in quotients:
            for other, minus in quotients:
                if plus <= 0 or minus >= 0 or one.args[1] != other.args[1]:
                    continue
                b = poly(one.args[1], self.facts)
                if not self.facts.positive(b):
                    continue
                gap = subtract(poly(one.args[0], self.facts), poly(other.args[0], self.facts))
                if one.kind == "floordiv" and other.kind == "cdiv":
                    limit = floor_quotient(gap, b, self.facts)
                else:
                    limit = ceil_quotient(gap, b, self.facts)
                    if one.kind != other.kind:
                        limit = add(limit, number(1))
                times = min(plus, -minus)
                pair = subtract(scale(generator(one), times), scale(generator(other), times))
                yield _Move(add(subtract(p, pair), scale(limit, times)), (), (), "difference")

    def _fact_moves(self, p: Poly, up: bool) -> Iterator[_Move]:
        """Use `known <= 0` to take a dynamic part out of a sum."""
        for known, steps in self.facts.at_most:
            if not steps:
                continue
            for monomial, coefficient in known.terms:
                mine = next((c for m, c in p.terms if m == monomial), 0)
                if not monomial or not mine:
                    continue
                if not self.every and all(is_static_gen(g) for g in monomial):
                    continue
                # p <= p - k * known for k >= 0 (up); p >= p + k * known (down).
                k, left = divmod(mine if up else -mine, coefficient)
                if k > 0 and not left:
                    shift = scale(known, k)
                    yield _Move(subtract(p, shift) if up else add(p, shift), steps, (), "fact")

    def _term_moves(
        self, monomial: Monomial, coefficient: int, up: bool, depth: int
    ) -> Iterator[_Move]:
        for index, gen in enumerate(monomial):
            if not self.every and is_static_gen(gen) and not isinstance(gen, Choice):
                continue
            rest = make([(monomial[:index] + monomial[index + 1 :], coefficient)])
            if not self.facts.natural(rest):
                continue
            moves = [*self.gen_moves(gen, up, depth)]
            if len(monomial) > 1:
                moves.extend(self._factor_moves(gen, up))
            for move in moves:
                yield _Move(multiply(move.to, rest), move.steps, move.positive, move.kind)
            yield from self._undivided(gen, rest, up)

    def _factor_moves(self, gen: Gen, up: bool) -> Iterator[_Move]:
        """What facts say of a factor of a product (those of a whole sum are used as such)."""
        for known, steps in self.facts.at_most:
            if not steps:
                continue
            mine = next((c for m, c in known.terms if m == (gen,)), 0)
            if mine == (1 if up else -1):
                rest = subtract(known, scale(generator(gen), mine))
                yield _Move(scale(rest, -mine), steps, (), "fact")

    def _undivided(self, gen: Gen, rest: Poly, up: bool) -> Iterator[_Move]:
        """`b * (a // b) <= a`, `b * cdiv(a, b) <= a + b - 1` and their opposites."""
        if not isinstance(gen, Op) or gen.kind not in ("floordiv", "cdiv"):
            return
        a, b = (poly(arg, self.facts) for arg in gen.args)
        times = exact_quotient(rest, b)
        if times is None or not self.facts.positive(b) or not self.facts.natural(times):
            return
        slack = subtract(b, number(1))
        if gen.kind == "floordiv":
            value = a if up else subtract(a, slack)
        else:
            value = add(a, slack) if up else a
        yield _Move(multiply(value, times), (), (), gen.kind)

    def gen_moves(self, gen: Gen, up: bool, depth: int) -> Iterator[_Move]:
        """What a generator cannot exceed (or fall below, if not `up`)."""
        if depth > DEPTH:
            return
        whole = gen.inner if isinstance(gen, Choice) else gen
        if isinstance(whole, Atom):
            limit = whole.hi if up else whole.lo
            if limit is not None:
                yield _Move(poly(limit, self.facts), whole.evidence if up else (), (), "atom")
            elif not up and whole.key and whole.key[0] == "dim":
                yield _Move(number(0))
            return
        parts = [poly(a, self.facts) for a in whole.args]
        match whole.kind:
            case "min" | "max" | "select":
                yield from self._extremum_moves(whole.kind, parts, up, depth)
            case "floordiv" | "cdiv":
                yield from self._quotient_moves(whole.kind, parts[0], parts[1], up, depth)
            case "truncdiv":
                yield from self._truncated_moves(parts[0], parts[1], up)
            case "mod":
                yield from self._remainder_moves(parts[0], parts[1], up)
            case _:
                return

    def _extremum_moves(
        self, kind: str, parts: list[Poly], up: bool, depth: int
    ) -> Iterator[_Move]:
        if kind == "select":
            yield _Move(extremum("max" if up else "min", parts, self.facts), kind="select")
            return
        if (kind == "min") == up:
            for part in parts:
                yield _Move(part, kind=kind)
            return
        for index, part in enumerate(parts):
            for move in self.moves(part, up, depth + 1):
                changed = [*parts[:index], move.to, *parts[index + 1 :]]
                whole = extremum(kind, changed, self.facts)
                yield _Move(whole, move.steps, move.positive, move.kind or kind)

    def _quotient_moves(self, kind: str, a: Poly, b: Poly, up: bool, depth: int) -> Iterator[_Move]:
        divide = floor_quotient if kind == "floordiv" else ceil_quotient
        taken = self._positive(b)
        if taken is None:
            return
        for move in self.moves(a, up, depth + 1):
            yield _Move(
                divide(move.to, b, self.facts), move.steps, (*taken, *move.positive), move.kind
            )
        if self.every and (kind == "floordiv") == up:
            other = ceil_quotient if up else floor_quotient
            yield _Move(other(a, b, self.facts), (), taken)
        if self.facts.natural(a):
            if not up:
                yield _Move(number(0), (), taken)
            elif not is_static_poly(b) or self.every:
                yield _Move(a, (), taken, kind)
                for move in self.moves(b, False, depth + 1):
                    if self.facts.positive(move.to):
                        yield _Move(divide(a, move.to, self.facts), move.steps, taken, move.kind)

    def _truncated_moves(self, a: Poly, b: Poly, up: bool) -> Iterator[_Move]:
        taken = self._positive(b)
        if taken is None:
            return
        if self.facts.natural(a):
            yield _Move(floor_quotient(a, b, self.facts), (), taken, "truncdiv")
        elif up:
            value = extremum("max", [floor_quotient(a, b, self.facts), number(0)], self.facts)
            yield _Move(value, (), taken, "truncdiv")
        else:
            value = extremum("min", [ceil_quotient(a, b, self.facts), number(0)], self.facts)
            yield _Move(value, (), taken, "truncdiv")

    def _remainder_moves(self, a: Poly, b: Poly, up: bool) -> Iterator[_Move]:
        taken = self._positive(b)
        if taken is None:
            return
        if not up:
            yield _Move(number(0), (), taken, "mod")
            return
        yield _Move(subtract(b, number(1)), (), taken, "mod")
        if self.facts.natural(a):
            yield _Move(a, (), taken, "mod")

    def _positive(self, b: Poly) -> tuple[Sym, ...] | None:
        """() if `b >= 1` is known, `(b,)` if it may be assumed, else None."""
        if self.facts.positive(b):
            return ()
        if self.assume and is_static_poly(b) and b.constant is None:
            low = self.facts.most(b)
            return (to_sym(b),) if low is None or low >= 1 else None
        return None


def _after(how: Limit, move: _Move) -> Limit:
    return Limit(
        move.to,
        (*how.steps, *(s for s in move.steps if s not in how.steps)),
        (*how.positive, *(p for p in move.positive if p not in how.positive)),
        (*how.moves, move.kind) if move.kind else how.moves,
    )


def upper(sym: Sym, facts: Facts, *, assume: bool = False, most: int = 12) -> tuple[Limit, ...]:
    """Static expressions that the value cannot exceed, the nearest first."""
    start = poly(sym, facts)
    found: list[Limit] = []
    for here, how in _Climb(facts, assume=assume, every=False).walk(start):
        if is_static_poly(here):
            found.append(how)
            if len(found) >= most:
                break
    return tuple(found)


def lower(sym: Sym, facts: Facts, *, most: int = 12) -> tuple[Limit, ...]:
    """Static expressions that the value cannot fall below."""
    found = upper(Op("neg", (sym,)), facts, most=most)
    return tuple(Limit(scale(f.form, -1), f.steps, f.positive, f.moves) for f in found)


def prove_le(a: Sym, b: Sym, facts: Facts, budget: int = BUDGET) -> bool:
    """Whether `a <= b` is proven."""
    gap = subtract(poly(a, facts), poly(b, facts))
    for here, _ in _Climb(facts, assume=False, every=True, budget=budget).walk(gap):
        high = facts.most(here)
        if high is not None and high <= 0:
            return True
    return False


__all__ = ["Facts", "Limit", "lower", "prove_le", "replace_atom", "substitute", "upper"]
