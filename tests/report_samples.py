"""Reports made by hand for the renderers: rewrites that share imports, lines and names."""

from __future__ import annotations

import codecs
from collections.abc import Sequence

from pallas_static_grid.model import (
    Blocker,
    Bound,
    Changed,
    Clean,
    Dim,
    Failed,
    FileReport,
    Launch,
    Plan,
    Refusal,
    Rewrite,
    Safety,
    Skipped,
    Step,
)
from pallas_static_grid.render.unified import unified_diff

ROWS = '''"""Row kernels.  <script>alert("rows & columns")</script>"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

BLOCK = 128


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2  # in place of `x + x`


def scale(x, n):
    return pl.pallas_call(
        double,
        grid=(pl.cdiv(n, BLOCK),),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)


def blocks(x, shape):
    steps = jnp.prod(jnp.array(shape))
    return pl.pallas_call(double, grid=(steps,), out_shape=x)(x)


def corners(x, shape):
    steps = jnp.prod(jnp.array(shape)) // 4
    return pl.pallas_call(double, grid=(steps,), out_shape=x)(x)


def near(x, n):
    a = pl.pallas_call(double, grid=(jnp.minimum(n, 8),), out_shape=x)(x)
    b = pl.pallas_call(double, grid=(jnp.minimum(n, 4),), out_shape=x)(a)
    return b


def masked(x, n):
    return pl.pallas_call(double, grid=(jnp.minimum(n, 16),), out_shape=x)(x)


def masked_again(x, n):
    return pl.pallas_call(double, grid=(jnp.minimum(n, 32),), out_shape=x)(x)
'''

EDITS: tuple[tuple[str, Safety, tuple[tuple[str, str], ...]], ...] = (
    (
        "pad_and_mask",
        "review",
        (
            (
                "        double,\n        grid=(pl.cdiv(n, BLOCK),),\n",
                "        live_double,\n        grid=(pl.cdiv(x.shape[0], BLOCK),),\n",
            ),
            (
                "def scale(x, n):\n",
                "def live_double(n_ref, x_ref, o_ref):\n"
                "    @pl.when(pl.program_id(0) < n_ref[0])\n"
                "    def _():\n"
                "        double(x_ref, o_ref)\n\n\n"
                "def scale(x, n):\n",
            ),
            ("    )(x)\n\n\ndef blocks", "    )(jnp.full((1,), n, jnp.int32), x)\n\n\ndef blocks"),
        ),
    ),
    (
        "static_shape_arithmetic",
        "safe",
        (
            ("import jax\nimport jax.numpy", "import math\n\nimport jax\nimport jax.numpy"),
            ("steps = jnp.prod(jnp.array(shape))\n", "steps = math.prod(shape)\n"),
        ),
    ),
    (
        "static_shape_arithmetic",
        "safe",
        (("steps = jnp.prod(jnp.array(shape)) // 4", "steps = math.prod(shape) // 4"),),
    ),
    ("pad_and_mask", "safe", (("double, grid=(jnp.minimum(n, 8),)", "double, grid=(8,)"),)),
    ("pad_and_mask", "safe", (("double, grid=(jnp.minimum(n, 4),)", "double, grid=(4,)"),)),
    (
        "pad_and_mask",
        "safe",
        (
            (
                "def masked(x, n):\n",
                "def gated(n_ref, *refs):\n"
                "    pl.when(pl.program_id(0) < n_ref[0])(lambda: double(*refs))\n\n\n"
                "def masked(x, n):\n",
            ),
            ("double, grid=(jnp.minimum(n, 16),)", "gated, grid=(16,)"),
        ),
    ),
    ("pad_and_mask", "safe", (("double, grid=(jnp.minimum(n, 32),)", "gated, grid=(32,)"),)),
)

FUNCTIONS = ("scale", "blocks", "corners", "near", "near", "masked", "masked_again")


def launch(path: str, text: str, ordinal: int, function: str, plans: Sequence[Plan]) -> Launch:
    """The launch number `ordinal` of a text, with a chain and a bound."""
    lines = text.split("\n")
    starts = [i + 1 for i, line in enumerate(lines) if "pl.pallas_call(" in line]
    line = starts[ordinal]
    why = (
        Step(path, line, lines[line - 1].strip(), "the grid of this launch"),
        Step(path, line - 1, lines[line - 2].strip(), "`n` is an argument of a jitted function"),
    )
    bound = Bound(
        "pl.cdiv(x.shape[0], BLOCK)",
        "range",
        (Step(path, line - 2, lines[line - 3].strip(), "step `i` addresses block `i` of `x`"),),
        ("`n <= x.shape[0]`",),
    )
    dim = Dim(0, "pl.cdiv(n, BLOCK)", "dynamic", why, bound)
    return Launch(
        path, line, 12, line + 2, "pallas_call", function, line - 1, "(pl.cdiv(n, BLOCK),)",
        "tuple", "dynamic", (), (dim,), plans=tuple(plans),
        blockers=(Blocker("mosaic_gpu", "scalar prefetch", path, line),),
    )  # fmt: skip


def changed(
    path: str = "kernels/rows.py",
    text: str = ROWS,
    *,
    newline: str = "\n",
    encoding: str = "utf-8",
    bom: bool = False,
) -> Changed:
    """A file with all rewrites of `EDITS`, in other line ends or another encoding if wished."""

    def encode(characters: str) -> bytes:
        return (codecs.BOM_UTF8 if bom else b"") + characters.encode(encoding)

    def ends(characters: str) -> str:
        return characters.replace("\n", newline)

    original = ends(text)
    rewrites: list[Rewrite] = []
    launches: list[Launch] = []
    before = original
    for ordinal, (transform, safety, replacements) in enumerate(EDITS):
        after = before
        for old, new in replacements:
            assert after.count(ends(old)) == 1, old
            after = after.replace(ends(old), ends(new))
        patch = unified_diff(encode(before), encode(after), path)
        plan = Plan(transform, safety, f"makes grid {ordinal} <static>", patch)
        launches.append(launch(path, text, ordinal, FUNCTIONS[ordinal], (plan,)))
        rewrites.append(
            Rewrite(ordinal, launches[-1], (plan,), before, after, ("a `note` & more",), patch)
        )
        before = after
    return Changed(
        path, tuple(launches), tuple(rewrites), encode(original), encode(before), (), path
    )


def refused(path: str = "kernels/other, odd%.py") -> Clean:
    """A file with a refused, an unknown, a static and an ignored launch."""
    why = (Step(path, 3, "steps", "`steps` is an operand: 50% dynamic,\nor more"),)
    dim = Dim(0, "steps", "dynamic", why)
    base = Launch(
        path, 7, 5, 9, "kernel", "Model.step", 6, "(steps,)", "tuple", "dynamic", (), (dim,)
    )
    refusal = Refusal(
        "no-bound", "nothing in sight bounds `steps`", path, 3, "give one with `--bound`"
    )
    from dataclasses import replace

    return Clean(
        path,
        (
            replace(base, refusal=refusal),
            replace(
                base, line=17, verdict="unknown", dims=(Dim(0, "m", "unknown", why),), api="wrapper"
            ),
            replace(base, line=27, verdict="static", dims=(Dim(0, "4", "static"),)),
            replace(base, line=37, ignored=True, refusal=refusal),
        ),
        ("line 50: unused pragma",),
    )


def reports() -> tuple[FileReport, ...]:
    """One of everything."""
    return (
        changed(),
        refused(),
        Skipped("gen.py", "generated"),
        Failed("bad.py", "parse", "line 3: invalid syntax"),
    )
