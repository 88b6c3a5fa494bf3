"""Error messages of JAX Pallas about grids: who raises them, what is supported, what to do.

The texts and versions were taken from runs under jax 0.10.2, 0.11.1 and 0.12.0.1. `explain_error`
takes a message, a fragment of one or a whole traceback.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Raised:
    """A part of JAX that raises an error, and the versions in which it does."""

    where: str
    versions: str


@dataclass(frozen=True, slots=True)
class Support:
    """What one way of running a launch takes."""

    target: str
    dynamic_grid: bool
    scalar_prefetch: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class ErrorHelp:
    """What is known about an error message."""

    key: str
    title: str
    text: str
    """The message as JAX words it (for a bare AssertionError: the assertion)."""
    raised: tuple[Raised, ...]
    cause: str
    what_to_do: tuple[str, ...]
    site: tuple[str, int] | None = None
    """The innermost line outside JAX, where a traceback was given."""


SUPPORT: tuple[Support, ...] = (
    Support("TPU (Mosaic)", True, True),
    Support(
        "GPU through Triton",
        False,
        False,
        "the only GPU backend of `pallas_call` from jax 0.11.2; deprecated in 0.12",
    ),
    Support(
        "GPU through Mosaic GPU, `pallas_call`",
        False,
        False,
        "the default on GPU in jax 0.10 and 0.11.0-0.11.1; gone from 0.11.2",
    ),
    Support(
        "GPU through Mosaic GPU, `plgpu.kernel`",
        False,
        False,
        "`plgpu.emit_pipeline` inside it takes a traced grid",
    ),
    Support(
        "GPU interpret mode",
        False,
        False,
        "takes whole-array windows only, and runs `pallas_call` for block 0 alone",
    ),
    Support("TPU interpret mode", True, True, "with two cores, a parallel axis must be static"),
    Support("`interpret=True`", True, True, "hides out-of-range blocks; never enough as a proof"),
    Support("`jax.jvp`, `jax.grad` through the launch", False, False),
)
"""What each target supports, for static shapes of everything but the grid."""

_RUN = "Run `pallas-static-grid diff` on the file: it shows a static grid with a guard as a patch."
_EXPLAIN = (
    "Run `pallas-static-grid explain PATH:LINE` with the line of the launch (or of the call that "
    "the traceback names) to see why the grid is dynamic and what bounds it."
)

_GPU_MOSAIC = ErrorHelp(
    "mosaic-gpu-dynamic-grid",
    "Mosaic GPU takes no dynamic grid",
    "NotImplementedError: dynamic grid bounds not supported in the Mosaic GPU backend",
    (
        Raised("lowering `pallas_call` for GPU by default", "0.10, 0.11.0, 0.11.1"),
        Raised("with `compiler_params=plgpu.CompilerParams(...)`", "0.10, 0.11.0, 0.11.1"),
    ),
    "A grid entry is not a Python int: a traced value, a JAX array or a NumPy scalar. The number "
    "of steps of a GPU launch is fixed when the kernel is lowered.",
    (
        _RUN,
        _EXPLAIN,
        "From jax 0.11.2 the same launch goes to Triton and fails there with a text of its own: "
        "an upgrade does not help.",
    ),
)
_GPU_TRITON = ErrorHelp(
    "triton-dynamic-grid",
    "Triton takes no dynamic grid",
    "NotImplementedError: dynamic grid bounds not supported in the Triton backend",
    (
        Raised("lowering `pallas_call` for GPU by default", "0.11.2 and later"),
        Raised("with Triton's `compiler_params=CompilerParams(...)`", "all"),
    ),
    "A grid entry is not a Python int: a traced value, a JAX array or a NumPy scalar. The number "
    "of steps of a GPU launch is fixed when the kernel is lowered.",
    (
        _RUN,
        _EXPLAIN,
        "Triton runs the steps of a grid in parallel: a launch that accumulates over steps needs "
        "a loop in the kernel as well.",
        "jax 0.12 warns that the Triton backend itself will go; `plgpu.kernel`, its successor, "
        "wants a static grid too.",
    ),
)
_GPU_INTERPRET = ErrorHelp(
    "gpu-interpret-dynamic-grid",
    "GPU interpret mode takes no dynamic grid",
    "NotImplementedError: Dynamic grid bounds not (yet) supported in GPU interpret mode.",
    (Raised("GPU interpret mode, windows that are whole arrays", "all (0.10 to 0.12)"),),
    "A grid entry is not a Python int. This text is reached only where every window is trivial, "
    "such as `pl.BlockSpec(memory_space=plgpu.GMEM)`; blocked windows fail an assertion first.",
    (
        _RUN,
        _EXPLAIN,
        "Once it runs, compare values under TPU interpret mode or on a GPU: GPU interpret mode "
        "computes only block 0 of a `pallas_call`.",
    ),
)
_JVP = ErrorHelp(
    "jvp-dynamic-grid",
    "A launch with a dynamic grid cannot be differentiated",
    "NotImplementedError: interpret with dynamic grid bounds unsupported",
    (Raised("`jax.jvp`, `jax.grad`, `jax.vjp` through the launch", "all (0.10 to 0.12)"),),
    "Differentiating a launch re-runs its kernel by rule, which needs a static grid. A guard in "
    "the kernel is no cure here: a kernel that reads `program_id` cannot be differentiated.",
    (
        "Put the launch into a `jax.custom_vjp` or `jax.custom_jvp`; what runs inside such a rule "
        "is never differentiated.",
        "Or try `pallas-static-grid diff --mask-free`: a static grid without a guard, where that "
        "is sound.",
    ),
)
_CALLABLE = ErrorHelp(
    "callable-grid",
    "The grid is a function",
    "TypeError: 'function' object is not subscriptable",
    (Raised("`pallas_call`, any target", "all (0.10 to 0.12)"),),
    "`grid=lambda meta: ...` is Triton's way. Pallas takes ints or a tuple of ints; it indexes the "
    "grid to see whether its axes are named, and that is what fails.",
    (
        "Run `pallas-static-grid diff` on the file: it puts the tuple that the callable returns "
        "in its place, with the block sizes of this launch.",
        _EXPLAIN,
    ),
)
_FLOAT = ErrorHelp(
    "float-grid",
    "A grid entry is a float, a bool of NumPy, or None",
    "ValueError: Grid must be a tuple of integers or jax.Array, got (4.0,)",
    (Raised("`pallas_call`, any target", "all (0.10 to 0.12)"),),
    "Usually `n / block`, or `np.ceil(n / block)`, which is a float as well.",
    (
        "Write `pl.cdiv(n, block)` to cover the tail, or `n // block` to drop it; the tool does "
        "not choose between the two.",
    ),
)
_KERNEL_ASSERT = ErrorHelp(
    "plgpu-kernel-grid",
    "plgpu.kernel takes only Python ints as its grid",
    "AssertionError (assert all(i is dynamic_grid_dim or isinstance(i, int) for i in grid))",
    (Raised("`plgpu.kernel(grid=...)` with a traced or NumPy entry", "all (0.10 to 0.12)"),),
    "A bare AssertionError without a message. A grid entry of `plgpu.kernel` is a traced value, "
    "an array or a NumPy scalar.",
    (
        _RUN,
        "If the amount of work is data, keep a static grid and loop inside: `plgpu.emit_pipeline` "
        "and `lax.fori_loop` take traced bounds.",
    ),
)
_MOSAIC_GONE = ErrorHelp(
    "mosaic-gpu-removed",
    "pallas_call on Mosaic GPU is gone from jax 0.11.2",
    "AssertionError (assert rule is not None)",
    (
        Raised(
            "`pallas_call` with `plgpu.CompilerParams(...)`, lowered for GPU", "0.11.2 and later"
        ),
    ),
    "A bare AssertionError without a message, for static grids as much as for dynamic ones. The "
    "grid is not the cause: `pallas_call` has no Mosaic GPU lowering any more.",
    (
        "Drop `compiler_params=plgpu.CompilerParams(...)` to go through Triton, or move the kernel "
        "to `plgpu.kernel` with `plgpu.emit_pipeline`.",
        "Making the grid static is needed for either, but is not enough.",
    ),
)
_TRIVIAL_WINDOW = ErrorHelp(
    "gpu-interpret-blocked-window",
    "GPU interpret mode takes no blocked windows",
    "AssertionError (assert all(bm.has_trivial_window() for bm in grid_mapping.block_mappings))",
    (Raised("GPU interpret mode, any `pl.BlockSpec` that cuts blocks", "all (0.10 to 0.12)"),),
    "A bare AssertionError without a message. The block specs are the cause; a dynamic grid would "
    "be refused right after.",
    (
        "Pass whole arrays with `pl.BlockSpec(memory_space=plgpu.GMEM)` and cut the windows in the "
        "kernel: `ref[pl.ds(i * block, block)]`.",
        "Or test under `interpret=True` and TPU interpret mode.",
    ),
)
_ASSERTION = ErrorHelp(
    "bare-assertion",
    "A bare AssertionError from Pallas",
    "AssertionError",
    (
        Raised("`plgpu.kernel(grid=...)` with a traced or NumPy entry", "all (0.10 to 0.12)"),
        Raised(
            "`pallas_call` with `plgpu.CompilerParams(...)`, lowered for GPU", "0.11.2 and later"
        ),
        Raised("GPU interpret mode, any `pl.BlockSpec` that cuts blocks", "all (0.10 to 0.12)"),
        Raised("TPU interpret mode, a grid entry of shape (1,)", "all (0.10 to 0.12)"),
    ),
    "Pallas has several assertions without a message; the last line of the traceback tells them "
    "apart.",
    ("Run `pallas-static-grid explain` with the whole traceback.",),
)
_CAPTURES = ErrorHelp(
    "captured-constant",
    "The kernel closes over an array",
    "ValueError: The kernel function in the pallas_call KERNEL at FILE:LINE captures constants "
    "[i32[]]. You should pass them as inputs.",
    (Raised("`pallas_call`, any target", "all (0.10 to 0.12)"),),
    "A traced value or an array reaches the kernel through `functools.partial` or a closure, "
    "typically a live count that was meant as a guard.",
    (
        "Pass it as an operand: `jnp.full((1,), n, jnp.int32)` with a block spec of its own, or "
        "by scalar prefetch on TPU. The patches of this tool do that.",
    ),
)
_SCALAR_GRID = ErrorHelp(
    "scalar-grid",
    "The grid is a bare array or NumPy scalar",
    "IndexError: invalid index to scalar variable.",
    (Raised("`pallas_call`, any target", "all (0.10 to 0.12)"),),
    "`grid=np.int64(4)`, `grid=jnp.int32(4)` or a traced `grid=n`: a bare grid may only be a "
    "Python int. A traced one fails with TracerBoolConversionError instead.",
    (
        "For a NumPy scalar write `grid=(int(n),)`. For a traced value write `grid=(n,)` and run "
        "the tool on it.",
    ),
)
_PREFETCH = ErrorHelp(
    "gpu-scalar-prefetch",
    "GPU backends have no scalar prefetch",
    "NotImplementedError: scalar prefetch not implemented in the Triton backend",
    (
        Raised("lowering for Triton", "all (0.10 to 0.12)"),
        Raised(
            "lowering for Mosaic GPU: `Scalar prefetch not supported in Mosaic GPU lowering.`",
            "0.10, 0.11.0, 0.11.1",
        ),
        Raised(
            "GPU interpret mode: `Scalar arguments not (yet) supported on GPU`",
            "all (0.10 to 0.12)",
        ),
    ),
    "The launch uses `pltpu.PrefetchScalarGridSpec`. It stays off GPU even with a static grid.",
    (
        "Pass the table as an ordinary operand and read it in the kernel; index maps cannot read "
        "operands on GPU.",
    ),
)
_ENTRY_SHAPE = ErrorHelp(
    "grid-entry-shape",
    "A grid entry has the shape (1,)",
    "TypeError: cond_fun must return a boolean scalar, but got output type(s) "
    "[ShapedArray(bool[1])].",
    (
        Raised("`interpret=True`", "all (0.10 to 0.12)"),
        Raised("TPU interpret mode, as a bare AssertionError", "all (0.10 to 0.12)"),
    ),
    "A grid entry is an array of one element instead of a scalar.",
    ("Write `n[0]` for the entry; the tool then makes it static like any other.",),
)
_PROGRAM_ID = ErrorHelp(
    "program-id-in-condition",
    "program_id is read inside a condition",
    "NotImplementedError: MLIR translation rule for primitive 'program_id' not found for "
    "platform cpu",
    (Raised("`interpret=True`, inside `pl.when` or `lax.fori_loop`", "all (0.10 to 0.12)"),),
    "The HLO interpreter replaces `program_id` only at the top level of the kernel.",
    ("Read it above the condition: `i = pl.program_id(0)`.",),
)
_TWO_CORES = ErrorHelp(
    "parallel-dynamic-grid",
    "TPU interpret mode takes no dynamic parallel axis on two cores",
    "ConcretizationTypeError: Abstract tracer value encountered where concrete value is expected "
    "(while tracing the function interpret_pallas_call)",
    (Raised("TPU interpret mode, `num_cores_or_threads=2`", "all (0.10 to 0.12)"),),
    "A parallel axis is split over the cores when the launch is built, so its size must be known "
    "then.",
    (_RUN, "Or run the dynamic form on one core and compare with a reference."),
)

_Rule = tuple[re.Pattern[str], bool, ErrorHelp]


def _rule(pattern: str, help_: ErrorHelp, *, generic: bool = False) -> _Rule:
    return re.compile(pattern), generic, help_


# A generic text is raised by much other code, so in a traceback it counts only if Pallas is in it.
_RULES: tuple[_Rule, ...] = (
    _rule(r"dynamic grid bounds not supported in the mosaic gpu", _GPU_MOSAIC),
    _rule(r"dynamic grid bounds not supported in the triton", _GPU_TRITON),
    _rule(r"dynamic grid bounds not \(yet\) supported (in|on) gpu", _GPU_INTERPRET),
    _rule(r"interpret with dynamic grid bounds unsupported", _JVP),
    _rule(r"grid must be a tuple of integers", _FLOAT),
    _rule(r"captures constants", _CAPTURES),
    _rule(r"scalar prefetch not (implemented|supported) in", _PREFETCH),
    _rule(r"scalar arguments not \(yet\) supported on gpu", _PREFETCH),
    _rule(r"primitive 'program_id' not found", _PROGRAM_ID),
    _rule(r"assert all\(i is dynamic_grid_dim or isinstance\(i, int\)", _KERNEL_ASSERT),
    _rule(r"assert rule is not none", _MOSAIC_GONE),
    _rule(r"assert all\(bm\.has_trivial_window", _TRIVIAL_WINDOW),
    _rule(r"assert len\(cur_start_indices\[j\]\.shape\) == 1", _ENTRY_SHAPE),
    _rule(r"cond_fun must return a boolean scalar.*bool\[1\]", _ENTRY_SHAPE, generic=True),
    _rule(
        r"abstract tracer value encountered.*interpret_pallas_call|"
        r"interpret_pallas_call.*abstract tracer value encountered",
        _TWO_CORES,
    ),
    _rule(
        r"'(function|functools\.partial|method)' object is not subscriptable",
        _CALLABLE,
        generic=True,
    ),
    _rule(r"invalid index to scalar variable", _SCALAR_GRID, generic=True),
    _rule(r"too many indices: array is 0-dimensional, but 1", _SCALAR_GRID, generic=True),
    _rule(r"elif grid and isinstance\(grid\[0\], tuple\).*boolean conversion", _SCALAR_GRID),
)

ERRORS: tuple[ErrorHelp, ...] = (
    _GPU_MOSAIC,
    _GPU_TRITON,
    _GPU_INTERPRET,
    _JVP,
    _CALLABLE,
    _FLOAT,
    _KERNEL_ASSERT,
    _MOSAIC_GONE,
    _TRIVIAL_WINDOW,
    _ASSERTION,
    _CAPTURES,
    _SCALAR_GRID,
    _PREFETCH,
    _ENTRY_SHAPE,
    _PROGRAM_ID,
    _TWO_CORES,
)
"""Every error that `explain_error` knows."""

_FRAME = re.compile(r'File "([^"\n]+)", line (\d+)')
_FOREIGN = re.compile(
    r"[/\\](site|dist)-packages[/\\]|[/\\]jax[/\\]_src[/\\]|^<|[/\\]lib[/\\]python3"
)
_PALLAS = re.compile(r"pallas|jax has removed its internal frames")


def explain_error(message: str) -> ErrorHelp | None:
    """What is known about an error message, a fragment of one, or a traceback; None if nothing."""
    text = " ".join(message.split()).casefold()
    frames = _FRAME.findall(message)
    pallas = _PALLAS.search(text) is not None
    for pattern, generic, found in _RULES:
        if pattern.search(text) and (not generic or pallas or not frames):
            return replace(found, site=_user_site(frames))
    if text.rstrip(":") == "assertionerror" or (
        pallas and re.search(r"\bassertionerror:?$", text) is not None
    ):
        return replace(_ASSERTION, site=_user_site(frames))
    return None


def _user_site(frames: list[tuple[str, str]]) -> tuple[str, int] | None:
    own = [(path, int(line)) for path, line in frames if not _FOREIGN.search(path)]
    return own[-1] if own else None


def support_table() -> tuple[tuple[str, ...], ...]:
    """The support matrix as rows of text, the header first."""
    rows = [("target", "dynamic grid", "scalar prefetch", "note")]
    for entry in SUPPORT:
        rows.append(
            (
                entry.target,
                "yes" if entry.dynamic_grid else "no",
                "yes" if entry.scalar_prefetch else "no",
                entry.note,
            )
        )
    return tuple(rows)
