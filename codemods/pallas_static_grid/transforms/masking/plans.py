"""From the facts of a launch to the edits of its mask: which form, which parts, in which order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pallas_static_grid.analysis.facts import LaunchFacts
from pallas_static_grid.analysis.kernel_facts import Code, LaunchShape, SpecFacts
from pallas_static_grid.model import EditGroup, Safety, Target
from pallas_static_grid.rewrite.locate import expression_at
from pallas_static_grid.rewrite.names import taken_at
from pallas_static_grid.rewrite.settle import settle
from pallas_static_grid.rewrite.style import style_of
from pallas_static_grid.transforms.base import PlanContext
from pallas_static_grid.transforms.masking.body import (
    BodyPlan,
    guard_body,
    guard_shared_body,
)
from pallas_static_grid.transforms.masking.carriers import CarrierForm, carrier_for, carry_counts
from pallas_static_grid.transforms.masking.checks import (
    check_kernel,
    check_launch,
    check_limits,
    check_maps,
)
from pallas_static_grid.transforms.masking.cover import covered_bounds, spec_key
from pallas_static_grid.transforms.masking.draft import Draft
from pallas_static_grid.transforms.masking.dumping import dump_dead_steps
from pallas_static_grid.transforms.masking.grids import set_grid
from pallas_static_grid.transforms.masking.mask_free import mask_free_bounds
from pallas_static_grid.transforms.masking.naming import axis_names
from pallas_static_grid.transforms.masking.outputs import OutputPlan, plan_outputs
from pallas_static_grid.transforms.masking.overflow import check_counts
from pallas_static_grid.transforms.masking.pins import PinItem, PinPlan, pin_maps
from pallas_static_grid.transforms.masking.placing import Placement, place
from pallas_static_grid.transforms.masking.prefetching import to_scalar_prefetch
from pallas_static_grid.transforms.masking.refusing import refused
from pallas_static_grid.transforms.masking.wrapper import wrap_kernel


@dataclass(frozen=True, slots=True)
class _Choice:
    """The decisions before any text is made."""

    carrier: CarrierForm
    new_axes: tuple[int, ...]
    """Dynamic axes whose count becomes a new operand."""
    outputs: tuple[OutputPlan, ...]
    pins: PinPlan
    body: BodyPlan | None
    """None: the kernel is wrapped at the launch."""
    guarded: bool
    """Whether the kernel tests the count already."""


def plan_mask(facts: LaunchFacts, shape: LaunchShape, context: PlanContext) -> EditGroup:
    """The edits of a launch; raises `Refused`."""
    target = _target(shape, context.target)
    check_launch(shape, facts.launch.refusal)
    check_limits(shape, context.target)
    if context.mask_free or shape.differentiated:
        free = _without_mask(facts, shape, context)
        if free is not None:
            return free
    converted = _converted(facts, shape, context, target)
    if converted is not None:
        return converted
    choice = _choose(facts, shape, target)
    style = style_of(facts.module, context.line_length)
    draft = _draft(facts, shape, target, choice, style.unit)
    _emit(draft, choice)
    assumed = list(_assumptions(shape, facts.launch.api))
    draft.notes.extend(assumed)
    return EditGroup(
        "pad_and_mask",
        _safety(shape, assumed),
        _summary(draft),
        settle(facts.module, draft.edits, style),
        tuple(draft.notes),
    )


def _assumptions(shape: LaunchShape, api: str) -> Iterator[str]:
    """What the rewrite takes for granted beside its bounds."""
    if api == "wrapper":
        yield "The launch goes through a wrapper: check that it takes the operand."
    for name in shape.kernel.foreign_calls:
        yield f"Assumes that `{name}` does not read the kernel's grid."
    for output in shape.outputs or ():
        if output.aliases is not None and output.alias_assumed:
            operand = shape.operands[output.aliases].text or f"operand {output.aliases}"
            yield (
                f"Assumes that output {output.index} is aliased to `{operand}`, the only operand "
                "with its windows."
            )


def _converted(
    facts: LaunchFacts, shape: LaunchShape, context: PlanContext, target: Target
) -> EditGroup | None:
    """A first step for TPUs: the grid spec that lets index maps read the live count."""
    counted = all(shape.counts[axis.index] is not None for axis in shape.axes if axis.dynamic)
    prefetches = carrier_for(shape, target).kind == "prefetch"
    if target != "tpu" or prefetches or counted or facts.launch.api != "pallas_call":
        return None
    edits = to_scalar_prefetch(facts, shape)
    if edits is None:
        return None
    style = style_of(facts.module, context.line_length)
    return EditGroup(
        "pad_and_mask",
        "safe",
        "the grid and the specs move into a grid spec with scalar prefetch",
        settle(facts.module, edits, style),
    )


def _without_mask(facts: LaunchFacts, shape: LaunchShape, context: PlanContext) -> EditGroup | None:
    """The mask-free form; None where it is not sound and a guard may be."""
    found = mask_free_bounds(facts, shape)
    if isinstance(found, str):
        if not shape.differentiated:
            return None
        step = shape.differentiated[0]
        raise refused(
            shape,
            "differentiated-through",
            f"the launch is differentiated through, and the mask-free form is not sound: {found}",
            line=step.line,
        )
    style = style_of(facts.module, context.line_length)
    counts = {a.index: a.code.text for a in shape.axes if a.dynamic and a.code is not None}
    at = expression_at(facts.module, shape.call)
    names = axis_names(shape, taken_at(facts.module.tree, at), frozenset())
    axes = tuple(replace(a, bound=found.get(a.index, a.bound)) for a in shape.axes)
    shape = replace(shape, axes=axes)
    draft = Draft(facts, shape, context.target, style.unit, names, counts, {})
    set_grid(draft, found)
    place(draft, Placement([], "", check_counts(draft, ()), [], ()))
    summary = "; ".join(f"`{counts[axis]}` becomes `{text}`" for axis, text in found.items())
    return EditGroup(
        "pad_and_mask",
        _safety(shape, list(_assumptions(shape, facts.launch.api))),
        f"{summary}; the steps that are too many compute blocks that were undefined before",
        settle(facts.module, draft.edits, style),
        ("Mask-free: every dead step does the work of a live one.",),
    )


def _target(shape: LaunchShape, wanted: Target) -> Target:
    """`auto` read off the launch: its backend; else it stays, for what runs anywhere."""
    if wanted != "auto":
        return wanted
    return shape.evidence or "auto"


def _safety(shape: LaunchShape, assumed: list[str]) -> Safety:
    """Bounds by value assume nothing; all others assume something of the callers."""
    by_value = all(axis.bound_kind == "value" for axis in shape.axes if axis.dynamic)
    return "safe" if by_value and not assumed else "review"


def _summary(draft: Draft) -> str:
    parts = [
        f"`{draft.counts[axis.index]}` becomes the static bound `{axis.bound}`"
        for axis in draft.dynamic
    ]
    return "; ".join(parts) + "; steps past the live count do nothing"


def _choose(facts: LaunchFacts, shape: LaunchShape, target: Target) -> _Choice:
    carrier = carrier_for(shape, target)
    parameters = _parameters(shape)
    body = check_kernel(shape)
    maps_count = check_maps(shape, counting=carrier.kind == "prefetch")
    new_axes = tuple(
        axis.index
        for axis in shape.axes
        if axis.dynamic and (maps_count or not _counted(shape, axis.index, body, carrier))
    )
    pins = carrier.kind == "prefetch" and _maps_can_count(shape, new_axes)
    outputs = plan_outputs(shape, pins=pins, target=target, parameters=parameters)
    guarded = body is not None and not new_axes and _is_guarded(shape)
    return _Choice(
        carrier,
        new_axes,
        outputs,
        _pin_plan(shape, outputs, maps_count)
        if carrier.kind == "prefetch"
        else PinPlan((), (), False),
        body,
        guarded,
    )


def _maps_can_count(shape: LaunchShape, new_axes: tuple[int, ...]) -> bool:
    """Whether index maps can read every live count: new operands, or prefetched ones."""
    for axis in shape.axes:
        if axis.dynamic and axis.index not in new_axes:
            count = shape.counts[axis.index]
            if count is None or not shape.operands[count.operand].prefetched:
                return False
    return True


def _counted(shape: LaunchShape, axis: int, body: BodyPlan | None, carrier: CarrierForm) -> bool:
    """Whether kernel and index maps can read the count of an axis from an operand they have."""
    count = shape.counts[axis]
    if count is None or body is None or body.optional or _parameters(shape) is None:
        return False
    operand = shape.operands[count.operand]
    return not operand.maybe_none and (operand.prefetched or carrier.kind != "prefetch")


def _parameters(shape: LaunchShape) -> tuple[str, ...] | None:
    """The kernel's refs by name: operands, outputs, scratch; None where they do not fit."""
    kernel = shape.kernel
    least = len(shape.operands) + len(shape.outputs or ())
    if kernel.variadic is not None or len(kernel.refs) < least:
        return None
    return tuple(ref.name for ref in kernel.refs)


