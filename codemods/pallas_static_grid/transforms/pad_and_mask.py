"""Make a data-dependent grid static: its upper bound, with the steps that are too many masked.

The grid gets the bound that the source proves (or that the user gives), the live count goes along
as an operand, and the kernel does its work only on live steps. Index maps keep dead steps on the
last live block where they can read the count, and outputs whose windows dead steps would flush are
handed on as they were. What cannot be shown to compute the same values is refused.
"""

from __future__ import annotations

from pallas_static_grid.analysis.facts import LaunchFacts
from pallas_static_grid.analysis.kernels import launch_shape
from pallas_static_grid.model import EditGroup, Refusal
from pallas_static_grid.transforms.base import PlanContext
from pallas_static_grid.transforms.masking.plans import plan_mask
from pallas_static_grid.transforms.masking.refusing import Refused
from pallas_static_grid.transforms.static_shape_arithmetic import refusal_of_shapes

name = "pad_and_mask"


def plan(facts: LaunchFacts, context: PlanContext) -> EditGroup | Refusal | None:
    """The edits that make a launch with bounded dimensions static, or why there are none."""
    launch = facts.launch
    if launch.verdict != "dynamic" or launch.grid_kind != "tuple":
        return None
    inexact = refusal_of_shapes(facts, context)
    if inexact is not None:
        # It is known while tracing: a mask would only hide that.
        return inexact
    wrapper = facts.site.wrapper
    if wrapper is not None:
        return Refusal(
            "opaque-arguments",
            f"`{wrapper.name}` takes the grid spec apart: what is launched in the end is its own",
            launch.path,
            launch.line,
            "look at its own launch: a grid that goes to `emit_pipeline` may stay dynamic, "
            "another one is made static there",
        )
    shape = launch_shape(facts)
    if shape is None:
        return Refusal(
            "opaque-arguments",
            "the kernel, the grid spec or other arguments of the launch are not written in sight",
            launch.path,
            launch.line,
            "write the launch's arguments out where it is made",
        )
    try:
        return plan_mask(facts, shape, context)
    except Refused as refused:
        return refused.refusal


__all__ = ["name", "plan"]
