"""The texts that a file goes through while it is rewritten, each with its launches."""

from __future__ import annotations

from dataclasses import dataclass

from pallas_static_grid import analysis
from pallas_static_grid.analysis.facts import LaunchFacts
from pallas_static_grid.analysis.modules import parse_module
from pallas_static_grid.analysis.project import Project
from pallas_static_grid.model import Options
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

    def diff(self, before: str, after: str) -> str:
        """The patch between two texts of the file."""
        source = self.source
        return unified_diff(source.encode(before), source.encode(after), source.patch_path)
