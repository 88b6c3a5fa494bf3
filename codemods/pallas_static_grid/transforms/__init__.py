"""The transforms, in the order in which they are tried on a launch."""

from __future__ import annotations

from pallas_static_grid.transforms import (
    inline_grid_callable,
    pad_and_mask,
    static_shape_arithmetic,
)
from pallas_static_grid.transforms.base import PlanContext, Registered, Transform

TRANSFORMS: tuple[Transform, ...] = (
    # First: a grid has no entries to judge before it is a tuple.
    Registered("inline_grid_callable", inline_grid_callable.plan),
    # Before masks: what is arithmetic on shapes needs none.
    Registered("static_shape_arithmetic", static_shape_arithmetic.plan),
    # Last: it needs a grid of entries, and arithmetic on shapes needs no mask.
    Registered("pad_and_mask", pad_and_mask.plan),
)

__all__ = ["TRANSFORMS", "PlanContext", "Transform"]
