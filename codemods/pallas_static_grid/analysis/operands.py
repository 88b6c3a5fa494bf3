"""What the kernel and the index maps of a launch receive: refs with their lengths."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from pallas_static_grid.analysis import values
from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.symbolic import Atom, Num, Sym
from pallas_static_grid.analysis.values import (
    Arg,
    Array,
    BlockSpec,
    Const,
    External,
    Instance,
    Int,
    LaunchSite,
    OperandCall,
    Struct,
    Value,
    options,
)
from pallas_static_grid.analysis.walk_names import lengths
from pallas_static_grid.analysis.walk_values import (
    Constant,
    Items,
    Record,
    Ref,
    Scalar,
    Thing,
)

SQUEEZED = "squeezed"
BLOCKED = "blocked"
ELEMENT = "element"
ODD = "odd"


@dataclass(frozen=True, slots=True)
class BlockDim:
    """One dimension of a block: how its index counts, and its size."""

    kind: str
    size: Sym | None


@dataclass(frozen=True, slots=True, eq=False)
class Blocked:
    """An array that a launch reads or writes through a spec."""

    label: str
    value: Value
    """An Array or a Struct."""
    spec: BlockSpec | None
    role: str
    certain: bool
    """False where the spec or the array is only one of several possible ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Received:
    """What one call of a launch hands to its kernel."""

    prefetched: tuple[Thing, ...]
    inputs: tuple[Thing, ...]
    outputs: tuple[Thing, ...] | None
    blocked: tuple[Blocked, ...]
    scratch: tuple[Thing, ...]
    complete: bool
    """Whether the kernel's parameters can be matched with the operands."""


def received(site: LaunchSite, call: OperandCall | None) -> Received:
    """What the kernel gets in one call of the launch (None: no call in sight)."""
    prefetch = prefetch_count(site)
    args = call.args if call is not None else ()
    complete = call is not None and call.complete and prefetch is not None
    count = prefetch or 0
    module = call.module if call is not None else site.module
    tables = tuple(
        thing_of(a.value, label_of(a, module, f"operand {k}"), "prefetch")
        for k, a in enumerate(args[:count])
    )
    rest = args[count:]
    specs = spec_list(site, "in_specs", len(rest))
    blocked: list[Blocked] = []
    inputs = []
    for k, arg in enumerate(rest):
        label = label_of(arg, module, f"operand {count + k}")
        spec = specs[k] if specs is not None else None
        pairs = list(paired(arg.value, spec, label, "in")) if specs is not None else []
        blocked.extend(pairs)
        inputs.append(input_thing(arg.value, spec, label, "in", known=specs is not None))
    outs = outputs_of(site)
    for out in outs or ():
        blocked.append(out)
    things = None if outs is None else tuple(ref_of(o) for o in outs)
    return Received(tables, tuple(inputs), things, tuple(blocked), scratch_of(site), complete)


def scratch_of(site: LaunchSite) -> tuple[Thing, ...]:
    """The scratch buffers, in order; nothing where they are not given as a list in sight."""
    arg = site.spec_arg("scratch_shapes")
    if arg is None or not isinstance(arg.value, values.Tuple):
        return ()
    return tuple(
        Ref(f"scratch {k}", "scratch", array_lengths(v), None, f"scratch {k}")
        for k, v in enumerate(arg.value.items)
    )


def prefetch_count(site: LaunchSite) -> int | None:
    """`num_scalar_prefetch`; None where it is not a literal."""
    arg = site.spec_arg("num_scalar_prefetch")
    if arg is None:
        return 0
    value = arg.value
    return value.expr.value if isinstance(value, Int) and isinstance(value.expr, Num) else None


def label_of(arg: Arg, module: ModuleContext, otherwise: str) -> str:
    """How the launch names an operand, if it names it simply."""
    node = arg.node
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        text = module.segment(node)
        if len(text) <= 40 and "\n" not in text:
            return text
    if isinstance(arg.value, Array) and arg.value.text.isidentifier():
        return arg.value.text
    return otherwise


def spec_list(site: LaunchSite, name: str, count: int) -> tuple[Value | None, ...] | None:
    """A spec (or None) for each of `count` arrays; None where they are not in sight."""
    arg = site.spec_arg(name)
    if arg is None or is_none(arg.value):
        if len(site.grid_specs()) > 1:
            return None
        return (None,) * count
    found = list(options(arg.value))
    if len(found) != 1:
        return None
    value = found[0]
    if isinstance(value, values.Tuple):
        return value.items if len(value.items) == count else None
    if isinstance(value, BlockSpec):
        return (value,) * count if count == 1 else None
    return None


