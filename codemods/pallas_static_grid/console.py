"""What is printed where: reports and patches to stdout, everything else to stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from pallas_static_grid.model import Changed, Clean, Failed, FileReport, Skipped
from pallas_static_grid.render.notes import one_line
from pallas_static_grid.settings import Settings
from pallas_static_grid.write import write_output


def out(text: str) -> None:
    """Write to stdout, byte for byte (escaped surrogates become the bytes they stand for)."""
    sys.stdout.flush()
    stream = sys.stdout.buffer
    stream.write(text.encode("utf-8", "surrogateescape"))
    stream.flush()


def out_bytes(data: bytes) -> None:
    """Write bytes to stdout."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def say(text: str) -> None:
    """Write a line to stderr."""
    click.echo(text.encode("utf-8", "surrogateescape"), err=True)


def on_terminal() -> bool:
    """Whether stdout is one that a person reads, and that can do more than print characters."""
    return sys.stdout.isatty() and os.environ.get("TERM", "") != "dumb"


def coloured(settings: Settings) -> bool:
    """Whether the text report gets colours."""
    if settings.color is not None:
        return settings.color
    return on_terminal() and not os.environ.get("NO_COLOR")


def deliver(text: str, settings: Settings) -> None:
    """Hand a report over: to `--output`, or to stdout."""
    if settings.output is not None:
        save(settings.output, text, settings)
    else:
        out(text)


def save(name: str, text: str, settings: Settings) -> None:
    """Write a report or a patch to a file; a failure to is a usage error."""
    try:
        write_output(settings.cwd / name, text.encode("utf-8", "surrogateescape"))
    except OSError as error:
        say(f"error: {name}: cannot be written: {error.strerror or error}")
        sys.exit(2)


def mention(reports: Sequence[FileReport], warnings: Sequence[str], settings: Settings) -> None:
    """Failures, warnings and, where asked for, files passed over; on stderr."""
    if not settings.quiet:
        for warning in warnings:
            say(f"warning: {one_line(warning)}")
    for report in reports:
        path = one_line(report.path)
        if isinstance(report, Failed):
            say(f"error: {path}: {one_line(report.message)}")
        elif isinstance(report, Skipped):
            if settings.verbose or (report.reason.startswith("not ") and not settings.quiet):
                say(f"{path}: skipped: {one_line(report.reason)}")
        elif not settings.quiet:
            for warning in report.warnings:
                say(f"warning: {path}: {one_line(warning)}")
        if isinstance(report, Clean) and report.skipped is not None and settings.verbose:
            say(f"{path}: skipped: {one_line(report.skipped)}")
        if isinstance(report, Clean | Changed) and not report.launches and settings.verbose:
            say(f"{path}: skipped: no launch")
