"""Literals, names, displays, lambdas and comprehensions."""

from __future__ import annotations

import ast
from typing import Any

from pallas_static_grid.analysis.interpret.attributes import Attributes
from pallas_static_grid.analysis.interpret.joins import join, join_names
from pallas_static_grid.analysis.interpret.machine import replace_frame
from pallas_static_grid.analysis.scopes import Scope
from pallas_static_grid.analysis.symbolic import Num
from pallas_static_grid.analysis.values import (
    Const,
    Dict,
    External,
    Float,
    Function,
    Int,
    Sequence,
    Tuple,
    Unknown,
    Value,
)


class Displays(Attributes):
    """Literals, names, displays, lambdas and comprehensions."""

    def _expr_Constant(self, node: ast.Constant) -> Value:
        value = node.value
        if isinstance(value, bool):
            return Int(Num(int(value)), is_bool=True)
        if isinstance(value, int):
            return Int(Num(value))
        if isinstance(value, float):
            return Float(trace=self.trace(node, "this is a float"))
        return Const(value, trace=self.trace(node, "this is a literal"))

    def _expr_Name(self, node: ast.Name) -> Value:
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

    def _expr_NamedExpr(self, node: ast.NamedExpr) -> Value:
        value = self.eval(node.value)
        self.assign(node.target, value, node)
        return value

    def _expr_Tuple(self, node: ast.Tuple) -> Value:
        return self.display(node.elts, "tuple", node)

    def _expr_List(self, node: ast.List) -> Value:
        return self.display(node.elts, "list", node)

    def _expr_Set(self, node: ast.Set) -> Value:
        for elt in node.elts:
            self.eval(elt)
        return self.opaque(node)

    def display(self, elts: list[ast.expr], kind: Any, node: ast.expr) -> Value:
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
        cells = self.new_cells() if kind == "list" else frozenset()
        return Tuple(tuple(items), kind, tuple(nodes), cells=cells)

    def _expr_Dict(self, node: ast.Dict) -> Value:
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
        return Dict(tuple(items.items()), complete, node, cells=self.new_cells())

    def _expr_JoinedStr(self, node: ast.JoinedStr) -> Value:
        return Unknown("a string", trace=self.trace(node, "this is a string"))

    def _expr_Lambda(self, node: ast.Lambda) -> Value:
        prefix = "" if self.scope.qualname == "<module>" else self.scope.qualname + "."
        function = Function(
            node, self.frame.module, self.scope, prefix + "<lambda>", moment=self.moment()
        )
        self.remember_closure(function)
        return function

    def _expr_Starred(self, node: ast.Starred) -> Value:
        return self.eval(node.value)

    def _expr_Await(self, node: ast.Await) -> Value:
        self.eval(node.value)
        return self.opaque(node)

    def _expr_Yield(self, node: ast.Yield) -> Value:
        value = self.eval(node.value) if node.value is not None else Const(None)
        self.frame.yielded.append(value)
        return self.opaque(node)

    def _expr_YieldFrom(self, node: ast.YieldFrom) -> Value:
        value = self.eval(node.value)
        self.frame.yielded.append(self.iterated(value, node.value))
        return self.opaque(node)

    def _expr_IfExp(self, node: ast.IfExp) -> Value:
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
        self.scope.names = {
            k: names.get(k, v) if not _is_new(names, k, ends) else v for k, v in merged.items()
        }
        return self.join_values(results)

    def _expr_ListComp(self, node: ast.ListComp) -> Value:
        return self.comprehension(node.elt, node.generators, node, "list")

    def _expr_GeneratorExp(self, node: ast.GeneratorExp) -> Value:
        return self.comprehension(node.elt, node.generators, node, "tuple")

    def _expr_SetComp(self, node: ast.SetComp) -> Value:
        self.comprehension(node.elt, node.generators, node, "list")
        return self.opaque(node)

    def _expr_DictComp(self, node: ast.DictComp) -> Value:
        pair = ast.copy_location(ast.Tuple(elts=[node.key, node.value], ctx=ast.Load()), node)
        pairs = self.comprehension(pair, node.generators, node, "list")
        rest = self.element(self.iterated(pairs, node), 1, 2, node)
        return Dict((), complete=False, rest=rest)

    def comprehension(
        self,
        elt: ast.expr,
        generators: list[ast.comprehension],
        node: ast.expr,
        kind: Any,
    ) -> Value:
        """A comprehension: element by element over a tuple in sight, else one for all."""
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


# Builtins that the modules people import with a star define too.
_SHADOWED_BY_STAR = frozenset({"abs", "max", "min", "pow", "round", "sum", "any", "all", "divmod"})


_BUILTINS = frozenset(dir(__builtins__) if not isinstance(__builtins__, dict) else __builtins__)


def _is_new(names: dict[str, Value], name: str, ends: list[dict[str, Value]]) -> bool:
    return name not in names
