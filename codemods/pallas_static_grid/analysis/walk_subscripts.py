"""Subscripts of a kernel: elements, windows, views."""

from __future__ import annotations

import ast

from pallas_static_grid.analysis.symbolic import Atom, Num, op
from pallas_static_grid.analysis.walk_expressions import Expressions
from pallas_static_grid.analysis.walk_names import (
    element_of,
    index_of,
    item_of,
)
from pallas_static_grid.analysis.walk_values import (
    At,
    Constant,
    Env,
    Index,
    Items,
    Known,
    Record,
    Ref,
    Scalar,
    Thing,
    View,
    Window,
)


class Subscripts(Expressions):
    """Reading by subscript."""

    def subscript(self, node: ast.Subscript, owner: Thing, index: ast.expr, env: Env) -> Thing:
        """`owner[index]`."""
        at = self.indices(index, env)
        match owner:
            case Items(items=items):
                return item_of(items, at)
            case Record(fields=fields):
                key = self.evaluate(index, env) if isinstance(index, ast.Constant) else Thing()
                if isinstance(key, Constant) and key.value in fields:
                    return fields[str(key.value)]
                if owner.ordered:
                    return item_of(owner.ordered, at)
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
                out.extend(index_of(t) for t in thing.items)
            else:
                out.append(index_of(thing))
        return tuple(out)

    def window(self, node: ast.Slice, env: Env) -> Thing:
        """`start:stop`."""
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
