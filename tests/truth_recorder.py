"""Runs code with the launch functions recorded: which grid entries were Python ints, and where.

The launch functions are replaced before the code is imported. A recorded launch runs no kernel:
it returns zeros of the shapes that it was asked for, so that the rest of the code is traced too.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import tpu as pltpu

Place = tuple[str, int]


@dataclass(frozen=True)
class Record:
    """One launch that ran: `dims` says for each grid entry whether it was a Python int."""

    api: str
    kind: str
    dims: tuple[bool, ...]
    places: tuple[Place, ...]
    """File and line of every frame of the code under test, innermost first."""


def _frames(root: str, start: FrameType | None) -> Iterator[Place]:
    frame = start
    while frame is not None:
        if frame.f_code.co_filename.startswith(root):
            yield (frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back


def grid_entries(grid: Any) -> tuple[str, tuple[bool, ...]]:
    """The kind of a grid and, for each entry, whether Pallas would take it as static."""
    if grid is None:
        return "none", ()
    if callable(grid) and not hasattr(grid, "shape"):
        return "callable", ()
    if isinstance(grid, int):
        return "tuple", (True,)
    if getattr(grid, "shape", None) == ():
        return "tuple", (False,)
    entries = []
    for entry in grid:
        if isinstance(entry, tuple):
            entry = entry[1]
        entries.append(isinstance(entry, int))
    return "tuple", tuple(entries)


def _zeros(shapes: Any) -> Any:
    return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)


class Stop(BaseException):
    """Ends a run at its first launch, so that nothing is compiled."""


class Recorder:
    """Collects the launches of code under `root`."""

    def __init__(self, root: Path, stop: bool = False) -> None:
        self.root = str(root)
        self.stop = stop
        self.records: list[Record] = []

    def note(self, api: str, grid: Any) -> None:
        """Record one launch, called from the frame of the replaced function."""
        kind, dims = grid_entries(grid)
        places = tuple(_frames(self.root, sys._getframe(1)))
        self.records.append(Record(api, kind, dims, places + _made_at(self.root)))
        if self.stop and api != "GridSpec":
            raise Stop

    def pallas_call(self, kernel: Any, out_shape: Any = None, **options: Any) -> Any:
        """Stands in for `pl.pallas_call`."""
        spec = options.get("grid_spec")
        grid = spec.psg_grid if spec is not None else options.get("grid")
        self.note("pallas_call", grid)
        return lambda *operands: _zeros(out_shape)

    def kernel(self, body: Any = None, *args: Any, **options: Any) -> Any:
        """Stands in for `plgpu.kernel` and `pl.kernel`."""
        if body is None:
            return functools.partial(self.kernel, **options)
        self.note("kernel", options.get("grid"))
        shapes = args[0] if args else options.get("out_type", options.get("out_shape"))
        return lambda *operands: _zeros(shapes)


_MAKERS: list[tuple[Place, ...]] = []


def _made_at(root: str) -> tuple[Place, ...]:
    """Where the partial objects that are being called were made."""
    return tuple(place for places in _MAKERS for place in places if place[0].startswith(root))


class RecordedPartial(functools.partial):  # type: ignore[type-arg]
    """`functools.partial` that remembers where it was made."""

    def __new__(cls, func: Callable[..., Any], /, *args: Any, **keywords: Any) -> RecordedPartial:
        made = super().__new__(cls, func, *args, **keywords)
        frame = sys._getframe(1)
        made.place = (frame.f_code.co_filename, frame.f_lineno)
        return made

    def __call__(self, /, *args: Any, **keywords: Any) -> Any:
        _MAKERS.append((self.place,))
        try:
            return super().__call__(*args, **keywords)
        finally:
            _MAKERS.pop()


@contextmanager
def recording(root: Path, stop: bool = False) -> Iterator[Recorder]:
    """Replace the launch functions and spec classes while the code under `root` runs."""
    recorder = Recorder(root, stop)
    spec_classes = [(pl, "GridSpec"), (pltpu, "PrefetchScalarGridSpec")]
    saved = [(holder, name, getattr(holder, name)) for holder, name in spec_classes]
    saved += [(pl, "pallas_call", pl.pallas_call), (functools, "partial", functools.partial)]
    saved += [
        (holder, "kernel", holder.kernel) for holder in (pl, plgpu) if hasattr(holder, "kernel")
    ]
    for holder, name, original in saved:
        if name == "pallas_call":
            setattr(holder, name, recorder.pallas_call)
        elif name == "kernel":
            setattr(holder, name, recorder.kernel)
        elif name == "partial":
            setattr(holder, name, RecordedPartial)
        else:
            setattr(holder, name, _recorded_spec(recorder, original))
    try:
        yield recorder
    finally:
        for holder, name, original in saved:
            setattr(holder, name, original)


def _recorded_spec(recorder: Recorder, original: type) -> type:
    class Spec(original):  # type: ignore[misc, valid-type]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            place = 1 if original.__name__ == "PrefetchScalarGridSpec" else 0
            grid = kwargs.get("grid", args[place] if len(args) > place else None)
            self.psg_grid = grid
            recorder.note("GridSpec", grid)

    Spec.__name__ = original.__name__
    return Spec


def load(path: Path, root: Path) -> ModuleType:
    """Import a module file afresh (with its package, if it stands in one)."""
    dotted = ".".join(path.relative_to(root).with_suffix("").parts)
    for name in [n for n in sys.modules if _under(sys.modules[n], root)]:
        del sys.modules[name]
    sys.path.insert(0, str(root))
    try:
        importlib.invalidate_caches()
        return importlib.import_module(dotted)
    finally:
        sys.path.remove(str(root))


def _under(module: ModuleType, root: Path) -> bool:
    return (getattr(module, "__file__", None) or "").startswith(str(root))


def vocabulary(module: ModuleType) -> dict[str, Any]:
    """The names that a `Run:` expression may use."""
    return {
        "f32": lambda *shape: jnp.ones(shape, jnp.float32),
        "i32": lambda *shape: jnp.ones(shape, jnp.int32),
        "jit": jax.jit,
        "jax": jax,
        "jnp": jnp,
        "np": np,
        **vars(module),
    }
