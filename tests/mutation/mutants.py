"""One-line mutants of a rewritten file: each undoes or spoils one thing that the rewrite did."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass


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
    changed = _changed_lines(before, after)
    reads = _counted_axes(before)
    rank = _rank(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.expr) or node.lineno not in changed:
            continue
        text = ast.get_source_segment(after, node)
        if text is None:
            continue
        for kind, replacement in _replacements(node, text, reads, rank):
            yield Mutant(kind, node.lineno, text, replacement, _replaced(after, node, replacement))
    yield from _bounds(before, after, tree)


def _replacements(
    node: ast.expr, text: str, counted_axes: list[str], rank: int
) -> Iterator[tuple[str, str]]:
    """What this node may be replaced by, whatever the rewrite is called."""
    match node:
        case ast.Call(func=ast.Attribute(attr="when"), args=[condition]):
            function = ast.unparse(node.func)
            yield "guard dropped", f"{function}(True)"
            yield "guarded part dropped", f"{function}(False)"
            if isinstance(condition, ast.BinOp):
                yield "half of a guard", f"{function}({ast.unparse(condition.left)})"
                yield "half of a guard", f"{function}({ast.unparse(condition.right)})"
        case ast.Compare(left=left, ops=[ast.Lt()], comparators=[right]):
            yield "one more live step", f"{ast.unparse(left)} <= {ast.unparse(right)}"
            yield "one less live step", f"{ast.unparse(left)} + 1 < {ast.unparse(right)}"
        case ast.Call(func=ast.Attribute(attr="full"), args=[shape, value, dtype]):
            full = ast.unparse(node.func)
            parts = [ast.unparse(part) for part in (shape, value, dtype)]
            yield "live count one more", f"{full}({parts[0]}, ({parts[1]}) + 1, {parts[2]})"
            yield "carrier dtype", f"{full}({parts[0]}, {parts[1]}, jnp.float32)"
            yield "carrier dtype", f"{full}({parts[0]}, {parts[1]}, jnp.int8)"
        case ast.Call(func=ast.Attribute(attr="clip"), args=[value, _, high]):
            clip = ast.unparse(node.func)
            yield "pin removed", ast.unparse(value)
            yield "pin to -1", f"{clip}({ast.unparse(value)}, -1, {ast.unparse(high)})"
        case ast.Call(func=ast.Attribute(attr="minimum" | "maximum"), args=[first, second]):
            yield "limit removed", ast.unparse(first)
            yield "limit removed", ast.unparse(second)
        case ast.Call(func=ast.Attribute(attr="where"), args=[_, chosen, other]):
            yield "choice removed", ast.unparse(chosen)
            yield "choice removed", ast.unparse(other)
        case ast.Call(func=ast.Name(id=name), args=[wrapped]) if "pin" in name or "dead" in name:
            yield "pin removed", ast.unparse(wrapped)
        case ast.Call(func=ast.Attribute(attr="pad"), args=[array, *_]):
            yield "padding dropped", ast.unparse(array)
        case ast.Call(func=ast.Attribute(attr="program_id"), args=[ast.Constant(value=int(axis))]):
            for other in range(rank):
                if other != axis:
                    yield "wrong axis", f"{ast.unparse(node.func)}({other})"
        case ast.Dict(keys=[ast.Constant(value=int(key))], values=[ast.Constant(value=int(out))]):
            yield "alias key unshifted", f"{{{key - 1}: {out}}}"
        case ast.Subscript(slice=ast.Constant(value=0), ctx=ast.Load()):
            for axis in counted_axes:
                yield "num_programs left", f"pl.num_programs({axis})"
        case ast.Subscript(value=ast.Call() | ast.Name(), slice=ast.Slice(lower=None)):
            yield "slice dropped", ast.unparse(node.value)


def _bounds(before: str, after: str, tree: ast.Module) -> Iterator[Mutant]:
    """Each grid entry that the rewrite changed, one less."""
    old = {ast.unparse(entry) for entry in _entries(ast.parse(before))}
    for entry in _entries(tree):
        text = ast.get_source_segment(after, entry)
        if text is not None and ast.unparse(entry) not in old:
            less = f"({text}) - 1"
            yield Mutant("bound one less", entry.lineno, text, less, _replaced(after, entry, less))


def _entries(tree: ast.Module) -> Iterator[ast.expr]:
    """The entries of all grids, written at the launch or assigned to `grid` before."""
    values = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword) and node.arg == "grid"
    ]
    values += [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "grid"
    ]
    for value in values:
        for entry in value.elts if isinstance(value, ast.Tuple | ast.List) else [value]:
            named = isinstance(entry, ast.Tuple) and len(entry.elts) == 2
            yield entry.elts[1] if named else entry


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
    axes = [
        node.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).endswith("program_id")
        and node.args
        and isinstance(node.args[0], ast.Constant)
    ]
    return max([int(axis) for axis in axes], default=0) + 1


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
