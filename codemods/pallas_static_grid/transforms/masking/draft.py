"""A rewrite in the making: the module, the facts, and the edits collected so far."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from pallas_static_grid.analysis.facts import LaunchFacts
from pallas_static_grid.analysis.kernel_facts import AxisFacts, LaunchShape
from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.model import Edit, Target
from pallas_static_grid.rewrite.imports import member, needed
from pallas_static_grid.transforms.masking.naming import AxisNames


@dataclass(slots=True)
class Draft:
    """What the parts of a plan share; only `edits` and `notes` grow."""

    facts: LaunchFacts
    shape: LaunchShape
    target: Target
    unit: str
    """One level of indentation."""
    names: dict[int, AxisNames]
    counts: dict[int, str]
    """Per dynamic axis: the count at the launch, as source text."""
    reads: dict[int, str]
    """Per dynamic axis: the live count in the kernel, as source text (`num_live_ref[0]`)."""
    count_lines: list[tuple[int, str]] = field(default_factory=list)
    """Lines that read a count in the kernel before the statement with that number."""
    edits: list[Edit] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def module(self) -> ModuleContext:
        """The file."""
        return self.facts.module

    @property
    def dynamic(self) -> tuple[AxisFacts, ...]:
        """The dynamic axes."""
        return tuple(axis for axis in self.shape.axes if axis.dynamic)

    def name_of(self, wanted: str, at: ast.AST) -> str:
        """How a module such as `jax.numpy` is written at a node; imports it where needed."""
        found = needed(self.module, wanted, at, dotted=False)
        self.add(found.edits)
        return found.text

    def member_of(self, wanted: str, at: ast.AST) -> str:
        """How a module's member is written at a node; imports it where needed."""
        found = member(self.module, wanted, at)
        self.add(found.edits)
        return found.text

    def add(self, edits: tuple[Edit, ...] | list[Edit]) -> None:
        """Take edits over, each one once."""
        self.edits.extend(edit for edit in edits if edit not in self.edits)


__all__ = ["Draft"]
