"""Evaluating expressions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pallas_static_grid.analysis import tables
from pallas_static_grid.analysis.calls import Calls
from pallas_static_grid.analysis.joins import join, join_names
from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.scopes import Scope
from pallas_static_grid.analysis.symbolic import Atom, Num, Op, Sym, op
from pallas_static_grid.analysis.values import (
    Annotation,
    Array,
    BlockSpec,
    Class,
    Const,
    Dict,
    External,
    Float,
    Function,
    GridSpec,
    Instance,
    Int,
    Leaf,
    ModuleValue,
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

if TYPE_CHECKING:
    from pallas_static_grid.analysis.interpreter import Interpreter

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
}
_BITS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.BitAnd: lambda a, b: a & b,
    ast.BitOr: lambda a, b: a | b,
    ast.BitXor: lambda a, b: a ^ b,
    ast.LShift: lambda a, b: a << b if 0 <= b < 64 else 0,
    ast.RShift: lambda a, b: a >> b if b >= 0 else 0,
}


class Expressions(Calls):
    """Expression evaluation; the state is the interpreter's."""

    def eval(self: Interpreter, node: ast.expr) -> Value:
        """The value of an expression in the running scope."""
        handler = getattr(self, "expr_" + type(node).__name__, None)
        if handler is None:
            return self.opaque(node)
        value: Value = handler(node)
        return value

    def eval_in(self: Interpreter, scope: Scope, module: ModuleContext, node: ast.expr) -> Value:
        """The value of an expression in another scope (a default, an annotation)."""
        from pallas_static_grid.analysis.interpreter import Frame

        self.frames.append(Frame(scope, module, scope.node, canonical=False, root=None))
        try:
            return self.eval(node)
        finally:
            self.frames.pop()

    @contextmanager
    def inside(self: Interpreter, module: ModuleContext) -> Iterator[None]:
        """Evaluate in the top-level scope of a module for a while."""
        from pallas_static_grid.analysis.interpreter import Frame

        self.frames.append(Frame(self.module_scope(module), module, module.tree, canonical=False))
        try:
            yield
        finally:
            self.frames.pop()

    def segment(self: Interpreter, node: ast.AST) -> str:
        """Source text of a node of the running module, on one line and not too long."""
        module = self.frame.module
        try:
            text = module.segment(node)  # type: ignore[arg-type]
        except (IndexError, AttributeError):
            text = ast.unparse(node)
        text = " ".join(text.split())
        return text if len(text) <= 80 else text[:77] + "..."

    def opaque(self: Interpreter, node: ast.expr, cause: Value | None = None) -> Unknown:
        """An expression of which nothing is known."""
        reason = f"what `{self.segment(node)}` is, is out of sight"
        return Unknown(reason, trace=self.trace(node, reason, cause))

    # --- atoms of expressions ------------------------------------------------------------------

    def expr_Constant(self: Interpreter, node: ast.Constant) -> Value:
        value = node.value
        if isinstance(value, bool):
            return Int(Num(int(value)), is_bool=True)
        if isinstance(value, int):
            return Int(Num(value))
        if isinstance(value, float):
            return Float(trace=self.trace(node, "this is a float"))
        return Const(value, trace=self.trace(node, "this is a literal"))

    def expr_Name(self: Interpreter, node: ast.Name) -> Value:
        found = self.lookup(node.id)
        if found is not None:
            return found
        if self.star_imports and (node.id not in _BUILTINS or node.id in _SHADOWED_BY_STAR):
            source, where = self.star_imports[-1]
            reason = f"`{node.id}` may come from `from {source} import *`"
            return Unknown(reason, trace=self.trace(where, reason))
        if node.id in _BUILTINS:
            return External(node.id)
        return self.opaque(node)

    def expr_NamedExpr(self: Interpreter, node: ast.NamedExpr) -> Value:
        value = self.eval(node.value)
        self.assign(node.target, value, node)
        return value

    def expr_Attribute(self: Interpreter, node: ast.Attribute) -> Value:
        base = self.eval(node.value)
        return self.attribute(base, node.attr, node)

    def attribute(self: Interpreter, base: Value, attr: str, node: ast.expr) -> Value:
        """`base.attr`."""
        match base:
            case Union():
                parts = [
                    self.attribute(option, attr, node)
                    for option in base.options
                    if not (isinstance(option, Const) and option.value is None)
                ]
                return self.join_values(parts) if parts else self.opaque(node)
            case External():
                return self.external_attribute(base, attr, node)
            case ModuleValue():
                scope = self.module_scope(base.context)
                if attr in scope.names:
                    return scope.names[attr]
                from pallas_static_grid.analysis.imports import find_module

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
            case Int():
                if attr in {"bit_length", "bit_count"}:
                    return External("int.bit_length")
                if attr in {"real", "numerator"}:
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
            ident = f"out-of-sight:{self.segment(node.value)}" if isinstance(
                node, ast.Attribute) else self.segment(node)
            array = Array(ident, text=ident.removeprefix("out-of-sight:"))
            return Sequence(Int(Atom(("param", ident), "a length")), array=array)
        if attr in tables.INT_ATTRIBUTES:
            text = self.segment(node)
            return Int(Atom(("attr", text, self.ident_of(base)), text, static=True))
        unknown = self.opaque(node, base)
        return unknown

    def ident_of(self: Interpreter, value: Value) -> object:
        """Something that is equal only for the same run-time value."""
        if isinstance(value, Array):
            return value.ident
        return id(value)

    def external_attribute(self: Interpreter, base: External, attr: str, node: ast.expr) -> Value:
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

    def array_attribute(self: Interpreter, base: Array, attr: str, node: ast.expr) -> Value:
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
            return Const(base.dtype) if attr == "dtype" and base.dtype else Unknown(
                f"`{self.segment(node)}`", trace=self.trace(node, "this is no number", base))
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
            return Leaf(reason, f"{base.ident}.{attr}", text,
                        trace=self.trace(node, reason, base))
        return self.opaque(node, base)

    # --- lengths -------------------------------------------------------------------------------

    def shape_of(self: Interpreter, array: Array) -> Value:
        """The shape of an array, as a tuple of ints."""
        if array.shape is not None:
            return Tuple(array.shape)
        return Sequence(
            Int(Atom(("param", f"{array.dims_ident}.shape[]"), "a length", static=True)),
            array=array,
        )

    def dim(self: Interpreter, array: Array, axis: int) -> Int:
        """`array.shape[axis]`."""
        if array.shape is not None and -len(array.shape) <= axis < len(array.shape):
            value = array.shape[axis]
            if isinstance(value, Int):
                return value
        text = array.text or "the array"
        return Int(Atom(("dim", array.dims_ident, axis), f"{text}.shape[{axis}]", static=True,
                        lo=Num(0)))

    def size_of(self: Interpreter, array: Array) -> Sym:
        """The number of elements."""
        if array.shape is not None:
            out: Sym = Num(1)
            for index, value in enumerate(array.shape):
                part = value.expr if isinstance(value, Int) else self.dim(array, index).expr
                out = part if out == Num(1) else op("mul", out, part)
            return out
        return Atom(("size", array.dims_ident), f"{array.text or 'array'}.size", static=True,
                    lo=Num(0))

    def new_ident(self: Interpreter, kind: str) -> str:
        """A fresh identity for an array."""
        return f"{kind}:{next(self.counter)}"

    # --- displays ------------------------------------------------------------------------------

    def expr_Tuple(self: Interpreter, node: ast.Tuple) -> Value:
        return self.display(node.elts, "tuple", node)

    def expr_List(self: Interpreter, node: ast.List) -> Value:
        return self.display(node.elts, "list", node)

    def expr_Set(self: Interpreter, node: ast.Set) -> Value:
        for elt in node.elts:
            self.eval(elt)
        return self.opaque(node)

    def display(self: Interpreter, elts: list[ast.expr], kind: Any, node: ast.expr) -> Value:
        """A tuple or list display, starred parts expanded where their length is known."""
        items: list[Value] = []
        nodes: list[ast.expr | None] = []
        for elt in elts:
            if isinstance(elt, ast.Starred):
                inner = self.eval(elt.value)
                if isinstance(inner, Tuple):
                    items.extend(inner.items)
                    nodes.extend(inner.nodes or [None] * len(inner.items))
                else:
                    elem = self.iterated(inner, elt.value)
                    for other in elts:
                        if not isinstance(other, ast.Starred):
                            elem = join(elem, self.eval(other), self.fresh)
                    return Sequence(elem, trace=self.trace(node, "its length is not in sight"))
            else:
                items.append(self.eval(elt))
                nodes.append(elt)
        return Tuple(tuple(items), kind, tuple(nodes))

    def expr_Dict(self: Interpreter, node: ast.Dict) -> Value:
        items: dict[object, Value] = {}
        complete = True
        for key, value_node in zip(node.keys, node.values, strict=True):
            value = self.eval(value_node)
            if key is None:
                if isinstance(value, Dict):
                    items.update(dict(value.items))
                    complete = complete and value.complete
                else:
                    complete = False
                continue
            constant = self.constant_key(self.eval(key))
            if constant is None:
                complete = False
            else:
                items[constant[0]] = value
        return Dict(tuple(items.items()), complete, node)

    def constant_key(self: Interpreter, key: Value) -> tuple[object] | None:
        """The Python value of a constant dict key, in a 1-tuple."""
        if isinstance(key, Const):
            return (key.value,)
        if isinstance(key, Int) and isinstance(key.expr, Num):
            return (key.expr.value,)
        if isinstance(key, Tuple):
            parts = [self.constant_key(item) for item in key.items]
            known = [part[0] for part in parts if part is not None]
            return (tuple(known),) if len(known) == len(parts) else None
        return None

    def expr_JoinedStr(self: Interpreter, node: ast.JoinedStr) -> Value:
        return Unknown("a string", trace=self.trace(node, "this is a string"))

    def expr_Lambda(self: Interpreter, node: ast.Lambda) -> Value:
        prefix = "" if self.scope.qualname == "<module>" else self.scope.qualname + "."
        function = Function(node, self.frame.module, self.scope, prefix + "<lambda>")
        self.remember_closure(function)
        return function

    def expr_Starred(self: Interpreter, node: ast.Starred) -> Value:
        return self.eval(node.value)

    def expr_Await(self: Interpreter, node: ast.Await) -> Value:
        self.eval(node.value)
        return self.opaque(node)

    def expr_Yield(self: Interpreter, node: ast.Yield) -> Value:
        value = self.eval(node.value) if node.value is not None else Const(None)
        self.frame.yielded.append(value)
        return self.opaque(node)

    def expr_YieldFrom(self: Interpreter, node: ast.YieldFrom) -> Value:
        value = self.eval(node.value)
        self.frame.yielded.append(self.iterated(value, node.value))
        return self.opaque(node)

    def expr_IfExp(self: Interpreter, node: ast.IfExp) -> Value:
        truth = self.truth(self.eval(node.test))
        names = dict(self.scope.names)
        results: list[Value] = []
        ends: list[dict[str, Value]] = []
        for outcome, branch in ((True, node.body), (False, node.orelse)):
            if truth is (not outcome):
                continue
            self.scope.names = dict(names)
            facts = list(self.scope.facts)
            self.narrow(node.test, outcome)
            results.append(self.eval(branch))
            self.scope.facts = facts
            ends.append(self.scope.names)
        # Narrowing ends with the expression; assignments inside (walrus) do not.
        merged = ends[0]
        for other in ends[1:]:
            merged = join_names(merged, other, self.fresh)
        self.scope.names = {k: names.get(k, v) if not _is_new(names, k, ends) else v
                            for k, v in merged.items()}
        return self.join_values(results)

    # --- operators -----------------------------------------------------------------------------

    def expr_UnaryOp(self: Interpreter, node: ast.UnaryOp) -> Value:
        value = self.eval(node.operand)
        if isinstance(node.op, ast.Not):
            truth = self.truth(value)
            if isinstance(value, Array):
                return self.opaque(node, value) if truth is None else Int(Num(0), is_bool=True)
            expr: Sym = Num(int(not truth)) if truth is not None else self.fresh("a bool",
                                                                                static=True)
            return Int(expr, is_bool=True)
        match value, node.op:
            case (Int(), ast.USub()):
                return Int(op("neg", value.expr), trace=value.trace)
            case (Int(), ast.UAdd()):
                return value
            case (Int(), ast.Invert()):
                return Int(op("sub", op("neg", value.expr), Num(1)), trace=value.trace)
            case (Array(), ast.USub()):
                elem = op("neg", value.elem) if value.elem is not None else None
                return self.derived(value, node, elem=elem)
            case (Array(), ast.UAdd()):
                return value
            case (Array(), ast.Invert()):
                return self.derived(value, node, dtype=value.dtype)
            case (Float(), _):
                return Float(value.numpy, trace=value.trace)
            case (Union(), _):
                return self.opaque(node, value)
            case _:
                return self.opaque(node, value)

    def expr_BinOp(self: Interpreter, node: ast.BinOp) -> Value:
        return self.binary(node.op, self.eval(node.left), self.eval(node.right), node)

    def binary(
        self: Interpreter, operator: ast.operator, a: Value, b: Value, node: ast.AST
    ) -> Value:
        """`a <operator> b`."""
        if isinstance(a, Union) or isinstance(b, Union):
            parts = [
                self.binary(operator, x, y, node)
                for x in options(a) if not _is_none(x)
                for y in options(b) if not _is_none(y)
            ]
            return self.join_values(parts) if parts else self.unknown_of(node, a, b)
        if isinstance(a, Int) and isinstance(b, Int):
            return self.int_binary(operator, a, b, node)
        if isinstance(a, Array) or isinstance(b, Array):
            return self.array_binary(operator, a, b, node)
        if isinstance(a, Float | Int) and isinstance(b, Float | Int):
            numpy = any(isinstance(v, Float) and v.numpy for v in (a, b))
            ratio = None
            if isinstance(operator, ast.FloorDiv | ast.Mod):
                pass
            return Float(numpy, ratio, trace=self.trace(node, "the result is a float"))
        if isinstance(a, Tuple | Sequence) or isinstance(b, Tuple | Sequence):
            return self.sequence_binary(operator, a, b, node)
        return self.unknown_of(node, a, b)

    def unknown_of(self: Interpreter, node: ast.AST, *operands: Value) -> Unknown:
        """An operation with an unknown operand."""
        cause = next((v for v in operands if isinstance(v, Unknown)), None)
        if cause is not None:
            return Unknown(cause.need, trace=cause.trace)
        reason = f"what `{self.segment(node)}` is, is out of sight"
        return Unknown(reason, trace=self.trace(node, reason))

    def int_binary(
        self: Interpreter, operator: ast.operator, a: Int, b: Int, node: ast.AST
    ) -> Value:
        kind = _BINARY.get(type(operator))
        if kind == "pow" and not (isinstance(b.expr, Num) and b.expr.value >= 0):
            return Int(self.fresh(self.segment(node), static=True)) if not isinstance(
                b.expr, Num) else Float(trace=self.trace(node, "a negative power is a float"))
        if kind is not None:
            return Int(op(kind, a.expr, b.expr))
        if isinstance(operator, ast.Div):
            return Float(ratio=(a.expr, b.expr),
                         trace=self.trace(node, f"`{self.segment(node)}` is a float: `/` divides "
                                                f"exactly, a grid needs `//` or `pl.cdiv`"))
        fold = _BITS.get(type(operator))
        if fold is not None:
            if isinstance(a.expr, Num) and isinstance(b.expr, Num):
                return Int(Num(fold(a.expr.value, b.expr.value)), is_bool=a.is_bool and b.is_bool)
            if isinstance(operator, ast.LShift):
                return Int(op("mul", a.expr, op("pow", Num(2), b.expr)))
            if isinstance(operator, ast.RShift):
                return Int(op("floordiv", a.expr, op("pow", Num(2), b.expr)))
            return Int(self.fresh(self.segment(node), static=True),
                       is_bool=a.is_bool and b.is_bool)
        return self.unknown_of(node, a, b)

    def array_binary(
        self: Interpreter, operator: ast.operator, a: Value, b: Value, node: ast.AST
    ) -> Value:
        """An operation on arrays: an array, NumPy only if both sides are."""
        other = b if isinstance(a, Array) else a
        if isinstance(other, Const | Function | Class | Dict | Struct):
            return self.unknown_of(node, a, b)
        cause = telling([a, b]) or a
        return self.elementwise(operator, a, b, node, cause)

    def elementwise(
        self: Interpreter, operator: ast.operator, a: Value, b: Value, node: ast.AST, cause: Value
    ) -> Array:
        assert isinstance(cause, Array)
        kind = _BINARY.get(type(operator))
        x, y = self.scalar(a), self.scalar(b)
        elem: Sym | None = None
        ratio: tuple[Sym, Sym] | None = None
        floats = any(isinstance(v, Float) or (isinstance(v, Array) and v.dtype == "float")
                     for v in (a, b))
        if x is not None and y is not None and not (floats and kind != "add"):
            if kind is not None and not floats:
                elem = op(kind, x, y)
            elif isinstance(operator, ast.Div):
                ratio = (x, y)
            elif isinstance(operator, ast.LShift):
                elem = op("mul", x, op("pow", Num(2), y))
            elif isinstance(operator, ast.RShift):
                elem = op("floordiv", x, op("pow", Num(2), y))
        both_bool = all(
            (isinstance(v, Array) and v.dtype == "bool") or (isinstance(v, Int) and v.is_bool)
            for v in (a, b)
        )
        dtype = "float" if floats or isinstance(operator, ast.Div) else (
            "bool" if both_bool and isinstance(operator, ast.BitAnd | ast.BitOr | ast.BitXor)
            else "int" if elem is not None and cause.dtype in {"int", "bool"} else None)
        shape, dims_of = self.broadcast([a, b])
        parts = None
        if kind is not None and not floats:
            parts = self.entrywise(kind, a, b)
        return Array(
            self.new_ident("binop"), shape, dtype, elem, entries=parts,
            numpy=all(v.numpy for v in (a, b) if isinstance(v, Array)),
            ratio=ratio, dims_of=dims_of, text=self.segment(node),
            trace=self.cause_trace(node, cause, a, b),
        )

    def entrywise(self: Interpreter, kind: str, a: Value, b: Value) -> tuple[Sym, ...] | None:
        """An operation on an array made of scalars in sight, entry by entry."""
        left = a.entries if isinstance(a, Array) else None
        right = b.entries if isinstance(b, Array) else None
        if left is not None and right is not None and len(left) == len(right):
            return tuple(op(kind, x, y) for x, y in zip(left, right, strict=True))
        if left is not None and isinstance(b, Int):
            return tuple(op(kind, x, b.expr) for x in left)
        if right is not None and isinstance(a, Int):
            return tuple(op(kind, a.expr, y) for y in right)
        return None

    def product_of(self: Interpreter, array: Array) -> Sym | None:
        """The product of an array's elements, where they are in sight."""
        if array.entries is not None:
            out: Sym = Num(1)
            for entry in array.entries:
                out = entry if out == Num(1) else op("mul", out, entry)
            return out
        if isinstance(array.elem, Atom) and array.elem.key[0] == "shape-elem":
            return Atom(("size", array.elem.key[1]), "the size", static=True, lo=Num(0))
        return None

    def telling(self: Interpreter, values: list[Value]) -> Array | None:
        """See the function of this name."""
        return telling(values)

    def cause_trace(self: Interpreter, node: ast.AST, cause: Value, *operands: Value) -> Any:
        """The trace of the operand that makes the result an array."""
        return cause.trace or self.trace(node, f"`{self.segment(node)}` is an array")

    def broadcast(
        self: Interpreter, values: list[Value]
    ) -> tuple[tuple[Value, ...] | None, str | None]:
        """The shape of an element-wise result: (shape, ident whose lengths it shares)."""
        arrays = [v for v in values if isinstance(v, Array)]
        if any(isinstance(v, Unknown) for v in values):
            return None, None
        big = [v for v in arrays if v.shape != ()]
        if not big:
            return (), None
        if all(v.dims_ident == big[0].dims_ident for v in big):
            return big[0].shape, big[0].dims_ident
        known = [v for v in big if v.shape is not None]
        if len(known) == len(big):
            rank = max(len(v.shape or ()) for v in known)
            dims: list[Value] = []
            for axis in range(1, rank + 1):
                sizes = [v.shape[-axis] for v in known if v.shape and len(v.shape) >= axis]
                wide = [s for s in sizes if not (isinstance(s, Int) and s.expr == Num(1))]
                exprs = {s.expr for s in wide if isinstance(s, Int)}
                if not wide:
                    dims.append(Int(Num(1)))
                elif len(exprs) == 1 and len(wide) == len([s for s in wide if isinstance(s, Int)]):
                    dims.append(wide[0])
                else:
                    dims.append(Int(self.fresh("a length", static=True)))
            return tuple(dims[::-1]), None
        return None, None

    def sequence_binary(
        self: Interpreter, operator: ast.operator, a: Value, b: Value, node: ast.AST
    ) -> Value:
        if isinstance(operator, ast.Add):
            if isinstance(a, Tuple) and isinstance(b, Tuple):
                nodes = (*a.nodes, *b.nodes) if a.nodes and b.nodes else ()
                return Tuple((*a.items, *b.items), a.kind, nodes)
            parts: list[Value] = []
            for value in (a, b):
                if isinstance(value, Tuple):
                    parts.extend(value.items)
                elif isinstance(value, Sequence):
                    parts.append(value.elem)
                else:
                    return self.unknown_of(node, a, b)
            if parts:
                return Sequence(self.join_values(parts))
        if isinstance(operator, ast.Mult):
            seq, times = (a, b) if isinstance(a, Tuple | Sequence) else (b, a)
            if isinstance(seq, Tuple) and isinstance(times, Int):
                if isinstance(times.expr, Num) and 0 <= times.expr.value <= 32:
                    return replace(seq, items=seq.items * times.expr.value,
                                   nodes=seq.nodes * times.expr.value)
                if seq.items:
                    return Sequence(self.join_values(list(seq.items)))
        return self.unknown_of(node, a, b)

    def expr_BoolOp(self: Interpreter, node: ast.BoolOp) -> Value:
        results: list[Value] = []
        conjunction = isinstance(node.op, ast.And)
        names = dict(self.scope.names)
        for index, part in enumerate(node.values):
            value = self.eval(part)
            truth = self.truth(value)
            last = index == len(node.values) - 1
            if last:
                results.append(value)
            elif truth is None:
                results.append(self.taken(value, not conjunction))
                self.narrow(part, conjunction)
            elif truth is not conjunction:
                results.append(value)
                break
        for name, value in names.items():
            self.scope.names[name] = value
        return self.join_values(results)

    def taken(self: Interpreter, value: Value, outcome: bool) -> Value:
        """The part of a value whose truth is `outcome`."""
        if isinstance(value, Union) and outcome:
            kept = [o for o in value.options if not _is_none(o)]
            if kept:
                return kept[0] if len(kept) == 1 else replace(value, options=tuple(kept))
        return value

    def expr_Compare(self: Interpreter, node: ast.Compare) -> Value:
        left = self.eval(node.left)
        values = [left, *(self.eval(c) for c in node.comparators)]
        identity = all(isinstance(o, ast.Is | ast.IsNot | ast.In | ast.NotIn) for o in node.ops)
        arrays = [v for v in values if isinstance(v, Array)]
        unknowns = [v for v in values if isinstance(v, Unknown)]
        if arrays and not identity:
            jax = next((v for v in arrays if not v.numpy), arrays[0])
            shape, dims_of = self.broadcast(values)
            return Array(
                self.new_ident("compare"), shape, "bool",
                Atom(("value", next(self.counter)), self.segment(node), False, Num(0), Num(1)),
                numpy=jax.numpy, dims_of=dims_of, text=self.segment(node), trace=jax.trace,
            )
        if len(node.ops) == 1:
            outcome = self.compare(values[0], node.ops[0], values[1])
            if outcome is not None:
                return Int(Num(int(outcome)), is_bool=True)
        if unknowns and not identity:
            return Unknown(unknowns[0].need, trace=unknowns[0].trace)
        return Int(self.fresh(self.segment(node), static=True), is_bool=True)

    def compare(self: Interpreter, a: Value, operator: ast.cmpop, b: Value) -> bool | None:
        """The outcome of a comparison where it is certain."""
        if isinstance(operator, ast.Is | ast.IsNot | ast.Eq | ast.NotEq):
            negate = isinstance(operator, ast.IsNot | ast.NotEq)
            equal: bool | None = None
            if isinstance(a, Const) and isinstance(b, Const):
                equal = a.value == b.value and type(a.value) is type(b.value)
            elif _is_none(b) and not isinstance(a, Unknown | Union):
                equal = False
            elif isinstance(a, Union) and _is_none(b) and not any(
                _is_none(o) or isinstance(o, Unknown) for o in a.options
            ):
                equal = False
            elif isinstance(a, Int) and isinstance(b, Int) and isinstance(
                a.expr, Num
            ) and isinstance(b.expr, Num):
                equal = a.expr.value == b.expr.value
            return None if equal is None else equal is not negate
        if isinstance(a, Int) and isinstance(b, Int) and isinstance(a.expr, Num) and isinstance(
            b.expr, Num
        ):
            x, y = a.expr.value, b.expr.value
            match operator:
                case ast.Lt():
                    return x < y
                case ast.LtE():
                    return x <= y
                case ast.Gt():
                    return x > y
                case ast.GtE():
                    return x >= y
                case _:
                    return None
        if isinstance(operator, ast.In | ast.NotIn) and isinstance(b, Dict) and b.complete:
            key = self.constant_key(a)
            if key is not None:
                return (key[0] in dict(b.items)) is isinstance(operator, ast.In)
        return None

    def truth(self: Interpreter, value: Value) -> bool | None:
        """The truth of a value where it is certain."""
        match value:
            case Int(expr=Num(value=number)):
                return bool(number)
            case Const():
                return bool(value.value) if value.value is not Ellipsis else True
            case Tuple():
                return bool(value.items)
            case Dict():
                return bool(value.items) if value.complete or value.items else None
            case Function() | Class() | ModuleValue() | Partial() | Transformed():
                return True
            case _:
                return None

    # --- subscripts ----------------------------------------------------------------------------

    def expr_Subscript(self: Interpreter, node: ast.Subscript) -> Value:
        base = self.eval(node.value)
        return self.subscript(base, node.slice, node)

    def subscript(self: Interpreter, base: Value, index: ast.expr, node: ast.AST) -> Value:
        """`base[index]`."""
        match base:
            case Union():
                parts = [self.subscript(o, index, node) for o in base.options if not _is_none(o)]
                return self.join_values(parts) if parts else self.unknown_of(node, base)
            case Tuple() | Sequence():
                if isinstance(index, ast.Slice):
                    return self.sliced(base, index, node)
                at = self.eval(index)
                if isinstance(at, Int) and isinstance(at.expr, Num):
                    return self.element(base, at.expr.value, None, node)
                if isinstance(base, Tuple) and base.items:
                    return self.join_values(list(base.items))
                return base.elem if isinstance(base, Sequence) else self.unknown_of(node, base)
            case Instance() if self.named_fields(base) is not None:
                fields = self.named_fields(base) or ()
                return self.subscript(Tuple(tuple(v for _, v in fields)), index, node)
            case Instance():
                getter = self.class_attribute(base.cls, "__getitem__")
                if isinstance(getter, Function):
                    return self.call_value(replace(getter, self_value=base),
                                           [self.eval(index)], {}, None)
            case Dict():
                key = self.constant_key(self.eval(index))
                found = dict(base.items).get(key[0]) if key is not None else None
                if found is not None:
                    return found
                if found is None and base.items and base.complete and key is None:
                    return self.join_values([v for _, v in base.items])
            case Array():
                return self.array_item(base, index, node)
            case Leaf():
                leaf = Array(base.ident, text=base.text, trace=base.trace, tree=True)
                return self.array_item(leaf, index, node)
            case External(name=name) if name.rsplit(".", 1)[-1] in _GENERIC:
                assert isinstance(node, ast.expr)
                return Annotation(node, self.frame.module)
            case External() | Class():
                self.eval(index)
                return base
            case _:
                self.eval(index)
        return self.unknown_of(node, base)

    def named_fields(self: Interpreter, value: Instance) -> tuple[tuple[str, Value], ...] | None:
        """The fields of a NamedTuple instance in order, or None for other classes."""
        for base in value.cls.node.bases:
            text = ast.unparse(base)
            if text.rsplit(".", 1)[-1] == "NamedTuple":
                names = [
                    s.target.id for s in value.cls.node.body
                    if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
                ]
                have = dict(value.fields)
                return tuple((n, have.get(n, Unknown(f"field `{n}`"))) for n in names)
        return None

    def element(
        self: Interpreter, value: Value, index: int, count: int | None, node: ast.AST
    ) -> Value:
        """Element `index` of a value that is unpacked into `count` parts or subscripted."""
        match value:
            case Tuple():
                if -len(value.items) <= index < len(value.items):
                    item = value.items[index]
                    if value.trace is not None and item.trace is None:
                        item = replace(item, trace=value.trace)
                    return item
            case Sequence():
                if value.array is not None:
                    axis = index
                    return self.dim(value.array, axis)
                return value.elem
            case Instance() if self.named_fields(value) is not None:
                fields = self.named_fields(value) or ()
                if -len(fields) <= index < len(fields):
                    return fields[index][1]
            case Array():
                elem = self.freshen(value.elem)
                if value.entries is not None and -len(value.entries) <= index < len(value.entries):
                    elem = value.entries[index]
                shape = value.shape[1:] if value.shape else None
                text = value.text or "the array"
                return Array(
                    f"{value.ident}[{index}]", shape, value.dtype, elem, value.numpy,
                    tree=value.tree,
                    text=f"{text}[{index}]",
                    trace=self.trace(node, f"element {index} of the array `{text}`", value),
                )
            case Union():
                parts = [self.element(o, index, count, node) for o in value.options
                         if not _is_none(o)]
                if parts:
                    return self.join_values(parts)
            case _:
                pass
        return self.unknown_of(node, value)

    def slice_of(
        self: Interpreter, value: Value, start: int, stop: int, node: ast.AST
    ) -> Value:
        """`value[start:stop]` with `stop` counted from the end (0 is the end)."""
        if isinstance(value, Tuple):
            end = len(value.items) + stop
            return Tuple(value.items[start:end], "list")
        if isinstance(value, Sequence):
            return Sequence(value.elem)
        if isinstance(value, Array):
            return self.derived(value, node, elem=self.freshen(value.elem), shape=None)
        return self.unknown_of(node, value)

    def sliced(self: Interpreter, base: Tuple | Sequence, index: ast.Slice, node: ast.AST) -> Value:
        """A slice of a tuple, list or shape."""
        parts: list[int | None] = []
        for part in (index.lower, index.upper, index.step):
            value = self.eval(part) if part is not None else None
            if value is None or _is_none(value):
                parts.append(None)
            elif isinstance(value, Int) and isinstance(value.expr, Num):
                parts.append(value.expr.value)
            else:
                elem = self.join_values(list(base.items)) if isinstance(base, Tuple) and (
                    base.items) else base.elem if isinstance(base, Sequence) else Unknown("")
                return Sequence(elem)
        cut = slice(*parts)
        if isinstance(base, Tuple):
            return replace(base, items=base.items[cut], nodes=base.nodes[cut])
        if base.array is not None and parts[2] is None:
            start, stop = parts[0] or 0, parts[1]
            if stop is not None and (start < 0) == (stop < 0) and stop >= start:
                return Tuple(tuple(self.dim(base.array, i) for i in range(start, stop)))
            if stop is None and start < 0:
                return Tuple(tuple(self.dim(base.array, i) for i in range(start, 0)))
        return Sequence(base.elem)

    def array_item(self: Interpreter, base: Array, index: ast.expr, node: ast.AST) -> Value:
        """A subscript of an array: an element, a row, or a slice."""
        text = self.segment(node)
        if base.entries is not None and not isinstance(index, ast.Slice | ast.Tuple):
            at = self.eval(index)
            if isinstance(at, Int) and isinstance(at.expr, Num):
                return self.element(base, at.expr.value, None, node)
        elem = self.freshen(base.elem)
        entries = index.elts if isinstance(index, ast.Tuple) else [index]
        dims: list[Value] | None = []
        axis = 0
        rank = len(base.shape) if base.shape is not None else None
        scalar_like = True
        for entry in entries:
            if isinstance(entry, ast.Slice):
                scalar_like = False
                if dims is not None:
                    dims.append(self.slice_length(base, axis, entry))
                axis += 1
            elif isinstance(entry, ast.Constant) and entry.value is None:
                scalar_like = False
                if dims is not None:
                    dims.append(Int(Num(1)))
            elif isinstance(entry, ast.Constant) and entry.value is Ellipsis:
                dims = None
            else:
                at = self.eval(entry)
                if isinstance(at, Int):
                    axis += 1
                elif isinstance(at, Array) and at.dtype != "bool":
                    if at.shape is not None and dims is not None and len(entries) == 1:
                        dims.extend(at.shape)
                    elif at.shape is None and dims is not None:
                        dims = None
                    axis += 1
                else:
                    dims = None
        if rank is not None and dims is not None:
            assert base.shape is not None
            dims.extend(base.shape[axis:])
        elif not (rank is None and scalar_like and not dims):
            dims = None
        shape = tuple(dims) if dims is not None and (rank is not None or dims) else None
        reason = f"`{text}` is an element of the array `{base.text or 'there'}`" if (
            scalar_like) else f"`{text}` is a part of an array"
        return Array(
            f"{base.ident}[{self.item_key(entries)}]", shape, base.dtype, elem, base.numpy,
            tree=base.tree and len(entries) == 1, text=text, trace=self.trace(node, reason, base),
        )

    def item_key(self: Interpreter, entries: list[ast.expr]) -> str:
        """A key for a subscript: equal only for the same constants, else unique."""
        if all(isinstance(e, ast.Constant) for e in entries):
            return ",".join(repr(e.value) for e in entries if isinstance(e, ast.Constant))
        return f"#{next(self.counter)}"

    def slice_length(self: Interpreter, base: Array, axis: int, entry: ast.Slice) -> Value:
        """The length of `base[..., lower:upper:step]` along `axis`."""
        full = self.dim(base, axis).expr
        lower = self.eval(entry.lower) if entry.lower is not None else None
        upper = self.eval(entry.upper) if entry.upper is not None else None
        step = self.eval(entry.step) if entry.step is not None else None
        if lower is None and upper is None and step is None:
            return self.dim(base, axis)
        if step is None and isinstance(lower, Int | None) and isinstance(upper, Int | None):
            start = lower.expr if lower is not None else Num(0)
            stop = upper.expr if upper is not None else full
            if isinstance(start, Num) and start.value >= 0:
                if isinstance(stop, Num) and stop.value < 0:
                    length = op("sub", full, Num(start.value - stop.value))
                    return Int(op("max", length, Num(0)))
                if upper is None:
                    return Int(op("max", op("sub", full, start), Num(0)))
                # A slice that runs past the end is cut off there.
                end = op("min", stop, full)
                if start == Num(0):
                    return Int(end if not isinstance(stop, Num) else op("min", full, stop))
                return Int(op("max", op("sub", end, start), Num(0)))
        return Int(self.fresh("a slice's length", static=True, lo=Num(0), hi=full))

    # --- comprehensions --------------------------------------------------------------------------

    def expr_ListComp(self: Interpreter, node: ast.ListComp) -> Value:
        return self.comprehension(node.elt, node.generators, node, "list")

    def expr_GeneratorExp(self: Interpreter, node: ast.GeneratorExp) -> Value:
        return self.comprehension(node.elt, node.generators, node, "tuple")

    def expr_SetComp(self: Interpreter, node: ast.SetComp) -> Value:
        self.comprehension(node.elt, node.generators, node, "list")
        return self.opaque(node)

    def expr_DictComp(self: Interpreter, node: ast.DictComp) -> Value:
        pair = ast.copy_location(
            ast.Tuple(elts=[node.key, node.value], ctx=ast.Load()), node)
        self.comprehension(pair, node.generators, node, "list")
        return Dict((), complete=False)

    def comprehension(
        self: Interpreter, elt: ast.expr, generators: list[ast.comprehension], node: ast.expr,
        kind: Any,
    ) -> Value:
        """A comprehension: element by element over a tuple in sight, else one for all."""
        from pallas_static_grid.analysis.interpreter import replace_frame

        outer = self.scope
        first = self.eval(generators[0].iter)
        scope = Scope(outer, node, outer.qualname)
        scope.facts = list(outer.facts)
        self.frames.append(replace_frame(self.frame, scope))
        try:
            simple = len(generators) == 1 and not generators[0].ifs
            sources = first.items if isinstance(first, Tuple) else None
            if simple and sources is not None and len(sources) <= 16:
                out: list[Value] = []
                for item in sources:
                    self.assign(generators[0].target, item, node)
                    out.append(self.eval(elt))
                return Tuple(tuple(out), kind)
            for index, generator in enumerate(generators):
                source = first if index == 0 else self.eval(generator.iter)
                self.assign(generator.target, self.iterated(source, generator.iter), node)
                for test in generator.ifs:
                    self.eval(test)
                    self.narrow(test, True)
            return Sequence(self.eval(elt), trace=None)
        finally:
            self.frames.pop()

    def iterated(self: Interpreter, value: Value, node: ast.AST) -> Value:
        """What iterating over a value gives."""
        match value:
            case Tuple():
                return self.join_values(list(value.items)) if value.items else Unknown(
                    "an element of an empty tuple")
            case Sequence():
                return value.elem
            case Array():
                return self.element(value, 0, None, node)
            case Dict():
                keys = [k for k, _ in value.items]
                if keys and value.complete:
                    return self.join_values([
                        Int(Num(k)) if isinstance(k, int) else Const(k) for k in keys])
            case Instance() if self.named_fields(value):
                return self.join_values([v for _, v in self.named_fields(value) or ()])
            case _:
                pass
        return self.unknown_of(node, value)

    # --- scalars ---------------------------------------------------------------------------------

    def scalar(self: Interpreter, value: Value) -> Sym | None:
        """The integer that a value (or each element of it) is, where it can be named."""
        match value:
            case Int():
                return value.expr
            case Array():
                if value.elem is not None:
                    return value.elem
                if value.dtype == "float" or value.ratio is not None:
                    return None
                return Atom(("elem", value.ident), value.text or "an array", static=False)
            case _:
                return None

    def freshen(self: Interpreter, elem: Sym | None) -> Sym | None:
        """Some element of an array: limits stay, identity goes."""
        if elem is None:
            return None
        if isinstance(elem, Atom):
            if elem.static:
                return elem
            return replace(elem, key=("value", next(self.counter)))
        if isinstance(elem, Op):
            # Rebuilt even if all is static: two elements of `where(c, 4, 8)` may differ.
            return Op(elem.kind, tuple(self.freshen(a) or a for a in elem.args))
        return elem

    def derived(self: Interpreter, base: Array, node: ast.AST, **changes: Any) -> Array:
        """An array computed from one array element by element."""
        out = {
            "ident": self.new_ident("derived"), "elem": None, "ratio": None,
            "dims_of": base.dims_ident, "text": self.segment(node),
            "trace": base.trace or self.trace(node, f"`{self.segment(node)}` is an array"),
        }
        out.update(changes)
        if "shape" in changes:
            out["dims_of"] = None
        return replace(base, **out)


