"""What known functions of Python, NumPy and JAX return.

`call` is the entry; the sets of names are in `tables.py`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from pallas_static_grid.analysis import tables
from pallas_static_grid.analysis.interpret import arrays, control
from pallas_static_grid.analysis.interpret.containers import (
    accumulate,
    broadcast_shapes,
    cast,
    chain,
    changed_raw,
    copied,
    deep_copied,
    devices,
    dict_,
    dict_method,
    enumerate_,
    first,
    getattr_,
    itertools,
    map_,
    namespace,
    next_,
    range_,
    reduce_,
    replace_fields,
    sequence,
    shape,
    struct,
    type_,
    zip_,
)
from pallas_static_grid.analysis.interpret.numbers import (
    abs_,
    bool_function,
    cdiv,
    ceil,
    divmod_,
    gcd,
    int_function,
    operator,
    pow_,
    prod,
    reduce_ints,
    round_,
    sum_,
    to_int,
)
from pallas_static_grid.analysis.symbolic import Num
from pallas_static_grid.analysis.values import (
    Array,
    Float,
    Int,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from pallas_static_grid.analysis.interpret.expressions import Expressions


_ARRAY_PREFIXES = ("jnp.", "lax.", "jax.nn.", "jax.random.", "jax.scipy.", "jax.image.")


def call(
    run: Expressions, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value | None:
    """The result of calling the function `name`; None where nothing is known of it."""
    handled = control.call(run, name, args, kwargs, node)
    if handled is not None:
        return handled
    if name.startswith("array."):
        return arrays.method(run, name.removeprefix("array."), args, kwargs, node)
    if name in tables.INT_FUNCTIONS:
        return int_function(run, name, args, node)
    if name in tables.BOOL_FUNCTIONS:
        return bool_function(run, name, args, node)
    if name in tables.FLOAT_FUNCTIONS:
        ratio = None
        if name == "float" and args and isinstance(args[0], Int):
            ratio = (args[0].expr, Num(1))
        return Float(ratio=ratio, trace=run.trace(node, "the result is a float"))
    special = _SPECIAL.get(name)
    if special is not None:
        return special(run, args, kwargs, node)
    if name in tables.NO_ARRAY or name.split(".", 2)[0:2] in (["np", "testing"], ["np", "lib"]):
        reason = f"what `{run.segment(node)}` is, is out of sight"
        return Unknown(reason, trace=run.trace(node, reason))
    if name.startswith("np."):
        return arrays.function(run, name, args, kwargs, node, numpy=True)
    if name.startswith(_ARRAY_PREFIXES):
        return arrays.function(run, name, args, kwargs, node, numpy=False)
    if name in {"jax.device_put", "jax.block_until_ready"} and args:
        return (
            args[0]
            if isinstance(args[0], Array) and not args[0].numpy
            else (arrays.function(run, "jnp.asarray", args[:1], {}, node, numpy=False))
        )
    if name in {
        "pl.program_id",
        "lax.axis_index",
        "pl.num_programs",
        "pl.load",
        "pltpu.roll",
        "pltpu.repeat",
        "pltpu.bitcast",
        "pl.dot",
        "jax.core.get_aval",
    }:
        return Array(
            run.new_ident(name),
            shape=() if "id" in name or "num" in name else None,
            dtype="int",
            text=run.segment(node),
            trace=run.trace(node, f"`{run.segment(node)}` is a traced value"),
        )
    return None


_SPECIAL: dict[str, Callable[..., Value]] = {
    "int": to_int,
    "operator.index": to_int,
    "max": reduce_ints("max"),
    "min": reduce_ints("min"),
    "sum": sum_,
    "abs": abs_,
    "pl.cdiv": cdiv,
    "jax.cdiv": cdiv,
    "jax.util.ceil_div": cdiv,
    "pltpu.cdiv": cdiv,
    "math.ceil": ceil("cdiv"),
    "math.floor": ceil("floordiv"),
    "math.trunc": ceil("truncdiv"),
    "math.prod": prod,
    "jax.util.prod": prod,
    "math.gcd": gcd,
    "math.lcm": gcd,
    "divmod": divmod_,
    "pow": pow_,
    "round": round_,
    "tuple": sequence("tuple"),
    "list": sequence("list"),
    "sorted": sequence("sorted"),
    "reversed": sequence("reversed"),
    "range": range_,
    "enumerate": enumerate_,
    "zip": zip_,
    "map": map_,
    "functools.reduce": reduce_,
    "operator.mul": operator(ast.Mult),
    "operator.add": operator(ast.Add),
    "operator.sub": operator(ast.Sub),
    "operator.floordiv": operator(ast.FloorDiv),
    "operator.mod": operator(ast.Mod),
    "dict": dict_,
    "jnp.shape": shape,
    "np.shape": shape,
    "jax.ShapeDtypeStruct": struct,
    "jax.core.ShapedArray": struct,
    "pltpu.VMEM": struct,
    "pltpu.SMEM": struct,
    "plgpu.SMEM": struct,
    "plgpu.GMEM": struct,
    "jax.typeof": first,
    "typing.cast": cast,
    "type": type_,
    **dict.fromkeys(tables.CHANGING_FUNCTIONS, changed_raw),
    "copy.copy": copied,
    "copy.deepcopy": deep_copied,
    "jax.block_until_ready": first,
    "dataclasses.replace": replace_fields,
    "namedtuple._replace": replace_fields,
    "getattr": getattr_,
    "next": next_,
    "iter": first,
    "itertools.product": itertools,
    "itertools.accumulate": accumulate,
    "itertools.chain": chain,
    "np.broadcast_shapes": broadcast_shapes,
    "jnp.broadcast_shapes": broadcast_shapes,
    "lax.broadcast_shapes": broadcast_shapes,
    "jax.devices": devices,
    "jax.local_devices": devices,
    "types.SimpleNamespace": namespace,
    "argparse.Namespace": namespace,
    "dict.get": dict_method("get"),
    "dict.pop": dict_method("pop"),
    "dict.setdefault": dict_method("setdefault"),
    "dict.copy": dict_method("copy"),
    "dict.values": dict_method("values"),
    "dict.keys": dict_method("keys"),
    "dict.items": dict_method("items"),
}
