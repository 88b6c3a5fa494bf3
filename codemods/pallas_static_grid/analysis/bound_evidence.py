"""Evidence for a bound, as limits that can be written at the launch."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pallas_static_grid.analysis import values
from pallas_static_grid.analysis.algebra import Poly, poly
from pallas_static_grid.analysis.facts import LaunchFacts
from pallas_static_grid.analysis.intervals import Facts, Limit, upper
from pallas_static_grid.analysis.range_evidence import Found, Piece, block_sizes
from pallas_static_grid.analysis.rendering import Names
from pallas_static_grid.analysis.scopes import Fact, Scope
from pallas_static_grid.analysis.symbolic import Atom, Op, Sym
from pallas_static_grid.analysis.values import Array, Int, LaunchSite, Value, options
from pallas_static_grid.model import BoundKind, Step

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A static limit that can be written at the launch."""

    text: str
    form: Poly
    kind: BoundKind
    steps: tuple[Step, ...]
    assumes: tuple[str, ...]
    what: str = ""
    in_sight: bool = False
    table: bool = False
    offset: bool = False
    positive: tuple[Poly, ...] = ()
    """Values that are taken to be at least 1."""

    def assumes_no_more_than(self, other: Candidate) -> bool:
        """Whether all that it takes for granted the other takes for granted too."""
        return self.offset <= other.offset and set(self.positive) <= set(other.positive)


@dataclass(slots=True)
class Evidence:
    """What is known of one dimension, by value and by range."""

    facts: LaunchFacts
    axis: int
    value: Value
    known: Facts
    names: Names
    found: Found

    def write(self, form: Poly, *more: str) -> str | None:
        """A static value as Python text, in the words of the code that it comes from."""
        trace = self.value.trace.steps() if self.value.trace is not None else ()
        own = self.facts.launch.dims[self.axis].expression
        texts = [own, *(s.text for s in trace), *more]
        return self.names.render(form, frozenset(_WORD.findall(" ".join(texts))))

    def by_value(self, unwritten: list[str]) -> list[Candidate]:
        """Limits of the value itself; `unwritten` gets what could not be written here."""
        syms = syms_of(self.value)
        if not syms:
            return []
        whole = syms[0] if len(syms) == 1 else Op("max", tuple(syms))
        out = []
        for limit in upper(whole, self.known, assume=True):
            text = self.write(limit.form, *(s.text for s in limit.steps))
            if text is None:
                unwritten.append("its value is limited, but the limit is not in scope here")
                continue
            assumes = tuple(f"`{self._show(p)}` is at least 1" for p in limit.positive)
            steps = self._value_steps(limit, text)
            positive = tuple(poly(p, self.known) for p in limit.positive)
            out.append(Candidate(text, limit.form, "value", steps, assumes, positive=positive))
        return out

    def _value_steps(self, limit: Limit, text: str) -> tuple[Step, ...]:
        """The places that limit the value: what the proof used, else the arithmetic itself."""
        own = self._arithmetic_step(limit, text)
        return (*limit.steps, *((own,) if own is not None else ()))

    def _arithmetic_step(self, limit: Limit, text: str) -> Step | None:
        words = {
            "min": ("minimum(", "min(", "clip(", "clamp("),
            "max": ("maximum(", "max(", "clip(", "clamp("),
            "mod": ("%", "mod(", "remainder(", "rem("),
            "select": ("where(", "select(", " if ", "cond("),
        }
        kinds = [k for k in limit.moves if k in words]
        if not kinds and limit.steps:
            return None
        trace = self.value.trace.steps() if self.value.trace is not None else ()
        for kind in kinds:
            for step in trace:
                if any(word in step.text for word in words[kind]):
                    return Step(step.path, step.line, step.text, f"the value is at most `{text}`")
        launch = self.facts.launch
        site = self.facts.site
        line = launch.line
        return Step(
            site.module.path, line, site.module.line_text(line), f"the value is at most `{text}`"
        )

    def by_range(self, unwritten: list[str]) -> list[Candidate]:
        """Limits from what the launch touches; `unwritten` gets what could not be written."""
        out = []
        for piece in self.found.pieces:
            text = self.write(piece.form, piece.words)
            if text is None:
                unwritten.append(f"{piece.what} would give one, but not in names that are in scope")
                continue
            step = Step(
                piece.step.path,
                piece.step.line,
                piece.step.text,
                f"{piece.step.reason}: at most `{text}` steps",
            )
            assumes = self._range_assumes(piece, text)
            out.append(
                Candidate(
                    text,
                    piece.form,
                    "range",
                    (step,),
                    assumes,
                    piece.what,
                    piece.in_sight,
                    piece.table,
                    piece.offset,
                    tuple(dict.fromkeys(poly(p, self.known) for p in piece.positive)),
                )
            )
        return out

    def _range_assumes(self, piece: Piece, text: str) -> tuple[str, ...]:
        dim = self.facts.launch.dims[self.axis].expression
        out = [f"`{dim}` never exceeds `{text}`: the original stays within {piece.what}"]
        if piece.offset:
            out.append(f"no step starts before the beginning of {piece.what}")
        out.extend(f"`{self._show(p)}` is at least 1" for p in piece.positive)
        return tuple(dict.fromkeys(out))

    def _show(self, sym: Sym) -> str:
        return self.write(poly(sym, self.known)) or "the divisor"


def site_facts(site: LaunchSite) -> Facts:
    """The facts in force at a launch, with those that its blocks imply."""
    return Facts.of(relevant_facts(site), block_sizes(site))


def syms_of(value: Value) -> list[Sym]:
    """A dimension as an integer expression, one for each alternative; empty if one is none."""
    out: list[Sym] = []
    for option in options(value):
        match option:
            case Int(expr=expr):
                out.append(expr)
            case Array(elem=elem) if elem is not None:
                out.append(elem)
            case Array(ident=ident, dtype=dtype, ratio=None) if dtype != "float":
                out.append(Atom(("elem", ident), option.text or "the count", static=False))
            case _:
                return []
    return out


def counts_of(facts: LaunchFacts) -> list[Sym | None]:
    """The grid's entries as expressions, where each is one."""
    found = [syms_of(value) for value in facts.dims]
    return [syms[0] if len(syms) == 1 else None for syms in found]


def relevant_facts(site: LaunchSite) -> list[Fact]:
    """The facts that asserts and checks above the launch establish."""
    found: list[Fact] = []
    scope: Scope | None = site.scope
    inner = True
    while scope is not None:
        found.extend(f for f in scope.facts if inner or _before(f, site))
        inner = False
        scope = scope.parent
    return found


def _before(fact: Fact, site: LaunchSite) -> bool:
    """Whether a fact of an outer scope was established above the launch."""
    return fact.step.path != site.module.path or fact.step.line < site.node.lineno


def axis_names(facts: LaunchFacts, rank: int) -> tuple[str | None, ...]:
    """The names of a named grid's axes."""
    arg = facts.site.args.get("grid_names")
    given = arg.value if arg is not None else None
    if isinstance(given, values.Tuple) and len(given.items) == rank:
        return tuple(_text(v) for v in given.items)
    if given is not None and rank == 1:
        return (_text(given),)
    grid = facts.grid
    if isinstance(grid, values.Tuple) and len(grid.items) == rank:
        pairs = [v.items if isinstance(v, values.Tuple) else () for v in grid.items]
        return tuple(_text(p[0]) if len(p) == 2 else None for p in pairs)
    return (None,) * rank


def _text(value: Value) -> str | None:
    return value.value if isinstance(value, values.Const) and isinstance(value.value, str) else None
