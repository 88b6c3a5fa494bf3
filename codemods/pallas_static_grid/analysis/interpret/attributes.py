"""Attributes of values."""

from __future__ import annotations

import ast
from dataclasses import replace

from pallas_static_grid.analysis import tables
from pallas_static_grid.analysis.interpret.imports import find_module
from pallas_static_grid.analysis.interpret.mutation import CHANGING_ATTRIBUTES, escape
from pallas_static_grid.analysis.interpret.subscripts import Subscripts
from pallas_static_grid.analysis.symbolic import Atom, Num
from pallas_static_grid.analysis.values import (
    Array,
    BlockSpec,
    Class,
    Const,
    Dict,
    External,
    Function,
    GridSpec,
    Instance,
    Int,
    Leaf,
    ModuleValue,
    Partial,
    Sequence,
    Struct,
    Tuple,
    Union,
    Unknown,
    Value,
    is_none,
    settled,
)


class Attributes(Subscripts):
    """Attributes of values."""

    def _expr_Attribute(self, node: ast.Attribute) -> Value:
        base = self.eval(node.value)
        if node.attr in CHANGING_ATTRIBUTES:
            escape(self, base, node.attr)
        return self.attribute(base, node.attr, node)

    def attribute(self, base: Value, attr: str, node: ast.expr) -> Value:
        """`base.attr`."""
        match base:
            case Union():
                parts = [
                    self.attribute(option, attr, node)
                    for option in base.options
                    if not is_none(option)
                ]
                return self.join_values(parts) if parts else self.opaque(node)
            case External():
                return self.external_attribute(base, attr, node)
            case ModuleValue():
                scope = self.module_scope(base.context)
                if attr in scope.names:
                    return settled(scope.names[attr])
                inner = find_module(self, f"{base.context.name}.{attr}")
                return ModuleValue(inner) if inner is not None else self.opaque(node)
            case Array():
                return self.array_attribute(base, attr, node)
            case Struct():
                if attr == "shape":
                    return base.shape
                if attr == "dtype" and base.dtype is not None:
                    return base.dtype
            case Instance():
                return self.instance_attribute(base, attr, node)
            case Class():
                found = self.class_attribute(base, attr)
                if isinstance(found, Function) and self.is_classmethod(found):
                    return replace(found, self_value=base)
                if found is not None:
                    return found
            case Sequence() | Tuple() if attr in {"count", "index"}:
                return External("int.bit_length")
            case Sequence() | Tuple() if attr in {"start", "stop", "step"}:
                return Int(self.fresh(self.segment(node), static=True))
            case BlockSpec():
                arg = {"block_shape": base.block_shape, "index_map": base.index_map}.get(attr)
                if arg is not None:
                    return arg.value
            case GridSpec():
                spec_arg = base.arg(attr)
                if spec_arg is not None:
                    return spec_arg.value
            case Const(value=str()) if attr in {"count", "index", "find", "rfind", "rindex"}:
                return External("int.bit_length")
            case Int() if base.part and attr not in {"bit_length", "bit_count"}:
                return self.part_of(base, self.segment(node), ("field", attr))
            case Int():
                if attr in {"bit_length", "bit_count"}:
                    return External("int.bit_length")
                if attr in {"real", "numerator", "value"}:
                    return base
            case Dict(namespace=True):
                found = dict(base.items).get(attr)
                if found is not None:
                    return found
            case Dict():
                return External(f"dict.{attr}", trace=base.trace)
            case Partial():
                if attr == "func":
                    return base.func
            case Function():
                if attr in {"defvjp", "defjvp", "defjvps", "def_vmap", "def_fwd", "def_bwd"}:
                    return Partial(External(f"custom.{attr}"), (base,), ())
                if attr == "__wrapped__":
                    return replace(base, jit=None)
            case _:
                pass
        if attr == "shape":
            text = self.segment(node.value) if isinstance(node, ast.Attribute) else "it"
            ident = base.ident if isinstance(base, Unknown) else ""
            if not ident:
                line = base.trace.step.line if base.trace is not None else 0
                ident = f"out-of-sight:{self.scope.qualname}:{text}:{line}"
            array = Array(ident, text=text)
            return Sequence(Int(Atom(("param", ident), "a length")), array=array)
        if attr in tables.INT_ATTRIBUTES:
            text = self.segment(node)
            return Int(Atom(("attr", text, self.ident_of(base)), text, static=True))
        unknown = self.opaque(node, base)
        return unknown

    def external_attribute(self, base: External, attr: str, node: ast.expr) -> Value:
        """An attribute of something out of sight."""
        name = f"{base.name}.{attr}" if base.name else attr
        if name == "sys.maxsize":
            return Int(self.fresh(name, static=True))
        if base.name in _MODULES:
            return External(tables.canonical(name), trace=base.trace)
        if attr == "shape":
            return Sequence(Int(self.fresh(self.segment(node), static=True)))
        if attr in tables.INT_ATTRIBUTES or (attr == "id" and base.name == "jax.Device"):
            return Int(self.fresh(self.segment(node), static=True))
        if attr == "__name__":
            return Const(name)
        return External(tables.canonical(name), trace=base.trace)

    def array_attribute(self, base: Array, attr: str, node: ast.expr) -> Value:
        """An attribute of an array or tracer."""
        if attr == "shape":
            return self.shape_of(base)
        if attr == "ndim" and base.shape is not None:
            return Int(Num(len(base.shape)))
        if attr == "size":
            return Int(self.size_of(base))
        if attr in tables.INT_ATTRIBUTES:
            return Int(Atom(("attr", base.ident, attr), self.segment(node), static=True))
        if attr in {"dtype", "sharding", "aval", "weak_type", "device"}:
            return (
                Const(base.dtype)
                if attr == "dtype" and base.dtype
                else Unknown(
                    f"`{self.segment(node)}`", trace=self.trace(node, "this is no number", base)
                )
            )
        if attr in {"T", "mT"}:
            shape = base.shape[::-1] if base.shape is not None and attr == "T" else None
            return replace(base, ident=self.new_ident("T"), shape=shape, dims_of=None, elem=None)
        if attr in {"real", "imag", "at"}:
            return replace(base, text=self.segment(node))
        if attr in tables.ARRAY_METHODS:
            return Partial(External(f"array.{attr}"), (base,), ())
        if base.tree:
            text = self.segment(node)
            reason = f"`{text}` is a field of something traced, of a class out of sight"
            return Leaf(reason, f"{base.ident}.{attr}", text, trace=self.trace(node, reason, base))
        return self.opaque(node, base)


_MODULES = frozenset(tables.ALIASES.values()) | {"jax", "numpy", "math", "functools", "operator"}
