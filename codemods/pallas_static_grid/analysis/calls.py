"""Evaluating calls: functions in sight, classes, JAX transformations, known library functions."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from pallas_static_grid.analysis import library, parameters, tables
from pallas_static_grid.analysis.joins import join
from pallas_static_grid.analysis.recording import Recording
from pallas_static_grid.analysis.scopes import Scope
from pallas_static_grid.analysis.symbolic import Num
from pallas_static_grid.analysis.values import (
    Array,
    Class,
    Const,
    Dict,
    External,
    Function,
    Instance,
    Int,
    Jit,
    Launcher,
    Partial,
    Returning,
    Sequence,
    Trace,
    Transformed,
    Tuple,
    Union,
    Unknown,
    Value,
    options,
)
from pallas_static_grid.model import Step

if TYPE_CHECKING:
    from pallas_static_grid.analysis.interpreter import Interpreter


class Calls(Recording):
    """Call evaluation; the state is the interpreter's."""

    star_imports: list[tuple[str, ast.ImportFrom]]

    def expr_Call(self: Interpreter, node: ast.Call) -> Value:
        """A call expression."""
        if isinstance(node.func, ast.Subscript):
            launched = self.subscript_launch(node)
            if launched is not None:
                return launched
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            changed = self.list_method(node.func.value.id, node.func.attr, node)
            if changed is not None:
                return changed
        func = self.eval(node.func)
        args: list[Value] = []
        starred: Value | None = None
        hidden = False
        for arg in node.args:
            if isinstance(arg, ast.Starred):
                value = self.eval(arg.value)
                if isinstance(value, Tuple) and not hidden:
                    args.extend(value.items)
                else:
                    hidden = True
                    starred = value if isinstance(value, Sequence) else Sequence(
                        self.iterated(value, arg.value))
            else:
                value = self.eval(arg)
                if hidden:
                    continue
                args.append(value)
        kwargs: dict[str, Value] = {}
        double: Value | None = None
        for keyword in node.keywords:
            value = self.eval(keyword.value)
            if keyword.arg is not None:
                kwargs[keyword.arg] = value
            elif isinstance(value, Dict):
                kwargs.update({str(k): v for k, v in value.items})
                if not value.complete:
                    double = Dict((), complete=False)
            else:
                double = Dict((), complete=False)
        return self.call_value(func, args, kwargs, node, starred=starred, double_starred=double)

    def list_method(self: Interpreter, name: str, method: str, node: ast.Call) -> Value | None:
        """`name.append(x)` and the like on a list in sight: the name holds a new list."""
        base = self.scope.names.get(name)
        if not isinstance(base, Tuple) or base.kind != "list" or method not in {
            "append", "extend", "insert", "reverse", "pop", "clear", "sort", "remove"
        }:
            return None
        args = [self.eval(a) for a in node.args]
        items = list(base.items)
        result: Value = Const(None)
        if method == "append" and len(args) == 1:
            items.append(args[0])
        elif method == "extend" and len(args) == 1 and isinstance(args[0], Tuple):
            items.extend(args[0].items)
        elif method == "insert" and len(args) == 2 and isinstance(args[0], Int) and isinstance(
            args[0].expr, Num
        ):
            items.insert(args[0].expr.value, args[1])
        elif method == "reverse" and not args:
            items.reverse()
        elif method == "clear" and not args:
            items.clear()
        elif method == "pop" and items and not args:
            result = items.pop()
        else:
            elem = self.join_values([*items, *args]) if items or args else Unknown("an element")
            self.bind(self.scope, name, Sequence(elem, trace=base.trace))
            return elem if method == "pop" else result
        self.bind(self.scope, name, Tuple(tuple(items), "list", trace=base.trace))
        return result

    def call_value(
        self: Interpreter, func: Value, args: list[Value], kwargs: dict[str, Value],
        node: ast.Call | None, *, starred: Value | None = None,
        double_starred: Value | None = None,
    ) -> Value:
        """What calling `func` gives."""
        match func:
            case Function():
                return self.call_in_sight(func, args, kwargs, node, starred, double_starred)
            case Partial():
                merged = {**dict(func.kwargs), **kwargs}
                if isinstance(func.func, External) and func.func.name in tables.LAUNCH_FUNCTIONS:
                    return self.launch_from_partial(func, args, kwargs, node, double_starred)
                return self.call_value(func.func, [*func.args, *args], merged, node,
                                       starred=starred, double_starred=double_starred)
            case External():
                return self.call_external(func, args, kwargs, node, starred, double_starred)
            case Class():
                return self.construct(func, args, kwargs, node, starred, double_starred)
            case Transformed():
                return self.call_transformed(func, args, kwargs, node, starred, double_starred)
            case Returning():
                return func.result
            case Launcher():
                return self.call_launcher(func, args, kwargs, node, starred)
            case Union():
                results = [
                    self.call_value(o, args, kwargs, node, starred=starred,
                                    double_starred=double_starred)
                    for o in func.options
                    if not (isinstance(o, Const) and o.value is None)
                ]
                if results:
                    return self.join_values(results)
            case Instance():
                method = self.class_attribute(func.cls, "__call__")
                if isinstance(method, Function):
                    return self.call_in_sight(replace(method, self_value=func), args, kwargs,
                                              node, starred, double_starred)
            case _:
                pass
        self.escape([*args, *kwargs.values()], node)
        if isinstance(func, Unknown):
            return Unknown(func.need, trace=func.trace)
        if node is None:
            return Unknown("a call out of sight")
        reason = f"what `{self.segment(node)}` returns is out of sight"
        return Unknown(reason, trace=self.trace(node, reason, func))

    def call_in_sight(
        self: Interpreter, func: Function, args: list[Value], kwargs: dict[str, Value],
        node: ast.Call | None, starred: Value | None, double_starred: Value | None,
    ) -> Value:
        """A call of a function in sight."""
        result = self.call_function(func, args, kwargs, node, starred=starred,
                                    double_starred=double_starred)
        if node is not None and self.frame.module is self.module and self.frame.canonical:
            result = self.spec_wrapper(func, args, kwargs, node, result)
        if func.jit is not None:
            line = func.jit.line or getattr(func.node, "lineno", 1)
            step = self.step(node or func.node, f"`{func.name}` is jitted: it returns arrays")
            result = parameters.traced(self, result, self.new_ident("jit"), func.name,
                                       result.trace or Trace(step))
            assert line is not None
        if node is not None and not isinstance(func.node, ast.Lambda):
            where = self.step(node, f"this calls `{func.name}`")
            result = _under(result, where)
        return result

    # --- decorators --------------------------------------------------------------------------

    def decorate(self: Interpreter, decorator: ast.expr, value: Value) -> Value:
        """What a decorator makes of a function."""
        deco = self.eval(decorator)
        if isinstance(deco, External) and deco.name in {"property", "functools.cached_property"}:
            return value
        if isinstance(deco, External) and deco.name in {"staticmethod", "classmethod"}:
            return value
        if isinstance(deco, Partial | External) and _is_custom_rule(deco) and isinstance(
            value, Function
        ):
            given = dict(deco.kwargs) if isinstance(deco, Partial) else {}
            self.nondiff[value.node] = tuple(self.int_list(given.get("nondiff_argnums")) or ())
        if isinstance(decorator, ast.Call) and isinstance(value, Function):
            self.parametrised(decorator, value)
        call = decorator if isinstance(decorator, ast.Call) else None
        out = self.apply_decorator(deco, value, call, decorator)
        return value if isinstance(out, Unknown) and not isinstance(deco, Function) else out

    def parametrised(self: Interpreter, node: ast.Call, value: Function) -> None:
        """Test parameters given by a decorator are call sites in sight."""
        func = node.func
        name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
        spec = value.node.args
        names = [a.arg for a in [*spec.posonlyargs, *spec.args] if a.arg != "self"]
        bound: dict[str, Value] = {}
        if name in {"product", "sample_product"}:
            for keyword in node.keywords:
                if keyword.arg:
                    bound[keyword.arg] = self.iterated(self.eval(keyword.value), keyword.value)
        elif name == "parametrize" and len(node.args) >= 2:
            given = self.eval(node.args[0])
            if isinstance(given, Const) and isinstance(given.value, str):
                wanted = [n.strip() for n in given.value.split(",")]
                row = self.iterated(self.eval(node.args[1]), node.args[1])
                if len(wanted) == 1:
                    bound[wanted[0]] = row
                else:
                    bound.update({n: self.element(row, i, len(wanted), node)
                                  for i, n in enumerate(wanted)})
        elif name in {"parameters", "named_parameters"} and node.args:
            rows = [self.eval(a) for a in node.args if not isinstance(a, ast.Starred)]
            if len(rows) == 1 and isinstance(rows[0], Tuple) and all(
                isinstance(item, Tuple | Dict) for item in rows[0].items
            ):
                rows = list(rows[0].items)
            bound = self.rows_by_name(rows, names, named=name == "named_parameters", node=node)
        if bound:
            self.extra_contexts.setdefault(value.node, []).append(
                (bound, self.step(node, f"`{value.name}` is run with these parameters")))

    def rows_by_name(
        self: Interpreter, rows: list[Value], names: list[str], *, named: bool, node: ast.AST
    ) -> dict[str, Value]:
        """Test parameters by name, joined over the rows of `parameterized.parameters`."""
        columns: dict[str, list[Value]] = {}
        for row in rows:
            if isinstance(row, Dict):
                for key, item in row.items:
                    columns.setdefault(str(key), []).append(item)
                continue
            items = list(row.items) if isinstance(row, Tuple) else [row]
            for column, item in zip(names, items[1:] if named else items, strict=False):
                columns.setdefault(column, []).append(item)
        return {k: self.join_values(v) for k, v in columns.items() if k in names}

    def apply_decorator(
        self: Interpreter, deco: Value, value: Value, call: ast.Call | None, where: ast.expr
    ) -> Value:
        """`deco(value)`, where what is out of sight gives the function back."""
        if isinstance(deco, External):
            if deco.name == "functools.wraps.decorator":
                return value
            known = self.wrap_external(deco.name, [value], {}, where)
            return known if known is not None else value
        if isinstance(deco, Partial) and isinstance(deco.func, External):
            if deco.func.name in tables.LAUNCH_FUNCTIONS:
                return self.launch_from_partial(deco, [value], {}, call, None)
            known = self.wrap_external(deco.func.name, [*deco.args, value], dict(deco.kwargs),
                                       where)
            return known if known is not None else value
        if isinstance(deco, Launcher):
            return self.call_launcher(deco, [value], {}, call, None)
        if isinstance(deco, Function | Partial | Transformed | Class):
            return self.call_value(deco, [value], {}, call)
        return value

    def wrap_external(
        self: Interpreter, name: str, args: list[Value], kwargs: dict[str, Value], where: ast.AST
    ) -> Value | None:
        """jit, vmap, grad, partial and the like applied to a function; None if not one of them."""
        if name in {"functools.partial", "jax.tree_util.Partial", "functools.partialmethod"}:
            if not args:
                return None
            node = where if isinstance(where, ast.Call) else None
            head = args[0]
            if (
                isinstance(head, External)
                and head.name in tables.LAUNCH_FUNCTIONS
                and node is not None
                and self.frame.module is self.module
            ):
                made = Partial(head, tuple(args[1:]), tuple(kwargs.items()), node)
                self.partials[node] = (made, self.frame)
                return made
            return Partial(args[0], tuple(args[1:]), tuple(kwargs.items()), node)
        step = self.step(where, f"`{name}` is applied here")
        short = name.rsplit(".", 1)[-1]
        if name in tables.JIT or short in {"filter_jit"}:
            if not args:
                return Partial(External(name), (), tuple(kwargs.items()))
            return self.jitted(args[0], kwargs, where)
        if name in tables.CUSTOM_RULES:
            target = args[0] if args else None
            if isinstance(target, Function):
                numbers = self.int_list(kwargs.get("nondiff_argnums"))
                self.nondiff.setdefault(target.node, tuple(numbers or ()))
                return replace(target, custom_rule=True)
            return Partial(External(name), (), tuple(kwargs.items())) if target is None else target
        if name in tables.TRANSFORMS_TRACED or name in tables.DIFFERENTIATED:
            kind = tables.TRANSFORMS_TRACED.get(name) or tables.DIFFERENTIATED[name]
            if not args:
                return Partial(External(name), (), tuple(kwargs.items()))
            if kind == "named_call":
                return args[0]
            out = Transformed(kind, args[0], step=step, kwargs=tuple(kwargs.items()))
            if name in {"jax.eval_shape", "jax.shard_map"} and len(args) > 1 and name != (
                "jax.shard_map"
            ):
                return self.call_value(out, args[1:], {}, None)
            self.touch(out, where)
            return out
        if name in {"functools.wraps", "jax.util.wraps"}:
            return External("functools.wraps.decorator")
        if name in tables.TRANSPARENT:
            return args[-1] if args and isinstance(args[-1], Function) else (
                External(name) if not args else None)
        return None

    def jitted(
        self: Interpreter, func: Value, kwargs: dict[str, Value], where: ast.AST
    ) -> Value:
        """`jax.jit(func, **kwargs)`."""
        inner = func
        while isinstance(inner, Partial):
            inner = inner.func
        if isinstance(inner, Transformed):
            return Transformed("jit", func)
        if not isinstance(inner, Function):
            return Transformed("jit", func)
        names = self.static_names(inner, kwargs)
        line = getattr(where, "lineno", 0)
        jit = Jit(names or frozenset(), names is not None, line)
        if isinstance(func, Function):
            if where is not func.node and func.module is self.module and not any(
                where is d or (isinstance(d, ast.Call) and where is d)
                for d in getattr(func.node, "decorator_list", [])
            ):
                self.wrapped_jit.setdefault(func.node, jit)
            if func.node in self.closures:
                known, facts = self.closures[func.node]
                if _is_decorator(func.node, where):
                    self.closures[func.node] = (replace(known, jit=jit), facts)
            return replace(func, jit=jit)
        assert isinstance(func, Partial)
        given = _partial_names(func, inner)
        jit = Jit(jit.static_names | given, jit.known, line)
        return replace(func, func=replace(inner, jit=jit))

    def static_names(
        self: Interpreter, func: Function, kwargs: dict[str, Value]
    ) -> frozenset[str] | None:
        """Names of the static arguments of a jit; None where they are out of sight."""
        names: set[str] = set()
        spec = func.node.args
        positional = [a.arg for a in [*spec.posonlyargs, *spec.args]]
        if func.self_value is not None and positional:
            positional = positional[1:]
        if "static_argnums" in kwargs:
            numbers = self.int_list(kwargs["static_argnums"])
            if numbers is None:
                return None
            for number in numbers:
                if -len(positional) <= number < len(positional):
                    names.add(positional[number])
        if "static_argnames" in kwargs:
            value = kwargs["static_argnames"]
            if isinstance(value, Const) and isinstance(value.value, str):
                names.update(n.strip() for n in value.value.split(",") if n.strip())
            elif isinstance(value, Tuple):
                for item in value.items:
                    if isinstance(item, Const) and isinstance(item.value, str):
                        names.add(item.value)
                    else:
                        return None
            elif isinstance(value, Const) and value.value is None:
                pass
            else:
                return None
        return frozenset(names)

    def int_list(self: Interpreter, value: Value | None) -> list[int] | None:
        """A constant int or tuple of ints; [] for None, Python's None where it is not constant."""
        if value is None or (isinstance(value, Const) and value.value is None):
            return []
        items = value.items if isinstance(value, Tuple) else (value,)
        out: list[int] = []
        for item in items:
            if not (isinstance(item, Int) and isinstance(item.expr, Num)):
                return None
            out.append(item.expr.value)
        return out

    # --- transformed callables -----------------------------------------------------------------

    def touch(self: Interpreter, func: Transformed, where: ast.AST) -> None:
        """Note a transformed function: if nothing in sight calls it, others may."""
        if self.frame.canonical:
            self.untouched.append(func)

    def touch_untouched(self: Interpreter) -> None:
        """Call what was transformed and not called in sight, as callers out of sight may."""
        pending, self.untouched = self.untouched, []
        for func in pending:
            if func.step is not None and id(func.step) not in self.touched:
                self.call_out_of_sight(func)

    def call_out_of_sight(self: Interpreter, func: Transformed) -> None:
        """Call a transformed function with whatever callers out of sight pass."""
        inner: Value = func
        fixed = 0
        while isinstance(inner, Partial | Transformed):
            fixed += len(inner.args) if isinstance(inner, Partial) else 0
            inner = inner.func
        if not isinstance(inner, Function) or inner.module is not self.module:
            return
        args = parameters.placeholders(self, inner)
        args = args[(1 if inner.self_value is not None else 0) + fixed:]
        defaults = len(inner.node.args.defaults)
        self.call_value(func, args[: len(args) - defaults] if defaults else args, {}, None)

    def traced_positions(self: Interpreter, func: Transformed, count: int) -> set[int]:
        """Which positional arguments a transformation traces."""
        options_ = dict(func.kwargs)
        every = set(range(count))
        if func.kind in {"checkpoint", "trace", "pmap"}:
            for key in ("static_argnums", "static_broadcasted_argnums"):
                if key in options_:
                    every -= {n % count for n in self.int_list(options_[key]) or [] if count}
            return every
        if func.kind in {"vmap"}:
            axes = options_.get("in_axes")
            if isinstance(axes, Tuple):
                return {i for i in every if i >= len(axes.items) or not (
                    isinstance(axes.items[i], Const))}
            return every
        if func.kind in tables.DIFFERENTIATED.values():
            numbers = self.int_list(options_["argnums"]) if "argnums" in options_ else [0]
            return {n % count for n in numbers or [] if count} if numbers else every
        return every

    def call_transformed(
        self: Interpreter, func: Transformed, args: list[Value], kwargs: dict[str, Value],
        node: ast.Call | None, starred: Value | None, double_starred: Value | None,
    ) -> Value:
        """A call under vmap, grad, jit, shard_map, ..."""
        where = func.step
        trace = (
            Trace(replace(where, reason=f"`{func.kind}` traces its arguments")) if where
            else self.trace(node if node is not None else self.frame.node,
                            f"`{func.kind}` traces its arguments")
        )
        if func.step is not None:
            self.touched.add(id(func.step))
            self.kept_steps.append(func.step)
        positions = self.traced_positions(func, len(args))
        mapping = func.kind in {"vmap", "pmap", "shard_map"}
        new_args: list[Value] = []
        for index, arg in enumerate(args):
            if index in positions and not _is_callable(arg):
                arg = parameters.traced(self, arg, self.new_ident(func.kind), func.kind, trace)
                arg = _opaque_shape(arg) if mapping else arg
            elif func.kind == "checkpoint" and isinstance(arg, Unknown):
                # A static argument of `checkpoint` is a hashable Python value.
                arg = Int(self.fresh("a static argument", static=True), trace=arg.trace)
            new_args.append(arg)
        differentiates = func.kind in tables.DIFFERENTIATED.values()
        new_kwargs = kwargs if differentiates else {
            k: parameters.traced(self, v, self.new_ident(func.kind), k, trace)
            for k, v in kwargs.items()
        }
        saved = self.differentiating
        if differentiates and func.step is not None:
            self.differentiating = [*saved, func.step]
        try:
            result = self.call_value(func.func, new_args, new_kwargs, node, starred=starred,
                                     double_starred=double_starred)
        finally:
            self.differentiating = saved
        if differentiates:
            return Array(self.new_ident(func.kind), text=func.kind, trace=trace)
        if func.kind == "checkpoint":
            return result
        if func.kind == "trace":
            return result
        return parameters.traced(self, _opaque_shape(result) if mapping else result,
                                 self.new_ident(func.kind), func.kind, result.trace or trace)

    def call_body(
        self: Interpreter, body: Value, args: list[Value], node: ast.Call | None
    ) -> Value:
        """A body given to control flow, called with traced values."""
        return self.call_value(body, args, {}, node)

    def escape(self: Interpreter, values: list[Value], node: ast.Call | None) -> None:
        """Functions handed to something out of sight may be called with anything."""

    # --- classes -------------------------------------------------------------------------------

    def class_attribute(self: Interpreter, cls: Class, attr: str) -> Value | None:
        """An attribute of a class or of its bases in sight."""
        seen: set[int] = set()
        stack = [cls]
        while stack:
            current = stack.pop(0)
            if id(current.node) in seen:
                continue
            seen.add(id(current.node))
            if attr in current.scope.names:
                return current.scope.names[attr]
            for base in current.node.bases:
                value = self.eval_in(current.scope.parent or current.scope, current.module, base)
                if isinstance(value, Class):
                    stack.append(value)
        return None

    def is_classmethod(self: Interpreter, function: Function) -> bool:
        """Whether a function in a class body takes the class first."""
        return _has_decorator(function.node, {"classmethod"})

    def super_call(self: Interpreter) -> Value | None:
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

    def bases(self: Interpreter, cls: Class) -> list[Class]:
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

    def annotated_fields(self: Interpreter, cls: Class, ident: str) -> dict[str, Value]:
        """Fields that annotations in the class body declare (dataclass, NamedTuple)."""
        fields: dict[str, Value] = {}
        for current in reversed(self.bases(cls)):
            for statement in current.node.body:
                if not (isinstance(statement, ast.AnnAssign)
                        and isinstance(statement.target, ast.Name)):
                    continue
                name = statement.target.id
                from pallas_static_grid.analysis.interpreter import Frame

                scope = Scope(current.scope, current.node, current.qualname)
                self.frames.append(Frame(scope, current.module, current.node, canonical=False))
                try:
                    told = parameters.from_annotation(self, statement.annotation, name,
                                                      f"{ident}.{name}")
                    reason = f"field `{name}` is annotated `{ast.unparse(statement.annotation)}`"
                    trace = self.trace(statement, reason)
                finally:
                    self.frames.pop()
                fields[name] = (
                    replace(told, trace=trace) if told is not None
                    else Unknown(f"field `{name}` is out of sight", trace=trace)
                )
        return fields

    def instance_of(self: Interpreter, cls: Class, ident: str) -> Instance:
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
        return Instance(cls, tuple(fields.items()), ident)

    def assigned_fields(self: Interpreter, cls: Class, ident: str) -> dict[str, Value]:
        """Fields that `__init__` assigns; those which other methods assign too are unknown."""
        init = self.class_attribute(cls, "__init__")
        fields: dict[str, Value] = {}
        if isinstance(init, Function) and not isinstance(init.node, ast.Lambda):
            contexts = self.contexts.get(init.node, {})
            bound = parameters.judge(self, init) if contexts else self.default_parameters(init)
            first = next(iter(bound), None)
            if first is not None:
                bound[first] = Instance(cls, (), ident)
                done = self.run_init(init, bound, first)
                fields.update({
                    k: parameters.generalize(self, v, f"{ident}.{k}", f"self.{k}")
                    for k, v in done
                })
        for current in self.bases(cls):
            for statement in current.node.body:
                if isinstance(statement, ast.FunctionDef) and statement.name not in {
                    "__init__", "__post_init__"
                }:
                    for name in _self_assignments(statement):
                        old = fields.get(name)
                        other = Unknown(f"`self.{name}` is assigned in `{statement.name}` too")
                        fields[name] = other if old is None else join(old, other, self.fresh)
        return fields

    def default_parameters(self: Interpreter, function: Function) -> dict[str, Value]:
        """Parameters as annotations and use tell, without call sites."""
        return parameters.judge(self, function)

    def run_init(
        self: Interpreter, init: Function, bound: dict[str, Value], first: str
    ) -> tuple[tuple[str, Value], ...]:
        """Run `__init__`; what the instance's fields are at its end."""
        from pallas_static_grid.analysis.interpreter import Frame

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

    def construct(
        self: Interpreter, cls: Class, args: list[Value], kwargs: dict[str, Value],
        node: ast.Call | None, starred: Value | None, double_starred: Value | None,
    ) -> Value:
        """`Class(...)`."""
        ident = self.new_ident(cls.qualname)
        init = self.class_attribute(cls, "__init__")
        if isinstance(init, Function):
            blank = Instance(cls, tuple(self.annotated_fields(cls, ident).items()), ident)
            bound = parameters.bind_call(self, replace(init, self_value=blank), args, kwargs,
                                         starred, double_starred)
            if self.frame.canonical and init.module is self.module:
                self.record_context(init, {k: v for k, v in bound.items()}, node)
            first = next(iter(bound), None)
            if first is None or len(self.frames) > 20 or any(
                f.node is init.node for f in self.frames
            ):
                return blank
            return Instance(cls, self.run_init(init, bound, first), ident,
                            trace=self.trace(node or cls.node, f"`{cls.node.name}` is built here"))
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
        return Instance(cls, tuple(fields.items()), ident)

    def instance_attribute(
        self: Interpreter, base: Instance, attr: str, node: ast.expr
    ) -> Value:
        """An attribute of an instance: field, property, method, class attribute."""
        fields = dict(base.fields)
        if attr in fields:
            value = fields[attr]
            if value.trace is None:
                value = replace(value, trace=self.trace(node, f"field `{attr}`"))
            return value
        found = self.class_attribute(base.cls, attr)
        if isinstance(found, Function):
            if _has_decorator(found.node, {"property", "cached_property"}):
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

    # --- things out of sight ---------------------------------------------------------------------

    def call_external(
        self: Interpreter, func: External, args: list[Value], kwargs: dict[str, Value],
        node: ast.Call | None, starred: Value | None, double_starred: Value | None,
    ) -> Value:
        """A call of something out of sight, by its canonical name."""
        name = func.name
        if name in tables.LAUNCH_FUNCTIONS and node is not None:
            return self.launch_call(name, args, kwargs, node, starred, double_starred)
        if name in tables.GRID_SPECS and node is not None:
            return self.grid_spec_call(name, node, args, kwargs)
        if name in tables.BLOCK_SPECS and node is not None:
            return self.block_spec_call(name, node, args, kwargs)
        where: ast.AST = node if node is not None else self.frame.node
        if name == "super":
            found = self.super_call()
            if found is not None:
                return found
        wrapped = self.wrap_external(name, args, kwargs, where)
        if wrapped is not None:
            return wrapped
        result = library.call(self, name, args, kwargs, where)
        if result is not None:
            return result
        self.escape([*args, *kwargs.values()], node)
        if name.startswith("."):
            name = name[1:]
        reason = f"what `{self.segment(where)}` returns is out of sight"
        return Unknown(reason, trace=self.trace(where, reason))


