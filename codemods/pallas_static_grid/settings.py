"""Flags and config file, merged and checked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pallas_static_grid.catalogue import TRANSFORMS
from pallas_static_grid.config import (
    Config,
    ConfigError,
    check_names,
    load_config,
    parse_bound,
    parse_only,
)
from pallas_static_grid.model import TARGETS, Options

STDIN = "-"


@dataclass(frozen=True, slots=True)
class Flags:
    """What stands on the command line; None, False and () where it says nothing."""

    paths: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    target: str | None = None
    bound: tuple[str, ...] = ()
    format: str | None = None
    output: str | None = None
    patch: str | None = None
    jobs: int | None = None
    exclude: tuple[str, ...] = ()
    config: str | None = None
    color: bool | None = None
    quiet: bool = False
    verbose: bool = False
    only: tuple[str, ...] = ()
    safe_only: bool = False
    mask_free: bool = False
    include_generated: bool = False
    stdin_filename: str | None = None
    interactive: bool = False
    allow_dirty: bool = False
    exit_zero: bool = False
    fail_on: str | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that a command needs to know."""

    options: Options
    cwd: Path
    paths: tuple[str, ...]
    format: str
    output: str | None
    patch: str | None
    color: bool | None
    quiet: bool
    verbose: bool
    stdin_filename: str | None
    """Set exactly where the source comes in by stdin."""
    interactive: bool
    allow_dirty: bool
    exit_zero: bool
    fail_on_unknown: bool


def merge(flags: Flags, cwd: Path, formats: tuple[str, ...]) -> Settings:
    """Flags over config; raises ConfigError for anything that cannot be followed."""
    config = load_config(flags.paths, cwd, flags.config)
    chosen = flags.format or config.text("format") or "text"
    if chosen not in formats:
        raise ConfigError(f"format {chosen!r} is none of {', '.join(formats)} for this command")
    return Settings(
        options=_options(flags, config, cwd),
        cwd=cwd,
        paths=tuple(path for path in flags.paths if path != STDIN),
        format=chosen,
        output=_written("--output", flags.output or config.text("output")),
        patch=_written("--patch", flags.patch or config.text("patch")),
        color=flags.color if flags.color is not None else _color(config),
        quiet=flags.quiet or config.flag("quiet"),
        verbose=flags.verbose or config.flag("verbose"),
        stdin_filename=_stdin(flags),
        interactive=flags.interactive,
        allow_dirty=flags.allow_dirty or config.flag("allow-dirty"),
        exit_zero=flags.exit_zero or config.flag("exit-zero"),
        fail_on_unknown=(flags.fail_on or config.text("fail-on")) == "unknown",
    )


def _written(flag: str, name: str | None) -> str | None:
    """A file to write to; a Python file is a PATH that slipped in behind the flag."""
    if name is not None and Path(name).suffix in {".py", ".pyi"}:
        raise ConfigError(f"{flag} names the file to write, and {name} is a Python file")
    return name


def _options(flags: Flags, config: Config, cwd: Path) -> Options:
    select = flags.select or config.texts("select")
    ignore = flags.ignore or config.texts("ignore")
    check_names(select, TRANSFORMS, "--select" if flags.select else "select")
    check_names(ignore, TRANSFORMS, "--ignore" if flags.ignore else "ignore")
    target = flags.target or config.text("target") or "auto"
    jobs = flags.jobs if flags.jobs is not None else config.values.get("jobs", 0)
    return Options(
        select=select,
        ignore=ignore,
        target=next(known for known in TARGETS if known == target),
        bounds=tuple(parse_bound(text) for text in (*config.texts("bound"), *flags.bound)),
        only=tuple(parse_only(text, cwd) for text in flags.only or config.texts("only")),
        safe_only=flags.safe_only or config.flag("safe-only"),
        mask_free=flags.mask_free or config.flag("mask-free"),
        exclude=(*config.texts("exclude"), *flags.exclude),
        jobs=jobs if isinstance(jobs, int) else 0,
        include_generated=flags.include_generated or config.flag("include-generated"),
        line_length=config.line_length,
    )


def _color(config: Config) -> bool | None:
    value = config.values.get("color")
    return value if isinstance(value, bool) else None


def _stdin(flags: Flags) -> str | None:
    if STDIN not in flags.paths:
        if flags.stdin_filename is not None:
            raise ConfigError("--stdin-filename is of use only with the path '-'")
        return None
    if len(flags.paths) > 1:
        raise ConfigError("'-' (stdin) cannot be combined with other paths")
    if flags.interactive:
        raise ConfigError("--interactive asks on the terminal, so the source cannot come by stdin")
    return flags.stdin_filename or "stdin.py"
