"""Verdicts: from the values of a grid to static, dynamic or unknown, each with its chain."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.values import (
    Array,
    Class,
    Const,
    Float,
    Function,
    Int,
    Partial,
    Sequence,
    Transformed,
    Tuple,
    Union,
    Unknown,
    Value,
    is_none,
    options,
)
from pallas_static_grid.model import GridKind, Step, Verdict


@dataclass(frozen=True, slots=True)
class Entry:
    """One grid dimension: its text, its value and the judgement."""

    expression: str
    value: Value
    verdict: Verdict
    why: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """The judged grid of a launch."""

    kind: GridKind
    verdict: Verdict
    why: tuple[Step, ...]
    entries: tuple[Entry, ...]


def judge_value(value: Value) -> Verdict:
    """What a grid entry of this value is."""
    # A grid entry that is None is an error in any case: judge what it is otherwise.
    kept = [o for o in options(value) if not is_none(o)]
    verdicts = {_judge_option(option) for option in kept or [value]}
    if "dynamic" in verdicts:
        return "dynamic"
    return "unknown" if "unknown" in verdicts else "static"


def _judge_option(value: Value) -> Verdict:
    match value:
        case Int():
            return "static"
        case Array() | Float():
            return "dynamic"
        case _:
            return "unknown"


def cause_of(value: Value) -> Value:
    """The alternative that decides the verdict of a value."""
    verdict = judge_value(value)
    for option in options(value):
        if _judge_option(option) == verdict:
            return option
    return value


def chain(value: Value, first: Step) -> tuple[Step, ...]:
    """The steps from the grid entry to the cause, without repetitions."""
    decisive = cause_of(value)
    steps = [first]
    trace = decisive.trace or value.trace
    if trace is not None:
        steps.extend(trace.steps())
    if isinstance(decisive, Unknown) and (
        trace is None or decisive.need not in (steps[-1].reason,)
    ):
        last = steps[-1]
        if decisive.need:
            steps.append(Step(last.path, last.line, last.text, decisive.need))
    out: list[Step] = []
    for step in steps:
        if not out or (step.line, step.path, step.reason) != (
            out[-1].line,
            out[-1].path,
            out[-1].reason,
        ):
            out.append(step)
    return tuple(out[:24])


def judge_grid(
    module: ModuleContext, value: Value | None, node: ast.expr | None, at: ast.AST
) -> Grid:
    """The judgement of a grid; `node` is the expression where it is in sight, `at` the launch."""
    where = node if node is not None else at
    if value is None:
        return Grid("none", "static", (), ())
    kinds = [o for o in options(value) if not is_none(o)]
    if not kinds:
        return Grid("none", "static", (), ())
    text = _text(module, node)
    first = _step(module, where, f"the grid is `{text}`" if text else "the grid of this launch")
    if all(isinstance(o, Function | Partial | Transformed | Class) for o in kinds):
        why = (first, *_own_steps(module, kinds[0]))
        return Grid("callable", "dynamic", why, ())
    if any(isinstance(o, Function) for o in kinds):
        return Grid("callable", "dynamic", (first, *_own_steps(module, kinds[0])), ())
    rows = [_row(o) for o in kinds]
    if all(row is not None for row in rows) and len({len(row or ()) for row in rows}) == 1:
        return _entries(module, value, node, where, [row or () for row in rows], kinds)
    return _opaque(module, value, kinds, first)


def _row(value: Value) -> tuple[Value, ...] | None:
    """The entries of one grid value."""
    match value:
        case Tuple():
            return tuple(_unnamed(v) for v in value.items)
        case Int():
            return (value,)
        case Array(entries=tuple() as entries) if entries and value.shape != ():
            return tuple(
                replace(value, elem=entry, shape=(), entries=None, ident=f"{value.ident}[{i}]")
                for i, entry in enumerate(entries)
            )
        case Array(shape=()) | Float():
            return (value,)
        case _:
            return None


def _unnamed(value: Value) -> Value:
    """The size of a named grid entry `("rows", n)`."""
    if (
        isinstance(value, Tuple)
        and len(value.items) == 2
        and (isinstance(value.items[0], Const) and isinstance(value.items[0].value, str))
    ):
        return value.items[1]
    return value


def _entries(
    module: ModuleContext,
    value: Value,
    node: ast.expr | None,
    where: ast.AST,
    rows: list[tuple[Value, ...]],
    kinds: list[Value],
) -> Grid:
    out: list[Entry] = []
    texts = _texts(module, node, kinds)
    for index in range(len(rows[0])):
        parts = tuple(row[index] for row in rows)
        joined: Value = parts[0] if len(parts) == 1 else Union(parts)
        text, line_node = texts[index]
        first = _step(module, line_node or where, f"grid entry {index} is `{text}`")
        verdict = judge_value(joined)
        out.append(Entry(text, joined, verdict, chain(joined, first)))
    verdicts = {entry.verdict for entry in out}
    verdict2: Verdict = (
        "dynamic" if "dynamic" in verdicts else ("unknown" if "unknown" in verdicts else "static")
    )
    return Grid("tuple", verdict2, (), tuple(out))


def _texts(
    module: ModuleContext, node: ast.expr | None, kinds: list[Value]
) -> list[tuple[str, ast.expr | None]]:
    """Text and place of each entry, from the display where it is in sight."""
    first = kinds[0]
    if not isinstance(first, Tuple):
        if isinstance(first, Array) and first.entries:
            name = _text(module, node)
            return [(f"{name}[{i}]", node) for i in range(len(first.entries))]
        return [(_text(module, node) or "the grid", node)]
    out: list[tuple[str, ast.expr | None]] = []
    whole = _text(module, node)
    for index in range(len(first.items)):
        entry: ast.expr | None = None
        if isinstance(node, ast.Tuple | ast.List) and len(node.elts) == len(first.items):
            entry = node.elts[index]
        elif first.nodes and index < len(first.nodes):
            entry = first.nodes[index]
        if (
            isinstance(entry, ast.Tuple)
            and len(entry.elts) == 2
            and isinstance(first.items[index], Tuple)
        ):
            entry = entry.elts[1]
        text = _segment_in(module, entry)
        if isinstance(entry, ast.Starred) or text is None:
            text = f"{whole}[{index}]" if whole and whole.isidentifier() else f"grid[{index}]"
            entry = None
        out.append((text, entry))
    return out


def _segment_in(module: ModuleContext, node: ast.expr | None) -> str | None:
    """The text of a node, if it belongs to this module."""
    if node is None or node not in _nodes(module):
        return None
    return module.flat(node)


def _nodes(module: ModuleContext) -> set[ast.AST]:
    if module.node_set is None:
        module.node_set = set(ast.walk(module.tree))
    return module.node_set


def _opaque(module: ModuleContext, value: Value, kinds: list[Value], first: Step) -> Grid:
    """A grid whose entries cannot be told apart."""
    verdicts: list[tuple[Verdict, Value]] = []
    for option in kinds:
        match option:
            case Sequence():
                verdicts.append((judge_value(option.elem), option.elem))
            case Tuple():
                for item in option.items:
                    verdicts.append((judge_value(_unnamed(item)), _unnamed(item)))
            case Array():
                verdicts.append(("dynamic", option))
            case Int():
                verdicts.append(("static", option))
            case _:
                verdicts.append(("unknown", option))
    for wanted in ("dynamic", "unknown"):
        for verdict, cause in verdicts:
            if verdict == wanted:
                return Grid("opaque", verdict, chain(cause, first), ())
    return Grid("opaque", "static", (first,), ())


def _own_steps(module: ModuleContext, value: Value) -> tuple[Step, ...]:
    if isinstance(value, Function):
        line = getattr(value.node, "lineno", 1)
        text = value.module.line_text(line)
        reason = f"`{value.name}` is a callable, and `pallas_call` takes none as its grid"
        return (Step(value.module.path, line, text, reason),)
    return ()


def _step(module: ModuleContext, node: ast.AST, reason: str) -> Step:
    line = getattr(node, "lineno", 1)
    return Step(module.path, line, module.line_text(line), reason)


def _text(module: ModuleContext, node: ast.expr | None) -> str:
    return module.flat(node) if node is not None else ""
