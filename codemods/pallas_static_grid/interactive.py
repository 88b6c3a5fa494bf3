"""`apply --interactive`: one question per rewrite; what is accepted is written at once."""

from __future__ import annotations

import sys
from collections import deque
from dataclasses import dataclass, field, replace

import click
from rich.console import Console

from pallas_static_grid.console import coloured, say
from pallas_static_grid.editor import EditorFailed, edit_patch
from pallas_static_grid.model import (
    Changed,
    Clean,
    Failed,
    FileReport,
    Launch,
    Options,
    Refusal,
    Rewrite,
)
from pallas_static_grid.patching import DoesNotApply, apply_patch
from pallas_static_grid.pragmas import with_pragma
from pallas_static_grid.reasons import declined, ignored
from pallas_static_grid.render.notes import place, rewrite_notes
from pallas_static_grid.render.terminal import make_console, show_rewrite
from pallas_static_grid.run import Run, examine_alone
from pallas_static_grid.settings import Settings
from pallas_static_grid.source import Source, decode
from pallas_static_grid.write import write_file

KEYS = {
    "y": "yes, write this rewrite",
    "n": "no, leave this launch",
    "a": "all: write this one and all that follow",
    "q": "quit: leave this one and all that follow",
    "e": "edit the patch in $EDITOR, then write it",
    "s": "show the chain: why the grid is dynamic, and what bounds it",
    "i": "ignore: leave this launch, and leave a pragma that says so",
    "?": "this help",
}


class Quit(Exception):
    """No more questions."""


@dataclass(slots=True)
class _File:
    """A file whose rewrites are asked about, and what has become of it so far."""

    report: Changed
    source: Source
    accepted: list[Rewrite] = field(default_factory=list)
    left: dict[tuple[int, int], Refusal] = field(default_factory=dict)
    ignored: set[tuple[int, int]] = field(default_factory=set)
    failed: Failed | None = None

    def leave(self, launch: Launch, reason: str = "the rewrite was declined") -> None:
        """Note that a launch stays as it is."""
        self.left[_key(launch)] = declined(launch, reason)


def ask(run: Run, settings: Settings) -> Run:
    """Ask about every rewrite of a run; the reports then say what was written."""
    total = sum(len(report.rewrites) for report in run.reports if isinstance(report, Changed))
    session = _Session(settings, make_console(color=coloured(settings)), total)
    reports = tuple(
        session.file(report) if isinstance(report, Changed) else report for report in run.reports
    )
    return replace(run, reports=reports)


