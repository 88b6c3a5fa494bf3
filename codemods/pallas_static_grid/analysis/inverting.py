"""From `index(step) <= limit` to a limit of the number of steps."""

from __future__ import annotations

from dataclasses import dataclass

from pallas_static_grid.analysis.algebra import (
    Poly,
    add,
    exact_quotient,
    floor_quotient,
    generator,
    is_static_gen,
    is_static_poly,
    make,
    multiply,
    number,
    poly,
    subtract,
    to_sym,
)
from pallas_static_grid.analysis.intervals import Facts, lower, substitute
from pallas_static_grid.analysis.symbolic import Atom, Num, Op, Sym, atoms
from pallas_static_grid.analysis.walk_values import fixed, grid_axis, step_count, step_index


@dataclass(frozen=True, slots=True)
class Solved:
    """A limit of the number of steps."""

    form: Poly
    positive: tuple[Sym, ...] = ()
    """Factors that are taken to be at least 1 without proof."""
    offset: bool = False
    """Whether an offset of the index is taken to be at least 0 without proof."""


@dataclass(frozen=True, slots=True)
class Unsolved:
    """Why an index tells nothing of the number of steps; "" where it is not about the axis."""

    why: str = ""


def steps_within(
    index: Sym, limit: Poly, axis: int, facts: Facts, *, natural: bool
) -> Solved | Unsolved:
    """The most steps that keep `index <= limit` for every index of the axis.

    `natural`: a negative index is out of range as well (it is for blocks; for a table it wraps).
    """
    here = step_index(axis)
    others: dict[Atom, Sym] = {
        atom: Num(0) for atom in atoms(index) if grid_axis(atom) not in (None, axis)
    }
    # Other axes have a step 0 whenever any step runs at all.
    sym = substitute(index, others)
    counts = step_count(axis)
    if here in atoms(sym):
        form = poly(sym, facts)
        if counts in atoms(sym) and _descends(form, here):
            # A reversed map: what the first step gets is the largest.
            return _solve(substitute(sym, {here: Num(0)}), limit, counts, facts, natural)
        if natural and _descends(form, here):
            # Counted down from a static start: the last step's index must not be negative.
            found = _solve(Op("neg", (sym,)), number(0), here, facts, False)
            if isinstance(found, Solved) and found.offset:
                return Unsolved("the index is counted down from a traced value")
        else:
            found = _solve(sym, limit, here, facts, natural)
        if isinstance(found, Solved):
            return Solved(add(found.form, number(1)), found.positive, found.offset)
        return found
    if counts in atoms(sym):
        if natural and _descends(poly(sym, facts), counts):
            found = _solve(Op("neg", (sym,)), number(0), counts, facts, False)
            if isinstance(found, Solved) and found.offset:
                return Unsolved("the index is counted down from a traced value")
            return found
        return _solve(sym, limit, counts, facts, natural)
    if not fixed(sym):
        return Unsolved("the index is computed from values that differ from step to step")
    return Unsolved()


def _descends(form: Poly, atom: Atom) -> bool:
    return any(m == (atom,) and c < 0 for m, c in form.terms)


def _solve(sym: Sym, limit: Poly, unknown: Atom, facts: Facts, natural: bool) -> Solved | Unsolved:
    """The largest value of `unknown` with `sym <= limit`."""
    form = poly(sym, facts)
    inside = [(m, c) for m, c in form.terms if any(unknown in atoms_of_gen(g) for g in m)]
    rest = subtract(form, make(inside))
    if not inside:
        return Unsolved()
    if not fixed(to_sym(rest)):
        return Unsolved("the index depends on something else that differs from step to step")
    holders = {g for m, _ in inside for g in m if unknown in atoms_of_gen(g)}
    if len(holders) != 1:
        return Unsolved("the grid index enters the index in more than one way")
    (holder,) = holders
    factor = exact_quotient(make(inside), generator(holder))
    if factor is None or unknown in atoms(to_sym(factor)):
        return Unsolved("the grid index enters the index in more than one way")
    taken: tuple[Sym, ...] = ()
    if not is_static_poly(factor):
        return Unsolved("the stride of the index is itself traced")
    if not facts.positive(factor):
        high = facts.most(factor)
        if factor.constant is not None or (high is not None and high < 1):
            return Unsolved("the index falls as the grid index grows")
        taken = (to_sym(factor),)
        facts = facts.assuming([factor])
    offset, proven = _offset(rest, facts)
    # The first step's index of a block is the offset alone, and that must not be negative.
    assumed = not proven and not (natural and holder == unknown)
    if natural and holder == unknown and not proven:
        offset = number(0)
    room = floor_quotient(subtract(limit, offset), factor, facts)
    if holder == unknown:
        return Solved(room, taken, assumed)
    inner = _unwrap(holder, room, unknown, facts, natural)
    if isinstance(inner, Unsolved):
        return inner
    return Solved(inner.form, (*taken, *inner.positive), assumed or inner.offset)


def _offset(rest: Poly, facts: Facts) -> tuple[Poly, bool]:
    """What the part without the grid index does not fall below, and whether that is proven.

    Where it is not, it holds if the traced part of it is not negative.
    """
    if is_static_poly(rest):
        return rest, True
    limits = lower(to_sym(rest), facts, most=1)
    if limits:
        return limits[0].form, True
    return make(t for t in rest.terms if all(is_static_gen(g) for g in t[0])), False


def atoms_of_gen(gen: object) -> frozenset[Atom]:
    """The atoms of a generator."""
    if isinstance(gen, Atom | Op):
        return atoms(gen)
    inner = getattr(gen, "inner", None)
    return atoms(inner) if isinstance(inner, Op) else frozenset()


def _unwrap(
    holder: object, room: Poly, unknown: Atom, facts: Facts, natural: bool
) -> Solved | Unsolved:
    """Go on below a division, a maximum, ..."""
    if not isinstance(holder, Op):
        return Unsolved("a condition chooses the index")
    args = [poly(a, facts) for a in holder.args]
    match holder.kind:
        case "floordiv" | "cdiv" | "truncdiv":
            divisor = args[1]
            if unknown in atoms(to_sym(divisor)) or not is_static_poly(divisor):
                return Unsolved("the index is divided by a traced value")
            taken: tuple[Sym, ...] = ()
            if not facts.positive(divisor):
                if divisor.constant is not None:
                    return Unsolved("the index is divided by a number below 1")
                taken = (to_sym(divisor),)
            limit = multiply(room, divisor)
            if holder.kind != "cdiv":
                limit = add(limit, divisor, number(-1))
            found = _solve(holder.args[0], limit, unknown, facts, False)
            if isinstance(found, Unsolved):
                return found
            return Solved(found.form, (*taken, *found.positive), found.offset)
        case "max":
            reasons = Unsolved()
            for arg in holder.args:
                found = _solve(arg, room, unknown, facts, False)
                if isinstance(found, Solved):
                    return found
                reasons = found if found.why else reasons
            return reasons
        case "min":
            return Unsolved("the index is clamped")
        case "mod" | "rem":
            return Unsolved("the index wraps around (a remainder is taken)")
        case _:
            return Unsolved("the index is not a monotone function of the grid index")