def _pin_plan(shape: LaunchShape, outputs: tuple[OutputPlan, ...], maps_count: bool) -> PinPlan:
    """Every map gets the new operand: pinned, or passed by where dead blocks may be visited."""
    passed: dict[int, SpecFacts] = {}
    dumped = _dumped_keys(outputs)
    for plan in outputs:
        spec = plan.output.spec
        if plan.dump is not None or plan.pin or spec is None or spec.index_map is None:
            continue
        passed[spec_key(spec)] = spec
        if plan.output.aliases is not None and plan.keep is not None:
            # The dead step hands on what the operand's window holds: both stay together.
            other = shape.operands[plan.output.aliases].spec
            if other is not None:
                passed[spec_key(other)] = other
    pinned: dict[int, SpecFacts] = {}
    specs = [spec for operand in shape.operands for spec in operand.specs]
    if not maps_count:
        passed.update({spec_key(spec): spec for spec in specs if _needs_no_pin(spec)})
    specs += [plan.output.spec for plan in outputs if plan.pin and plan.output.spec is not None]
    for spec in specs:
        if spec.index_map is not None and spec_key(spec) not in passed.keys() | dumped:
            pinned[spec_key(spec)] = spec
    return PinPlan(
        tuple(_pin_item(shape, spec) for spec in pinned.values()),
        tuple(_pin_item(shape, spec) for spec in passed.values()),
        maps_count,
    )


