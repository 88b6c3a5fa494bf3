"""Launches whose grid is handed through functions in sight."""

from __future__ import annotations

import ast
from dataclasses import replace

from pallas_static_grid.analysis import reach
from pallas_static_grid.analysis.interpret.machine import Frame
from pallas_static_grid.analysis.interpret.patterns import Patterns
from pallas_static_grid.analysis.scopes import Scope
from pallas_static_grid.analysis.values import (
    Arg,
    Array,
    Function,
    GridSpec,
    Instance,
    Launcher,
    LaunchSite,
    Value,
)


class Wrappers(Patterns):
    """Launches whose grid is handed through functions in sight."""

    def handed_in(self, given: dict[str, Arg]) -> bool:
        """Whether the grid of a launch is a parameter of a function around it, unchanged."""
        arg = given.get("grid") or given.get("grid_spec")
        spec = getattr(self.frame.node, "args", None)
        names: set[str] = set()
        if isinstance(spec, ast.arguments):
            names = {a.arg for a in [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]}
        if arg is not None and isinstance(arg.value, Array) and self.is_jitted(self.frame.node):
            # `jit` traced it already: no caller can hand a grid through.
            return False
        if arg is not None and isinstance(arg.node, ast.Name) and arg.node.id in names:
            return _is_parameter(self.scope, arg.node.id)
        if arg is not None and arg.node is not None:
            # A parameter of a function further out, seen through its closure.
            return isinstance(arg.node, ast.Name) and self.is_outer_parameter(arg.node.id)
        holder = next((a.holder for a in given.values() if a.holder is not None), None)
        return holder is not None and any(
            k.arg is None and isinstance(k.value, ast.Name) and self.is_open_kwargs(k.value.id)
            for k in holder.keywords
        )

    def is_jitted(self, node: ast.AST) -> bool:
        """Whether a function of the module is jitted where it is defined or wrapped."""
        known = self.closures.get(node)
        return node in self.wrapped_jit or (known is not None and known[0].jit is not None)

    def owner_of(self, name: str) -> Scope | None:
        """The scope that binds a name, from here outwards."""
        scope: Scope | None = self.scope
        while scope is not None and name not in scope.history:
            scope = scope.parent
        return scope

    def is_outer_parameter(self, name: str) -> bool:
        """Whether a name is a parameter, bound once, of a function around this one."""
        scope = self.owner_of(name)
        spec = getattr(scope.node, "args", None) if scope is not None else None
        if scope is None or not isinstance(spec, ast.arguments) or scope is self.scope:
            return False
        names = {a.arg for a in [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]}
        return name in names and len(scope.history.get(name, [])) == 1

    def is_open_kwargs(self, name: str) -> bool:
        """Whether a name is the `**kwargs` of a function around."""
        scope = self.owner_of(name)
        spec = getattr(scope.node, "args", None) if scope is not None else None
        return isinstance(spec, ast.arguments) and spec.kwarg is not None and spec.kwarg.arg == name

    def wrapper_call(self, given: dict[str, Arg]) -> tuple[ast.Call, Frame] | None:
        """The outermost call in this module whose grid argument reaches this launch unchanged."""
        arg = given.get("grid") or given.get("grid_spec")
        if arg is None:
            return None
        entries = self.handed.get(id(arg.value), [])
        owners = _lexical_owners(self.scope)
        found: tuple[ast.Call, Frame] | None = None
        for _ in range(8):
            step = next(
                (
                    (entry.call, entry.caller)
                    for entry in reversed(entries)
                    if entry.callee in owners and not (found and entry.call is found[0])
                ),
                None,
            )
            if step is None:
                break
            if step[1].module is self.module:
                found = step
            owners = _lexical_owners(step[1].scope)
            entries = [e for e in entries if e.call is not step[0]]
        return found

    def record_wrapper(self, call: ast.Call, caller: Frame, given: dict[str, Arg]) -> Value:
        """Note a call of a wrapper as a launch."""
        site = self.sites.get(call)
        if site is None:
            site = LaunchSite(
                call,
                caller.module,
                "wrapper",
                caller.scope.qualname,
                caller.root,
                caller.scope.snapshot(),
                {},
            )
            self.sites[call] = site
        if site.api == "subscript":
            return Launcher(site)
        args: dict[str, Arg] = {}
        for key, arg in given.items():
            source = next(
                (e.source for e in self.handed.get(id(arg.value), []) if e.call is call), None
            )
            args[key] = Arg(
                arg.value, source, call if source is not None else arg.holder, arg.keyword
            )
        if caller.canonical or not site.args:
            site.function = caller.scope.qualname
            site.function_node = caller.root
            site.scope = caller.scope.snapshot()
            site.args = args
        grid = args.get("grid") or args.get("grid_spec")
        if (
            grid is not None
            and isinstance(grid.node, ast.Name)
            and _is_parameter(caller.scope, grid.node.id)
        ):
            self.opaque_sites.add(call)
        self.note_specs(given)
        self.note_differentiation(site)
        return Launcher(site)

    def spec_wrapper(
        self,
        func: Function,
        args: list[Value],
        kwargs: dict[str, Value],
        node: ast.Call,
        result: Value,
    ) -> Value:
        """A call of a launching function with a `grid_spec` that it takes apart."""
        spec = func.node.args
        names = [a.arg for a in [*spec.posonlyargs, *spec.args]]
        if func.self_value is not None:
            names = names[1:]
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        value = given.get("grid_spec")
        if not isinstance(value, GridSpec) or node in self.sites:
            return result
        key = id(func.module)
        if key not in self.wrapper_names:
            self.wrapper_names[key] = reach.launching_names(func.module)
        if func.name not in self.wrapper_names[key]:
            return result
        frame = self.frame
        site = LaunchSite(
            node,
            frame.module,
            "wrapper",
            frame.scope.qualname,
            frame.root,
            self.scope.snapshot(),
            {},
            wrapper=func,
        )
        sources = dict(zip(names, node.args, strict=False))
        sources.update({k.arg: k.value for k in node.keywords if k.arg})
        site.args = {k: Arg(v, sources.get(k), node) for k, v in given.items()}
        self.sites[node] = site
        self.used_specs.add(value.node)
        return Launcher(site)

    def subscript_launch(self, node: ast.Call) -> Value | None:
        """`kernel[grid](...)` where `kernel`'s class launches with what it is subscripted by."""
        assert isinstance(node.func, ast.Subscript)
        base = self.eval(node.func.value)
        if not isinstance(base, Instance):
            return None
        getter = self.class_attribute(base.cls, "__getitem__")
        if not isinstance(getter, Function):
            return None
        grid = self.eval(node.func.slice)
        before = set(self.sites)
        launched = self.call_value(replace(getter, self_value=base), [grid], {}, node)
        args = [self.eval(a) for a in node.args if not isinstance(a, ast.Starred)]
        kwargs = {k.arg: self.eval(k.value) for k in node.keywords if k.arg}
        if _launches(base) and self.frame.module is self.module:
            site = self.sites.get(node)
            if site is None:
                site = LaunchSite(
                    node,
                    self.frame.module,
                    "subscript",
                    self.scope.qualname,
                    self.frame.root,
                    self.scope.snapshot(),
                    {},
                )
                self.sites[node] = site
            site.api = "subscript"
            site.function_node = self.frame.root
            site.scope = self.scope.snapshot()
            site.args = {"grid": Arg(grid, node.func.slice, node)}
            for extra in set(self.sites) - before - {node}:
                self.opaque_sites.add(extra)
        return self.call_value(launched, args, kwargs, None)


def _is_parameter(scope: Scope, name: str) -> bool:
    """Whether a name is a parameter of the function of `scope`, bound once."""
    spec = getattr(scope.node, "args", None)
    if not isinstance(spec, ast.arguments):
        return False
    names = {a.arg for a in [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]}
    return name in names and len(scope.history.get(name, [])) == 1


def _lexical_owners(scope: Scope) -> set[ast.AST]:
    """The function that a scope belongs to and those around it."""
    out: set[ast.AST] = set()
    link: Scope | None = scope
    while link is not None:
        out.add(link.node)
        link = link.parent
    return out


def _launches(base: Instance) -> bool:
    return any(
        isinstance(inner, ast.Attribute | ast.Name)
        and (inner.attr if isinstance(inner, ast.Attribute) else inner.id)
        in {"pallas_call", "kernel"}
        for inner in ast.walk(base.cls.node)
    )
