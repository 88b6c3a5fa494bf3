"""The algebra and the intervals, held against evaluation."""

from __future__ import annotations

import ast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pallas_static_grid.analysis.algebra import equal, normal, poly
from pallas_static_grid.analysis.intervals import Facts, lower, prove_le, upper
from pallas_static_grid.analysis.rendering import Names
from pallas_static_grid.analysis.scopes import Fact, Scope
from pallas_static_grid.analysis.symbolic import Atom, Num, Op, Sym, is_static, op
from pallas_static_grid.analysis.values import Array, External, Int, Tuple
from pallas_static_grid.model import Step

STEP = Step("f.py", 1, "assert", "a fact")


def dim(name: str) -> Atom:
    return Atom(("dim", name, 0), f"{name}.shape[0]")


def static(name: str) -> Atom:
    return Atom(("param", name), name)


def dynamic(name: str, lo: Sym | None = None, hi: Sym | None = None) -> Atom:
    return Atom(("value", name), name, static=False, lo=lo, hi=hi)


X, Y = dim("x"), dim("y")
B, C, M, S = static("B"), static("C"), static("M"), static("S")
N, K = dynamic("n"), dynamic("k")
ATOMS = (X, Y, B, C, M, S, N, K)


def evaluate(sym: Sym, env: dict[Atom, int]) -> int:
    match sym:
        case Num(value):
            return value
        case Atom():
            return env[sym]
        case Op(kind, args):
            v = [evaluate(a, env) for a in args]
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
                    return v[0] // v[1]
                case "cdiv":
                    return -(-v[0] // v[1])
                case "truncdiv":
                    q = abs(v[0]) // abs(v[1])
                    return q if (v[0] < 0) == (v[1] < 0) else -q
                case "mod":
                    return v[0] % v[1]
                case "min":
                    return min(v)
                case "max":
                    return max(v)
                case "select":
                    return v[env[PICK] % len(v)]
    raise AssertionError(sym)


PICK = static("pick")
BINARY = ["sub", "floordiv", "cdiv", "mod", "truncdiv"]
MANY = ["add", "mul", "min", "max"]


def expressions(atoms: tuple[Atom, ...] = ATOMS, select: bool = False) -> st.SearchStrategy[Sym]:
    leaves: st.SearchStrategy[Sym] = st.one_of(st.integers(-9, 9).map(Num), st.sampled_from(atoms))

    def grow(children: st.SearchStrategy[Sym]) -> st.SearchStrategy[Sym]:
        options = [
            st.tuples(st.sampled_from(BINARY), children, children).map(
                lambda t: Op(t[0], (t[1], t[2]))
            ),
            st.tuples(st.sampled_from(MANY), st.lists(children, min_size=2, max_size=3)).map(
                lambda t: Op(t[0], tuple(t[1]))
            ),
            children.map(lambda c: Op("neg", (c,))),
        ]
        if select:
            options.append(st.tuples(children, children).map(lambda t: Op("select", t)))
        return st.one_of(options)

    return st.recursive(leaves, grow, max_leaves=9)


VALUES = st.fixed_dictionaries({a: st.integers(-12, 40) for a in ATOMS})
QUICK = settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


@QUICK
@given(expressions(), st.lists(VALUES, min_size=4, max_size=8))
def test_the_normal_form_has_the_same_value(sym: Sym, envs: list[dict[Atom, int]]) -> None:
    form = normal(sym)
    for env in envs:
        try:
            expected = evaluate(sym, env)
        except ZeroDivisionError:
            continue
        assert evaluate(form, env) == expected


@QUICK
@given(expressions(), expressions(), st.lists(VALUES, min_size=4, max_size=8))
def test_equal_means_equal(a: Sym, b: Sym, envs: list[dict[Atom, int]]) -> None:
    if not equal(a, b):
        return
    for env in envs:
        try:
            left, right = evaluate(a, env), evaluate(b, env)
        except ZeroDivisionError:
            continue
        assert left == right


@QUICK
@given(expressions())
def test_the_normal_form_is_stable(sym: Sym) -> None:
    first = poly(sym)
    assert poly(normal(sym)) == first or equal(normal(sym), sym)


FACTS = (
    Fact("ge", B, Num(1), STEP),
    Fact("le", N, X, STEP),
    Fact("divides", C, B, STEP),
    Fact("lt", K, M, STEP),
    Fact("ge", S, Num(0), STEP),
)


def _holds(env: dict[Atom, int]) -> dict[Atom, int]:
    """Bend an environment to what FACTS and the kinds of the atoms say."""
    env = dict(env)
    env[B] = abs(env[B]) % 7 + 1
    env[X], env[Y] = abs(env[X]), abs(env[Y])
    env[S] = abs(env[S])
    env[C] = env[B] * (env[C] % 5 - 1)
    env[N] = min(env[N], env[X])
    env[K] = min(env[K], env[M] - 1)
    env[PICK] = 0
    return env


@QUICK
@given(expressions(select=True), st.lists(VALUES, min_size=4, max_size=8), st.integers(0, 1))
def test_limits_hold(sym: Sym, envs: list[dict[Atom, int]], pick: int) -> None:
    facts = Facts.of(FACTS)
    above, below = upper(sym, facts), lower(sym, facts)
    for raw in envs:
        env = _holds(raw) | {PICK: pick}
        try:
            value = evaluate(sym, env)
        except ZeroDivisionError:
            continue
        for limit in above:
            assert is_static(limit.value)
            assert value <= evaluate(limit.value, env)
        for limit in below:
            assert value >= evaluate(limit.value, env)


@QUICK
@given(expressions(), expressions(), st.lists(VALUES, min_size=4, max_size=8))
def test_what_is_proven_holds(a: Sym, b: Sym, envs: list[dict[Atom, int]]) -> None:
    facts = Facts.of(FACTS)
    if not prove_le(a, b, facts):
        return
    for raw in envs:
        env = _holds(raw)
        try:
            left, right = evaluate(a, env), evaluate(b, env)
        except ZeroDivisionError:
            continue
        assert left <= right


def test_a_select_is_not_equal_to_its_look_alike() -> None:
    one, two = Op("select", (N, K)), Op("select", (N, K))
    assert not equal(one, two)
    assert equal(one, one)
    assert not equal(Op("sub", (one, two)), Num(0))
    assert not equal(Op("min", (one, M)), Op("min", (two, M)))


def cdiv(a: Sym, b: Sym) -> Sym:
    return op("cdiv", a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (op("neg", op("floordiv", op("neg", X), B)), cdiv(X, B)),
        (op("floordiv", op("add", X, Num(127)), Num(128)), cdiv(X, Num(128))),
        (op("floordiv", op("sub", op("add", X, B), Num(1)), B), cdiv(X, B)),
        (op("add", X, op("mod", op("neg", X), B)), op("mul", cdiv(X, B), B)),
        (op("floordiv", op("mul", cdiv(X, B), B), B), cdiv(X, B)),
        (op("floordiv", op("floordiv", X, Num(4)), Num(2)), op("floordiv", X, Num(8))),
        (cdiv(C, B), op("floordiv", C, B)),
        (op("mod", op("add", C, S), B), op("mod", S, B)),
        (op("max", X, Num(0)), X),
        (
            op("floordiv", op("add", X, Num(128)), Num(128)),
            op("add", Num(1), op("floordiv", X, Num(128))),
        ),
    ],
)
def test_spellings_of_one_value_are_equal(a: Sym, b: Sym) -> None:
    assert equal(a, b, Facts.of(FACTS))


