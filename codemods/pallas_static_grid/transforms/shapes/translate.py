"""Expressions of static shapes in NumPy or jnp terms, translated to Python integers."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.scopes import Scope
from pallas_static_grid.analysis.symbolic import Atom, Num, Op, Sym
from pallas_static_grid.analysis.values import Array, Float, Function, Int, Sequence, Tuple, options
from pallas_static_grid.model import Edit
from pallas_static_grid.rewrite.edits import replacement
from pallas_static_grid.rewrite.imports import member
from pallas_static_grid.rewrite.names import bound_in, enclosing
from pallas_static_grid.transforms.shapes.bindings import Bindings, Definition
from pallas_static_grid.transforms.shapes.canonical import array_function, lookup
from pallas_static_grid.transforms.shapes.exact import (
    CHOICE,
    POWER,
    SIGNS,
    UNARY,
    Exact,
    Form,
    NotArithmetic,
    NotExact,
    Ratio,
    Vector,
    binary,
    called,
    looseness_of,
)
from pallas_static_grid.transforms.shapes.functions import (
    INEXACT,
    INTEGER_TYPES,
    NARROW,
    REDUCTIONS,
    SAME,
    UNSIGNED,
)

FLOAT32 = "`jnp` divides in float32, which is off from 2**24 + 1 on; the Python form is exact there"
FLOAT64 = "NumPy divides in float64, which is off from 2**53 + 1 on; the Python form is exact there"
WRAPS = "int32 products wrap from 2**31 on; Python's integers do not"


class Shared(Exception):
    """A name holds the dimension and serves other ends too, or is bound in several ways."""

    def __init__(self, node: ast.Name) -> None:
        super().__init__(node.id)
        self.node = node


@dataclass(slots=True)
class Translator:
    """Translates the expressions of one launch's grid; collects edits of definitions and notes."""

    module: ModuleContext
    scope: Scope | None
    bindings: Bindings
    positive: frozenset[str] = frozenset()
    """Expressions that are certainly positive: the block sizes of the launch."""
    edits: dict[tuple[int, int], Edit] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    imports: list[Edit] = field(default_factory=list)
    assumed: bool = False
    """Something was left as it is that is not known to be an integer."""
    _following: list[str] = field(default_factory=list)

    # --- entries

    def enter(self, node: ast.expr) -> None:
        """Begin with an entry: names mean what they mean where it stands."""
        self.scope = self._scope_of(node)
        self.assumed = False

    def fork(self) -> Translator:
        """A translator for one entry, whose edits count only if it is joined again."""
        return Translator(self.module, self.scope, self.bindings, self.positive)

    def join(self, other: Translator) -> None:
        """Take over what another translator collected."""
        self.edits.update(other.edits)
        self.notes.update(other.notes)
        self.imports.extend(other.imports)

    def _scope_of(self, node: ast.AST) -> Scope | None:
        """The scope in which `node` is evaluated, as far as it is known."""
        around = enclosing(self.module.tree, node)[-1]
        scope = self.scope
        while scope is not None:
            if scope.node is around:
                return scope
            scope = scope.parent
        return self.module.scope

    def exact(self, node: ast.expr) -> Exact:
        """The exact integer form of a scalar expression."""
        form = self.form(node)
        if isinstance(form, Exact):
            return form
        if isinstance(form, Ratio):
            raise NotExact(node, "a division whose rounding is not said")
        raise NotArithmetic

    def whole(self, node: ast.expr) -> str | None:
        """A grid given as one array or scalar, as a tuple; None where it stays as it is."""
        form = self.form(node)
        if isinstance(form, Exact):
            return f"({form.text},)" if form.changed else None
        if isinstance(form, Vector):
            return self._tuple_text(form) if _changed(form) else None
        raise NotExact(node, "a division whose rounding is not said")

    def _tuple_text(self, vector: Vector) -> str:
        if vector.entries is not None:
            comma = "," if len(vector.entries) == 1 else ""
            return f"({', '.join(entry.text for entry in vector.entries)}{comma})"
        if vector.each is None:
            return f"tuple({vector.sequence})"
        return f"tuple({vector.each.text} for {_ENTRY} in {vector.sequence})"

    # --- expressions

    def form(self, node: ast.expr) -> Form:
        """What an expression is: an integer, a division, or a vector of lengths."""
        match node:
            case ast.Constant(value=int(value)) if not isinstance(value, bool):
                return self._verbatim(node, natural=value >= 0, positive=value > 0)
            case ast.Name():
                return self._name(node)
            case ast.Attribute(attr="shape"):
                self._refuse_traced(node)
                return Vector(None, self.module.segment(node))
            case ast.Attribute():
                return self._leaf(node, natural=node.attr in ("size", "ndim"))
            case ast.Subscript():
                return self._subscript(node)
            case ast.Tuple() | ast.List():
                entries = tuple(self.exact(element) for element in node.elts)
                return Vector(entries, changed=any(entry.changed for entry in entries))
            case ast.BinOp():
                return self._operation(node)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self.exact(operand)
                return (
                    replace(
                        self._rebuilt(node, inner), text=f"-{inner.within(UNARY)}", looseness=UNARY
                    )
                    if inner.changed
                    else self._verbatim(node)
                )
            case ast.IfExp(test=test, body=body, orelse=orelse):
                first, second = self.exact(body), self.exact(orelse)
                if not (first.changed or second.changed):
                    return self._verbatim(node)
                return self._choice(self.module.segment(test), first, second)
            case ast.Call():
                return self._call(node)
            case _:
                return self._leaf(node)

    def _verbatim(self, node: ast.expr, *, natural: bool = False, positive: bool = False) -> Exact:
        text = self.module.segment(node)
        positive = positive or " ".join(text.split()) in self.positive
        return Exact(text, looseness_of(node), natural or positive, positive)

    def _rebuilt(self, node: ast.expr, *parts: Exact) -> Exact:
        natural = all(part.natural for part in parts)
        return Exact(self.module.segment(node), looseness_of(node), natural, changed=True)

    def _leaf(self, node: ast.expr, *, natural: bool = False) -> Exact:
        """Something that is not taken apart; it stays as it is written."""
        self._refuse_traced(node)
        self.assumed |= not natural
        return self._verbatim(node, natural=natural)

    def _refuse_traced(self, node: ast.expr) -> None:
        """Give up where an array's own value (not its shape) is read."""
        lengths = {
            id(inner.value)
            for inner in ast.walk(node)
            if isinstance(inner, ast.Attribute) and inner.attr in ("shape", "size", "ndim", "dtype")
        }
        for inner in ast.walk(node):
            if isinstance(inner, ast.Call) and self._measures(inner):
                lengths |= {id(argument) for argument in inner.args}
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and id(inner) not in lengths:
                value = lookup(self.scope, inner.id)
                if value is not None and any(
                    isinstance(option, Array | Float) for option in options(value)
                ):
                    raise NotArithmetic

    def _measures(self, node: ast.Call) -> bool:
        if isinstance(node.func, ast.Name) and node.func.id == "len":
            return True
        found = array_function(node.func, self.scope)
        return found is not None and found[0] in ("size", "shape", "ndim")

    def _choice(self, test: str, first: Exact, second: Exact) -> Exact:
        text = f"{first.within(CHOICE - 1)} if {test} else {second.within(CHOICE)}"
        both = first.natural and second.natural
        return Exact(text, CHOICE, both, first.positive and second.positive, changed=True)

    def _subscript(self, node: ast.Subscript) -> Form:
        index = _constant(node.slice)
        base = self.form(node.value) if _may_be_vector(node.value) else None
        if isinstance(base, Vector):
            if isinstance(node.slice, ast.Slice):
                if base.entries is None and base.each is None:
                    return Vector(None, self.module.segment(node))
                raise NotArithmetic
            if base.entries is None and base.each is None:
                text = f"{base.sequence}[{self.module.segment(node.slice)}]"
                return replace(self._verbatim(node, natural=True), text=text, changed=base.changed)
            entry = base.entry(index) if index is not None else None
            if entry is None and base.each is not None and base.entries is None:
                at = self.module.segment(node.slice)
                text = base.each.text.replace(_ENTRY, f"{base.sequence}[{at}]")
                return replace(base.each, text=text)
            if entry is None:
                raise NotArithmetic
            return replace(entry, changed=True)
        return self._leaf(node, natural=_is_shape_entry(node))

    # --- operators

    def _operation(self, node: ast.BinOp) -> Form:
        left, right = self.form(node.left), self.form(node.right)
        if isinstance(node.op, ast.Div):
            if isinstance(left, Exact) and isinstance(right, Exact):
                return Ratio(left, right, node)
            raise NotArithmetic
        if isinstance(node.op, ast.Pow):
            if isinstance(left, Exact) and isinstance(right, Exact):
                return self._power(node, left, right)
            raise NotArithmetic
        sign = SIGNS.get(type(node.op))
        if sign is None:
            return self._leaf(node)
        return self._signed(node, sign[0], left, right)

    def _signed(self, node: ast.expr, sign: str, left: Form, right: Form) -> Form:
        if isinstance(left, Exact) and isinstance(right, Exact):
            made = binary(sign, left, right)
            if left.changed or right.changed or not isinstance(node, ast.BinOp):
                return made
            return replace(made, text=self.module.segment(node), changed=False)
        if isinstance(left, Vector) and isinstance(right, Exact):
            return _broadcast(left, lambda entry: binary(sign, entry, right))
        if isinstance(left, Exact) and isinstance(right, Vector):
            return _broadcast(right, lambda entry: binary(sign, left, entry))
        raise NotArithmetic

    def _power(self, node: ast.expr, left: Exact, right: Exact) -> Exact:
        if not right.natural:
            raise NotExact(node, "a power whose exponent may be negative")
        text = f"{left.within(0)} ** {right.within(UNARY)}"
        changed = left.changed or right.changed or not isinstance(node, ast.BinOp)
        text = text if changed else self.module.segment(node)
        return Exact(text, POWER, left.natural, left.positive, changed)

    # --- calls

    def _call(self, node: ast.Call) -> Form:
        if isinstance(node.func, ast.Attribute):
            method = self._method(node, node.func)
            if method is not None:
                return method
        found = array_function(node.func, self.scope)
        if found is not None:
            return self._library(node, *found)
        if isinstance(node.func, ast.Name):
            builtin = self._builtin(node, node.func.id)
            if builtin is not None:
                return builtin
            helper = self._helper(node, node.func)
            if helper is not None:
                return helper
        return self._leaf(node)

    def _method(self, node: ast.Call, function: ast.Attribute) -> Form | None:
        name = function.attr
        if name not in ("astype", "item", *REDUCTIONS) or array_function(function, self.scope):
            return None
        if name == "astype":
            inner = self.form(function.value)
            self._check_type(node, node.args[0] if node.args else None, inner)
            return self._truncated(node, inner)
        if node.args or node.keywords:
            return None
        if name == "item":
            return replace(self.exact(function.value), changed=True)
        return self._reduced(node, name, self.form(function.value))

    def _truncated(self, node: ast.expr, inner: Form) -> Form:
        """A conversion to an integer type."""
        if isinstance(inner, Ratio):
            return self._rounded_down(node, inner, towards_zero=True)
        return _marked(inner)

    def _check_type(self, node: ast.expr, dtype: ast.expr | None, inner: Form) -> None:
        """Insist on an integer type that holds the value."""
        name = _type_name(dtype, self.scope)
        if name is None or name not in INTEGER_TYPES:
            raise NotExact(node, "a conversion to a type that is not known to be an integer")
        self._check_width(node, name, inner)

    def _check_width(self, node: ast.expr, name: str, inner: Form) -> None:
        if name in NARROW:
            raise NotExact(node, f"`{name}` is too narrow: the value may wrap")
        if name in UNSIGNED and not (isinstance(inner, Exact) and inner.natural):
            raise NotExact(node, f"`{name}` wraps negative values")

    def _library(self, node: ast.Call, name: str, numpy: bool) -> Form:
        if name in INEXACT:
            self._arguments_known(node)
            raise NotExact(node, f"`{self.module.segment(node.func)}` rounds: {INEXACT[name]}")
        if name in ("size", "ndim", "math.prod", "math.isqrt", "math.gcd"):
            return self._leaf(node, natural=True)
        if name == "shape":
            self._refuse_traced(node)
            return Vector(None, self.module.segment(node))
        arguments = self._positional(node, name)
        if name in INTEGER_TYPES:
            self._check_width(node, name, arguments[0])
            return self._truncated(node, arguments[0])
        if name in ("array", "asarray"):
            for keyword in node.keywords:
                self._check_type(node, keyword.value, arguments[0])
            if len(node.args) > 1:
                self._check_type(node, node.args[1], arguments[0])
            if isinstance(arguments[0], Ratio):
                return arguments[0]
            return _marked(arguments[0])
        if name in REDUCTIONS:
            if node.keywords:
                raise NotArithmetic
            return self._reduced(node, name, arguments[0])
        return self._arithmetic(node, name, numpy, arguments)

    def _positional(self, node: ast.Call, name: str) -> list[Form]:
        """The arguments; a dtype behind an array's value is looked at elsewhere."""
        if name in ("array", "asarray"):
            if not node.args or {k.arg for k in node.keywords} - {"dtype"}:
                raise NotArithmetic
            return [self.form(node.args[0])]
        if node.keywords and name not in REDUCTIONS:
            raise NotArithmetic
        if any(isinstance(argument, ast.Starred) for argument in node.args) or not node.args:
            raise NotArithmetic
        if name == "where":
            return [self.form(argument) for argument in node.args[1:]]
        return [self.form(argument) for argument in node.args]

    def _arguments_known(self, node: ast.Call) -> None:
        """Insist that the arguments are shapes: else the call is none of this module's business."""
        for argument in node.args:
            self.form(argument)

    def _arithmetic(self, node: ast.Call, name: str, numpy: bool, arguments: list[Form]) -> Form:
        short = SAME.get(name)
        if name in ("ceil", "math.ceil", "lax.ceil", "floor", "math.floor", "lax.floor"):
            return self._rounded(node, name.rpartition(".")[2], numpy, arguments[0])
        if name in ("trunc", "fix"):
            return self._truncated(node, arguments[0])
        if name in ("divide", "true_divide") and len(arguments) == 2:
            top, bottom = arguments
            if isinstance(top, Exact) and isinstance(bottom, Exact):
                return Ratio(top, bottom, node)
        elif short is not None and len(arguments) == 2:
            if name in ("lax.div", "lax.rem", "fmod"):
                self._insist_on_signs(node, arguments)
            if short == "*" and not self._is_host(node):
                self.notes.setdefault(WRAPS)
            return self._signed(node, short, arguments[0], arguments[1])
        else:
            made = self._function(node, name, [a for a in arguments if isinstance(a, Exact)])
            if made is not None and all(isinstance(a, Exact) for a in arguments):
                return made
        raise NotArithmetic

    def _function(self, node: ast.Call, name: str, given: list[Exact]) -> Exact | None:
        """Functions that become a builtin or an operator."""
        match name, given:
            case (("minimum" | "fmin" | "lax.min"), [a, b]):
                made = called(self._builtin_name(node, "min"), a, b)
                return replace(made, natural=a.natural and b.natural)
            case (("maximum" | "fmax" | "lax.max"), [a, b]):
                made = called(self._builtin_name(node, "max"), a, b)
                return replace(
                    made, natural=a.natural or b.natural, positive=a.positive or b.positive
                )
            case "clip", [a, low, high]:
                inner = called(self._builtin_name(node, "max"), a, low)
                made = called(self._builtin_name(node, "min"), inner, high)
                return replace(made, natural=(a.natural or low.natural) and high.natural)
            case "lax.clamp", [low, a, high]:
                return self._function(node, "clip", [a, low, high])
            case (("abs" | "absolute" | "lax.abs"), [a]):
                return replace(called(self._builtin_name(node, "abs"), a), natural=True)
            case (("negative" | "lax.neg"), [a]):
                return Exact(f"-{a.within(UNARY)}", UNARY, changed=True)
            case "square", [a]:
                return Exact(f"{a.within(0)} ** 2", POWER, True, a.positive, changed=True)
            case (("power" | "lax.pow"), [a, b]):
                return self._power(node, a, b)
            case "where", [a, b]:
                return self._choice(self._condition(node.args[0]), a, b)
            case "pl.cdiv", [a, b]:
                return self._divided_up(node, a, b)
            case _:
                return None

    def _divided_up(self, node: ast.Call, top: Exact, bottom: Exact) -> Exact:
        if not (top.changed or bottom.changed):
            return self._verbatim(node, natural=top.natural)
        text = f"{self.module.segment(node.func)}({top.text}, {bottom.text})"
        return Exact(text, natural=top.natural, positive=top.positive, changed=True)

    def _condition(self, node: ast.expr) -> str:
        """A comparison of lengths, which Python decides while tracing."""
        if not isinstance(node, ast.Compare) or len(node.ops) != 1:
            raise NotArithmetic
        for side in (node.left, *node.comparators):
            if self.exact(side).changed:
                raise NotArithmetic
        return self.module.segment(node)

    def _insist_on_signs(self, node: ast.Call, arguments: list[Form]) -> None:
        top, bottom = arguments
        natural = isinstance(top, Exact) and top.natural
        if not (natural and isinstance(bottom, Exact) and bottom.positive):
            name = self.module.segment(node.func)
            raise NotExact(
                node,
                f"`{name}` rounds towards zero, Python's division down, and nothing in sight says "
                "that the operands are not negative",
                of_signs=True,
            )

    # --- rounding and reducing

    def _rounded(self, node: ast.Call, kind: str, numpy: bool, inner: Form) -> Exact:
        if isinstance(inner, Exact):
            return replace(inner, changed=True)
        if not isinstance(inner, Ratio):
            raise NotArithmetic
        whole = self._is_host(node) and not (inner.top.changed or inner.bottom.changed)
        if numpy and whole and array_function(node.func, self.scope) == (f"math.{kind}", True):
            return self._verbatim(node, natural=inner.top.natural)
        self.notes.setdefault(FLOAT64 if numpy and self._is_host(node) else FLOAT32)
        if kind == "floor":
            return binary("//", inner.top, inner.bottom)
        cdiv = member(self.module, "jax.experimental.pallas.cdiv", node)
        self.imports.extend(cdiv.edits)
        made = called(cdiv.text, inner.top, inner.bottom)
        return replace(made, natural=inner.top.natural, positive=inner.top.positive)

    def _rounded_down(self, node: ast.expr, inner: Ratio, *, towards_zero: bool) -> Exact:
        if towards_zero and not (inner.top.natural and inner.bottom.positive):
            raise NotExact(
                node,
                "a conversion to int rounds towards zero, Python's division down, and nothing in "
                "sight says that the operands are not negative",
                of_signs=True,
            )
        self.notes.setdefault(FLOAT64 if self._is_host(node) else FLOAT32)
        return binary("//", inner.top, inner.bottom)

    def _is_host(self, node: ast.expr) -> bool:
        """Whether nothing of JAX takes part in an expression."""
        for inner in ast.walk(node):
            if isinstance(inner, ast.Attribute | ast.Name):
                found = array_function(inner, self.scope)
                if found is not None and not found[1] and not found[0].startswith("pl."):
                    return False
        return True

    def _reduced(self, node: ast.expr, name: str, inner: Form) -> Exact:
        if isinstance(inner, Exact):
            return replace(inner, changed=True)
        if not isinstance(inner, Vector):
            raise NotArithmetic
        function = REDUCTIONS[name]
        if function == "math.prod":
            needed = member(self.module, "math.prod", node)
            self.imports.extend(needed.edits)
            function = needed.text
            if not self._is_host(node):
                self.notes.setdefault(WRAPS)
        else:
            function = self._builtin_name(node, function)
        return Exact(f"{function}({_iterated(inner)})", natural=_all_natural(inner), changed=True)

    # --- Python's own functions, and functions in sight

    def _builtin_name(self, node: ast.expr, name: str) -> str:
        """A builtin, unless the file gives its name to something else."""
        if any(name in bound_in(scope) for scope in enclosing(self.module.tree, node)):
            raise NotExact(node, f"`{name}` is not Python's own here")
        return name

    def _builtin(self, node: ast.Call, name: str) -> Form | None:
        if lookup(self.scope, name) is not None or node.keywords:
            return None
        if name == "len":
            return self._leaf(node, natural=True)
        if name == "int" and len(node.args) == 1:
            if self._is_host(node):
                return self._host_int(node)
            return self._truncated(node, self.form(node.args[0]))
        if name in ("max", "min", "abs", "sum") and node.args:
            forms = [self.form(argument) for argument in node.args]
            if len(forms) == 1 and isinstance(forms[0], Vector):
                return self._reduced(node, name, forms[0])
            given = [form for form in forms if isinstance(form, Exact)]
            if len(given) != len(forms):
                raise NotArithmetic
            natural = (
                any(g.natural for g in given) if name == "max" else all(g.natural for g in given)
            )
            if not any(g.changed for g in given):
                return self._verbatim(node, natural=natural or name == "abs")
            return replace(called(name, *given), natural=natural or name == "abs")
        return None

    def _host_int(self, node: ast.Call) -> Exact:
        """`int(...)` of what NumPy or Python computes is a Python int already."""
        try:
            inner = self.form(node.args[0])
        except (NotExact, NotArithmetic, Shared):
            return self._verbatim(node)
        natural = (
            inner.top.natural
            if isinstance(inner, Ratio)
            else (isinstance(inner, Exact) and inner.natural)
        )
        return self._verbatim(node, natural=natural)

    def _helper(self, node: ast.Call, function: ast.Name) -> Exact | None:
        """A function in sight: its arguments, and what it returns, become integers."""
        value = lookup(self.scope, function.id)
        callee = next(iter(options(value))) if value is not None else None
        if not isinstance(callee, Function) or callee.module is not self.module:
            return None
        if not isinstance(callee.node, ast.FunctionDef) or node.keywords:
            return None
        given = [self.exact(a) for a in node.args if not isinstance(a, ast.Starred)]
        if len(given) != len(node.args):
            return None
        self._translate_returns(node, callee)
        if not any(argument.changed for argument in given):
            return self._verbatim(node)
        return called(self.module.segment(node.func), *given)

    def _translate_returns(self, node: ast.Call, callee: Function) -> None:
        assert isinstance(callee.node, ast.FunctionDef)
        inner = Translator(self.module, callee.scope, self.bindings, self.positive)
        edits: dict[tuple[int, int], Edit] = {}
        for statement in _returns(callee.node):
            made = inner.exact(statement)
            if made.changed:
                edits[self.module.span(statement)] = replacement(
                    self.module.span(statement), made.text
                )
        inner.edits.update(edits)
        if inner.edits and not self.bindings.helper_only_for_grids(callee.node):
            assert isinstance(node.func, ast.Name)
            raise Shared(node.func)
        self.join(inner)

    # --- names

    def _name(self, node: ast.Name) -> Form:
        value = lookup(self.scope, node.id)
        if value is None:
            return self._unseen(node)
        found = list(options(value))
        if all(isinstance(option, Int) for option in found):
            signs = [_signs(option.expr) for option in found if isinstance(option, Int)]
            return self._verbatim(
                node, natural=all(n for n, _ in signs), positive=all(p for _, p in signs)
            )
        if all(isinstance(option, Tuple | Sequence) for option in found):
            return Vector(None, node.id)
        if any(isinstance(option, Array | Float) for option in found):
            return self._followed(node)
        raise NotArithmetic

    def _unseen(self, node: ast.Name) -> Form:
        """A name of a helper's own: a parameter, or something it computes."""
        scope = self.bindings.binder(node, node.id)
        if scope is None or self.bindings.definitions(scope, node.id) is None:
            self.assumed = True
            return self._verbatim(node)
        return self._followed(node)

    def _followed(self, node: ast.Name) -> Form:
        """A name of an array: its definitions become integers, or stand in for it."""
        scope = self.bindings.binder(node, node.id)
        definitions = None if scope is None else self.bindings.definitions(scope, node.id)
        if scope is None or definitions is None or node.id in self._following:
            raise NotArithmetic
        self._following.append(node.id)
        outer = self.scope
        self.scope = self._scope_of(definitions[0].statement)
        try:
            forms = [self.form(definition.value) for definition in definitions]
        finally:
            self._following.pop()
            self.scope = outer
        if not any(_changed(form) for form in forms):
            natural = all(isinstance(form, Exact) and form.natural for form in forms)
            if all(isinstance(form, Vector) for form in forms):
                return Vector(None, node.id)
            return self._verbatim(node, natural=natural)
        if self.bindings.only_for_grids(scope, node.id):
            return self._redefined(node, definitions, forms)
        if len(forms) == 1 and self._may_stand_in(definitions[0], node):
            return _marked(forms[0])
        raise Shared(node)

    def _redefined(
        self, node: ast.Name, definitions: tuple[Definition, ...], forms: list[Form]
    ) -> Form:
        if any(isinstance(form, Ratio) for form in forms):
            if len(forms) == 1 and self._may_stand_in(definitions[0], node):
                return forms[0]
            raise Shared(node)
        for definition, form in zip(definitions, forms, strict=True):
            span = self.module.span(definition.value)
            text = form.text if isinstance(form, Exact) else self._tuple_text(form)  # type: ignore[arg-type]  # no Ratio is left
            if _changed(form):
                self.edits[span] = replacement(span, text)
        if all(isinstance(form, Vector) for form in forms):
            return Vector(None, node.id)
        natural = all(isinstance(form, Exact) and form.natural for form in forms)
        return self._verbatim(node, natural=natural)

    def _may_stand_in(self, definition: Definition, node: ast.Name) -> bool:
        """Whether the definition's expression means the same where the name is read."""
        module_level = self.bindings.binder(node, node.id) is self.module.tree
        if module_level and self._is_host(definition.value):
            # `int(NAME)` says more than a copy of the constant's value.
            return False
        names = {n.id for n in ast.walk(definition.value) if isinstance(n, ast.Name)}
        here = set(enclosing(self.module.tree, node))
        return (
            all(
                self.bindings.stays(definition.value, name)
                and self._same_binder(definition, node, name)
                for name in names
            )
            and enclosing(self.module.tree, definition.statement)[-1] in here
        )

    def _same_binder(self, definition: Definition, node: ast.Name, name: str) -> bool:
        there = self.bindings.binder(definition.statement, name)
        return there is self.bindings.binder(node, name)


