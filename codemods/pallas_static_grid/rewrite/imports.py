"""Imports that emitted code needs: the name they have at a place, or a new line."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.model import Edit
from pallas_static_grid.rewrite.edits import insertion
from pallas_static_grid.rewrite.names import bound_in, enclosing, fresh, taken_at
from pallas_static_grid.rewrite.syntax import comments_above, line_end, line_start, newline_of

_ALIASES = {
    "jax": "jax",
    "jax.numpy": "jnp",
    "jax.lax": "lax",
    "jax.experimental.pallas": "pl",
    "jax.experimental.pallas.tpu": "pltpu",
    "jax.experimental.pallas.mosaic_gpu": "plgpu",
    "functools": "functools",
    "math": "math",
}
_LOADED_BY = {"jax": frozenset({"jax", "jax.numpy", "jax.lax"})}
"""Submodules that importing the package loads."""


@dataclass(frozen=True, slots=True)
class Needed:
    """How a module is written at a place: `text`, and the edits that make it so."""

    text: str
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True, slots=True)
class _Binding:
    """One name that an import statement binds: `name` means the object `target`."""

    name: str
    target: str
    statement: ast.stmt
    plain: bool
    """`import a.b`: binds `a`, and makes `a.b` available."""


def needed(module: ModuleContext, wanted: str, at: ast.AST, *, dotted: bool = True) -> Needed:
    """How the module `wanted` (dotted) is written in the scope of the node `at`.

    Reuses the name under which it is imported already, if that name still means it there;
    otherwise adds an import at module level under the usual alias. `dotted`: `jax.numpy` will do
    where only `jax` is imported.
    """
    present = _present(module, wanted, at)
    if present is not None and (dotted or "." not in present):
        return Needed(present)
    usual = _ALIASES.get(wanted, wanted.rpartition(".")[2])
    taken = taken_at(module.tree, at) | bound_in(module.tree)
    own = fresh(frozenset(_scopes_names(module, at)) | taken - {usual}, usual)
    if usual in taken:
        own = fresh(taken, f"{usual}_", f"_{usual}")
    return Needed(own, _insert_import(module, _statement(wanted, own)))


def member(module: ModuleContext, path: str, at: ast.AST) -> Needed:
    """How a member such as `math.prod` or `jax.experimental.pallas.cdiv` is written at `at`.

    Uses the module if it is imported, a direct import of the member (`from math import prod`)
    if that is what there is, and imports the module otherwise.
    """
    owner, _, name = path.rpartition(".")
    present = _present(module, owner, at)
    if present is not None:
        return Needed(f"{present}.{name}")
    direct = _present(module, path, at)
    if direct is not None:
        return Needed(direct)
    found = needed(module, owner, at)
    return Needed(f"{found.text}.{name}", found.edits)


def _scopes_names(module: ModuleContext, at: ast.AST) -> Iterator[str]:
    for scope in enclosing(module.tree, at):
        yield from bound_in(scope)


def _present(module: ModuleContext, wanted: str, at: ast.AST) -> str | None:
    """The text that means `wanted` at the node `at`, if an import in force provides it."""
    scopes = [s for s in enclosing(module.tree, at) if not isinstance(s, ast.ClassDef)]
    for depth in range(len(scopes) - 1, -1, -1):
        inner = [bound_in(scope) for scope in scopes[depth + 1 :]]
        bindings = list(_bindings(scopes[depth], at))
        for binding in reversed(bindings):
            text = _written(binding, wanted)
            if text is None or any(binding.name in names for names in inner):
                continue
            if _means_only(scopes[depth], binding, bindings):
                return text
    return None


def _written(binding: _Binding, wanted: str) -> str | None:
    if binding.plain:
        loaded = _LOADED_BY.get(binding.target, frozenset({binding.target}))
        return wanted if wanted in loaded | {binding.target} else None
    if binding.target == wanted:
        return binding.name
    loaded = _LOADED_BY.get(binding.target, frozenset())
    return binding.name + wanted.removeprefix(binding.target) if wanted in loaded else None


def _means_only(scope: ast.AST, binding: _Binding, bindings: list[_Binding]) -> bool:
    """Whether nothing in the scope binds the same name to something else."""
    same = [b for b in bindings if b.name == binding.name]
    root = binding.target.partition(".")[0]
    for other in same:
        agrees = other.target == binding.target or (
            other.plain and binding.plain and other.target.partition(".")[0] == root
        )
        if not agrees:
            return False
    return _times_bound(scope, binding.name) <= len(same)


def _times_bound(scope: ast.AST, name: str) -> int:
    """How often the scope binds `name` (imports, assignments, definitions; `x = None` aside)."""
    count = 0
    for node in _walk_scope(scope):
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
            count += 1
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            count += node.name == name
        elif isinstance(node, ast.alias):
            count += (node.asname or node.name.partition(".")[0]) == name
    parameters = {a.arg for a in ast.walk(getattr(scope, "args", scope)) if isinstance(a, ast.arg)}
    inside_function = isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    return count + (inside_function and name in parameters)


def _walk_scope(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope without the bodies of inner functions and classes."""
    body = getattr(scope, "body", [])
    stack: list[ast.AST] = list(body) if isinstance(body, list) else [body]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        stack.extend(ast.iter_child_nodes(node))


