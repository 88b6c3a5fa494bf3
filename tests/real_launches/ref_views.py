"""Teaches JAX's TPU interpreter to reinterpret and reshape refs, as the attention kernels do.

The interpreter of JAX 0.10 follows plain indices only: `ref.bitcast(dtype).at[i].reshape(shape)`
raises there. Here such a chain is followed over a copy of the buffer, and a store is carried back
through it. Races are not watched on this path.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax._src.pallas.mosaic.interpret import interpret_pallas_call as interpreter
from jax._src.state import indexing
from jax._src.state import types as state_types

Undo = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From a view's new value and the array below it to the new value of that array."""


def install() -> None:
    """From now on refs may be reinterpreted, reshaped and transposed in interpreted kernels."""
    interpreter.get = _following(interpreter.get, _read)
    interpreter.store = _following(interpreter.store, _store)
    interpreter.swap = _following(interpreter.swap, _swap)


def _following(plain: Any, through_views: Callable[..., Any]) -> Any:
    """`plain`, but `through_views` for a ref that something else than indices was applied to."""
    original = plain.__wrapped__

    @functools.wraps(original)
    def access(token: Any, device: Any, core: Any, space: Any, buffer: Any, transforms: Any,
               *args: Any, **kwargs: Any) -> Any:  # fmt: skip
        if all(isinstance(transform, indexing.NDIndexer) for transform in transforms):
            return original(token, device, core, space, buffer, transforms, *args, **kwargs)
        followed = jax.tree.map(int, transforms)
        return through_views(token, (device, core, space, buffer), followed, *args)

    checked: Any = interpreter.fail_on_exception(access)  # type: ignore[no-untyped-call]
    checked.__wrapped__ = access
    return checked


def _read(token: Any, place: tuple[Any, ...], transforms: Sequence[Any], *_: Any) -> Any:
    memory, content = _content(place)
    with memory.lock:
        return token, np.array(_views(content, transforms)[0][-1])


def _store(token: Any, place: tuple[Any, ...], transforms: Sequence[Any], value: Any,
           *_: Any) -> Any:  # fmt: skip
    _write(place, transforms, np.array(value), None)
    return token


def _swap(token: Any, place: tuple[Any, ...], transforms: Sequence[Any], value: Any,
          mask: Any) -> Any:  # fmt: skip
    return token, _write(place, transforms, np.array(value), mask)


def _content(place: tuple[Any, ...]) -> tuple[Any, np.ndarray]:
    """The memory, and the part of a buffer that the kernel knows of."""
    device, core, space, buffer = place
    memory = interpreter._get_shared_memory()
    name = interpreter.TPU_MEMORY_SPACE_NAMES[int(space)]
    core = interpreter._local_core_id_or_zero_if_hbm(int(core), name)
    found: Any = memory.mem[(name, int(buffer), int(device), core)]
    return memory, found.content[tuple(slice(0, length) for length in found.logical_shape)]


def _write(
    place: tuple[Any, ...], transforms: Sequence[Any], value: np.ndarray, mask: Any
) -> np.ndarray:
    """Store through a chain of views; gives what stood there."""
    memory, content = _content(place)
    with memory.lock:
        views, undos = _views(content, transforms)
        old = np.array(views[-1])
        if (value.shape, value.dtype) != (old.shape, old.dtype):
            raise ValueError(f"{value.dtype}{value.shape} is stored as {old.dtype}{old.shape}")
        new = value if mask is None else np.where(np.array(mask), value, old)
        for undo, below in zip(reversed(undos), reversed(views[:-1]), strict=True):
            new = undo(new, below)
        content[...] = new
        return old


def _views(content: np.ndarray, transforms: Sequence[Any]) -> tuple[list[np.ndarray], list[Undo]]:
    """The array seen after each transform, and how to get back."""
    views, undos = [content], list[Undo]()
    for transform in transforms:
        view = views[-1]
        match transform:
            case indexing.NDIndexer():
                index = _index(transform, view.shape)
                views.append(view[index])
                undos.append(functools.partial(_put, index))
            case state_types.BitcastTransform():
                views.append(_bitcast(view, transform.dtype))
                undos.append(lambda new, below: _bitcast(new, below.dtype))
            case state_types.ReshapeTransform():
                views.append(view.reshape(transform.shape))
                undos.append(lambda new, below: new.reshape(below.shape))
            case state_types.TransposeTransform():
                back = tuple(np.argsort(transform.permutation))
                views.append(view.transpose(transform.permutation))
                undos.append(functools.partial(_turned, back))
            case _:
                raise NotImplementedError(type(transform).__name__)
    return views, undos


def _put(index: tuple[int | slice, ...], new: np.ndarray, below: np.ndarray) -> np.ndarray:
    changed = below.copy()
    changed[index] = new
    return changed


def _turned(back: tuple[int, ...], new: np.ndarray, below: np.ndarray) -> np.ndarray:
    return new.transpose(back)


def _index(transform: Any, shape: tuple[int, ...]) -> tuple[int | slice, ...]:
    """The indices for NumPy; out of bounds raises, as it does in the interpreter."""
    found: list[int | slice] = []
    for entry, length in zip(transform.indices, shape, strict=True):
        if isinstance(entry, indexing.Slice):  # type: ignore[attr-defined]
            start, size, stride = int(entry.start), int(entry.size), int(entry.stride)
            last = start + (size - 1) * stride
            found.append(slice(start, last + 1 if size else start, stride))
        else:
            start = last = int(entry)
            size = 1
            found.append(start)
        if size and not 0 <= start <= last < length:
            raise IndexError(f"{transform.indices} in an array of shape {shape}")
    return tuple(found)


def _bitcast(array: np.ndarray, dtype: Any) -> np.ndarray:
    """As a TPU packs narrow types: along the second-minor axis, the first one in the low bits."""
    wanted = np.dtype(dtype)
    old, new = array.dtype.itemsize, wanted.itemsize
    if old == new:
        return np.ascontiguousarray(array).view(wanted)
    *outer, rows, columns = array.shape
    if old < new:
        packed = array.reshape(*outer, rows * old // new, new // old, columns).swapaxes(-1, -2)
        packed = np.ascontiguousarray(packed).view(wanted)
        return np.asarray(packed[..., 0])
    apart = np.ascontiguousarray(array)[..., None].view(wanted).swapaxes(-1, -2)
    return np.asarray(apart.reshape(*outer, rows * old // new, columns))
