"""The refusals that no transform gives: what users ask for, and what fails a check."""

from __future__ import annotations

import traceback
from collections.abc import Sequence

from pallas_static_grid.model import Launch, Refusal


def ignored(launch: Launch) -> Refusal:
    """A pragma covers the launch."""
    return Refusal(
        "ignored",
        "a pragma leaves this launch alone",
        launch.path,
        launch.line,
        "remove the pragma to have it rewritten",
    )


def declined(launch: Launch, reason: str = "the rewrite was declined") -> Refusal:
    """The user said no."""
    return Refusal(
        "declined", reason, launch.path, launch.line, "run apply again and accept the rewrite"
    )


def needs_review(launch: Launch, transforms: Sequence[str]) -> Refusal:
    """Only safe rewrites are wanted, and this one is not."""
    return Refusal(
        "needs-review",
        f"the rewrite ({', '.join(transforms)}) is labelled review, and only safe ones are wanted",
        launch.path,
        launch.line,
        "run without --safe-only and review what the patch assumes",
    )


def shared_with_ignored(launch: Launch, other: Launch) -> Refusal:
    """The edit would reach a launch that a pragma protects."""
    return Refusal(
        "shared-definition",
        f"the edit for the launch on line {launch.line} would also change the one on line "
        f"{other.line}, which a pragma leaves alone",
        other.path,
        other.line,
        "give the two launches grids of their own, or remove the pragma",
    )


def check_failed(launch: Launch, reason: str) -> Refusal:
    """A rewrite did not pass the check of its result."""
    return Refusal(
        "check-failed",
        f"a rewrite was made and thrown away: {reason}",
        launch.path,
        launch.line,
        "rewrite this launch by hand, and report this fault of the tool",
    )


def nothing_applies(launch: Launch, *, bare: bool, ranks: Sequence[int] = ()) -> Refusal:
    """No transform says anything about a dynamic launch.

    `bare`: its grid is no tuple at all. `ranks`: how many dimensions its grids have, where that
    depends on the path.
    """
    if bare:
        return Refusal(
            "bare-grid",
            f"the grid `{launch.grid}` is an array by itself, which `pallas_call` does not take",
            launch.path,
            launch.why[0].line if launch.why else launch.line,
            f"write it as a tuple, `grid=({launch.grid},)`, and run again",
        )
    if len(ranks) > 1:
        *most, last = map(str, ranks)
        return Refusal(
            "not-supported",
            f"the grid has {', '.join(most)} or {last} dimensions, depending on the path, and one "
            "guard serves one number of them",
            launch.path,
            launch.line,
            "launch on each path by itself, each with a grid and specs of its own, and run again",
        )
    return Refusal(
        "not-supported",
        "no transform covers this form of grid",
        launch.path,
        launch.line,
        "make the grid static by hand",
    )


def not_selected(launch: Launch, name: str) -> Refusal:
    """A transform that is left out would take the launch."""
    return Refusal(
        "not-selected",
        f"{name} applies here, but it is not among the selected transforms",
        launch.path,
        launch.line,
        f"select it with --select {name}",
    )


def described(error: Exception) -> str:
    """An exception on one line, with the place in this package where it arose."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno})" if frames else ""
    return " ".join(f"{type(error).__name__}: {error}".split()) + place
