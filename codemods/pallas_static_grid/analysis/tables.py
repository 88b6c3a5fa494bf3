"""What is known of functions out of sight, as data.

Names are canonical: `jnp`, `np`, `lax`, `pl`, `pltpu`, `plgpu` stand for the public modules
(see `ALIASES`). Add a name to the right set to teach the analysis a function.
"""

from __future__ import annotations

from pallas_static_grid.model import Api

# Public modules and their canonical short names; longest match wins.
ALIASES: dict[str, str] = {
    "jax.numpy": "jnp",
    "jax._src.numpy": "jnp",
    "numpy": "np",
    "jax.lax": "lax",
    "jax._src.lax": "lax",
    "jax._src.lax.lax": "lax",
    "jax._src.lax.control_flow": "lax",
    "jax.lax.linalg": "lax.linalg",
    "jax.experimental.pallas": "pl",
    "jax._src.pallas": "pl",
    "jax._src.pallas.core": "pl",
    "jax._src.pallas.primitives": "pl",
    "jax._src.pallas.pallas_call": "pl",
    "jax._src.pallas.utils": "pl",
    "jax.experimental.pallas.tpu": "pltpu",
    "jax._src.pallas.mosaic": "pltpu",
    "jax._src.pallas.mosaic.core": "pltpu",
    "jax._src.pallas.mosaic.primitives": "pltpu",
    "jax.experimental.pallas.mosaic_gpu": "plgpu",
    "jax._src.pallas.mosaic_gpu": "plgpu",
    "jax._src.pallas.mosaic_gpu.core": "plgpu",
    "jax.experimental.pallas.triton": "plt",
    "jax._src.pallas.triton": "plt",
    "jax._src.pallas.triton.core": "plt",
    "jax._src.api": "jax",
    "jax._src.custom_derivatives": "jax",
    "jax._src.ad_checkpoint": "jax",
    "jax._src.api_util": "jax",
    "jax.experimental.shard_map": "jax",
    "jax.experimental.pjit": "jax",
    "jax.experimental.maps": "jax",
    "jax.ad_checkpoint": "jax",
    "jax.custom_derivatives": "jax",
    "jax._src": "jax",
    "jax.core": "jax.core",
    "pl.tpu": "pltpu",
    "pl.mosaic_gpu": "plgpu",
    "pl.triton": "plt",
    "pl.tpu_sc": "plsc",
    "jax.experimental.pallas.tpu_sc": "plsc",
    "jax.experimental.pallas.ops": "jax.experimental.pallas.ops",
    "jax._src.pallas.ops": "jax._src.pallas.ops",
}


def canonical(dotted: str) -> str:
    """The canonical name of a dotted name: its longest known module prefix is shortened."""
    parts = dotted.split(".")
    for end in range(len(parts), 0, -1):
        short = ALIASES.get(".".join(parts[:end]))
        if short is not None:
            return ".".join([short, *parts[end:]])
    return dotted


# Never looked for on disk, even where the scanned tree holds them.
OPAQUE_PACKAGES = frozenset(
    {
        "jax.numpy",
        "jax.lax",
        "numpy",
        "jax",
        "jax.experimental",
        "jax.experimental.pallas",
        "jax.experimental.pallas.tpu",
        "jax.experimental.pallas.mosaic_gpu",
        "jax.experimental.pallas.triton",
        "math",
        "functools",
        "dataclasses",
        "typing",
        "collections",
        "operator",
        "itertools",
        "jaxlib",
    }
)

# Modules of JAX itself below which helpers may be followed (its own kernels).
JAX_IN_SIGHT = (
    "jax.experimental.pallas.ops.",
    "jax._src.pallas.ops.",
    "jax._src.pallas.pallas_test_util",
    "jax.experimental.jax2tf.",
)

