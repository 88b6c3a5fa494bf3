"""What a real launch needs in order to be run before and after its rewrite."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

Inputs = Iterable[tuple[str, tuple[Any, ...]]]
"""Labelled arguments: NumPy arrays, and whatever else the function takes."""


@dataclass(frozen=True)
class Case:
    """One launch of a public package, how to reach it, and what to compare.

    A case holds nothing that JAX made: its module is imported where JAX may not be, and its
    functions are called in a child process that has the package on its path.
    """

    package: str
    """The folder below the root that goes on `sys.path`, such as `tokamax` or `repo/python`."""
    module: str
    """The dotted name of the module with the launch."""
    function: str
    """The launch's function as `scan` reports it."""
    entry: Callable[[ModuleType], Callable[..., Any]]
    """The function to call, given the imported module."""
    inputs: Callable[[], Inputs]
    """Small inputs, with counts of zero, one, some, and as many as fit."""
    reference: Callable[..., Any] | None = None
    """The same result by NumPy; NaN and masked entries of it are undefined."""
    defined: Callable[..., Any] | None = None
    """`defined(result, *arguments)`: the result without what the original leaves undefined."""
    bare: tuple[str, ...] = ()
    """Packages whose `__init__` is passed over, with those above them: it brings in too much."""
    stand_ins: tuple[str, ...] = ()
    """Packages that are imported and that no kernel needs: whatever is asked of them exists."""
    modes: tuple[str, ...] = ("tpu",)
    """Names of interpreters, out of `tpu`, `tpu_eager`, `tpu_sequential`."""
    arguments: tuple[str, ...] = ()
    """Further options for the tool."""
    tolerance: float = 0.0
    """How far before and after may be apart: nothing, as both do the same steps."""

    @property
    def file(self) -> str:
        """The module's path below the root."""
        return f"{self.package}/{self.module.replace('.', '/')}.py"

    @property
    def name(self) -> str:
        """What the table calls the launch."""
        return f"{self.file} {self.function}"
