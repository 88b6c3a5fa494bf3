"""Limits of the number of steps that follow from where the launch reads and writes.

They hold if the original launch stays in range: block indices that its index maps give, windows
and elements that its kernel touches on every step, table entries that either looks up.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from pallas_static_grid.analysis import values
from pallas_static_grid.analysis.algebra import Poly, ceil_quotient, number, poly, subtract
from pallas_static_grid.analysis.intervals import Facts, prove_le
from pallas_static_grid.analysis.inverting import Solved, Unsolved, steps_within
from pallas_static_grid.analysis.kernel_walk import Walk
from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.operands import (
    BLOCKED,
    ELEMENT,
    ODD,
    SQUEEZED,
    BlockDim,
    Blocked,
    Received,
    block_dims,
    length,
    received,
)
from pallas_static_grid.analysis.scopes import Fact
from pallas_static_grid.analysis.symbolic import Sym, atoms, is_static
from pallas_static_grid.analysis.values import BlockSpec, LaunchSite, OperandCall, Value, options
from pallas_static_grid.analysis.walk_values import (
    Access,
    Func,
    Given,
    Index,
    Items,
    Ref,
    Scalar,
    Thing,
    Window,
    grid_axis,
    step_count,
    step_index,
)
from pallas_static_grid.model import Step

MAX_COMPARED = 60
"""How many conditions of a kernel are looked into."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One static limit of the number of steps of an axis, with what proves it."""

    form: Poly
    step: Step
    what: str
    """What the steps stay within: "the blocks of `x`", "`ids`"."""
    positive: tuple[Sym, ...] = ()
    in_sight: bool = False
    """Whether the length is computed in sight (and not just that of some array)."""
    table: bool = False
    """Whether it is a table that is looked up (prefetched)."""
    offset: bool = False
    """Whether an offset into it is taken to be at least 0."""
    words: str = ""
    """The code around the evidence, for the names that it uses."""


@dataclass(frozen=True, slots=True)
class Found:
    """The evidence by range for one axis, and what was looked at in vain."""

    pieces: tuple[Piece, ...]
    rejected: tuple[Step, ...]


@dataclass(slots=True)
class _Search:
    """The evidence of one launch call, axis by axis."""

    site: LaunchSite
    rank: int
    names: tuple[str | None, ...]
    facts: Facts
    inside: Sequence[Fact]
    """The facts, and that each grid index is below its count."""
    given: Given | None = None
    compared: dict[tuple[Sym, Sym, tuple[Sym, ...]], bool] = field(default_factory=dict)
    words: str = ""
    """The text of the function that is being walked."""
    pieces: dict[int, list[Piece]] = field(default_factory=dict)
    rejected: dict[int, list[Step]] = field(default_factory=dict)

    def note(
        self,
        index: Sym,
        limit: Poly,
        step_at: tuple[ModuleContext, ast.AST],
        saying: tuple[str, str],
        *,
        natural: bool,
        in_sight: bool = False,
        table: bool = False,
        rounds: tuple[Sym, ...] = (),
    ) -> None:
        """Draw what follows from one index that must not exceed `limit`."""
        reason, what = saying
        for axis in range(self.rank):
            mentioned = atoms(index)
            if step_index(axis) not in mentioned and step_count(axis) not in mentioned:
                continue
            module, node = step_at
            found = steps_within(index, limit, axis, self.facts, natural=natural)
            if isinstance(found, Solved):
                step = _step(module, node, reason)
                positive = (*found.positive, *self.unproven(rounds))
                piece = Piece(
                    found.form,
                    step,
                    what,
                    tuple(dict.fromkeys(positive)),
                    in_sight,
                    table,
                    found.offset,
                    self.code(step_at),
                )
                self.pieces.setdefault(axis, []).append(piece)
            elif isinstance(found, Unsolved) and found.why:
                self.reject(axis, module, node, f"{found.why}, so nothing follows from {what}")

    def unproven(self, rounds: tuple[Sym, ...]) -> tuple[Sym, ...]:
        """Numbers of rounds that are not known to be at least 1."""
        return tuple(r for r in rounds if not self.facts.positive(poly(r, self.facts)))

    def at_most(self, a: Sym, b: Sym, positive: tuple[Sym, ...]) -> bool:
        """Whether `a <= b` on every step, given values that are at least 1."""
        key = (a, b, positive)
        if key not in self.compared:
            if len(self.compared) >= MAX_COMPARED:
                return False
            facts = Facts.of(self.inside, [*block_sizes(self.site), *positive])
            self.compared[key] = prove_le(a, b, facts, budget=60)
        return self.compared[key]

    def code(self, step_at: tuple[ModuleContext, ast.AST]) -> str:
        """The text of the expression or the line that holds the evidence."""
        module, node = step_at
        line = module.line_text(getattr(node, "lineno", 1))
        own = module.segment(node) if isinstance(node, ast.expr) else ""
        return f"{line} {own} {self.words}"

    def reject(self, axis: int, module: ModuleContext, node: ast.AST, reason: str) -> None:
        """Remember what does not count."""
        self.rejected.setdefault(axis, []).append(_step(module, node, reason))


