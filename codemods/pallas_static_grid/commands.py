"""What the commands over files do, from settings to an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

from pallas_static_grid.console import coloured, deliver, mention, on_terminal, out_bytes, save, say
from pallas_static_grid.gitio import identity
from pallas_static_grid.model import Changed, Failed, FileReport
from pallas_static_grid.outcome import (
    Command,
    counted,
    exit_code,
    rewrites_of,
    sentence,
    summarize,
)
from pallas_static_grid.render import unified
from pallas_static_grid.run import Run, run_paths, run_text
from pallas_static_grid.settings import Settings
from pallas_static_grid.write import dirty, write_file


def scan_command(settings: Settings) -> int:
    """List the launches."""
    run = _run(settings)
    mention(run.reports, run.warnings, settings)
    if settings.format == "text":
        deliver(_scan_text(run, settings), settings)
    else:
        deliver(_formatted("scan", run, settings), settings)
    return exit_code("scan", run.reports, fail_on_unknown=settings.fail_on_unknown)


def diff_command(settings: Settings) -> int:
    """Show the patch."""
    run = _run(settings)
    mention(run.reports, run.warnings, settings)
    if settings.patch is not None:
        save(settings.patch, unified.render(run.reports), settings)
    if settings.format != "text":
        deliver(_formatted("diff", run, settings), settings)
    elif settings.output is None and on_terminal():
        from pallas_static_grid.render import terminal

        terminal.show_diff(run.reports, color=coloured(settings))
    else:
        if settings.patch is None or settings.output is not None:
            deliver(unified.render(run.reports), settings)
        if not settings.quiet:
            say(_aside(run.reports))
    return exit_code("diff", run.reports, exit_zero=settings.exit_zero)


def apply_command(settings: Settings) -> int:
    """Write the rewrites."""
    run = _run(settings)
    if settings.stdin_filename is not None:
        return _filter(run, settings)
    _refuse_dirty(run, settings)
    if settings.interactive:
        from pallas_static_grid.interactive import ask

        written = ask(run, settings)
    else:
        reports = tuple(_write(report, settings) for report in run.reports)
        written = replace(run, reports=reports)
    mention(written.reports, written.warnings, settings)
    if settings.patch is not None:
        save(settings.patch, unified.render(written.reports), settings)
    if settings.format != "text":
        deliver(_formatted("apply", written, settings), settings)
    else:
        deliver(_apply_text(written, settings), settings)
    return exit_code("apply", written.reports)


def _run(settings: Settings) -> Run:
    if settings.stdin_filename is not None:
        data = sys.stdin.buffer.read()
        return run_text(data, settings.stdin_filename, settings.cwd, settings.options)
    from pallas_static_grid.progress import progress_bar

    with progress_bar(settings) as progress:
        return run_paths(settings.paths, settings.cwd, settings.options, progress)


def _filter(run: Run, settings: Settings) -> int:
    """Stdin to stdout: the new source, or nothing where the source could not be handled."""
    mention(run.reports, run.warnings, settings)
    report = run.reports[0]
    if isinstance(report, Changed):
        out_bytes(report.after)
    elif not isinstance(report, Failed):
        out_bytes(run.stdin)
    if settings.patch is not None:
        save(settings.patch, unified.render(run.reports), settings)
    if settings.output is not None:
        text = (
            _apply_text(run, settings)
            if settings.format == "text"
            else _formatted("apply", run, settings)
        )
        save(settings.output, text, settings)
    return exit_code("apply", run.reports)


def _refuse_dirty(run: Run, settings: Settings) -> None:
    if settings.allow_dirty:
        return
    changed = {
        (settings.cwd / report.path).resolve(): report.path
        for report in run.reports
        if isinstance(report, Changed)
    }
    lines = dirty(changed)
    if lines:
        for line in lines:
            say(f"error: {line} (in git)")
        say("error: nothing was written; commit or stash first, or pass --allow-dirty")
        sys.exit(2)


def _write(report: FileReport, settings: Settings) -> FileReport:
    if not isinstance(report, Changed):
        return report
    file = settings.cwd / report.path
    return write_file(report.path, file, report.before, report.after) or report


def _scan_text(run: Run, settings: Settings) -> str:
    from pallas_static_grid.render import text

    if coloured(settings) and settings.output is None:
        from pallas_static_grid.render import terminal

        return terminal.scan_text(run.reports, verbose=settings.verbose, quiet=settings.quiet)
    return text.render(run.reports, verbose=settings.verbose, quiet=settings.quiet)


def _apply_text(run: Run, settings: Settings) -> str:
    from pallas_static_grid.render.text import apply_text

    return apply_text(run.reports, quiet=settings.quiet)


def _aside(reports: Sequence[FileReport]) -> str:
    rewrites = list(rewrites_of(reports))
    files = len({rewrite.launch.path for rewrite in rewrites})
    pending = (
        f"{counted(len(rewrites), 'rewrite', 'rewrites')} in {counted(files, 'file', 'files')}"
        if rewrites
        else "nothing to change"
    )
    return f"{pending} ({sentence(summarize(reports))})"


def _formatted(command: Command, run: Run, settings: Settings) -> str:
    """The report in one of the forms that have a module of their own."""
    if settings.format == "json":
        from pallas_static_grid.render import json

        return json.render(run.reports, run.scanned, patches=command != "scan")
    if settings.format == "mbox":
        from pallas_static_grid.render import mbox

        return mbox.render(run.reports, identity(settings.cwd) or mbox.AUTHOR)
    if settings.format == "sarif":
        from pallas_static_grid.render import sarif

        return sarif.render(run.reports)
    if settings.format == "markdown":
        from pallas_static_grid.render import markdown

        return markdown.render(run.reports)
    if settings.format == "github":
        from pallas_static_grid.render import github

        return github.render(run.reports)
    from pallas_static_grid.render import html

    return html.render(run.reports, run.scanned, written=command == "apply")
