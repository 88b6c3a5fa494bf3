"""Write a grid that is given as a function as the tuple that the function returns.

Triton takes `grid=lambda meta: (...)`; no Pallas launch does. The function's parameters become the
operands of the launch's call, `meta["BLOCK"]` the block constant of that name in sight (or the
kernel's own keyword), and, where the launch is never called in sight, variables of the same name:
that last form, and a constant whose name merely resembles the key, want a review. A function that
does more than return one expression, operands that differ between calls, names that mean something
else where the launch is made: each is refused.
"""

from __future__ import annotations

import ast

from pallas_static_grid.analysis.facts import LaunchFacts
from pallas_static_grid.analysis.launches import grid_argument
from pallas_static_grid.analysis.values import Function, is_none, options
from pallas_static_grid.model import Edit, EditGroup, Refusal, Span
from pallas_static_grid.rewrite.brackets import has_comment
from pallas_static_grid.rewrite.edits import replacement
from pallas_static_grid.rewrite.names import enclosing, path_to
from pallas_static_grid.rewrite.settle import settle
from pallas_static_grid.rewrite.style import style_of
from pallas_static_grid.rewrite.syntax import comments_above, line_end, line_start, starts_line
from pallas_static_grid.rewrite.unused import drop_unused
from pallas_static_grid.transforms.base import PlanContext
from pallas_static_grid.transforms.inlining.parameters import Place, Standing, standing
from pallas_static_grid.transforms.inlining.returned import (
    NotInlinable,
    Returned,
    all_expressions,
    loop_names,
    returned,
    uses,
)
from pallas_static_grid.transforms.inlining.substitute import substituted
from pallas_static_grid.transforms.shapes.bindings import Bindings, Definition

name = "inline_grid_callable"


def plan(facts: LaunchFacts, context: PlanContext) -> EditGroup | Refusal | None:
    """The edits that replace a callable grid by its tuple, or why that cannot be done."""
    launch = facts.launch
    if launch.verdict != "dynamic" or launch.grid_kind != "callable":
        return None
    _, grid, _ = grid_argument(facts.site)
    try:
        place = _place(facts, grid)
        found = returned(place.function)
        expressions = all_expressions(found)
        stands = standing(place, expressions)
        _insist_on_meaning(place, found, stands)
        text = _text(place, found, stands)
        edits = _edits(place, stands, text)
    except NotInlinable as error:
        return _refusal(facts, error)
    style = style_of(facts.module, context.line_length)
    return EditGroup(
        name,
        "safe" if stands.certain else "review",
        f"the grid function becomes the tuple that it returns: `{_one_line(text)}`",
        settle(facts.module, (*edits, *drop_unused(facts.module, edits)), style),
    )


def _place(facts: LaunchFacts, grid: ast.expr | None) -> Place:
    """The launch's grid argument and the one function in sight that it is."""
    value, _, _ = grid_argument(facts.site)
    kinds = [o for o in options(value) if not is_none(o)] if (value is not None) else []
    if facts.launch.api == "wrapper":
        raise NotInlinable(facts.site.node, "a function in sight takes it, and may call it")
    if grid is None or len(kinds) != 1 or not isinstance(kinds[0], Function):
        raise NotInlinable(grid or facts.site.node, "it is not one function in sight")
    function = kinds[0]
    if function.module is not facts.module:
        raise NotInlinable(grid, "it is defined in another file")
    if function.self_value is not None:
        raise NotInlinable(grid, "it is a method")
    return Place(facts, Bindings(facts.module, facts.siblings), function.node, grid)


def _insist_on_meaning(place: Place, found: Returned, stands: Standing) -> None:
    """Insist that the function's own names mean the same where the launch is made."""
    arguments = {a.arg for a in ast.walk(place.function.args) if isinstance(a, ast.arg)}
    own = arguments | {local for local, _ in found.locals_}
    inline = _is_inline(place)
    for expression in all_expressions(found):
        loops = loop_names(expression)
        if loops & stands.names:
            raise NotInlinable(expression, "a loop in it hides a name that is needed")
        for node in ast.walk(expression):
            if not isinstance(node, ast.Name) or node.id in own | loops:
                continue
            there = place.bindings.binder(node, node.id)
            if there is not place.bindings.binder(place.grid, node.id):
                raise NotInlinable(node, f"`{node.id}` means something else at the launch")
            if there is None or _bound_once(place, node) or inline:
                continue
            raise NotInlinable(node, f"`{node.id}` is bound more than once")


