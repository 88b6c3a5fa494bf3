"""Functions that kernels and index maps call, by canonical name: what they give and touch."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from pallas_static_grid.analysis.symbolic import Num, Op, Sym, op
from pallas_static_grid.analysis.walk_names import known_truth, partial
from pallas_static_grid.analysis.walk_values import (
    Constant,
    Env,
    Func,
    Items,
    Known,
    Loop,
    Method,
    Record,
    Ref,
    Scalar,
    Thing,
    Transfer,
    View,
    When,
    Window,
    step_count,
    step_index,
)

if TYPE_CHECKING:
    from pallas_static_grid.analysis.kernel_walk import Walk

_BINARY = {
    "pl.cdiv": "cdiv",
    "jnp.minimum": "min",
    "jnp.maximum": "max",
    "jnp.floor_divide": "floordiv",
    "jnp.mod": "mod",
    "jnp.remainder": "mod",
    "jnp.add": "add",
    "jnp.subtract": "sub",
    "jnp.multiply": "mul",
    "lax.div": "truncdiv",
    "lax.min": "min",
    "lax.max": "max",
    "lax.add": "add",
    "lax.sub": "sub",
    "lax.mul": "mul",
    "min": "min",
    "max": "max",
}
_SAME = frozenset(
    {
        "pl.multiple_of",
        "pltpu.multiple_of",
        "jnp.int32",
        "jnp.uint32",
        "jnp.int64",
        "jnp.asarray",
        "jnp.array",
        "int",
        "np.int32",
        "lax.convert_element_type",
        "lax.stop_gradient",
        "pl.debug_check",
        "jax.named_call",
    }
)
_SELECTS = frozenset({"jnp.where", "lax.select", "lax.select_n"})
_LOADS = frozenset({"pl.load", "plgpu.load", "plt.load", "pltpu.load"})
_STORES = frozenset({"pl.store", "plgpu.store", "plt.store", "pltpu.store", "pl.swap"})
_DELAYED = frozenset(
    {"pltpu.make_async_copy", "pltpu.make_async_remote_copy", "pl.make_async_copy"}
)
_IMMEDIATE = frozenset(
    {
        "pltpu.async_copy",
        "pltpu.sync_copy",
        "pltpu.async_remote_copy",
        "plgpu.copy_gmem_to_smem",
        "plgpu.copy_smem_to_gmem",
    }
)


def lazily(name: str) -> bool:
    """Whether all but the first argument may be computed and thrown away."""
    return name in _SELECTS


def chosen(name: str, truth: bool | None) -> int | None:
    """Which argument of a `where` is taken."""
    if truth is None:
        return None
    return 1 if truth != (name == "lax.select_n") else 2


def known_call(
    walk: Walk,
    name: str,
    args: tuple[Thing, ...],
    kwargs: dict[str, Thing],
    node: ast.expr,
    env: Env,
) -> Thing:
    """The result of calling a function out of sight."""
    scalars = [a.sym for a in args if isinstance(a, Scalar)]
    all_scalar = len(scalars) == len(args) and not kwargs
    if name in _BINARY and all_scalar and len(args) >= 2:
        return Scalar(op(_BINARY[name], *scalars))
    if name in _SAME and args:
        return args[0] if isinstance(args[0], Scalar | Constant) else Thing()
    if name in ("pl.program_id", "pl.num_programs", "lax.axis_index"):
        return _grid_read(walk, name, args, kwargs)
    if name in ("lax.rem", "jnp.fmod") and all_scalar and len(args) == 2:
        return Scalar(Op("rem", tuple(scalars)))
    if name in ("jnp.clip", "lax.clamp"):
        return _clip(name, args, kwargs)
    if name in _SELECTS:
        return _select(name, args)
    if name in ("pl.ds", "pl.dslice", "slice", "lax.dynamic_slice"):
        return _window(name, args, kwargs)
    if name in _LOADS or name in _STORES or name in _DELAYED or name in _IMMEDIATE:
        return _memory(walk, name, args, kwargs, node, env)
    return _control(walk, name, args, kwargs, node, env)


def _grid_read(walk: Walk, name: str, args: tuple[Thing, ...], kwargs: dict[str, Thing]) -> Thing:
    given = args[0] if args else kwargs.get("axis", kwargs.get("axis_name", Thing()))
    axis: int | None = None
    if isinstance(given, Scalar) and isinstance(given.sym, Num):
        axis = given.sym.value
    elif isinstance(given, Constant) and given.value in walk.axis_names:
        axis = walk.axis_names.index(str(given.value))
    if axis is None or walk.piped:
        return walk.fresh("a grid index", Num(0))
    if axis < 0 and walk.axis_names:
        axis += len(walk.axis_names)
    return Scalar(step_count(axis) if name == "pl.num_programs" else step_index(axis))


def _clip(name: str, args: tuple[Thing, ...], kwargs: dict[str, Thing]) -> Thing:
    if name == "lax.clamp":
        if len(args) != 3:
            return Thing()
        args = (args[1], args[0], args[2])
    low = args[1] if len(args) > 1 else kwargs.get("min", kwargs.get("a_min", Constant(None)))
    high = args[2] if len(args) > 2 else kwargs.get("max", kwargs.get("a_max", Constant(None)))
    if not args or not isinstance(args[0], Scalar):
        return Thing()
    out = args[0].sym
    for kind, limit in (("max", low), ("min", high)):
        if isinstance(limit, Scalar):
            out = op(kind, out, limit.sym)
        elif not (isinstance(limit, Constant) and limit.value is None):
            return Thing()
    return Scalar(out)


def _select(name: str, args: tuple[Thing, ...]) -> Thing:
    if len(args) != 3:
        return Thing()
    truth = known_truth(args[0])
    one, other = (args[2], args[1]) if name == "lax.select_n" else (args[1], args[2])
    if truth is not None:
        return one if truth else other
    if isinstance(one, Scalar) and isinstance(other, Scalar):
        return Scalar(Op("select", (one.sym, other.sym)))
    return Thing()


def _window(name: str, args: tuple[Thing, ...], kwargs: dict[str, Thing]) -> Thing:
    if name == "lax.dynamic_slice":
        return Thing()
    start = args[0] if args else kwargs.get("start", Thing())
    size = args[1] if len(args) > 1 else kwargs.get("size")
    if name == "slice":
        if not isinstance(start, Scalar) or not isinstance(size, Scalar) or len(args) != 2:
            return Window(None, None)
        return Window(start.sym, op("sub", size.sym, start.sym))
    if len(args) > 2 or "stride" in kwargs:
        return Window(start.sym if isinstance(start, Scalar) else None, None)
    if size is None:
        return Window(Num(0), start.sym if isinstance(start, Scalar) else None)
    return Window(
        start.sym if isinstance(start, Scalar) else None,
        size.sym if isinstance(size, Scalar) else None,
    )


def _memory(
    walk: Walk,
    name: str,
    args: tuple[Thing, ...],
    kwargs: dict[str, Thing],
    node: ast.expr,
    env: Env,
) -> Thing:
    moved = [*args[:2], *(kwargs[k] for k in ("src_ref", "dst_ref", "src", "dst") if k in kwargs)]
    if name in _DELAYED:
        remote = "remote" in name
        return Transfer(tuple(moved[:1] if remote else moved))
    masked = "mask" in kwargs and not (
        isinstance(kwargs["mask"], Constant) and kwargs["mask"].value is None
    )
    if masked:
        return Thing()
    if name in _IMMEDIATE:
        for thing in moved[:1] if "remote" in name else moved:
            walk.use(thing, "copy", node, env.module)
        return Transfer(())
    kind = "read" if name in _LOADS else "write"
    if args and isinstance(args[0], Ref) and len(args) > 1 and kind == "read":
        index = args[1].items if isinstance(args[1], Items) else (args[1],)
        at = tuple(
            i.sym if isinstance(i, Scalar) else i if isinstance(i, Window) else None for i in index
        )
        walk.touch(args[0], at, kind, node, env.module)
    elif args:
        walk.use(args[0], kind, node, env.module)
    return Thing()


def _control(
    walk: Walk,
    name: str,
    args: tuple[Thing, ...],
    kwargs: dict[str, Thing],
    node: ast.expr,
    env: Env,
) -> Thing:
    match name:
        case "pl.when":
            return When(bool(args) and known_truth(args[0]) is True)
        case "pl.loop":
            low, high = _sym(args, 0), _sym(args, 1)
            return Loop(low, high) if "step" not in kwargs else Loop(None, None)
        case "lax.fori_loop":
            body = args[2] if len(args) > 2 else kwargs.get("body_fun", Thing())
            carry = args[3] if len(args) > 3 else kwargs.get("init_val", Thing())
            walk.loop_call(body, _sym(args, 0), _sym(args, 1), (carry,))
            return Thing()
        case "lax.while_loop" | "lax.scan" | "lax.map":
            always, walk.always = walk.always, False
            for func in args[:2]:
                if isinstance(func, Func):
                    blank = tuple(Thing() for _ in func.node.args.args)
                    walk.call(func, blank, {})
            walk.always = always
            return Thing()
        case "lax.cond" | "lax.switch":
            return _branches(walk, name, args)
        case "pl.run_scoped":
            if args and isinstance(args[0], Func):
                given = tuple(Thing() for _ in args[1:])
                named = {k: Thing() for k in kwargs if k != "collective_axes"}
                return walk.call(args[0], given, named)
            return Thing()
        case "functools.partial":
            return partial(args[0], args[1:], kwargs) if args else Thing()
        case "range":
            return _range(args)
        case "jax.named_scope" | "functools.wraps" | "jax.jit":
            return args[0] if args and isinstance(args[0], Func) else Known("identity")
        case "identity":
            return args[0] if args else Thing()
        case _:
            return _builtin(walk, name, args, node, env)


def _builtin(walk: Walk, name: str, args: tuple[Thing, ...], node: ast.expr, env: Env) -> Thing:
    match name, args:
        case ("len", (Items(items=items),)):
            return Scalar(Num(len(items)))
        case ("len", (Ref(shape=(first, *_)),)) if first is not None:
            return Scalar(first)
        case ("tuple" | "list", (Items(),)):
            return args[0]
        case ("reversed", (Items(items=items),)):
            return Items(items[::-1])
        case ("enumerate", (Items(items=items),)):
            return Items(tuple(Items((Scalar(Num(k)), t)) for k, t in enumerate(items)))
        case ("zip", _) if args and all(isinstance(a, Items) for a in args):
            columns = [a.items for a in args if isinstance(a, Items)]
            return Items(tuple(Items(row) for row in zip(*columns, strict=False)))
        case ("divmod", (Scalar(sym=a), Scalar(sym=b))):
            return Items((Scalar(op("floordiv", a, b)), Scalar(op("mod", a, b))))
        case ("pltpu.emit_pipeline" | "plgpu.emit_pipeline", (Func() as body, *_)):
            return Known("emit_pipeline.run", (body,))
        case _:
            # Functions handed to something out of sight may run, or not.
            for arg in args:
                if isinstance(arg, Func) and not name.startswith(("jax.tree", "functools")):
                    always, walk.always = walk.always, False
                    piped, walk.piped = walk.piped, walk.piped or name == "emit_pipeline.run"
                    walk.call(arg, tuple(Thing() for _ in arg.node.args.args), {})
                    walk.always, walk.piped = always, piped
            return Thing()


def _branches(walk: Walk, name: str, args: tuple[Thing, ...]) -> Thing:
    if name == "lax.cond":
        funcs, operands = args[1:3], args[3:]
        truth = known_truth(args[0]) if args else None
        if truth is not None and len(funcs) == 2:
            return walk.sometimes_call(funcs[0 if truth else 1], operands, certain=True)
    else:
        listed = args[1] if len(args) > 1 else Thing()
        funcs = listed.items if isinstance(listed, Items) else ()
        operands = args[2:]
    for func in funcs:
        walk.sometimes_call(func, operands, certain=False)
    return Thing()


def _range(args: tuple[Thing, ...]) -> Thing:
    limits = [a.sym for a in args if isinstance(a, Scalar)]
    numbers = [s.value for s in limits if isinstance(s, Num)]
    if len(numbers) == len(args) and 1 <= len(args) <= 3 and (len(args) < 3 or numbers[2]):
        values = range(*numbers)
        if len(values) <= 64:
            return Items(tuple(Scalar(Num(v)) for v in values))
    if len(limits) != len(args) or len(args) > 2:
        return Loop(Num(0) if len(args) == 1 else None, None)
    return Loop(limits[0] if len(args) == 2 else Num(0), limits[-1])


def _sym(args: tuple[Thing, ...], index: int) -> Sym | None:
    if index < len(args):
        thing = args[index]
        if isinstance(thing, Scalar):
            return thing.sym
    return None


def method_call(
    walk: Walk,
    method: Method,
    args: tuple[Thing, ...],
    kwargs: dict[str, Thing],
    node: ast.expr,
    env: Env,
) -> Thing:
    """`thing.name(...)`."""
    match method.owner, method.name:
        case (Transfer(), "start"):
            walk.use(method.owner, "copy", node, env.module)
            return Thing()
        case (Scalar(), "astype"):
            return method.owner
        case (Scalar(), "item" | "squeeze"):
            return method.owner
        case ((Ref() | View()), "get"):
            walk.use(method.owner, "read", node, env.module)
            return Thing()
        case (Record(), "items" | "values" | "keys"):
            return Thing()
        case _:
            return Thing()