def is_none(value: Value | None) -> bool:
    """Whether a value is None."""
    return isinstance(value, Const) and value.value is None


def thing_of(value: Value, name: str, role: str) -> Thing:
    """An operand as the kernel sees it, without a block spec: the whole array, or a tree."""
    match value:
        case Array():
            return Ref(name, role, lengths(value), value, name)
        case Struct():
            return Ref(name, role, struct_lengths(value), value, name)
        case Int(expr=expr):
            # A Python int is passed as an array of rank 0.
            return Ref(name, role, (), value, name) if role != "plain" else Scalar(expr)
        case Const(value=None):
            return Constant(None)
        case values.Tuple(items=items):
            return Items(tuple(thing_of(v, f"{name}[{k}]", role) for k, v in enumerate(items)))
        case Instance(fields=fields):
            things = {k: thing_of(v, f"{name}.{k}", role) for k, v in fields}
            return Record(things, tuple(things.values()))
        case values.Dict(items=items) if value.complete:
            return Record({str(k): thing_of(v, f'{name}["{k}"]', role) for k, v in items})
        case values.Union():
            one = only_array(value)
            if one is not None:
                return Ref(name, role, lengths(one), one, name, optional=True)
            return Ref(name, role, None, None, name, optional=True)
        case values.Unknown(ident=ident) if ident:
            array = sightless(ident, name)
            return Ref(name, role, None, array, name, optional=True)
        case _:
            return Ref(name, role, None, None, name, optional=True)


def only_array(value: values.Union) -> Array | None:
    """The array that a value is unless it is None; NumPy or JAX makes no difference."""
    some = [o for o in options(value) if not is_none(o)]
    arrays = [o for o in some if isinstance(o, Array)]
    if len(arrays) != len(some) or len({a.ident for a in arrays}) != 1:
        return None
    return arrays[0]


def sightless(ident: str, name: str) -> Array:
    """An operand of which only its identity is known: it has lengths, whatever they are."""
    return Array(ident, text=name)


def input_thing(value: Value, spec: Value | None, label: str, role: str, *, known: bool) -> Thing:
    """An operand as the kernel sees it through its spec."""
    found = list(options(value))
    if len(found) == 1 and isinstance(found[0], values.Tuple | Instance | values.Dict):
        if spec is None or is_none(spec):
            whole = thing_of(found[0], label, role)
            return whole if known else _unshaped(whole)
        if isinstance(found[0], values.Tuple):
            items = found[0].items
            specs = spec.items if isinstance(spec, values.Tuple) else (spec,) * len(items)
            if len(specs) == len(items):
                return Items(
                    tuple(
                        input_thing(v, s, f"{label}[{k}]", role, known=known)
                        for k, (v, s) in enumerate(zip(items, specs, strict=True))
                    )
                )
        return _unshaped(thing_of(value, label, role))
    if len(found) != 1:
        return Thing()
    if not known or (spec is not None and not isinstance(spec, BlockSpec | Const)):
        return _unshaped(thing_of(value, label, role))
    if is_none(value):
        return Constant(None)
    return ref_of(Blocked(label, value, spec if isinstance(spec, BlockSpec) else None, role, True))


def _unshaped(thing: Thing) -> Thing:
    match thing:
        case Ref():
            return replace(thing, shape=None, source=None)
        case Items(items=items):
            return Items(tuple(_unshaped(i) for i in items))
        case Record(fields=fields):
            things = {k: _unshaped(t) for k, t in fields.items()}
            return Record(things, tuple(things.values()) if thing.ordered else ())
        case _:
            return thing


def paired(value: Value, spec: Value | None, label: str, role: str) -> Iterator[Blocked]:
    """Each array of an operand with its spec."""
    found = list(options(value))
    specs = [None] if spec is None else list(options(spec))
    certain = len(found) == 1 and len(specs) == 1
    for one in specs:
        if not isinstance(one, BlockSpec | values.Tuple):
            continue
        for option in found:
            if isinstance(option, values.Tuple) and isinstance(one, values.Tuple):
                for k, (v, s) in enumerate(zip(option.items, one.items, strict=False)):
                    yield from paired(v, s, f"{label}[{k}]", role)
            elif isinstance(option, values.Tuple) and isinstance(one, BlockSpec):
                for k, v in enumerate(option.items):
                    yield from paired(v, one, f"{label}[{k}]", role)
            elif isinstance(one, BlockSpec) and not is_none(option):
                yield Blocked(label, option, one, role, certain)