def _bound_once(place: Place, node: ast.Name) -> bool:
    return place.bindings.stays(node, node.id)


def _is_inline(place: Place) -> bool:
    """Whether the function is written in the launch itself, and the launch is called at once."""
    calls = place.facts.site.calls
    return place.function is place.grid and all(
        call.node.func is place.facts.site.node for call in calls
    )


def _text(place: Place, found: Returned, stands: Standing) -> str:
    """The tuple, with locals and parameters replaced."""
    parts = dict(stands.parts)
    module = place.facts.module
    for local, value in found.locals_:
        text = substituted(module, value, parts)
        parts |= dict.fromkeys(uses(all_expressions(found), local), text)
    *conditional, last = found.branches
    text = _as_tuple(last.value, substituted(module, last.value, parts))
    for branch in reversed(conditional):
        assert branch.test is not None
        test = substituted(module, branch.test, parts)
        result = _as_tuple(branch.value, substituted(module, branch.value, parts))
        text = f"{result} if {test} else {text}"
    return text


def _as_tuple(node: ast.expr, text: str) -> str:
    """A bare tuple in parentheses, a single size as a tuple of one."""
    match node:
        case ast.Tuple():
            # A bare tuple begins with its first element, not with a parenthesis around all.
            try:
                whole = ast.parse(f"f{text}", mode="eval").body
            except SyntaxError:
                return f"({text})"
            is_call = isinstance(whole, ast.Call) and text.startswith("(")
            return text if is_call else f"({text})"
        case ast.BinOp() | ast.Constant():
            return f"({text},)"
        case _:
            return text


def _edits(place: Place, stands: Standing, text: str) -> list[Edit]:
    """Replace the function where it is written if only this launch uses it, else at the launch."""
    grid = place.grid
    here = _whole(place, grid, text)
    if not isinstance(grid, ast.Name):
        return [here]
    binder = place.bindings.binder(grid, grid.id)
    if binder is None or isinstance(binder, ast.Module):
        return [here]
    if len(list(place.bindings.reads(binder, grid.id))) != 1:
        return [here]
    definitions = place.bindings.definitions(binder, grid.id) or ()
    if len(definitions) == 1:
        value, statement = definitions[0].value, definitions[0].statement
        if value is place.function and _readable_there(place, stands, definitions[0]):
            return [_whole(place, value, text)]
        simple = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
        removal = _removal(place, statement) if simple else None
    elif isinstance(place.function, ast.FunctionDef):
        removal = _removal(place, place.function)
    else:
        removal = None
    return [here] if removal is None else [here, removal]


def _whole(place: Place, node: ast.expr, text: str) -> Edit:
    """Replace an expression; a comment inside must be in the new text too."""
    module = place.facts.module
    start, end = module.span(node)
    if has_comment(module.text, start, end) and not has_comment(text, 0, len(text)):
        raise NotInlinable(node, "a comment inside it would be lost")
    return replacement((start, end), text)


def _readable_there(place: Place, stands: Standing, definition: Definition) -> bool:
    """Whether all that the tuple reads is bound above the function's definition."""
    tree = place.facts.module.tree
    scope = enclosing(tree, definition.statement)[-1]
    for word in stands.names:
        if place.bindings.binder(place.grid, word) is not scope:
            continue
        bound = place.bindings.definitions(scope, word)
        if bound is not None and any(
            d.statement.lineno >= definition.statement.lineno for d in bound
        ):
            return False
    return True


def _removal(place: Place, statement: ast.stmt) -> Edit | None:
    """Remove a statement that stands on lines of its own, unless a comment goes with it."""
    module = place.facts.module
    text = module.text
    start, end = module.span(statement)
    block = getattr(path_to(module.tree, statement)[-1], "body", [])
    first, last = line_start(text, start), line_end(text, end)
    commented = has_comment(text, start, end) or comments_above(text, start) != first
    if commented or not starts_line(text, start) or text[end:last].strip() or len(block) < 2:
        return None
    stop = min(last + 1, len(text))
    while text[stop : line_end(text, stop)].strip() == "" and stop < len(text):
        stop = line_end(text, stop) + 1
    return Edit(Span(first, min(stop, len(text))), "")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _refusal(facts: LaunchFacts, error: NotInlinable) -> Refusal:
    line = getattr(error.node, "lineno", facts.launch.line)
    return Refusal(
        "callable-not-inlinable",
        f"the grid function cannot be written as a tuple: {error.reason}",
        facts.launch.path,
        line,
        "write the tuple of this launch in its place, with the block sizes of this launch",
    )
