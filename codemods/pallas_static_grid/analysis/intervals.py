"""What facts prove about integers: signs, divisibility, `<=`, and static upper bounds.

Everything here is conservative: what is not proven is not known. A bound is found by climbing:
one part of the expression after the other is replaced by something that it cannot exceed, until
only Python ints are left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

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
from pallas_static_grid.analysis.scopes import Fact
from pallas_static_grid.analysis.symbolic import Atom, Op, Sym
from pallas_static_grid.model import Step

DEPTH = 8
"""How deep limits of limits are followed."""
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
