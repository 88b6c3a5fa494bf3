"""Names for what a rewrite introduces: readable, and colliding with nothing in sight."""

from __future__ import annotations

import ast
import builtins
import keyword
from collections.abc import Iterator

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_RESERVED = frozenset(dir(builtins)) | frozenset(keyword.kwlist) | frozenset(keyword.softkwlist)


def fresh(taken: frozenset[str], *candidates: str) -> str:
    """The first candidate that is free; else the first one with a number behind it."""
    for name in candidates:
        if name not in taken and name not in _RESERVED:
            return name
    number = 2
    while f"{candidates[0]}_{number}" in taken:
        number += 1
    return f"{candidates[0]}_{number}"


def identifiers(node: ast.AST) -> Iterator[str]:
    """Every name that code under `node` binds, reads or declares (attributes left out)."""
    for child in ast.walk(node):
        match child:
            case ast.Name(id=name) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name):
                yield name
            case ast.alias(name=path, asname=alias):
                yield alias or path.partition(".")[0]
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                yield from names
            case ast.ExceptHandler(name=str(name)):
                yield name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.MatchMapping(rest=str(name)):
                yield name
            case _:
                pass


def bound_in(node: ast.AST) -> frozenset[str]:
    """The names that the scope of `node` (a module, class or function) binds itself."""
    return frozenset(_bound_in(node))


def _bound_in(node: ast.AST) -> Iterator[str]:
    if isinstance(node, FunctionNode):
        yield from parameters(node)
    if isinstance(node, ast.Lambda):
        yield from (n.target.id for n in _own_nodes(node.body) if isinstance(n, ast.NamedExpr))
        return
    outside: set[str] = set()
    names: list[str] = []
    for statement in getattr(node, "body", []):
        for child in _own_nodes(statement):
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store | ast.Del):
                names.append(child.id)
            elif isinstance(child, ast.Global | ast.Nonlocal):
                outside.update(child.names)
            elif not isinstance(child, ast.Name | ast.arg):
                names.extend(_declared(child))
    yield from (name for name in names if name not in outside)


def _declared(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name
        case ast.ClassDef(name=name):
            yield name
        case ast.alias(name=path, asname=alias):
            yield alias or path.partition(".")[0]
        case ast.ExceptHandler(name=str(name)):
            yield name
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.MatchMapping(rest=str(name)):
            yield name
        case _:
            return


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """`node` and what is below it in the same scope (walrus targets of comprehensions too)."""
    yield node
    inner = node
    if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
        outer: list[ast.AST] = [*inner.decorator_list, *_defaults(inner)]
    elif isinstance(inner, ast.ClassDef):
        outer = [*inner.decorator_list, *inner.bases, *inner.keywords]
    elif isinstance(inner, ast.Lambda):
        outer = _defaults(inner)
    elif isinstance(inner, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        walruses = (n for n in ast.walk(inner) if isinstance(n, ast.NamedExpr))
        yield from (walrus.target for walrus in walruses)
        return
    else:
        outer = list(ast.iter_child_nodes(inner))
    for child in outer:
        yield from _own_nodes(child)


def _defaults(node: FunctionNode) -> list[ast.AST]:
    return [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]


def parameters(node: FunctionNode) -> tuple[str, ...]:
    """The parameters of a function in order, starred ones included."""
    args = node.args
    named = [*args.posonlyargs, *args.args]
    if args.vararg:
        named.append(args.vararg)
    named += args.kwonlyargs
    if args.kwarg:
        named.append(args.kwarg)
    return tuple(arg.arg for arg in named)


def enclosing(tree: ast.Module, target: ast.AST) -> tuple[ast.AST, ...]:
    """The scopes around `target`, from the module to the innermost function, lambda or class.

    `target` itself is not among them. Decorators and defaults belong to the scope outside.
    """
    found = _path(tree, target)
    if found is None:
        return (tree,)
    scopes: list[ast.AST] = [tree]
    for parent, child in zip(found, [*found[1:], target], strict=True):
        body = getattr(parent, "body", None)
        inside = child in body if isinstance(body, list) else child is body
        if inside and isinstance(parent, ast.ClassDef | FunctionNode):
            scopes.append(parent)
    return tuple(scopes)


def _path(tree: ast.AST, target: ast.AST) -> list[ast.AST] | None:
    """The nodes from `tree` down to the parent of `target`."""
    if tree is target:
        return []
    stack: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [(tree, ())]
    while stack:
        node, above = stack.pop()
        if not _may_contain(node, target):
            continue
        path = (*above, node)
        for child in ast.iter_child_nodes(node):
            if child is target:
                return list(path)
            stack.append((child, path))
    return None


def _may_contain(node: ast.AST, target: ast.AST) -> bool:
    """Whether the lines of `node` reach over those of `target` (decorators stand above a def)."""
    line: int | None = getattr(target, "lineno", None)
    first: int | None = getattr(node, "lineno", None)
    last: int | None = getattr(node, "end_lineno", None)
    if line is None or first is None or last is None:
        return True
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([first, *(d.lineno for d in decorators)]) <= line <= last


def path_to(tree: ast.AST, target: ast.AST) -> tuple[ast.AST, ...]:
    """The nodes above `target`, outermost first; empty if it is not in the tree."""
    return tuple(_path(tree, target) or ())


def taken_at(tree: ast.Module, target: ast.AST) -> frozenset[str]:
    """The names that a new local beside `target` must not have.

    All that the innermost function around `target` mentions (its nested functions included),
    and all that the scopes around it bind. If `target` is a function, its own inside counts too.
    """
    scopes = enclosing(tree, target)
    taken: set[str] = set(identifiers(target))
    taken.update(identifiers(scopes[-1]))
    for scope in scopes[:-1]:
        taken.update(bound_in(scope))
    return frozenset(taken)