@dataclass(slots=True)
class _Session:
    settings: Settings
    console: Console
    total: int
    number: int = 0
    everything: bool = False
    over: bool = False
    pending: deque[str] = field(default_factory=deque)

    def file(self, changed: Changed) -> FileReport:
        """Ask about the rewrites of one file."""
        path = (self.settings.cwd / changed.path).resolve()
        source = decode(changed.path, changed.before, changed.patch_path, path)
        if isinstance(source, Failed):
            return source
        state = _File(changed, source)
        for planned in changed.rewrites:
            self.number += 1
            if not self.over and state.failed is None:
                try:
                    self._one(state, planned)
                except Quit:
                    self.over = True
            if self.over or state.failed is not None:
                state.left.setdefault(_key(planned.launch), declined(planned.launch))
        return _result(state)

    def _one(self, state: _File, planned: Rewrite) -> None:
        """One rewrite, planned anew where the file is no longer what it was planned on."""
        rewrite: Rewrite | None = planned
        if state.source.text != planned.before:
            rewrite = self._again(state.source, planned.ordinal)
        if rewrite is None:
            say(f"{place(planned.launch)}: the rewrite no longer applies, left alone")
            state.leave(planned.launch, "no longer applies after what was done above it")
        elif self.everything:
            self._accept(state, planned, rewrite)
        else:
            show_rewrite(self.console, rewrite, self.number, self.total)
            while not self._answered(state, planned, rewrite, self._answer()):
                pass

    def _answered(self, state: _File, planned: Rewrite, rewrite: Rewrite, key: str) -> bool:
        """Do what a key says; whether that settles the rewrite."""
        if key in ("y", "a"):
            self.everything = key == "a"
            self._accept(state, planned, rewrite)
        elif key == "n":
            state.leave(planned.launch)
        elif key == "q":
            raise Quit
        elif key == "i":
            return self._ignore(state, planned)
        elif key == "e":
            return self._edit(state, planned, rewrite)
        else:
            self._tell(rewrite, key)
            return False
        return True

    def _tell(self, rewrite: Rewrite, key: str) -> None:
        lines = [f"{name}  {meaning}" for name, meaning in KEYS.items()]
        for line in rewrite_notes(rewrite) if key == "s" else lines:
            self.console.print(line, soft_wrap=True)

    def _accept(self, state: _File, planned: Rewrite, rewrite: Rewrite) -> None:
        if _write(state, state.source.encode(rewrite.after)):
            state.accepted.append(replace(rewrite, launch=planned.launch))

    def _ignore(self, state: _File, planned: Rewrite) -> bool:
        launch = self._launch(state.source, planned.ordinal)
        text = None
        if launch is not None:
            text = with_pragma(state.source.text, launch.line, launch.end_line)
        if text is None:
            say("no line of this launch can carry a comment; answer n and write the pragma by hand")
            return False
        if _write(state, state.source.encode(text)):
            state.ignored.add(_key(planned.launch))
        return True

    def _edit(self, state: _File, planned: Rewrite, rewrite: Rewrite) -> bool:
        edited = self._edited(state.source, rewrite)
        if isinstance(edited, str):
            say(edited)
            return False
        notes = (*rewrite.notes, "the patch was edited by hand")
        launch = self._launch(edited, planned.ordinal)
        still = launch is not None and launch.verdict == "dynamic"
        self._accept(state, planned, replace(rewrite, after=edited.text, notes=notes))
        if still and state.failed is None:
            say("note: as edited, the grid of this launch is still dynamic")
            state.leave(planned.launch, "edited by hand, and still dynamic")
        return True

    def _edited(self, source: Source, rewrite: Rewrite) -> Source | str:
        """The file with the patch as the user edited it, or what is wrong with it."""
        try:
            patch = edit_patch(rewrite)
            if patch is None:
                return "nothing was saved; the rewrite is as it was"
            data = apply_patch(source.data, patch)
        except EditorFailed as error:
            return str(error)
        except DoesNotApply as error:
            return f"the edited patch does not apply: {error}"
        edited = decode(source.path, data, source.patch_path, source.file)
        if isinstance(edited, Failed):
            return f"the edited patch gives no Python file: {edited.message}"
        report = examine_alone(edited, self._options(), self.settings.cwd)
        if isinstance(report, Failed):
            return f"the file does not compile with the edited patch: {report.message}"
        return edited

    def _again(self, source: Source, ordinal: int) -> Rewrite | None:
        report = examine_alone(source, self._options(), self.settings.cwd, (ordinal,))
        return report.rewrites[0] if isinstance(report, Changed) else None

    def _launch(self, source: Source, ordinal: int) -> Launch | None:
        report = examine_alone(source, self._options(), self.settings.cwd, ())
        known = report.launches if isinstance(report, Clean | Changed) else ()
        return known[ordinal] if ordinal < len(known) else None

    def _options(self) -> Options:
        """Without `--only`, whose line numbers are those of the file as it was."""
        return replace(self.settings.options, only=())

    def _answer(self) -> str:
        self.console.print(f"Write this rewrite? [{','.join(KEYS)}] ", end="")
        sys.stdout.flush()
        try:
            key = _next_key(self.pending)
        except (KeyboardInterrupt, EOFError):
            key = "q"
        self.console.print(key if key.isprintable() else "")
        return key.lower()


def _next_key(pending: deque[str]) -> str:
    """The next key that is no blank; keys that were typed together wait in `pending`."""
    while True:
        while pending:
            key = pending.popleft()
            if key == "\x04":
                raise EOFError
            if not key.isspace():
                return key
        typed = click.getchar() if sys.stdin.isatty() else sys.stdin.read(1)
        if not typed:
            raise EOFError
        pending.extend("?" if typed.startswith("\x1b") else typed)  # arrows and the like


def _write(state: _File, data: bytes) -> bool:
    source = state.source
    assert source.file is not None
    state.failed = write_file(source.path, source.file, source.data, data)
    if state.failed is not None:
        return False
    written = decode(source.path, data, source.patch_path, source.file)
    if isinstance(written, Failed):
        state.failed = written
        return False
    state.source = written
    return True


def _result(state: _File) -> FileReport:
    """What became of a file."""
    if state.failed is not None:
        return state.failed
    launches = tuple(_settled(launch, state) for launch in state.report.launches)
    report = state.report
    if not state.accepted:
        return Clean(report.path, launches, report.warnings)
    return replace(
        report, launches=launches, rewrites=tuple(state.accepted), after=state.source.data
    )


def _settled(launch: Launch, state: _File) -> Launch:
    key = _key(launch)
    if key in state.ignored:
        return replace(launch, ignored=True, plans=(), refusal=ignored(launch))
    if key in state.left:
        return replace(launch, plans=(), refusal=state.left[key])
    return launch


def _key(launch: Launch) -> tuple[int, int]:
    return launch.line, launch.column
