"""What an expression evaluates to, as far as the source tells.

The interpreter (`interpreter.py`) computes these; bounds and kernel facts read them. They hold
syntax nodes and never leave `analysis/`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from pallas_static_grid.analysis.symbolic import Sym
from pallas_static_grid.model import Api, Step

if TYPE_CHECKING:
    from pallas_static_grid.analysis.modules import ModuleContext
    from pallas_static_grid.analysis.scopes import Scope


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """The chain of reasons of a value, newest step first."""

    step: Step
    cause: Trace | None = None

    @property
    def root(self) -> str:
        """The reason that the chain ends at."""
        link = self
        while link.cause is not None:
            link = link.cause
        return link.step.reason

    def steps(self) -> tuple[Step, ...]:
        """The steps from the newest back to the cause."""
        out: list[Step] = []
        link: Trace | None = self
        while link is not None:
            out.append(link.step)
            link = link.cause
        return tuple(out)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Value:
    """Base of all values; `trace` says how the value came about."""

    trace: Trace | None = None
    cells: frozenset[int] = frozenset()
    """For what changes in place: the objects that it may be."""


@dataclass(frozen=True, slots=True, eq=False)
class Unknown(Value):
    """Nothing is known; `need` says in words what would have to be known."""

    need: str
    ident: str = ""
    """Equal idents, where given, mean the same run-time value."""


@dataclass(frozen=True, slots=True, eq=False)
class Leaf(Unknown):
    """A field of a traced pytree whose class is out of sight: an array, or a static field."""

    ident: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Int(Value):
    """A Python int (or bool): static as a grid entry."""

    expr: Sym
    is_bool: bool = False
    part: str = ""
    """Set for a static argument of unknown kind, or a part of one: its text. As a number it is a
    Python int, but it may be a tuple, a config object or None as well."""


@dataclass(frozen=True, slots=True, eq=False)
class Float(Value):
    """A Python or NumPy float."""

    numpy: bool = False
    ratio: tuple[Sym, Sym] | None = None
    """The float is exactly `a / b` of two integers (for `ceil` and `floor` of it)."""


@dataclass(frozen=True, slots=True, eq=False)
class Array(Value):
    """A JAX array or tracer, or a NumPy array or scalar: never static as a grid entry.

    `shape`: one value per axis if the rank is known; () is a scalar. `ident` names the run-time
    array: equal idents mean the same array. `elem` describes each element (a scalar's value).
    """

    ident: str
    shape: tuple[Value, ...] | None = None
    dtype: str | None = None
    elem: Sym | None = None
    numpy: bool = False
    ratio: tuple[Sym, Sym] | None = None
    """Each element is exactly `a / b` of two integers."""
    dims_of: str | None = None
    """The ident whose lengths this array shares, where they are not its own."""
    text: str = ""
    """How the source names it, for messages."""
    tree: bool = False
    """It may be any pytree of traced arrays."""
    entries: tuple[Sym, ...] | None = None
    """The elements of an array of rank one that was made of scalars in sight."""

    @property
    def dims_ident(self) -> str:
        """The ident in the ("dim", ident, axis) keys of this array's lengths."""
        return self.dims_of or self.ident


@dataclass(frozen=True, slots=True, eq=False)
class Const(Value):
    """None, a string, bytes, Ellipsis or a complex literal."""

    value: object


@dataclass(frozen=True, slots=True, eq=False)
class Tuple(Value):
    """A tuple or list whose length is known."""

    items: tuple[Value, ...]
    kind: Literal["tuple", "list"] = "tuple"
    nodes: tuple[ast.expr | None, ...] = ()
    """The element expressions where the display is in sight, else empty."""


@dataclass(frozen=True, slots=True, eq=False)
class Sequence(Value):
    """A tuple or list of unknown length; every element is like `elem`.

    For an array's shape, `array` is that array (so `.shape[i]` has an identity).
    """

    elem: Value
    array: Array | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Dict(Value):
    """A dict display or `dict(...)`, by constant key; `complete` if no key is missing."""

    items: tuple[tuple[object, Value], ...]
    complete: bool = True
    node: ast.expr | None = None
    rest: Value | None = None
    """What the values under other keys are like, where that is known."""
    namespace: bool = False
    """Read by attribute (`SimpleNamespace`) instead of by key."""


@dataclass(frozen=True, slots=True, eq=False)
class External(Value):
    """Something from an imported module out of sight, by canonical qualified name."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class ModuleValue(Value):
    """A module in sight."""

    context: ModuleContext


@dataclass(frozen=True, slots=True, eq=False)
class Lazy(Value):
    """Something that an imported module imports in turn: looked at only if it is asked for."""

    resolve: Callable[[], Value]


def settled(value: Value) -> Value:
    """A value, looked up now if it was put off."""
    while isinstance(value, Lazy):
        value = value.resolve()
    return value


@dataclass(frozen=True, slots=True, eq=False)
class Jit:
    """How a function is compiled: which parameters stay Python values."""

    static_names: frozenset[str] = frozenset()
    known: bool = True
    """False where the static arguments are given by something out of sight."""
    line: int = 0
    module: ModuleContext | None = None
    """Where it is jitted: `line` is in this file."""


@dataclass(frozen=True, slots=True, eq=False)
class Function(Value):
    """A `def` or lambda in sight, with the scope it closes over."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    module: ModuleContext
    scope: Scope
    qualname: str
    jit: Jit | None = None
    custom_rule: bool = False
    """Wrapped in custom_vjp or custom_jvp."""
    self_value: Value | None = None
    """The instance that a method is bound to."""
    moment: int = -1
    """When it was defined: names that it closes over have the values they have from then on."""

    @property
    def name(self) -> str:
        """The function's own name (`<lambda>` for a lambda)."""
        return "<lambda>" if isinstance(self.node, ast.Lambda) else self.node.name


@dataclass(frozen=True, slots=True, eq=False)
class Partial(Value):
    """`functools.partial(func, *args, **kwargs)`."""

    func: Value
    args: tuple[Value, ...]
    kwargs: tuple[tuple[str, Value], ...]
    node: ast.Call | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Class(Value):
    """A class in sight."""

    node: ast.ClassDef
    module: ModuleContext
    scope: Scope
    qualname: str


@dataclass(frozen=True, slots=True, eq=False)
class Instance(Value):
    """An instance of a class in sight; `fields` are what the construction in sight tells."""

    cls: Class
    fields: tuple[tuple[str, Value], ...] = ()
    ident: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Arg:
    """An argument as it was written and what it evaluated to.

    `node` is the expression at the call, or None for what came by `**kwargs`, a partial or a
    default; `holder` is the call node whose argument it is.
    """

    value: Value
    node: ast.expr | None
    holder: ast.Call | None = None
    keyword: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class BlockSpec(Value):
    """`pl.BlockSpec(block_shape, index_map, memory_space=...)` as built in sight.

    `kind` is the class ("BlockSpec", or another spec class that is not plain).
    """

    node: ast.Call
    module: ModuleContext
    kind: str
    block_shape: Arg | None
    index_map: Arg | None
    memory_space: Arg | None
    other: tuple[tuple[str, Arg], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class GridSpec(Value):
    """`pl.GridSpec` / `pltpu.PrefetchScalarGridSpec` as built in sight; args by canonical name."""

    node: ast.Call
    module: ModuleContext
    kind: str
    args: tuple[tuple[str, Arg], ...]
    hidden: bool = False
    """Arguments may come by `*` or `**` from out of sight."""

    def arg(self, name: str) -> Arg | None:
        """The argument `name`, if it was given."""
        return dict(self.args).get(name)


@dataclass(frozen=True, slots=True, eq=False)
class Launcher(Value):
    """A Pallas launch function with its arguments (what `pl.pallas_call(...)` returns)."""

    site: LaunchSite


@dataclass(frozen=True, slots=True, eq=False)
class Union(Value):
    """One of several unlike values."""

    options: tuple[Value, ...]


@dataclass(eq=False, slots=True)
class OperandCall:
    """One call of a launch with its operands: `pl.pallas_call(...)(x, *rest)`.

    `args` are in order; a starred argument whose length is known is expanded, with
    `starred` telling which (index into `node.args`) each came from.
    """

    node: ast.Call
    module: ModuleContext
    args: tuple[Arg, ...]
    complete: bool
    """False where a starred argument of unknown length hides operands."""
    scope: Scope
    function: str


@dataclass(eq=False, slots=True)
class LaunchSite:
    """A launch while the module is being interpreted; one per launching call in the source."""

    node: ast.Call
    module: ModuleContext
    api: Api
    function: str
    function_node: ast.AST | None
    scope: Scope
    args: dict[str, Arg] = field(default_factory=dict)
    """By canonical name: kernel, grid, grid_spec, in_specs, out_specs, out_shape,
    input_output_aliases, scratch_shapes, compiler_params, interpret, name, cost_estimate, ...
    Arguments of a grid spec in sight are found through `spec_arg`."""
    calls: list[OperandCall] = field(default_factory=list)
    differentiated: list[Step] = field(default_factory=list)
    """Where the launch is differentiated through, with no custom rule in between."""
    wrapper: Function | None = None
    """For api "wrapper": the function that hands the grid on."""
    hidden: bool = False
    """Arguments may come by `*` or `**` from out of sight."""

    def grid_specs(self) -> tuple[GridSpec, ...]:
        """The grid spec values that the launch may use."""
        arg = self.args.get("grid_spec")
        if arg is None:
            return ()
        return tuple(v for v in options(arg.value) if isinstance(v, GridSpec))

    def spec_arg(self, name: str) -> Arg | None:
        """Argument `name`, from the launch itself or from its one grid spec."""
        if name in self.args:
            return self.args[name]
        specs = self.grid_specs()
        return specs[0].arg(name) if len(specs) == 1 else None


def is_part(value: Value) -> bool:
    """Whether a value is a static argument of unknown kind, or a part of one."""
    return isinstance(value, Int) and bool(value.part)


def is_none(value: Value) -> bool:
    """Whether a value is None itself."""
    return isinstance(value, Const) and value.value is None


def options(value: Value) -> Iterator[Value]:
    """The alternatives of a union, or the value itself."""
    value = settled(value)
    if isinstance(value, Union):
        for option in value.options:
            yield from options(option)
    else:
        yield value


@dataclass(frozen=True, slots=True, eq=False)
class Struct(Value):
    """`jax.ShapeDtypeStruct(shape, dtype)`: an array's shape and type without the array."""

    shape: Value
    dtype: Value | None
    node: ast.Call


@dataclass(frozen=True, slots=True, eq=False)
class Transformed(Value):
    """A callable under a JAX transformation whose arguments are traced (`vmap`, `grad`, ...).

    `kind` is the transformation's short name; `jit` is set for kind "jit".
    """

    kind: str
    func: Value
    jit: Jit | None = None
    step: Step | None = None
    kwargs: tuple[tuple[str, Value], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Annotation(Value):
    """A generic type (`tuple[int, ...]`, `Callable[[int], int]`) as a value, for aliases."""

    node: ast.expr
    module: ModuleContext


@dataclass(frozen=True, slots=True, eq=False)
class Returning(Value):
    """A callable out of sight whose annotation says what it returns."""

    result: Value
