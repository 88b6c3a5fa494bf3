"""Names for the live count and what goes with it, taken from the code's own words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pallas_static_grid.analysis.kernel_facts import AxisFacts, LaunchShape
from pallas_static_grid.rewrite.names import fresh

_COUNTS = frozenset({"num", "n", "number", "of", "count", "counts", "total", "nr", "no", "max"})
_LIVE = frozenset({"active", "live", "used", "valid", "real", "actual", "curr", "current"})
_DIVIDED = re.compile(r"cdiv|//")
_LENGTH = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


@dataclass(frozen=True, slots=True)
class AxisNames:
    """What the things around one dynamic axis are called."""

    noun: str
    """What its steps are, in the plural: `blocks`."""
    count: str
    """The operand with the live count, at the launch: `num_live_blocks`."""
    ref: str
    """Its ref in the kernel: `num_live_ref`."""

    @property
    def words(self) -> str:
        """The noun in prose: `row blocks`."""
        return self.noun.replace("_", " ")

    @property
    def one(self) -> str:
        """One step: `block`."""
        return singular(self.noun)


def singular(noun: str) -> str:
    """`blocks` -> `block`, `entries` -> `entry`."""
    if noun.endswith("ies"):
        return f"{noun[:-3]}y"
    if noun.endswith(("sses", "ches", "shes", "xes")):
        return noun[:-2]
    return noun[:-1] if noun.endswith("s") and not noun.endswith("ss") else noun


def axis_names(
    shape: LaunchShape, outside: frozenset[str], inside: frozenset[str]
) -> dict[int, AxisNames]:
    """Names per dynamic axis; `outside` and `inside` are taken at the launch, in the kernel."""
    axes = [axis for axis in shape.axes if axis.dynamic]
    nouns = {axis.index: noun_of(axis) for axis in axes}
    if len(set(nouns.values())) < len(nouns):
        nouns = {axis.index: _longer_noun(axis) for axis in axes}
    if len(set(nouns.values())) < len(nouns):
        nouns = {axis.index: f"steps_{axis.index}" for axis in axes}
    out: dict[int, AxisNames] = {}
    taken_outside, taken_inside = set(outside), set(inside)
    for axis in axes:
        noun = nouns[axis.index]
        count = fresh(frozenset(taken_outside), f"num_live_{noun}", f"live_{noun}_count")
        wanted = "num_live_ref" if len(axes) == 1 else f"num_live_{noun}_ref"
        ref = fresh(frozenset(taken_inside), wanted, f"live_{noun}_count_ref")
        taken_outside.add(count)
        taken_inside.add(ref)
        out[axis.index] = AxisNames(noun, count, ref)
    return out


def noun_of(axis: AxisFacts) -> str:
    """What the steps of an axis are: from its name, the count's name, or the arithmetic."""
    if axis.name is not None and axis.name.isidentifier() and len(axis.name) > 1:
        return axis.name if axis.name.endswith("s") else f"{axis.name}s"
    text = "" if axis.code is None else axis.code.text
    words = _words(text)
    if words and words[-1].endswith("s") and len(words[-1]) > 3:
        return "_".join(words[-2:])
    return "blocks" if _DIVIDED.search(text) else "steps"


def _words(text: str) -> list[str]:
    """The words of a count's name without those that say that it is a count."""
    match = re.fullmatch(r"(?:[A-Za-z_]\w*\.)*([A-Za-z_]\w*)(?:\[-?\d+\])?", text)
    if match is None:
        return []
    words = [w.lower() for w in match.group(1).split("_") if w]
    return [w for w in words if w not in _COUNTS and w not in _LIVE]


def _longer_noun(axis: AxisFacts) -> str:
    """A noun that also says of what: `pl.cdiv(num_rows, 8)` -> `row_blocks`."""
    text = "" if axis.code is None else axis.code.text
    noun = noun_of(axis)
    for name in _LENGTH.findall(text):
        words = [w for w in _words(name) if w not in ("pl", "cdiv", "jnp", "minimum")]
        if words:
            stem = "_".join(words[-2:])
            return stem if stem == noun else f"{singular(stem)}_{noun}"
    return f"{noun}_{axis.index}"


__all__ = ["AxisNames", "axis_names", "noun_of", "singular"]
