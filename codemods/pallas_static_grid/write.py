"""Writing files: whole or not at all, links and modes kept, nothing of the user's overwritten."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from pallas_static_grid import gitio
from pallas_static_grid.model import Failed


def write_file(path: str, file: Path, before: bytes, after: bytes) -> Failed | None:
    """Replace the content `before` of a file by `after`; None if that went well.

    `path` is the path as reported. A link is followed, so that it stays one; the new content
    goes into a temporary file beside the old one, which then takes its place at one stroke.
    """
    real = file.resolve()
    try:
        mode = real.stat().st_mode
        if not mode & 0o222:
            return Failed(path, "write", "not written: the file is read-only")
        if real.read_bytes() != before:
            return Failed(path, "write", "not written: the file changed while it was examined")
        _replace(real, after, mode & 0o7777)
    except OSError as error:
        return Failed(path, "write", f"not written: {error.strerror or error}")
    return None


def dirty(files: Mapping[Path, str]) -> tuple[str, ...]:
    """One line for each of the files (real path to reported path) with uncommitted changes.

    Files outside a repository are not checked. Raises GitError where git gives no answer.
    """
    by_root: dict[Path, list[Path]] = {}
    for file in files:
        root = gitio.repository_root(file.parent)
        if root is not None:
            by_root.setdefault(root, []).append(file)
    lines: list[str] = []
    for root, members in by_root.items():
        for file, state in gitio.dirty_files(root, members):
            lines.append(f"{files.get(file, str(file))} is {state}")
    return tuple(sorted(lines))


def write_output(file: Path, content: bytes) -> None:
    """Write a report or a patch."""
    file.write_bytes(content)


def _replace(real: Path, content: bytes, mode: int) -> None:
    handle, name = tempfile.mkstemp(dir=real.parent, prefix=f".{real.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        os.replace(name, real)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    _sync(real.parent)


def _sync(directory: Path) -> None:
    """Make the renaming last, where directories can be synced."""
    with suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
