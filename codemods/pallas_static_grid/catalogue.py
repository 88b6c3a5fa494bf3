"""What the program says by name: its refusal codes and its transforms, as plain data.

`explain` prints these texts, the reports link to them, and the pages under `docs/` are generated
from them. Nothing here imports LibCST, rich or JAX.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class RefusalCode:
    """One reason for leaving a dynamic launch as it is."""

    code: str
    title: str
    meaning: str
    """What was found, and why a rewrite would not be sound."""
    next_step: str
    """What the user can do about it."""


@dataclass(frozen=True, slots=True)
class TransformInfo:
    """What the docstring of a transform's module says."""

    name: str
    summary: str
    """The first line, as a sentence."""
    text: str
    """The whole docstring."""
    default: bool
    """Whether it runs without being selected."""


def _by_code(entries: Iterable[RefusalCode]) -> Mapping[str, RefusalCode]:
    out: dict[str, RefusalCode] = {}
    for entry in entries:
        if entry.code in out:
            raise ValueError(f"refusal code {entry.code!r} is listed twice")
        out[entry.code] = entry
    return MappingProxyType(dict(sorted(out.items())))


REFUSALS: Mapping[str, RefusalCode] = _by_code(
    (
        # -- the grid itself ------------------------------------------------------------------
        RefusalCode(
            "float-grid",
            "A grid dimension is a float",
            "A Python or NumPy float is refused by Pallas, and a traced float is accepted with a "
            "meaning that differs between interpreters: 3.7 is three steps in one and four in "
            "another. No rewrite can know which was meant.",
            "Decide how the value is to be rounded and write it with integers: `pl.cdiv(n, block)` "
            "to cover the tail, `n // block` to drop it.",
        ),
        RefusalCode(
            "callable-not-inlinable",
            "The callable grid cannot be replaced by what it returns",
            "The grid is a lambda or a function, which no Pallas launch accepts. Something in its "
            "body cannot be replaced at the launch: a key of `meta` that no constant in sight "
            "gives, operands that differ between the calls, or statements that are not one "
            "returned expression.",
            "Write the tuple at the launch by hand, with the block sizes of this launch; or bring "
            "the constants that the callable reads into the scope of the launch.",
        ),
        RefusalCode(
            "inexact-arithmetic",
            "The shape arithmetic has no exact integer form",
            "The dimension goes through `log2`, `sqrt` or another floating-point function for "
            "which no integer expression gives the same value for every input "
            "(`jnp.log2(8192)` rounds to 12).",
            "Compute the value with integers, for example `(n - 1).bit_length()` for a ceiling "
            "log2 or `math.isqrt(n)`, and check which rounding was meant.",
        ),
        RefusalCode(
            "comment-in-expression",
            "A comment stands inside the expression to be replaced",
            "The arithmetic would be written anew as one expression, and a comment inside it would "
            "be lost. No rewrite loses a comment.",
            "Move the comment above the statement, then run the tool again.",
        ),
        RefusalCode(
            "grid-name-shared",
            "The name in the grid is used for something else too",
            "The dimension is a name that is bound to arithmetic on shapes, and other code than "
            "grids reads that name, or it is bound in several ways. Making it a Python int there "
            "could change what the other code computes.",
            "Compute the grid from shapes under a name of its own, and leave the other name to the "
            "rest.",
        ),
        # -- the bound ------------------------------------------------------------------------
        RefusalCode(
            "no-bound",
            "Nothing in sight bounds the dimension",
            "A static grid needs a number of steps that is never exceeded. No block extent, no "
            "array of known length that the grid index subscripts, no `jnp.minimum`, `clip`, "
            "`size=` or `total_repeat_length=` limits this dimension. A guessed bound that is too "
            "small would drop work silently.",
            "Give the bound with `--bound 'PATH::FUNCTION::EXPRESSION=BOUND'` (or in the config "
            "file), or write it down in the code: `jnp.minimum(n, MAX_STEPS)`.",
        ),
        RefusalCode(
            "contradicting-bounds",
            "The evidence contradicts the value",
            "Arrays, tables or a bound given by the user limit this dimension to fewer steps than "
            "its value is known to reach in some case: `jnp.maximum(n, 8)` over an output of four "
            "blocks, for one. Either the launch leaves its arrays or the bound is wrong, and a "
            "grid cut down to it would drop work silently.",
            "Compare the two values that the reason names; correct the `--bound`, the size of "
            "the array, or the value itself.",
        ),
        RefusalCode(
            "bound-out-of-scope",
            "The bound cannot be written at the launch",
            "A bound was found, but the names it is made of are not in scope where the grid is "
            "written, or mean something else there.",
            "Bind the array or the block size to a name in the launching function, or give the "
            "bound with `--bound` in names that are in scope there.",
        ),
        # -- the launch and its arguments -----------------------------------------------------
        RefusalCode(
            "opaque-arguments",
            "The launch's arguments are hidden",
            "The grid, the specs or the operands come in through `**kwargs`, a starred list of "
            "unknown length or a value built at run time, so the edit cannot be made completely.",
            "Write the arguments out at the launch, or rewrite this launch by hand following the "
            "summary that `explain PATH:LINE` prints.",
        ),
        RefusalCode(
            "bare-grid",
            "The grid is an array by itself",
            "`pallas_call` takes a tuple of dimensions; a traced value or an array in its place "
            "raises while the launch is being built.",
            "Write `grid=(n,)` and run the tool again.",
        ),
        RefusalCode(
            "operands-out-of-sight",
            "The launch is never called in sight",
            "The function that `pallas_call` returns is not called in this file, so the live "
            "count cannot be added to its operands.",
            "Call the launch where it is built, or add the operand at the callers by hand.",
        ),
        RefusalCode(
            "non-blocked-spec",
            "A block spec is not plainly blocked",
            "A spec uses `pl.Element`, `pl.BoundedSlice`, `pl.Indirect` or the like. Its index map "
            "does not count blocks, so neither the bound nor the clamping of dead steps follows "
            "from it.",
            "Give the bound with `--bound`, or rewrite this launch by hand.",
        ),
        RefusalCode(
            "dynamic-alias-keys",
            "The operand that an alias key means cannot be told",
            "`input_output_aliases` counts flattened operands. Adding the live count as an operand "
            "shifts the keys, and a dead step hands the aliased block on. These keys are computed "
            "out of sight, or the operands before the aliased one may be any number of arrays, so "
            "neither can be shown to be right. A missed shift between arrays of equal shape is "
            "silent.",
            "Write the keys as int literals, annotate operands that are pytrees (a NamedTuple of "
            "arrays), or let the launch carry the count in an operand that it already has.",
        ),
        RefusalCode(
            "shared-definition",
            "The grid, a spec or the kernel is shared with code that must not change",
            "The edit would change a definition that another launch or another function uses too, "
            "and a copy for this launch alone cannot be made soundly.",
            "Give this launch a grid, specs and kernel of its own, then run the tool again.",
        ),
        RefusalCode(
            "differentiated-through",
            "The launch is differentiated through",
            "`jax.grad`, `jax.jvp` or the like goes through this launch with no `custom_vjp` or "
            "`custom_jvp` in between. A kernel that reads `program_id` or takes an int operand "
            "cannot be differentiated, so the guard would turn a working gradient into an error.",
            "Wrap the launch in a `custom_vjp`, or try `--mask-free` where every block is in "
            "range and no state is carried across steps.",
        ),
        # -- the kernel -----------------------------------------------------------------------
        RefusalCode(
            "kernel-out-of-sight",
            "The kernel is not in this file",
            "The kernel is imported, or comes in as a parameter, so it is not known what its dead "
            "steps would do: whether it reads `num_programs`, starts DMAs or carries state.",
            "Scan the tree that holds the kernel, or define a kernel in this file that calls it.",
        ),
        RefusalCode(
            "kernel-not-guardable",
            "The kernel's body cannot be put under a guard",
            "The body returns a value, rebinds its parameters, lets locals escape the part to be "
            "guarded, or reads `program_id` inside a nested condition, so that neither editing nor "
            "wrapping it keeps its meaning.",
            "Move the work into a nested `def` under `@pl.when(...)`, with the `program_id` reads "
            "above it, then run the tool again.",
        ),
        RefusalCode(
            "num-programs-in-index-map",
            "An index map reads num_programs of the dynamic axis",
            "After the rewrite `pl.num_programs` is the bound and no longer the live count. An "
            "index map can only read the live count through scalar prefetch, which GPU backends "
            "do not have.",
            "Pass the count to the index map another way, or choose `--target tpu`.",
        ),
        RefusalCode(
            "index-map-out-of-sight",
            "An index map is not in sight",
            "Whether dead steps move data or touch live blocks depends on the index maps, and one "
            "of them is imported or built at run time.",
            "Write the index map as a lambda or a function in this file.",
        ),
        # -- the outputs ----------------------------------------------------------------------
        RefusalCode(
            "aliased-output",
            "A dead step would write over an aliased output",
            "An output shares its buffer with an input and is written through a block window. A "
            "dead step flushes its window too, so it would put stale data over live blocks, and "
            "no dump block or copy-through could be shown to be right here.",
            "Route the dead steps to an extra block by hand, or keep the output in `pl.ANY` and "
            "copy by hand inside the guard.",
        ),
        RefusalCode(
            "revisited-output-on-parallel-axis",
            "A parallel axis revisits an output block",
            "Dead steps would have to stay on the last live output block, but the steps of this "
            "axis run in parallel (always under Triton, by default under Mosaic GPU), so they "
            "would race with the live step.",
            "Mark the axis `arbitrary` where the target runs it in order, or move the loop over "
            "this axis into the kernel: `lax.fori_loop(0, n_ref[0], ...)`.",
        ),
        RefusalCode(
            "carried-state-on-parallel-axis",
            "State is carried across the steps of a parallel axis",
            "The kernel accumulates into scratch or an output over the dynamic axis. GPU backends "
            "run grid steps in parallel, so this is a race with a static grid as well.",
            "Move the loop over this axis into the kernel: `lax.fori_loop(0, n_ref[0], ...)`.",
        ),
        RefusalCode(
            "grid-limit",
            "The bound exceeds what the target can launch",
            "With the bound in place of the live count the grid has more steps than the target "
            "takes: 65,535 in a CUDA y or z axis, or 2**31 - 1 altogether.",
            "Give a tighter bound with `--bound`, use a larger block, or reorder the axes.",
        ),
        # -- what the user asked for ----------------------------------------------------------
        RefusalCode(
            "ignored",
            "A pragma leaves the launch alone",
            "A comment `# pallas-static-grid: ignore` stands on a line of the launch, or "
            "`ignore-file` in the file. The launch is listed, but never rewritten, and it does "
            "not count for the exit code.",
            "Remove the pragma to have the launch rewritten.",
        ),
        RefusalCode(
            "declined",
            "The rewrite was declined",
            "A rewrite was offered and turned down, in `apply --interactive` or because other "
            "launches were chosen.",
            "Run `apply` again and accept it, or leave a pragma so that it is not offered again.",
        ),
        RefusalCode(
            "needs-review",
            "The rewrite is to be reviewed, and only safe ones are wanted",
            "A rewrite exists, but it assumes something of the callers (such as that the count "
            "never exceeds the array), so it is labelled `review`, and `--safe-only` leaves it "
            "out.",
            "Run without `--safe-only`, and check what the patch says is assumed.",
        ),
        # -- the tool -------------------------------------------------------------------------
        RefusalCode(
            "not-selected",
            "The transform that would help is switched off",
            "A transform could make this grid static, but `--select`, `--ignore` or the config "
            "file leaves it out.",
            "Run again with `--select` naming the transform given in the reason.",
        ),
        RefusalCode(
            "not-supported",
            "The form of this launch is not covered",
            "The launch is understood well enough to say that its grid is dynamic, but the rewrite "
            "of this form has not been shown to be sound, so nothing is changed.",
            "Rewrite this launch by hand; the reason names the part that stands in the way.",
        ),
        RefusalCode(
            "check-failed",
            "The rewritten code did not pass the tool's own check",
            "A rewrite was made and then thrown away: the new text did not compile, or the launch "
            "was still dynamic in it. Nothing was changed.",
            "This is a fault of the tool. Rewrite the launch by hand, and please report it with "
            "the source of the launch.",
        ),
    )
)

TRANSFORMS: tuple[str, ...] = (
    "inline_grid_callable",
    "static_shape_arithmetic",
    "pad_and_mask",
)
"""The names of the transforms, in the order in which they are tried."""

OPT_IN: frozenset[str] = frozenset({"cover_tail", "grid_guard"})
"""Names that run only when they are selected, once there are such transforms."""


def transforms() -> tuple[TransformInfo, ...]:
    """The transforms that are present, each as its module's docstring describes it."""
    folder = Path(__file__).with_name("transforms")
    return tuple(info for name in TRANSFORMS if (info := _transform(folder, name)) is not None)


def _transform(folder: Path, name: str) -> TransformInfo | None:
    path = folder / f"{name}.py"
    if not path.is_file():
        path = folder / name / "__init__.py"
    if not path.is_file():
        return None
    text = ast.get_docstring(ast.parse(path.read_bytes())) or ""
    summary = " ".join(text.split("\n\n")[0].split())
    return TransformInfo(name, summary, text, default=name not in OPT_IN)