def test_round_up_needs_a_positive_block() -> None:
    spelled = op("floordiv", op("sub", op("add", X, M), Num(1)), M)
    assert not equal(spelled, cdiv(X, M))


@pytest.mark.parametrize(
    ("sym", "expected"),
    [
        (op("min", N, Num(8)), Num(8)),
        (cdiv(op("min", dynamic("q"), M), B), cdiv(M, B)),
        (cdiv(op("min", K, M), B), cdiv(op("sub", M, Num(1)), B)),
        (cdiv(N, B), cdiv(X, B)),
        (op("mod", K, Num(8)), Num(7)),
        (op("select", Num(1), Num(0)), Num(1)),
        (
            op(
                "floordiv",
                op(
                    "sub",
                    op("mul", cdiv(op("min", K, op("add", dynamic("s"), C)), B), B),
                    dynamic("s"),
                ),
                B,
            ),
            op("floordiv", C, B),
        ),
        (op("mul", dynamic("a", Num(0), Num(4)), dynamic("b", Num(0), X)), op("mul", Num(4), X)),
        (op("floordiv", dynamic("a", Num(0), X), dynamic("b", Num(1))), X),
        (
            dynamic("a", None, op("sub", op("add", X, Y), Num(1))),
            op("sub", op("add", X, Y), Num(1)),
        ),
        (op("max", dynamic("a", None, X), Num(1)), op("max", X, Num(1))),
        (op("truncdiv", dynamic("a", Num(0), X), B), op("floordiv", X, B)),
    ],
)
def test_least_limits(sym: Sym, expected: Sym) -> None:
    facts = Facts.of(FACTS)
    assert any(equal(limit.value, expected, facts) for limit in upper(sym, facts))


