"""The rewrites of a file as pieces that can be taken one by one.

The rewrites of a file form a chain of texts. Here each of them is read as line edits against the
original file, so that any choice of them gives a text: HTML and SARIF readers choose after the
program has ended. Rewrites that touch the same or neighbouring lines, or of which one needs
a name that another binds, are tied together into one group. An import that several rewrites need
is a piece of its own, taken with any of them.
"""

from __future__ import annotations

import ast
import builtins
import re
import symtable
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pallas_static_grid.render.opcodes import opcodes

_IMPORT = re.compile(r"(import|from)\s")
_BUILTIN_NAMES = frozenset(dir(builtins)) | {"__file__", "__name__", "__doc__", "__path__"}


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the original or of a rewrite; `added` and `removed` are indices of pieces."""

    text: str
    added: int | None = None
    removed: int | None = None


@dataclass(frozen=True, slots=True)
class Composition:
    """All lines that any choice of rewrites can have, in order."""

    lines: tuple[Line, ...]
    groups: tuple[tuple[int, ...], ...]
    """Rewrites (by their place in the chain) that are taken or left together."""
    pieces: tuple[frozenset[int], ...]
    """For each piece the groups with any of which it is taken."""

    def taken(self, groups: Collection[int]) -> frozenset[int]:
        """The pieces that belong to a choice of groups."""
        chosen = frozenset(groups)
        return frozenset(i for i, owners in enumerate(self.pieces) if owners & chosen)

    def text(self, groups: Collection[int]) -> str:
        """The file with these groups applied."""
        taken = self.taken(groups)
        return "".join(
            line.text
            for line in self.lines
            if (line.added is None or line.added in taken) and line.removed not in taken
        )


@dataclass(frozen=True, slots=True)
class _Hunk:
    """A piece while the chain is read: which rewrite made it, what it adds."""

    rewrite: int
    added: tuple[str, ...]
    imports: frozenset[str]
    """The names it binds, where it adds nothing but imports."""


def compose(chain: Sequence[str]) -> Composition:
    """The composition of a chain of texts, the original first."""
    lines, hunks, ties = _overlay(chain)
    groups = _Groups(len(chain) - 1)
    for one, other in ties:
        groups.tie(one, other)
    composition = _settle(lines, hunks, groups)
    if not _is_sound(composition, chain):
        for rewrite in range(1, len(chain) - 1):
            groups.tie(0, rewrite)
        composition = _settle(*_whole(chain), groups)
    return composition


def split(text: str) -> list[str]:
    """The lines of `text` as git counts them, with their ends."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


class _Groups:
    """Disjoint sets of rewrites."""

    def __init__(self, count: int) -> None:
        self._parent = list(range(count))

    def of(self, rewrite: int) -> int:
        while self._parent[rewrite] != rewrite:
            rewrite = self._parent[rewrite]
        return rewrite

    def tie(self, one: int, other: int) -> bool:
        low, high = sorted((self.of(one), self.of(other)))
        self._parent[high] = low
        return low != high

    def members(self) -> tuple[tuple[int, ...], ...]:
        sets: dict[int, list[int]] = {}
        for rewrite in range(len(self._parent)):
            sets.setdefault(self.of(rewrite), []).append(rewrite)
        return tuple(tuple(members) for members in sets.values())


def _overlay(
    chain: Sequence[str],
) -> tuple[list[Line], list[_Hunk], list[tuple[int, int]]]:
    """Every line of every text of the chain once, the pieces, and which rewrites touch."""
    lines = [Line(text) for text in split(chain[0])]
    hunks: list[_Hunk] = []
    ties: list[tuple[int, int]] = []
    for rewrite, text in enumerate(chain[1:]):
        live = [at for at, line in enumerate(lines) if line.removed is None]
        after = split(text)
        before = [lines[at].text for at in live]
        for tag, start, end, new_start, new_end in reversed(opcodes(before, after)):
            if tag == "equal":
                continue
            added = tuple(after[new_start:new_end])
            imports = _imported_names(added) if start == end else frozenset()
            low = live[start - 1] if start else 0
            high = live[end] if end < len(live) else len(lines) - 1
            ties += _touched(lines[low : high + 1], rewrite, hunks, imports)
            piece = len(hunks)
            hunks.append(_Hunk(rewrite, added, imports))
            for at in live[start:end]:
                lines[at] = replace(lines[at], removed=piece)
            place = live[end - 1] + 1 if end > start else low + 1 if start else 0
            lines[place:place] = [Line(new, added=piece) for new in added]
    return lines, hunks, ties


