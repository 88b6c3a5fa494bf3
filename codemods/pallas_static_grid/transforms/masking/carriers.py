"""How the live count reaches the kernel: operand, spec, prefetch count, alias keys."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Literal

from pallas_static_grid.analysis.kernel_facts import LaunchShape
from pallas_static_grid.model import Edit, Target
from pallas_static_grid.rewrite.locate import call_at, expression_at
from pallas_static_grid.rewrite.syntax import (
    insert_argument,
    insert_element,
)
from pallas_static_grid.transforms.masking.draft import Draft
from pallas_static_grid.transforms.masking.refusing import refused
from pallas_static_grid.transforms.masking.texts import as_operand, as_summand, parsed

Carrier = Literal["prefetch", "whole", "block", "smem", "gmem"]


@dataclass(frozen=True, slots=True)
class CarrierForm:
    """A way to carry the count: the operand's length, and the spec it needs."""

    kind: Carrier
    width: int


_FORMS: dict[Carrier, CarrierForm] = {
    "prefetch": CarrierForm("prefetch", 1),
    "whole": CarrierForm("whole", 128),
    "block": CarrierForm("block", 1),
    "smem": CarrierForm("smem", 1),
    "gmem": CarrierForm("gmem", 1),
}


def carrier_for(shape: LaunchShape, target: Target) -> CarrierForm:
    """The carrier that a launch's specs and the target ask for."""
    if shape.num_scalar_prefetch != 0 or shape.spec_kind == "PrefetchScalarGridSpec":
        return _FORMS["prefetch"]
    specs = [operand.spec for operand in shape.operands]
    specs += [output.spec for output in shape.outputs or ()]
    if any(spec is not None and spec.memory_name == "GMEM" for spec in specs):
        return _FORMS["gmem"]
    match target:
        case "triton":
            return _FORMS["block"]
        case "mosaic_gpu":
            return _FORMS["smem"]
        case _:
            return _FORMS["whole"]


def carry_counts(draft: Draft, form: CarrierForm, axes: list[int]) -> list[str]:
    """Edits that add one operand per axis in front; gives the lines that define the counts."""
    if not axes:
        return []
    shape = draft.shape
    at = expression_at(draft.module, shape.call)
    jnp = draft.name_of("jax.numpy", at)
    names = [draft.names[axis].count for axis in axes]
    for call in shape.calls:
        if not call.plain:
            raise refused(
                shape,
                "opaque-arguments",
                "the launch is called with keywords, or by a function that does not build it",
                line=call.line,
            )
        node = call_at(draft.module, call.span)
        for name in names:
            draft.add(insert_argument(draft.module, node, 0, name))
    if form.kind == "prefetch":
        _more_prefetch(draft, len(axes))
    else:
        _more_specs(draft, form, len(axes), at)
    _shift_aliases(draft, len(axes))
    lines = []
    for axis, name in zip(axes, names, strict=True):
        count = draft.counts[axis]
        lines.append(f"{name} = {jnp}.full(({form.width},), {count}, {jnp}.int32)")
    if form.width > 1:
        lines.insert(0, "# Repeated because Mosaic GPU copies nothing smaller.")
    return lines


def _more_prefetch(draft: Draft, more: int) -> None:
    shape = draft.shape
    code = shape.prefetch_code
    if code is None:
        raise refused(shape, "opaque-arguments", "`num_scalar_prefetch` is not written in sight")
    if shape.num_scalar_prefetch is not None and code.text.isdigit():
        text = str(shape.num_scalar_prefetch + more)
    else:
        text = f"{as_summand(code.text)} + {more}"
    draft.add([Edit(code.span, text)])


def _more_specs(draft: Draft, form: CarrierForm, more: int, at: ast.AST) -> None:
    """A spec per new operand, before the others; without `in_specs` the default serves."""
    shape = draft.shape
    if shape.in_specs is None:
        if form.kind not in ("whole", "block"):
            raise refused(shape, "not-supported", "the launch has no `in_specs` to add a spec to")
        return
    spec = _spec_text(draft, form, at)
    if shape.in_specs_display is not None:
        display = expression_at(draft.module, shape.in_specs_display)
        edits = insert_element(draft.module, display, 0, spec)
        draft.add([Edit(edit.span, edit.text * more) for edit in edits])
        return
    inner = as_operand(shape.in_specs.text)
    draft.add([Edit(shape.in_specs.span, f"[{', '.join([spec] * more)}, *{inner}]")])


def _spec_text(draft: Draft, form: CarrierForm, at: ast.AST) -> str:
    pl = draft.name_of("jax.experimental.pallas", at)
    match form.kind:
        case "block":
            return f"{pl}.BlockSpec((1,), lambda *_: (0,))"
        case "gmem":
            plgpu = draft.name_of("jax.experimental.pallas.mosaic_gpu", at)
            return f"{pl}.BlockSpec(memory_space={plgpu}.GMEM)"
        case "smem":
            # Mosaic GPU's own SMEM is filled by copies of whole warpgroups only.
            pltpu = draft.name_of("jax.experimental.pallas.tpu", at)
            return f"{pl}.BlockSpec(memory_space={pltpu}.SMEM)"
        case _:
            return f"{pl}.BlockSpec()"


def _shift_aliases(draft: Draft, more: int) -> None:
    """Every key counts the new operands too: they stand before all others."""
    for key in draft.shape.alias_keys or ():
        known = sorted(key.values) if key.literal else ()
        text = str(known[0] + more) if known else _plus(key.code.text, more)
        draft.add([Edit(key.code.span, text)])


def _plus(text: str, more: int) -> str:
    match parsed(text):
        case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=int(number))):
            return f"{ast.unparse(left)} + {number + more}"
        case _:
            return f"{as_summand(text)} + {more}"


__all__ = ["Carrier", "CarrierForm", "carrier_for", "carry_counts"]
