"""Symbolic integers: what the analysis knows of the value of a scalar.

A `Sym` stands for one run-time integer. Atoms name values that the source does not compute
from others (a parameter, a length, an element of an array); the rest is arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pallas_static_grid.model import Step


@dataclass(frozen=True, slots=True)
class Num:
    """A literal integer."""

    value: int


@dataclass(frozen=True, slots=True)
class Atom:
    """A run-time integer known by `key` alone; equal keys mean equal values.

    Keys: ("dim", array ident, axis) a length; ("param", ident) a parameter; ("value", n) anything
    else. `static` says that it is a Python int at trace time. `lo`/`hi` are inclusive limits that
    the source proves by value, with `evidence` for `hi`.
    """

    key: tuple[object, ...]
    text: str = field(compare=False)
    static: bool = field(default=True, compare=False)
    lo: Sym | None = field(default=None, compare=False)
    hi: Sym | None = field(default=None, compare=False)
    evidence: tuple[Step, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Op:
    """`kind` over `args`; every division is floor division by Python's rules.

    add mul: n-ary; sub floordiv cdiv mod pow: binary; neg: unary; min max: n-ary;
    truncdiv: `lax.div` (rounds towards zero);
    select: args (a, b), the value is one of the two (`jnp.where`, a joined branch).
    """

    kind: str
    args: tuple[Sym, ...]


Sym = Num | Atom | Op


def op(kind: str, *args: Sym) -> Sym:
    """`Op(kind, args)`, folded where all arguments are literal."""
    if all(isinstance(a, Num) for a in args):
        folded = _fold(kind, tuple(a.value for a in args if isinstance(a, Num)))
        if folded is not None:
            return Num(folded)
    return Op(kind, args)


def _fold(kind: str, v: tuple[int, ...]) -> int | None:
    match kind:
        case "add":
            return sum(v)
        case "mul":
            out = 1
            for x in v:
                out *= x
            return out
        case "sub":
            return v[0] - v[1]
        case "neg":
            return -v[0]
        case "floordiv":
            return v[0] // v[1] if v[1] else None
        case "cdiv":
            return -(-v[0] // v[1]) if v[1] else None
        case "truncdiv":
            return (
                (abs(v[0]) // abs(v[1])) * (1 if (v[0] < 0) == (v[1] < 0) else -1) if v[1] else None
            )
        case "mod":
            return v[0] % v[1] if v[1] else None
        case "pow":
            return v[0] ** v[1] if 0 <= v[1] < 64 else None
        case "min":
            return min(v)
        case "max":
            return max(v)
        case _:
            return None


def atoms(sym: Sym) -> frozenset[Atom]:
    """Every atom in `sym` (not those inside the atoms' own limits)."""
    if isinstance(sym, Atom):
        return frozenset({sym})
    if isinstance(sym, Op):
        return frozenset().union(*(atoms(a) for a in sym.args))
    return frozenset()


def is_static(sym: Sym) -> bool:
    """Whether every atom is a Python int at trace time."""
    return all(atom.static for atom in atoms(sym))