def telling(values: list[Value]) -> Array | None:
    """The array among operands whose chain says most: one that depends on data, if any does."""
    arrays = [v for v in values if isinstance(v, Array) and not v.numpy]
    arrays = arrays or [v for v in values if isinstance(v, Array)]
    for array in arrays:
        if array.trace is not None and tables.BY_ACCIDENT not in array.trace.root:
            return array
    return arrays[0] if arrays else None


def _is_none(value: Value) -> bool:
    return isinstance(value, Const) and value.value is None


def _is_new(names: dict[str, Value], name: str, ends: list[dict[str, Value]]) -> bool:
    return name not in names


_GENERIC = frozenset(
    {"Callable", "Optional", "Union", "tuple", "Tuple", "list", "List", "Sequence", "Annotated",
     "Literal", "dict", "Dict", "Mapping", "type", "Type", "Iterable"} | tables.JAXTYPING
)
# Builtins that the modules people import with a star define too.
_SHADOWED_BY_STAR = frozenset({"abs", "max", "min", "pow", "round", "sum", "any", "all", "divmod"})
_MODULES = frozenset(tables.ALIASES.values()) | {"jax", "numpy", "math", "functools", "operator"}
_BUILTINS = frozenset(dir(__builtins__) if not isinstance(__builtins__, dict) else __builtins__)
