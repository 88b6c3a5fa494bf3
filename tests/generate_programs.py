"""Small programs around one launch, built from choices, so that Hypothesis or a seed drives them.

A program is a module with helpers, classes and a function `entry(x, sizes, n, flag0, flag1)` that
reaches one launch. `x` is a float array of shape (16, 8), `sizes` an int32 array of length 6. Every
name that a program computes remembers the language features it went through, so that the share
of `unknown` verdicts can be told per feature.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")
Pick = Callable[[int], int]
"""Chooses a number below its argument."""


@dataclass(frozen=True)
class Term:
    """An expression and the features that it went through."""

    text: str
    features: frozenset[str] = frozenset()

    def via(self, *features: str) -> Term:
        """The same expression with more features."""
        return Term(self.text, self.features.union(features))


@dataclass(frozen=True)
class Program:
    """A generated module: its text, what each grid dimension went through, how to run it."""

    source: str
    dims: tuple[frozenset[str], ...]
    features: frozenset[str]
    traced_n: bool
    repeats: bool
    """The launch runs several times in one call of `entry`."""
    flags: tuple[str, ...]
    """The flags that the program's branches depend on."""


@dataclass
class Names:
    """The names in scope: Python ints, and scalars of any kind."""

    ints: list[Term] = field(default_factory=list)
    scalars: list[Term] = field(default_factory=list)
    count: int = 0

    def fresh(self) -> str:
        """A new name."""
        self.count += 1
        return f"v{self.count}"


FLAGS = ("flag0", "flag1", "flag2", "flag3", "flag4")

HEADER = """\
import contextlib
import dataclasses
import functools
import math
import operator
from types import SimpleNamespace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import pallas_call as launch
from jax.experimental.pallas import tpu as pltpu

K0 = 4
K1, K2 = 3, 5
TABLE = {"small": 2, "large": 7}


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...]
"""

HELPERS = {
    "cdiv": "def cdiv(a, b=3):\n    return (a + b - 1) // b\n",
    "grow": (
        "def grow(a, rounds=2):\n    total = a\n    for i in range(rounds):\n"
        "        total += a + i\n    return total\n"
    ),
    "select": "def select(a, b, first):\n    if first:\n        return a\n    return b\n",
    "pair": "def pair(a, b):\n    return a, (b, a)\n",
    "rows_of": "def rows_of(y):\n    m, n = y.shape\n    assert m % 2 == 0\n    return m, n\n",
    "last": "def last(*values):\n    return values[-1]\n",
    "named": "def named(**values):\n    return values['a']\n",
    "power": (
        "def power(a, depth):\n    if depth == 0:\n        return a\n"
        "    return power(a * 2, depth - 1)\n"
    ),
    "default_none": (
        "def default_none(a, b=None):\n    if b is None:\n        b = a\n    return b + 1\n"
    ),
    "halves": "def halves(values):\n    for value in values:\n        yield value // 2 + 1\n",
    "apply": "def apply(f, *args, **kwargs):\n    return f(*args, **kwargs)\n",
    "put": "def put(values, value):\n    values[0] = value\n",
    "assign": "def assign(thing, value):\n    thing.a = value\n",
    "adder": "def adder(a):\n    def add(b):\n        return a + b\n\n    return add\n",
}

CLASSES = {
    "Config": """\
@dataclasses.dataclass(frozen=True)
class Config:
    block: object
    other: object = 2
    copies: int = dataclasses.field(default=3)

    @property
    def doubled(self):
        return self.block * 2

    def both(self):
        return self.block, self.other
""",
    "Info": """\
class Info(NamedTuple):
    rows: object
    live: object
    width: int = 3
""",
    "Plain": """\
class Base:
    copies = 2

    def scaled(self, a):
        return a * self.copies


class Plain(Base):
    def __init__(self, a, b):
        self.a = a
        self.b = b
        self.total = a + 1

    def scaled(self, a):
        return super().scaled(a) + 1

    def value(self):
        return self.scaled(self.a)

    @staticmethod
    def third(a):
        return a // 3 + 1
""",
}


def used(definitions: dict[str, str], code: str) -> list[str]:
    """The definitions that the code mentions."""
    return [f"\n{text}" for name, text in definitions.items() if re.search(rf"\b{name}\b", code)]


