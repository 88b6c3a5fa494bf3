"""What is known of a launch's kernel, specs, operands and outputs: plain data, no syntax nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pallas_static_grid.model import Span, Step

ROOT = "__operand__"
ReadKind = Literal["program_id", "num_programs"]
Semantics = Literal["parallel", "sequential", "unknown"]
Memory = Literal["windowed", "whole", "smem", "raw", "unknown"]
Backend = Literal["tpu", "triton", "mosaic_gpu"]
Form = Literal["def", "method", "lambda"]


@dataclass(frozen=True, slots=True)
class Code:
    """A piece of the file that is analysed: where it lies and what it says."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class GridRead:
    """A call of `program_id` or `num_programs`; `axis` is None where it is not a literal."""

    kind: ReadKind
    axis: int | None
    code: Code
    line: int
    bound_to: str | None
    """The name, where the read is all that a statement of the body gives it."""
    statement: int | None
    """Which statement of the kernel's body the read is in; None in a function it calls."""
    scopes: tuple[Span, ...] = ()
    """The functions nested in the kernel around the read, outermost first."""
    unclear: bool = False
    """Whether the read may be of another grid: its function is handed to something out of sight."""


@dataclass(frozen=True, slots=True)
class StatementFacts:
    """A statement of the kernel's body."""

    span: Span
    kind: Literal["docstring", "del", "program_id", "load", "unpack", "pure", "when", "other"]
    """load: `n = n_ref[0]`, a scalar at a literal place of a ref."""
    binds: tuple[str, ...]
    """The names that it binds (or deletes) in the kernel's own scope."""
    mentions: frozenset[str] = frozenset()
    """Every name in its text."""
    loads: frozenset[str] = frozenset()
    """Every name that its text reads."""
    deletes: frozenset[str] = frozenset()
    """Every name that its text deletes."""
    condition: Code | None = None
    """For kind "when": the condition of `@pl.when(...)`."""
    reads_memory: bool = False
    """Whether the condition subscripts or calls anything."""
    conjuncts: tuple[str, ...] = ()
    """The parts that must all hold, with `program_id(0)` for the step and names of loads undone."""


@dataclass(frozen=True, slots=True)
class ParameterFacts:
    """A parameter of the kernel that receives a ref (or a tree of refs)."""

    name: str
    index: int
    """Its place in the parameter list as written."""
    optional: bool = False
    """Whether it has a default."""


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """The kernel of a launch."""

    place: Literal["here", "elsewhere", "unseen"]
    form: Form
    name: str
    argument: Code
    """The kernel argument at the launch."""
    span: Span | None = None
    """The def or lambda, where it is in this file."""
    line: int = 0
    partial: Code | None = None
    """The `functools.partial(...)` call that binds some of the parameters."""
    bound_positionals: int = 0
    bound_keywords: tuple[Code, ...] = ()
    """Keywords that the partial gives, as written."""
    decorated: bool = False
    nested: bool = False
    first_ref: int = 0
    """Index, in the parameter list as written, of the first parameter that gets a ref."""
    refs: tuple[ParameterFacts, ...] = ()
    variadic: str | None = None
    keyword_only: tuple[str, ...] = ()
    catches_keywords: bool = False
    """Whether it has a `**kwargs`."""
    statements: tuple[StatementFacts, ...] = ()
    reads: tuple[GridRead, ...] = ()
    """In the kernel's own text."""
    helper_reads: tuple[GridRead, ...] = ()
    """In functions that the kernel calls."""
    unseen_calls: tuple[str, ...] = ()
    """What it calls from its own package that is not in sight."""
    foreign_calls: tuple[str, ...] = ()
    """What it calls from other packages."""
    returned: Step | None = None
    outside: Step | None = None
    """A `nonlocal`, `global`, `yield` or `await`."""
    uses: int = 0
    """How often the file names the kernel apart from this launch and its own decorators."""
    names: frozenset[str] = frozenset()
    """Every name that the kernel's text mentions."""
    starts_dma: bool = False
    effects: bool = False
    """Whether it does something besides reading and writing refs (DMA, semaphores, printing)."""

    def named_in_body(self, kind: ReadKind) -> tuple[GridRead, ...]:
        """The reads of one kind in the kernel's own text."""
        return tuple(read for read in self.reads if read.kind == kind)


