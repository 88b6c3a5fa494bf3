"""Source to report: analyse, plan launch by launch, analyse the new text, plan on. Pure."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from pallas_static_grid import analysis
from pallas_static_grid.analysis.facts import LaunchFacts
from pallas_static_grid.analysis.modules import parse_module
from pallas_static_grid.analysis.project import Project
from pallas_static_grid.lines import LineMap
from pallas_static_grid.model import (
    Changed,
    Clean,
    EditGroup,
    Failed,
    FileReport,
    Launch,
    Options,
    Plan,
    Refusal,
    Rewrite,
    Skipped,
    UserBound,
)
from pallas_static_grid.newlines import fit_newlines
from pallas_static_grid.pragmas import Pragma, Pragmas, find_pragmas
from pallas_static_grid.render.unified import unified_diff
from pallas_static_grid.rewrite import edits
from pallas_static_grid.source import Source, generated_marker
from pallas_static_grid.syntax_errors import syntax_message
from pallas_static_grid.transforms.base import PlanContext, Transform
from pallas_static_grid.transforms.planning import (
    not_selected,
    nothing_applies,
    plan_launch,
    usable,
)

_ROUNDS = 8
"""More transforms than any launch takes; a plan that needs more does not come to an end."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A text on the way from the original to the rewritten one, and its launches."""

    text: str
    facts: tuple[LaunchFacts, ...]

    @property
    def verdicts(self) -> tuple[str, ...]:
        """The verdict of each launch."""
        return tuple(facts.launch.verdict for facts in self.facts)


@dataclass(frozen=True, slots=True)
class Attempt:
    """What trying to make one launch static led to."""

    stage: Stage | None
    """The text in which the launch is static; None where it is refused."""
    plans: tuple[Plan, ...] = ()
    notes: tuple[str, ...] = ()
    refusal: Refusal | None = None
    involved: frozenset[str] = frozenset()
    """The transforms that planned or refused."""
    shown: Launch | None = None
    """The launch with dimensions, where the original has none (a callable grid)."""


class BadRewrite(Exception):
    """A rewrite does not hold what it promises; it is thrown away."""


def examine(
    source: Source,
    options: Options,
    project: Project,
    chosen: Collection[int] | None = None,
) -> FileReport:
    """The report on one file; a failure is a report too.

    `chosen` are the launches (counted in source order) that may be rewritten, None for all.
    """
    try:
        return _Examination(source, options, project, chosen).report()
    except RecursionError:
        return Failed(source.path, "analyse", "gave up: the source is nested too deeply")
    except MemoryError:
        return Failed(source.path, "analyse", "gave up: out of memory")
    except Exception as error:  # a crash over one file must not end the run over the others
        return Failed(source.path, "analyse", f"internal error: {_described(error)}")


