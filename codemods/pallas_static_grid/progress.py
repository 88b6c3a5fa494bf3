"""The progress bar: on stderr, on a terminal, and only where a run takes more than a second."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pallas_static_grid.run import Progress
from pallas_static_grid.settings import Settings

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

_PATIENCE = 1.0


@dataclass(slots=True)
class _Display:
    """A bar that appears when patience is over; it starts no thread, since workers are forked."""

    started: float = field(default_factory=time.monotonic)
    bar: Bar | None = None
    task: TaskID | None = None

    def update(self, done: int, total: int, launches: int) -> None:
        """Show how far the run is."""
        if self.bar is None:
            if time.monotonic() - self.started < _PATIENCE or done == total:
                return
            self._appear(total)
        if self.bar is not None and self.task is not None:
            self.bar.update(self.task, completed=done, launches=launches)
            self.bar.refresh()

    def _appear(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as Bar

        self.bar = Bar(
            TextColumn("files", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[launches]} launches", markup=False),
            console=Console(stderr=True),
            auto_refresh=False,
            transient=True,
        )
        self.task = self.bar.add_task("files", total=total, launches=0)
        self.bar.start()

    def close(self) -> None:
        """Take the bar away."""
        if self.bar is not None:
            self.bar.stop()


@contextmanager
def progress_bar(settings: Settings) -> Iterator[Progress | None]:
    """A function to call with the progress made, or None where nobody would see it."""
    dumb = os.environ.get("TERM", "") == "dumb"
    if settings.quiet or dumb or not sys.stderr.isatty():
        yield None
        return
    display = _Display()
    try:
        yield display.update
    finally:
        display.close()