_ENTRY = "size"


def _broadcast(vector: Vector, make: Callable[[Exact], Exact]) -> Vector:
    if vector.entries is not None:
        return Vector(tuple(make(entry) for entry in vector.entries), changed=True)
    each = vector.each if vector.each is not None else Exact(_ENTRY, natural=True)
    return Vector(None, vector.sequence, make(each), changed=True)


def _iterated(vector: Vector) -> str:
    if vector.entries is not None:
        comma = "," if len(vector.entries) == 1 else ""
        return f"({', '.join(entry.text for entry in vector.entries)}{comma})"
    if vector.each is None:
        return vector.sequence
    return f"{vector.each.text} for {_ENTRY} in {vector.sequence}"


def _all_natural(vector: Vector) -> bool:
    if vector.entries is not None:
        return all(entry.natural for entry in vector.entries)
    return vector.each is None or vector.each.natural


def _changed(form: Form) -> bool:
    return True if isinstance(form, Ratio) else form.changed


def _marked(form: Form) -> Form:
    return form if isinstance(form, Ratio) else replace(form, changed=True)


def _constant(node: ast.expr) -> int | None:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _may_be_vector(node: ast.expr) -> bool:
    """Whether subscripting the expression may take an entry of a vector that is translated."""
    return isinstance(node, ast.Call | ast.BinOp | ast.Name | ast.Tuple | ast.List) or (
        isinstance(node, ast.Attribute) and node.attr == "shape"
    )