def _needs_no_pin(spec: SpecFacts) -> bool:
    """Whether every step takes the same block, by a map that swallows a new operand."""
    index_map = spec.index_map
    return (
        index_map is not None
        and index_map.constant
        and not index_map.tables
        and any(parameter.startswith("*") for parameter in index_map.parameters)
    )


def _dumped_keys(outputs: tuple[OutputPlan, ...]) -> set[int]:
    """The specs whose dead steps go to a dump block."""
    keys: set[int] = set()
    for plan in outputs:
        if plan.dump is not None:
            keys.update(spec_key(spec) for spec in plan.output.specs)
            if plan.dump.operand is not None:
                keys.update(spec_key(spec) for spec in plan.dump.operand.specs)
    return keys


def _dump_items(plan: OutputPlan) -> list[PinItem]:
    """The specs that go through the dumping wrapper, each once."""
    assert plan.dump is not None
    specs = [*plan.output.specs, *(plan.dump.operand.specs if plan.dump.operand else ())]
    return [PinItem(spec) for spec in {spec_key(spec): spec for spec in specs}.values()]


def _pin_item(shape: LaunchShape, spec: SpecFacts) -> PinItem:
    """How a spec is edited: where it is built, or where the launch names it if others use it."""
    if spec.local and not spec.other_launches:
        return PinItem(spec)
    references: list[Code] = []
    for array in shape.arrays:
        if any(spec_key(other) == spec_key(spec) for other in array.specs):
            code = array.spec_code
            if code is None or not code.text.replace(".", "").isidentifier():
                raise refused(
                    shape,
                    "shared-definition",
                    "a block spec is built elsewhere and cannot be named at the launch",
                    line=spec.line,
                )
            references.append(code)
    return PinItem(spec, tuple(references))


