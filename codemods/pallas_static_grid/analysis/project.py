"""Other files as evidence: what an import leads to, where that is in sight."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path

from pallas_static_grid.analysis.modules import ModuleContext, parse_module

MAX_CHARACTERS = 200_000
"""How much text parsed files may have that are kept; the one used longest ago goes first."""

Reader = Callable[[Path], "str | None"]


def read_text(path: Path) -> str | None:
    """The text of a Python file, or None where it cannot be read as such."""
    try:
        data = path.read_bytes()
        return data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None


_GAP = 2
"""How many folders without `__init__.py` a package may be interrupted by."""


def _package_above(folder: Path) -> Path | None:
    """The nearest package at or above `folder`, across a few namespace folders."""
    for candidate in (folder, *folder.parents)[: _GAP + 1]:
        if candidate.parent != candidate and (candidate / "__init__.py").is_file():
            return candidate
    return None


def _mentions_word(text: str, word: str) -> bool:
    return word in text and re.search(rf"\b{re.escape(word)}\b", text) is not None


_IMPORT = re.compile(r"^[ \t]*(?:from|import)\b(?:[^\n(]*\([^)]*\)|[^\n]*)", re.MULTILINE)


def _imports(text: str, module: str) -> bool:
    return module in text and any(_mentions_word(line, module) for line in _IMPORT.findall(text))


def _uses_imported(text: str, name: str) -> bool:
    """Whether a file mentions `name`, and not only a function of its own that is called so."""
    if not _mentions_word(text, name):
        return False
    if re.search(rf"^(?:async )?def {re.escape(name)}\b", text, re.MULTILINE) is None:
        return True
    imports = _IMPORT.findall(text)
    return (
        any(_mentions_word(line, name) or line.rstrip().endswith("*") for line in imports)
        or re.search(rf"[.'\"]\s*{re.escape(name)}\b", text) is not None
    )


class Project:
    """The files that may be read for evidence, parsed on demand and kept.

    `roots` are directories under scan: modules are looked up below them. A module in the same
    package on disk as the asking file is in sight too. Everything else is opaque.
    `display` gives the path under which a file is reported.
    """

    def __init__(
        self,
        roots: tuple[Path, ...] = (),
        display: Callable[[Path], str] = str,
        reader: Reader = read_text,
    ) -> None:
        self.roots = tuple(root.resolve() for root in roots)
        self.display = display
        self._reader = reader
        self.counter = itertools.count()
        """Numbers for the identities of values, unique in the project."""
        self._cache: dict[Path, ModuleContext | None] = {}
        self._kept = 0
        self._packages_files: dict[Path, tuple[Path, ...]] = {}
        self._places: dict[tuple[str, Path | None], Path | None] = {}
        self._texts: dict[Path, str] = {}
        self._packages: dict[Path, tuple[Path, str]] = {}
        self._importers: dict[Path, tuple[Path, ...]] = {}

    def package_of(self, path: Path) -> tuple[Path, str]:
        """The directory above the outermost package that holds `path`, and its dotted name."""
        folder = path.parent
        if folder not in self._packages:
            top = folder
            while (above := _package_above(top)) is not None:
                top = above.parent
            parts = folder.relative_to(top).parts
            self._packages[folder] = (top, ".".join(parts))
        top, package = self._packages[folder]
        stem = "" if path.name == "__init__.py" else path.stem
        return top, ".".join(part for part in (package, stem) if part)

    def module_name(self, path: Path) -> str:
        """The dotted name of the module at `path`."""
        return self.package_of(path.resolve())[1]

    def load(self, path: Path) -> ModuleContext | None:
        """The parsed file at `path`, or None where it cannot be read or parsed."""
        path = path.resolve()
        if path in self._cache:
            self._cache[path] = self._cache.pop(path)
        else:
            self._cache[path] = module = self._parse(path)
            self._kept += len(module.text) if module is not None else 0
            while self._kept > MAX_CHARACTERS and len(self._cache) > 1:
                oldest = self._cache.pop(next(iter(self._cache)))
                self._kept -= len(oldest.text) if oldest is not None else 0
        return self._cache[path]

    def _parse(self, path: Path) -> ModuleContext | None:
        text = self._reader(path)
        if text is None:
            return None
        try:
            return parse_module(
                self.display(path),
                text,
                self.module_name(path),
                is_package=path.name == "__init__.py",
                file=path,
            )
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    def locate(self, dotted: str, asking: Path | None) -> Path | None:
        """Where the module `dotted` is, if it is in sight of the file `asking`."""
        key = (dotted, asking.parent if asking is not None else None)
        if key not in self._places:
            self._places[key] = self._locate(dotted, asking)
        return self._places[key]

    def _locate(self, dotted: str, asking: Path | None) -> Path | None:
        tops: list[Path] = []
        if asking is not None:
            top, name = self.package_of(asking.resolve())
            inside = "." in name or asking.name == "__init__.py"
            if not inside or dotted.split(".")[0] == name.split(".")[0]:
                tops.append(top)
            if not (asking.parent / "__init__.py").is_file():
                tops.append(asking.resolve().parent)
        for root in self.roots:
            tops.extend((root, self.package_of(root / "__init__.py")[0]))
            tops.append(root / "src")
        relative = Path(*dotted.split("."))
        for top in dict.fromkeys(tops):
            for candidate in (top / relative.with_suffix(".py"), top / relative / "__init__.py"):
                if candidate.is_file() and self._in_sight(candidate, asking):
                    return candidate.resolve()
        return None

    def mentions(self, dotted: str, asking: Path | None, word: str) -> bool:
        """Whether the module `dotted` is in sight and its text holds `word` (nothing is parsed)."""
        path = self.locate(dotted, asking)
        if path is None:
            return False
        if path not in self._texts:
            self._texts[path] = self._reader(path) or ""
        return word in self._texts[path]

    def package_files(self, file: Path) -> tuple[Path, ...]:
        """The Python files of the outermost package that holds `file`; () outside a package."""
        top, name = self.package_of(file.resolve())
        if "." not in name and file.name != "__init__.py":
            return ()
        folder = top / name.split(".")[0]
        if folder not in self._packages_files:
            self._packages_files[folder] = tuple(sorted(folder.rglob("*.py")))
        return self._packages_files[folder]

    def used_elsewhere(self, file: Path, name: str) -> bool:
        """Whether another file of the package (or folder) may import `name` from `file`."""
        file = file.resolve()
        if file not in self._importers:
            stem = file.parent.name if file.name == "__init__.py" else file.stem
            around = self.package_files(file) or sorted(file.parent.glob("*.py"))
            self._importers[file] = tuple(
                path
                for path in around
                if path.resolve() != file and _imports(self.text_of(path), stem)
            )
        return any(_uses_imported(self.text_of(path), name) for path in self._importers[file])

    def text_of(self, path: Path) -> str:
        """The text of a file, not kept; "" where it cannot be read."""
        return self._reader(path) or ""

    def find(self, dotted: str, asking: Path | None) -> ModuleContext | None:
        """The module `dotted`, if it is in sight of the file `asking`."""
        path = self.locate(dotted, asking)
        return self.load(path) if path is not None else None

    def _in_sight(self, candidate: Path, asking: Path | None) -> bool:
        real = candidate.resolve()
        if any(real.is_relative_to(root) for root in self.roots):
            return True
        if asking is None:
            return False
        top, name = self.package_of(asking.resolve())
        if "." in name or asking.name == "__init__.py":
            return real.is_relative_to(top / name.split(".")[0])
        return real.parent == asking.resolve().parent
