"""Paths to files: git's ignore rules, excludes, links, and a byte test for launches."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path

from pallas_static_grid import gitio
from pallas_static_grid.model import Failed, FileReport, Skipped
from pallas_static_grid.source import unreadable

_KERNEL = re.compile(rb"\.kernel\b|\bimport\b[^\n]*\bkernel\b|\bimport\s*\([^)]*\bkernel\b")
_NO_LAUNCH = "no launch"
_NOTEBOOK = "not rewritten: notebook"
_PASSED_OVER = frozenset({"__pycache__", "node_modules"})


class MissingPath(Exception):
    """A path on the command line does not exist."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that may hold a launch."""

    path: str
    """As reported: relative to the current directory, with `/`."""
    file: Path
    """The real file, links resolved."""
    data: bytes
    patch_path: str
    named: bool = False


@dataclass(frozen=True, slots=True)
class Discovery:
    """What the given paths lead to."""

    candidates: tuple[Candidate, ...]
    settled: tuple[FileReport, ...]
    """Files about which everything is known already (skipped, unreadable)."""
    scanned: int
    """How many Python files were looked at."""
    roots: tuple[Path, ...]
    """The directories under scan, resolved."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Excludes:
    """Glob patterns: one without `/` tests each part of a path, one with `/` the whole."""

    patterns: tuple[str, ...] = ()

    def match(self, display: str, absolute: str) -> bool:
        """Whether a file, or a directory above it, is excluded."""
        return any(self._one(pattern, display, absolute) for pattern in self.patterns)

    @staticmethod
    def _one(pattern: str, display: str, absolute: str) -> bool:
        pattern = pattern.rstrip("/").removeprefix("./")
        if "/" not in pattern:
            parts = [part for part in display.split("/") if part not in ("..", ".")]
            return any(fnmatchcase(part, pattern) for part in parts)
        path = absolute if pattern.startswith("/") else display
        pieces = path.split("/")
        heads = ("/".join(pieces[:n]) for n in range(1, len(pieces) + 1))
        return any(fnmatchcase(head, pattern) for head in heads if head)


def display_path(path: Path, cwd: Path) -> str:
    """`path` relative to the current directory, with `/`."""
    try:
        return Path(os.path.relpath(path, cwd)).as_posix()
    except ValueError:  # another drive
        return path.as_posix()


def patch_path(real: Path, cwd: Path) -> str:
    """The path of a real file in patches: from the repository root, else from `cwd`."""
    root = gitio.repository_root(real.parent)
    return display_path(real, root if root is not None else cwd.resolve())


def discover(paths: Sequence[str], cwd: Path, exclude: tuple[str, ...] = ()) -> Discovery:
    """The files to look at under `paths`, in the order of their reported paths.

    Raises MissingPath for a path that does not exist.
    """
    walk = _Walk(cwd, Excludes(exclude))
    for name in paths or (".",):
        walk.add(name)
    return walk.result()


@dataclass(slots=True)
class _Entry:
    path: str
    file: Path
    named: bool


@dataclass(slots=True)
class _Places:
    """Where directories really are, and in which repositories; asked once per directory."""

    real_directories: dict[Path, Path] = field(default_factory=dict)
    roots: dict[Path, Path | None] = field(default_factory=dict)

    def real(self, file: Path) -> Path:
        """The file with all links resolved."""
        if file.is_symlink():
            return file.resolve()
        return self.real_directory(file.parent) / file.name

    def real_directory(self, directory: Path) -> Path:
        """The directory with all links resolved."""
        if directory not in self.real_directories:
            self.real_directories[directory] = directory.resolve()
        return self.real_directories[directory]

    def repository(self, directory: Path) -> Path | None:
        """The root of the repository that a real directory lies in."""
        if directory not in self.roots:
            self.roots[directory] = gitio.repository_root(directory)
        return self.roots[directory]


@dataclass(slots=True)
class _Walk:
    """One discovery under way."""

    cwd: Path
    excludes: Excludes
    places: _Places = field(default_factory=_Places)
    entries: dict[str, _Entry] = field(default_factory=dict)
    roots: list[Path] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add(self, name: str) -> None:
        """Take in one path of the command line."""
        path = Path(os.path.normpath(self.cwd / name))
        if not os.path.lexists(path):
            raise MissingPath(name)
        if path.is_dir():
            self.roots.append(path.resolve())
            for file in self._files(path):
                self._enter(file, named=False)
        else:
            self._enter(path, named=True)

    def _enter(self, file: Path, *, named: bool) -> None:
        display = display_path(file, self.cwd)
        if not named and self.excludes.match(display, file.as_posix()):
            return
        known = self.entries.get(display)
        self.entries[display] = _Entry(display, file, named or (known is not None and known.named))

    def _files(self, directory: Path) -> Iterator[Path]:
        real = directory.resolve()
        root = gitio.repository_root(real)
        if root is None or (real != root and gitio.is_ignored(real)):
            yield from _plain_walk(directory)
            return
        try:
            names = gitio.listed_files(directory)
        except gitio.GitError as error:
            where = display_path(directory, self.cwd)
            self.warnings.append(f"{where}: git's ignore rules are not followed: {error}")
            yield from _plain_walk(directory)
            return
        for name in names:
            path = os.path.join(directory, name)
            if name.endswith((".py", ".ipynb")):
                if os.path.lexists(path) and not os.path.isdir(path):
                    yield Path(path)
            elif os.path.isdir(path) and not os.path.islink(path):  # a repository inside
                yield from self._files(Path(path))

    def result(self) -> Discovery:
        """Read the files and sort them into candidates and settled ones."""
        settled: list[FileReport] = []
        read: list[Candidate] = []
        scanned = 0
        for entry, real in self._each_once(settled):
            python = not entry.path.endswith(".ipynb")
            scanned += python
            found = self._read(entry, real)
            if isinstance(found, Candidate):
                read.append(found)
            elif found is not None:
                settled.append(found)
        wrappers = _wrapper_modules(read)
        candidates: list[Candidate] = []
        for candidate in read:
            if candidate.path.endswith(".ipynb"):
                settled.append(Skipped(candidate.path, _NOTEBOOK, refused=True))
            elif candidate.named or _may_launch(candidate.data, wrappers):
                where = self._patch_path(candidate.file)
                candidates.append(replace(candidate, patch_path=where))
            else:
                settled.append(Skipped(candidate.path, _NO_LAUNCH))
        return Discovery(
            tuple(candidates), tuple(settled), scanned, tuple(self.roots), tuple(self.warnings)
        )

    def _each_once(self, settled: list[FileReport]) -> Iterator[tuple[_Entry, Path]]:
        """Every real file once; other ways to it, and ways out of the root, are settled."""
        entries = sorted(self.entries.values(), key=lambda entry: entry.path)
        real_of = {entry.path: self.places.real(entry.file) for entry in entries}
        plain = {real_of[e.path]: e for e in entries if not _through_link(e.file, real_of[e.path])}
        first: dict[Path, _Entry] = dict(plain)
        for entry in entries:
            first.setdefault(real_of[entry.path], entry)
        for entry in entries:
            real = real_of[entry.path]
            if first[real] is not entry:
                settled.append(
                    Skipped(entry.path, f"a link to {first[real].path}, which is handled there")
                )
            elif entry.file.is_symlink() and not self._inside(entry, real):
                settled.append(
                    Skipped(entry.path, f"not edited: a link to {real}, which is outside the root")
                )
            else:
                yield entry, real

    def _inside(self, entry: _Entry, real: Path) -> bool:
        home = self.places.real_directory(entry.file.parent)
        root = self.places.repository(home)
        allowed = [*self.roots, root if root is not None else home]
        cwd = self.cwd.resolve()
        if root is None and home.is_relative_to(cwd):
            allowed.append(cwd)
        return not real.exists() or any(real.is_relative_to(base) for base in allowed)

    def _read(self, entry: _Entry, real: Path) -> Candidate | FileReport | None:
        try:
            if not stat.S_ISREG(real.stat().st_mode):
                return Failed(entry.path, "read", "cannot be read: not a regular file")
            data = real.read_bytes()
        except OSError as error:
            if entry.file.name.startswith(".#"):  # an editor's lock: a link to nowhere
                return None
            return Failed(entry.path, "read", unreadable(error))
        if entry.path.endswith(".ipynb") and b"pallas_call" not in data:
            return Skipped(entry.path, _NO_LAUNCH) if entry.named else None
        return Candidate(entry.path, real, data, "", entry.named)

    def _patch_path(self, real: Path) -> str:
        root = self.places.repository(real.parent)
        return display_path(real, root if root is not None else self.cwd.resolve())


def _through_link(file: Path, real: Path) -> bool:
    return file.is_symlink() or Path(os.path.normpath(file)) != real


def _plain_walk(directory: Path) -> Iterator[Path]:
    """Python files and notebooks under a directory outside any repository."""
    for top, folders, names in os.walk(directory):
        here = Path(top)
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".")
            and name not in _PASSED_OVER
            and not (here / name / "pyvenv.cfg").exists()
        )
        for name in sorted(names):
            if name.endswith((".py", ".ipynb")):
                yield here / name


def _wrapper_modules(files: Sequence[Candidate]) -> re.Pattern[bytes] | None:
    """A pattern for the names of modules whose functions may hand a grid on to a launch."""
    stems: set[str] = set()
    for file in files:
        if b"pallas_call" in file.data and b"def " in file.data:
            stem = Path(file.path).stem
            stems.add(Path(file.path).parent.name if stem == "__init__" else stem)
    names = sorted(re.escape(stem.encode()) for stem in stems if stem.isidentifier())
    if not names:
        return None
    any_name = b"(?:%s)" % b"|".join(names)
    return re.compile(rb"\bimport\b[^\n]*\b%s\b|\b%s\s+import\b" % (any_name, any_name))


def _may_launch(data: bytes, wrappers: re.Pattern[bytes] | None) -> bool:
    if b"pallas_call" in data or b"GridSpec" in data:
        return True
    if b"kernel" in data and _KERNEL.search(data):
        return True
    return wrappers is not None and b"grid" in data and wrappers.search(data) is not None