def _step(module: ModuleContext, node: ast.AST, reason: str) -> Step:
    line = getattr(node, "lineno", 1)
    return Step(module.path, line, module.line_text(line), reason)


def evidence(
    site: LaunchSite,
    names: tuple[str | None, ...],
    known: Sequence[Fact],
    counts: Sequence[Sym | None],
    given: Given | None = None,
) -> dict[int, Found]:
    """The evidence by range for each axis of a launch.

    `counts` are the grid's entries where they are integers that can be named. With several calls
    of a launch in sight, only what each of them proves counts.
    """
    rank = len(counts)
    facts = Facts.of(known, block_sizes(site))
    inside = [*known, *_steps_below(site, counts)]
    calls: list[OperandCall | None] = [*site.calls] or [None]
    searches = []
    for call in calls:
        search = _Search(site, rank, names, facts, inside, given)
        got = received(site, call)
        _index_maps(search, got)
        _kernel(search, got)
        searches.append(search)
    first = searches[0]
    out: dict[int, Found] = {}
    for axis in range(rank):
        pieces = [
            p
            for p in first.pieces.get(axis, [])
            if all(any(_alike(p, q) for q in s.pieces.get(axis, [])) for s in searches[1:])
        ]
        out[axis] = Found(tuple(_unique(pieces)), tuple(first.rejected.get(axis, [])))
    return out


def _steps_below(site: LaunchSite, counts: Sequence[Sym | None]) -> list[Fact]:
    """On every step each grid index is below the number of steps of its axis."""
    step = _step(site.module, site.node, "the steps of this launch")
    out = []
    for axis, count in enumerate(counts):
        out.append(Fact("lt", step_index(axis), step_count(axis), step))
        if count is not None:
            out.append(Fact("lt", step_index(axis), count, step))
    return out


def _alike(a: Piece, b: Piece) -> bool:
    return a.form == b.form and a.what == b.what


def _unique(pieces: Iterable[Piece]) -> Iterator[Piece]:
    seen: set[tuple[Poly, int, str]] = set()
    for piece in pieces:
        key = (piece.form, piece.step.line, piece.what)
        if key not in seen:
            seen.add(key)
            yield piece


# --- index maps ----------------------------------------------------------------------------------


def _index_maps(search: _Search, got: Received) -> None:
    for part in got.blocked:
        if part.spec is None or part.spec.index_map is None:
            continue
        if not part.certain:
            continue
        _index_map(search, part, part.spec, got)


def _index_map(search: _Search, part: Blocked, spec: BlockSpec, got: Received) -> None:
    assert spec.index_map is not None
    walk = Walk(search.names, search.at_most, search.given)
    func = single_function(walk, spec.index_map.value, spec.module)
    if func is None:
        return
    search.words = func.env.module.segment(func.node)
    steps = tuple(Scalar(step_index(axis)) for axis in range(search.rank))
    result = walk.call(func, (*steps, *got.prefetched), {})
    for access in walk.accesses:
        _table_access(search, access)
    if spec.block_shape is None or spec.kind.rpartition(".")[2] != "BlockSpec":
        return
    dims = block_dims(spec)
    if dims is None:
        return
    items = result.items if isinstance(result, Items) else (result,)
    if len(items) != len(dims):
        return
    counted = not any(name == "indexing_mode" for name, _ in spec.other)
    for axis, (index, dim) in enumerate(zip(items, dims, strict=True)):
        if counted:
            _block_index(search, part, spec, axis, index, dim, func.node)
        elif isinstance(index, Scalar):
            _refuse_odd(search, spec, index.sym, "the indexing mode of the spec is not blocked")


def _block_index(
    search: _Search,
    part: Blocked,
    spec: BlockSpec,
    axis: int,
    index: Thing,
    dim: BlockDim,
    node: ast.AST,
) -> None:
    if dim.kind == ODD:
        used = [index.sym] if isinstance(index, Scalar) else _window_syms(index)
        for sym in used:
            why = f"dimension {axis} of the block is not counted in blocks"
            _refuse_odd(search, spec, sym, why)
        return
    if not isinstance(index, Scalar):
        return
    extent = length(part.value, axis, part.label)
    if extent is None or not is_static(extent):
        return
    size = poly(extent, search.facts)
    if dim.kind == ELEMENT:
        limit = size
        reason = f"`{part.label}` is read from an element of axis {axis} that every step chooses"
    elif dim.kind == SQUEEZED:
        limit = size
        reason = f"every step takes an entry of axis {axis} of `{part.label}`"
    elif dim.size is not None and dim.kind == BLOCKED:
        if not is_static(dim.size):
            return
        limit = ceil_quotient(size, poly(dim.size, search.facts), search.facts)
        reason = f"every step takes a block along axis {axis} of `{part.label}`"
    else:
        return
    reason = reason.replace("`the output`", "the output")
    where = node if isinstance(node, ast.Lambda) else spec.node
    what = f"axis {axis} of `{part.label}`".replace("`the output`", "the output")
    search.note(
        index.sym,
        subtract(limit, number(1)),
        (spec.module, where if _in(spec.module, where) else spec.node),
        (reason, f"the blocks along {what}" if dim.kind == BLOCKED else what),
        natural=True,
    )


