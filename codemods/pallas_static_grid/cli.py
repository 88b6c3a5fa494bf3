"""Commands and options; with `console` and `interactive` all that prints or exits."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import click

from pallas_static_grid import __version__
from pallas_static_grid.commands import apply_command, diff_command, scan_command
from pallas_static_grid.config import ConfigError
from pallas_static_grid.discover import MissingPath
from pallas_static_grid.gitio import GitError
from pallas_static_grid.model import TARGETS
from pallas_static_grid.settings import Flags, Settings, merge

SCAN_FORMATS = ("text", "json", "sarif", "markdown", "github", "html")
DIFF_FORMATS = (*SCAN_FORMATS, "mbox")

Command = Callable[..., None]


def _common(formats: tuple[str, ...]) -> Callable[[Command], Command]:
    """The paths and options that all commands over files share."""
    decorators = (
        click.argument("paths", nargs=-1, type=click.Path()),
        click.option("--select", multiple=True, metavar="NAME", help="Use only this transform."),
        click.option("--ignore", multiple=True, metavar="NAME", help="Leave this transform out."),
        click.option(
            "--target",
            type=click.Choice(TARGETS),
            help="Where the rewritten launches must run (default: read off the file).",
        ),
        click.option(
            "--bound",
            multiple=True,
            metavar="PATH::FUNCTION::EXPRESSION=BOUND",
            help="A static upper bound of a grid dimension.",
        ),
        click.option("--format", type=click.Choice(formats), help="Form of the report."),
        click.option("--output", metavar="FILE", help="Write the report there."),
        click.option(
            "--jobs", type=click.IntRange(min=0), metavar="N", help="Processes (0: as needed)."
        ),
        click.option(
            "--exclude", multiple=True, metavar="GLOB", help="Leave out files or directories."
        ),
        click.option("--config", metavar="FILE", help="Instead of the nearest pyproject.toml."),
        click.option("--color/--no-color", default=None, help="Colours (default: on a terminal)."),
        click.option("-q", "--quiet", is_flag=True, help="Only what matters; no warnings."),
        click.option("-v", "--verbose", is_flag=True, help="Whole chains; files passed over."),
        click.option(
            "--only", multiple=True, metavar="PATH:LINE", help="Only the launches on this line."
        ),
        click.option("--safe-only", is_flag=True, help="Leave out rewrites labelled review."),
        click.option(
            "--mask-free", is_flag=True, help="Prefer the mask-free form wherever it is sound."
        ),
        click.option("--include-generated", is_flag=True, help="Do not pass over generated files."),
        click.option("--stdin-filename", metavar="NAME", help="Name of the source given as '-'."),
    )

    def decorate(command: Command) -> Command:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


class Stop(click.ClickException):
    """What keeps a run from starting; exit code 2."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message."""
        click.echo(f"error: {self.message}", file=file, err=True)


class Program(click.Group):
    """The commands; what is wrong with paths, flags or git's answers ends them with exit code 2."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the chosen command."""
        try:
            return super().invoke(ctx)
        except MissingPath as error:
            raise Stop(f"{error}: no such file or directory") from error
        except (ConfigError, GitError) as error:
            raise Stop(str(error)) from error


@click.group(
    name="pallas-static-grid",
    cls=Program,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="pallas-static-grid")
def main() -> None:
    """Make dynamic Pallas grids static: find them, show the patch, apply it.

    PATH is a file or a directory (default: the current one); '-' is stdin.
    """


@main.command()
@_common(SCAN_FORMATS)
@click.option("--fail-on", type=click.Choice(["unknown"]), help="Exit 1 for unknown grids too.")
def scan(**flags: Any) -> None:  # click hands options over by name
    """List every launch and what each grid dimension is."""
    sys.exit(scan_command(_settings(flags, SCAN_FORMATS)))


@main.command()
@_common(DIFF_FORMATS)
@click.option("--patch", metavar="FILE", help="Write the patch there.")
@click.option("--exit-zero", is_flag=True, help="Exit 0 also when changes are pending.")
def diff(**flags: Any) -> None:  # click hands options over by name
    """Show the patch; write nothing."""
    sys.exit(diff_command(_settings(flags, DIFF_FORMATS)))


@main.command()
@_common(SCAN_FORMATS)
@click.option("--patch", metavar="FILE", help="Write the patch there, too.")
@click.option("--interactive", is_flag=True, help="Ask about each rewrite.")
@click.option("--allow-dirty", is_flag=True, help="Write also to files with uncommitted changes.")
def apply(**flags: Any) -> None:  # click hands options over by name
    """Write the rewrites to the files."""
    sys.exit(apply_command(_settings(flags, SCAN_FORMATS)))


@main.command()
@click.argument("what", nargs=-1, required=True)
@click.option("--config", metavar="FILE", help="Instead of the nearest pyproject.toml.")
@click.option(
    "--bound",
    multiple=True,
    metavar="PATH::FUNCTION::EXPRESSION=BOUND",
    help="A static upper bound of a grid dimension.",
)
@click.option("--target", type=click.Choice(TARGETS), help="Where the launch must run.")
@click.option("--color/--no-color", default=None, help="Colours (default: on a terminal).")
def explain(what: tuple[str, ...], **flags: Any) -> None:  # click hands options over by name
    """Explain a transform, a refusal code, PATH:LINE, or an error message."""
    from pallas_static_grid.explain import explain_command

    sys.exit(explain_command(" ".join(what), _settings(flags, ("text",))))


def _settings(flags: dict[str, Any], formats: tuple[str, ...]) -> Settings:
    return merge(Flags(**flags), Path.cwd(), formats)
