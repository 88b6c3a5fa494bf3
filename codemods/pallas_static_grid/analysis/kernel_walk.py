"""Walk a kernel or an index map: what does it touch, where, and on every step or only on some?

The walk follows helpers, closures, `pl.when`, loops and copies in progress. It is conservative
about `always`: whatever may be skipped (a branch, a loop that may be empty, code after an early
return, an operand of a `where`) does not count as reached on every step.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from pallas_static_grid.analysis import values
from pallas_static_grid.analysis.algebra import equal
from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.scopes import Scope
from pallas_static_grid.analysis.symbolic import Atom, Num, Op, Sym, atoms, is_static, op
from pallas_static_grid.analysis.tables import canonical
from pallas_static_grid.analysis.walk_values import (
    Access,
    At,
    Constant,
    Env,
    Func,
    FunctionNode,
    Given,
    Index,
    Items,
    Known,
    Loop,
    Method,
    Record,
    Ref,
    Scalar,
    Thing,
    Transfer,
    View,
    When,
    Window,
    fixed,
    grid_axis,
)

Prover = Callable[[Sym, Sym, tuple[Sym, ...]], bool]
MAX_DEPTH = 12
MAX_NODES = 60_000
MAX_UNROLLED = 8
_CHANGING = frozenset({"append", "extend", "insert", "pop", "remove", "clear", "update", "sort"})

_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
}


class Walk:
    """One walk; `accesses` holds what was touched, in order."""

    def __init__(
        self,
        axis_names: Sequence[str | None] = (),
        at_most: Prover | None = None,
        given: Given | None = None,
    ) -> None:
        self.axis_names = tuple(axis_names)
        self.given = given
        self.at_most = at_most
        """Whether `a <= b` is known to hold on every step, given values that are at least 1."""
        self.rounds: list[Sym] = []
        """Static numbers of rounds of the loops around, not known to be positive."""
        self.accesses: list[Access] = []
        self.calls: list[tuple[str, ast.expr, ModuleContext]] = []
        """Calls of functions out of sight, by canonical name."""
        self.always = True
        self.depth = 0
        self.nodes = 0
        self.fresh_count = 0
        self.returned: list[list[Thing]] = []

    # --- functions ---------------------------------------------------------------------------

    def call(self, func: Func, args: Sequence[Thing], kwargs: dict[str, Thing]) -> Thing:
        """Run a function's body and give what it returns."""
        if self.depth >= MAX_DEPTH or self.nodes > MAX_NODES:
            return Thing()
        names = bind(func.node, (*func.args, *args), {**func.kwargs, **kwargs})
        if names is None:
            return Thing()
        for name, default in self._defaults(func, names).items():
            names[name] = default
        env = Env(names, func.env, None, func.env.module)
        self.depth += 1
        before = self.always
        self.returned.append([])
        try:
            if isinstance(func.node, ast.Lambda):
                return self.evaluate(func.node.body, env)
            falls = self.block(func.node.body, env)
            results = self.returned[-1]
            if falls:
                results = [*results, Constant(None)]
            out = results[0]
            for other in results[1:]:
                out = merge(out, other)
            return out
        finally:
            self.returned.pop()
            self.depth -= 1
            self.always = before

    def _defaults(self, func: Func, names: dict[str, Thing]) -> dict[str, Thing]:
        args = func.node.args
        positional = [*args.posonlyargs, *args.args]
        late = positional[len(positional) - len(args.defaults) :]
        pairs = [*zip(late, args.defaults, strict=True)]
        pairs += [(a, d) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d]
        return {
            arg.arg: self.evaluate(default, func.env)
            for arg, default in pairs
            if arg.arg not in names
        }

    def fresh(self, text: str, lo: Sym | None = None) -> Scalar:
        """An integer of which nothing is known but a lower limit."""
        self.fresh_count += 1
        return Scalar(Atom(("walk", self.fresh_count), text, static=False, lo=lo))

    # --- statements --------------------------------------------------------------------------

    def block(self, statements: list[ast.stmt], env: Env) -> bool:
        """Walk statements; False if the end is certainly not reached."""
        return all(self.statement(statement, env) for statement in statements)

    def statement(self, node: ast.stmt, env: Env) -> bool:
        """Walk one statement; False if what follows is certainly not reached."""
        self.nodes += 1
        if self.nodes > MAX_NODES:
            self.always = False
            return False
        match node:
            case ast.Expr(value=value):
                self.evaluate(value, env)
            case ast.Assign(targets=targets, value=value):
                thing = self.evaluate(value, env)
                for target in targets:
                    self.assign(target, thing, env)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.assign(target, self.evaluate(value, env), env)
            case ast.AugAssign():
                self._augmented(node, env)
            case ast.Return(value=value):
                thing = Constant(None) if value is None else self.evaluate(value, env)
                self.returned[-1].append(thing)
                return False
            case ast.If():
                return self._if(node, env)
            case ast.For():
                self._for(node, env)
            case ast.While(test=test, body=body, orelse=orelse):
                self.evaluate(test, env)
                self._sometimes([*body, *orelse], env)
            case ast.With(items=items, body=body):
                for item in items:
                    thing = self.evaluate(item.context_expr, env)
                    if item.optional_vars is not None:
                        self.assign(item.optional_vars, thing, env)
                return self.block(body, env)
            case ast.Try(body=body, orelse=orelse, finalbody=final, handlers=handlers):
                falls = self.block([*body, *orelse], env)
                for handler in handlers:
                    self._sometimes(handler.body, env)
                return self.block(final, env) and falls
            case ast.FunctionDef():
                self._define(node, env)
            case ast.Raise():
                return False
            case ast.Assert(test=test):
                self.evaluate(test, env)
            case ast.Nonlocal(names=names):
                env.nonlocals.update(names)
            case ast.Match(subject=subject, cases=cases):
                self.evaluate(subject, env)
                for case in cases:
                    self._sometimes(case.body, env)
                self.always = False
            case ast.Break() | ast.Continue():
                self.always = False
            case _:
                pass
        return True

    def _if(self, node: ast.If, env: Env) -> bool:
        test = self.evaluate(node.test, env)
        truth = known_truth(test)
        if truth is not None:
            return self.block(node.body if truth else node.orelse, env)
        before, always = dict(env.names), self.always
        ends: list[dict[str, Thing]] = []
        returned = len(self.returned[-1])
        left = False
        for body in (node.body, node.orelse):
            env.names, self.always = dict(before), False
            if self.block(body, env):
                ends.append(env.names)
            else:
                left = left or len(self.returned[-1]) > returned
            returned = len(self.returned[-1])
        self.always = always and not left and not _leaves_loop([*node.body, *node.orelse])
        env.names = ends[0] if ends else before
        for other in ends[1:]:
            env.names = _merge_names(env.names, other)
        return bool(ends)

    def _sometimes(self, body: list[ast.stmt], env: Env) -> None:
        """Walk code that may run never, once or often."""
        before, always = dict(env.names), self.always
        self.always = False
        for name in stored_names(body):
            if name in env.names:
                env.names[name] = Thing()
        returned = len(self.returned[-1])
        self.block(body, env)
        env.names = _merge_names(before, env.names)
        self.always = always and len(self.returned[-1]) == returned

    def _for(self, node: ast.For, env: Env) -> None:
        iterable = self.evaluate(node.iter, env)
        plain = not any(isinstance(n, ast.Break | ast.Continue) for n in ast.walk(node))
        if isinstance(iterable, Items) and plain and len(iterable.items) <= MAX_UNROLLED:
            for item in iterable.items:
                self.assign(node.target, item, env)
                self.block(node.body, env)
            self.block(node.orelse, env)
            return
        if isinstance(iterable, Items) and iterable.items and plain:
            self.assign(node.target, iterable.items[0], env)
            self.block(node.body, env)
        elif isinstance(iterable, Loop) and plain:
            for index in self._ends(iterable):
                before = dict(env.names)
                self.assign(node.target, Scalar(index), env)
                self.block(node.body, env)
                env.names = _merge_names(before, env.names)
                self.rounds.pop()
        self.assign(node.target, self._element(iterable), env)
        self._sometimes(node.body, env)
        self.block(node.orelse, env)

    def _ends(self, loop: Loop) -> Iterator[Sym]:
        """The first and the last index of a loop with a static number of rounds.

        While an index is in use, the number is on the list of `rounds`.
        """
        low, high = loop.low, loop.high
        if low is None or high is None or not (is_static(low) and is_static(high)):
            return
        count = op("sub", high, low)
        if isinstance(count, Num) and count.value < 1:
            return
        for index in (low, op("sub", high, Num(1))):
            self.rounds.append(count)
            yield index

    def _element(self, iterable: Thing) -> Thing:
        if isinstance(iterable, Loop):
            return self.fresh("a loop index", iterable.low)
        if isinstance(iterable, Items) and all(isinstance(i, Scalar) for i in iterable.items):
            return self.fresh("a loop index")
        return Thing()

    def _define(self, node: ast.FunctionDef, env: Env) -> None:
        func = Func(node, env)
        thing: Thing = func
        for decorator in reversed(node.decorator_list):
            thing = self.apply(self.evaluate(decorator, env), (thing,), {}, decorator, env)
        env.names[node.name] = thing if isinstance(thing, Func | Constant) else func

    def _augmented(self, node: ast.AugAssign, env: Env) -> None:
        right = self.evaluate(node.value, env)
        load = _as_load(node.target)
        left = self.evaluate(load, env)
        self.assign(node.target, self.binary(node.op, left, right), env)

    def assign(self, target: ast.expr, thing: Thing, env: Env) -> None:
        """Bind a target, or write through a ref."""
        match target:
            case ast.Name(id=name):
                self._bind_name(name, thing, env)
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                for element, part in zip(elts, unpacked(thing, elts), strict=True):
                    inner = element.value if isinstance(element, ast.Starred) else element
                    self.assign(inner, part, env)
            case ast.Subscript(value=base, slice=index):
                owner = self.evaluate(base, env)
                at = self.indices(index, env)
                if isinstance(owner, Ref | View):
                    self.touch(owner, at, "write", target, env.module)
            case _:
                pass

    def _bind_name(self, name: str, thing: Thing, env: Env) -> None:
        home = env
        if name in env.nonlocals:
            while home.parent is not None and name not in home.parent.names:
                home = home.parent
            home = home.parent or env
            thing = Thing()
        home.names[name] = thing

    # --- expressions -------------------------------------------------------------------------

    def evaluate(self, node: ast.expr, env: Env) -> Thing:
        """What an expression is."""
        self.nodes += 1
        if self.nodes > MAX_NODES:
            self.always = False
            return Thing()
        match node:
            case ast.Constant(value=bool() | None | str() as value):
                return Constant(value)
            case ast.Constant(value=int(value)):
                return Scalar(Num(value))
            case ast.Constant(value=value):
                return Constant(value)
            case ast.Name(id=name):
                return self.look_up(name, env)
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                return self._display(elts, env)
            case ast.Attribute(value=base, attr=attr):
                return self.attribute(self.evaluate(base, env), attr)
            case ast.Subscript(value=base, slice=index):
                return self._subscript(node, self.evaluate(base, env), index, env)
            case ast.Call():
                return self._call(node, env)
            case ast.BinOp(left=left, op=operator, right=right):
                return self.binary(operator, self.evaluate(left, env), self.evaluate(right, env))
            case ast.UnaryOp(op=operator, operand=operand):
                return _unary(operator, self.evaluate(operand, env))
            case ast.Compare():
                return self._compare(node, env)
            case ast.BoolOp(op=operator, values=parts):
                return self._bool(operator, parts, env)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._either(test, body, orelse, env)
            case ast.Lambda():
                return Func(node, env)
            case ast.NamedExpr(target=target, value=value):
                thing = self.evaluate(value, env)
                self.assign(target, thing, env)
                return thing
            case ast.Slice():
                return self._window(node, env)
            case ast.Starred(value=value):
                return self.evaluate(value, env)
            case ast.Dict(keys=keys, values=items) if all(
                isinstance(k, ast.Constant) and isinstance(k.value, str) for k in keys
            ):
                names = [k.value for k in keys if isinstance(k, ast.Constant)]
                things = [self.evaluate(i, env) for i in items]
                return Record({str(n): t for n, t in zip(names, things, strict=True)})
            case ast.ListComp() | ast.GeneratorExp() | ast.SetComp() | ast.DictComp():
                return self._comprehension(node, env)
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self.evaluate(child, env)
                return Thing()

    def _comprehension(
        self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp, env: Env
    ) -> Thing:
        inner = Env(dict(env.names), env.parent, env.scope, env.module)
        first = self.evaluate(node.generators[0].iter, env)
        simple = len(node.generators) == 1 and not node.generators[0].ifs
        if (
            isinstance(first, Items)
            and simple
            and isinstance(node, ast.ListComp | ast.GeneratorExp)
            and len(first.items) <= MAX_UNROLLED
        ):
            out = []
            for item in first.items:
                self.assign(node.generators[0].target, item, inner)
                out.append(self.evaluate(node.elt, inner))
            return Items(tuple(out))
        always, self.always = self.always, False
        for generator in node.generators:
            self.assign(generator.target, Thing(), inner)
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        for part in parts:
            self.evaluate(part, inner)
        self.always = always
        return Thing()

    def _display(self, elts: list[ast.expr], env: Env) -> Thing:
        out: list[Thing] = []
        for element in elts:
            thing = self.evaluate(element, env)
            if not isinstance(element, ast.Starred):
                out.append(thing)
            elif isinstance(thing, Items):
                out.extend(thing.items)
            else:
                return Thing()
        return Items(tuple(out))

    def _either(self, test: ast.expr, body: ast.expr, orelse: ast.expr, env: Env) -> Thing:
        truth = known_truth(self.evaluate(test, env))
        if truth is not None:
            return self.evaluate(body if truth else orelse, env)
        always, self.always = self.always, False
        one, other = self.evaluate(body, env), self.evaluate(orelse, env)
        self.always = always
        return merge(one, other)

    def _bool(self, operator: ast.boolop, parts: list[ast.expr], env: Env) -> Thing:
        always = self.always
        stop = isinstance(operator, ast.Or)
        result: Thing = Thing()
        for part in parts:
            result = self.evaluate(part, env)
            truth = known_truth(result)
            if truth is stop:
                break
            if truth is None:
                self.always = False
        else:
            result = result if self.always == always else Thing()
        self.always = always
        return result

    def _compare(self, node: ast.Compare, env: Env) -> Thing:
        left = self.evaluate(node.left, env)
        rights = [self.evaluate(c, env) for c in node.comparators]
        if len(rights) != 1:
            return Thing()
        right = rights[0]
        match node.ops[0]:
            case ast.Is() | ast.IsNot() | ast.Eq() | ast.NotEq() if isinstance(right, Constant):
                if isinstance(left, Constant):
                    same = left.value is right.value or left.value == right.value
                elif right.value is None and _is_something(left):
                    same = False
                else:
                    return Thing()
                return Constant(same == isinstance(node.ops[0], ast.Is | ast.Eq))
            case operator if isinstance(left, Scalar) and isinstance(right, Scalar):
                return self._compared(operator, left.sym, right.sym)
            case _:
                return Thing()

    def _compared(self, operator: ast.cmpop, left: Sym, right: Sym) -> Thing:
        """A comparison, where it comes out the same on every step."""
        one = Num(1)
        match operator:
            case ast.Lt():
                below = self._known(op("add", left, one), right, right, left)
            case ast.GtE():
                below = self._known(right, left, op("add", left, one), right)
            case ast.LtE():
                below = self._known(left, right, op("add", right, one), left)
            case ast.Gt():
                below = self._known(op("add", right, one), left, left, right)
            case ast.Eq() | ast.NotEq():
                gap = op("sub", left, right)
                if not isinstance(gap, Num):
                    return Thing()
                below = (gap.value == 0) == isinstance(operator, ast.Eq)
            case _:
                below = None
        return Thing() if below is None else Constant(below)

    def _known(self, a: Sym, b: Sym, c: Sym, d: Sym) -> bool | None:
        """True if `a <= b` is known, False if `c <= d` is."""
        gaps = (op("sub", a, b), op("sub", c, d))
        for gap, answer in zip(gaps, (True, False), strict=True):
            if isinstance(gap, Num) and gap.value <= 0:
                return answer
        if self.at_most is not None and self.always and _on_the_step(a, b):
            rounds = self._unknown_rounds()
            if self.at_most(a, b, rounds):
                return True
            if self.at_most(c, d, rounds):
                return False
        return None

    def _unknown_rounds(self) -> tuple[Sym, ...]:
        return tuple(dict.fromkeys(r for r in self.rounds if not isinstance(r, Num)))

    def look_up(self, name: str, env: Env | None) -> Thing:
        """What a name is, in the running bodies and then where the function was made."""
        while env is not None:
            if name in env.names:
                return env.names[name]
            if env.parent is None:
                given = self.given
                if given is not None and (name, _owner(env.scope, name)) == (
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
                return _module_record(self, context)
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

    # --- subscripts --------------------------------------------------------------------------

    def _subscript(self, node: ast.Subscript, owner: Thing, index: ast.expr, env: Env) -> Thing:
        at = self.indices(index, env)
        match owner:
            case Items(items=items):
                return _item(items, at)
            case Record(fields=fields):
                key = self.evaluate(index, env) if isinstance(index, ast.Constant) else Thing()
                if isinstance(key, Constant) and key.value in fields:
                    return fields[str(key.value)]
                if owner.ordered:
                    return _item(owner.ordered, at)
                return Thing()
            case At(base=base):
                if isinstance(base, View):
                    self.touch(base, (), "view", node, env.module)
                    return Thing()
                return View(base, at, node, env.module)
            case Ref():
                self.touch(owner, at, "read", node, env.module)
                return self._element_read(owner, at)
            case View():
                self.touch(owner, at, "read", node, env.module)
                return Thing()
            case Known():
                return Known(f"{owner.name}[]")
            case _:
                return Thing()

    def _element_read(self, ref: Ref, at: tuple[Index, ...]) -> Thing:
        """An element of a table: the same place gives the same value, unless it is written to."""
        whole = ref.shape is not None and len(at) == len(ref.shape)
        scalar = all(i is not None and not isinstance(i, Window) for i in at)
        if not scalar or (ref.shape is not None and not whole):
            return Thing()
        if ref.role not in ("prefetch", "table"):
            return self.fresh(f"an element of {ref.name}")
        known = element_of(ref, at)
        if known is not None:
            return Scalar(known)
        key = ("read", ref.name, *at)
        return Scalar(Atom(key, f"an element of `{ref.name}`", static=False))

    def indices(self, index: ast.expr, env: Env) -> tuple[Index, ...]:
        """The positions of a subscript, up to an ellipsis or a new axis."""
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        out: list[Index] = []
        for part in parts:
            if isinstance(part, ast.Constant) and part.value is Ellipsis:
                for later in parts[len(out) + 1 :]:
                    self.evaluate(later, env)
                return tuple(out)
            thing = self.evaluate(part, env)
            if isinstance(thing, Constant) and thing.value is None:
                return tuple(out)
            if isinstance(thing, Items):
                out.extend(_index(t) for t in thing.items)
            else:
                out.append(_index(thing))
        return tuple(out)

    def _window(self, node: ast.Slice, env: Env) -> Thing:
        lower = self.evaluate(node.lower, env) if node.lower is not None else Scalar(Num(0))
        upper = self.evaluate(node.upper, env) if node.upper is not None else None
        if node.step is not None:
            self.evaluate(node.step, env)
            return Window(None, None)
        start = lower.sym if isinstance(lower, Scalar) else None
        size = None
        if start is not None and isinstance(upper, Scalar):
            size = op("sub", upper.sym, start)
        return Window(start, size, node.lower is None and node.upper is None)

    def touch(
        self,
        base: Ref | View,
        index: tuple[Index, ...],
        kind: str,
        node: ast.expr,
        module: ModuleContext,
    ) -> None:
        """Note that a ref is read, written or copied."""
        if isinstance(base, View):
            self.touch_ref(base.ref, base.index, kind, base.node, base.module)
        else:
            self.touch_ref(base, index, kind, node, module)

    def touch_ref(
        self, ref: Ref, index: tuple[Index, ...], kind: str, node: ast.expr, module: ModuleContext
    ) -> None:
        """Note an access."""
        rounds = self._unknown_rounds()
        self.accesses.append(Access(ref, index, kind, self.always, node, module, rounds))

    def use(self, thing: Thing, kind: str, node: ast.expr, module: ModuleContext) -> None:
        """Note the use of a ref or view that is handed to something that touches it."""
        if isinstance(thing, Ref | View):
            self.touch(thing, (), kind, node, module)
        elif isinstance(thing, Transfer):
            for view in thing.views:
                self.use(view, kind, node, module)

    # --- calls -------------------------------------------------------------------------------

    def _call(self, node: ast.Call, env: Env) -> Thing:
        from pallas_static_grid.analysis.walk_calls import lazily

        func = self.evaluate(node.func, env)
        if isinstance(func, Method) and isinstance(func.owner, Items | Record):
            _forget_changed(node.func, func, env)
        if isinstance(func, Known) and lazily(func.name):
            return self._choice(node, func, env)
        args, kwargs = self._arguments(node, env)
        return self.apply(func, args, kwargs, node, env)

    def _choice(self, node: ast.Call, func: Known, env: Env) -> Thing:
        """`where` and its like: what is not chosen may be out of range, it is thrown away."""
        from pallas_static_grid.analysis.walk_calls import chosen, known_call

        self.calls.append((func.name, node, env.module))
        if len(node.args) != 3 or node.keywords:
            args, kwargs = self._arguments(node, env)
            return known_call(self, func.name, args, kwargs, node, env)
        test = self.evaluate(node.args[0], env)
        taken = chosen(func.name, known_truth(test))
        parts = [test]
        for index, arg in enumerate(node.args[1:], 1):
            always = self.always
            self.always = always and taken == index
            parts.append(self.evaluate(arg, env))
            self.always = always
        return known_call(self, func.name, tuple(parts), {}, node, env)

    def _arguments(self, node: ast.Call, env: Env) -> tuple[tuple[Thing, ...], dict[str, Thing]]:
        args: list[Thing] = []
        for arg in node.args:
            thing = self.evaluate(arg, env)
            if isinstance(arg, ast.Starred):
                args.extend(thing.items if isinstance(thing, Items) else (Thing(),))
            else:
                args.append(thing)
        kwargs: dict[str, Thing] = {}
        for keyword in node.keywords:
            thing = self.evaluate(keyword.value, env)
            if keyword.arg is not None:
                kwargs[keyword.arg] = thing
            elif isinstance(thing, Record):
                kwargs.update(thing.fields)
        return tuple(args), kwargs

    def apply(
        self,
        func: Thing,
        args: tuple[Thing, ...],
        kwargs: dict[str, Thing],
        node: ast.expr,
        env: Env,
    ) -> Thing:
        """The result of a call."""
        from pallas_static_grid.analysis.walk_calls import known_call, method_call

        match func:
            case Func():
                return self.call(func, args, kwargs)
            case Known():
                self.calls.append((func.name, node, env.module))
                merged = {**func.kwargs, **kwargs}
                return known_call(self, func.name, (*func.args, *args), merged, node, env)
            case Method():
                return method_call(self, func, args, kwargs, node, env)
            case When():
                if args:
                    self.sometimes_call(args[0], (), certain=func.certain)
                return Thing()
            case Loop():
                if args:
                    self.loop_call(args[0], func.low, func.high, ())
                return Constant(None)
            case _:
                return Thing()

    def sometimes_call(self, thing: Thing, args: tuple[Thing, ...], *, certain: bool) -> Thing:
        """Call a function that may not run."""
        if not isinstance(thing, Func):
            return Thing()
        always = self.always
        self.always = always and certain
        result = self.call(thing, args, {})
        self.always = always
        if not certain:
            forget_nonlocals(thing)
        return result

    def loop_call(
        self, thing: Thing, low: Sym | None, high: Sym | None, carry: tuple[Thing, ...]
    ) -> None:
        """Call a loop body for its first, its last and any index."""
        if not isinstance(thing, Func):
            return
        blank = tuple(Thing() for _ in carry)
        given = carry
        for index in self._ends(Loop(low, high)):
            self.call(thing, (Scalar(index), *given), {})
            self.rounds.pop()
            given = blank
        always, self.always = self.always, False
        self.call(thing, (self.fresh("a loop index", low), *blank), {})
        self.always = always


# --- helpers -----------------------------------------------------------------------------------


def bind(
    node: FunctionNode, args: tuple[Thing, ...], kwargs: dict[str, Thing]
) -> dict[str, Thing] | None:
    """Parameters to arguments, or None where they do not fit."""
    names: dict[str, Thing] = {}
    positional = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
    for name, arg in zip(positional, args, strict=False):
        names[name] = arg
    extra = args[len(positional) :]
    if node.args.vararg is not None:
        names[node.args.vararg.arg] = Items(tuple(extra))
    elif extra:
        return None
    allowed = {*positional, *(a.arg for a in node.args.kwonlyargs)}
    rest: dict[str, Thing] = {}
    for name, thing in kwargs.items():
        (names if name in allowed else rest)[name] = thing
    if node.args.kwarg is not None:
        names[node.args.kwarg.arg] = Record(rest)
    elif rest:
        return None
    return names


def partial(inner: Thing, args: tuple[Thing, ...], kwargs: dict[str, Thing]) -> Thing:
    """`functools.partial(inner, *args, **kwargs)`."""
    if isinstance(inner, Func | Known):
        return replace(inner, args=(*inner.args, *args), kwargs={**inner.kwargs, **kwargs})
    return Thing()


def _is_something(thing: Thing) -> bool:
    """Whether a thing is certainly not None."""
    if isinstance(thing, Ref):
        return not thing.optional
    return isinstance(thing, Items | Record | Scalar | Func)


def _owner(scope: Scope | None, name: str) -> ast.AST | None:
    """The function in whose body a name is bound, as seen from `scope`."""
    while scope is not None:
        if name in scope.names:
            return scope.node
        scope = scope.parent
    return None


def outer_value(scope: Scope | None, name: str) -> values.Value | None:
    """What a name is bound to where a function was made; only if it has one value throughout."""
    first = True
    while scope is not None:
        skip = isinstance(scope.node, ast.ClassDef) and not first
        if not skip and name in scope.names:
            past = [v for v in scope.history.get(name, []) if v is not scope.names[name]]
            if all(_same_value(v, scope.names[name]) for v in past):
                return values.settled(scope.names[name])
            return values.Unknown(f"`{name}` has several values")
        first = False
        scope = scope.parent
    return None


def _same_value(a: values.Value, b: values.Value) -> bool:
    match a, b:
        case values.Int(expr=x), values.Int(expr=y):
            return equal(x, y)
        case values.Array(ident=x), values.Array(ident=y):
            return x == y
        case values.External(name=x), values.External(name=y):
            return x == y
        case values.Function(node=x), values.Function(node=y):
            return x is y
        case values.Const(value=x), values.Const(value=y):
            return x is y
        case values.Tuple(items=x), values.Tuple(items=y):
            return len(x) == len(y) and all(_same_value(p, q) for p, q in zip(x, y, strict=True))
        case _:
            return False


def _on_the_step(*syms: Sym) -> bool:
    """Whether a comparison is about a grid index and values that the launch knows."""
    found = frozenset[Atom]().union(*(atoms(s) for s in syms))
    about = any(grid_axis(atom) is not None for atom in found)
    return about and all(atom.key[0] not in ("walk", "read") for atom in found)


def element_of(ref: Ref, at: tuple[Index, ...]) -> Sym | None:
    """An element of an operand as the launching code knows it."""
    match ref.source, at:
        case values.Array() as array, (Num(place),):
            entries = array.entries
            if entries is not None and -len(entries) <= place < len(entries):
                return entries[place]
            return Atom(("elem", f"{array.ident}[{place}]"), f"{ref.name}[{place}]", static=False)
        case _:
            return None


def lengths(array: values.Array) -> tuple[Sym | None, ...] | None:
    """The lengths of an array's axes, where its rank is known."""
    if array.shape is None:
        return None
    return tuple(v.expr if isinstance(v, values.Int) else None for v in array.shape)


def known_truth(thing: Thing) -> bool | None:
    """Whether a condition is known to hold or to fail."""
    match thing:
        case Constant(value=value):
            return bool(value)
        case Scalar(sym=Num(value)):
            return bool(value)
        case Items(items=items):
            return bool(items)
        case Func() | Ref() | Record():
            return True if not isinstance(thing, Ref) else None
        case _:
            return None


def merge(one: Thing, other: Thing) -> Thing:
    """What is known of a thing that is one of two."""
    if one is other:
        return one
    match one, other:
        case Scalar(sym=a), Scalar(sym=b) if a is b or (a == b and not _chooses(a)):
            return one
        case Constant(value=a), Constant(value=b) if a is b:
            return one
        case Items(items=a), Items(items=b) if len(a) == len(b):
            return Items(tuple(merge(x, y) for x, y in zip(a, b, strict=True)))
        case Ref(source=a), Ref(source=b) if a is b and a is not None and one.name == other.name:
            return one
        case _:
            return Thing()


def _chooses(sym: Sym) -> bool:
    """Whether a value is one of two, so that a look-alike may differ."""
    return isinstance(sym, Op) and (sym.kind == "select" or any(_chooses(a) for a in sym.args))


def _merge_names(one: dict[str, Thing], other: dict[str, Thing]) -> dict[str, Thing]:
    out: dict[str, Thing] = {}
    for name in {**one, **other}:
        a, b = one.get(name), other.get(name)
        out[name] = merge(a, b) if a is not None and b is not None else Thing()
    return out


def unpacked(thing: Thing, elts: list[ast.expr]) -> list[Thing]:
    """The parts that several targets get."""
    star = next((i for i, e in enumerate(elts) if isinstance(e, ast.Starred)), None)
    items: tuple[Thing, ...] | None = None
    if isinstance(thing, Items):
        items = thing.items
    elif isinstance(thing, Record) and thing.ordered:
        items = thing.ordered
    if items is None:
        return [Thing() for _ in elts]
    if star is None:
        return list(items) if len(items) == len(elts) else [Thing() for _ in elts]
    tail = len(elts) - star - 1
    if len(items) < star + tail:
        return [Thing() for _ in elts]
    middle = Items(items[star : len(items) - tail])
    return [*items[:star], middle, *items[len(items) - tail :]]


def _forget_changed(node: ast.expr, method: Method, env: Env) -> None:
    """A list that is appended to is no longer the list that was displayed."""
    base = node.value if isinstance(node, ast.Attribute) else None
    if method.name in _CHANGING and isinstance(base, ast.Name):
        home: Env | None = env
        while home is not None:
            if base.id in home.names:
                home.names[base.id] = Thing()
                return
            home = home.parent


def _item(items: tuple[Thing, ...], at: tuple[Index, ...]) -> Thing:
    match at:
        case (Num(value),) if -len(items) <= value < len(items):
            return items[value]
        case (Window(start=Num(start), size=Num(size)),):
            return Items(items[start : start + size])
        case (Window(start=Num(start), size=None, full=False),) if start >= 0:
            return Items(items[start:])
        case (Window(full=True),):
            return Items(items)
        case _:
            return Thing()


def _index(thing: Thing) -> Index:
    match thing:
        case Scalar(sym=sym):
            return sym
        case Window():
            return thing
        case _:
            return None


def _unary(operator: ast.unaryop, thing: Thing) -> Thing:
    if isinstance(operator, ast.USub) and isinstance(thing, Scalar):
        return Scalar(op("neg", thing.sym))
    if isinstance(operator, ast.Not):
        truth = known_truth(thing)
        return Thing() if truth is None else Constant(not truth)
    return Thing()


def _leaves_loop(body: list[ast.stmt]) -> bool:
    return any(isinstance(n, ast.Break | ast.Continue) for s in body for n in ast.walk(s))


def stored_names(body: list[ast.stmt]) -> set[str]:
    """Names that statements bind."""
    return {
        n.id
        for s in body
        for n in ast.walk(s)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }


def forget_nonlocals(func: Func) -> None:
    """What a function that may not have run has bound outside is no longer known."""
    for node in ast.walk(func.node):
        if isinstance(node, ast.Nonlocal):
            env: Env | None = func.env
            while env is not None:
                for name in node.names:
                    if name in env.names:
                        env.names[name] = Thing()
                env = env.parent


def _module_record(walk: Walk, context: ModuleContext) -> Record:
    used: dict[str, Thing] = {}
    for name, value in context.scope.names.items() if context.scope is not None else ():
        if isinstance(value, values.Int | values.Function | values.External | values.Const):
            used[name] = walk.from_value(value, context, name)
    return Record(used)


def _as_load(node: ast.expr) -> ast.expr:
    match node:
        case ast.Name(id=name):
            return ast.copy_location(ast.Name(id=name, ctx=ast.Load()), node)
        case ast.Subscript(value=value, slice=index):
            return ast.copy_location(ast.Subscript(value=value, slice=index, ctx=ast.Load()), node)
        case ast.Attribute(value=value, attr=attr):
            return ast.copy_location(ast.Attribute(value=value, attr=attr, ctx=ast.Load()), node)
        case _:
            return node


__all__ = ["Walk", "fixed", "known_truth", "lengths", "merge", "partial"]
