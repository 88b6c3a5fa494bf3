"""`[tool.pallas-static-grid]` in the nearest `pyproject.toml`; what is wrong there is an error."""

from __future__ import annotations

import ast
import os
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeGuard

from pallas_static_grid.discover import display_path
from pallas_static_grid.model import TARGETS, UserBound
from pallas_static_grid.nearest import nearest

TABLE = "pallas-static-grid"
FORMATS = ("text", "json", "sarif", "markdown", "github", "html", "mbox")
Kind = Literal["names", "texts", "text", "path", "flag", "count", "target", "format", "fail-on"]

KEYS: Mapping[str, Kind] = {
    "select": "names",
    "ignore": "names",
    "target": "target",
    "bound": "texts",
    "format": "format",
    "output": "path",
    "patch": "path",
    "jobs": "count",
    "exclude": "texts",
    "color": "flag",
    "quiet": "flag",
    "verbose": "flag",
    "only": "texts",
    "safe-only": "flag",
    "mask-free": "flag",
    "include-generated": "flag",
    "allow-dirty": "flag",
    "exit-zero": "flag",
    "fail-on": "fail-on",
}

Value = str | int | bool | tuple[str, ...]


_NO_COUNT = (
    ast.Compare,
    ast.Dict,
    ast.DictComp,
    ast.GeneratorExp,
    ast.JoinedStr,
    ast.Lambda,
    ast.List,
    ast.ListComp,
    ast.Set,
    ast.SetComp,
    ast.Tuple,
)


class ConfigError(Exception):
    """A flag or a config file that cannot be followed."""


