"""The grid itself: dynamic entries replaced by their bounds."""

from __future__ import annotations

from pallas_static_grid.model import Edit
from pallas_static_grid.transforms.masking.draft import Draft
from pallas_static_grid.transforms.masking.refusing import refused


def set_grid(draft: Draft, bounds: dict[int, str]) -> None:
    """Replace the dynamic entries where the tuple is written.

    A tuple that other code reads too stays; the launch then gets one of its own.
    """
    shape = draft.shape
    inline = shape.grid_code is not None and shape.grid_code.span == shape.grid_display
    if inline or (shape.grid_uses == 1 and shape.grid_display is not None):
        for axis in draft.dynamic:
            assert axis.code is not None
            draft.add([Edit(axis.code.span, bounds[axis.index])])
        return
    if shape.grid_code is None or any(axis.code is None for axis in shape.axes):
        raise refused(shape, "shared-definition", "other code reads the grid's tuple too")
    entries = []
    for axis in shape.axes:
        size = bounds.get(axis.index, axis.code.text if axis.code is not None else "")
        entries.append(size if axis.name is None else f'("{axis.name}", {size})')
    comma = "," if len(entries) == 1 else ""
    draft.add([Edit(shape.grid_code.span, f"({', '.join(entries)}{comma})")])


__all__ = ["set_grid"]
