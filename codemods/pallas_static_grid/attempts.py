"""Making one launch static: transform after transform, all of them or none, and checked.

Importing this loads the transforms, which only a file with a dynamic launch needs.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from pallas_static_grid.analysis.facts import LaunchFacts
from pallas_static_grid.analysis.values import Array, Tuple, options
from pallas_static_grid.lines import LineMap
from pallas_static_grid.model import EditGroup, Launch, Options, Plan, Refusal
from pallas_static_grid.reasons import check_failed, described, not_selected, nothing_applies
from pallas_static_grid.rewrite import edits
from pallas_static_grid.rewrite.style import style_of
from pallas_static_grid.stages import Stage, Stages
from pallas_static_grid.transforms import TRANSFORMS, PlanContext
from pallas_static_grid.transforms.planning import plan_launch, usable

_ROUNDS = 8
"""More transforms than any launch takes; a plan that needs more does not come to an end."""


class BadRewrite(Exception):
    """A rewrite does not hold what it promises; it is thrown away."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What trying to make one launch static led to."""

    launch: Launch
    """As in the original; with the dimensions that a callable grid turned out to have."""
    stage: Stage | None = None
    """The text in which the launch is static; None where it is refused."""
    plans: tuple[Plan, ...] = ()
    notes: tuple[str, ...] = ()
    refusal: Refusal | None = None
    involved: frozenset[str] = frozenset()
    """The transforms that planned or refused."""
    warning: str | None = None


@dataclass(slots=True)
class Attempts:
    """Attempts on the launches of one file."""

    stages: Stages
    original: Stage
    line_length: int

    @classmethod
    def on(cls, stages: Stages, original: Stage) -> Attempts:
        """For a file with launches; its line length is configured, or read off its lines."""
        configured = stages.options.line_length
        return cls(stages, original, configured or style_of(original.facts[0].module).line_length)

    def attempt(self, stage: Stage, ordinal: int) -> Attempt:
        """Try to make the launch static, starting from `stage`; a fault is a refusal."""
        launch = self.original.facts[ordinal].launch
        try:
            return self._transformed(stage, ordinal)
        except (BadRewrite, edits.EditConflict) as error:
            reason = str(error)
        except RecursionError:
            reason = "the source is nested too deeply"
        except Exception as error:  # a fault in one transform leaves the other launches alone
            reason = described(error)
        warning = f"line {launch.line}: a rewrite was thrown away: {reason}"
        return Attempt(launch, refusal=check_failed(launch, reason), warning=warning)

    def _transformed(self, stage: Stage, ordinal: int) -> Attempt:
        options = self.stages.options
        context = PlanContext(options.target, options.mask_free, self.line_length)
        launch = self.original.facts[ordinal].launch
        plans: list[Plan] = []
        notes: list[str] = []
        for _ in range(_ROUNDS):
            facts = stage.facts[ordinal]
            if facts.launch.verdict != "dynamic":
                notes.extend(_unknown_left(launch, facts.launch))
                self._compiles(stage.text)
                used = frozenset(plan.transform for plan in plans)
                return Attempt(launch, stage, tuple(plans), tuple(notes), None, used)
            back = LineMap(self.original.text, stage.text)
            if facts.launch.dims and not launch.dims:
                launch = back.dimensions(launch, facts.launch)
            decision = plan_launch(facts, context, usable(TRANSFORMS, options))
            if decision.group is None:
                refusal = decision.refusal or self._left_out(facts, context)
                names = frozenset(name for name, _ in decision.refusals)
                return Attempt(launch, refusal=back.refusal(refusal, launch.path), involved=names)
            group, before = decision.group, stage
            stage = self._apply(before, group, ordinal)
            patch = self.stages.diff(before.text, stage.text)
            plans.append(Plan(group.transform, group.safety, group.summary, patch))
            notes.extend(group.notes)
        raise BadRewrite(f"the launch is still dynamic after {_ROUNDS} transforms")

    def _left_out(self, facts: LaunchFacts, context: PlanContext) -> Refusal:
        """The refusal where no transform says anything: one that is not selected may apply."""
        selected = usable(TRANSFORMS, self.stages.options)
        others = [t for t in usable(TRANSFORMS, Options()) if t not in selected]
        group = plan_launch(facts, context, others).group
        if group is None:
            grids = () if facts.grid is None else options(facts.grid)
            ranks = sorted({len(grid.items) for grid in grids if isinstance(grid, Tuple)})
            bare = isinstance(facts.grid, Array)
            return nothing_applies(facts.launch, bare=bare, ranks=ranks)
        return not_selected(facts.launch, group.transform)

    def _apply(self, stage: Stage, group: EditGroup, ordinal: int) -> Stage:
        """The stage after one transform; raises BadRewrite where it is not what it should be."""
        text = edits.apply(stage.text, group.edits)
        if text == stage.text:
            raise BadRewrite(f"{group.transform} changed nothing")
        try:
            self.stages.encoded(text)
            after = self.stages.stage(text)
        except UnicodeEncodeError as error:
            encoding = self.stages.source.encoding
            raise BadRewrite(f"the result cannot be written as {encoding}") from error
        except SyntaxError as error:
            raise BadRewrite(f"the result does not parse: {error}") from error
        if len(after.facts) != len(stage.facts):
            raise BadRewrite(f"{group.transform} changed the number of launches")
        for other, (old, new) in enumerate(zip(stage.verdicts, after.verdicts, strict=True)):
            if other != ordinal and old == "static" != new:
                line = stage.facts[other].launch.line
                raise BadRewrite(f"the launch on line {line} would no longer be static")
        return after

    def _compiles(self, text: str) -> None:
        """Raise BadRewrite for what only the compiler finds (two parameters of one name)."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                compile(text, self.stages.source.path, "exec", dont_inherit=True)
            except (SyntaxError, ValueError) as error:
                raise BadRewrite(f"the result does not compile: {error}") from error


def _unknown_left(before: Launch, after: Launch) -> Iterator[str]:
    """Notes on dimensions that were and are unknown; any other one must be static by now."""
    if after.verdict == "static":
        return
    if after.grid_kind == "opaque":
        raise BadRewrite("the grid can no longer be read")
    was = {dim.index for dim in before.dims if dim.verdict == "unknown"}
    for dim in after.dims:
        if dim.verdict == "unknown":
            # A function had no dimensions to judge before it became a tuple.
            if dim.index not in was and before.grid_kind != "callable":
                raise BadRewrite(f"grid[{dim.index}] is no longer known to be static or dynamic")
            yield (
                f"grid[{dim.index}] = {dim.expression} is left as it is: whether it is an int "
                "depends on code out of sight"
            )
