"""Which functions can reach a launch: by name, before anything is interpreted."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.project import Project

SEEDS = frozenset({"pallas_call", "GridSpec", "PrefetchScalarGridSpec", "kernel"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def functions(tree: ast.AST) -> Iterator[tuple[ast.AST, ast.AST | None, str | None]]:
    """Every function of a tree with the function around it and the class it stands in."""
    stack: list[tuple[ast.AST, ast.AST | None, str | None]] = [(tree, None, None)]
    while stack:
        node, owner, cls = stack.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, _FUNCTIONS):
                yield child, owner, cls
                stack.append((child, child, None))
            elif isinstance(child, ast.ClassDef):
                stack.append((child, owner, child.name))
            else:
                stack.append((child, owner, cls))


def _names(node: ast.AST) -> set[str]:
    """Identifiers that a tree mentions, attributes included."""
    out: set[str] = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            out.add(inner.id)
        elif isinstance(inner, ast.Attribute):
            out.add(inner.attr)
        elif isinstance(inner, ast.alias):
            out.add(inner.name.split(".")[-1])
    return out


def _aliases(tree: ast.AST, known: set[str]) -> set[str]:
    """Names that are bound to something which mentions a known name."""
    out: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom | ast.Import):
            for alias in node.names:
                if alias.asname and alias.name.split(".")[-1] in known:
                    out.add(alias.asname)
        elif isinstance(node, ast.Assign) and isinstance(
            node.value, ast.Name | ast.Attribute | ast.Call
        ):
            mentioned = _names(node.value)
            if mentioned & known:
                for target in node.targets:
                    out.update(
                        t.id for t in ast.walk(target)
                        if isinstance(t, ast.Name) and isinstance(t.ctx, ast.Store)
                    )
        elif isinstance(node, ast.ClassDef) and any(_names(b) & known for b in node.bases):
            out.add(node.name)
    return out


def launching_names(module: ModuleContext) -> set[str]:
    """Names of functions and classes of a module that mention a launch, directly or not."""
    known = set(SEEDS)
    info = [(node, _own_name(node, cls), cls, _names(node))
            for node, _, cls in functions(module.tree)]
    while True:
        size = len(known)
        known |= _aliases(module.tree, known)
        for _, name, cls, mentioned in info:
            if mentioned & known:
                if name:
                    known.add(name)
                if cls:
                    known.add(cls)
        if len(known) == size:
            return known - {"kernel"}


def relevant_functions(module: ModuleContext, project: Project) -> set[ast.AST]:
    """The functions of a module from which a launch can be reached."""
    known = launching_names(module) | SEEDS
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom | ast.Import):
            known |= _imported_launching(module, project, node)
    while True:
        size = len(known)
        for node, _, cls in functions(module.tree):
            if _names(node) & known:
                name = _own_name(node, cls)
                known |= {n for n in (name, cls) if n}
        known |= _aliases(module.tree, known)
        if len(known) == size:
            break
    out: set[ast.AST] = set()
    for node, _, _ in functions(module.tree):
        if _names(node) & known:
            out.add(node)
    return out


def _imported_launching(
    module: ModuleContext, project: Project, node: ast.ImportFrom | ast.Import
) -> set[str]:
    if isinstance(node, ast.Import) or module.file is None:
        return set()
    from pallas_static_grid.analysis.imports import absolute_name

    dotted = absolute_name(module, node)
    if not dotted or dotted.split(".")[0] in {"jax", "numpy", "math", "functools"}:
        return set()
    found = project.find(dotted, module.file)
    if found is None or found is module:
        return set()
    theirs = launching_names(found)
    return {alias.asname or alias.name for alias in node.names if alias.name in theirs}


def _own_name(node: ast.AST, cls: str | None) -> str | None:
    if isinstance(node, ast.Lambda):
        return None
    name = getattr(node, "name", None)
    return name if isinstance(name, str) else None


def callers_first(tree: ast.AST, relevant: Iterable[ast.AST]) -> list[ast.AST]:
    """The relevant functions, those that call others before those that are called."""
    wanted = set(relevant)
    listed = [(node, owner, cls) for node, owner, cls in functions(tree) if node in wanted]
    listed.sort(key=lambda item: (item[0].lineno, item[0].col_offset))  # type: ignore[attr-defined]
    by_name: dict[str, list[ast.AST]] = {}
    for node, _, cls in listed:
        name = _own_name(node, cls)
        if name:
            by_name.setdefault(name, []).append(node)
    done: list[ast.AST] = []
    state: dict[ast.AST, int] = {}

    def visit(node: ast.AST) -> None:
        if state.get(node):
            return
        state[node] = 1
        for name in sorted(_names(node)):
            for callee in by_name.get(name, ()):
                if callee is not node and not state.get(callee):
                    visit(callee)
        state[node] = 2
        done.append(node)

    for node, _, _ in listed:
        visit(node)
    order = done[::-1]
    # A nested function can run only after the one around it has.
    owners = {node: owner for node, owner, _ in listed}
    out: list[ast.AST] = []
    placed: set[ast.AST] = set()

    def place(node: ast.AST) -> None:
        if node in placed:
            return
        placed.add(node)
        owner = owners.get(node)
        while owner is not None and owner not in wanted:
            owner = owners.get(owner)
        if owner is not None:
            place(owner)
        out.append(node)

    for node in order:
        place(node)
    return out


def is_generator(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> bool:
    """Whether a function's own body yields."""
    if isinstance(node, ast.Lambda):
        return False
    stack: list[ast.AST] = list(node.body)
    while stack:
        inner = stack.pop()
        if isinstance(inner, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(inner, (*_FUNCTIONS, ast.ClassDef)):
            stack.extend(ast.iter_child_nodes(inner))
    return False
