"""Facts in force at one place: signs, limits, divisibility and equalities of integers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pallas_static_grid.analysis.algebra import (
    Choice,
    Gen,
    Monomial,
    Poly,
    add,
    exact_quotient,
    generator,
    is_static_poly,
    multiply,
    number,
    poly,
    scale,
    subtract,
    to_sym,
)
from pallas_static_grid.analysis.scopes import Fact
from pallas_static_grid.analysis.symbolic import Atom, Op, Sym
from pallas_static_grid.model import Step

DEPTH = 8
"""How deep limits of limits are followed."""


@dataclass(slots=True)
class Facts:
    """Facts in force at one place; a `Knowledge` for the algebra."""

    equal_to: dict[Atom, Poly] = field(default_factory=dict)
    at_most: list[tuple[Poly, tuple[Step, ...]]] = field(default_factory=list)
    """Polynomials known to be at most 0."""
    multiples: list[tuple[Poly, Poly]] = field(default_factory=list)
    """Pairs (value, divisor)."""
    depth: int = 0
    tops: dict[Poly, int] = field(default_factory=dict)
    """Numbers that sums without a constant term are known not to exceed."""
    known_most: dict[Poly, int | None] = field(default_factory=dict)

    @staticmethod
    def of(facts: Iterable[Fact], sizes: Iterable[Sym] = ()) -> Facts:
        """Collect facts; `sizes` are values known to be at least 1 (block sizes)."""
        out = Facts()
        items = list(facts)
        for fact in items:
            if fact.op == "eq":
                out._equate(fact)
        for fact in items:
            left, right = poly(fact.left, out), poly(fact.right, out)
            match fact.op:
                case "le":
                    out._limit(subtract(left, right), fact.step)
                case "lt":
                    out._limit(add(subtract(left, right), number(1)), fact.step)
                case "ge":
                    out._limit(subtract(right, left), fact.step)
                case "gt":
                    out._limit(add(subtract(right, left), number(1)), fact.step)
                case "divides":
                    out.multiples.append((left, right))
                case "eq":
                    out._keep_equality(left, right, fact.step)
        for size in sizes:
            out._limit(subtract(number(1), poly(size, out)), None)
        return out

    def assuming(self, positive: Sequence[Poly]) -> Facts:
        """The same with some more values that are at least 1."""
        out = Facts(
            dict(self.equal_to), list(self.at_most), list(self.multiples), 0, dict(self.tops)
        )
        for value in positive:
            out._limit(subtract(number(1), value), None)
        return out

    def _limit(self, value: Poly, step: Step | None) -> None:
        """Note that a value is at most 0; without a step it holds in every valid launch."""
        self.at_most.append((value, () if step is None else (step,)))
        free = subtract(value, number(value.offset))
        self.tops[free] = min(-value.offset, self.tops.get(free, -value.offset))
        self.known_most.clear()

    def _equate(self, fact: Fact) -> None:
        """Let one atom of an equality stand for the other side."""
        left, right = poly(fact.left, self), poly(fact.right, self)
        for one, other in ((right, left), (left, right)):
            atom = one.single
            if isinstance(atom, Atom) and atom not in _all_atoms(other):
                if isinstance(other.single, Atom) and other.single.static and not atom.static:
                    pass
                elif not is_static_poly(other) and atom.static:
                    continue
                for key, value in list(self.equal_to.items()):
                    self.equal_to[key] = replace_atom(value, atom, other, self)
                self.equal_to[atom] = other
                return

    def _keep_equality(self, left: Poly, right: Poly, step: Step) -> None:
        gap = subtract(left, right)
        if not gap.terms:
            return
        self._limit(gap, step)
        self._limit(scale(gap, -1), step)
        for one, other in ((left, right), (right, left)):
            gen = one.single
            if isinstance(gen, Op) and gen.kind == "mod" and other.constant == 0:
                self.multiples.append((poly(gen.args[0], self), poly(gen.args[1], self)))

    def substitute(self, atom: Atom) -> Poly | None:
        """What an atom is known to equal."""
        return self.equal_to.get(atom)

    def divisible(self, dividend: Poly, divisor: Poly) -> bool:
        """Whether the divisor is known to divide the dividend."""
        if exact_quotient(dividend, divisor) is not None:
            return True
        return self._divisible(dividend, divisor, 0)

    def _divisible(self, dividend: Poly, divisor: Poly, depth: int) -> bool:
        if exact_quotient(dividend, divisor) is not None:
            return True
        if depth > 3:
            return False
        for value, by in self.multiples:
            times = exact_quotient(dividend, value)
            if times is None:
                continue
            # dividend == times * value and by | value: enough if divisor | times * by.
            if self._divisible(multiply(times, by), divisor, depth + 1):
                return True
        if len(dividend.terms) > 1:
            return all(self._divisible(Poly((t,)), divisor, depth + 1) for t in dividend.terms)
        return False

    def least(self, value: Poly) -> int | None:
        """A number that the value is known not to fall below."""
        high = self.most(scale(value, -1))
        return None if high is None else -high

    def most(self, value: Poly) -> int | None:
        """A number that the value is known not to exceed."""
        if value.constant is not None:
            return value.constant
        if value in self.known_most:
            return self.known_most[value]
        if self.depth > DEPTH:
            return None
        self.depth += 1
        try:
            best = self._sum_most(value)
        finally:
            self.depth -= 1
        offset = value.offset
        top = self.tops.get(subtract(value, number(offset)) if offset else value)
        if top is not None and (best is None or top + offset < best):
            best = top + offset
        if best is not None or self.depth == 0:
            self.known_most[value] = best
        return best

    def _sum_most(self, value: Poly) -> int | None:
        total = 0
        for monomial, coefficient in value.terms:
            low, high = self._monomial_range(monomial)
            part = high if coefficient > 0 else low
            if part is None:
                return None
            total += coefficient * part
        return total

    def _monomial_range(self, monomial: Monomial) -> tuple[int | None, int | None]:
        low: int | None = 1
        high: int | None = 1
        for gen in monomial:
            low, high = _times((low, high), self.gen_range(gen))
        return low, high

    def gen_range(self, gen: Gen) -> tuple[int | None, int | None]:
        """Numbers that a generator lies between."""
        low, high = self._gen_range(gen)
        top, bottom = self.tops.get(generator(gen)), self.tops.get(scale(generator(gen), -1))
        if top is not None:
            high = top if high is None else min(high, top)
        if bottom is not None:
            low = -bottom if low is None else max(low, -bottom)
        return low, high

    def _gen_range(self, gen: Gen) -> tuple[int | None, int | None]:
        if self.depth > DEPTH:
            return None, None
        self.depth += 1
        try:
            whole = gen.inner if isinstance(gen, Choice) else gen
            if isinstance(whole, Atom):
                return self._atom_range(whole)
            parts = [poly(a, self) for a in whole.args]
            return _op_range(whole.kind, [(self.least(p), self.most(p)) for p in parts])
        finally:
            self.depth -= 1

    def _atom_range(self, atom: Atom) -> tuple[int | None, int | None]:
        low = self.least(poly(atom.lo, self)) if atom.lo is not None else None
        high = self.most(poly(atom.hi, self)) if atom.hi is not None else None
        if atom.key and atom.key[0] == "dim":
            low = max(low or 0, 0)
        return low, high

    def positive(self, value: Poly) -> bool:
        """Whether the value is known to be at least 1."""
        low = self.least(value)
        return low is not None and low >= 1

    def natural(self, value: Poly) -> bool:
        """Whether the value is known to be at least 0."""
        low = self.least(value)
        return low is not None and low >= 0


def _all_atoms(p: Poly) -> frozenset[Atom]:
    found: set[Atom] = set()
    stack: list[Sym] = [to_sym(p)]
    while stack:
        sym = stack.pop()
        if isinstance(sym, Atom):
            found.add(sym)
        elif isinstance(sym, Op):
            stack.extend(sym.args)
    return frozenset(found)


def replace_atom(p: Poly, atom: Atom, by: Poly, know: Facts) -> Poly:
    """The polynomial with `by` for `atom`."""
    return poly(substitute(to_sym(p), {atom: to_sym(by)}), know)


def substitute(sym: Sym, values: dict[Atom, Sym]) -> Sym:
    """The expression with values for some of its atoms."""
    if isinstance(sym, Atom):
        return values.get(sym, sym)
    if isinstance(sym, Op):
        args = tuple(substitute(a, values) for a in sym.args)
        return Op(sym.kind, args) if args != sym.args else sym
    return sym


def _times(
    a: tuple[int | None, int | None], b: tuple[int | None, int | None]
) -> tuple[int | None, int | None]:
    (a_low, a_high), (b_low, b_high) = a, b
    if a_low is not None and b_low is not None and a_low >= 0 and b_low >= 0:
        high = a_high * b_high if a_high is not None and b_high is not None else None
        return a_low * b_low, high
    if a_low is None or a_high is None or b_low is None or b_high is None:
        return None, None
    corners = (a_low * b_low, a_low * b_high, a_high * b_low, a_high * b_high)
    return min(corners), max(corners)


def _op_range(kind: str, r: list[tuple[int | None, int | None]]) -> tuple[int | None, int | None]:
    lows = [low for low, _ in r if low is not None]
    highs = [high for _, high in r if high is not None]
    every_low, every_high = len(lows) == len(r), len(highs) == len(r)
    match kind:
        case "min":
            return (min(lows) if every_low else None), (min(highs) if highs else None)
        case "max":
            return (max(lows) if lows else None), (max(highs) if every_high else None)
        case "select":
            return (min(lows) if every_low else None), (max(highs) if every_high else None)
        case "mod":
            by_low, by_high = r[1]
            if by_low is not None and by_low >= 1:
                return 0, (by_high - 1 if by_high is not None else None)
        case "floordiv" | "cdiv" | "truncdiv":
            by_low, by_high = r[1]
            if by_low is not None and by_low >= 1:
                return (
                    _quotient(kind, r[0][0], by_low, by_high, low=True),
                    _quotient(kind, r[0][1], by_low, by_high, low=False),
                )
        case "mul":
            out: tuple[int | None, int | None] = (1, 1)
            for part in r:
                out = _times(out, part)
            return out
        case _:
            pass
    return None, None


def _quotient(
    kind: str, value: int | None, by_low: int, by_high: int | None, *, low: bool
) -> int | None:
    """An end of the range of `value / by` for `by >= 1`."""
    if value is None:
        return None
    if (value >= 0) == low:  # the end with the larger divisor
        if by_high is None:
            # 0 < |value| / by shrinks towards 0
            if kind == "cdiv":
                return min(value, 1) if low else 0
            if kind == "floordiv":
                return 0 if low else max(value, -1)
            return 0
        by = by_high
    else:
        by = by_low
    if kind == "floordiv":
        return value // by
    if kind == "cdiv":
        return -(-value // by)
    return value // by if value >= 0 else -(-value // by)
