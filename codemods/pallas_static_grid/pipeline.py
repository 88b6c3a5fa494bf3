"""Source to report: analyse, plan launch by launch, analyse the new text, plan on. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pallas_static_grid.analysis.project import Project
from pallas_static_grid.catalogue import TRANSFORMS
from pallas_static_grid.model import (
    Changed,
    Clean,
    Failed,
    FileReport,
    Launch,
    Options,
    Plan,
    Rewrite,
    Skipped,
)
from pallas_static_grid.nearest import nearest
from pallas_static_grid.pragmas import Pragma, Pragmas, find_pragmas
from pallas_static_grid.reasons import (
    declined,
    described,
    ignored,
    needs_review,
    shared_with_ignored,
)
from pallas_static_grid.source import Source, generated_marker
from pallas_static_grid.stages import Stage, Stages
from pallas_static_grid.syntax_errors import syntax_message

if TYPE_CHECKING:
    from pallas_static_grid.attempts import Attempt, Attempts


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
        return _Examination(Stages.of(source, options, project), chosen).report()
    except RecursionError:
        return Failed(source.path, "analyse", "gave up: the source is nested too deeply")
    except MemoryError:
        return Failed(source.path, "analyse", "gave up: out of memory")
    except Exception as error:  # a crash over one file must not end the run over the others
        return Failed(source.path, "analyse", f"internal error: {described(error)}")


@dataclass(slots=True)
class _Examination:
    """One file on its way through the pipeline."""

    stages: Stages
    chosen: Collection[int] | None
    attempts: Attempts | None = None
    shared: dict[int, tuple[Plan, ...]] = field(default_factory=dict)
    used: set[Pragma] = field(default_factory=set)
    warnings: list[str] = field(default_factory=list)

    @property
    def source(self) -> Source:
        """The file."""
        return self.stages.source

    @property
    def options(self) -> Options:
        """What is wanted."""
        return self.stages.options

    def report(self) -> FileReport:
        """Look at the file, plan, and say what came out."""
        source = self.source
        marker = None if self.options.include_generated else generated_marker(source.text)
        if marker is not None:
            return Skipped(source.path, f"generated ({marker})")
        pragmas = find_pragmas(source.text)
        try:
            stage = self.stages.original()
        except SyntaxError as error:
            if pragmas.ignore_file is not None:
                return Skipped(source.path, _file_pragma(pragmas.ignore_file))
            return Failed(source.path, "parse", syntax_message(error, source.text))
        if pragmas.ignore_file is not None:
            reason = _file_pragma(pragmas.ignore_file)
            launches = tuple(_ignored(facts.launch) for facts in stage.facts)
            if not launches:
                return Skipped(source.path, reason)
            return Clean(source.path, self._listed(launches), (), reason)
        return self._rewritten(stage, pragmas)

    def _rewritten(self, original: Stage, pragmas: Pragmas) -> FileReport:
        source = self.source
        stage = original
        launches: list[Launch] = []
        rewrites: list[Rewrite] = []
        for ordinal in range(len(original.facts)):
            launch, made = self._one(original, stage, ordinal, pragmas)
            launches.append(launch)
            if made is not None and made.stage is not None:
                before, stage = stage, made.stage
                together = [
                    other
                    for other, verdict in enumerate(before.verdicts)
                    if other != ordinal and verdict == "dynamic" != stage.verdicts[other]
                ]
                for other in together:
                    self.shared[other] = _shared_plans(made.plans, launch)
                rewrites.append(self._rewrite(ordinal, launch, made, before, original, together))
        for other, plans in self.shared.items():
            launches[other] = replace(launches[other], plans=plans, refusal=None)
        self._pragma_warnings(pragmas)
        listed, notes = self._listed(launches), tuple(self.warnings)
        if not rewrites:
            return Clean(source.path, listed, notes)
        after = self.stages.encoded(stage.text)
        return Changed(
            source.path, listed, tuple(rewrites), source.data, after, notes, source.patch_path
        )

    def _rewrite(
        self,
        ordinal: int,
        launch: Launch,
        made: Attempt,
        before: Stage,
        original: Stage,
        together: Sequence[int],
    ) -> Rewrite:
        """The unit of review: a launch with all that is done for it, and what it does besides."""
        assert made.stage is not None
        lines = [original.facts[other].launch.line for other in together]
        notes = (
            *made.notes,
            *(f"the launch on line {line} becomes static with this edit" for line in lines),
        )
        return Rewrite(
            ordinal,
            replace(launch, dims=made.launch.dims),
            made.plans,
            self.stages.exact(before.text),
            self.stages.exact(made.stage.text),
            notes,
            self.stages.diff(before.text, made.stage.text),
        )

    def _one(
        self, original: Stage, stage: Stage, ordinal: int, pragmas: Pragmas
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
        if stage.facts[ordinal].launch.verdict != "dynamic":
            return launch, None
        if self.chosen is not None and ordinal not in self.chosen:
            return replace(launch, refusal=declined(launch)), None
        attempt = self._attempt(original, stage, ordinal)
        named = [pragma for pragma in covering if attempt.involved & set(pragma.transforms)]
        if named:
            self.used.update(named)
            return _ignored(launch), None
        attempt = self._allowed(original, stage, ordinal, attempt, pragmas)
        if attempt.stage is None:
            return replace(launch, refusal=attempt.refusal), None
        return replace(launch, plans=attempt.plans), attempt

    def _attempt(self, original: Stage, stage: Stage, ordinal: int) -> Attempt:
        if self.attempts is None:
            from pallas_static_grid.attempts import Attempts

            self.attempts = Attempts.on(self.stages, original)
        attempt = self.attempts.attempt(stage, ordinal)
        if attempt.warning is not None:
            self.warnings.append(attempt.warning)
        return attempt

    def _allowed(
        self, original: Stage, stage: Stage, ordinal: int, attempt: Attempt, pragmas: Pragmas
    ) -> Attempt:
        """The attempt, or a refusal where it may not be made."""
        if attempt.stage is None:
            return attempt
        launch = original.facts[ordinal].launch
        review = [plan.transform for plan in attempt.plans if plan.safety == "review"]
        if self.options.safe_only and review:
            return replace(attempt, stage=None, refusal=needs_review(launch, review))
        for other, facts in enumerate(original.facts):
            changed = stage.verdicts[other] != attempt.stage.verdicts[other]
            covered = pragmas.covering(facts.launch.line, facts.launch.end_line)
            if other != ordinal and changed and covered:
                refusal = shared_with_ignored(launch, facts.launch)
                return replace(attempt, stage=None, refusal=refusal)
        return attempt

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


def _unknown_names(pragmas: Pragmas) -> list[str]:
    return [
        f"line {pragma.line}: no transform is called {name!r}; "
        f"did you mean {nearest(name, TRANSFORMS)!r}?"
        for pragma in pragmas.pragmas
        for name in pragma.transforms
        if name not in TRANSFORMS
    ]


def _shared_plans(plans: Sequence[Plan], launch: Launch) -> tuple[Plan, ...]:
    """The plans of a launch that becomes static by what is done for another one."""
    summary = f"becomes static together with the launch on line {launch.line}"
    return tuple(Plan(plan.transform, plan.safety, summary, "") for plan in plans)


def _file_pragma(pragma: Pragma) -> str:
    return f"ignored (`{pragma.text}`, line {pragma.line})"


def _ignored(launch: Launch) -> Launch:
    refusal = ignored(launch) if launch.verdict == "dynamic" else None
    return replace(launch, ignored=True, plans=(), refusal=refusal)
