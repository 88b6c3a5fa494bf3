"""Running statements."""

from __future__ import annotations

import ast
from dataclasses import replace

from pallas_static_grid.analysis.interpret.annotations import from_annotation
from pallas_static_grid.analysis.interpret.calls import Calls
from pallas_static_grid.analysis.interpret.imports import bind_import, bind_import_from
from pallas_static_grid.analysis.interpret.joins import join_names
from pallas_static_grid.analysis.interpret.machine import replace_frame
from pallas_static_grid.analysis.interpret.mutation import (
    called_method,
    is_mutable,
    is_place,
    set_attribute,
    set_global,
    set_item,
)
from pallas_static_grid.analysis.scopes import Fact, Scope
from pallas_static_grid.analysis.values import (
    Class,
    Const,
    Dict,
    Function,
    GridSpec,
    Instance,
    Tuple,
    Unknown,
    Value,
)


class Statements(Calls):
    """Running statements."""

    def block(self, statements: list[ast.stmt]) -> bool:
        """Run statements; False if the end is not reached."""
        return all(self.statement(statement) for statement in statements)

    def statement(self, node: ast.stmt) -> bool:
        """Run one statement; False if control does not go on after it."""
        self.statements += 1
        handler = getattr(self, "_stmt_" + type(node).__name__, None)
        if handler is None:
            return True
        result = handler(node)
        return result is not False

    def _stmt_Expr(self, node: ast.Expr) -> None:
        self.eval(node.value)

    def _stmt_Assign(self, node: ast.Assign) -> None:
        value = self.eval(node.value)
        for target in node.targets:
            self.assign(target, value, node)

    def _stmt_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            value = self.eval(node.value)
            if isinstance(value, Unknown):
                told = from_annotation(self, node.annotation, self.segment(node.target))
                value = told if told is not None else value
            self.assign(node.target, value, node)

    def _stmt_AugAssign(self, node: ast.AugAssign) -> None:
        load = ast.copy_location(_as_load(node.target), node.target)
        before, by = self.eval(load), self.eval(node.value)
        if isinstance(node.op, ast.Add) and before.cells and is_mutable(before):
            called_method(self, before, "extend", [by], {})
            return
        if isinstance(node.op, ast.BitOr) and isinstance(before, Dict):
            called_method(self, before, "update", [by], {})
            return
        self.assign(node.target, self.binary(node.op, before, by, node), node)

    def assign(self, target: ast.expr, value: Value, node: ast.AST) -> None:
        """Bind a target to a value, unpacking as the target asks."""
        match target:
            case ast.Name(id=name):
                trace = self.trace(node, f"`{name}` is assigned here", value)
                self.bind(self.scope, name, replace(value, trace=trace))
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                self.unpack(elts, value, node)
            case ast.Starred(value=inner):
                self.assign(inner, value, node)
            case ast.Attribute(value=base, attr=attr):
                trace = self.trace(node, f"`{self.segment(target)}` is assigned here", value)
                set_attribute(self, self.eval(base), attr, replace(value, trace=trace), node)
            case ast.Subscript(value=ast.Call(func=ast.Name(id="globals"), args=[])):
                set_global(self, self.eval(target.slice), value)
            case ast.Subscript(value=base):
                set_item(self, self.eval(base), target, value)
            case _:
                pass

    def unpack(self, elts: list[ast.expr], value: Value, node: ast.AST) -> None:
        """Assign the elements of a value to several targets."""
        starred = next((i for i, e in enumerate(elts) if isinstance(e, ast.Starred)), None)
        for index, target in enumerate(elts):
            if starred is None:
                part = self.element(value, index, len(elts), node)
            elif index < starred:
                part = self.element(value, index, None, node)
            elif index > starred:
                part = self.element(value, index - len(elts), None, node)
            else:
                part = self.slice_of(value, starred, starred + 1 - len(elts), node)
            self.assign(target, part, node)

    def _stmt_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.scope.names.pop(target.id, None)
            elif isinstance(target, ast.Subscript) and is_place(target.value):
                base = self.eval(target.value)
                key = self.constant_key(self.eval(target.slice))
                method = "pop" if isinstance(base, Dict) and key else "remove"
                called_method(self, base, method, [Const(key[0])] if key else [], {})

    def _stmt_Import(self, node: ast.Import) -> None:
        bind_import(self, node)

    def _stmt_ImportFrom(self, node: ast.ImportFrom) -> None:
        bind_import_from(self, node)

    def _stmt_Global(self, node: ast.Global) -> None:
        self.scope.globals_ |= frozenset(node.names)

    def _stmt_Nonlocal(self, node: ast.Nonlocal) -> None:
        self.scope.nonlocals |= frozenset(node.names)

    def _stmt_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        prefix = "" if self.scope.qualname == "<module>" else self.scope.qualname + "."
        function = Function(
            node, self.frame.module, self.scope, prefix + node.name, moment=self.moment()
        )
        self.remember_closure(function)
        self.defaults(node.args)
        value: Value = function
        for decorator in reversed(node.decorator_list):
            value = self.decorate(decorator, value)
        if any(_completes_property(decorator, node.name) for decorator in node.decorator_list):
            return
        self.bind(self.scope, node.name, value)
        if value is not function and self.frame.canonical:
            self.call_decorated(function, value)

    _stmt_AsyncFunctionDef = _stmt_FunctionDef

    def defaults(self, args: ast.arguments) -> None:
        """Evaluate parameter defaults where the function is defined."""
        for default in [*args.defaults, *args.kw_defaults]:
            if default is not None:
                self.eval(default)

    def _stmt_ClassDef(self, node: ast.ClassDef) -> None:
        prefix = "" if self.scope.qualname == "<module>" else self.scope.qualname + "."
        scope = Scope(self.scope, node, prefix + node.name)
        for base in node.bases:
            self.eval(base)
        frame = replace_frame(self.frame, scope)
        self.frames.append(frame)
        try:
            self.block(node.body)
        finally:
            self.frames.pop()
        value: Value = Class(node, self.frame.module, scope, prefix + node.name)
        for decorator in reversed(node.decorator_list):
            self.eval(decorator)
        self.bind(self.scope, node.name, value)

    def _stmt_Return(self, node: ast.Return) -> bool:
        value = self.eval(node.value) if node.value else Const(None)
        self.frame.returns.append(self.returned(value, node))
        return False

    def returned(self, value: Value, node: ast.AST) -> Value:
        """A value with the return statement in its chain; of a tuple, in that of each element."""
        trace = self.trace(node, "this is returned", value)
        if isinstance(value, Tuple):
            items = tuple(self.returned(item, node) for item in value.items)
            return replace(value, items=items, trace=trace)
        if isinstance(value, Function | GridSpec | Instance):
            return value
        return replace(value, trace=trace)

    def _stmt_Raise(self, node: ast.Raise) -> bool:
        if node.exc is not None:
            self.eval(node.exc)
        return False

    def _stmt_Break(self, node: ast.Break) -> bool:
        self.frame.loop_exits.append(dict(self.scope.names))
        return False

    _stmt_Continue = _stmt_Break

    def _stmt_If(self, node: ast.If) -> bool:
        test = self.eval(node.test)
        truth = self.truth(test)
        names, facts = dict(self.scope.names), list(self.scope.facts)
        results: list[tuple[dict[str, Value], list[Fact]]] = []
        for outcome, statements in ((True, node.body), (False, node.orelse)):
            if truth is (not outcome):
                continue
            self.scope.names, self.scope.facts = dict(names), list(facts)
            self.narrow(node.test, outcome)
            if self.block(statements):
                results.append((self.scope.names, self.scope.facts))
        if not results:
            self.scope.names, self.scope.facts = names, facts
            return False
        self.scope.names = results[0][0]
        self.scope.facts = results[0][1]
        for other, other_facts in results[1:]:
            self.scope.names = join_names(self.scope.names, other, self.fresh)
            self.scope.facts = [f for f in self.scope.facts if f in other_facts]
        self.settle()
        return True

    def _stmt_Assert(self, node: ast.Assert) -> None:
        self.eval(node.test)
        self.narrow(node.test, True)

    def _stmt_With(self, node: ast.With | ast.AsyncWith) -> bool:
        swallows = False
        leave: list[Function] = []
        for item in node.items:
            value = self.eval(item.context_expr)
            entered: Value = Unknown(
                f"`{self.segment(item.context_expr)}` is entered", trace=value.trace
            )
            if isinstance(value, Instance):
                enter = self.class_attribute(value.cls, "__enter__")
                if isinstance(enter, Function):
                    entered = self.call_value(replace(enter, self_value=value), [], {}, None)
                exit_ = self.class_attribute(value.cls, "__exit__")
                if isinstance(exit_, Function):
                    leave.append(replace(exit_, self_value=value))
            if item.optional_vars is not None:
                self.assign(item.optional_vars, entered, node)
            swallows = swallows or bool(leave) or self.suppresses(item.context_expr)
        # What the block proves may not hold after it: the context may swallow an error.
        facts = list(self.scope.facts)
        before = dict(self.scope.names)
        reached = self.block(node.body)
        self.scope.facts = facts
        if swallows:
            self.scope.names = join_names(before, self.scope.names, self.fresh)
            self.settle()
        for method in reversed(leave):
            self.call_value(method, [Const(None)] * 3, {}, None)
        return reached or swallows

    def suppresses(self, context: ast.expr) -> bool:
        """Whether a context goes on after an error in its block."""
        if not isinstance(context, ast.Call):
            return False
        name = context.func.attr if isinstance(context.func, ast.Attribute) else ""
        name = context.func.id if isinstance(context.func, ast.Name) else name
        return name in {"suppress", "raises", "warns", "assertRaises", "assertRaisesRegex"}

    _stmt_AsyncWith = _stmt_With

    def _stmt_Try(self, node: ast.Try) -> bool:
        before = dict(self.scope.names)
        facts = list(self.scope.facts)
        ends: list[dict[str, Value]] = []
        reached = self.block(node.body)
        if reached and node.orelse:
            reached = self.block(node.orelse)
        after = self.scope.names
        if reached:
            ends.append(after)
        middle = join_names(before, after, self.fresh)
        for handler in node.handlers:
            self.scope.names = dict(middle)
            self.scope.facts = list(facts)
            if handler.name:
                self.bind(self.scope, handler.name, Unknown("an exception"))
            if self.block(handler.body):
                ends.append(self.scope.names)
        if ends:
            self.scope.names = ends[0]
            for other in ends[1:]:
                self.scope.names = join_names(self.scope.names, other, self.fresh)
            self.settle()
        final = self.block(node.finalbody) if node.finalbody else True
        return bool(ends) and final

    _stmt_TryStar = _stmt_Try


def _completes_property(decorator: ast.expr, name: str) -> bool:
    """`@name.setter`: the property of that name goes on being read as before."""
    return (
        isinstance(decorator, ast.Attribute)
        and decorator.attr in {"setter", "deleter"}
        and isinstance(decorator.value, ast.Name)
        and decorator.value.id == name
    )


def _as_load(node: ast.expr) -> ast.expr:
    match node:
        case ast.Name(id=name):
            return ast.Name(id=name, ctx=ast.Load())
        case ast.Attribute(value=value, attr=attr):
            return ast.Attribute(value=value, attr=attr, ctx=ast.Load())
        case ast.Subscript(value=value, slice=index):
            return ast.Subscript(value=value, slice=index, ctx=ast.Load())
        case _:
            return node
