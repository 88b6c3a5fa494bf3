"""Recording launches, their specs and their operands."""

from __future__ import annotations

import ast
from dataclasses import replace

from pallas_static_grid.analysis import tables
from pallas_static_grid.analysis.interpret.wrappers import Wrappers
from pallas_static_grid.analysis.values import (
    Arg,
    Array,
    BlockSpec,
    Class,
    Const,
    Dict,
    External,
    Function,
    GridSpec,
    Launcher,
    LaunchSite,
    OperandCall,
    Partial,
    Sequence,
    Struct,
    Transformed,
    Tuple,
    Union,
    Unknown,
    Value,
    options,
)


class Recording(Wrappers):
    """Recording launches, their specs and their operands."""

    def call_args(
        self,
        node: ast.Call,
        names: tuple[str, ...],
        args: list[Value],
        kwargs: dict[str, Value],
        offset: int = 0,
    ) -> dict[str, Arg]:
        """Arguments by parameter name, with the expressions where they are in sight."""
        out: dict[str, Arg] = {}
        plain = not any(isinstance(a, ast.Starred) for a in node.args)
        for index, value in enumerate(args):
            at = index - offset
            source = node.args[at] if plain and 0 <= at < len(node.args) else None
            if index < len(names):
                out[names[index]] = Arg(value, source, node)
        written = {k.arg: k.value for k in node.keywords if k.arg}
        for name, value in kwargs.items():
            out[name] = Arg(value, written.get(name), node, name)
        return out

    def block_spec_call(
        self,
        name: str,
        node: ast.Call,
        args: list[Value],
        kwargs: dict[str, Value],
    ) -> Value:
        """`pl.BlockSpec(...)`."""
        given = self.call_args(node, tables.PARAMETERS.get(name, ()), args, kwargs)
        shape, index_map = given.pop("block_shape", None), given.pop("index_map", None)
        # Before jax 0.5 the index map came first.
        if shape is not None and isinstance(shape.value, Function):
            shape, index_map = index_map, shape
        return BlockSpec(
            node,
            self.frame.module,
            name.rsplit(".", 1)[-1],
            shape,
            index_map,
            given.pop("memory_space", None),
            tuple(given.items()),
        )

    def grid_spec_call(
        self,
        name: str,
        node: ast.Call,
        args: list[Value],
        kwargs: dict[str, Value],
        hidden: bool,
    ) -> Value:
        """`pl.GridSpec(...)` or `pltpu.PrefetchScalarGridSpec(...)`."""
        given = self.call_args(node, tables.PARAMETERS.get(name, ()), args, kwargs)
        kind = name.rsplit(".", 1)[-1]
        spec = GridSpec(node, self.frame.module, kind, tuple(given.items()), hidden)
        if self.frame.module is self.module and "grid" in given:
            known = self.grid_specs.get(node)
            if self.frame.canonical or known is None:
                self.grid_specs[node] = spec
                self.spec_scopes[node] = (self.scope.snapshot(), self.frame.root)
        return spec

    def launch_call(
        self,
        name: str,
        args: list[Value],
        kwargs: dict[str, Value],
        node: ast.Call,
        starred: Value | None,
        double_starred: Value | None,
    ) -> Value:
        """`pl.pallas_call(...)`, called directly."""
        given = self.call_args(node, tables.PARAMETERS[name], args, kwargs)
        hidden = starred is not None or double_starred is not None
        return self.record_launch(name, node, given, hidden)

    def launch_from_partial(
        self,
        func: Partial,
        args: list[Value],
        kwargs: dict[str, Value],
        node: ast.Call | None,
        double_starred: Value | None,
    ) -> Value:
        """A call (or use as a decorator) of `functools.partial(pl.pallas_call, ...)`."""
        assert isinstance(func.func, External)
        name = func.func.name
        names = tables.PARAMETERS[name]
        merged: dict[str, Arg] = {}
        if func.node is not None:
            written = {k.arg: k.value for k in func.node.keywords if k.arg}
            for index, value in enumerate(func.args):
                source = func.node.args[index + 1] if index + 1 < len(func.node.args) else None
                merged[names[index]] = Arg(value, source, func.node)
            for key, value in func.kwargs:
                merged[key] = Arg(value, written.get(key), func.node, key)
        late = {"grid", "grid_spec"} & set(kwargs)
        site_node = node if (late or func.node is None) and node is not None else func.node
        if node is not None and node is not func.node:
            merged.update(self.call_args(node, names[len(func.args) :], args, kwargs))
        else:
            for key, value in zip(names[len(func.args) :], args, strict=False):
                merged[key] = Arg(value, None)
        if site_node is None:
            return Unknown("a launch out of sight")
        if (func.node is not None and site_node is func.node) or func.node is not None:
            self.launched_partials.add(func.node)
        return self.record_launch(name, site_node, merged, double_starred is not None)

    def record_launch(
        self, name: str, node: ast.Call, given: dict[str, Arg], hidden: bool
    ) -> Value:
        """Note a launch and give what it returns."""
        api = tables.LAUNCH_FUNCTIONS[name]
        frame = self.frame
        outer = None if frame.canonical else self.wrapper_call(given)
        if outer is not None:
            self.opaque_sites.add(node)
            return self.record_wrapper(*outer, given)
        grid = given.get("grid") or given.get("grid_spec")
        if api == "kernel" and grid is None and not hidden:
            return Launcher(
                LaunchSite(
                    node,
                    frame.module,
                    api,
                    frame.scope.qualname,
                    frame.root,
                    self.scope,
                    dict(given),
                )
            )
        if frame.module is not self.module:
            return Launcher(
                LaunchSite(
                    node,
                    frame.module,
                    api,
                    frame.scope.qualname,
                    frame.root,
                    self.scope,
                    dict(given),
                )
            )
        site = self.sites.get(node)
        if site is None:
            site = LaunchSite(
                node,
                frame.module,
                api,
                frame.scope.qualname,
                frame.root,
                self.scope.snapshot(),
                dict(given),
            )
            self.sites[node] = site
        if frame.canonical or site.function_node is None:
            made = self.partials.get(node)
            home = made[1] if made is not None else frame
            site.function = home.scope.qualname
            site.function_node = home.root
            site.scope = home.scope.snapshot()
            site.args = self.joined_args(site, given) if frame.canonical else dict(given)
            site.hidden = hidden
        if self.handed_in(given):
            self.opaque_sites.add(node)
        self.note_specs(given)
        self.note_differentiation(site)
        return Launcher(site)

    def joined_args(self, site: LaunchSite, given: dict[str, Arg]) -> dict[str, Arg]:
        """The arguments of a launch; evaluated again in one run (a loop), they are joined."""
        if self.site_runs.get(site.node) != self.run_id:
            self.site_runs[site.node] = self.run_id
            return dict(given)
        out = dict(site.args)
        for key, arg in given.items():
            old = out.get(key)
            if old is None:
                out[key] = arg
            elif key in {"grid", "grid_spec"}:
                out[key] = replace(arg, value=self.join_values([old.value, arg.value]))
            else:
                out[key] = arg
        return out

    def note_specs(self, given: dict[str, Arg]) -> None:
        """Grid specs that a launch uses are no launches of their own."""
        arg = given.get("grid_spec")
        if arg is not None:
            for option in options(arg.value):
                if isinstance(option, GridSpec):
                    self.used_specs.add(option.node)

    def note_differentiation(self, site: LaunchSite) -> None:
        """The launch is reached under jvp, vjp or grad."""
        for step in self.differentiating:
            if all(
                step.line != known.line or step.path != known.path for known in site.differentiated
            ):
                site.differentiated.append(step)

    def call_launcher(
        self,
        func: Launcher,
        args: list[Value],
        kwargs: dict[str, Value],
        node: ast.Call | None,
        starred: Value | None,
    ) -> Value:
        """A call of what a launch returned: the operands, or the kernel of a decorator form."""
        site = func.site
        if (
            "kernel" not in site.args
            and len(args) == 1
            and isinstance(args[0], Function | Partial | Transformed)
        ):
            source = node.args[0] if node is not None and node.args else None
            site.args["kernel"] = Arg(args[0], source, node)
            return func
        if node is not None and self.frame.canonical:
            self.record_operands(site, node, args, starred)
        self.note_differentiation(site)
        return self.launch_result(site, node)

    def record_operands(
        self,
        site: LaunchSite,
        node: ast.Call,
        args: list[Value],
        starred: Value | None,
    ) -> None:
        """Note the operands of one call of a launch."""
        out: list[Arg] = []
        plain = not any(isinstance(a, ast.Starred) for a in node.args)
        for index, value in enumerate(args):
            source = node.args[index] if plain and index < len(node.args) else None
            out.append(Arg(value, source, node))
        site.calls[:] = [c for c in site.calls if c.node is not node]
        site.calls.append(
            OperandCall(
                node,
                self.frame.module,
                tuple(out),
                starred is None,
                self.scope.snapshot(),
                self.scope.qualname,
            )
        )

    def launch_result(self, site: LaunchSite, node: ast.Call | None) -> Value:
        """The arrays that a launch gives."""
        arg = site.args.get("out_shape") or site.args.get("out_type")
        where: ast.AST = node if node is not None else site.node
        trace = self.trace(where, "a launch gives arrays")

        def result(value: Value) -> Value:
            match value:
                case Struct():
                    shape = value.shape.items if isinstance(value.shape, Tuple) else None
                    array = value.shape.array if isinstance(value.shape, Sequence) else None
                    return Array(
                        self.new_ident("launch"),
                        shape,
                        dims_of=array.dims_ident if array is not None else None,
                        text="the result",
                        trace=trace,
                    )
                case Array():
                    return Array(
                        self.new_ident("launch"),
                        value.shape,
                        dims_of=value.dims_ident,
                        text="the result",
                        trace=trace,
                    )
                case Tuple():
                    return Tuple(tuple(result(v) for v in value.items), value.kind)
                case Sequence():
                    return Sequence(result(value.elem))
                case Union():
                    return self.join_values([result(v) for v in value.options])
                case Const() | Dict() | Class():
                    return Unknown("the result of a launch", trace=trace)
                case _:
                    return Array(self.new_ident("launch"), text="the result", trace=trace)

        return (
            result(arg.value)
            if arg is not None
            else Array(self.new_ident("launch"), text="the result", trace=trace)
        )
