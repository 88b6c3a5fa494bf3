"""The texts that a file goes through while it is rewritten, each with its launches."""

from __future__ import annotations

from dataclasses import dataclass

from pallas_static_grid import analysis
from pallas_static_grid.analysis.facts import LaunchFacts
from pallas_static_grid.analysis.modules import parse_module
from pallas_static_grid.analysis.project import Project
from pallas_static_grid.model import Options
from pallas_static_grid.newlines import LineEnds
from pallas_static_grid.render.unified import unified_diff
from pallas_static_grid.source import Source


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
class Stages:
    """Makes the stages of one file."""

    source: Source
    options: Options
    project: Project
    line_ends: LineEnds

    @classmethod
    def of(cls, source: Source, options: Options, project: Project) -> Stages:
        """For one file; its stages are texts whose lines end at LF."""
        return cls(source, options, project, LineEnds.of(source.text))

    def original(self) -> Stage:
        """The file as it is."""
        return self.stage(self.line_ends.plain)

    def stage(self, text: str) -> Stage:
        """Analyse `text` as the content of the file; raises SyntaxError."""
        file = self.source.file
        module = parse_module(
            self.source.path,
            text,
            self.project.module_name(file) if file is not None else "",
            is_package=file is not None and file.name == "__init__.py",
            file=file,
        )
        bounds = tuple(bound for bound in self.options.bounds if bound.path == self.source.path)
        return Stage(text, tuple(analysis.analyse(module, self.project, bounds)))

    def exact(self, text: str) -> str:
        """The text of a stage as it is written, with the line ends of the file."""
        return self.line_ends.restore(text)

    def encoded(self, text: str) -> bytes:
        """The bytes of the file for the text of a stage; raises UnicodeEncodeError."""
        return self.source.encode(self.exact(text))

    def diff(self, before: str, after: str) -> str:
        """The patch between the texts of two stages."""
        return unified_diff(self.encoded(before), self.encoded(after), self.source.patch_path)
