"""Which functions can reach a launch: by name, before anything is interpreted."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.project import Project
from pallas_static_grid.analysis.traversal import walk

KERNEL = "pallas.kernel"
"""What stands for `kernel` of a Pallas module; many other things have that name."""
SEEDS = frozenset({"pallas_call", "GridSpec", "PrefetchScalarGridSpec", KERNEL})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(eq=False, slots=True)
class Body:
    """A function of a module: where it stands and the identifiers it mentions."""

    node: ast.AST
    owner: ast.AST | None
    name: str | None
    cls: str | None
    mentions: set[str]


@dataclass(eq=False, slots=True)
class Outline:
    """What reachability needs of a module, gathered in one walk."""

    bodies: list[Body]
    aliases: list[tuple[str, set[str]]]
    """Names that statements bind, with what the bound value mentions."""
    imports: list[ast.ImportFrom]
    top: set[str]
    """Identifiers mentioned outside of functions."""


def outline(module: ModuleContext) -> Outline:
    """The outline of a module, computed once."""
    if module.outline is None:
        module.outline = _outline(module.tree)
    return module.outline


def _outline(tree: ast.AST) -> Outline:
    out = Outline([], [], [], set())
    # Each entry: node, innermost function around it, class it stands in directly.
    stack: list[tuple[ast.AST, Body | None, str | None]] = [(tree, None, None)]
    owners: dict[ast.AST, Body] = {}
    pallas = _pallas_names(tree, out)
    while stack:
        node, body, cls = stack.pop()
        match node:
            case ast.Name(id=name):
                (out.top if body is None else body.mentions).add(name)
                continue
            case ast.Attribute(attr=name, value=owner):
                mentions = out.top if body is None else body.mentions
                mentions.add(name)
                if name == "kernel" and isinstance(owner, ast.Name) and owner.id in pallas:
                    mentions.add(KERNEL)
            case ast.alias(name=dotted):
                if body is not None:
                    body.mentions.add(dotted.split(".")[-1])
                continue
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                inner = Body(
                    node, body.node if body else None, getattr(node, "name", None), cls, set()
                )
                out.bodies.append(inner)
                if body is not None:
                    owners[node] = body
                body, cls = inner, None
            case ast.ClassDef(name=name, bases=bases):
                mentioned = {n for base in bases for n in _names(base)}
                out.aliases.append((name, mentioned))
                cls = name
            case ast.ImportFrom():
                out.imports.append(node)
                out.aliases += [(a.asname, {a.name}) for a in node.names if a.asname]
            case ast.Import():
                out.aliases += [(a.asname, {a.name.split(".")[-1]}) for a in node.names if a.asname]
            case ast.Assign(value=ast.Name() | ast.Attribute() | ast.Call() as value):
                mentioned = _names(value)
                for target in node.targets:
                    out.aliases += [
                        (n.id, mentioned) for n in walk(target) if isinstance(n, ast.Name)
                    ]
            case _:
                pass
        for child in node.__dict__.values():
            if isinstance(child, list):
                stack.extend((c, body, cls) for c in child if isinstance(c, ast.AST))
            elif isinstance(child, ast.AST):
                stack.append((child, body, cls))
    for inner in sorted(out.bodies, key=lambda b: _depth(b, owners), reverse=True):
        around = owners.get(inner.node)
        if around is not None:
            around.mentions |= inner.mentions
    return out


def _pallas_names(tree: ast.AST, out: Outline) -> set[str]:
    """Names that imports bind to Pallas modules; `kernel` imported by name is noted in `out`."""
    names: set[str] = set()
    for node in walk(tree):
        if isinstance(node, ast.Import):
            names |= {a.asname or a.name.split(".")[0] for a in node.names if _is_pallas(a.name)}
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                bound = alias.asname or alias.name
                if _is_pallas(node.module or "") and alias.name == "kernel":
                    out.aliases.append((bound, {KERNEL}))
                elif _is_pallas(f"{node.module or ''}.{alias.name}"):
                    names.add(bound)
    return names


def _is_pallas(dotted: str) -> bool:
    return "pallas" in dotted or "mosaic" in dotted


def _depth(body: Body, owners: dict[ast.AST, Body]) -> int:
    depth = 0
    owner = owners.get(body.node)
    while owner is not None:
        depth += 1
        owner = owners.get(owner.node)
    return depth


def _names(node: ast.AST) -> set[str]:
    """Identifiers that a tree mentions, attributes included."""
    out: set[str] = set()
    for inner in walk(node):
        if isinstance(inner, ast.Name):
            out.add(inner.id)
        elif isinstance(inner, ast.Attribute):
            out.add(inner.attr)
    return out


def _closure(found: Outline, known: set[str], *, classes: bool) -> set[str]:
    """Names that lead to a known name through aliases and functions, to a fixed point."""
    while True:
        size = len(known)
        for name, mentioned in found.aliases:
            if name not in known and mentioned & known:
                known.add(name)
        for body in found.bodies:
            if body.mentions & known:
                if body.name:
                    known.add(body.name)
                if body.cls and classes:
                    known.add(body.cls)
        if len(known) == size:
            return known


def launching_names(module: ModuleContext) -> set[str]:
    """Names of functions and classes of a module that mention a launch, directly or not."""
    return _closure(outline(module), set(SEEDS), classes=True)


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """Where launches can be reached in a module."""

    functions: set[ast.AST]
    at_all: bool
    """False where not even the top level mentions anything that launches."""


def reachable(module: ModuleContext, project: Project, *, every: bool = False) -> Reach:
    """The functions of a module from which a launch can be reached.

    `every`: also through functions of other files that need no grid of this one.
    """
    found = outline(module)
    known = set(SEEDS)
    # A launch of a wrapper from elsewhere hands it a grid.
    if every or "grid" in module.text:
        for node in found.imports:
            known |= _imported_launching(module, project, node)
    known = _closure(found, known, classes=True)
    functions = {body.node for body in found.bodies if body.mentions & known}
    return Reach(functions, bool(functions) or bool(found.top & known))


def _imported_launching(module: ModuleContext, project: Project, node: ast.ImportFrom) -> set[str]:
    if module.file is None:
        return set()
    from pallas_static_grid.analysis.interpret.imports import absolute_name

    dotted = absolute_name(module, node)
    if not dotted or dotted.split(".")[0] in {"jax", "numpy", "math", "functools"}:
        return set()
    if not project.mentions(dotted, module.file, "pallas"):
        return set()
    found = project.find(dotted, module.file)
    if found is None or found is module:
        return set()
    theirs = launching_names(found)
    return {alias.asname or alias.name for alias in node.names if alias.name in theirs}


def callers_first(module: ModuleContext, relevant: set[ast.AST]) -> list[ast.AST]:
    """The relevant functions, those that call others before those that are called."""
    listed = [body for body in outline(module).bodies if body.node in relevant]
    listed.sort(key=lambda body: _position(body.node))
    mentions = {body.node: body.mentions for body in listed}
    by_name: dict[str, list[ast.AST]] = {}
    for body in listed:
        if body.name:
            by_name.setdefault(body.name, []).append(body.node)
    done: list[ast.AST] = []
    state: dict[ast.AST, int] = {}

    def visit(node: ast.AST) -> None:
        if state.get(node):
            return
        state[node] = 1
        for name in sorted(mentions[node] & by_name.keys()):
            for callee in by_name.get(name, ()):
                if callee is not node and not state.get(callee):
                    visit(callee)
        state[node] = 2
        done.append(node)

    for body in listed:
        visit(body.node)
    order = done[::-1]
    # A nested function can run only after the one around it has.
    owners = {body.node: body.owner for body in listed}
    out: list[ast.AST] = []
    placed: set[ast.AST] = set()

    def place(node: ast.AST) -> None:
        if node in placed:
            return
        placed.add(node)
        owner = owners.get(node)
        if owner is not None and owner not in relevant:
            owner = None
        if owner is not None:
            place(owner)
        out.append(node)

    for node in order:
        place(node)
    return out


def rebound_names(node: ast.AST) -> dict[str, ast.AST]:
    """Names of a function (or module) that functions inside declare nonlocal (or global).

    Those that only ever get literal ints there are left out: they stay ints.
    """
    out: dict[str, ast.AST] = {}
    wanted = ast.Global if isinstance(node, ast.Module) else ast.Nonlocal
    if not isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef):
        return out
    for inner in walk(node):
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef) and inner is not node:
            for statement in walk(inner):
                if isinstance(statement, wanted):
                    for name in statement.names:
                        if not _only_literal_ints(inner, name):
                            out[name] = statement
    return out


def _only_literal_ints(function: ast.AST, name: str) -> bool:
    """Whether every binding of a name in a function is `name = <int>` or `name += <int>`."""
    plain = 0
    stores = 0
    for node in walk(function):
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
            stores += 1
        targets = (
            node.targets
            if isinstance(node, ast.Assign)
            else ([node.target] if isinstance(node, ast.AugAssign) else [])
        )
        for target in targets:
            if isinstance(target, ast.Name) and target.id == name:
                value = node.value if isinstance(node, ast.Assign | ast.AugAssign) else None
                division = isinstance(node, ast.AugAssign) and isinstance(
                    node.op, ast.Div | ast.Pow
                )
                if isinstance(value, ast.Constant) and type(value.value) is int and not division:
                    plain += 1
    return stores == plain


def is_generator(node: ast.AST) -> bool:
    """Whether a function's own body yields."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    stack: list[ast.AST] = list(node.body)
    while stack:
        inner = stack.pop()
        if isinstance(inner, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(inner, (*_FUNCTIONS, ast.ClassDef)):
            stack.extend(ast.iter_child_nodes(inner))
    return False


def _position(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
