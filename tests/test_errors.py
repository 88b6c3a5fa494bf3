"""`explain_error` on messages as JAX words them, and on the real errors of this JAX."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable

import pytest
from pallas_static_grid.errors import ERRORS, SUPPORT, explain_error, support_table

MESSAGES = {
    "dynamic grid bounds not supported in the Mosaic GPU backend": "mosaic-gpu-dynamic-grid",
    "NotImplementedError: Dynamic grid bounds not supported in the Mosaic GPU lowering.": (
        "mosaic-gpu-dynamic-grid"
    ),
    "dynamic grid bounds not supported in the Triton backend": "triton-dynamic-grid",
    "Dynamic grid bounds not (yet) supported in GPU interpret mode.": "gpu-interpret-dynamic-grid",
    "dynamic grid bounds\n    not (yet) supported in\n GPU interpret mode": (
        "gpu-interpret-dynamic-grid"
    ),
    "interpret with dynamic grid bounds unsupported": "jvp-dynamic-grid",
    "TypeError: 'function' object is not subscriptable": "callable-grid",
    "'functools.partial' object is not subscriptable": "callable-grid",
    "Grid must be a tuple of integers or jax.Array, got (4.0,)": "float-grid",
    "AssertionError": "bare-assertion",
    "AssertionError:": "bare-assertion",
    "assert rule is not None": "mosaic-gpu-removed",
    "captures constants [i32[]]. You should pass them as inputs": "captured-constant",
    "IndexError: invalid index to scalar variable.": "scalar-grid",
    "Too many indices: array is 0-dimensional, but 1 were indexed": "scalar-grid",
    "scalar prefetch not implemented in the Triton backend": "gpu-scalar-prefetch",
    "Scalar prefetch not supported in Mosaic GPU lowering.": "gpu-scalar-prefetch",
    "Scalar arguments not (yet) supported on GPU": "gpu-scalar-prefetch",
    "MLIR translation rule for primitive 'program_id' not found for platform cpu": (
        "program-id-in-condition"
    ),
}

OTHERS = (
    "",
    "no such thing",
    "TypeError: 'int' object is not subscriptable",
    "ValueError: operands could not be broadcast together with shapes (3,) (4,)",
    "AssertionError: expected 3 blocks",
    "NotImplementedError",
    "NotImplementedError: dynamic shapes are not supported",
    'Traceback (most recent call last):\n  File "app.py", line 3, in <module>\n    f[0]\n'
    "TypeError: 'function' object is not subscriptable",
    'Traceback (most recent call last):\n  File "app.py", line 3, in <module>\n'
    "    assert rows == 3\nAssertionError",
    'Traceback (most recent call last):\n  File "app.py", line 3, in <module>\n'
    "    np.int64(3)[0]\nIndexError: invalid index to scalar variable.",
)


@pytest.mark.parametrize(("message", "key"), MESSAGES.items())
def test_message(message: str, key: str) -> None:
    found = explain_error(message)
    assert found is not None
    assert found.key == key
    assert found.site is None


@pytest.mark.parametrize("message", OTHERS)
def test_other_messages_are_not_claimed(message: str) -> None:
    assert explain_error(message) is None


def test_site_is_the_innermost_line_of_the_user() -> None:
    text = """Traceback (most recent call last):
  File "/home/ann/run.py", line 3, in <module>
    model(x, n)
  File "/home/ann/kernels/rows.py", line 41, in rows
    )(x)
  File "/usr/lib/python3.12/site-packages/jax/_src/pallas/pallas_call.py", line 976, in call
    raise NotImplementedError(
NotImplementedError: dynamic grid bounds not supported in the Triton backend
"""
    found = explain_error(text)
    assert found is not None
    assert found.site == ("/home/ann/kernels/rows.py", 41)


def test_filtered_traceback_of_a_callable_grid() -> None:
    text = """  File "/home/ann/rows.py", line 41, in rows
    )(x)
