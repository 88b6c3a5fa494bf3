"""Classes in sight, their instances and fields."""

from __future__ import annotations

import ast
from dataclasses import replace

from pallas_static_grid.analysis import tables
from pallas_static_grid.analysis.interpret.annotations import from_annotation
from pallas_static_grid.analysis.interpret.binding import all_args, bind_call
from pallas_static_grid.analysis.interpret.functions import Functions
from pallas_static_grid.analysis.interpret.joins import join
from pallas_static_grid.analysis.interpret.machine import Frame
from pallas_static_grid.analysis.interpret.parameters import judge
from pallas_static_grid.analysis.interpret.tracing import generalize
from pallas_static_grid.analysis.scopes import Scope
from pallas_static_grid.analysis.values import (
    Class,
    External,
    Function,
    Instance,
    Int,
    Partial,
    Transformed,
    Unknown,
    Value,
    settled,
)


class Classes(Functions):
    """Classes in sight, their instances and fields."""

    def class_attribute(self, cls: Class, attr: str) -> Value | None:
        """An attribute of a class or of its bases in sight."""
        seen: set[int] = set()
        stack = [cls]
        while stack:
            current = stack.pop(0)
            if id(current.node) in seen:
                continue
            seen.add(id(current.node))
            if attr in current.scope.names:
                return settled(current.scope.names[attr])
            for base in current.node.bases:
                value = self.eval_in(current.scope.parent or current.scope, current.module, base)
                if isinstance(value, Class):
                    stack.append(value)
        return None

    def is_classmethod(self, function: Function) -> bool:
        """Whether a function in a class body takes the class first."""
        return _has_decorator(function.node, {"classmethod"})

    def super_call(self) -> Value | None:
        """`super()` in a method: the instance, looked at from the first base class in sight."""
        frame = self.frame
        scope: Scope | None = frame.scope
        while scope is not None and not isinstance(scope.node, ast.ClassDef):
            method = scope
            scope = scope.parent
        if scope is None or not isinstance(scope.node, ast.ClassDef):
            return None
        args = getattr(method.node, "args", None)
        first = args.args[0].arg if isinstance(args, ast.arguments) and args.args else None
        me = method.names.get(first) if first else None
        cls = Class(scope.node, frame.module, scope, scope.qualname)
        rest = self.bases(cls)[1:]
        if not rest or not isinstance(me, Instance | Class):
            return None
        return replace(me, cls=rest[0]) if isinstance(me, Instance) else rest[0]

    def bases(self, cls: Class) -> list[Class]:
        """A class and its bases in sight, most derived first."""
        out: list[Class] = []
        stack = [cls]
        while stack:
            current = stack.pop(0)
            if any(current.node is c.node for c in out):
                continue
            out.append(current)
            for base in current.node.bases:
                value = self.eval_in(current.scope.parent or current.scope, current.module, base)
                if isinstance(value, Class):
                    stack.append(value)
        return out

    def annotated_fields(self, cls: Class, ident: str) -> dict[str, Value]:
        """Fields that annotations in the class body declare (dataclass, NamedTuple)."""
        fields: dict[str, Value] = {}
        for current in reversed(self.bases(cls)):
            for statement in current.node.body:
                if not (
                    isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
                ):
                    continue
                name = statement.target.id
                scope = Scope(current.scope, current.node, current.qualname)
                self.frames.append(Frame(scope, current.module, current.node, canonical=False))
                try:
                    told = from_annotation(self, statement.annotation, name, f"{ident}.{name}")
                    reason = f"field `{name}` is annotated `{ast.unparse(statement.annotation)}`"
                    trace = self.trace(statement, reason)
                finally:
                    self.frames.pop()
                fields[name] = (
                    replace(told, trace=trace)
                    if told is not None
                    else Unknown(f"field `{name}` is out of sight", trace=trace)
                )
        return fields

    def instance_of(self, cls: Class, ident: str) -> Instance:
        """An instance of which only the class is known."""
        fields = self.annotated_fields(cls, ident)
        if cls.node in self.class_stack:
            return Instance(cls, tuple(fields.items()), ident)
        cached = self.class_fields.get(cls.node)
        if cached is None:
            self.class_stack.add(cls.node)
            try:
                cached = self.assigned_fields(cls, ident)
            finally:
                self.class_stack.discard(cls.node)
            self.class_fields[cls.node] = cached
        for name, value in cached.items():
            fields.setdefault(name, value)
        return self.completed(Instance(cls, tuple(fields.items()), ident))

    def assigned_fields(self, cls: Class, ident: str) -> dict[str, Value]:
        """Fields that `__init__` assigns; those which other methods assign too are unknown."""
        init = self.class_attribute(cls, "__init__")
        fields: dict[str, Value] = {}
        if isinstance(init, Function) and not isinstance(init.node, ast.Lambda):
            bound = judge(self, init)
            first = next(iter(bound), None)
            if first is not None:
                bound[first] = Instance(cls, (), ident)
                done = self.run_init(init, bound, first)
                fields.update(
                    {k: generalize(self, v, f"{ident}.{k}", f"self.{k}") for k, v in done}
                )
        for current in self.bases(cls):
            for statement in current.node.body:
                if isinstance(statement, ast.FunctionDef) and statement.name not in {
                    "__init__",
                    "__post_init__",
                }:
                    for name in _self_assignments(statement):
                        old = fields.get(name)
                        other = Unknown(f"`self.{name}` is assigned in `{statement.name}` too")
                        fields[name] = other if old is None else join(old, other, self.fresh)
        return fields

    def run_init(
        self, init: Function, bound: dict[str, Value], first: str
    ) -> tuple[tuple[str, Value], ...]:
        """Run `__init__`; what the instance's fields are at its end."""
        scope = Scope(init.scope, init.node, init.qualname)
        self.frames.append(Frame(scope, init.module, init.node, canonical=False))
        try:
            for name, value in bound.items():
                self.bind(scope, name, value)
            self.body(init.node)
        finally:
            self.frames.pop()
        me = scope.names.get(first)
        return me.fields if isinstance(me, Instance) else ()

    def completed(self, made: Instance) -> Instance:
        """An instance of a dataclass after its `__post_init__`."""
        post = self.class_attribute(made.cls, "__post_init__")
        if not isinstance(post, Function) or len(self.frames) > 20:
            return made
        if any(frame.node is post.node for frame in self.frames):
            return made
        me = replace(made, cells=made.cells or self.new_cells())
        names = {arg.arg for arg in all_args(post.node.args)}
        given = {name: value for name, value in me.fields if name in names}
        bound = bind_call(self, replace(post, self_value=me), [], given)
        first = next(iter(bound), None)
        return replace(me, fields=self.run_init(post, bound, first)) if first is not None else made

    def construct(
        self,
        cls: Class,
        args: list[Value],
        kwargs: dict[str, Value],
        node: ast.Call | None,
        starred: Value | None,
        double_starred: Value | None,
    ) -> Value:
        """`Class(...)`."""
        ident = self.new_ident(cls.qualname)
        if isinstance(self.class_attribute(cls, "__new__"), Function):
            reason = f"`{cls.node.name}` makes its objects by a `__new__` of its own"
            return Unknown(reason, trace=self.trace(node or cls.node, reason))
        init = self.class_attribute(cls, "__init__")
        if isinstance(init, Function):
            cells = self.new_cells()
            fields_of = tuple(self.annotated_fields(cls, ident).items())
            blank = Instance(cls, fields_of, ident, cells=cells)
            bound = bind_call(
                self, replace(init, self_value=blank), args, kwargs, starred, double_starred
            )
            if self.frame.canonical and init.module is self.module:
                self.record_context(init, dict(bound), node)
            first = next(iter(bound), None)
            if (
                first is None
                or len(self.frames) > 20
                or any(f.node is init.node for f in self.frames)
            ):
                return blank
            return Instance(
                cls,
                self.run_init(init, bound, first),
                ident,
                trace=self.trace(node or cls.node, f"`{cls.node.name}` is built here"),
                cells=cells,
            )
        declared = self.annotated_fields(cls, ident)
        fields: dict[str, Value] = {}
        names = list(declared)
        for name, value in zip(names, args, strict=False):
            fields[name] = value
        for name, value in kwargs.items():
            fields[name] = value
        for name in names:
            if name in fields:
                continue
            default = self.class_attribute(cls, name)
            if starred is not None or double_starred is not None:
                fields[name] = declared[name]
            elif default is not None:
                fields[name] = default if not isinstance(default, Unknown) else declared[name]
            else:
                fields[name] = declared[name]
        return self.completed(Instance(cls, tuple(fields.items()), ident))

    def intercepted(self, base: Instance, attr: str) -> str | None:
        """What of the class decides over an attribute besides the fields of the object."""
        for hook in ("__getattribute__", "__setattr__"):
            if isinstance(self.class_attribute(base.cls, hook), Function):
                return hook
        found = self.class_attribute(base.cls, attr)
        if isinstance(found, Instance) and isinstance(
            self.class_attribute(found.cls, "__get__"), Function
        ):
            return "__get__"
        return None

    def instance_attribute(self, base: Instance, attr: str, node: ast.expr) -> Value:
        """An attribute of an instance: field, property, method, class attribute."""
        if attr == "__class__":
            return base.cls
        hook = self.intercepted(base, attr)
        if hook is not None and not isinstance(self.class_attribute(base.cls, attr), Function):
            reason = f"`{attr}` goes through `{hook}` of `{base.cls.node.name}`"
            return Unknown(reason, trace=self.trace(node, reason, base))
        fields = dict(base.fields)
        found = self.class_attribute(base.cls, attr)
        if isinstance(found, Function) and _has_decorator(found.node, {"property"}):
            return self.call_function(replace(found, self_value=base), [], {}, None)
        if attr in fields:
            value = fields[attr]
            if value.trace is None:
                value = replace(value, trace=self.trace(node, f"field `{attr}`"))
            return value
        if isinstance(found, Function):
            if _has_decorator(found.node, {"cached_property"}):
                return self.call_function(replace(found, self_value=base), [], {}, None)
            if _has_decorator(found.node, {"staticmethod"}):
                return found
            if _has_decorator(found.node, {"classmethod"}):
                return replace(found, self_value=base.cls)
            return replace(found, self_value=base)
        if isinstance(found, Partial | Transformed) and isinstance(found.func, Function):
            return replace(found, func=replace(found.func, self_value=base))
        if found is not None:
            return found
        if attr == "_replace":
            return Partial(External("namedtuple._replace"), (base,), ())
        if attr in tables.INT_ATTRIBUTES:
            return Int(self.fresh(self.segment(node), static=True))
        reason = f"`{self.segment(node)}` is out of sight"
        return Unknown(reason, trace=self.trace(node, reason, base))


def _has_decorator(node: ast.AST, names: set[str]) -> bool:
    for decorator in getattr(node, "decorator_list", []):
        head = (
            decorator.attr if isinstance(decorator, ast.Attribute) else getattr(decorator, "id", "")
        )
        if head in names:
            return True
    return False


def _self_assignments(node: ast.FunctionDef) -> list[str]:
    if not node.args.args:
        return []
    me = node.args.args[0].arg
    out: list[str] = []
    for inner in ast.walk(node):
        if (
            isinstance(inner, ast.Attribute)
            and isinstance(inner.ctx, ast.Store)
            and isinstance(inner.value, ast.Name)
            and inner.value.id == me
        ):
            out.append(inner.attr)
    return out
