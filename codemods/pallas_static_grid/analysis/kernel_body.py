"""The statements of a kernel's body: which may stand above a guard, and which must not."""

from __future__ import annotations

import ast
from dataclasses import replace

from pallas_static_grid.analysis.kernel_facts import Code, StatementFacts
from pallas_static_grid.analysis.kernel_reads import (
    FunctionNode,
    all_parameters,
    body_of,
    literal_axis,
    own_nodes,
    read_kind,
)
from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.scopes import Scope
from pallas_static_grid.model import Span, Step

_PURE = (
    ast.Name,
    ast.Constant,
    ast.BinOp,
    ast.Compare,
    ast.UnaryOp,
    ast.BoolOp,
    ast.operator,
    ast.cmpop,
    ast.unaryop,
    ast.boolop,
    ast.expr_context,
)


def statements_of(
    module: ModuleContext, node: FunctionNode, scope: Scope | None
) -> tuple[StatementFacts, ...]:
    """The facts of each statement of a def; none for a lambda."""
    if isinstance(node, ast.Lambda):
        return ()
    parameters = frozenset(arg.arg for arg in all_parameters(node))
    known: set[str] = set()
    meanings: dict[str, ast.expr] = {}
    out: list[StatementFacts] = []
    for index, statement in enumerate(node.body):
        facts = _statement(module, statement, index, parameters, frozenset(known), scope)
        if facts.kind in ("program_id", "pure", "load"):
            known.update(facts.binds)
            meanings.update(_meanings(statement))
        facts = replace(
            facts,
            mentions=_names(statement),
            loads=_names(statement, ast.Load),
            deletes=_names(statement, ast.Del),
        )
        if facts.kind == "when" and isinstance(statement, ast.FunctionDef):
            decorator = statement.decorator_list[0]
            assert isinstance(decorator, ast.Call)
            facts = replace(facts, conjuncts=_conjuncts(decorator.args[0], meanings, scope))
        out.append(facts)
    return tuple(out)


def _names(node: ast.stmt, context: type = ast.expr_context) -> frozenset[str]:
    return frozenset(
        n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, context)
    )


def _meanings(node: ast.stmt) -> dict[str, ast.expr]:
    """What the names that a statement binds stand for."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return {name: value}
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
            pairs = zip(names, values, strict=False)
            return {n.id: v for n, v in pairs if isinstance(n, ast.Name)}
        case _:
            return {}


class _Spelled(ast.NodeTransformer):
    """Names replaced by what they stand for, reads of the step by `program_id(axis)`."""

    def __init__(self, meanings: dict[str, ast.expr], scope: Scope | None) -> None:
        self.meanings = meanings
        self.scope = scope

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Undo a name."""
        meaning = self.meanings.get(node.id)
        if meaning is None:
            return node
        spelled = self.visit(ast.parse(ast.unparse(meaning), mode="eval").body)
        assert isinstance(spelled, ast.expr)
        return spelled

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """One spelling for reads of the step."""
        kind = read_kind(node, self.scope)
        if kind is None:
            self.generic_visit(node)
            return node
        axis = ast.Constant(literal_axis(node))
        return ast.Call(ast.Name(id=kind, ctx=ast.Load()), [axis], [])


def _conjuncts(
    condition: ast.expr, meanings: dict[str, ast.expr], scope: Scope | None
) -> tuple[str, ...]:
    match condition:
        case ast.BinOp(left=left, op=ast.BitAnd(), right=right):
            both = [left, right]
        case ast.BoolOp(op=ast.And(), values=values):
            both = values
        case ast.Call(func=ast.Attribute(attr="logical_and"), args=[left, right]):
            both = [left, right]
        case _:
            copy = ast.parse(ast.unparse(condition), mode="eval").body
            return (ast.unparse(_Spelled(meanings, scope).visit(copy)),)
    return tuple(part for side in both for part in _conjuncts(side, meanings, scope))


