"""Callers in other files of the same package: what they pass to functions of a module."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

from pallas_static_grid.analysis.interpret.binding import all_args
from pallas_static_grid.analysis.interpret.contexts import Context
from pallas_static_grid.analysis.interpret.parameters import judge
from pallas_static_grid.analysis.values import Function, Unknown, Value, options

if TYPE_CHECKING:
    from pallas_static_grid.analysis.interpret.interpreter import Interpreter

MAX_FUNCTIONS = 12
MAX_FILES = 6


def undecided(run: Interpreter) -> list[Function]:
    """Functions of the module's top level that launch and whose arguments nothing in it tells."""
    out: list[Function] = []
    for node, (function, _) in run.closures.items():
        if (
            node in run.reaching
            and not isinstance(node, ast.Lambda)
            and isinstance(function.scope.node, ast.Module)
            and not run.contexts.get(node)
            and node not in run.extra_contexts
            and node not in run.disguised
            and all_args(function.node.args)
            and any(_is_unknown(value) for value in judge(run, function).values())
        ):
            out.append(function)
    return out[:MAX_FUNCTIONS]


def _is_unknown(value: Value) -> bool:
    return any(isinstance(option, Unknown) for option in options(value))


def callers(run: Interpreter, functions: list[Function]) -> dict[ast.AST, list[Context]]:
    """The calls of these functions in other files of the package, by the function's node."""
    file = run.module.file
    if file is None or not functions:
        return {}
    by_name = {function.qualname: function for function in functions}
    word = re.compile(r"\b(?:" + "|".join(map(re.escape, by_name)) + r")\b")
    out: dict[ast.AST, list[Context]] = {}
    looked = 0
    for path in run.project.package_files(file):
        if looked == MAX_FILES:
            break
        if path == file.resolve() or not word.search(run.project.text_of(path)):
            continue
        looked += 1
        for name, context in _calls_in(run, path, file.resolve()):
            if name in by_name:
                out.setdefault(by_name[name].node, []).append(context)
    return out


def _calls_in(run: Interpreter, path: Path, target: Path) -> list[tuple[str, Context]]:
    """The calls of functions of `target` in the file at `path`: qualified name and arguments."""
    other = run.project.load(path)
    if other is None:
        return []
    # It may have run as an import of something; its functions are to be run this time.
    other.scope = None
    inner = type(run)(other, run.project)
    inner.target = target
    try:
        inner.run()
    except RecursionError:
        return []
    return inner.target_calls