def _is_guarded(shape: LaunchShape) -> bool:
    """Whether every statement that does something stands under the test of the counts."""
    wanted: list[set[str]] = []
    for axis in shape.axes:
        count = shape.counts[axis.index]
        if axis.dynamic and count is not None:
            ref = shape.kernel.refs[count.operand].name
            step, live = f"program_id({axis.index})", count.with_ref(ref)
            wanted.append({f"{step} < {live}", f"{live} > {step}"})
    working = [s for s in shape.kernel.statements if s.kind in ("when", "other")]
    return bool(working) and all(
        s.kind == "when" and all(set(s.conjuncts) & either for either in wanted) for s in working
    )


def _draft(
    facts: LaunchFacts, shape: LaunchShape, target: Target, choice: _Choice, unit: str
) -> Draft:
    module = facts.module
    at = expression_at(module, shape.call)
    own = choice.body is not None and not choice.body.optional
    inside = shape.kernel.names if own else frozenset[str]()
    names = axis_names(shape, taken_at(module.tree, at), inside)
    counts = {a.index: a.code.text for a in shape.axes if a.dynamic and a.code is not None}
    draft = Draft(facts, shape, target, unit, names, counts, {})
    for axis in draft.dynamic:
        _read_count(draft, axis.index, choice)
    return draft


def _read_count(draft: Draft, axis: int, choice: _Choice) -> None:
    """How the kernel reads the count of an axis."""
    names = draft.names[axis]
    count = draft.shape.counts[axis]
    if axis in choice.new_axes or count is None:
        draft.reads[axis] = f"{names.ref}[0]"
        return
    kernel = draft.shape.kernel
    ref = kernel.refs[count.operand].name
    text = count.with_ref(ref)
    gone = [
        index
        for index, statement in enumerate(kernel.statements)
        if statement.kind == "del" and ref in statement.binds
    ]
    if gone:
        local = names.ref.removesuffix("_ref")
        draft.count_lines.append((gone[0], f"{local} = {text}"))
        text = local
    draft.reads[axis] = text


def _emit(draft: Draft, choice: _Choice) -> None:
    shape = draft.shape
    pinned = frozenset(spec_key(item.spec) for item in choice.pins.pinned)
    pinned |= _dumped_keys(choice.outputs)
    bounds = covered_bounds(shape, pinned)
    draft.shape = replace(
        shape,
        axes=tuple(replace(axis, bound=bounds.get(axis.index, axis.bound)) for axis in shape.axes),
    )
    set_grid(draft, bounds)
    count_lines = carry_counts(draft, choice.carrier, list(choice.new_axes))
    refs = [draft.names[axis].ref for axis in choice.new_axes]
    keeps = tuple(plan.keep for plan in choice.outputs if plan.keep is not None)
    kernel_lines = ""
    if choice.body is None or choice.body.optional:
        given = len(shape.operands) + len(shape.outputs or ())
        keyword = None if choice.body is None else guard_shared_body(draft, choice.body)
        kernel_lines = wrap_kernel(draft, keeps, refs, given, keyword)
    elif not choice.guarded:
        guard_body(draft, choice.body, keeps, refs)
    pin_lines = pin_maps(draft, choice.pins, choice.new_axes)
    dumps = [plan for plan in choice.outputs if plan.dump is not None]
    dumping = [item for plan in dumps for item in _dump_items(plan)]
    for plan in dumps:
        assert plan.dump is not None
        lines = dump_dead_steps(draft, plan.dump, _dump_items(plan))
        pin_lines += [*([""] if pin_lines else []), *lines]
    spans = [
        item.spec.span
        for item in (*choice.pins.pinned, *dumping)
        if item.spec.span is not None and not item.references
    ]
    check = check_counts(draft, choice.new_axes)
    place(draft, Placement(count_lines, kernel_lines, check, pin_lines, tuple(spans)))


__all__ = ["plan_mask"]