def _statement(
    module: ModuleContext,
    node: ast.stmt,
    index: int,
    parameters: frozenset[str],
    known: frozenset[str],
    scope: Scope | None,
) -> StatementFacts:
    span = Span(*module.span(node))
    binds = stored_names(node)
    match node:
        case ast.Expr(value=ast.Constant(value=str())) if index == 0:
            return StatementFacts(span, "docstring", ())
        case ast.Assert() | ast.If(body=[ast.Raise()], orelse=[]):
            return StatementFacts(span, "pure", ())
        case ast.Delete():
            return StatementFacts(span, "del", binds)
        case ast.Assign(targets=[ast.Name()], value=value) if _is_program_id(value, scope):
            return StatementFacts(span, "program_id", binds)
        case ast.Assign(targets=[ast.Tuple(elts=elts)], value=ast.Tuple(elts=values)):
            if all(isinstance(e, ast.Name) for e in elts) and all(
                _is_program_id(value, scope) for value in values
            ):
                return StatementFacts(span, "program_id", binds)
        case ast.Assign(targets=[ast.Tuple(elts=elts)], value=ast.Name(id=source)):
            if source in parameters and all(isinstance(e, ast.Name) for e in elts):
                return StatementFacts(span, "unpack", binds)
        case ast.Assign(
            targets=[ast.Name()],
            value=ast.Subscript(value=ast.Name(id=source), slice=ast.Constant(value=int(place))),
        ) if source in parameters and place >= 0:
            return StatementFacts(span, "load", binds)
        case ast.Assign(targets=[ast.Name()], value=ast.Attribute() as value):
            if _is_part(value, parameters):
                return StatementFacts(span, "unpack", binds)
        case ast.Assign(targets=[ast.Name()], value=value) if _is_pure(value, known):
            return StatementFacts(span, "pure", binds)
        case ast.FunctionDef(decorator_list=[ast.Call() as decorator]):
            return _guarded(module, node, decorator, span, binds)
        case _:
            pass
    return StatementFacts(span, "other", binds)


def _guarded(
    module: ModuleContext,
    node: ast.FunctionDef,
    decorator: ast.Call,
    span: Span,
    binds: tuple[str, ...],
) -> StatementFacts:
    name = decorator.func.attr if isinstance(decorator.func, ast.Attribute) else ""
    name = decorator.func.id if isinstance(decorator.func, ast.Name) else name
    if name != "when" or len(decorator.args) != 1 or decorator.keywords:
        return StatementFacts(span, "other", binds)
    condition = decorator.args[0]
    start = Span(module.text.rindex("@", 0, module.span(decorator)[0]), span.end)
    reads = any(isinstance(n, ast.Subscript | ast.Call) for n in _beyond_ids(condition))
    code = Code(Span(*module.span(condition)), module.segment(condition))
    return StatementFacts(start, "when", binds, condition=code, reads_memory=reads)


def _beyond_ids(condition: ast.expr) -> list[ast.AST]:
    """The nodes of a condition without its plain `program_id`/`num_programs` calls."""
    found: list[ast.AST] = []
    stack: list[ast.AST] = [condition]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Call) and literal_axis(node) is not None:
            last = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if last in ("program_id", "num_programs"):
                continue
        found.append(node)
        stack.extend(ast.iter_child_nodes(node))
    return found


def _is_program_id(node: ast.expr, scope: Scope | None) -> bool:
    if not isinstance(node, ast.Call):
        return False
    return read_kind(node, scope) == "program_id" and literal_axis(node) is not None


def _is_part(node: ast.expr, parameters: frozenset[str]) -> bool:
    """Whether an expression is a part of a parameter by name: `metadata.tile_ids`."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in parameters


def _is_pure(node: ast.expr, known: frozenset[str]) -> bool:
    names = [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]
    return (
        bool(names)
        and all(name in known for name in names)
        and all(isinstance(n, _PURE) for n in ast.walk(node))
    )


def stored_names(node: ast.AST) -> tuple[str, ...]:
    """The names that a statement binds or deletes in the scope that it stands in."""
    names: dict[str, None] = {}
    for child in own_nodes(node):
        match child:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                names.setdefault(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.setdefault(name)
            case ast.ClassDef(name=name) | ast.ExceptHandler(name=str(name)):
                names.setdefault(name)
            case ast.alias(name=path, asname=alias):
                names.setdefault(alias or path.partition(".")[0])
            case _:
                pass
    return tuple(names)


def returned_value(module: ModuleContext, node: FunctionNode) -> Step | None:
    """The first `return` of a def that hands a value back."""
    if isinstance(node, ast.Lambda):
        return None
    for child in (n for statement in node.body for n in own_nodes(statement)):
        if isinstance(child, ast.Return) and child.value is not None:
            if isinstance(child.value, ast.Constant) and child.value.value is None:
                continue
            return _step(module, child, "the kernel returns a value")
    return None


def reach_outside(module: ModuleContext, node: FunctionNode) -> Step | None:
    """The first statement that binds a name outside the kernel, or suspends it."""
    for child in (n for statement in body_of(node) for n in ast.walk(statement)):
        if isinstance(child, ast.Global | ast.Nonlocal):
            return _step(module, child, "the kernel assigns to a name outside itself")
        if isinstance(child, ast.Yield | ast.YieldFrom | ast.Await):
            return _step(module, child, "the kernel yields or awaits")
    return None


def _step(module: ModuleContext, node: ast.stmt | ast.expr, reason: str) -> Step:
    return Step(module.path, node.lineno, module.line_text(node.lineno), reason)