def _under(value: Value, step: Step) -> Value:
    """A value with one more step in its chain."""
    match value:
        case Tuple():
            items = tuple(_under(v, step) for v in value.items)
            return replace(value, items=items, trace=Trace(step, value.trace))
        case Instance() | Launcher() | Function() | Partial():
            return value
        case _:
            return replace(value, trace=Trace(step, value.trace))


def _is_callable(value: Value) -> bool:
    return isinstance(value, Function | Partial | Transformed | External | Class)


def _opaque_shape(value: Value) -> Value:
    """An array whose shape changes by a mapping transformation."""
    if isinstance(value, Array):
        return replace(value, shape=None, ident=value.ident + "'", dims_of=None)
    if isinstance(value, Tuple):
        return replace(value, items=tuple(_opaque_shape(v) for v in value.items))
    return value


def _partial_names(partial: Partial, inner: Function) -> frozenset[str]:
    """Names of the parameters that a partial fixes: they are no arguments of its jit."""
    out: set[str] = set()
    layer: Value = partial
    positional = [a.arg for a in [*inner.node.args.posonlyargs, *inner.node.args.args]]
    count = 1 if inner.self_value is not None else 0
    while isinstance(layer, Partial):
        out.update(k for k, _ in layer.kwargs)
        count += len(layer.args)
        layer = layer.func
    out.update(positional[:count])
    return frozenset(out)


def _is_custom_rule(value: Value) -> bool:
    inner = value.func if isinstance(value, Partial) else value
    return isinstance(inner, External) and inner.name in tables.CUSTOM_RULES


def _is_decorator(node: ast.AST, where: ast.AST) -> bool:
    return any(where is d or where in ast.walk(d) for d in getattr(node, "decorator_list", []))


def _has_decorator(node: ast.AST, names: set[str]) -> bool:
    for decorator in getattr(node, "decorator_list", []):
        head = decorator.attr if isinstance(decorator, ast.Attribute) else getattr(
            decorator, "id", "")
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


__all__ = ["Calls", "options"]