@dataclass(frozen=True, slots=True)
class Component:
    """One block index that an index map returns."""

    kind: Literal["constant", "axis", "affine", "monotone", "table", "other"]
    axes: frozenset[int] = frozenset()
    """The grid axes that it depends on."""
    literal: bool = False
    """Written as an int literal."""

    @property
    def injective(self) -> bool:
        """Whether different steps of its one axis give different values."""
        return self.kind in ("axis", "affine") and len(self.axes) == 1


@dataclass(frozen=True, slots=True)
class MapFacts:
    """An index map."""

    code: Code
    """The expression at the spec."""
    here: bool
    parameters: tuple[str, ...]
    """The parameters as written, starred ones with their star."""
    components: tuple[Component, ...] | None
    """None where the returned blocks could not be followed."""
    num_programs: tuple[GridRead, ...] = ()
    tables: bool = False
    lambda_span: Span | None = None
    name: str | None = None
    """The function's name where it is a `def`."""
    bare: bool = False
    """Whether it gives a bare index instead of a tuple."""

    @property
    def constant(self) -> bool:
        """Whether every step takes the same block."""
        return self.components is not None and all(c.kind == "constant" for c in self.components)

    @property
    def axes(self) -> frozenset[int]:
        """Every grid axis that the map depends on."""
        found: frozenset[int] = frozenset()
        for component in self.components or ():
            found |= component.axes
        return found


@dataclass(frozen=True, slots=True)
class SpecFacts:
    """A block spec of an operand or an output."""

    span: Span | None
    """The call that builds it, where that is in this file."""
    line: int
    plain: bool
    """`pl.BlockSpec` with plain blocks; None is such a spec for the whole array."""
    block: tuple[Code | None, ...] | None
    """The block shape's entries (None for a squeezed or unreadable entry); None: no block shape."""
    block_code: Code | None
    squeezed: tuple[bool, ...]
    index_map: MapFacts | None
    memory: Memory
    """raw: a ref into the array itself (ANY, HBM, GMEM), nothing is copied or flushed."""
    memory_name: str | None
    other_launches: bool
    """Whether another launch uses the same spec object."""
    local: bool = False
    """Whether the building call stands in the function that launches."""
    hidden_map: bool = False
    """Whether there is an index map that is not in sight."""


@dataclass(frozen=True, slots=True)
class OperandFacts:
    """An operand of the launch, in the order of the call (a tree counts as one)."""

    index: int
    text: str | None
    """The expression, where it is a plain name or attribute."""
    leaves: int | None
    """How many arrays it flattens to; None where that is not known."""
    prefetched: bool
    spec: SpecFacts | None
    spec_code: Code | None = None
    """The spec as `in_specs` names it."""
    other_specs: tuple[SpecFacts, ...] = ()
    """Specs that it has on other paths."""
    leaf_counts: tuple[int, ...] | None = None
    """How many arrays it may flatten to, on one path or another; None where that is not known."""
    none: bool = False
    maybe_none: bool = False
    scalar_int: bool = False
    shape_key: tuple[object, ...] | None = None
    """Equal keys mean equal shapes."""
    extents: tuple[str | None, ...] | None = None
    """Python text of each length at the call, where the rank is known."""

    @property
    def specs(self) -> tuple[SpecFacts, ...]:
        """Every spec that it may have."""
        return () if self.spec is None else (self.spec, *self.other_specs)


@dataclass(frozen=True, slots=True)
class OutputFacts:
    """An output of the launch."""

    index: int
    spec: SpecFacts | None
    aliases: int | None
    """The operand (index in the call) whose buffer it takes over; -1 if that is not known."""
    alias_assumed: bool = False
    """Another operand could be meant, but none that has this output's windows."""
    spec_code: Code | None = None
    """The spec as `out_specs` names it."""
    shape_key: tuple[object, ...] | None = None
    extents: tuple[str | None, ...] | None = None
    shape_code: Code | None = None
    """The shape in a `jax.ShapeDtypeStruct(shape, dtype)` that is written in the launch."""
    shape_entries: tuple[Code, ...] | None = None
    """The shape's entries, where it is a display."""

    @property
    def specs(self) -> tuple[SpecFacts, ...]:
        """Every spec that it may have."""
        return () if self.spec is None else (self.spec,)