def _in(module: ModuleContext, node: ast.AST) -> bool:
    return 0 < getattr(node, "lineno", 0) <= len(module.offsets)


def _window_syms(thing: Thing) -> list[Sym]:
    return [thing.start] if isinstance(thing, Window) and thing.start is not None else []


def _refuse_odd(search: _Search, spec: BlockSpec, sym: Sym, reason: str) -> None:
    for atom in sorted(atoms(sym), key=lambda a: a.text):
        axis = grid_axis(atom)
        if axis is not None:
            search.reject(axis, spec.module, spec.node, reason)


def single_function(walk: Walk, value: Value, module: ModuleContext) -> Func | None:
    """The one function that a value is, with what partials have bound."""
    found = list(options(value))
    if len(found) != 1:
        return None
    thing = walk.from_value(found[0], module)
    return thing if isinstance(thing, Func) else None


# --- the kernel ----------------------------------------------------------------------------------


def _kernel(search: _Search, got: Received) -> None:
    arg = search.site.args.get("kernel")
    if arg is None or not got.complete:
        return
    walk = Walk(search.names, search.at_most, search.given)
    func = single_function(walk, arg.value, search.site.module)
    if func is None:
        return
    search.words = func.env.module.segment(func.node)
    outputs = got.outputs
    args: list[Thing] = [*got.prefetched, *got.inputs]
    if outputs is not None:
        args.extend(outputs)
        args.extend(got.scratch)
    walk.call(func, tuple(padded(func, args)), {})
    for access in walk.accesses:
        if access.ref.role in ("prefetch", "table", "in", "out"):
            _table_access(search, access)


def padded(func: Func, args: list[Thing]) -> list[Thing]:
    """Scratch and whatever else comes after the outputs: nothing is known of it."""
    wanted = len(func.node.args.posonlyargs) + len(func.node.args.args) - len(func.args)
    if func.node.args.vararg is not None:
        return [*args, *(Thing() for _ in range(max(wanted - len(args), 0)))]
    return [*args[:wanted], *(Thing() for _ in range(wanted - len(args)))]


def _table_access(search: _Search, access: Access) -> None:
    ref = access.ref
    for place, index in enumerate(access.index):
        start = _start(index)
        if start is None:
            continue
        extent = _extent(ref, place)
        if extent is None or not is_static(extent):
            continue
        if not access.always:
            _note_conditional(search, access, start)
            continue
        many = len(access.index) > 1 or (ref.shape is not None and len(ref.shape) > 1)
        along = f"axis {place} of `{ref.label}`" if many else f"`{ref.label}`"
        along = along.replace("`the output`", "the output")
        verb = {"read": "reads", "write": "writes", "copy": "copies"}[access.kind]
        part = "a window" if isinstance(index, Window) else "an entry"
        preposition = "to" if access.kind == "write" else "of"
        search.note(
            start,
            subtract(poly(extent, search.facts), number(1)),
            (access.module, access.node),
            (f"every step {verb} {part} {preposition} {along}", along),
            natural=False,
            in_sight=ref.shape is not None,
            table=ref.role in ("prefetch", "table"),
            rounds=access.positive,
        )


def _note_conditional(search: _Search, access: Access, start: Sym) -> None:
    for atom in sorted(atoms(start), key=lambda a: a.text):
        axis = grid_axis(atom)
        if axis is not None:
            why = "is not subscripted on every step, so its length gives no bound"
            search.reject(axis, access.module, access.node, f"`{access.ref.label}` {why}")


def _start(index: Index) -> Sym | None:
    if isinstance(index, Window):
        return index.start
    return index


def _extent(ref: Ref, axis: int) -> Sym | None:
    if ref.shape is not None:
        return ref.shape[axis] if axis < len(ref.shape) else None
    if ref.source is not None and isinstance(ref.source, values.Array | values.Struct):
        return length(ref.source, axis, ref.label)
    return None


def block_sizes(site: LaunchSite) -> list[Sym]:
    """Static sizes of blocks in the launch's specs: each is at least 1 in a valid launch."""
    out: list[Sym] = []
    for name in ("in_specs", "out_specs"):
        arg = site.spec_arg(name)
        if arg is None:
            continue
        for spec in specs_in(arg.value):
            for dim in block_dims(spec) or ():
                if dim.kind == BLOCKED and dim.size is not None and is_static(dim.size):
                    out.append(dim.size)
    return out


def specs_in(value: Value) -> Iterator[BlockSpec]:
    """Every block spec in a tree of them."""
    for option in options(value):
        if isinstance(option, BlockSpec):
            yield option
        elif isinstance(option, values.Tuple):
            for item in option.items:
                yield from specs_in(item)
