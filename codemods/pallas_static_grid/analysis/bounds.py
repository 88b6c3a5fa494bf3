"""From a dynamic grid dimension to its least static upper bound that the source proves.

Evidence by value (a minimum, a remainder, a count of known size) assumes nothing; evidence by
range (the launch stays within its arrays and tables) assumes that the original does; a bound
given by the user assumes the user. What is not proven is no bound.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pallas_static_grid.analysis.algebra import Poly, add, number, poly, to_sym
from pallas_static_grid.analysis.bound_evidence import (
    Candidate,
    Evidence,
    axis_names,
    counts_of,
    relevant_facts,
    site_facts,
    syms_of,
)
from pallas_static_grid.analysis.branches import dynamic_branch
from pallas_static_grid.analysis.facts import LaunchFacts
from pallas_static_grid.analysis.intervals import Facts, lower, prove_le
from pallas_static_grid.analysis.kernel_walk import Walk
from pallas_static_grid.analysis.range_evidence import Found, block_sizes, evidence
from pallas_static_grid.analysis.rendering import Names
from pallas_static_grid.analysis.symbolic import Atom, Op, atoms, is_static
from pallas_static_grid.analysis.values import Array, Int, Union, options
from pallas_static_grid.analysis.walk_values import Env, Ref, Scalar
from pallas_static_grid.model import Bound, Refusal, Step, UserBound

MAX_OTHERS = 4
"""How many further pieces of evidence are mentioned."""
MAX_FACTS = 12
"""With more facts than this it is not said which of them a bound needs."""


def bound_dims(
    facts: LaunchFacts, user: Sequence[UserBound] = ()
) -> tuple[Bound | Refusal | None, ...]:
    """For each dimension of a launch: its bound, why it has none, or None if it is static."""
    site = facts.site
    rank = len(facts.dims)
    known = site_facts(site)
    names = axis_names(facts, rank)
    ranges: dict[int, Found] | None = None
    scope = Names.at(site.scope, known)
    out: list[Bound | Refusal | None] = []
    for axis, value in enumerate(facts.dims):
        if facts.launch.dims[axis].verdict != "dynamic":
            out.append(None)
            continue
        if ranges is None:
            ranges = evidence(site, names, relevant_facts(site), counts_of(facts))
        asker = _Asker(facts, axis, value, known, scope, ranges[axis])
        out.append(asker.answer(_given(facts, axis, user)))
    return tuple(out)


def bound_dim(
    facts: LaunchFacts, axis: int, user: Sequence[UserBound] = ()
) -> Bound | Refusal | None:
    """The bound of one dimension, or why there is none."""
    return bound_dims(facts, user)[axis]


def bound_forms(facts: LaunchFacts) -> dict[int, Poly]:
    """The bounds of a launch in normal form, by dimension; those that the source itself gives."""
    site = facts.site
    known = site_facts(site)
    ranges = evidence(
        site, axis_names(facts, len(facts.dims)), relevant_facts(site), counts_of(facts)
    )
    scope = Names.at(site.scope, known)
    out: dict[int, Poly] = {}
    for dim, value in zip(facts.launch.dims, facts.dims, strict=True):
        if dim.bound is not None:
            asker = _Asker(facts, dim.index, value, known, scope, ranges[dim.index])
            form = asker.form_of(dim.bound.expression)
            if form is not None:
                out[dim.index] = form
    return out


def _given(facts: LaunchFacts, axis: int, user: Sequence[UserBound]) -> UserBound | None:
    launch = facts.launch
    dim = launch.dims[axis]
    wanted = {_squeeze(dim.expression), f"dims[{axis}]"}
    for option in user:
        if option.path.removeprefix("./") != launch.path.removeprefix("./"):
            continue
        if option.function == launch.function and _squeeze(option.expression) in wanted:
            return option
    return None


def _squeeze(text: str) -> str:
    return "".join(text.split())


@dataclass(slots=True)
class _Asker(Evidence):
    """The question for the bound of one dimension."""

    def answer(self, given: UserBound | None) -> Bound | Refusal:
        """The bound or the refusal."""
        unwritten: list[str] = []
        candidates = [
            *self.by_value(unwritten),
            *self.by_range(unwritten),
        ]
        best = self._tightest(candidates)
        if given is not None:
            return self._with_user(given, best, candidates)
        if best is None:
            return self._by_branch() or self._none(unwritten)
        against = self._exceeded(best.form)
        if against is not None:
            return self._contradiction(best.text, against)
        return self._bound(best, candidates)

    def form_of(self, text: str) -> Poly | None:
        """The candidate that is written as `text`."""
        candidates = [*self.by_value([]), *self.by_range([])]
        return next((c.form for c in candidates if c.text == text), None)

    # --- evidence ----------------------------------------------------------------------------

    # --- choosing ----------------------------------------------------------------------------

    def _tightest(self, candidates: list[Candidate]) -> Candidate | None:
        """The least of the candidates; of those that cannot be compared the best supported."""
        least = [c for c in candidates if not any(self._beats(d, c) for d in candidates)]
        order = {id(c): k for k, c in enumerate(candidates)}

        def rank(one: Candidate) -> tuple[bool, bool, int, bool, bool, int, int, int]:
            agree = [
                c for c in least if c.form == one.form and len(c.positive) <= len(one.positive)
            ]
            return (
                one.offset,
                one.kind != "value" or bool(one.assumes),
                len(one.positive),
                not one.in_sight,
                not one.table,
                -len(agree),
                len(one.text),
                order[id(one)],
            )

        return min(least, key=rank, default=None)

    def _beats(self, one: Candidate, other: Candidate) -> bool:
        """Whether a candidate is known to be smaller than another and assumes no more."""
        if one.form == other.form or not one.assumes_no_more_than(other):
            return False
        known = self.known.assuming(other.positive) if other.positive else self.known
        a, b = to_sym(one.form), to_sym(other.form)
        return prove_le(a, b, known) and not prove_le(b, a, known)

    def _exceeded(self, form: Poly) -> str | None:
        """A value that the dimension is known to reach and that exceeds a bound."""
        least = to_sym(add(form, number(1)))
        for sym in syms_of(self.value):
            parts = sym.args if isinstance(sym, Op) and sym.kind == "select" else (sym,)
            for part in parts:
                for limit in lower(part, self.known, most=4):
                    if prove_le(least, limit.value, self.known):
                        return self.write(limit.form) or "more"
        return None

    # --- answers -----------------------------------------------------------------------------

    def _bound(self, best: Candidate, candidates: list[Candidate]) -> Bound:
        steps = list(best.steps)
        agree = [c for c in candidates if c is not best and c.form == best.form]
        others = [c for c in candidates if c.form != best.form and not self._beaten(c, candidates)]
        seen = {(s.line, s.reason) for s in steps}
        for other in [*agree, *others][: MAX_OTHERS + len(agree)]:
            for step in other.steps:
                if (step.line, step.reason) in seen:
                    continue
                seen.add((step.line, step.reason))
                steps.append(step)
        steps[len(best.steps) : len(best.steps)] = self._facts_behind(best)
        return Bound(best.text, best.kind, tuple(steps), best.assumes)

    def _by_branch(self) -> Bound | None:
        """A bound where only one branch of an `if` makes the dimension dynamic."""
        static = [o for o in options(self.value) if isinstance(o, Int) and is_static(o.expr)]
        traced = [o for o in options(self.value) if isinstance(o, Array)]
        given = dynamic_branch(self.facts, self.axis)
        if given is None or len(static) != 1 or not traced:
            return None
        value = traced[0] if len(traced) == 1 else Union(tuple(traced))
        texts = [s.text for o in static if o.trace is not None for s in o.trace.steps()]
        other = self.write(poly(static[0].expr, self.known), *texts, given.text)
        site, names = self.facts.site, axis_names(self.facts, len(self.facts.dims))
        counts = counts_of(self.facts)
        counts[self.axis] = next(iter(syms_of(value)), None) if len(traced) == 1 else None
        found = evidence(site, names, relevant_facts(site), counts, given)[self.axis]
        asker = _Asker(self.facts, self.axis, value, self.known, self.names, found)
        candidates = [*asker.by_value([]), *asker.by_range([])]
        best = asker._tightest(candidates)
        if best is None or other is None or asker._exceeded(best.form) is not None:
            return None
        one, two = (best.text, other) if given.truth else (other, best.text)
        whole = replace(best, text=f"{one} if {given.name} else {two}")
        return asker._bound(whole, [whole, *(c for c in candidates if c is not best)])

    def _facts_behind(self, best: Candidate) -> tuple[Step, ...]:
        """The facts without which the bound would not follow."""
        site = self.facts.site
        every = relevant_facts(site)
        mine = atoms(to_sym(best.form))
        about = [f.step for f in every if mine & (atoms(f.left) | atoms(f.right))]
        if len(about) > MAX_FACTS:
            return ()
        needed: list[Step] = []
        names = axis_names(self.facts, len(self.facts.dims))
        for step in dict.fromkeys(about):
            line = (step.path, step.line)
            rest = [f for f in every if (f.step.path, f.step.line) != line]
            known = Facts.of(rest, block_sizes(site))
            scope = Names.at(site.scope, known)
            found = self.found
            if best.kind == "range":
                found = evidence(site, names, rest, counts_of(self.facts))[self.axis]
            asker = _Asker(self.facts, self.axis, self.value, known, scope, found)
            same = [
                c
                for c in (*asker.by_value([]), *asker.by_range([]))
                if c.kind == best.kind and c.text == best.text and c.assumes == best.assumes
            ]
            if not same and line not in {(s.path, s.line) for s in (*best.steps, *needed)}:
                needed.append(step)
        return tuple(needed)

    def _beaten(self, one: Candidate, candidates: list[Candidate]) -> bool:
        """Whether other evidence from the same source says more."""
        known = self.known.assuming([p for c in candidates for p in c.positive])
        for other in candidates:
            if other.what == one.what and other.kind == one.kind and other.form != one.form:
                a, b = to_sym(other.form), to_sym(one.form)
                if prove_le(a, b, known) and not prove_le(b, a, known):
                    return True
        return False

    def _with_user(
        self, given: UserBound, best: Candidate | None, candidates: list[Candidate]
    ) -> Bound | Refusal:
        launch, site = self.facts.launch, self.facts.site
        form = self._user_form(given)
        if isinstance(form, str):
            return Refusal("bound-out-of-scope", form, launch.path, launch.line, self._hint())
        if form is not None:
            against = self._exceeded(form)
            if against is not None:
                return self._contradiction(given.bound, against)
            if best is not None and prove_le(to_sym(best.form), to_sym(form), self.known):
                return self._bound(best, candidates)
        step = Step(
            site.module.path,
            launch.line,
            f"--bound '{given.path}::{given.function}::{given.expression}={given.bound}'",
            "this bound was given by the user",
        )
        dim = launch.dims[self.axis].expression
        proven = () if best is None else best.steps
        return Bound(
            given.bound,
            "user",
            (step, *proven),
            (f"`{dim}` never exceeds `{given.bound}`, as the user says",),
        )

    def _user_form(self, given: UserBound) -> Poly | str | None:
        """The user's bound as an expression; a text says why it cannot be used."""
        try:
            tree = ast.parse(given.bound.strip(), mode="eval")
        except (SyntaxError, ValueError):
            return f"the bound `{given.bound}` is no Python expression"
        for node in ast.walk(tree):
            known = {*self.names.taken, "min", "max", "len", "int", "sum", "abs"}
            if isinstance(node, ast.Name) and node.id not in known:
                return f"`{node.id}` in the bound `{given.bound}` is not in scope at the launch"
        site = self.facts.site
        walk = Walk()
        thing = walk.evaluate(tree.body, Env({}, None, site.scope, site.module))
        if isinstance(thing, Ref) or (isinstance(thing, Scalar) and not is_static(thing.sym)):
            return f"the bound `{given.bound}` is itself traced"
        return poly(thing.sym, self.known) if isinstance(thing, Scalar) else None

    def _contradiction(self, bound: str, reached: str) -> Refusal:
        launch = self.facts.launch
        dim = launch.dims[self.axis].expression
        return Refusal(
            "contradicting-bounds",
            f"the evidence says that `{dim}` is at most `{bound}`, but it can be `{reached}`",
            launch.path,
            launch.line,
            self._hint(),
        )

    def _none(self, unwritten: list[str]) -> Refusal:
        launch = self.facts.launch
        dim = launch.dims[self.axis].expression
        if unwritten:
            return Refusal(
                "bound-out-of-scope",
                f"a bound of `{dim}` cannot be written at the launch: {unwritten[0]}",
                launch.path,
                launch.line,
                self._hint(),
            )
        reason = f"nothing in sight bounds `{dim}`"
        line, path = launch.line, launch.path
        traced = self._traced_limit()
        if traced is not None:
            reason = f"{reason}: its limit `{traced}` is itself traced"
        elif self.found.rejected:
            step = self.found.rejected[0]
            reason, line, path = f"{reason}: {step.reason}", step.line, step.path
        return Refusal("no-bound", reason, path, line, self._hint())

    def _traced_limit(self) -> str | None:
        """What limits the value where that is no Python int itself."""
        for sym in syms_of(self.value):
            for gen in poly(sym, self.known).generators():
                if isinstance(gen, Op) and gen.kind == "min":
                    texts = [a.text for a in gen.args if isinstance(a, Atom) and not a.static]
                    if len(texts) == len(gen.args):
                        own = self.facts.launch.dims[self.axis].expression
                        return next((t for t in texts if t not in own), texts[-1])
        return None

    def _hint(self) -> str:
        launch = self.facts.launch
        dim = launch.dims[self.axis].expression
        text = " ".join(dim.split())
        if "=" in text.replace("==", "") or "'" in text or len(text) > 60:
            text = f"dims[{self.axis}]"
        return f"give the bound: --bound '{launch.path}::{launch.function}::{text}=BOUND'"


def with_bounds(facts: LaunchFacts, user: Sequence[UserBound] = ()) -> LaunchFacts:
    """The launch with the bounds of its dynamic dimensions, or with the first that has none."""
    launch = facts.launch
    if launch.verdict != "dynamic" or len(facts.dims) != len(launch.dims) or not facts.dims:
        return facts
    answers = bound_dims(facts, user)
    dims = tuple(
        replace(dim, bound=answer if isinstance(answer, Bound) else None)
        for dim, answer in zip(launch.dims, answers, strict=True)
    )
    refusal = next((a for a in answers if isinstance(a, Refusal)), None)
    return replace(facts, launch=replace(launch, dims=dims, refusal=launch.refusal or refusal))
