"""Other files as evidence: what an import leads to, where that is in sight."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pallas_static_grid.analysis.modules import ModuleContext


class Project:
    """The files that may be read for evidence, parsed on demand and kept.

    `roots` are directories under scan; a module in the same package on disk as the asking file
    counts as in sight too. Everything else is opaque.
    """

    def __init__(
        self,
        roots: tuple[Path, ...] = (),
        display: Callable[[Path], str] = str,
    ) -> None:
        self.roots = roots
        self.display = display
        self._cache: dict[Path, ModuleContext | None] = {}
