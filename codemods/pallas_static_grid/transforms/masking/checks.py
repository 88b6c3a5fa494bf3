"""What must hold of a launch and its kernel before anything is planned."""

from __future__ import annotations

from dataclasses import replace

from pallas_static_grid.analysis.kernel_facts import LaunchShape, SpecFacts
from pallas_static_grid.model import Refusal, Target
from pallas_static_grid.transforms.masking.body import BodyPlan, body_plan, rebound_names
from pallas_static_grid.transforms.masking.refusing import Refused, refused

_CUDA_X = 2**31 - 1
_CUDA_YZ = 65_535


def check_launch(shape: LaunchShape, no_bound: Refusal | None) -> None:
    """Refuse launches whose arguments, calls or bounds are not in sight."""
    if shape.hidden:
        raise refused(
            shape,
            "opaque-arguments",
            "arguments of the launch come by `**`, or are made by a wrapper on the way",
        )
    dynamic = [axis for axis in shape.axes if axis.dynamic]
    for axis in dynamic:
        if axis.floating:
            raise refused(
                shape,
                "float-grid",
                f"{_entry(axis.code, axis.index)} is a float, which interpreters round unlike",
                line=axis.line,
            )
    if not shape.calls:
        raise refused(shape, "operands-out-of-sight", "the launch is never called in sight")
    if shape.kernel.place == "unseen":
        raise refused(
            shape, "kernel-out-of-sight", "the kernel is not in sight", line=shape.kernel.line
        )
    if any(axis.bound is None for axis in dynamic):
        if no_bound is not None:
            raise Refused(no_bound)
        raise refused(shape, "no-bound", "nothing in sight bounds a dynamic dimension")
    for axis in dynamic:
        if axis.code is None or ":=" in axis.code.text:
            raise refused(
                shape,
                "opaque-arguments",
                f"dimension {axis.index} is not a plain entry of a tuple that is written in sight",
            )
    for spec in shape.specs:
        if spec.span is None and spec.index_map is not None and shape.num_scalar_prefetch != 0:
            raise refused(
                shape, "shared-definition", "a block spec is built in another file", line=None
            )
    if shape.shares_grid_spec:
        raise refused(shape, "shared-definition", "another launch uses the same grid spec")
    if not shape.operands_complete:
        raise refused(
            shape,
            "opaque-arguments",
            "the operands or their specs come in a list whose length is not in sight",
        )


def check_limits(shape: LaunchShape, target: Target) -> None:
    """Refuse a literal bound that is more than a CUDA grid takes."""
    backend = shape.evidence if target == "auto" else target
    if backend not in ("triton", "mosaic_gpu"):
        return
    for axis in shape.axes:
        most = _CUDA_X if axis.index == 0 else _CUDA_YZ
        bound = axis.bound if axis.dynamic and axis.bound is not None else ""
        if bound.isdigit() and int(bound) > most:
            raise refused(
                shape,
                "grid-limit",
                f"{bound} steps are more than the {most} that this axis takes on CUDA",
                line=axis.line,
            )


def _entry(code: object, index: int) -> str:
    text = getattr(code, "text", None)
    return f"`{text}`" if text else f"dimension {index}"