TypeError: 'function' object is not subscriptable
--------------------
For simplicity, JAX has removed its internal frames from the traceback of the following exception.
"""
    found = explain_error(text)
    assert found is not None
    assert (found.key, found.site) == ("callable-grid", ("/home/ann/rows.py", 41))


def test_every_entry_is_complete() -> None:
    keys = [entry.key for entry in ERRORS]
    assert len(keys) == len(set(keys))
    for entry in ERRORS:
        assert entry.raised
        assert entry.what_to_do
        assert entry.cause.endswith(".")
        assert all(step.endswith(".") for step in entry.what_to_do)
        found = explain_error(entry.text)
        assert found is not None, entry.text
        assert found.key == entry.key


def test_support_table_has_a_row_for_each_target() -> None:
    header, *rows = support_table()
    assert header == ("target", "dynamic grid", "scalar prefetch", "note")
    assert [row[0] for row in rows] == [entry.target for entry in SUPPORT]
    dynamic = {row[0]: row[1] for row in rows}
    assert (dynamic["GPU through Triton"], dynamic["TPU (Mosaic)"]) == ("no", "yes")


def _failing_runs() -> dict[str, tuple[Callable[[], object], str | None]]:
    """Calls that fail under JAX, each with the key of its error (None: this JAX runs it)."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax._src.pallas.mosaic_gpu.interpret.params import InterpretGPUParams
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import mosaic_gpu as plgpu
    from jax.experimental.pallas import tpu as pltpu
    from jax.experimental.pallas import triton

    old = tuple(map(int, jax.__version__.split(".")[:3])) < (0, 11, 2)
    rows = jnp.ones(512)
    block = pl.BlockSpec((128,), lambda i: (i,))
    whole = pl.BlockSpec(memory_space=plgpu.GMEM)
    shape = jax.ShapeDtypeStruct((512,), jnp.float32)

    def double(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2

    def first_rows(x_ref, o_ref, *, n):
        @pl.when(pl.program_id(0) < n)
        def _():
            o_ref[...] = x_ref[...]

    def launch(x, grid, spec=block, kernel=double, **options):
        return pl.pallas_call(
            kernel, grid=grid, in_specs=[spec], out_specs=spec, out_shape=shape, **options
        )(x)

    def lower(f, *args):
        return jax.jit(f).trace(*args).lower(lowering_platforms=("cuda",))

    def prefetch(**options):
        spec = pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(4,),
            in_specs=[pl.BlockSpec((128,), lambda i, n: (i,))],
            out_specs=pl.BlockSpec((128,), lambda i, n: (i,)),
        )
        return lambda n, x: pl.pallas_call(
            lambda n_ref, x_ref, o_ref: None, grid_spec=spec, out_shape=shape, **options
        )(n, x)

    def mosaic_kernel(grid):
        return plgpu.kernel(double, out_type=shape, grid=(grid,), grid_names=("i",))(rows)

    mosaic = plgpu.CompilerParams()
    gpu = InterpretGPUParams()
    table = jnp.array([4], jnp.int32)
    return {
        "gpu": (
            lambda: lower(lambda x, n: launch(x, (n,)), rows, 2),
            "mosaic-gpu-dynamic-grid" if old else "triton-dynamic-grid",
        ),
        "mosaic": (
            lambda: lower(lambda x, n: launch(x, (n,), compiler_params=mosaic), rows, 2),
            "mosaic-gpu-dynamic-grid" if old else "mosaic-gpu-removed",
        ),
        "mosaic, static": (
            lambda: lower(lambda x: launch(x, (4,), compiler_params=mosaic), rows),
            None if old else "mosaic-gpu-removed",
        ),
        "triton": (
            lambda: lower(
                lambda x, n: launch(x, (n,), compiler_params=triton.CompilerParams()), rows, 2
            ),
            "triton-dynamic-grid",
        ),
        "gpu interpret": (
            lambda: jax.jit(lambda x, n: launch(x, (n,), whole, interpret=gpu))(rows, 2),
            "gpu-interpret-dynamic-grid",
        ),
        "gpu interpret, blocked": (
            lambda: jax.jit(lambda x, n: launch(x, (n,), interpret=gpu))(rows, 2),
            "gpu-interpret-blocked-window",
        ),
        "jvp": (
            lambda: jax.jit(
                lambda x, n: jax.jvp(lambda v: launch(v, (n,), interpret=True), (x,), (x,))
            )(rows, 2),
            "jvp-dynamic-grid",
        ),
        "callable": (lambda: launch(rows, lambda meta: (4,), interpret=True), "callable-grid"),
        "float": (lambda: launch(rows, (4.0,), interpret=True), "float-grid"),
        "numpy scalar": (lambda: launch(rows, np.int64(4), interpret=True), "scalar-grid"),
        "bare array": (lambda: launch(rows, jnp.int32(4), interpret=True), "scalar-grid"),
        "bare traced": (
            lambda: jax.jit(lambda x, n: launch(x, n, interpret=True))(rows, 4),
            "scalar-grid",
        ),
        "captured": (
            lambda: jax.jit(
                lambda x, n: launch(
                    x, (4,), kernel=functools.partial(first_rows, n=n), interpret=True
                )
            )(rows, 2),
            "captured-constant",
        ),
        "kernel, traced": (lambda: jax.jit(mosaic_kernel)(2), "plgpu-kernel-grid"),
        "kernel, numpy": (lambda: mosaic_kernel(np.int64(2)), "plgpu-kernel-grid"),
        "prefetch": (lambda: lower(prefetch(), table, rows), "gpu-scalar-prefetch"),
        "prefetch, interpret": (
            lambda: jax.jit(
                lambda n, x: pl.pallas_call(
                    lambda n_ref, x_ref, o_ref: None,
                    grid_spec=pltpu.PrefetchScalarGridSpec(
                        num_scalar_prefetch=1, grid=(1,), in_specs=[whole], out_specs=whole
                    ),
                    out_shape=shape,
                    interpret=gpu,
                )(n, x)
            )(table, rows),
            "gpu-scalar-prefetch",
        ),
        "entry of shape (1,)": (
            lambda: jax.jit(lambda x, n: launch(x, (n,), interpret=True))(rows, table),
            "grid-entry-shape",
        ),
        "entry of shape (1,), tpu": (
            lambda: jax.jit(lambda x, n: launch(x, (n,), interpret=pltpu.InterpretParams()))(
                rows, table
            ),
            "grid-entry-shape",
        ),
        "program_id": (
            lambda: launch(
                rows,
                (4,),
                kernel=lambda x_ref, o_ref: pl.when(x_ref[0] > 0)(
                    lambda: o_ref.__setitem__(..., x_ref[...] * pl.program_id(0))
                ),
                interpret=True,
            ),
            "program-id-in-condition",
        ),
        "two cores": (
            lambda: jax.jit(
                lambda x, n: launch(
                    x,
                    (n,),
                    interpret=pltpu.InterpretParams(num_cores_or_threads=2),
                    compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)),
                )
            )(rows, 4),
            "parallel-dynamic-grid",
        ),
    }


@pytest.mark.jax
@pytest.mark.smoke
def test_real_errors() -> None:
    """Each error of this JAX is recognised from its traceback, and where it has one, its message.

    The site given is in this file, not in JAX.
    """
    pytest.importorskip("jax")
    wrong = []
    for name, (call, key) in _failing_runs().items():
        try:
            call()
        except (AssertionError, NotImplementedError, TypeError, ValueError, IndexError) as error:
            whole = explain_error("".join(traceback.format_exception(error)))
            short = explain_error("".join(traceback.format_exception_only(error)))
            if whole is None or whole.key != key or whole.site is None:
                wrong.append((name, "traceback", whole and whole.key, key))
            elif whole.site[0] != __file__:
                wrong.append((name, "site", whole.site, __file__))
            if str(error) and name != "bare traced" and (short is None or short.key != key):
                wrong.append((name, "message", short and short.key, key))
        else:
            if key is not None:
                wrong.append((name, "ran", None, key))
    assert not wrong