LAUNCH_FUNCTIONS: dict[str, Api] = {
    "pl.pallas_call": "pallas_call",
    "pl.kernel": "kernel",
    "plgpu.kernel": "kernel",
    "pltpu.kernel": "kernel",
    "plsc.kernel": "kernel",
    # Quantizing stand-ins that hand their arguments on.
    "qwix.pallas.pallas_call": "pallas_call",
}

# Positional parameters of launch functions and specs, in order.
PARAMETERS: dict[str, tuple[str, ...]] = {
    "pl.pallas_call": ("kernel", "out_shape"),
    "qwix.pallas.pallas_call": ("kernel", "out_shape"),
    "pl.kernel": ("kernel", "out_shape"),
    "plgpu.kernel": ("kernel", "out_shape"),
    "pltpu.kernel": ("kernel", "out_shape"),
    "plsc.kernel": ("kernel", "out_shape"),
    "pl.GridSpec": ("grid", "in_specs", "out_specs", "scratch_shapes"),
    "pltpu.PrefetchScalarGridSpec": (
        "num_scalar_prefetch",
        "grid",
        "in_specs",
        "out_specs",
        "scratch_shapes",
    ),
    "pl.BlockSpec": ("block_shape", "index_map"),
    "plgpu.BlockSpec": ("block_shape", "index_map"),
    "jax.ShapeDtypeStruct": ("shape", "dtype"),
}

GRID_SPECS = frozenset(
    {"pl.GridSpec", "pltpu.PrefetchScalarGridSpec", "plgpu.GridSpec", "pltpu.GridSpec"}
)
BLOCK_SPECS = frozenset({"pl.BlockSpec", "plgpu.BlockSpec", "pltpu.BlockSpec"})

JIT = frozenset({"jax.jit", "jax.pjit", "jax.jit.jit", "pjit.pjit", "jax.api.jit"})
TRANSFORMS_TRACED: dict[str, str] = {
    "jax.vmap": "vmap",
    "jax.pmap": "pmap",
    "jax.shard_map": "shard_map",
    "jax.smap": "shard_map",
    "jax.checkpoint": "checkpoint",
    "jax.remat": "checkpoint",
    "jax.make_jaxpr": "trace",
    "jax.eval_shape": "trace",
    "jax.linear_transpose": "trace",
    "jax.named_call": "named_call",
    "jax.custom_batching.custom_vmap": "vmap",
    "jax.custom_batching.sequential_vmap": "vmap",
    "jax.xmap": "vmap",
}
DIFFERENTIATED: dict[str, str] = {
    "jax.grad": "grad",
    "jax.value_and_grad": "value_and_grad",
    "jax.jacfwd": "jacfwd",
    "jax.jacrev": "jacrev",
    "jax.jacobian": "jacobian",
    "jax.hessian": "hessian",
}
# Called directly with a function first and operands after it.
DIFFERENTIATED_CALLS = frozenset({"jax.vjp", "jax.jvp", "jax.linearize"})
CUSTOM_RULES = frozenset({"jax.custom_vjp", "jax.custom_jvp", "jax.custom_gradient"})
# Decorators and wrappers that give the function back, for what is asked here.
TRANSPARENT = frozenset(
    {
        "functools.lru_cache",
        "functools.cache",
        "staticmethod",
        "jax.named_scope",
        "jax.transfer_guard",
        "jax.profiler.annotate_function",
        "typing.no_type_check",
        "typing.cast",
        "abc.abstractmethod",
        "contextlib.contextmanager",
        "jax.default_matmul_precision",
        "absl.testing.parameterized.parameters",
        "absl.testing.parameterized.named_parameters",
        "absl.testing.parameterized.product",
        "pytest.fixture",
    }
)


