"""`jit`, `vmap`, `grad` and the like: what they trace."""

from __future__ import annotations

import ast
from dataclasses import replace

from pallas_static_grid.analysis import tables
from pallas_static_grid.analysis.interpret.binding import placeholders
from pallas_static_grid.analysis.interpret.classes import Classes
from pallas_static_grid.analysis.interpret.tracing import traced
from pallas_static_grid.analysis.values import (
    Array,
    Class,
    Const,
    External,
    Function,
    Int,
    Jit,
    Launcher,
    Partial,
    Trace,
    Transformed,
    Tuple,
    Unknown,
    Value,
    is_none,
)


class Transformations(Classes):
    """`jit`, `vmap`, `grad` and the like: what they trace."""

    def wrap_external(
        self, name: str, args: list[Value], kwargs: dict[str, Value], where: ast.AST
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
        if name in tables.JIT:
            if not args:
                return Partial(External(name), (), tuple(kwargs.items()))
            return self.jitted(args[0], kwargs, where)
        if name in tables.CUSTOM_RULES:
            target = args[0] if args else None
            if isinstance(target, Function):
                self.nondiff.setdefault(target.node, self.nondiff_positions(target, kwargs))
                return replace(target, custom_rule=True)
            return Partial(External(name), (), tuple(kwargs.items())) if target is None else target
        if name in tables.TRANSFORMS_TRACED or name in tables.DIFFERENTIATED:
            kind = tables.TRANSFORMS_TRACED.get(name) or tables.DIFFERENTIATED[name]
            if not args:
                return Partial(External(name), (), tuple(kwargs.items()))
            if kind == "named_call":
                return args[0]
            out = Transformed(kind, args[0], step=step, kwargs=tuple(kwargs.items()))
            if (
                name in {"jax.eval_shape", "jax.shard_map"}
                and len(args) > 1
                and name != ("jax.shard_map")
            ):
                return self.call_value(out, args[1:], {}, None)
            self.touch(out, where)
            return out
        if name in {"functools.wraps", "jax.util.wraps"}:
            return External("functools.wraps.decorator")
        if name in tables.TRANSPARENT:
            if args and isinstance(args[-1], Function | Launcher | Partial | Transformed):
                return args[-1]
            # `jax.named_scope(name)` is a decorator whatever the name.
            return External(name) if not args or name == "jax.named_scope" else None
        return None

    def nondiff_positions(self, func: Function, kwargs: dict[str, Value]) -> tuple[int, ...]:
        """The parameters that a custom derivative leaves as they are, by position and name."""
        spec = func.node.args
        names = [a.arg for a in [*spec.posonlyargs, *spec.args]]
        out = list(self.int_list(kwargs.get("nondiff_argnums")) or ())
        given = kwargs.get("nondiff_argnames")
        for item in given.items if isinstance(given, Tuple) else (given,):
            if isinstance(item, Const) and item.value in names:
                out.append(names.index(str(item.value)))
        return tuple(out)

    def jitted(self, func: Value, kwargs: dict[str, Value], where: ast.AST) -> Value:
        """`jax.jit(func, **kwargs)`."""
        inner = func
        while isinstance(inner, Partial):
            inner = inner.func
        if not isinstance(inner, Function):
            step = self.step(where, "`jit` is applied here")
            out = Transformed("jit", func, step=step, kwargs=tuple(kwargs.items()))
            self.touch(out, where)
            return out
        names = self.static_names(inner, kwargs)
        line = getattr(where, "lineno", 0)
        jit = Jit(names or frozenset(), names is not None, line, self.frame.module)
        if isinstance(func, Function):
            if (
                where is not func.node
                and func.module is self.module
                and not any(
                    where is d or (isinstance(d, ast.Call) and where is d)
                    for d in getattr(func.node, "decorator_list", [])
                )
            ):
                self.wrapped_jit.setdefault(func.node, jit)
            if func.node in self.closures:
                known, facts = self.closures[func.node]
                if _is_decorator(func.node, where):
                    self.closures[func.node] = (replace(known, jit=jit), facts)
            return replace(func, jit=jit)
        assert isinstance(func, Partial)
        given = _partial_names(func, inner)
        jit = Jit(jit.static_names | given, jit.known, line, self.frame.module)
        return replace(func, func=replace(inner, jit=jit))

    def static_names(self, func: Function, kwargs: dict[str, Value]) -> frozenset[str] | None:
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
            elif is_none(value):
                pass
            else:
                return None
        return frozenset(names)

    def touch(self, func: Transformed, where: ast.AST) -> None:
        """Note a transformed function: if nothing in sight calls it, others may."""
        if self.frame.canonical:
            self.untouched.append(func)

    def touch_untouched(self) -> None:
        """Call what was transformed and not called in sight, as callers out of sight may."""
        # What was made last may call what was made before it.
        pending, self.untouched = self.untouched[::-1], []
        for func in pending:
            if func.step is not None and id(func.step) not in self.touched:
                self.call_out_of_sight(func)

    def call_out_of_sight(self, func: Transformed) -> None:
        """Call a transformed function with whatever callers out of sight pass."""
        inner: Value = func
        fixed = 0
        while isinstance(inner, Partial | Transformed):
            fixed += len(inner.args) if isinstance(inner, Partial) else 0
            inner = inner.func
        if not isinstance(inner, Function) or inner.module is not self.module:
            return
        args = placeholders(self, inner)
        args = args[(1 if inner.self_value is not None else 0) + fixed :]
        defaults = len(inner.node.args.defaults)
        self.call_value(func, args[: len(args) - defaults] if defaults else args, {}, None)

    def traced_positions(self, func: Transformed, count: int) -> set[int]:
        """Which positional arguments a transformation traces."""
        options_ = dict(func.kwargs)
        every = set(range(count))
        if func.kind in {"checkpoint", "trace", "pmap", "jit"}:
            for key in ("static_argnums", "static_broadcasted_argnums"):
                if key in options_:
                    every -= {n % count for n in self.int_list(options_[key]) or [] if count}
            return every
        if func.kind in {"vmap"}:
            axes = options_.get("in_axes")
            if isinstance(axes, Tuple):
                return {
                    i
                    for i in every
                    if i >= len(axes.items) or not (isinstance(axes.items[i], Const))
                }
            return every
        if func.kind in tables.DIFFERENTIATED.values():
            numbers = self.int_list(options_["argnums"]) if "argnums" in options_ else [0]
            return {n % count for n in numbers or [] if count} if numbers else every
        return every

    def call_transformed(
        self,
        func: Transformed,
        args: list[Value],
        kwargs: dict[str, Value],
        node: ast.Call | None,
        starred: Value | None,
        double_starred: Value | None,
    ) -> Value:
        """A call under vmap, grad, jit, shard_map, ..."""
        where = func.step
        trace = (
            Trace(replace(where, reason=f"`{func.kind}` traces its arguments"))
            if where
            else self.trace(
                node if node is not None else self.frame.node, f"`{func.kind}` traces its arguments"
            )
        )
        if func.step is not None:
            self.touched.add(id(func.step))
            self.kept_steps.append(func.step)
        positions = self.traced_positions(func, len(args))
        mapping = func.kind in {"vmap", "pmap", "shard_map"}
        new_args: list[Value] = []
        for index, arg in enumerate(args):
            if index in positions and not _is_callable(arg):
                arg = traced(self, arg, self.new_ident(func.kind), func.kind, trace)
                arg = _opaque_shape(arg) if mapping else arg
            elif func.kind == "checkpoint" and isinstance(arg, Unknown):
                # A static argument of `checkpoint` is a hashable Python value.
                arg = Int(self.fresh("a static argument", static=True), trace=arg.trace)
            new_args.append(arg)
        differentiates = func.kind in tables.DIFFERENTIATED.values()
        new_kwargs = (
            kwargs
            if differentiates
            else {
                k: traced(self, v, self.new_ident(func.kind), k, trace) for k, v in kwargs.items()
            }
        )
        saved = self.differentiating
        if differentiates and func.step is not None:
            self.differentiating = [*saved, func.step]
        try:
            result = self.call_value(
                func.func,
                new_args,
                new_kwargs,
                node,
                starred=starred,
                double_starred=double_starred,
            )
        finally:
            self.differentiating = saved
        if differentiates:
            return Array(self.new_ident(func.kind), text=func.kind, trace=trace)
        if func.kind == "checkpoint":
            return result
        if func.kind == "trace":
            return result
        return traced(
            self,
            _opaque_shape(result) if mapping else result,
            self.new_ident(func.kind),
            func.kind,
            result.trace or trace,
        )


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


def _is_decorator(node: ast.AST, where: ast.AST) -> bool:
    return any(where is d or where in ast.walk(d) for d in getattr(node, "decorator_list", []))