def _bindings(scope: ast.AST, at: ast.AST) -> Iterator[_Binding]:
    """What the imports of a scope bind; in a function only those that surely ran before `at`."""
    body = getattr(scope, "body", [])
    if not isinstance(body, list):
        return
    for statement in body:
        is_late = getattr(statement, "lineno", 0) >= getattr(at, "lineno", 0)
        if is_late and not isinstance(scope, ast.Module):
            return
        yield from _imported(statement)
        if isinstance(statement, ast.Try) and isinstance(scope, ast.Module):
            # The file cannot launch anything where its imports failed.
            for inner in statement.body:
                yield from _imported(inner)


def _imported(statement: ast.stmt) -> Iterator[_Binding]:
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            if alias.asname:
                yield _Binding(alias.asname, alias.name, statement, plain=False)
            else:
                root = alias.name.partition(".")[0]
                yield _Binding(root, alias.name, statement, plain=True)
    elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
        for alias in statement.names:
            if alias.name != "*":
                target = f"{statement.module}.{alias.name}"
                yield _Binding(alias.asname or alias.name, target, statement, plain=False)


def _statement(wanted: str, name: str) -> str:
    """The import statement as people write it."""
    package, _, last = wanted.rpartition(".")
    if wanted == name:
        return f"import {wanted}"
    if package and wanted != "jax.numpy":
        return f"from {package} import {last}" + (f" as {name}" if name != last else "")
    return f"import {wanted} as {name}"


# --- the place of a new import


@dataclass(frozen=True, slots=True)
class _Line:
    """An import statement as a sorter sees it."""

    section: int
    """0 __future__, 1 standard library, 2 third party, 3 relative."""
    is_from: bool
    module: str
    names: str

    def key(self, mixed: bool) -> tuple[object, ...]:
        """Sorting key; `mixed`: by module alone, whether `import` or `from`."""
        if mixed:
            return (self.section, self.module.lower(), self.is_from, self.names.lower())
        return (self.section, self.is_from, self.module.lower(), self.names.lower())


def _line(statement: ast.Import | ast.ImportFrom) -> _Line:
    names = ",".join(f"{a.name} {a.asname or ''}" for a in statement.names)
    if isinstance(statement, ast.Import):
        return _Line(_section(statement.names[0].name), False, statement.names[0].name, names)
    name = "." * statement.level + (statement.module or "")
    return _Line(3 if statement.level else _section(name), True, name, names)


def _section(name: str) -> int:
    root = name.partition(".")[0]
    if root == "__future__":
        return 0
    return 1 if root in sys.stdlib_module_names else 2


def _insert_import(module: ModuleContext, code: str) -> tuple[Edit, ...]:
    """The edit that puts the import statement where an import sorter would."""
    new_statement = ast.parse(code).body[0]
    assert isinstance(new_statement, ast.Import | ast.ImportFrom)
    new = _line(new_statement)
    block = _import_block(module.tree)
    newline = newline_of(module.text)
    if not block:
        return _first_import(module, code)
    lines = [_line(statement) for statement in block]
    same = [i for i, line in enumerate(lines) if line.section == new.section]
    if same:
        mixed = _is_sorted(lines, mixed=True) and not _is_sorted(lines, mixed=False)
        before = [i for i in same if lines[i].key(mixed) <= new.key(mixed)]
        if not before:
            at = _above(module, block[same[0]])
            return (insertion(at, code + newline),)
        at = _behind(module, block[before[-1]])
        return (insertion(at, newline + code),)
    earlier = [i for i, line in enumerate(lines) if line.section < new.section]
    if earlier:
        at = _behind(module, block[earlier[-1]])
        return (insertion(at, newline + newline + code),)
    at = _above(module, block[0])
    return (insertion(at, code + newline + newline),)


def _above(module: ModuleContext, statement: ast.stmt) -> int:
    """The line of the statement, or of its comments unless those are the head of the file."""
    start, _ = module.span(statement)
    return comments_above(module.text, start) or line_start(module.text, start)


def _behind(module: ModuleContext, statement: ast.stmt) -> int:
    return line_end(module.text, module.span(statement)[1])


def _is_sorted(lines: list[_Line], *, mixed: bool) -> bool:
    keys = [line.key(mixed) for line in lines]
    return keys == sorted(keys, key=lambda key: tuple(map(str, key)))


def _import_block(tree: ast.Module) -> list[ast.Import | ast.ImportFrom]:
    """The first run of plain import statements at the top of a module."""
    block: list[ast.Import | ast.ImportFrom] = []
    for statement in tree.body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            block.append(statement)
        elif block and not all(_line(s).section == 0 for s in block):
            break
        elif not _is_docstring(statement):
            if block:
                break
            # Something stands above the imports (a guard, an environment variable): keep looking.
            continue
    return block


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _first_import(module: ModuleContext, code: str) -> tuple[Edit, ...]:
    """A module without imports: below its docstring, or above its first statement."""
    newline = newline_of(module.text)
    body = module.tree.body
    if body and _is_docstring(body[0]):
        return (insertion(_behind(module, body[0]), newline + newline + code),)
    if body:
        at = _above(module, body[0])
        return (insertion(at, code + newline + newline),)
    return (insertion(len(module.text), code + newline),)
