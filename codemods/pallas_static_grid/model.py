"""The types that travel between the stages, the processes and the renderers.

No syntax node appears here: positions are spans and lines, code is text.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

Verdict = Literal["static", "dynamic", "unknown"]
Safety = Literal["safe", "review"]
BoundKind = Literal["value", "range", "user"]
Target = Literal["auto", "portable", "tpu", "triton", "mosaic_gpu"]
Api = Literal["pallas_call", "kernel", "GridSpec", "wrapper", "subscript"]
GridKind = Literal["none", "tuple", "callable", "opaque"]

TARGETS: tuple[Target, ...] = ("auto", "portable", "tpu", "triton", "mosaic_gpu")


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A half-open range of character offsets in the text of a file."""

    start: int
    end: int

    def of(self, text: str) -> str:
        """The part of `text` that the span covers."""
        return text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Step:
    """One link of a chain of reasons: a place in the source and what it tells."""

    path: str
    line: int
    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Bound:
    """A static upper bound of a dynamic grid dimension, in grid steps."""

    expression: str
    kind: BoundKind
    evidence: tuple[Step, ...]
    assumes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dim:
    """One entry of a grid."""

    index: int
    expression: str
    verdict: Verdict
    why: tuple[Step, ...] = ()
    bound: Bound | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a launch that is dynamic stays as it is, and what would help."""

    code: str
    reason: str
    path: str
    line: int
    hint: str


@dataclass(frozen=True, slots=True)
class Plan:
    """One transform that a launch's rewrite consists of."""

    transform: str
    safety: Safety
    summary: str
    patch: str | None = None


@dataclass(frozen=True, slots=True)
class Blocker:
    """Something other than the grid that keeps a launch off a target."""

    target: Literal["tpu", "triton", "mosaic_gpu"]
    reason: str
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch as it is reported; lines and columns are 1-based, columns count characters."""

    path: str
    line: int
    column: int
    end_line: int
    api: Api
    function: str
    function_line: int
    grid: str | None
    grid_kind: GridKind
    verdict: Verdict
    why: tuple[Step, ...] = ()
    dims: tuple[Dim, ...] = ()
    ignored: bool = False
    plans: tuple[Plan, ...] = ()
    refusal: Refusal | None = None
    blockers: tuple[Blocker, ...] = ()
    call_lines: tuple[int, ...] = ()
    """Lines on which a launch bound to a name is called (where tracebacks point)."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace `span` of a file's text by `text`; an empty span inserts."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class EditGroup:
    """The edits that one transform makes for one launch: all of them or none."""

    transform: str
    safety: Safety
    summary: str
    edits: tuple[Edit, ...]
    notes: tuple[str, ...] = ()
    """What a reviewer should know besides chain, bound and assumptions (cost, rounding, ...)."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The unit of review: all that is done for one launch, as one step from text to text.

    The rewrites of a file form a chain: each one's `before` is the `after` of the one above.
    """

    ordinal: int
    """Which launch of the file, counted in source order; rewrites keep the order."""
    launch: Launch
    plans: tuple[Plan, ...]
    before: str
    after: str
    notes: tuple[str, ...] = ()
    patch: str = ""
    """The diff from `before` to `after`, as `git apply` takes it (bytes outside UTF-8 are escaped
    surrogates)."""

    @property
    def safety(self) -> Safety:
        """`safe` only if every plan is."""
        return "safe" if all(plan.safety == "safe" for plan in self.plans) else "review"


@dataclass(frozen=True, slots=True)
class Clean:
    """A file that was looked at and gets no edit; `launches` may hold refused ones."""

    path: str
    launches: tuple[Launch, ...] = ()
    warnings: tuple[str, ...] = ()
    skipped: str | None = None
    """Why the whole file is left alone although its launches are listed (`ignore-file`)."""


@dataclass(frozen=True, slots=True)
class Changed:
    """A file with pending rewrites."""

    path: str
    launches: tuple[Launch, ...]
    rewrites: tuple[Rewrite, ...]
    before: bytes
    after: bytes
    warnings: tuple[str, ...] = ()
    patch_path: str = ""
    """The path in patches: relative to the repository root, or to the current directory."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file passed over on purpose (generated, ignored, no launch)."""

    path: str
    reason: str
    refused: bool = False
    """It may hold launches that cannot be rewritten (a notebook): counts like a refusal."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A file that could not be handled; the others still are."""

    path: str
    stage: Literal["read", "decode", "parse", "analyse", "rewrite", "write"]
    message: str


FileReport = Clean | Changed | Skipped | Failed


@dataclass(frozen=True, slots=True)
class UserBound:
    """`--bound 'PATH::FUNCTION::EXPRESSION=BOUND'`."""

    path: str
    function: str
    expression: str
    bound: str


@dataclass(frozen=True, slots=True)
class Options:
    """What the commands have in common once flags and config are merged."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    target: Target = "auto"
    bounds: tuple[UserBound, ...] = ()
    only: tuple[tuple[str, int], ...] = ()
    safe_only: bool = False
    mask_free: bool = False
    exclude: tuple[str, ...] = ()
    jobs: int = 1
    include_generated: bool = False
    line_length: int | None = None
    """What the project's formatter is told; None: read it off each file."""


__all__ = [
    "TARGETS",
    "Api",
    "Blocker",
    "Bound",
    "BoundKind",
    "Changed",
    "Clean",
    "Dim",
    "Edit",
    "EditGroup",
    "Failed",
    "FileReport",
    "GridKind",
    "Launch",
    "Options",
    "Plan",
    "Refusal",
    "Rewrite",
    "Safety",
    "Skipped",
    "Span",
    "Step",
    "Target",
    "UserBound",
    "Verdict",
    "field",
    "replace",
]