@dataclass(slots=True)
class _Examination:
    """One file on its way through the pipeline."""

    source: Source
    options: Options
    project: Project
    chosen: Collection[int] | None
    used: set[Pragma] = field(default_factory=set)
    warnings: list[str] = field(default_factory=list)
    line_length: int | None = None

    def report(self) -> FileReport:
        """Look at the file, plan, and say what came out."""
        source = self.source
        marker = None if self.options.include_generated else generated_marker(source.text)
        if marker is not None:
            return Skipped(source.path, f"generated ({marker})")
        pragmas = find_pragmas(source.text)
        try:
            stage = self._stage(source.text)
        except SyntaxError as error:
            if pragmas.ignore_file is not None:
                return Skipped(source.path, _file_pragma(pragmas.ignore_file))
            return Failed(source.path, "parse", syntax_message(error, source.text))
        if pragmas.ignore_file is not None:
            launches = tuple(_ignored(facts.launch) for facts in stage.facts)
            if not launches:
                return Skipped(source.path, _file_pragma(pragmas.ignore_file))
            reason = _file_pragma(pragmas.ignore_file)
            return Clean(source.path, self._listed(launches), (), reason)
        return self._rewritten(stage, pragmas)

    def _rewritten(self, original: Stage, pragmas: Pragmas) -> FileReport:
        source = self.source
        stage = original
        launches: list[Launch] = []
        rewrites: list[Rewrite] = []
        for ordinal in range(len(original.facts)):
            launch, made = self._one(original, stage, ordinal, pragmas, rewrites)
            launches.append(launch)
            if made is not None:
                before, stage = stage, made.stage or stage
                rewrites.append(self._rewrite(ordinal, launch, made, before.text, stage.text))
        self._pragma_warnings(pragmas)
        listed = self._listed(launches)
        notes = tuple(self.warnings)
        if not rewrites:
            return Clean(source.path, listed, notes)
        return Changed(
            source.path,
            listed,
            tuple(rewrites),
            source.data,
            source.encode(stage.text),
            notes,
            source.patch_path,
        )

    def _rewrite(
        self, ordinal: int, launch: Launch, made: Attempt, before: str, after: str
    ) -> Rewrite:
        shown = launch if made.shown is None else replace(launch, dims=made.shown.dims)
        patch = self._diff(before, after)
        return Rewrite(ordinal, shown, made.plans, before, after, made.notes, patch)

    def _one(
        self,
        original: Stage,
        stage: Stage,
        ordinal: int,
        pragmas: Pragmas,
        rewrites: Sequence[Rewrite],
    ) -> tuple[Launch, Attempt | None]:
        """One launch as it is to be reported, and its rewrite if it gets one."""
        launch = original.facts[ordinal].launch
        covering = pragmas.covering(launch.line, launch.end_line)
        whole = [pragma for pragma in covering if not pragma.transforms]
        if whole:
            self.used.update(whole if launch.verdict != "static" else ())
            return _ignored(launch), None
        if launch.verdict != "dynamic" or not self._selected(launch):
            return launch, None
        if self.chosen is not None and ordinal not in self.chosen:
            return replace(launch, refusal=_declined(launch)), None
        if stage.facts[ordinal].launch.verdict != "dynamic":
            return replace(launch, plans=_shared_plans(rewrites), refusal=None), None
        attempt = self._attempt(original, stage, ordinal)
        named = [pragma for pragma in covering if attempt.involved & set(pragma.transforms)]
        if named:
            self.used.update(named)
            return _ignored(launch), None
        attempt = self._checked(original, stage, ordinal, attempt, pragmas)
        if attempt.stage is None:
            return replace(launch, refusal=attempt.refusal or nothing_applies(launch)), None
        return replace(launch, plans=attempt.plans, refusal=None), attempt

    def _attempt(self, original: Stage, stage: Stage, ordinal: int) -> Attempt:
        """Transform after transform until the launch is static; all of them or none."""
        launch = original.facts[ordinal].launch
        try:
            return self._transformed(original, stage, ordinal)
        except (BadRewrite, edits.EditConflict) as error:
            reason = str(error)
        except RecursionError:
            reason = "the source is nested too deeply"
        except Exception as error:  # a fault in one transform leaves the other launches alone
            reason = _described(error)
        self.warnings.append(f"line {launch.line}: a rewrite was thrown away: {reason}")
        return Attempt(None, refusal=_check_failed(launch, reason))

    def _transformed(self, original: Stage, stage: Stage, ordinal: int) -> Attempt:
        from pallas_static_grid.transforms import TRANSFORMS

        transforms = usable(TRANSFORMS, self.options)
        context = PlanContext(
            self.options.target, self.options.mask_free, self._line_length(original)
        )
        plans: list[Plan] = []
        notes: list[str] = []
        shown: Launch | None = None
        for _ in range(_ROUNDS):
            facts = stage.facts[ordinal]
            if facts.launch.verdict != "dynamic":
                notes.extend(_unknown_left(original.facts[ordinal].launch, facts.launch))
                self._compiles(stage.text)
                involved = frozenset(plan.transform for plan in plans)
                return Attempt(stage, tuple(plans), tuple(notes), None, involved, shown)
            if plans and facts.launch.dims and not original.facts[ordinal].launch.dims:
                shown = LineMap(original.text, stage.text).launch(facts.launch)
            decision = plan_launch(facts, context, transforms)
            if decision.group is None:
                refusal = decision.refusal or self._unselected(facts, context, TRANSFORMS)
                names = frozenset(name for name, _ in decision.refusals)
                if refusal is not None:
                    back = LineMap(original.text, stage.text)
                    refusal = back.refusal(refusal, self.source.path)
                return Attempt(None, refusal=refusal, involved=names)
            after = self._apply(stage, decision.group, ordinal)
            group = decision.group
            patch = self._diff(stage.text, after.text)
            plans.append(Plan(group.transform, group.safety, group.summary, patch))
            notes.extend(group.notes)
            stage = after
        raise BadRewrite(f"the launch is still dynamic after {_ROUNDS} transforms")

    def _line_length(self, original: Stage) -> int:
        """The line length of the file: as configured, or as its own lines show; found once."""
        from pallas_static_grid.rewrite.style import style_of

        if self.line_length is None:
            module = original.facts[0].module
            self.line_length = self.options.line_length or style_of(module).line_length
        return self.line_length

    def _unselected(
        self, facts: LaunchFacts, context: PlanContext, transforms: Sequence[Transform]
    ) -> Refusal | None:
        """The refusal that names a default transform which was left out and would apply."""
        defaults = usable(transforms, Options())
        left_out = [t for t in defaults if t not in usable(transforms, self.options)]
        group = plan_launch(facts, context, left_out).group
        return None if group is None else not_selected(facts.launch, group.transform)

    def _apply(self, stage: Stage, group: EditGroup, ordinal: int) -> Stage:
        fitted = [fit_newlines(stage.text, edit, self.source.newline) for edit in group.edits]
        text = edits.apply(stage.text, fitted)
        if text == stage.text:
            raise BadRewrite(f"{group.transform} changed nothing")
        try:
            self.source.encode(text)
            after = self._stage(text)
        except UnicodeEncodeError as error:
            raise BadRewrite(f"the result cannot be written as {self.source.encoding}") from error
        except SyntaxError as error:
            raise BadRewrite(f"the result does not parse: {error}") from error
        if len(after.facts) != len(stage.facts):
            raise BadRewrite(f"{group.transform} changed the number of launches")
        for other, (old, new) in enumerate(zip(stage.verdicts, after.verdicts, strict=True)):
            if other != ordinal and old == "static" != new:
                line = stage.facts[other].launch.line
                raise BadRewrite(f"the launch on line {line} would no longer be static")
        return after

    def _checked(
        self, original: Stage, stage: Stage, ordinal: int, attempt: Attempt, pragmas: Pragmas
    ) -> Attempt:
        """The attempt, or a refusal where it may not be made."""
        if attempt.stage is None:
            return attempt
        launch = original.facts[ordinal].launch
        review = [plan.transform for plan in attempt.plans if plan.safety == "review"]
        if self.options.safe_only and review:
            return replace(attempt, stage=None, refusal=_needs_review(launch, review))
        for other, facts in enumerate(original.facts):
            changed = stage.verdicts[other] != attempt.stage.verdicts[other]
            covered = pragmas.covering(facts.launch.line, facts.launch.end_line)
            if other != ordinal and changed and covered:
                return replace(
                    attempt, stage=None, refusal=_shared_with_ignored(launch, facts.launch)
                )
        return attempt

    def _compiles(self, text: str) -> None:
        """Raise BadRewrite for what only the compiler finds (two parameters of one name)."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                compile(text, self.source.path, "exec", dont_inherit=True)
            except (SyntaxError, ValueError) as error:
                raise BadRewrite(f"the result does not compile: {error}") from error

    def _stage(self, text: str) -> Stage:
        file = self.source.file
        module = parse_module(
            self.source.path,
            text,
            self.project.module_name(file) if file is not None else "",
            is_package=file is not None and file.name == "__init__.py",
            file=file,
        )
        return Stage(text, tuple(analysis.analyse(module, self.project, self._bounds())))

    def _bounds(self) -> tuple[UserBound, ...]:
        return tuple(bound for bound in self.options.bounds if bound.path == self.source.path)

    def _diff(self, before: str, after: str) -> str:
        source = self.source
        return unified_diff(source.encode(before), source.encode(after), source.patch_path)

    def _selected(self, launch: Launch) -> bool:
        """Whether `--only` leaves this launch."""
        if not self.options.only:
            return True
        lines = {line for path, line in self.options.only if path == launch.path}
        return any(
            launch.line <= line <= launch.end_line or line in launch.call_lines for line in lines
        )

    def _listed(self, launches: Sequence[Launch]) -> tuple[Launch, ...]:
        return tuple(launch for launch in launches if self._selected(launch))

    def _pragma_warnings(self, pragmas: Pragmas) -> None:
        for line, message in pragmas.malformed:
            self.warnings.append(f"line {line}: {message}")
        self.warnings.extend(_unknown_names(pragmas))
        if self.options.only or self.options.select or self.chosen is not None:
            return
        for pragma in pragmas.pragmas:
            if not pragma.whole_file and pragma not in self.used:
                self.warnings.append(f"line {pragma.line}: unused pragma `{pragma.text}`")


def _unknown_left(before: Launch, after: Launch) -> Iterator[str]:
    """Notes on dimensions that were and are unknown; any other one must be static by now."""
    if after.verdict == "static":
        return
    was = {dim.index for dim in before.dims if dim.verdict == "unknown"}
    for dim in after.dims:
        if dim.verdict == "unknown":
            if dim.index not in was:
                raise BadRewrite(f"grid[{dim.index}] is no longer known to be static or dynamic")
            yield (
                f"grid[{dim.index}] = {dim.expression} is left as it is: whether it is an int "
                "depends on code out of sight"
            )
    if after.grid_kind == "opaque":
        raise BadRewrite("the grid can no longer be read")


def _unknown_names(pragmas: Pragmas) -> list[str]:
    from pallas_static_grid.catalogue import TRANSFORMS as NAMES
    from pallas_static_grid.nearest import nearest

    return [
        f"line {pragma.line}: no transform is called {name!r}; "
        f"did you mean {nearest(name, NAMES)!r}?"
        for pragma in pragmas.pragmas
        for name in pragma.transforms
        if name not in NAMES
    ]


def _shared_plans(rewrites: Sequence[Rewrite]) -> tuple[Plan, ...]:
    """The plans of a launch that became static together with one above."""
    source = rewrites[-1]
    return tuple(
        Plan(
            plan.transform,
            plan.safety,
            f"becomes static together with the launch on line {source.launch.line}",
            "",
        )
        for plan in source.plans
    )


def _file_pragma(pragma: Pragma) -> str:
    return f"ignored (`{pragma.text}`, line {pragma.line})"


def _ignored(launch: Launch) -> Launch:
    refusal = None
    if launch.verdict == "dynamic":
        refusal = Refusal(
            "ignored",
            "a pragma leaves this launch alone",
            launch.path,
            launch.line,
            "remove the pragma to have it rewritten",
        )
    return replace(launch, ignored=True, plans=(), refusal=refusal)


def _declined(launch: Launch) -> Refusal:
    return Refusal("declined", "declined", launch.path, launch.line, "run again and accept it")


def _needs_review(launch: Launch, transforms: Sequence[str]) -> Refusal:
    return Refusal(
        "needs-review",
        f"the rewrite ({', '.join(transforms)}) is labelled review, and only safe ones are wanted",
        launch.path,
        launch.line,
        "run without --safe-only and review what the patch assumes",
    )


def _shared_with_ignored(launch: Launch, other: Launch) -> Refusal:
    return Refusal(
        "shared-definition",
        f"the same edit would change the launch on line {other.line}, which a pragma leaves alone",
        other.path,
        other.line,
        "give the two launches grids of their own, or remove the pragma",
    )


def _check_failed(launch: Launch, reason: str) -> Refusal:
    return Refusal(
        "check-failed",
        f"a rewrite was made and thrown away: {reason}",
        launch.path,
        launch.line,
        "rewrite this launch by hand, and report this fault of the tool",
    )


def _described(error: Exception) -> str:
    """An exception on one line, with the place in this package where it arose."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno})" if frames else ""
    return " ".join(f"{type(error).__name__}: {error}".split()) + place
