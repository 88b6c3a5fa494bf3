"""The functions of NumPy, `jnp` and `lax` whose results on integers Python gives exactly."""

from __future__ import annotations

SAME = {
    "add": "+",
    "lax.add": "+",
    "subtract": "-",
    "lax.sub": "-",
    "multiply": "*",
    "lax.mul": "*",
    "floor_divide": "//",
    "lax.div": "//",
    "mod": "%",
    "remainder": "%",
    "lax.rem": "%",
    "fmod": "%",
}
"""Functions of two integers that are an operator (`lax` and `fmod` for natural numbers)."""

REDUCTIONS = {
    "prod": "math.prod",
    "sum": "sum",
    "max": "max",
    "amax": "max",
    "min": "min",
    "amin": "min",
}

INTEGER_TYPES = frozenset(
    {
        *("int", "int_", "intp", "int8", "int16", "int32", "int64"),
        *("uint", "uint8", "uint16", "uint32", "uint64"),
    }
)
NARROW = frozenset({"int8", "int16", "uint8", "uint16"})
UNSIGNED = frozenset({"uint", "uint8", "uint16", "uint32", "uint64"})

_LOG = "the logarithm in floating point is off for some powers (`jnp.log2(8192)` gives 12)"
_ROOT = "the root in floating point is off for some squares"
_HALF = "halves are rounded to even"
INEXACT = {
    "log2": _LOG,
    "log": _LOG,
    "log10": _LOG,
    "lax.log": _LOG,
    "math.log2": _LOG,
    "math.log": _LOG,
    "sqrt": _ROOT,
    "lax.sqrt": _ROOT,
    "math.sqrt": _ROOT,
    "cbrt": _ROOT,
    "round": _HALF,
    "round_": _HALF,
    "around": _HALF,
    "rint": _HALF,
    "lax.round": _HALF,
    "exp2": "powers in floating point are off for large exponents",
    "mean": "a mean in floating point is rounded",
}
"""Functions without an exact integer form, and why."""