@pytest.mark.parametrize(
    "sym",
    [
        dynamic("q"),
        op("max", dynamic("q"), Num(3)),
        op("min", dynamic("q"), dynamic("r")),
        op("mul", dynamic("a", None, Num(4)), dynamic("b", None, Num(4))),
        op("floordiv", Num(8), dynamic("q")),
        op("sub", X, dynamic("q")),
        op("neg", dynamic("q", None, Num(3))),
        op("mod", N, M),
        cdiv(op("min", dynamic("q"), X), M),
    ],
)
def test_no_limit_without_proof(sym: Sym) -> None:
    assert upper(sym, Facts.of(FACTS)) == ()


def test_a_static_divisor_may_be_assumed_positive_and_is_named() -> None:
    (limit,) = upper(cdiv(op("min", dynamic("q"), X), M), Facts.of(()), assume=True)
    assert equal(limit.value, cdiv(X, M)) and limit.positive == (M,)


NAMED = {X: "x", Y: "y", B: "B", C: "C", M: "M", S: "S"}


def names(*, cdiv_known: bool) -> Names:
    """All static atoms in scope: two of them as lengths of arrays."""
    scope = Scope(None, ast.parse(""), "f")
    for atom, name in NAMED.items():
        if atom.key[0] == "dim":
            scope.names[name] = Array(str(atom.key[1]))
        else:
            scope.names[name] = Int(atom)
    scope.names["tiles"] = Int(op("cdiv", X, B))
    scope.names["pair"] = Tuple((Int(op("add", X, S)), Int(op("mul", B, C))))
    if cdiv_known:
        scope.names["pl"] = External("pl")
    return Names.at(scope, Facts.of(()))


class Sized:
    def __init__(self, length: int) -> None:
        self.shape = (length,)


class Pallas:
    @staticmethod
    def cdiv(a: int, b: int) -> int:
        return -(-a // b)


STATIC = tuple(NAMED)


@QUICK
@given(
    expressions(STATIC),
    st.lists(VALUES, min_size=3, max_size=5),
    st.booleans(),
)
def test_what_is_written_has_the_value(
    sym: Sym, envs: list[dict[Atom, int]], cdiv_known: bool
) -> None:
    text = names(cdiv_known=cdiv_known).render(poly(sym, Facts.of(())))
    if text is None:
        assert "truncdiv" in repr(sym)
        return
    for raw in envs:
        env = {a: (abs(v) if a.key[0] == "dim" else v) for a, v in raw.items()}
        scope: dict[str, object] = {"pl": Pallas}
        for atom, name in NAMED.items():
            scope[name] = Sized(env[atom]) if atom.key[0] == "dim" else env[atom]
        try:
            expected = evaluate(sym, env)
            scope["tiles"] = -(-env[X] // env[B])
        except ZeroDivisionError:
            continue
        scope["pair"] = (env[X] + env[S], env[B] * env[C])
        assert eval(text, scope) == expected, text


@pytest.mark.parametrize(
    ("sym", "text"),
    [
        (op("cdiv", X, M), "pl.cdiv(x.shape[0], M)"),
        (op("cdiv", X, B), "tiles"),
        (op("sub", op("cdiv", X, B), Num(1)), "tiles - 1"),
        (op("floordiv", op("add", X, Y), B), "(x.shape[0] + y.shape[0]) // B"),
        (op("sub", M, op("sub", X, Y)), "M + y.shape[0] - x.shape[0]"),
        (op("mul", Num(2), op("floordiv", Y, B)), "2 * (y.shape[0] // B)"),
        (op("add", X, S), "pair[0]"),
        (op("min", M, op("cdiv", Y, B)), "min(M, pl.cdiv(y.shape[0], B))"),
        (op("neg", M), "-M"),
        (op("mod", op("neg", M), B), "-M % B"),
    ],
)
def test_readable(sym: Sym, text: str) -> None:
    assert names(cdiv_known=True).render(poly(sym, Facts.of(()))) == text


def test_nothing_is_written_without_names() -> None:
    assert names(cdiv_known=True).render(poly(op("add", dim("z"), Num(1)))) is None
    assert names(cdiv_known=True).render(poly(op("truncdiv", M, B))) is None
