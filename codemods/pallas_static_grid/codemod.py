"""A command for LibCST's own runner; the only module that imports `libcst.codemod`.

    python -m libcst.tool codemod -x --no-format \\
        pallas_static_grid.codemod.PallasStaticGridCommand FILE...

Each file is read alone. What is refused, and the warnings about a file, become LibCST's warnings.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import libcst
from libcst.codemod import CodemodCommand, CodemodContext, SkipFile

from pallas_static_grid.catalogue import TRANSFORMS
from pallas_static_grid.discover import display_path
from pallas_static_grid.model import TARGETS, Changed, Clean, Failed, FileReport, Skipped
from pallas_static_grid.pipeline import examine
from pallas_static_grid.render.notes import place, refusal_note
from pallas_static_grid.run import project_for
from pallas_static_grid.settings import Flags, merge
from pallas_static_grid.source import decode


class PallasStaticGridCommand(CodemodCommand):
    """Runs the tool on one module at a time."""

    DESCRIPTION = "Rewrite dynamic JAX Pallas grids to static grids with padding and masks."

    def __init__(
        self,
        context: CodemodContext,
        target: str | None = None,
        select: list[str] | None = None,
        safe_only: bool = False,
        mask_free: bool = False,
    ) -> None:
        super().__init__(context)
        self._flags = Flags(
            select=tuple(select or ()), target=target, safe_only=safe_only, mask_free=mask_free
        )

    @staticmethod
    def add_args(arg_parser: argparse.ArgumentParser) -> None:
        """The options that make sense for a run over single files."""
        arg_parser.add_argument("--target", choices=TARGETS, help="where the launches must run")
        arg_parser.add_argument(
            "--select", action="append", choices=TRANSFORMS, help="use only this transform"
        )
        arg_parser.add_argument(
            "--safe-only", action="store_true", help="leave out rewrites labelled review"
        )
        arg_parser.add_argument(
            "--mask-free", action="store_true", help="prefer the mask-free form where it is sound"
        )

    def transform_module_impl(self, tree: libcst.Module) -> libcst.Module:
        """The module with its dynamic grids made static."""
        name = self.context.filename
        file = Path(name).resolve() if name else None
        shown = display_path(file, Path.cwd()) if file else "module.py"
        source = decode(shown, tree.bytes, file=file)
        if isinstance(source, Failed):
            raise SkipFile(source.message)
        settings = merge(self._flags, Path.cwd(), ("text",))
        report = examine(source, settings.options, project_for((), Path.cwd()))
        self._warn_about(report)
        return libcst.parse_module(report.after) if isinstance(report, Changed) else tree

    def _warn_about(self, report: FileReport) -> None:
        if isinstance(report, Skipped):
            raise SkipFile(report.reason)
        if isinstance(report, Failed):
            raise SkipFile(f"{report.stage}: {report.message}")
        if isinstance(report, Clean | Changed):
            for launch in report.launches:
                if launch.refusal is not None and not launch.ignored:
                    self.warn(f"{place(launch)}: {refusal_note(launch.refusal)}")
            for text in report.warnings:
                self.warn(f"{report.path}: {text}")