def outputs_of(site: LaunchSite) -> tuple[Blocked, ...] | None:
    """The outputs of a launch with their specs; None where they are not in sight."""
    arg = site.spec_arg("out_shape") or site.spec_arg("out_type")
    if arg is None:
        return None
    found = list(options(arg.value))
    if len(found) != 1:
        return None
    value = found[0]
    items = value.items if isinstance(value, values.Tuple) else (value,)
    specs = spec_list(site, "out_specs", len(items))
    if specs is None:
        given = site.spec_arg("out_specs")
        only = list(options(given.value)) if given is not None else []
        if len(only) == 1 and isinstance(only[0], BlockSpec):
            specs = (only[0],) * len(items)
    many = len(items) > 1
    out = []
    for k, item in enumerate(items):
        label = f"output {k}" if many else "the output"
        spec = specs[k] if specs is not None else None
        one = list(options(spec)) if spec is not None else []
        plain = one[0] if len(one) == 1 and isinstance(one[0], BlockSpec) else None
        certain = specs is not None and (plain is not None or spec is None or is_none(spec))
        out.append(Blocked(label, item, plain, "out", certain))
    return tuple(out)


def ref_of(part: Blocked) -> Ref:
    """The ref that the kernel gets for an array and its spec."""
    if not part.certain:
        return Ref(part.label, part.role, None, None, part.label)
    spec = part.spec
    if spec is None or spec.block_shape is None or is_none(spec.block_shape.value):
        known = thing_of(part.value, part.label, part.role)
        return known if isinstance(known, Ref) else Ref(part.label, part.role, label=part.label)
    dims = block_dims(spec)
    if dims is None:
        return Ref(part.label, part.role, None, None, part.label, whole=False)
    sizes = tuple(d.size for d in dims if d.kind != SQUEEZED)
    return Ref(part.label, part.role, sizes, None, part.label, whole=False)


def array_lengths(value: Value) -> tuple[Sym | None, ...] | None:
    """The lengths of an array or of a shape struct."""
    match value:
        case Array():
            return lengths(value)
        case Struct():
            return struct_lengths(value)
        case _:
            return None


def struct_lengths(value: Struct) -> tuple[Sym | None, ...] | None:
    """The lengths that a `jax.ShapeDtypeStruct` gives."""
    match value.shape:
        case values.Tuple(items=items):
            return tuple(v.expr if isinstance(v, Int) else None for v in items)
        case values.Sequence(array=Array() as array):
            return lengths(array)
        case _:
            return None


def length(value: Value, axis: int, label: str) -> Sym | None:
    """The length of one axis, as an atom of the array where only its identity is known."""
    known = array_lengths(value)
    if known is not None:
        return known[axis] if axis < len(known) else None
    array: Array | None = None
    if isinstance(value, Array):
        array = value
    elif isinstance(value, values.Unknown) and value.ident:
        array = sightless(value.ident, label)
    elif isinstance(value, Struct) and isinstance(value.shape, values.Sequence):
        array = value.shape.array
    if array is None:
        return None
    return Atom(("dim", array.dims_ident, axis), f"{label}.shape[{axis}]", lo=Num(0))


def block_dims(spec: BlockSpec) -> tuple[BlockDim, ...] | None:
    """The dimensions of a spec's blocks; None where the block shape is not in sight."""
    arg = spec.block_shape
    if arg is None:
        return None
    found = list(options(arg.value))
    if len(found) != 1:
        return None
    value = found[0]
    if isinstance(value, values.Sequence) and value.array is not None:
        return None
    if not isinstance(value, values.Tuple):
        return None
    nodes = value.nodes if len(value.nodes) == len(value.items) else (None,) * len(value.items)
    return tuple(_block_dim(v, n) for v, n in zip(value.items, nodes, strict=True))


def _block_dim(value: Value, node: ast.expr | None) -> BlockDim:
    match value:
        case Int(expr=expr):
            return BlockDim(BLOCKED, expr)
        case Const(value=None):
            return BlockDim(SQUEEZED, Num(1))
        case External(name=name) if name.rpartition(".")[2] in ("squeezed", "Squeezed"):
            return BlockDim(SQUEEZED, Num(1))
        case _:
            pass
    called = node.func if isinstance(node, ast.Call) else None
    name = getattr(called, "attr", getattr(called, "id", ""))
    if name == "Squeezed":
        return BlockDim(SQUEEZED, Num(1))
    if isinstance(node, ast.Call) and name in ("Blocked", "Element"):
        plain = len(node.args) == 1 and not node.keywords
        size = node.args[0] if node.args else None
        number = size.value if isinstance(size, ast.Constant) else None
        if plain and isinstance(number, int):
            return BlockDim(BLOCKED if name == "Blocked" else ELEMENT, Num(number))
        if plain and name == "Element":
            return BlockDim(ELEMENT, None)
    return BlockDim(ODD, None)
