"""One-line mutants of a rewritten file: each undoes or spoils one thing that the rewrite did."""

from __future__ import annotations

import ast
import difflib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeGuard


@dataclass(frozen=True)
class Mutant:
    """A changed expression of the rewritten file."""

    kind: str
    line: int
    original: str
    replacement: str
    source: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.original} -> {self.replacement} (line {self.line})"


def mutants(before: str, after: str) -> list[Mutant]:
    """All applicable mutants, without those that give the same text twice."""
    found = {mutant.source: mutant for mutant in _mutants(before, after)}
    return sorted(found.values(), key=lambda mutant: (mutant.line, mutant.kind))


def _mutants(before: str, after: str) -> Iterator[Mutant]:
    tree = ast.parse(after)
    scene = _Scene.of(before, after, tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and node.lineno in scene.changed:
            text = ast.get_source_segment(after, node)
            for kind, replacement in _replacements(node, scene):
                new = _replaced(after, node, replacement)
                yield Mutant(kind, node.lineno, text or "", replacement, new)
    yield from _bounds(before, after, tree)


@dataclass(frozen=True)
class _Scene:
    """What the replacements depend on besides the node."""

    changed: frozenset[int]
    """The lines of the rewrite; with those of the guards that were there, if it added none."""
    counted_axes: tuple[str, ...]
    """The axes whose `num_programs` the original reads."""
    rank: int
    guarded: dict[ast.expr, str]
    """Decorators of functions, with the functions' names."""
    steps: dict[ast.expr, tuple[str, ...]]
    """Expressions in index maps, with the names of the map's steps."""

    @classmethod
    def of(cls, before: str, after: str, tree: ast.Module) -> _Scene:
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        guarded = {item: node.name for node in functions for item in node.decorator_list}
        steps = {}
        for function in functions:
            names = [arg.arg for arg in function.args.args]
            own = tuple(name for name in names if not name.endswith("_ref"))
            if function.name in ("pinned", "dumped"):
                steps.update({node: own for node in ast.walk(function) if _is_expr(node)})
        changed = _changed_lines(before, after)
        if not any(guard.lineno in changed for guard in guarded):
            changed |= {guard.lineno for guard in guarded if ".when(" in ast.unparse(guard)}
        counted = _counted_axes(before)
        return cls(frozenset(changed), tuple(counted), _rank(tree), guarded, steps)


def _is_expr(node: ast.AST) -> TypeGuard[ast.expr]:
    return isinstance(node, ast.expr)


def _replacements(node: ast.expr, scene: _Scene) -> Iterator[tuple[str, str]]:
    """What this node may be replaced by, whatever the rewrite is called."""
    match node:
        case ast.Call(func=ast.Attribute(attr="when"), args=[condition]):
            yield from _of_guard(node, condition, scene.guarded.get(node, ""))
        case ast.Compare(left=left, ops=[ast.Lt()], comparators=[right]):
            yield "one more live step", f"{ast.unparse(left)} <= {ast.unparse(right)}"
            yield "one less live step", f"{ast.unparse(left)} + 1 < {ast.unparse(right)}"
        case ast.Call(func=ast.Attribute(attr="full"), args=[shape, value, dtype]):
            full = ast.unparse(node.func)
            parts = [ast.unparse(part) for part in (shape, value, dtype)]
            yield "live count one more", f"{full}({parts[0]}, ({parts[1]}) + 1, {parts[2]})"
            yield "live count one less", f"{full}({parts[0]}, ({parts[1]}) - 1, {parts[2]})"
            yield "carrier dtype", f"{full}({parts[0]}, {parts[1]}, jnp.float32)"
            yield "carrier dtype", f"{full}({parts[0]}, {parts[1]}, jnp.int8)"
        case ast.Call(func=ast.Attribute(attr="clip"), args=[value, _, high]):
            yield from _of_clip(node, value, high, scene.steps.get(node, ()))
        case ast.Call(func=ast.Attribute(attr="minimum" | "maximum"), args=[first, second]):
            yield "limit removed", ast.unparse(first)
            yield "limit removed", ast.unparse(second)
        case ast.Call(func=ast.Attribute(attr="where"), args=[_, chosen, other]):
            yield "choice removed", ast.unparse(chosen)
            yield "choice removed", ast.unparse(other)
        case ast.Call(func=ast.Name(id=name), args=[wrapped]) if "dump" in name:
            yield "dump block removed", ast.unparse(wrapped)
        case ast.Call(func=ast.Name(id=name), args=[wrapped]) if "pin" in name:
            yield "pin removed", ast.unparse(wrapped)
        case ast.Call(func=ast.Attribute(attr="pad"), args=[array, *_]):
            yield "padding dropped", ast.unparse(array)
        case ast.Call(func=ast.Attribute(attr="program_id"), args=[ast.Constant(value=int(axis))]):
            for step in range(scene.rank):
                if step != axis:
                    yield "wrong axis", f"{ast.unparse(node.func)}({step})"
        case ast.Dict(keys=keys, values=[ast.Constant(value=int()), *_]):
            yield from _of_aliases(node, keys)
        case ast.IfExp(body=ast.Call(func=ast.Attribute(attr="num_programs"))):
            yield "num_programs left", ast.unparse(node.body)
        case ast.Subscript(slice=ast.Constant(value=int()), ctx=ast.Load()):
            for counted in scene.counted_axes:
                yield "num_programs left", f"pl.num_programs({counted})"
        case ast.Subscript(value=ast.Call() | ast.Name(), slice=ast.Slice(lower=None)):
            yield "slice dropped", ast.unparse(node.value)


def _of_guard(node: ast.Call, condition: ast.expr, name: str) -> Iterator[tuple[str, str]]:
    function = ast.unparse(node.func)
    if name.startswith("_keep"):
        yield "copy-through dropped", f"{function}(False)"
        yield "copy-through always", f"{function}(True)"
    else:
        yield "guard dropped", f"{function}(True)"
        yield "guarded part dropped", f"{function}(False)"
    if isinstance(condition, ast.BinOp):
        yield "half of a guard", f"{function}({ast.unparse(condition.left)})"
        yield "half of a guard", f"{function}({ast.unparse(condition.right)})"


def _of_clip(
    node: ast.Call, value: ast.expr, high: ast.expr, steps: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    yield "pin removed", ast.unparse(value)
    match high:
        case ast.Call(func=ast.Attribute(value=module, attr="maximum"), args=[last, _]):
            least = f"{ast.unparse(module)}.minimum"
            yield "pin to -1", f"{least}({ast.unparse(value)}, {ast.unparse(last)})"
    for step in steps:
        if step != ast.unparse(value):
            low, top = (ast.unparse(arg) for arg in node.args[1:3])
            yield "wrong axis", f"{ast.unparse(node.func)}({step}, {low}, {top})"


def _of_aliases(node: ast.Dict, keys: list[ast.expr | None]) -> Iterator[tuple[str, str]]:
    """Each key as it was before a new operand came in front of all others."""
    for index, key in enumerate(keys):
        if key is None or (isinstance(key, ast.Constant) and not isinstance(key.value, int)):
            return
        entries = [
            f"{_less(other) if place == index else ast.unparse(other or key)}: {ast.unparse(value)}"
            for place, (other, value) in enumerate(zip(keys, node.values, strict=True))
        ]
        yield "alias key unshifted", "{" + ", ".join(entries) + "}"


def _less(key: ast.expr | None) -> str:
    if isinstance(key, ast.Constant) and isinstance(key.value, int):
        return str(key.value - 1)
    return "" if key is None else f"{ast.unparse(key)} - 1"


def _bounds(before: str, after: str, tree: ast.Module) -> Iterator[Mutant]:
    """Each grid entry that the rewrite changed, one less."""
    old = Counter(ast.unparse(entry) for entry in _entries(ast.parse(before)))
    new = Counter(ast.unparse(entry) for entry in _entries(tree)) - old
    changed = _changed_lines(before, after)
    for entry in _entries(tree):
        text = ast.get_source_segment(after, entry)
        if text is not None and entry.lineno in changed and ast.unparse(entry) in new:
            less = f"({text}) - 1"
            yield Mutant("bound one less", entry.lineno, text, less, _replaced(after, entry, less))


def _grids(tree: ast.Module) -> Iterator[ast.expr]:
    """All grids, written at the launch or assigned to a name before."""
    names = {"grid"}
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "grid":
            names |= {node.value.id} if isinstance(node.value, ast.Name) else set()
            yield node.value
        match node:
            case ast.Call(func=ast.Attribute(attr="GridSpec"), args=[first, *_]):
                yield first
            case ast.Call(func=ast.Attribute(attr="PrefetchScalarGridSpec"), args=[_, second, *_]):
                yield second
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in names:
            yield node.value


def _entries(tree: ast.Module) -> Iterator[ast.expr]:
    """The entries of all grids."""
    for value in _grids(tree):
        if isinstance(value, ast.Name):
            continue
        for entry in value.elts if isinstance(value, ast.Tuple | ast.List) else [value]:
            match entry:
                case ast.Tuple(elts=[_, size]):
                    yield size
                case _:
                    yield entry


def _counted_axes(before: str) -> list[str]:
    """The axes whose `num_programs` the original reads."""
    return sorted(
        {
            ast.unparse(node.args[0])
            for node in ast.walk(ast.parse(before))
            if isinstance(node, ast.Call)
            and ast.unparse(node.func).endswith("num_programs")
            and node.args
        }
    )


def _rank(tree: ast.Module) -> int:
    """The most axes that a grid of the file has."""
    grids = [len(g.elts) for g in _grids(tree) if isinstance(g, ast.Tuple | ast.List)]
    return max(grids, default=1)


def _changed_lines(before: str, after: str) -> set[int]:
    """Lines that the rewrite wrote; those that only moved under a guard are not its own."""
    old, new = ([line.strip() for line in text.splitlines()] for text in (before, after))
    lines = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return {
        number + 1
        for tag, _, _, start, end in lines
        if tag != "equal"
        for number in range(start, end)
    }


def _replaced(text: str, node: ast.expr, replacement: str) -> str:
    """The text with one node replaced; columns of `ast` count UTF-8 bytes."""
    lines = text.encode().splitlines(keepends=True)
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
    start = offsets[node.lineno - 1] + node.col_offset
    end = offsets[end_line - 1] + end_column
    data = text.encode()
    return (data[:start] + replacement.encode() + data[end:]).decode()