# Python ints whatever they are applied to.
INT_FUNCTIONS = frozenset(
    {
        "len",
        "ord",
        "hash",
        "id",
        "jnp.ndim",
        "np.ndim",
        "jnp.size",
        "np.size",
        "lax.axis_size",
        "lax.psum_axis_size",
        "jax.device_count",
        "jax.local_device_count",
        "jax.process_count",
        "jax.process_index",
        "jax.local_devices_count",
        "math.isqrt",
        "math.comb",
        "math.perm",
        "math.factorial",
        "os.cpu_count",
        "pl.next_power_of_2",
        "pl.get_num_cores",
        "jax.tree.num_leaves",
        "int.bit_length",
        "pltpu.get_num_cores",
        "jax.dtypes.bit_width",
        "jax.dtypes.itemsize_bits",
        "sys.getsizeof",
    }
)
BOOL_FUNCTIONS = frozenset(
    {
        "isinstance",
        "issubclass",
        "hasattr",
        "callable",
        "bool",
        "any",
        "all",
        "jnp.issubdtype",
        "np.issubdtype",
        "math.isclose",
        "math.isfinite",
        "math.isinf",
        "math.isnan",
        "jnp.isscalar",
        "np.isscalar",
        "jax.dtypes.issubdtype",
        "jnp.iscomplexobj",
        "jnp.isdtype",
    }
)
FLOAT_FUNCTIONS = frozenset(
    {
        "float",
        "math.sqrt",
        "math.log",
        "math.log2",
        "math.log10",
        "math.exp",
        "math.pow",
        "math.sin",
        "math.cos",
        "math.fabs",
        "time.time",
        "time.perf_counter",
    }
)
# jnp, lax and jax functions whose results are no arrays; nothing is said of them.
NO_ARRAY = frozenset(
    {
        "np.ndenumerate",
        "np.ndindex",
        "np.random.randint",
        "jnp.dtype",
        "jnp.result_type",
        "jnp.promote_types",
        "jnp.finfo",
        "jnp.iinfo",
        "jnp.can_cast",
        "jnp.array_repr",
        "jnp.array_str",
        "jnp.index_exp",
        "jnp.s_",
        "jnp.broadcast_shapes",
        "jnp.ufunc",
        "jnp.frompyfunc",
        "jnp.set_printoptions",
        "jnp.get_printoptions",
        "jnp.einsum_path",
        "np.dtype",
        "np.result_type",
        "np.promote_types",
        "np.finfo",
        "np.iinfo",
        "np.broadcast_shapes",
        "np.testing",
        "np.random.default_rng",
        "np.random.RandomState",
        "np.errstate",
        "np.set_printoptions",
        "np.ndarray",
        "np.load",
        "np.lib",
        "np.core",
        "lax.broadcast_shapes",
        "lax.GatherDimensionNumbers",
        "lax.ScatterDimensionNumbers",
        "lax.ConvDimensionNumbers",
        "lax.conv_dimension_numbers",
        "lax.dtype",
        "lax.Precision",
        "lax.DotAlgorithm",
        "lax.DotAlgorithmPreset",
        "lax.GatherScatterMode",
        "lax.RandomAlgorithm",
        "lax.RoundingMethod",
        "lax.AccuracyMode",
        "lax.Tolerance",
        "lax.RaggedDotDimensionNumbers",
    }
)
# Element-wise functions of one array: the shape stays; elements change in no known way.
ELEMENTWISE = frozenset(
    {
        "abs",
        "absolute",
        "exp",
        "log",
        "sin",
        "cos",
        "tanh",
        "square",
        "negative",
        "sign",
        "isnan",
        "isfinite",
        "isinf",
        "logical_not",
        "bitwise_not",
        "invert",
        "cumsum",
        "cumprod",
        "cummax",
        "cummin",
        "nan_to_num",
        "sqrt",
        "rsqrt",
        "reciprocal",
        "zeros_like",
        "ones_like",
        "empty_like",
        "full_like",
        "stop_gradient",
        "sigmoid",
        "argsort",
        "exp2",
        "expm1",
        "log1p",
        "log2",
        "round",
        "rint",
        "fix",
        "trunc",
        "population_count",
    }
)
BOOLEAN_ELEMENTWISE = frozenset(
    {
        "isnan",
        "isfinite",
        "isinf",
        "logical_not",
        "logical_and",
        "logical_or",
        "logical_xor",
        "equal",
        "not_equal",
        "less",
        "less_equal",
        "greater",
        "greater_equal",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "isin",
        "isclose",
    }
)
# Same elements, maybe in another order or fewer of them: limits of the elements stay.
PICKS = frozenset(
    {
        "sort",
        "flip",
        "roll",
        "take",
        "take_along_axis",
        "ravel",
        "reshape",
        "transpose",
        "squeeze",
        "expand_dims",
        "broadcast_to",
        "asarray",
        "array",
        "copy",
        "max",
        "min",
        "amax",
        "amin",
        "dynamic_slice",
        "dynamic_slice_in_dim",
        "dynamic_index_in_dim",
        "rev",
        "tile",
        "moveaxis",
        "swapaxes",
        "device_put",
        "stop_gradient",
        "optimization_barrier",
        "atleast_1d",
        "item",
        "flatten",
        "index_in_dim",
        "slice_in_dim",
        "pmax",
        "pmin",
        "all_gather",
    }
)
SAME_SHAPE = frozenset(
    {
        "sort",
        "flip",
        "roll",
        "asarray",
        "array",
        "copy",
        "device_put",
        "stop_gradient",
        "optimization_barrier",
        "rev",
    }
)
BINARY: dict[str, str] = {
    "minimum": "min",
    "maximum": "max",
    "min": "min",
    "max": "max",
    "add": "add",
    "subtract": "sub",
    "sub": "sub",
    "multiply": "mul",
    "mul": "mul",
    "floor_divide": "floordiv",
    "div": "truncdiv",
    "mod": "mod",
    "remainder": "mod",
}
# The end of a chain that depends on no data: arrays made from Python ints.
BY_ACCIDENT = "even where its arguments are Python ints"
# Attributes that are Python ints on whatever has them.
INT_ATTRIBUTES = frozenset(
    {
        "size",
        "ndim",
        "itemsize",
        "nbytes",
        "num_cores",
        "core_count",
        "num_devices",
        "num_subcores",
        "num_lanes",
        "process_count",
        "bits",
    }
)
# Methods and attributes of arrays that give arrays; every other attribute of a traced value whose
# class is out of sight is unknown.
ARRAY_METHODS = frozenset(
    {
        "all",
        "any",
        "argmax",
        "argmin",
        "argpartition",
        "argsort",
        "astype",
        "at",
        "choose",
        "clip",
        "compress",
        "conj",
        "conjugate",
        "copy",
        "cumprod",
        "cumsum",
        "diagonal",
        "dot",
        "flatten",
        "imag",
        "item",
        "max",
        "mean",
        "min",
        "nonzero",
        "prod",
        "ptp",
        "ravel",
        "real",
        "repeat",
        "reshape",
        "round",
        "searchsorted",
        "sort",
        "squeeze",
        "std",
        "sum",
        "swapaxes",
        "take",
        "trace",
        "transpose",
        "var",
        "view",
        "T",
        "mT",
        "set",
        "add",
        "multiply",
        "get",
        "apply",
        "power",
        "flat",
        "tolist",
        "block_until_ready",
        "copy_to_host_async",
        "addressable_data",
    }
)
REDUCTIONS = frozenset(
    {
        "sum",
        "prod",
        "max",
        "min",
        "mean",
        "any",
        "all",
        "count_nonzero",
        "argmax",
        "argmin",
        "amax",
        "amin",
        "nansum",
        "nanmax",
        "nanmin",
        "dot",
        "vdot",
        "median",
        "std",
        "var",
        "psum",
        "pmax",
        "pmin",
        "reduce",
    }
)
ARRAY_ANNOTATIONS = frozenset(
    {
        "jax.Array",
        "jax.jax.Array",
        "jnp.ndarray",
        "jax.numpy.ndarray",
        "jax.typing.Array",
        "jax.core.Tracer",
        "jax.core.Array",
        "jax.interpreters.xla.DeviceArray",
        "chex.Array",
        "chex.ArrayDevice",
        "jaxtyping.Array",
        "flax.typing.Array",
    }
)
INT_ANNOTATIONS = frozenset(
    {
        "int",
        "pydantic.PositiveInt",
        "pydantic.NonNegativeInt",
        "pydantic.NegativeInt",
        "pydantic.NonPositiveInt",
        "pydantic.StrictInt",
    }
)
JAXTYPING = frozenset(
    {
        "Float",
        "Int",
        "Bool",
        "Shaped",
        "Inexact",
        "Num",
        "Float32",
        "BFloat16",
        "Integer",
        "Int32",
        "UInt32",
        "Key",
        "Float16",
        "UInt",
        "Complex",
        "Int8",
        "UInt8",
    }
)
NUMPY_ANNOTATIONS = frozenset({"np.ndarray", "np.int32", "np.int64", "np.integer"})
# Decorators and functions out of sight that call what they are given as it is called: with the same
# arguments, traced or not. By the start of the canonical name, or by its last part.
PLAIN_WRAPPER_PREFIXES = (
    "functools.",
    "typing.",
    "typing_extensions.",
    "abc.",
    "contextlib.",
    "dataclasses.",
    "pytest.",
    "unittest.",
    "absl.",
    "parameterized.",
    "hypothesis.",
    "beartype",
    "typeguard",
    "jaxtyping.",
    "warnings.",
    "timeit.",
    "jtu.",
    "jax.test_util.",
    "jax.config.",
    "jax.profiler.",
    "jax.named_scope",
    "jax.transfer_guard",
    "jax.tree_util.",
    "jax.tree.",
    "jax.numpy_dtype_promotion",
    "jax.default_matmul_precision",
    "jax.debug.",
    "jax.util.",
    "pl.",
    "pltpu.",
    "plgpu.",
    "plt.",
    "plsc.",
)
VARIADIC = frozenset({"min", "max", "math.gcd", "math.lcm"})
"""Functions of numbers that take any number of them."""

