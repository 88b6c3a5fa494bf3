"""Runs one case on one copy of a package, in a process of its own, and writes what it computed."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import pickle
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

# Found by the path above, so not at the top.
import jax  # noqa: E402
import jax_harness  # noqa: E402
import numpy as np  # noqa: E402
from case import Case  # noqa: E402

MODES = {
    mode.name: mode for mode in (jax_harness.TPU, jax_harness.TPU_EAGER, jax_harness.TPU_SEQUENTIAL)
}


class _Anything(type):
    """A class with every attribute, that may be called, subscripted and inherited from."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _anything(name)

    def __getitem__(cls, item: Any) -> Any:
        return cls


def _anything(name: str) -> Any:
    return _Anything(name, (), {"__init__": lambda self, *args, **kwargs: None})


class _StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds every module below certain packages, each with whatever is asked of it."""

    def __init__(self, packages: Sequence[str]) -> None:
        self.packages = frozenset(packages)

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        parts = name.split(".")
        if self.packages.isdisjoint(".".join(parts[: n + 1]) for n in range(len(parts))):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = ModuleType(spec.name)
        module.__path__ = []
        module.__getattr__ = _anything  # type: ignore[method-assign]
        return module

    def exec_module(self, module: ModuleType) -> None:
        pass


def load(case: Case, root: Path) -> ModuleType:
    """The module of the launch, with bare parents and stand-ins where the case names some."""
    sys.path.insert(0, str(root / case.package))
    sys.meta_path.insert(0, _StandIns(case.stand_ins))
    for package in case.bare:
        parts = package.split(".")
        for end in range(1, len(parts) + 1):
            _add_bare(".".join(parts[:end]), root / case.package)
    return importlib.import_module(case.module)


def _add_bare(name: str, folder: Path) -> None:
    if name not in sys.modules:
        module = ModuleType(name)
        module.__path__ = [str(folder.joinpath(*name.split(".")))]
        sys.modules[name] = module


def leaves(result: Any) -> list[Any]:
    """The arrays of a result; NumPy has no names for the narrow floating types."""
    arrays = [
        leaf if isinstance(leaf, np.ma.MaskedArray) else np.asarray(leaf)
        for leaf in jax.tree.leaves(result)
    ]
    return [
        array.astype(np.float32) if array.dtype.kind == "V" or array.dtype.isbuiltin != 1 else array
        for array in arrays
    ]


def run(case: Case, root: Path, mode: str) -> list[tuple[str, Any]]:
    """The arrays of each input's result, or the text of the error."""
    results: list[tuple[str, Any]] = []
    with jax_harness.interpreted(MODES[mode]):
        function = case.entry(load(case, root))
        for label, arguments in case.inputs():
            try:
                result = function(*arguments)
                if case.defined is not None:
                    result = case.defined(result, *arguments)
                results.append((label, leaves(result)))
            except Exception as error:  # Whatever JAX makes of it is an outcome.
                text = f"{type(error).__name__}: {error}".splitlines()[0]
                results.append((label, text[:200]))
                jax_harness.reset()
    return results


def main() -> None:
    """`child.py FAMILY INDEX ROOT MODE OUT`."""
    family, index, root, mode, out = sys.argv[1:]
    case: Case = importlib.import_module(family).CASES[int(index)]
    Path(out).write_bytes(pickle.dumps(run(case, Path(root), mode)))


if __name__ == "__main__":
    main()
