"""What git is asked: the root of a repository, the files it does not ignore, what is modified."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path


class GitError(Exception):
    """Git is missing, or it refused."""


def repository_root(directory: Path) -> Path | None:
    """The work tree that `directory` (a resolved path) lies in, found without asking git."""
    for candidate in (directory, *directory.parents):
        marker = candidate / ".git"
        if (marker / "HEAD").exists() or marker.is_file():
            return candidate
    return None


def listed_files(directory: Path) -> tuple[str, ...]:
    """Everything under `directory` that git tracks or would track; relative to it.

    A repository inside the repository appears as the path of its directory.
    """
    output = _git(directory, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = {name.rstrip("/") for name in _split(output)}
    return tuple(sorted(name for name in names if name))


def is_ignored(path: Path) -> bool:
    """Whether git's ignore rules cover `path` itself."""
    try:
        done = subprocess.run(
            ["git", "check-ignore", "-q", "--", str(path)],
            cwd=path.parent,
            capture_output=True,
            check=False,
        )
    except OSError:
        return False
    return done.returncode == 0


def dirty_files(root: Path, files: Iterable[Path]) -> tuple[tuple[Path, str], ...]:
    """Those of `files` (resolved, under `root`) that git calls modified or untracked."""
    names = [str(file.relative_to(root)) for file in files]
    found: list[tuple[Path, str]] = []
    for start in range(0, len(names), 500):
        chunk = names[start : start + 500]
        output = _git(
            root,
            "--literal-pathspecs",
            "status",
            "--porcelain=v1",
            "-z",
            "--no-renames",
            "--untracked-files=all",
            "--",
            *chunk,
        )
        for entry in _split(output):
            state = "untracked" if entry.startswith("??") else "modified"
            found.append((root / entry[3:], state))
    return tuple(found)


def identity(directory: Path) -> str | None:
    """`Name <address>` as git would write it under a commit; None where it does not know."""
    try:
        name = _git(directory, "config", "user.name").decode("utf-8", "replace").strip()
        address = _git(directory, "config", "user.email").decode("utf-8", "replace").strip()
    except GitError:
        return None
    return f"{name} <{address}>" if name and address else None


def _split(output: bytes) -> Sequence[str]:
    return [part.decode("utf-8", "surrogateescape") for part in output.split(b"\0") if part]


def _git(directory: Path, *arguments: str) -> bytes:
    try:
        done = subprocess.run(["git", *arguments], cwd=directory, capture_output=True, check=False)
    except OSError as error:
        raise GitError(f"git cannot be run: {error.strerror or error}") from error
    if done.returncode:
        message = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise GitError(message[0] if message else f"git {arguments[0]} failed")
    return done.stdout
