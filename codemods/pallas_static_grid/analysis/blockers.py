"""What keeps a launch off a backend apart from its grid.

Each rule was checked by lowering for that backend: scalar prefetch, scratch, TPU compiler
parameters and TPU primitives do not lower for GPU; GPU memory spaces, parameters and primitives do
not lower for TPU; an output block that several steps write is a race where steps run in parallel.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from pallas_static_grid.analysis import values
from pallas_static_grid.analysis.facts import LaunchFacts
from pallas_static_grid.analysis.kernel_walk import Walk
from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.operands import is_none, outputs_of, prefetch_count, received
from pallas_static_grid.analysis.range_evidence import padded, single_function, specs_in
from pallas_static_grid.analysis.symbolic import Num, atoms
from pallas_static_grid.analysis.values import (
    Arg,
    BlockSpec,
    External,
    Int,
    LaunchSite,
    Value,
)
from pallas_static_grid.analysis.walk_values import (
    Env,
    Func,
    Items,
    Known,
    Scalar,
    Thing,
    step_index,
)
from pallas_static_grid.model import Blocker

Target = Literal["tpu", "triton", "mosaic_gpu"]
GPU: tuple[Target, ...] = ("triton", "mosaic_gpu")
_FAMILIES = {"pltpu": "TPU", "plgpu": "Mosaic GPU", "plt": "Triton"}
_LOWERS_ON: dict[str, Target] = {"pltpu": "tpu", "plgpu": "mosaic_gpu", "plt": "triton"}
_DMA = frozenset(
    {"make_async_copy", "async_copy", "sync_copy", "make_async_remote_copy", "async_remote_copy"}
)
_SEMAPHORES = frozenset(
    {"semaphore_signal", "semaphore_wait", "semaphore_read", "get_barrier_semaphore"}
)
_HARMLESS = frozenset({"pltpu.emit_pipeline", "plgpu.emit_pipeline", "pltpu.CompilerParams"})


def blockers(facts: LaunchFacts) -> tuple[Blocker, ...]:
    """Every blocker of a launch, each once, by target and line."""
    site = facts.site
    found: list[Blocker] = []
    found.extend(_interface(site))
    found.extend(_memory_spaces(site))
    found.extend(_kernel(facts))
    found.extend(_revisits(facts))
    unique = dict.fromkeys(found)
    order = {"tpu": 0, "triton": 1, "mosaic_gpu": 2}
    return tuple(sorted(unique, key=lambda b: (order[b.target], b.path, b.line, b.reason)))


def with_blockers(facts: LaunchFacts) -> LaunchFacts:
    """The launch with its blockers."""
    return replace(facts, launch=replace(facts.launch, blockers=blockers(facts)))


def _blocks(
    targets: tuple[Target, ...], reason: str, module: ModuleContext, node: ast.AST
) -> Iterator[Blocker]:
    for target in targets:
        yield Blocker(target, reason, module.path, getattr(node, "lineno", 1))


def _others(family: str) -> tuple[Target, ...]:
    """The targets that do not know a family of primitives."""
    return tuple(t for t in ("tpu", *GPU) if t != _LOWERS_ON[family])


# --- parameters of the launch --------------------------------------------------------------------


def _interface(site: LaunchSite) -> Iterator[Blocker]:
    module = site.module
    count = prefetch_count(site)
    arg = site.spec_arg("num_scalar_prefetch")
    if arg is not None and count != 0:
        yield from _blocks(GPU, "scalar prefetch does not lower for GPU", module, _at(arg, site))
    params = site.args.get("compiler_params")
    family = _family_of_call(params, site) if params is not None else None
    if params is not None and family is not None:
        name = f"{family}.CompilerParams"
        yield from _blocks(
            _others(family),
            f"`{name}` selects {_FAMILIES[family]}",
            module,
            _at(params, site),
        )
    if family == "plgpu":
        assert params is not None
        yield from _blocks(
            ("mosaic_gpu",),
            "from jax 0.11.2 on `pallas_call` has no Mosaic GPU lowering: use `plgpu.kernel`",
            module,
            _at(params, site),
        )
    if site.api == "kernel":
        called = _known_name(site.node.func, site)
        prefix = called.partition(".")[0] if called is not None else ""
        if prefix in _FAMILIES:
            text = f"`{called}` is for {_FAMILIES[prefix]} only"
            yield from _blocks(_others(prefix), text, module, site.node)


def _at(arg: Arg, site: LaunchSite) -> ast.AST:
    return arg.node if arg.node is not None else arg.holder or site.node


def _family_of_call(arg: Arg, site: LaunchSite) -> str | None:
    """The family whose `CompilerParams` an argument is."""
    node = arg.node
    if not isinstance(node, ast.Call):
        return None
    name = _known_name(node.func, site)
    if name is None or not name.endswith("CompilerParams"):
        return None
    family = name.partition(".")[0]
    return family if family in _FAMILIES else None


def _known_name(node: ast.expr, site: LaunchSite) -> str | None:
    """The canonical name of a function or class out of sight."""
    thing = Walk().evaluate(node, Env({}, None, site.scope, site.module))
    return thing.name if isinstance(thing, Known) else None


# --- memory --------------------------------------------------------------------------------------


def _memory_spaces(site: LaunchSite) -> Iterator[Blocker]:
    for name in ("in_specs", "out_specs"):
        arg = site.spec_arg(name)
        for spec in specs_in(arg.value) if arg is not None else ():
            yield from _spec(spec)
    arg = site.spec_arg("scratch_shapes")
    if arg is not None:
        yield from _scratch(arg, site)


def _spec(spec: BlockSpec) -> Iterator[Blocker]:
    space = _space_name(spec.memory_space)
    if space is None:
        return
    family, _, name = space.partition(".")
    windowed = spec.block_shape is not None and not is_none(spec.block_shape.value)
    if family == "plgpu":
        text = f"`{space}` is memory of Mosaic GPU"
        yield from _blocks(("tpu",), text, spec.module, spec.node)
    if family == "pltpu" and name in ("VMEM", "SMEM", "CMEM") and windowed:
        text = f"blocks in `{space}` do not lower for Mosaic GPU"
        yield from _blocks(("mosaic_gpu",), text, spec.module, spec.node)


def _space_name(arg: Arg | None) -> str | None:
    if arg is None:
        return None
    found = list(values.options(arg.value))
    return found[0].name if len(found) == 1 and isinstance(found[0], External) else None


def _scratch(arg: Arg, site: LaunchSite) -> Iterator[Blocker]:
    value = arg.value
    if not isinstance(value, values.Tuple | values.Dict) or not value.items:
        return
    where = _at(arg, site)
    yield from _blocks(("triton",), "scratch memory does not lower for Triton", site.module, where)
    families = {_scratch_family(v, n, site) for v, n in _scratch_parts(value)}
    if "pltpu" in families:
        text = "TPU scratch memory or semaphores do not lower for Mosaic GPU"
        yield from _blocks(("mosaic_gpu",), text, site.module, where)
    if "plgpu" in families:
        text = "scratch memory of Mosaic GPU does not lower for TPU"
        yield from _blocks(("tpu",), text, site.module, where)


def _scratch_parts(
    value: values.Tuple | values.Dict,
) -> Iterator[tuple[Value, ast.expr | None]]:
    if isinstance(value, values.Dict):
        for _, item in value.items:
            yield item, None
        return
    nodes = value.nodes if len(value.nodes) == len(value.items) else (None,) * len(value.items)
    yield from zip(value.items, nodes, strict=True)


def _scratch_family(value: Value, node: ast.expr | None, site: LaunchSite) -> str | None:
    """Whose memory a scratch entry is."""
    if isinstance(value, External):
        return value.name.partition(".")[0]
    made = value.node if isinstance(value, values.Struct) else node
    if isinstance(made, ast.Call):
        name = _known_name(made.func, site)
        return name.partition(".")[0] if name is not None else None
    return None


# --- the kernel ----------------------------------------------------------------------------------


def _kernel(facts: LaunchFacts) -> Iterator[Blocker]:
    site = facts.site
    arg = site.args.get("kernel")
    if arg is None:
        return
    walk = Walk()
    func = single_function(walk, arg.value, site.module)
    if func is None:
        return
    got = received(site, site.calls[0] if site.calls else None)
    args: list[Thing] = [*got.prefetched, *got.inputs, *(got.outputs or ()), *got.scratch]
    walk.call(func, tuple(padded(func, args if got.complete else [])), {})
    seen: set[tuple[str, str]] = set()
    for name, node, module in walk.calls:
        family, _, short = name.partition(".")
        if family not in _FAMILIES or name in _HARMLESS or "." in short:
            continue
        kind = "dma" if short in _DMA else "semaphore" if short in _SEMAPHORES else short
        if (family, kind) in seen:
            continue
        seen.add((family, kind))
        yield from _blocks(_others(family), _call_reason(family, short, kind), module, node)


def _call_reason(family: str, name: str, kind: str) -> str:
    if kind == "dma":
        return f"the kernel copies by DMA (`{family}.{name}`), which is for TPU only"
    if kind == "semaphore":
        return f"the kernel uses semaphores (`{family}.{name}`), which are for TPU only"
    return f"the kernel calls `{family}.{name}`, which is for {_FAMILIES[family]} only"


# --- revisited outputs ---------------------------------------------------------------------------


def _revisits(facts: LaunchFacts) -> Iterator[Blocker]:
    site = facts.site
    rank = len(facts.dims)
    outs = outputs_of(site)
    several = [axis for axis, value in enumerate(facts.dims) if not _is_one(value)]
    if outs is None or rank == 0:
        return
    got = received(site, site.calls[0] if site.calls else None)
    for out in outs:
        spec = out.spec
        if (
            not out.certain
            or spec is None
            or spec.index_map is None
            or is_none(spec.index_map.value)
        ):
            continue
        walk = Walk()
        func = single_function(walk, spec.index_map.value, spec.module)
        if func is None:
            continue
        missing = _axes_not_used(walk, func, rank, got.prefetched)
        for axis in several:
            if axis in missing:
                yield from _race(site, spec, func, out.label, axis)


def _race(
    site: LaunchSite, spec: BlockSpec, func: Func, label: str, axis: int
) -> Iterator[Blocker]:
    text = (
        f"all steps of grid axis {axis} write the same block of {label}: a race where the steps "
        "run in parallel"
    )
    targets: tuple[Target, ...] = GPU
    if _says_sequential(site):
        targets = ("triton",)
    yield from _blocks(targets, text, spec.module, spec.node)


def _says_sequential(site: LaunchSite) -> bool:
    """Whether Mosaic GPU is told to run an axis in order."""
    arg = site.args.get("compiler_params")
    if arg is None or not isinstance(arg.node, ast.Call) or _family_of_call(arg, site) != "plgpu":
        return False
    return any(k.arg == "dimension_semantics" for k in arg.node.keywords)


def _is_one(value: Value) -> bool:
    return isinstance(value, Int) and value.expr == Num(1)


def _axes_not_used(
    walk: Walk, func: Func, rank: int, prefetched: tuple[Thing, ...]
) -> frozenset[int]:
    """Grid axes on which no block index depends; empty where an index is not understood."""
    steps = tuple(Scalar(step_index(axis)) for axis in range(rank))
    result = walk.call(func, (*steps, *prefetched), {})
    items = result.items if isinstance(result, Items) else (result,)
    syms = [item.sym for item in items if isinstance(item, Scalar)]
    if len(syms) != len(items):
        return frozenset()
    found = frozenset().union(*(atoms(s) for s in syms))
    if any(atom.key[0] in ("read", "walk", "steps", "elem") for atom in found):
        return frozenset()
    return frozenset(axis for axis in range(rank) if step_index(axis) not in found)


__all__ = ["blockers", "with_blockers"]