CHANGING_FUNCTIONS = frozenset(
    {
        "vars",
        "operator.setitem",
        "operator.delitem",
        "operator.iadd",
        "operator.iconcat",
        "operator.imul",
        "operator.ior",
        "random.shuffle",
        "heapq.heapify",
        "heapq.heappush",
        "heapq.heapreplace",
        "bisect.insort",
        "bisect.insort_left",
        "bisect.insort_right",
        "object.__delattr__",
        "dict.update",
        "dict.__setitem__",
        "dict.__delitem__",
        "dict.__ior__",
        *(
            f"list.{name}"
            for name in (
                "append",
                "extend",
                "insert",
                "reverse",
                "sort",
                "__setitem__",
                "__delitem__",
                "__iadd__",
                "__imul__",
            )
        ),
    }
)
"""Functions that change their first argument in place."""

PLAIN_WRAPPERS = frozenset(
    {
        "property",
        "staticmethod",
        "classmethod",
        "print",
        "isinstance",
        "callable",
        "id",
        "repr",
        "hash",
        "getattr",
        "hasattr",
        "type",
        "len",
        "sorted",
        "filter",
        "override",
        "final",
        "deprecated",
        "setter",
        "getter",
        "deleter",
        "cached_property",
        "register",
        "skip",
        "skipIf",
        "skipUnless",
        "parameters",
        "named_parameters",
        "product",
        "sample_product",
        "parametrize",
        "fixture",
        "given",
        "jaxtyped",
        "typechecked",
        "typed",
        "signature",
        "getsource",
        "named_scope",
        "dataclass",
        "rename_fn",
        "append",
    }
)


def wraps_plainly(name: str) -> bool:
    """Whether what is out of sight leaves the arguments of a function as they are."""
    if name.startswith("functools.singledispatch"):
        return False
    return name.startswith(PLAIN_WRAPPER_PREFIXES) or name.rsplit(".", 1)[-1] in PLAIN_WRAPPERS