def _touched(
    around: Iterable[Line], rewrite: int, hunks: Sequence[_Hunk], imports: frozenset[str]
) -> Iterator[tuple[int, int]]:
    """Earlier rewrites of which a change touches a line, or a neighbour of one."""
    for line in around:
        for piece in (line.added, line.removed):
            if piece is None:
                continue
            other = hunks[piece]
            if other.rewrite != rewrite and not (imports or other.imports):
                yield other.rewrite, rewrite


def _imported_names(added: Sequence[str]) -> frozenset[str]:
    """The names that these lines bind, if they are imports and blank lines only."""
    if not all(not line.strip() or _IMPORT.match(line) for line in added):
        return frozenset()
    try:
        tree = ast.parse("".join(added))
    except SyntaxError:
        return frozenset()
    return frozenset(
        alias.asname or alias.name.split(".")[0]
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    )


def _settle(lines: Sequence[Line], hunks: Sequence[_Hunk], groups: _Groups) -> Composition:
    """Tie and share until each group alone has all the names that it uses."""
    sharers: list[set[int]] = [{hunk.rewrite} for hunk in hunks]
    while True:
        members = groups.members()
        number = {rewrite: i for i, group in enumerate(members) for rewrite in group}
        composition = Composition(
            tuple(lines),
            members,
            tuple(frozenset(number[rewrite] for rewrite in owners) for owners in sharers),
        )
        if not _supply_names(composition, hunks, groups, sharers):
            return composition


def _supply_names(
    composition: Composition,
    hunks: Sequence[_Hunk],
    groups: _Groups,
    sharers: list[set[int]],
) -> bool:
    """Whether something had to be tied or shared for the names of some group."""
    original = unresolved_names(composition.text(())) or frozenset()
    changed = False
    for number, group in enumerate(composition.groups):
        missing = (unresolved_names(composition.text((number,))) or frozenset()) - original
        for name in sorted(missing):
            source = _source_of(name, group, hunks)
            if source is None:
                continue
            if name in hunks[source].imports:
                changed |= group[0] not in sharers[source]
                sharers[source].add(group[0])
            else:
                changed |= groups.tie(group[0], hunks[source].rewrite)
    return changed


def _source_of(name: str, group: Sequence[int], hunks: Sequence[_Hunk]) -> int | None:
    """The piece of another group that first brings `name` in."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    found = [
        i
        for i, hunk in enumerate(hunks)
        if hunk.rewrite not in group and any(word.search(line) for line in hunk.added)
    ]
    imports = [i for i in found if name in hunks[i].imports]
    return min(imports or found, key=lambda i: hunks[i].rewrite, default=None)


def _is_sound(composition: Composition, chain: Sequence[str]) -> bool:
    """Whether the ends of the chain come out exactly, and every lone and every left-out group."""
    everything = range(len(composition.groups))
    if composition.text(()) != chain[0] or composition.text(everything) != chain[-1]:
        return False
    if len(composition.groups) == 1 or unresolved_names(chain[0]) is None:
        return True
    known = (unresolved_names(chain[0]) or frozenset()) | (
        unresolved_names(chain[-1]) or frozenset()
    )
    for group in everything:
        for choice in ((group,), [other for other in everything if other != group]):
            names = unresolved_names(composition.text(choice))
            if names is None or names - known:
                return False
    return True


def _whole(chain: Sequence[str]) -> tuple[list[Line], list[_Hunk]]:
    lines, hunks, _ = _overlay((chain[0], chain[-1]))
    return lines, hunks


def unresolved_names(text: str) -> frozenset[str] | None:
    """Names that are used and bound nowhere in the module; None if it does not compile."""
    try:
        top = symtable.symtable(text, "<module>", "exec")
    except (SyntaxError, ValueError, RecursionError):
        return None
    used: set[str] = set()
    bound: set[str] = set()
    tables = [top]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        for symbol in table.get_symbols():
            at_module_level = table is top or symbol.is_global()
            if at_module_level and symbol.is_referenced():
                used.add(symbol.get_name())
            if at_module_level and (symbol.is_assigned() or symbol.is_imported()):
                bound.add(symbol.get_name())
    return frozenset(used - bound - _BUILTIN_NAMES)
