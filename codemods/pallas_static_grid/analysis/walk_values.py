"""What things are while a kernel or an index map is walked: refs, views, scalars, functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeGuard

from pallas_static_grid.analysis import values
from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.scopes import Scope
from pallas_static_grid.analysis.symbolic import Atom, Num, Op, Sym, atoms

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True, eq=False)
class Thing:
    """Base of what a walked expression can be; by itself: nothing is known."""


@dataclass(frozen=True, slots=True, eq=False)
class Scalar(Thing):
    """An integer."""

    sym: Sym


@dataclass(frozen=True, slots=True, eq=False)
class Constant(Thing):
    """None, a bool, a string, ..."""

    value: object


@dataclass(frozen=True, slots=True, eq=False)
class Ref(Thing):
    """A ref (or a table that an index map reads): what can be subscripted.

    `shape` has a length per axis where it is known. `role` says where the ref comes from:
    "prefetch", "in", "out", "scratch", "table" (an array closed over).
    """

    name: str
    role: str
    shape: tuple[Sym | None, ...] | None = None
    source: values.Value | None = None
    """The operand (or output struct) whose lengths these are."""
    label: str = ""
    """How the launch names that operand."""
    whole: bool = True
    """Whether the ref covers its array (and not just a block of it)."""
    optional: bool = False
    """Whether there may be None in its place."""


@dataclass(frozen=True, slots=True, eq=False)
class Window(Thing):
    """`pl.ds(start, size)` or `start:stop`; None where it is not known."""

    start: Sym | None
    size: Sym | None
    full: bool = False
    """`:` alone."""


Index = Sym | Window | None
"""One position of a subscript: an int, a window, or something not known."""


@dataclass(frozen=True, slots=True, eq=False)
class View(Thing):
    """`ref.at[...]`: nothing is touched until it is used."""

    ref: Ref
    index: tuple[Index, ...]
    node: ast.expr
    module: ModuleContext


@dataclass(frozen=True, slots=True, eq=False)
class At(Thing):
    """`ref.at`."""

    base: Ref | View


@dataclass(frozen=True, slots=True, eq=False)
class Transfer(Thing):
    """A copy that has not started yet."""

    views: tuple[Thing, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Items(Thing):
    """A tuple or list of known length."""

    items: tuple[Thing, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Record(Thing):
    """Something with named fields."""

    fields: dict[str, Thing]
    ordered: tuple[Thing, ...] = ()


@dataclass(frozen=True, slots=True)
class Given:
    """A condition of the launching code that is taken to hold or to fail."""

    name: str
    node: ast.AST
    """The function whose local it is."""
    truth: bool
    text: str = field(default="", compare=False)
    """The code of the branches."""


@dataclass(eq=False, slots=True)
class Env:
    """The local names of one running body; above them `scope`, where the function was made."""

    names: dict[str, Thing]
    parent: Env | None
    scope: Scope | None
    module: ModuleContext
    nonlocals: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True, eq=False)
class Func(Thing):
    """A function, with what a partial has bound."""

    node: FunctionNode
    env: Env
    args: tuple[Thing, ...] = ()
    kwargs: dict[str, Thing] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Known(Thing):
    """A function or module out of sight, by canonical name, with what a partial has bound."""

    name: str
    args: tuple[Thing, ...] = ()
    kwargs: dict[str, Thing] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Method(Thing):
    """`thing.name`, to be called."""

    owner: Thing
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class When(Thing):
    """What `pl.when(condition)` returns: runs a function or not."""

    certain: bool
    """Whether the condition is known to hold."""


@dataclass(frozen=True, slots=True, eq=False)
class Loop(Thing):
    """What `pl.loop(low, high)` returns: runs a function for a range of indices."""

    low: Sym | None
    high: Sym | None


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """A ref being touched."""

    ref: Ref
    index: tuple[Index, ...]
    kind: str
    """"read", "write" or "copy"."""
    always: bool
    """Whether it happens on every step."""
    node: ast.expr
    module: ModuleContext
    positive: tuple[Sym, ...] = ()
    """`always` holds if these are at least 1 (the rounds of the loops around)."""


def grid_axis(atom: Atom) -> int | None:
    """The axis, if the atom is a grid index."""
    match atom.key:
        case ("grid", int(axis)):
            return axis
        case _:
            return None


def step_index(axis: int) -> Atom:
    """The grid index of an axis."""
    return Atom(("grid", axis), f"step {axis}", static=False, lo=Num(0))


def step_count(axis: int) -> Atom:
    """The number of steps of an axis."""
    return Atom(("steps", axis), f"number of steps {axis}", static=False, lo=Num(0))


def fixed(sym: Sym) -> bool:
    """Whether the value is the same on every step."""
    return all(
        atom.key[0] not in ("grid", "walk") and not _reads_a_step(atom) for atom in atoms(sym)
    )


def _reads_a_step(atom: Atom) -> bool:
    """Whether the atom is an element of a table at a place that depends on the step."""
    if atom.key[0] != "read":
        return False
    return any(not fixed(part) for part in atom.key[2:] if _is_sym(part))


def _is_sym(part: object) -> TypeGuard[Sym]:
    return isinstance(part, Num | Atom | Op)


def leaves(thing: Thing) -> Iterator[Ref]:
    """The refs in a tree of them."""
    if isinstance(thing, Ref):
        yield thing
    elif isinstance(thing, Items):
        for item in thing.items:
            yield from leaves(item)
    elif isinstance(thing, Record):
        for item in thing.ordered or tuple(thing.fields.values()):
            yield from leaves(item)
