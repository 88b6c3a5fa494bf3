"""What is said about a rewrite wherever it is shown: chain, bound, evidence, assumptions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pallas_static_grid.model import Bound, Launch, Refusal, Rewrite, Step

_KINDS = {
    "value": "by value",
    "range": "from what the launch addresses",
    "user": "given by the user",
}


def one_line(text: str) -> str:
    """`text` on one line, without control characters."""
    joined = " ".join(text.split())
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in joined)


def place(launch: Launch) -> str:
    """`path:line` of a launch."""
    return f"{one_line(launch.path)}:{launch.line}"


def title(rewrite: Rewrite) -> str:
    """One line that names a rewrite: where, in what function, by which transforms, how safe."""
    transforms = ", ".join(plan.transform for plan in rewrite.plans)
    return f"{place(rewrite.launch)} {rewrite.launch.function} ({transforms}; {rewrite.safety})"


def reason(rewrite: Rewrite) -> str:
    """What a rewrite does, in a sentence or a few."""
    text = "; ".join(one_line(plan.summary).rstrip(".") for plan in rewrite.plans) + "."
    first = text.split(" ", 1)[0]
    return text[0].upper() + text[1:] if first.isalpha() and first.islower() else text


def rewrite_notes(rewrite: Rewrite) -> list[str]:
    """The lines that a reviewer reads above the diff of a rewrite."""
    lines = [title(rewrite)]
    for plan in rewrite.plans:
        label = f"{plan.transform} ({plan.safety}): " if len(rewrite.plans) > 1 else ""
        lines.append(f"  {label}{one_line(plan.summary)}")
    lines.extend(f"  {line}" for line in chain_notes(rewrite.launch))
    lines.extend(f"  note: {one_line(note)}" for note in rewrite.notes)
    return lines


def chain_notes(launch: Launch) -> Iterator[str]:
    """Why a launch's grid is what it is, dimension by dimension, and what bounds it."""
    yield from _steps(launch.why, "  ")
    for dim in launch.dims:
        if dim.verdict == "static":
            continue
        yield f"grid[{dim.index}] = {one_line(dim.expression)} is {dim.verdict}:"
        yield from _steps(dim.why, "  ")
        if dim.bound is not None:
            yield from bound_notes(dim.bound)


def bound_notes(bound: Bound) -> Iterator[str]:
    """A bound, its evidence, and what it assumes."""
    yield f"  bound {one_line(bound.expression)}, {_KINDS[bound.kind]}:"
    yield from _steps(bound.evidence, "    ")
    for assumption in bound.assumes:
        yield f"  assumes: {one_line(assumption)}"


def refusal_note(refusal: Refusal) -> str:
    """A refusal on one line."""
    where = f"{one_line(refusal.path)}:{refusal.line}"
    return f"refused ({refusal.code}): {one_line(refusal.reason)} [{where}]"


def step_note(step: Step) -> str:
    """One step of a chain on one line."""
    where = f"{one_line(step.path)}:{step.line}"
    text = one_line(step.text)
    why = one_line(step.reason)
    return f"{where}: {text}  ({why})" if text else f"{where}: {why}"


def _steps(steps: Sequence[Step], indent: str) -> Iterator[str]:
    for step in steps:
        yield indent + step_note(step)
