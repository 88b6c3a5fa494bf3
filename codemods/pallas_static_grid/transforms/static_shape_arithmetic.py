"""Compute grid dimensions that depend on shapes alone with Python's own integers.

`jnp.ceil(n / block).astype(int)`, `lax.div(n, block)`, `np.prod(shape)`, `np.int64(4)`: each is
an array or a NumPy scalar, which makes the grid dynamic, although nothing but shapes and constants
goes in. They become `pl.cdiv`, `//`, `math.prod`, `min`, `max` and plain ints, with the same value
for every valid call. Where the dimension has a name that only grids read, its definition is
changed, in each branch that has one; else the grid's entry. What no integer expression gives
exactly (`log2`, `sqrt`, a division that truncates operands of unknown sign) is refused.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pallas_static_grid.analysis.algebra import poly
from pallas_static_grid.analysis.facts import LaunchFacts
from pallas_static_grid.analysis.intervals import Facts
from pallas_static_grid.analysis.launches import grid_argument
from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.analysis.rendering import Names
from pallas_static_grid.analysis.symbolic import is_static
from pallas_static_grid.analysis.values import (
    Arg,
    Array,
    BlockSpec,
    Const,
    Float,
    Tuple,
    Value,
    options,
)
from pallas_static_grid.model import Edit, EditGroup, Refusal
from pallas_static_grid.rewrite.brackets import has_comment
from pallas_static_grid.rewrite.edits import replacement
from pallas_static_grid.rewrite.settle import settle
from pallas_static_grid.rewrite.style import style_of
from pallas_static_grid.rewrite.unused import drop_unused
from pallas_static_grid.transforms.base import PlanContext
from pallas_static_grid.transforms.shapes.bindings import Bindings
from pallas_static_grid.transforms.shapes.exact import NotArithmetic, NotExact
from pallas_static_grid.transforms.shapes.state import Shared
from pallas_static_grid.transforms.shapes.translate import Translator

name = "static_shape_arithmetic"


def plan(facts: LaunchFacts, context: PlanContext) -> EditGroup | Refusal | None:
    """The edits that make the dimensions which are shape arithmetic Python ints."""
    launch = facts.launch
    if launch.verdict != "dynamic" or launch.grid_kind not in ("tuple", "opaque"):
        return None
    translator = _translator(facts)
    problem: NotExact | Shared | None = None
    for node, value in _entries(facts):
        try:
            _entry(facts, translator, node, value)
        except NotArithmetic:
            continue
        except (NotExact, Shared) as error:
            problem = problem or error
    if problem is not None:
        return _refusal(facts, problem)
    changes = list(translator.edits.values())
    commented = [edit for edit in changes if _has_comment(facts, edit)]
    if commented:
        return _comment_inside(facts, commented[0])
    if not changes:
        return None
    style = style_of(facts.module, context.line_length)
    edits = (*changes, *translator.imports)
    edits = settle(facts.module, (*edits, *drop_unused(facts.module, edits)), style)
    return EditGroup(name, "safe", _summary(facts, changes), edits, tuple(translator.notes))


def refusal_of_shapes(facts: LaunchFacts, context: PlanContext) -> Refusal | None:
    """Why arithmetic on shapes stays dynamic where no mask should hide it."""
    found = plan(facts, context)
    if isinstance(found, Refusal) and found.code != "grid-name-shared":
        return found
    return None


def _summary(facts: LaunchFacts, changes: list[Edit]) -> str:
    """What becomes what, in the order of the source."""
    ordered = sorted(changes, key=lambda edit: edit.span)
    parts = [
        f"`{_one_line(edit.span.of(facts.module.text))}` becomes `{_one_line(edit.text)}`"
        for edit in ordered
    ]
    return "; ".join(dict.fromkeys(parts))


def _translator(facts: LaunchFacts) -> Translator:
    bindings = Bindings(facts.module, facts.siblings)
    return Translator(facts.module, facts.site.scope, bindings, _block_sizes(facts))


def _entries(facts: LaunchFacts) -> Iterator[tuple[ast.expr, Value | None]]:
    """The expressions of the dynamic entries, each with its value; a grid as a whole has none."""
    value, node, _ = grid_argument(facts.site)
    if value is None:
        return
    for option in options(value):
        match option:
            case Tuple(items=items, nodes=nodes) if nodes:
                for item, entry in zip(items, nodes, strict=False):
                    if entry is not None and entry in _nodes(facts.module):
                        yield from _named(entry, item)
            case Const():
                continue
            case _ if node is not None and not isinstance(node, ast.Tuple | ast.List):
                yield node, None


def _nodes(module: ModuleContext) -> set[ast.AST]:
    if module.node_set is None:
        module.node_set = set(ast.walk(module.tree))
    return module.node_set


def _named(node: ast.expr, value: Value) -> Iterator[tuple[ast.expr, Value]]:
    """An entry, or the size in a named one (`("rows", n)`)."""
    if isinstance(node, ast.Tuple) and isinstance(value, Tuple) and len(value.items) == 2:
        node, value = node.elts[1], value.items[1]
    if any(isinstance(option, Array | Float) for option in options(value)):
        yield node, value


def _entry(facts: LaunchFacts, translator: Translator, node: ast.expr, value: Value | None) -> None:
    """Translate one entry; the translator keeps the edits."""
    translator.enter(node)
    text = translator.whole(node) if value is None else _scalar(facts, translator, node, value)
    if text is not None:
        span = facts.module.span(node)
        if text.startswith("(") and _is_in_parentheses(facts.module.text, span) and value is None:
            text = text[1:-1]
        translator.edits[span] = replacement(span, text)


def _is_in_parentheses(text: str, span: tuple[int, int]) -> bool:
    """Whether an argument or assigned value stands in parentheses of its own."""
    before, after = text[: span[0]].rstrip(), text[span[1] :].lstrip()
    return before.endswith("(") and before[:-1].rstrip().endswith("=") and after.startswith(")")


def _scalar(facts: LaunchFacts, translator: Translator, node: ast.expr, value: Value) -> str | None:
    """The new text of an entry, or None where the edits of definitions are enough."""
    arrays = [option for option in options(value) if isinstance(option, Array | Float)]
    if all(isinstance(array, Float) for array in arrays):
        # Whether to round up or down is not said.
        raise NotArithmetic
    trial = translator.fork()
    try:
        exact = trial.exact(node)
        if trial.assumed and not all(map(_known_static, arrays)):
            raise NotArithmetic
    except (NotArithmetic, NotExact, Shared) as error:
        other = _another_way(facts, node, value, arrays, error)
        if other is None:
            raise
        return other
    translator.join(trial)
    return exact.text if exact.changed else None


def _another_way(
    facts: LaunchFacts,
    node: ast.expr,
    value: Value,
    arrays: list[Array | Float],
    error: NotArithmetic | NotExact | Shared,
) -> str | None:
    """An entry whose expression is not translated: its known value, or `int` of a NumPy scalar."""
    if isinstance(error, NotExact) and not error.of_signs:
        return None
    if all(isinstance(a, Array) and a.numpy and _is_integer(a) for a in arrays):
        return f"int({facts.module.segment(node)})"
    if isinstance(value, Array) and value.elem is not None and is_static(value.elem):
        known = Facts.of(facts.site.scope.facts)
        words = frozenset(re.findall(r"\w+", facts.module.text))
        return Names.at(facts.site.scope, known).render(poly(value.elem, known), words)
    return None


def _known_static(value: Value) -> bool:
    return isinstance(value, Array) and value.elem is not None and is_static(value.elem)


def _is_integer(array: Array) -> bool:
    """Whether a NumPy value is one integer."""
    dtype = array.dtype or ""
    return array.shape in ((), None) and (dtype.startswith(("int", "uint")) or _known_static(array))


def _block_sizes(facts: LaunchFacts) -> frozenset[str]:
    """The expressions of the launch's block shapes: they are positive."""
    found: set[str] = set()
    for argument in ("in_specs", "out_specs"):
        arg = facts.site.spec_arg(argument)
        for spec in _specs(arg):
            shape = spec.block_shape
            if shape is None or spec.module is not facts.module:
                continue
            if isinstance(shape.node, ast.Tuple | ast.List):
                found |= {_one_line(facts.module.segment(entry)) for entry in shape.node.elts}
    return frozenset(found)