LOOP = "lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, run(*s)), (1, x))"
BODIES = {
    "fori_loop": ("def run(i, y):", "lax.fori_loop(0, 2, run, x)", "i + 1"),
    "scan": ("def run(c, y):", "lax.scan(lambda c, y: (c, run(c, y)), 1, x)", "c"),
    "vmap": ("def run(y):", "jax.vmap(run)(x)", "y.shape[0]"),
    "cond": ("def run(y, k):", "lax.cond(sizes[0] > 1, run, lambda y, k: y, x, 3)", "k"),
    "checkpoint": ("def run(y, k):", "jax.checkpoint(run)(x, 3)", "k"),
    "vmap in_axes": ("def run(y, k):", "jax.vmap(run, in_axes=(0, None))(x, 3)", "k"),
    "inner jit": ("def run(y, k):", "jax.jit(run)(x, 3)", "k"),
    "inner static jit": ("def run(y, k):", "jax.jit(run, static_argnums=1)(x, 3)", "k"),
    "while_loop": ("def run(k, y):", LOOP, "k"),
    "grad": ("def run(y):", "jax.grad(lambda y: run(y).sum())(x)", "y.ndim"),
    "lax.map": ("def run(y):", "lax.map(run, x)", "y.size"),
    "functools.partial": ("def run(k, y):", "functools.partial(run, 4)(x)", "k"),
}
"""Functions given to JAX: their head, their use, and a dimension of their arguments."""

Lines = list[str]
_FLAGS = ", ".join(FLAGS)
_PLAIN = f"def entry(x, sizes, n, {_FLAGS}):"
_HIDDEN = f"def _entry(x, sizes, n, {_FLAGS}):"
_TYPED = f"def entry(x: jax.Array, sizes: jax.Array, n: {{n}}, {': bool, '.join(FLAGS)}: bool):"
_NAMES, _ALL_NAMES = f"static_argnames={FLAGS}", f"static_argnames={('n', *FLAGS)}"
_NUMS, _ALL_NUMS = "static_argnums=(3, 4, 5, 6, 7)", "static_argnums=(2, 3, 4, 5, 6, 7)"
_NEGATIVE = "static_argnums=(-5, -4, -3, -2, -1)"


def _partial(static: str, jit: str = "jax.jit") -> str:
    return f"@functools.partial({jit}, {static})"


JITS: list[tuple[str, Lines, Lines, bool]] = [
    ("annotations", [_TYPED.format(n="int")], [], False),
    ("annotations", [_TYPED.format(n="jax.Array")], [], True),
    ("static_argnames", [_partial(_NAMES), _PLAIN], [], True),
    ("static_argnames", [_partial(_ALL_NAMES), _PLAIN], [], False),
    ("static_argnums", [_partial(_NUMS), _PLAIN], [], True),
    ("static_argnums", [_partial(_ALL_NUMS), _PLAIN], [], False),
    ("negative argnums", [_partial(_NEGATIVE), _PLAIN], [], True),
    ("jit factory", [f"@jax.jit({_ALL_NAMES})", _PLAIN], [], False),
    ("jit by alias", ["fast = jax.jit", "", "", _partial(_NAMES, "fast"), _PLAIN], [], True),
    ("partial by name", [f"fast = {_partial(_ALL_NAMES)[1:]}", "", "", "@fast", _PLAIN], [], False),
    ("late jit", [_HIDDEN], ["", f"entry = jax.jit(_entry, {_NAMES})"], True),
    ("late jit", [_HIDDEN], ["", f"entry = jax.jit(_entry, {_ALL_NUMS})"], False),
    (
        "called by jitted",
        [_HIDDEN],
        ["", _partial(_NAMES), _PLAIN, f"    return _entry(x, sizes, n, {_FLAGS})"],
        True,
    ),
    (
        "called by jitted",
        [_HIDDEN],
        ["", _partial(_ALL_NAMES), _PLAIN, f"    return _entry(x, sizes, n, *[{_FLAGS}])"],
        False,
    ),
    ("keyword only", [_partial(_NAMES), f"def entry(x, sizes, n, *, {_FLAGS}):"], [], True),
]
"""How `entry` is compiled: lines before its body, lines after it, and whether n is traced."""