@dataclass(frozen=True, slots=True)
class AliasKey:
    """A key of `input_output_aliases`."""

    code: Code
    values: frozenset[int]
    """What it may be; empty where that is not known."""
    output: int | None
    literal: bool = True


@dataclass(frozen=True, slots=True)
class AxisFacts:
    """A grid axis."""

    index: int
    code: Code | None
    """The entry's expression (of a named axis, the size), where it is in sight."""
    name: str | None
    dynamic: bool
    bound: str | None
    bound_kind: str | None
    semantics: Semantics
    line: int = 0
    floating: bool = False
    grid_one: bool = False
    """Whether the bound is the literal 1."""


@dataclass(frozen=True, slots=True)
class Reach:
    """A dimension of a blocked array that a dynamic axis walks along."""

    axis: int
    spec: int
    """Where the spec's call starts."""
    label: str
    line: int
    steps: str | None
    """How many steps stay inside, as source text at the launch; None where that is not known."""
    within: bool
    """Whether the axis' bound is known to be no more."""


@dataclass(frozen=True, slots=True)
class CallFacts:
    """A call of the launch with its operands."""

    span: Span
    line: int
    function: str
    plain: bool
    """Whether a first operand can be inserted."""


@dataclass(frozen=True, slots=True)
class CountOperand:
    """The live count is already an operand: `grid=(distribution[2],)` with `distribution` passed.

    `text` is the count as the kernel can compute it, with `ROOT` in place of the operand.
    """

    operand: int
    text: str

    def with_ref(self, ref: str) -> str:
        """The count as read from `ref`."""
        return self.text.replace(ROOT, ref)


@dataclass(frozen=True, slots=True)
class LaunchShape:
    """Everything that a guard needs to know of a launch."""

    path: str
    line: int
    call: Span
    """The launching call (`pl.pallas_call(...)`)."""
    holder: Span
    """The call that holds the grid, the specs and the scratch (a grid spec, or the launch)."""
    spec_kind: str | None
    """The class of the grid spec."""
    axes: tuple[AxisFacts, ...]
    grid_code: Code | None
    grid_display: Span | None
    """The tuple display of the grid, wherever it is written."""
    grid_uses: int
    """How often the name that the display is bound to is read."""
    num_scalar_prefetch: int | None
    prefetch_code: Code | None
    in_specs: Code | None
    in_specs_display: Span | None
    kernel: KernelFacts
    operands: tuple[OperandFacts, ...]
    operands_complete: bool
    outputs: tuple[OutputFacts, ...] | None
    alias_keys: tuple[AliasKey, ...] | None
    """None where they are not in sight."""
    alias_line: int
    calls: tuple[CallFacts, ...]
    has_scratch: bool
    differentiated: tuple[Step, ...]
    hidden: bool
    """Whether arguments come from out of sight."""
    decorator: bool
    shares_grid_spec: bool
    counts: tuple[CountOperand | None, ...]
    """Per axis."""
    reaches: tuple[Reach, ...] = ()
    evidence: Backend | None = None
    """The backend whose own names the launch uses."""
    has_out_specs: bool = False
    interpret: str | None = None

    @property
    def arrays(self) -> tuple[OperandFacts | OutputFacts, ...]:
        """The operands, then the outputs."""
        return (*self.operands, *(self.outputs or ()))

    @property
    def specs(self) -> tuple[SpecFacts, ...]:
        """The specs of all operands and outputs, on every path."""
        return tuple(spec for array in self.arrays for spec in array.specs)


__all__ = [
    "ROOT",
    "AliasKey",
    "AxisFacts",
    "Backend",
    "CallFacts",
    "Code",
    "Component",
    "CountOperand",
    "Form",
    "GridRead",
    "KernelFacts",
    "LaunchShape",
    "MapFacts",
    "Memory",
    "OperandFacts",
    "OutputFacts",
    "ParameterFacts",
    "Reach",
    "ReadKind",
    "Semantics",
    "SpecFacts",
    "StatementFacts",
]
