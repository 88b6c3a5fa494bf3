"""Whether every block that a dead step names lies inside its array."""

from __future__ import annotations

import ast

from pallas_static_grid.analysis.kernel_facts import LaunchShape, SpecFacts
from pallas_static_grid.transforms.masking.refusing import refused
from pallas_static_grid.transforms.masking.texts import parsed


def covered_bounds(shape: LaunchShape, pinned: frozenset[int]) -> dict[int, str]:
    """The bound of each dynamic axis, lowered where an array is not known to reach as far.

    Lowering is sound: a launch that is valid never goes past the least of its arrays. `pinned`
    are the keys of specs whose maps keep dead steps on live blocks.
    """
    _check_specs(shape, pinned)
    out: dict[int, str] = {}
    for axis in shape.axes:
        if not axis.dynamic or axis.bound is None:
            continue
        missing: dict[str, None] = {}
        for reach in shape.reaches:
            if reach.axis != axis.index or reach.within or reach.spec in pinned or axis.grid_one:
                continue
            if reach.steps is None:
                raise refused(
                    shape,
                    "not-supported",
                    f"`{reach.label}` is not known to have a block for each of `{axis.bound}` "
                    "steps",
                    line=reach.line,
                )
            missing.setdefault(reach.steps)
        missing.pop(axis.bound, None)
        out[axis.index] = _least([axis.bound, *missing])
    return out


def _least(parts: list[str]) -> str:
    """The least of several counts; of blocks of one size, that of the least length."""
    if len(parts) == 1:
        return parts[0]
    divided = [parsed(part) for part in parts]
    match divided[0]:
        case ast.Call(func=function, args=[_, block]):
            head, tail = ast.unparse(function), ast.unparse(block)
        case _:
            return f"min({', '.join(parts)})"
    lengths: list[str] = []
    for node in divided:
        match node:
            case ast.Call(func=function, args=[length, block], keywords=[]):
                if (ast.unparse(function), ast.unparse(block)) == (head, tail):
                    lengths.append(ast.unparse(length))
    if not head.endswith("cdiv") or len(lengths) < len(parts):
        return f"min({', '.join(parts)})"
    return f"{head}(min({', '.join(lengths)}), {tail})"


def _check_specs(shape: LaunchShape, pinned: frozenset[int]) -> None:
    """Refuse windows whose blocks are not plainly counted, or that are not in sight."""
    for spec in shape.specs:
        if spec.memory == "raw":
            continue
        if not spec.plain or spec.memory == "unknown":
            raise refused(
                shape,
                "non-blocked-spec",
                "a block spec is not plainly blocked, or not in sight",
                line=spec.line or None,
            )
        index_map = spec.index_map
        unread = index_map is not None and index_map.components is None
        if spec.hidden_map or (unread and spec_key(spec) not in pinned):
            raise refused(
                shape,
                "index-map-out-of-sight",
                "what an index map returns is not in sight",
                line=spec.line,
            )


def spec_key(spec: SpecFacts) -> int:
    """What tells one spec of a file from another: where its call starts."""
    return -1 if spec.span is None else spec.span.start


__all__ = ["covered_bounds", "spec_key"]