class Generator:
    """Builds one program out of the choices that `pick` makes."""

    def __init__(self, pick: Pick) -> None:
        self.pick = pick
        self.flags: list[str] = []
        self.features: set[str] = set()
        self.names = Names()
        self.repeats = False

    # choices -------------------------------------------------------------------------------------

    def one(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[self.pick(len(options))]

    def chance(self, percent: int) -> bool:
        """True in about `percent` of the programs."""
        return self.pick(100) < percent

    # expressions ---------------------------------------------------------------------------------

    def constant(self) -> Term:
        """A small positive Python int."""
        return self.one(
            [
                Term("2"),
                Term("K0", frozenset({"module constant"})),
                Term("K1", frozenset({"unpacked constant"})),
                Term("TABLE['large']", frozenset({"table of constants"})),
            ]
        )

    def base(self) -> Term:
        """A Python int from a shape, a constant or a name."""
        if self.names.ints and self.chance(50):
            return self.one(self.names.ints)
        shape = frozenset({"shape"})
        return self.one(
            [
                Term("x.shape[0]", shape),
                Term("x.shape[-1]", shape),
                Term("x.ndim", frozenset({"ndim"})),
                Term("x.size", frozenset({"size"})),
                Term("len(sizes)", frozenset({"len"})),
                Term("sizes.shape[0]", shape),
                Term("jnp.shape(x)[1]", frozenset({"jnp.shape"})),
                self.constant(),
            ]
        )

    def integer(self, depth: int = 2) -> Term:
        """A Python int."""
        if depth == 0 or self.chance(30):
            return self.base()
        a, b = self.integer(depth - 1), self.integer(depth - 1)
        both = a.features | b.features
        k = self.constant()
        shared = self.shared(a, b, both)
        own = [
            (f"math.ceil({a.text} / {k.text})", a, "math"),
            (f"math.prod(x.shape) + {a.text}", a, "math"),
            (f"math.gcd({a.text}, 12)", a, "math"),
            (f"max({a.text}, {k.text})", a, "min/max"),
            (f"min({a.text}, {k.text}, 9)", a, "min/max"),
            (f"divmod({a.text}, 3)[0] + 1", a, "divmod"),
            (f"int(np.ceil({a.text} / 2))", a, "int()"),
            (f"int(np.prod(x.shape)) + {a.text}", a, "int()"),
            (f"sum(d + {a.text} for d in x.shape)", a, "generator expression"),
            (f"len([{a.text} for _ in range(3)])", a, "len of comprehension"),
            (f"[d * {k.text} for d in x.shape][0] + {a.text}", a, "list comprehension"),
            (f"sorted([{a.text}, {k.text}])[-1]", a, "sorted"),
            (f"functools.reduce(operator.mul, x.shape, {k.text})", k, "functools.reduce"),
            (f"({a.text}).bit_length()", a, "bit_length"),
            (f"(min({a.text}, 9) ** 2)", a, "power"),
            (f"(1 << ({a.text} % 5))", a, "shift"),
            (f"round({a.text} / 2) + 1", a, "round"),
            (f"list(range({a.text} + 2))[1]", a, "range"),
            (f"np.array(x.shape).tolist()[0] + {a.text}", a, "tolist"),
            (f"x.reshape(-1).shape[0] + {a.text}", a, "shape of a result"),
            (f"jnp.zeros((3, {k.text})).shape[1]", k, "shape of a result"),
            (f"rows_of(x)[0] + {a.text}", a, "helper"),
            (f"list(halves(x.shape))[0] + {a.text}", a, "generator function"),
            (f"x.dtype.itemsize + {a.text}", a, "itemsize"),
            (f"dict(zip('ab', x.shape))['a'] + {a.text}", a, "dict of zip"),
        ]
        if self.chance(55):
            text, feats, name = self.one(own)
            return Term(text, feats.features).via(name)
        return self.one(shared)

    def shared(self, a: Term, b: Term, both: frozenset[str]) -> list[Term]:
        """Expressions that are as static as `a` and `b` are."""
        k = self.constant()
        table = [
            (f"({a.text} + {b.text})", both, "+"),
            (f"({a.text} * {k.text})", a.features, "*"),
            (f"({a.text} // {k.text} + 1)", a.features, "//"),
            (f"({a.text} % {k.text} + 1)", a.features, "%"),
            (f"-(-{a.text} // {k.text})", a.features, "ceil by negation"),
            (f"pl.cdiv({a.text}, {k.text})", a.features, "pl.cdiv"),
            (f"abs({a.text})", a.features, "abs"),
            (f"({a.text}, {b.text})[0]", a.features, "tuple index"),
            (f"{{'a': {a.text}, 'b': {b.text}}}['a']", a.features, "dict index"),
            (f"(lambda q, r=1: q + r)({a.text})", a.features, "lambda"),
            (f"cdiv({a.text}, {k.text})", a.features, "helper"),
            (f"cdiv(a={a.text})", a.features, "helper default"),
            (f"grow({a.text})", a.features, "helper with loop"),
            (f"pair({a.text}, {b.text})[1][0]", b.features, "helper tuple"),
            (f"last({b.text}, {a.text})", a.features, "*args"),
            (f"last(*({b.text}, {a.text}))", a.features, "star at call"),
            (f"named(a={a.text}, b={b.text})", a.features, "**kwargs"),
            (f"power({a.text}, 2)", a.features, "recursion"),
            (f"default_none({a.text})", a.features, "default None"),
            (f"apply(lambda q: q + 1, {a.text})", a.features, "higher order"),
            (f"apply(cdiv, {a.text}, b={k.text})", a.features, "higher order"),
            (f"adder({a.text})(2)", a.features, "returned closure"),
            (f"functools.partial(cdiv, b=2)({a.text})", a.features, "functools.partial"),
            (f"Config({a.text}).block", a.features, "dataclass field"),
            (f"Config({a.text}).doubled", a.features, "property"),
            (f"Config({b.text}, other={a.text}).both()[1]", a.features, "method"),
            (f"Info({a.text}, {b.text}).rows", a.features, "NamedTuple field"),
            (f"Info({b.text}, {a.text})[1]", a.features, "NamedTuple index"),
            (f"Plain({a.text}, {b.text}).a", a.features, "instance field"),
            (f"Plain({a.text}, {b.text}).value()", a.features, "super"),
            (f"Plain.third({a.text})", a.features, "static method"),
            (f"SimpleNamespace(a={a.text}).a", a.features, "SimpleNamespace"),
            (
                f"dataclasses.replace(Config(1), block={a.text}).block",
                a.features,
                "dataclasses.replace",
            ),
        ]
        return [Term(text, features).via(name) for text, features, name in table]

    def scalar(self, depth: int = 2) -> Term:
        """A JAX array, a tracer or a NumPy scalar."""
        if depth == 0 or self.chance(25):
            if self.names.scalars and self.chance(50):
                return self.one(self.names.scalars)
            return self.one(
                [
                    Term("sizes[1]", frozenset({"array element"})),
                    Term("sizes.sum()", frozenset({"array method"})),
                    Term("jnp.max(sizes)", frozenset({"jnp reduction"})),
                    Term("jnp.int32(3)", frozenset({"jnp scalar"})),
                ]
            )
        a, i = self.scalar(depth - 1), self.integer(depth - 1)
        if self.chance(45):
            return self.one(self.shared(a, self.one([a, i]), a.features | i.features))
        table = [
            (f"jnp.minimum({i.text}, 4)", i.features, "jnp arithmetic"),
            (f"jnp.ceil({i.text} / 2).astype(int)", i.features, "jnp arithmetic"),
            (f"jnp.where({a.text} > 0, {i.text}, 1)", a.features, "jnp.where"),
            (f"({a.text} + {i.text})", a.features, "array with int"),
            (f"({i.text} * {a.text})", a.features, "array with int"),
            (f"jnp.asarray({i.text})", i.features, "jnp scalar"),
            (f"np.int64({i.text})", i.features, "NumPy scalar"),
            (f"(np.prod(x.shape) + {i.text})", i.features, "NumPy scalar"),
            (f"(np.array(x.shape)[0] + {i.text})", i.features, "NumPy element"),
            (f"lax.max({a.text}, {a.text})", a.features, "lax"),
            (f"jnp.cumsum(sizes)[-1] + {i.text}", i.features, "jnp reduction"),
            (f"jnp.count_nonzero(sizes > {i.text})", i.features, "jnp reduction"),
            (f"[s for s in sizes][2] + {i.text}", i.features, "iteration over array"),
            (f"jnp.stack([jnp.asarray({a.text})] * 2)[1]", a.features, "jnp.stack"),
        ]
        text, features, name = self.one(table)
        return Term(text, features).via(name)

    def either(self) -> Term:
        """A Python int or a scalar, or one of the two as the flags say."""
        roll = self.pick(100)
        if roll < 50:
            return self.integer()
        if roll < 88 or not self.may_branch:
            return self.scalar()
        a, b = self.integer(1), self.scalar(1)
        both = a.features | b.features
        flag = self.flag()
        return self.one(
            [
                Term(f"({a.text} if {flag} else {b.text})", both).via("conditional expression"),
                Term(f"select({a.text}, {b.text}, {flag})", both).via("helper with branches"),
            ]
        )

    def flag(self) -> str:
        """A condition that the caller decides, and that no other branch depends on."""
        name = FLAGS[len(self.flags)]
        self.flags.append(name)
        return self.one([name, f"not {name}", f"{name} is True", f"{name} == 1"])

    @property
    def may_branch(self) -> bool:
        """Whether a flag is left."""
        return len(self.flags) < len(FLAGS) - 1

    # statements ----------------------------------------------------------------------------------

    def bind(self, name: str, term: Term, is_int: bool) -> None:
        """Put a name in scope."""
        (self.names.ints if is_int else self.names.scalars).append(Term(name, term.features))

    def statement(self) -> list[str]:
        """One statement (or a block) that binds a name or two."""
        kinds = [
            self.assign,
            self.assign,
            self.augment,
            self.unpack,
            self.star_unpack,
            self.walrus,
            self.branch,
            self.branch,
            self.loop,
            self.while_loop,
            self.match,
            self.instance,
            self.nonlocal_,
            self.try_,
            self.list_building,
            self.mutation,
            self.with_,
        ]
        return self.one(kinds)()

    def value(self) -> tuple[Term, bool]:
        """An int or a scalar, and which."""
        return (self.integer(), True) if self.chance(55) else (self.scalar(), False)

    def assign(self) -> list[str]:
        """A plain, annotated or chained assignment."""
        name, (term, is_int) = self.names.fresh(), self.value()
        form, feature = self.one(
            [
                ("{name} = {value}", "assignment"),
                ("{name}: object = {value}", "annotated assignment"),
                ("{name} = {name}b = {value}", "chained assignment"),
                ("({name},) = [{value}]", "unpacking"),
            ]
        )
        self.bind(name, term.via(feature), is_int)
        return [form.format(name=name, value=term.text)]

    def augment(self) -> list[str]:
        """`v = a; v += b`."""
        name, (a, is_int) = self.names.fresh(), self.value()
        b = self.integer(1) if is_int else self.one([self.integer(1), self.scalar(1)])
        sign = self.one(["+=", "*="])
        term = Term(name, a.features | b.features).via("augmented assignment")
        self.bind(name, term, is_int)
        return [f"{name} = {a.text}", f"{name} {sign} {b.text}"]

    def unpack(self) -> list[str]:
        """`a, (b, c) = ...`, `a, b = b, a`."""
        one, two = self.names.fresh(), self.names.fresh()
        a, b = self.integer(), self.scalar()
        lines = self.one(
            [
                [f"{one}, {two} = {a.text}, {b.text}"],
                [f"({one}, _), {two} = ({a.text}, 0), {b.text}"],
                [f"{two}, {one} = {a.text}, {b.text}", f"{one}, {two} = {two}, {one}"],
                [f"{one}, ({two}, _) = pair({a.text}, {b.text})"],
                [f"{one}, {two} = Config({a.text}, {b.text}).both()"],
                [f"{one}, {two}, _ = Info({a.text}, {b.text})"],
            ]
        )
        self.bind(one, a.via("unpacking"), True)
        self.bind(two, b.via("unpacking"), False)
        return lines

    def star_unpack(self) -> list[str]:
        """`a, *rest = x.shape`."""
        one, rest = self.names.fresh(), self.names.fresh()
        self.bind(one, Term(one).via("star unpacking"), True)
        self.bind(f"{rest}[-1]", Term(rest).via("star unpacking"), True)
        self.bind(f"len({rest})", Term(rest).via("star unpacking", "len"), True)
        return [f"{one}, *{rest} = x.shape"]

    def walrus(self) -> list[str]:
        """`if (v := a) is not None: ...`."""
        name, (term, is_int) = self.names.fresh(), self.value()
        other = self.names.fresh()
        self.bind(name, term.via("walrus"), is_int)
        self.bind(other, Term(other, term.features).via("walrus"), is_int)
        return [f"{other} = ({name} := {term.text}) + 1"]

    def branch(self) -> list[str]:
        """Assign in branches; both static, both scalars, or one of each."""
        if not self.may_branch:
            return self.assign()
        name, flag = self.names.fresh(), self.flag()
        (a, a_int), (b, b_int) = self.value(), self.value()
        features = a.features | b.features
        self.bind(name, Term(name, features).via("branches"), a_int and b_int)
        return self.one(
            [
                [f"if {flag}:", f"    {name} = {a.text}", "else:", f"    {name} = {b.text}"],
                [f"{name} = {a.text}", f"if {flag}:", f"    {name} = {b.text}"],
                [
                    f"if x.ndim == 1 and {flag}:",
                    f"    {name} = {a.text}",
                    f"elif {flag}:",
                    f"    {name} = {b.text}",
                    "else:",
                    f"    {name} = {a.text}",
                ],
            ]
        )

    def loop(self) -> list[str]:
        """A `for` loop that changes a name."""
        name, (a, is_int) = self.names.fresh(), self.value()
        head, feature = self.one(
            [
                ("for i in range(3):", "for over range"),
                ("for i in x.shape:", "for over shape"),
                ("for _, i in enumerate(x.shape, 1):", "enumerate"),
                ("for i, _ in zip(x.shape, (1, 2)):", "zip"),
                ("for i in (1, 2, K0):", "for over tuple"),
                ("for i in reversed(range(1, 4)):", "reversed"),
            ]
        )
        step = self.one([f"{name} += i", f"{name} = {name} + i * 2", f"{name} = i + {name}"])
        tail = self.one([[], [f"    if {name} is None:", "        continue"]])
        self.bind(name, a.via(feature), is_int)
        return [f"{name} = {a.text}", head, f"    {step}", *tail]

    def while_loop(self) -> list[str]:
        """A `while` loop on Python ints."""
        name, a = self.names.fresh(), self.integer(1)
        self.bind(name, a.via("while"), True)
        return [f"{name} = {a.text}", f"while {name} > 9:", f"    {name} //= 2"]

    def match(self) -> list[str]:
        """A `match` on a flag."""
        if not self.may_branch:
            return self.assign()
        flag, name = self.flag(), self.names.fresh()
        (a, a_int), (b, b_int) = self.value(), self.value()
        self.bind(name, Term(name, a.features | b.features).via("match"), a_int and b_int)
        return [
            f"match ({flag}, K0):",
            "    case (True, _):",
            f"        {name} = {a.text}",
            "    case _:",
            f"        {name} = {b.text}",
        ]

    def instance(self) -> list[str]:
        """An object with fields, used by name."""
        name, a, b = self.names.fresh(), self.integer(1), self.scalar(1)
        kind = self.one(["Config", "Info", "Plain", "SimpleNamespace"])
        ints = {
            "Config": [f"{name}.block", f"{name}.doubled", f"{name}.copies"],
            "Info": [f"{name}.rows", f"{name}.width", f"{name}[0]", f"len({name})"],
            "Plain": [f"{name}.a", f"{name}.total", f"{name}.value()", f"{name}.copies"],
            "SimpleNamespace": [f"{name}.a"],
        }[kind]
        scalars = {
            "Config": [f"{name}.other", f"{name}.both()[1]"],
            "Info": [f"{name}.live"],
            "Plain": [f"{name}.b"],
            "SimpleNamespace": [f"{name}.b"],
        }[kind]
        for text in ints:
            self.bind(text, a.via(f"bound {kind}"), True)
        for text in scalars:
            self.bind(text, b.via(f"bound {kind}"), False)
        if kind == "SimpleNamespace":
            return [f"{name} = SimpleNamespace(a={a.text}, b={b.text})"]
        return [f"{name} = {kind}({a.text}, {b.text})"]

    def nonlocal_(self) -> list[str]:
        """A closure that rebinds a name."""
        name, (a, is_int), b = self.names.fresh(), self.value(), self.integer(1)
        self.bind(name, Term(name, a.features | b.features).via("nonlocal"), is_int)
        return [
            f"{name} = {a.text}",
            "",
            f"def change_{name}(by):",
            f"    nonlocal {name}",
            f"    {name} = {name} + by",
            "",
            f"change_{name}({b.text})",
        ]

    def try_(self) -> list[str]:
        """A `try` that binds a name in both arms."""
        name, a = self.names.fresh(), self.integer(1)
        self.bind(name, a.via("try"), True)
        return [
            "try:",
            f"    {name} = 64 // {a.text}",
            "except ZeroDivisionError:",
            f"    {name} = 1",
        ]

    def list_building(self) -> list[str]:
        """A list that grows by `append`, `+=` or item assignment."""
        name, a, b = self.names.fresh(), self.integer(1), self.scalar(1)
        self.bind(f"{name}[0]", a.via("list building"), True)
        self.bind(f"{name}[1]", b.via("list building"), False)
        return self.one(
            [
                [f"{name} = [{a.text}]", f"{name}.append({b.text})"],
                [f"{name} = [{a.text}]", f"{name} += [{b.text}]"],
                [f"{name} = [0, 0]", f"{name}[0] = {a.text}", f"{name}[1] = {b.text}"],
                [f"{name} = [{a.text}, *[{b.text}]]"],
                [f"{name} = [{a.text}]", f"{name}.extend(({b.text}, 3))"],
                [f"{name} = {{}}", f"{name}[0] = {a.text}", f"{name}.update({{1: {b.text}}})"],
            ]
        )

    def mutation(self) -> list[str]:
        """An object that changes under another name, in a helper, or by a method."""
        name, a, (b, is_int) = self.names.fresh(), self.integer(1), self.value()
        place, lines, feature = self.one(
            [
                ("[0]", ["{n} = [{a}, 1]", "{n}x = {n}", "{n}x[0] = {b}"], "alias"),
                ("[0]", ["{n} = [{a}, 1]", "put({n}, {b})"], "mutating helper"),
                (".a", ["{n} = Plain({a}, 1)", "{n}.a = {b}"], "assigned field"),
                (".a", ["{n} = Plain({a}, 1)", "assign({n}, {b})"], "mutating helper"),
                (".a", ["{n} = Plain({a}, 1)", "{n}x = [{n}]", "{n}x[0].a = {b}"], "alias"),
                ("['k'][0]", ["{n} = {{'k': [{a}]}}", "{n}['k'][0] = {b}"], "nested mutation"),
                ("['k']", ["{n} = {{'k': {a}}}", "{n}.update(k={b})"], "dict.update"),
                (
                    "[0]",
                    ["{n} = [{a}]", "", "def set_{n}(by):", "    {n}[0] = by", "", "set_{n}({b})"],
                    "mutating closure",
                ),
                (".a", ["{n} = Plain({a}, 1)", "setattr({n}, 'a', {b})"], "setattr"),
            ]
        )
        features = a.features | b.features
        self.bind(f"{name}{place}", Term(name, features).via(feature), is_int)
        return [line.format(n=name, a=a.text, b=b.text) for line in lines]

    def with_(self) -> list[str]:
        """A `with` block, and a nested helper function that closes over a name."""
        name, (a, is_int) = self.names.fresh(), self.value()
        self.bind(f"{name}()", a.via("closure"), is_int)
        return [
            "with contextlib.nullcontext():",
            f"    {name}a = {a.text}",
            "",
            f"def {name}():",
            f"    return {name}a + 1",
            "",
        ]

    # launches ------------------------------------------------------------------------------------

    def call(self, grid: str, many: str) -> tuple[list[str], str]:
        """Lines before, and the expression of, a launch over `grid` (a tuple's text) of `y`."""
        name, form = self.one(
            [
                ("inline tuple", ([], "pl.pallas_call(kernel, grid={g}, out_shape=y)(y)")),
                ("imported name", ([], "launch(kernel, grid={g}, out_shape=y)(y)")),
                ("list", ([], "pl.pallas_call(kernel, grid=list({g}), out_shape=y)(y)")),
                ("grid by name", (["grid = {g}"], "pl.pallas_call(kernel, y, grid=grid)(y)")),
                (
                    "GridSpec inline",
                    ([], "launch(kernel, y, grid_spec=pl.GridSpec(grid={g}))(y)"),
                ),
                (
                    "GridSpec by name",
                    (
                        ["spec = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=0, grid={g})"],
                        "pl.pallas_call(kernel, y, grid_spec=spec)(y)",
                    ),
                ),
                (
                    "partial",
                    ([], "functools.partial(pl.pallas_call, grid={g}, out_shape=y)(kernel)(y)"),
                ),
                (
                    "partial decorator",
                    (
                        [
                            "@functools.partial(pl.pallas_call, grid={g}, out_shape=y)",
                            "def call(x_ref, o_ref):",
                            "    o_ref[...] = x_ref[...]",
                            "",
                        ],
                        "call(y)",
                    ),
                ),
                (
                    "dict of options",
                    (["o = dict(grid={g}, out_shape=y)"], "launch(kernel, **o)(y)"),
                ),
                (
                    "bound launch",
                    (["call = pl.pallas_call(kernel, grid={g}, out_shape=y)"], "call(y)"),
                ),
                (
                    "concatenation",
                    (["grid = ()", "grid = grid + {g}"], "launch(kernel, y, grid=grid)(y)"),
                ),
            ]
        )
        self.features.add(name)
        lines, expression = form
        return [line.format(g=grid) for line in lines], expression.format(g=grid)

    def place(self, dims: list[Term]) -> tuple[list[str], list[str]]:
        """Module-level lines, and the lines of `entry` that launch over `dims`."""
        places = [
            self.place_here,
            self.place_here,
            self.place_nested,
            self.place_helper,
            self.place_method,
            self.place_wrapper,
            self.place_loop,
            self.place_body,
            self.place_body,
        ]
        return self.one(places)(dims)

    @staticmethod
    def grid(dims: Sequence[str]) -> str:
        """The text of a grid tuple."""
        return f"({', '.join(dims)},)"

    def place_here(self, dims: list[Term]) -> tuple[list[str], list[str]]:
        """The launch stands in `entry` itself."""
        lines, expression = self.call(self.grid([d.text for d in dims]), "")
        return [], ["y = x", *lines, f"return {expression}"]

    def place_nested(self, dims: list[Term]) -> tuple[list[str], list[str]]:
        """The launch stands in a nested function, over closed-over names or arguments."""
        self.features.add("launch in a nested function")
        names = [f"d{i}" for i in range(len(dims))]
        lines, expression = self.call(self.grid(names), "")
        body = [f"    {line}" for line in [*lines, f"return {expression}"]]
        if self.chance(50):
            bound = [f"{n} = {d.text}" for n, d in zip(names, dims, strict=True)]
            return [], [*bound, "", "def run(y):", *body, "", "return run(x)"]
        arguments = ", ".join(f"{n}={d.text}" for n, d in zip(names, dims, strict=True))
        return [], [
            "",
            f"def run(y, {', '.join(names)}):",
            *body,
            "",
            f"return run(x, {arguments})",
        ]

    def place_helper(self, dims: list[Term]) -> tuple[list[str], list[str]]:
        """The launch stands in a module-level function that `entry` calls."""
        self.features.add("launch in a called function")
        names = [f"d{i}" for i in range(len(dims))]
        lines, expression = self.call(self.grid(names), "")
        head = ["", "", f"def run(y, {', '.join(names)}):"]
        body = [f"    {line}" for line in [*lines, f"return {expression}"]]
        arguments = ", ".join(d.text for d in dims)
        return [*head, *body], [f"return run(x, {arguments})"]

    def place_method(self, dims: list[Term]) -> tuple[list[str], list[str]]:
        """The launch stands in a method, over fields of `self`."""
        self.features.add("launch in a method")
        names = [f"d{i}" for i in range(len(dims))]
        lines, expression = self.call(self.grid([f"self.{n}" for n in names]), "")
        module = ["", "", "class Runner:", f"    def __init__(self, {', '.join(names)}):"]
        module += [f"        self.{n} = {n}" for n in names]
        module += ["", "    def run(self, y):"]
        module += [f"        {line}" for line in [*lines, f"return {expression}"]]
        arguments = ", ".join(d.text for d in dims)
        return module, [f"return Runner({arguments}).run(x)"]

    def place_wrapper(self, dims: list[Term]) -> tuple[list[str], list[str]]:
        """`entry` calls a function that hands the grid on."""
        self.features.add("wrapper")
        module = [
            "",
            "",
            "def wrapped(kernel, y, grid, **options):",
            "    return pl.pallas_call(kernel, grid=grid, out_shape=y, **options)",
        ]
        grid = self.grid([d.text for d in dims])
        form = self.one(["wrapped(kernel, x, {g})(x)", "wrapped(kernel, y=x, grid={g})(x)"])
        return module, [f"return {form.format(g=grid)}"]

    def place_loop(self, dims: list[Term]) -> tuple[list[str], list[str]]:
        """The launch stands in a Python loop, one dimension being the loop's."""
        self.features.add("launch in a loop")
        self.repeats = True
        head, last = self.one(
            [
                ("for i in range(1, 3):", Term("i")),
                ("for i in x.shape:", Term("i")),
                ("for i in sizes:", Term("i")),
                ("for i, s in enumerate(sizes):", Term("i + 1")),
                ("for i, s in zip(x.shape, sizes):", Term("s")),
            ]
        )
        dims.append(last.via("loop variable"))
        lines, expression = self.call(self.grid([d.text for d in dims]), "")
        body = [f"    {line}" for line in [*lines, f"y = {expression}"]]
        return [], ["y = x", head, *body, "return y"]

    def place_body(self, dims: list[Term]) -> tuple[list[str], list[str]]:
        """The launch stands in a function given to a JAX transformation."""
        name, (head, use, extra) = self.one(list(BODIES.items()))
        self.features.add(name)
        if name == "scan":
            self.features.add("lambda")
        dims.append(Term(extra, frozenset({f"argument of {name}"})))
        lines, expression = self.call(self.grid([d.text for d in dims]), "")
        body = [f"    {line}" for line in [*lines, f"return {expression}"]]
        return [], ["", head, *body, "", f"return {use}"]

    # the module ----------------------------------------------------------------------------------

    def build(self) -> Program:
        """The whole program."""
        head, tail, traced = self.jit_form()
        known = Term("n", frozenset({"parameter n"}))
        (self.names.scalars if traced else self.names.ints).append(known)
        body: list[str] = []
        for _ in range(1 + self.pick(4)):
            body += self.statement()
        if self.chance(15) and self.may_branch:
            body += [f"if {self.flag()}:", "    return x"]
            self.features.add("early return")
        dims = [self.either() for _ in range(1 + self.pick(3))]
        module, lines = self.place(dims)
        code = "\n".join([*body, *lines, *module])
        source = "\n".join(
            [
                HEADER,
                *used(HELPERS, code),
                *used(CLASSES, code),
                *module,
                "",
                *head,
                *[f"    {line}".rstrip() for line in [*body, *lines]],
                "",
                *tail,
                "",
            ]
        )
        return Program(
            source,
            tuple(dim.features for dim in dims),
            frozenset(self.features),
            traced,
            self.repeats,
            tuple(self.flags),
        )

    def jit_form(self) -> tuple[list[str], list[str], bool]:
        """One of the ways of compiling `entry`."""
        name, head, tail, traced = self.one(JITS)
        self.features.add(name)
        return ["", *head], tail, traced


def from_seed(seed: int) -> Program:
    """The program of a seed."""
    return Generator(random.Random(seed).randrange).build()