def _specs(arg: Arg | None) -> Iterator[BlockSpec]:
    values = list(options(arg.value)) if arg is not None else []
    while values:
        value = values.pop()
        if isinstance(value, BlockSpec):
            yield value
        elif isinstance(value, Tuple):
            values.extend(option for item in value.items for option in options(item))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _has_comment(facts: LaunchFacts, edit: Edit) -> bool:
    return has_comment(facts.module.text, edit.span.start, edit.span.end)


def _comment_inside(facts: LaunchFacts, edit: Edit) -> Refusal:
    return Refusal(
        "comment-in-expression",
        "a comment stands inside the expression that would be replaced, and would be lost",
        facts.launch.path,
        facts.module.text.count("\n", 0, edit.span.start) + 1,
        "move the comment above the statement, and run the tool again",
    )


def _refusal(facts: LaunchFacts, problem: NotExact | Shared) -> Refusal:
    launch = facts.launch
    if isinstance(problem, Shared):
        word = facts.module.segment(problem.node)
        return Refusal(
            "grid-name-shared",
            f"`{word}` is shape arithmetic, but other code than grids uses it too, or it is bound "
            "in several ways",
            launch.path,
            problem.node.lineno,
            f"compute the grid from shapes under a name of its own, and leave `{word}` to the rest",
        )
    return Refusal(
        "inexact-arithmetic",
        f"`{_one_line(facts.module.segment(problem.node))}`: {problem.reason}",
        launch.path,
        problem.node.lineno,
        "compute the dimension with Python integers (`//`, `pl.cdiv`, `int.bit_length`, "
        "`math.isqrt`), with the rounding that is meant",
    )
