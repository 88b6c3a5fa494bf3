"""The guard's text: condition, comment, and what dead steps do with aliased blocks."""

from __future__ import annotations

from dataclasses import dataclass

from pallas_static_grid.transforms.masking.draft import Draft


@dataclass(frozen=True, slots=True)
class Keep:
    """An aliased block that a dead step hands on: `out_ref[...] = in_ref[...]`."""

    out_ref: str
    in_ref: str
    only_when_empty: bool
    """Just where no step is live at all (the block is pinned), instead of on every dead step."""
    may_be_absent: bool = False
    """The operand may be None."""


def live_condition(draft: Draft, steps: dict[int, str]) -> str:
    """Whether this step is live; `steps` is the text of each axis' step."""
    parts = [f"{steps[axis.index]} < {draft.reads[axis.index]}" for axis in draft.dynamic]
    return parts[0] if len(parts) == 1 else " & ".join(f"({part})" for part in parts)


def empty_condition(draft: Draft) -> str:
    """Whether no step of the launch is live."""
    parts = [f"{draft.reads[axis.index]} <= 0" for axis in draft.dynamic]
    return parts[0] if len(parts) == 1 else " | ".join(f"({part})" for part in parts)


def comment(draft: Draft) -> str:
    """Why there is a guard."""
    nouns = [draft.names[axis.index].words for axis in draft.dynamic]
    what = nouns[0] if len(nouns) == 1 else "steps"
    return f"# The grid is as long as it can get; {what} past the live ones do nothing."


def function_name(draft: Draft) -> str:
    """What the guarded body is called."""
    first = draft.dynamic[0]
    return f"_live_{draft.names[first.index].one}" if len(draft.dynamic) == 1 else "_live_step"


def guard_header(pl: str, condition: str, name: str, why: str) -> str:
    """The lines above the guarded statements."""
    return f"{why}\n@{pl}.when({condition})\ndef {name}():"


def keep_blocks(draft: Draft, pl: str, dead: str, keeps: tuple[Keep, ...], unit: str) -> list[str]:
    """The blocks of code that hand aliased blocks on; `dead` is the condition of a dead step."""
    out: list[str] = []
    always = [keep for keep in keeps if not keep.only_when_empty]
    if always:
        lines = [f"{unit}{keep.out_ref}[...] = {keep.in_ref}[...]" for keep in always]
        out.append(
            "# An aliased block is written back in any case: dead steps keep what it held.\n"
            f"@{pl}.when({dead})\ndef _keep():\n" + "\n".join(lines)
        )
    rare = [keep for keep in keeps if keep.only_when_empty]
    certain = [keep for keep in rare if not keep.may_be_absent]
    if certain:
        out.append(_hand_through(draft, pl, certain, unit))
    for keep in (keep for keep in rare if keep.may_be_absent):
        block = _hand_through(draft, pl, [keep], unit)
        inner = "\n".join(f"{unit}{line}" for line in block.split("\n"))
        out.append(f"if {keep.in_ref} is not None:\n{inner}")
    return out


def _hand_through(draft: Draft, pl: str, keeps: list[Keep], unit: str) -> str:
    lines = [f"{unit}{keep.out_ref}[...] = {keep.in_ref}[...]" for keep in keeps]
    return (
        "# With nothing live, the block is still written back: hand it through.\n"
        f"@{pl}.when({empty_condition(draft)})\ndef _keep():\n" + "\n".join(lines)
    )


__all__ = [
    "Keep",
    "comment",
    "empty_condition",
    "function_name",
    "guard_header",
    "keep_blocks",
    "live_condition",
]
