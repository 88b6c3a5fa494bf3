"""Names, values of the launching code, attributes and arithmetic of a walk."""

from __future__ import annotations

import ast

from pallas_static_grid.analysis import values
from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.symbolic import Num, op
from pallas_static_grid.analysis.tables import canonical
from pallas_static_grid.analysis.walk_names import (
    lengths,
    module_values,
    outer_value,
    owner_of,
    partial,
)
from pallas_static_grid.analysis.walk_state import State
from pallas_static_grid.analysis.walk_values import (
    At,
    Constant,
    Env,
    Func,
    Items,
    Known,
    Method,
    Record,
    Ref,
    Scalar,
    Thing,
    View,
)

_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
}


class Lookups(State):
    """What names and values are in a kernel."""

    def look_up(self, name: str, env: Env | None) -> Thing:
        """What a name is, in the running bodies and then where the function was made."""
        while env is not None:
            if name in env.names:
                return env.names[name]
            if env.parent is None:
                given = self.given
                if given is not None and (name, owner_of(env.scope, name)) == (
                    given.name,
                    given.node,
                ):
                    return Constant(given.truth)
                value = outer_value(env.scope, name)
                if value is not None:
                    return self.from_value(value, env.module, name)
                return Known(name)
            env = env.parent
        return Known(name)

    def from_value(self, value: values.Value, module: ModuleContext, name: str = "") -> Thing:
        """A value of the launching code as the kernel sees it."""
        match value:
            case values.Int(expr=expr):
                if not value.is_bool:
                    return Scalar(expr)
                return Constant(bool(expr.value)) if isinstance(expr, Num) else Thing()
            case values.Const(value=constant):
                return Constant(constant)
            case values.Tuple(items=items):
                return Items(tuple(self.from_value(i, module, name) for i in items))
            case values.Function(node=node):
                env = Env({}, None, value.scope, value.module)
                if value.self_value is not None:
                    me = self.from_value(value.self_value, module)
                    return Func(node, env, (me,))
                return Func(node, env)
            case values.Partial(func=func, args=args, kwargs=kwargs):
                inner = self.from_value(func, module, name)
                bound = tuple(self.from_value(a, module) for a in args)
                named = {k: self.from_value(v, module) for k, v in kwargs}
                return partial(inner, bound, named)
            case values.Transformed(kind="jit", func=func):
                return self.from_value(func, module, name)
            case values.External(name=dotted):
                return Known(dotted)
            case values.ModuleValue(context=context):
                return self.module_record(context)
            case values.Instance(fields=fields):
                things = {k: self.from_value(v, module, k) for k, v in fields}
                return Record(things, tuple(things.values()))
            case values.Dict(items=items) if value.complete:
                return Record({str(k): self.from_value(v, module) for k, v in items})
            case values.Array():
                if value.shape == () and value.elem is not None:
                    return Scalar(value.elem)
                return Ref(name or "array", "table", lengths(value), value, name or "array")
            case _:
                return Thing()

    def attribute(self, owner: Thing, attr: str) -> Thing:
        """`owner.attr`."""
        match owner:
            case Known(name=name):
                return Known(canonical(f"{name}.{attr}"))
            case Ref() | View() if attr == "at":
                return At(owner)
            case Ref(shape=shape) if attr == "shape" and shape is not None:
                return Items(tuple(Thing() if s is None else Scalar(s) for s in shape))
            case Ref(shape=shape) if attr == "ndim" and shape is not None:
                return Scalar(Num(len(shape)))
            case Record(fields=fields) if attr in fields:
                return fields[attr]
            case _:
                return Method(owner, attr)

    def binary(self, operator: ast.operator, left: Thing, right: Thing) -> Thing:
        """Arithmetic."""
        kind = _OPERATORS.get(type(operator))
        if kind is not None and isinstance(left, Scalar) and isinstance(right, Scalar):
            return Scalar(op(kind, left.sym, right.sym))
        if kind == "add" and isinstance(left, Items) and isinstance(right, Items):
            return Items((*left.items, *right.items))
        match kind, left, right:
            case "mul", Items(items=items), Scalar(sym=Num(times)) if 0 <= times * len(items) <= 64:
                return Items(items * times)
            case _:
                pass
        return Thing()

    def module_record(self, context: ModuleContext) -> Record:
        """A module in sight."""
        found = module_values(context)
        return Record({name: self.from_value(v, context, name) for name, v in found.items()})