@dataclass(frozen=True, slots=True)
class Config:
    """The values of a config file, by key; keys that are not set are absent."""

    file: Path | None = None
    values: Mapping[str, Value] = field(default_factory=dict)
    line_length: int | None = None
    """What ruff or black is told, if the project uses one of them."""

    def flag(self, key: str) -> bool:
        """A yes or no; no where it is not set."""
        return self.values.get(key) is True

    def text(self, key: str) -> str | None:
        """A text, or None where it is not set."""
        value = self.values.get(key)
        return value if isinstance(value, str) else None

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts, empty where it is not set."""
        value = self.values.get(key, ())
        return value if isinstance(value, tuple) else ()


def load_config(paths: Sequence[str], cwd: Path, explicit: str | None = None) -> Config:
    """The config file for `paths`: the one given, or the nearest that has our table."""
    if explicit is not None:
        file = cwd / explicit
        if not file.is_file():
            raise ConfigError(f"--config {explicit}: no such file")
        return _config(file, _toml(file, cwd), cwd)
    start = _common_directory(paths, cwd)
    lengths: int | None = None
    for directory in (start, *start.parents):
        file = directory / "pyproject.toml"
        if file.is_file():
            content = _toml(file, cwd)
            lengths = lengths or _line_length(content)
            tool = content.get("tool")
            if isinstance(tool, dict) and TABLE in tool:
                return _config(file, content, cwd, lengths)
    return Config(line_length=lengths)


def parse_bound(text: str) -> UserBound:
    """`PATH::FUNCTION::EXPRESSION=BOUND`, taken apart at the `=` that is between expressions."""
    parts = text.split("::", 2)
    if len(parts) == 3 and all(part.strip() for part in parts):
        path, function, rest = parts
        for at, character in enumerate(rest):
            if character == "=" and _is_expression(rest[:at]) and _is_expression(rest[at + 1 :]):
                bound = rest[at + 1 :].strip()
                if not _can_be_count(bound):
                    raise ConfigError(
                        f"--bound {text!r}: the bound is a Python int of at least 1, not `{bound}`"
                    )
                path = Path(path.strip()).as_posix()
                return UserBound(path, function.strip(), rest[:at].strip(), bound)
    raise ConfigError(f"--bound {text!r}: expected 'PATH::FUNCTION::EXPRESSION=BOUND'")


def parse_only(text: str, cwd: Path) -> tuple[str, int]:
    """`PATH:LINE`, the path as it is reported."""
    path, colon, line = text.rpartition(":")
    if not colon or not path or not line.isdigit() or int(line) < 1:
        raise ConfigError(f"--only {text!r}: expected PATH:LINE")
    return display_path(Path(os.path.normpath(cwd / path)), cwd), int(line)


def check_names(names: Collection[str], known: Collection[str], where: str) -> None:
    """Raise ConfigError for a name that no transform has."""
    for name in names:
        if name not in known:
            raise ConfigError(
                f"{where}: no transform is called {name!r}; did you mean {nearest(name, known)!r}?"
            )


def _common_directory(paths: Sequence[str], cwd: Path) -> Path:
    real = [Path(os.path.normpath(cwd / path)) for path in paths if path != "-"]
    if not real:
        return cwd
    common = Path(os.path.commonpath([path if path.is_dir() else path.parent for path in real]))
    return common.resolve()


def _toml(file: Path, cwd: Path) -> dict[str, object]:
    name = display_path(file, cwd)
    try:
        with file.open("rb") as stream:
            return tomllib.load(stream)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{name}: not valid TOML: {error}") from error
    except OSError as error:
        raise ConfigError(f"{name}: cannot be read: {error.strerror or error}") from error


def _line_length(content: Mapping[str, object]) -> int | None:
    """The line length that ruff or black is told, or the one they take without being told."""
    tool = content.get("tool")
    tables = [tool[name] for name in ("ruff", "black") if name in tool] if _is_table(tool) else []
    for table in tables:
        if isinstance(table, dict) and isinstance(table.get("line-length"), int):
            return int(table["line-length"])
    return 88 if tables else None


def _is_table(value: object) -> TypeGuard[dict[str, object]]:
    return isinstance(value, dict)


def _config(
    file: Path, content: Mapping[str, object], cwd: Path, line_length: int | None = None
) -> Config:
    name = f"{display_path(file, cwd)}: [tool.{TABLE}]"
    tool = content.get("tool")
    table = tool.get(TABLE, {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise ConfigError(f"{name} is not a table")
    values: dict[str, Value] = {}
    for key, raw in table.items():
        if key not in KEYS:
            raise ConfigError(f"{name}: unknown key {key!r}; did you mean {nearest(key, KEYS)!r}?")
        values[key] = _rebased(key, _value(KEYS[key], raw, f"{name}: {key}"), file.parent, cwd)
    return Config(file, values, line_length or _line_length(content))


def _value(kind: Kind, raw: object, where: str) -> Value:
    if kind in ("names", "texts"):
        items = [raw] if isinstance(raw, str) else raw
        if isinstance(items, list) and all(isinstance(item, str) for item in items):
            return tuple(items)
        raise ConfigError(f"{where}: expected a list of strings")
    if kind == "flag":
        if isinstance(raw, bool):
            return raw
        raise ConfigError(f"{where}: expected true or false")
    if kind == "count":
        if isinstance(raw, int) and not isinstance(raw, bool) and raw >= 0:
            return raw
        raise ConfigError(f"{where}: expected a whole number")
    if not isinstance(raw, str):
        raise ConfigError(f"{where}: expected a string")
    choices: Mapping[Kind, tuple[str, ...]] = {
        "target": TARGETS,
        "format": FORMATS,
        "fail-on": ("unknown",),
    }
    allowed = choices.get(kind)
    if allowed is not None and raw not in allowed:
        raise ConfigError(
            f"{where}: {raw!r} is none of {', '.join(allowed)}; "
            f"did you mean {nearest(raw, allowed)!r}?"
        )
    return raw


def _rebased(key: str, value: Value, home: Path, cwd: Path) -> Value:
    """Paths in a config file are meant from its directory; ours are from the current one."""
    if KEYS[key] == "path" and isinstance(value, str):
        return display_path(home / value, cwd)
    if not isinstance(value, tuple):
        return value
    if key == "exclude":
        return tuple(
            (home / item).as_posix() if "/" in item.rstrip("/") else item for item in value
        )
    if key in ("bound", "only"):
        separator = "::" if key == "bound" else ":"
        return tuple(_rebased_head(item, separator, home, cwd) for item in value)
    return value


def _rebased_head(item: str, separator: str, home: Path, cwd: Path) -> str:
    path, found, rest = item.partition(separator) if separator == "::" else item.rpartition(":")
    return f"{display_path(home / path, cwd)}{found}{rest}" if found and path else item


def _is_expression(text: str) -> bool:
    try:
        ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError):
        return False
    return True


def _can_be_count(text: str) -> bool:
    """Whether an expression may be a number of steps: no display, and no number below 1."""
    node = ast.parse(text, mode="eval").body
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return not isinstance(node, _NO_COUNT)
    return type(value) is int and value >= 1