def check_kernel(shape: LaunchShape) -> BodyPlan | None:
    """How the kernel is guarded: the plan of its body, or None where it is wrapped."""
    kernel = shape.kernel
    if kernel.outside is not None:
        raise refused(
            shape, "kernel-not-guardable", kernel.outside.reason, line=kernel.outside.line
        )
    if kernel.unseen_calls:
        raise refused(
            shape,
            "kernel-out-of-sight",
            f"the kernel calls `{kernel.unseen_calls[0]}`, which is not in sight",
            line=kernel.line,
        )
    _check_reads(shape)
    own = kernel.place == "here" and kernel.form in ("def", "method") and not kernel.uses
    if own and kernel.statements and not _only_launch_decorates(shape):
        own = False
    if own:
        plan = body_plan(kernel)
        if not rebound_names(kernel, plan):
            return plan
    if shape.decorator:
        raise refused(
            shape,
            "kernel-not-guardable",
            "the launch decorates the kernel, whose body cannot be put under a guard",
            line=kernel.line,
        )
    if kernel.reads:
        shared = _shared_plan(shape)
        if shared is not None:
            return shared
        read = kernel.reads[0]
        why = "is shared" if kernel.uses else "cannot be edited in place"
        raise refused(
            shape,
            "kernel-not-guardable",
            f"the kernel {why} and reads `{read.code.text}` itself, which may not stand in a "
            "guard around it",
            line=read.line if kernel.place == "here" else None,
        )
    return None


def _shared_plan(shape: LaunchShape) -> BodyPlan | None:
    """The guard of a kernel that other code in the file uses too, where one axis is dynamic."""
    kernel = shape.kernel
    shared = kernel.place == "here" and kernel.form == "def" and kernel.uses
    one = sum(axis.dynamic for axis in shape.axes) == 1
    if not shared or not one or kernel.decorated or kernel.catches_keywords:
        return None
    plan = body_plan(kernel)
    return None if rebound_names(kernel, plan) else replace(plan, optional=True)


def _only_launch_decorates(shape: LaunchShape) -> bool:
    """Whether nothing but the launch decorates the kernel."""
    return shape.decorator or not shape.kernel.decorated


def _check_reads(shape: LaunchShape) -> None:
    """Refuse reads of the grid that cannot be replaced or moved above the guard."""
    kernel = shape.kernel
    for read in kernel.helper_reads:
        raise refused(
            shape,
            "kernel-not-guardable",
            f"the kernel calls a function that reads `{read.code.text}`; inside the guard that "
            "read would fail or mean the bound",
            line=kernel.line if kernel.place == "here" else None,
        )
    for read in kernel.reads:
        if read.unclear:
            raise refused(
                shape,
                "kernel-not-guardable",
                f"`{read.code.text}` stands in a function that may run in the grid of a pipeline "
                "inside the kernel",
                line=read.line if kernel.place == "here" else None,
            )
        if read.axis is None:
            raise refused(
                shape,
                "kernel-not-guardable",
                f"`{read.code.text}` names its axis by a variable"
                if read.code.text.endswith(")")
                else f"`{read.code.text}` is kept to be called under another name",
                line=read.line if kernel.place == "here" else None,
            )


def check_maps(shape: LaunchShape, *, counting: bool) -> bool:
    """Whether some index map reads `num_programs` of a dynamic axis; refuses where it cannot.

    `counting`: index maps can be given the live count.
    """
    dynamic = {axis.index for axis in shape.axes if axis.dynamic}
    specs = [spec for spec in shape.specs if spec.index_map is not None]
    reads = [
        (spec, read)
        for spec in specs
        for read in (spec.index_map.num_programs if spec.index_map is not None else ())
        if read.axis is None or read.axis in dynamic
    ]
    for _, read in reads:
        if not counting or read.axis is None:
            raise refused(
                shape,
                "num-programs-in-index-map",
                f"an index map reads `{read.code.text}`",
                line=read.line,
            )
    if reads:
        _check_editable(shape, specs)
    return bool(reads)


def _check_editable(shape: LaunchShape, specs: list[SpecFacts]) -> None:
    """All maps get the count as a parameter then: each must be a lambda of its own spec."""
    for spec in specs:
        index_map = spec.index_map
        own = index_map is not None and index_map.lambda_span == index_map.code.span
        if not own or not spec.local or spec.other_launches:
            raise refused(
                shape,
                "num-programs-in-index-map",
                "an index map reads `num_programs`, and the maps beside it are not lambdas of "
                "this launch alone",
                line=spec.line,
            )


__all__ = ["check_kernel", "check_launch", "check_limits", "check_maps"]
