"""Small files with launches of each kind, put together by the tests of the command."""

from __future__ import annotations

HEAD = """import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0
"""

_LAUNCH = """

@jax.jit
def {name}(x, n):
    return pl.pallas_call(
        kernel,
        grid=({grid},),
        in_specs=[pl.BlockSpec((8, 128), lambda i: ({index}, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i: ({index}, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)
"""


def launch(name: str, grid: str, index: str = "i") -> str:
    """A jitted function with one launch, 8 lines from its decorator to its end."""
    return _LAUNCH.format(name=name, grid=grid, index=index)


def review(name: str = "scale") -> str:
    """Dynamic; its bound is the number of blocks of `x`."""
    return launch(name, "pl.cdiv(n, 8)")


def safe(name: str = "capped") -> str:
    """Dynamic; its bound is a value."""
    return launch(name, "jnp.minimum(n, 4)")


def refused(name: str = "endless") -> str:
    """Dynamic; nothing bounds it."""
    return launch(name, "n", "0")


def static(name: str = "fixed") -> str:
    """Static."""
    return launch(name, "x.shape[0] // 8")


def unknown(name: str = "helper") -> str:
    """Nobody in sight calls it, and nothing jits it."""
    return launch(name, "n").replace("@jax.jit\n", "")


def module(*launches: str) -> str:
    """A file of these launches."""
    return HEAD + "".join(launches)


def line_of(text: str, name: str) -> int:
    """The line of the launching call in the function `name`."""
    lines = text.splitlines()
    return lines.index(f"def {name}(x, n):") + 2