def _is_shape_entry(node: ast.Subscript) -> bool:
    return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"


def _type_name(node: ast.expr | None, scope: Scope | None) -> str | None:
    match node:
        case ast.Constant(value=str(name)):
            return name
        case ast.Name(id="int"):
            return "int"
        case None:
            return None
        case _:
            found = array_function(node, scope)
            return found[0] if found is not None else None


def _signs(sym: Sym) -> tuple[bool, bool]:
    """Whether a symbolic integer is certainly not negative, and certainly positive."""
    match sym:
        case Num(value=value):
            return value >= 0, value > 0
        case Atom(lo=Num(value=low)):
            return low >= 0, low > 0
        case Op(kind="add" | "mul" as kind, args=args):
            signs = [_signs(arg) for arg in args]
            natural = all(n for n, _ in signs)
            positives = [p for _, p in signs]
            return natural, natural and (any(positives) if kind == "add" else all(positives))
        case Op(kind="floordiv" | "cdiv" as kind, args=(top, bottom)):
            over, under = _signs(top), _signs(bottom)
            return over[0] and under[1], kind == "cdiv" and over[1] and under[1]
        case Op(kind="max", args=args):
            signs = [_signs(arg) for arg in args]
            return any(n for n, _ in signs), any(p for _, p in signs)
        case Op(kind="min" | "select", args=args):
            signs = [_signs(arg) for arg in args]
            return all(n for n, _ in signs), all(p for _, p in signs)
        case _:
            return False, False


def _returns(function: ast.FunctionDef) -> list[ast.expr]:
    """What a function returns, its inner functions aside."""
    found: list[ast.expr] = []
    stack: list[ast.AST] = list(function.body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Return) and node.value is not None:
            found.append(node.value)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            stack.extend(ast.iter_child_nodes(node))
    return found
