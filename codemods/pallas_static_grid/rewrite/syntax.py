"""Small edits of calls, displays, signatures and bodies; everything not named stays as it is.

Every function returns edits in the file's own coordinates. They do not overlap one another when
they are about different places, so a transform may collect them; `layout.settle` then breaks the
lines that became too long.
"""

from __future__ import annotations

import ast
import re
from itertools import pairwise

from pallas_static_grid.analysis.modules import ModuleContext
from pallas_static_grid.model import Edit, Span
from pallas_static_grid.rewrite.brackets import (
    Brackets,
    call_brackets,
    display_brackets,
    parameter_brackets,
    string_lines,
)
from pallas_static_grid.rewrite.edits import insertion, replacement
from pallas_static_grid.rewrite.names import FunctionNode, path_to


def newline_of(text: str) -> str:
    """The line ending that the text uses."""
    return "\r\n" if "\r\n" in text else "\n"


def line_start(text: str, offset: int) -> int:
    """Offset of the first character of the line that holds `offset`."""
    return text.rfind("\n", 0, offset) + 1


def line_end(text: str, offset: int) -> int:
    """Offset of the end of the line that holds `offset`, before its line ending."""
    end = text.find("\n", offset)
    end = len(text) if end == -1 else end
    return end - 1 if text[end - 1 : end] == "\r" and end > offset else end


def indentation(text: str, offset: int) -> str:
    """The blanks at the beginning of the line that holds `offset`."""
    start = line_start(text, offset)
    match = re.compile(r"[ \t\f]*").match(text, start)
    return match.group() if match else ""


def starts_line(text: str, offset: int) -> bool:
    """Whether only blanks stand before `offset` on its line."""
    return not text[line_start(text, offset) : offset].strip()


# --- items of calls, displays and parameter lists


_PREFETCH_HEADING = re.compile(
    r"[ \t]*#[ \t]*(scalar )?prefetch(ed)?( \w+)?[.:]?[ \t]*$", re.I | re.M
)
"""A comment that heads the group of items below it, to which a new count belongs."""


def insert_item(text: str, brackets: Brackets, index: int, item: str) -> tuple[Edit, ...]:
    """Insert `item` before item `index`, or behind the last one."""
    if not brackets.items:
        return (insertion(brackets.start, item),)
    if index >= len(brackets.items):
        return _append_item(text, brackets, item)
    target = brackets.items[index]
    if not starts_line(text, target.start):
        return (insertion(target.start, f"{item}, "),)
    # Above the comments that belong to the item pushed down: behind the line of what comes before.
    before = brackets.start if index == 0 else _behind(brackets, index - 1)
    at = line_end(text, before) + len(newline_of(text))
    if at > target.start:
        return (insertion(target.start, f"{item}, "),)
    if _PREFETCH_HEADING.match(text, at, target.start):
        at = line_end(text, at) + len(newline_of(text))
    indent = indentation(text, target.start)
    return (insertion(at, f"{indent}{item},{newline_of(text)}"),)


def _behind(brackets: Brackets, index: int) -> int:
    item = brackets.items[index]
    return item.end if item.comma is None else item.comma + 1


def _append_item(text: str, brackets: Brackets, item: str) -> tuple[Edit, ...]:
    last = brackets.items[-1]
    own_line = starts_line(text, last.start)
    closing_own_line = not brackets.bare and starts_line(text, brackets.end)
    if own_line and closing_own_line:
        end = line_end(text, _behind(brackets, len(brackets.items) - 1))
        line = f"{newline_of(text)}{indentation(text, last.start)}{item}"
        if last.comma is None:
            return (insertion(last.end, ","), insertion(end, line))
        return (insertion(end, f"{line},"),)
    if last.comma is None:
        return (insertion(last.end, f", {item}"),)
    comma = "" if len(brackets.items) == 1 else ","
    return (insertion(last.comma + 1, f" {item}{comma}"),)


def insert_argument(
    module: ModuleContext, call: ast.Call, index: int, argument: str
) -> tuple[Edit, ...]:
    """Insert an argument (`x`, `*x`, `name=x`) as number `index` of the call as it is written."""
    return insert_item(module.text, call_brackets(module, call), index, argument)


def insert_element(
    module: ModuleContext, display: ast.expr, index: int, element: str
) -> tuple[Edit, ...]:
    """Insert an element in a tuple or list display (or `key: value` in a dict display)."""
    brackets = display_brackets(module, display)
    if isinstance(display, ast.Tuple) and not brackets.items:
        return (insertion(brackets.start, f"{element},"),)
    return insert_item(module.text, brackets, index, element)


def insert_parameter(
    module: ModuleContext, function: FunctionNode, index: int, name: str
) -> tuple[Edit, ...]:
    """Insert a parameter as number `index` of a def or lambda as it is written."""
    brackets = parameter_brackets(module, function)
    if isinstance(function, ast.Lambda) and not brackets.items:
        start, _ = module.span(function)
        return (insertion(start + len("lambda"), f" {name}"),)
    return insert_item(module.text, brackets, index, name)


def item_span(brackets: Brackets, index: int) -> Span:
    """Where item `index` lies, with its own parentheses."""
    return Span(brackets.items[index].start, brackets.items[index].end)


def argument_span(module: ModuleContext, call: ast.Call, index: int) -> Span:
    """Where the value of argument `index` of a call lies, in the order of the source.

    For `name=value` this is the value with its parentheses, for `*x` and `**x` the `x`.
    """
    item = call_brackets(module, call).items[index]
    prefix = re.compile(r"\*\*?\s*|[^\W\d]\w*\s*=(?!=)\s*").match(module.text, item.start, item.end)
    return Span(prefix.end() if prefix else item.start, item.end)


def keyword_span(module: ModuleContext, call: ast.Call, name: str) -> Span | None:
    """Where the value of keyword `name` lies, with its own parentheses."""
    wanted = [k for k in call.keywords if k.arg == name]
    if not wanted:
        return None
    start, _ = module.span(wanted[0].value)
    brackets = call_brackets(module, call)
    for index, item in enumerate(brackets.items):
        if item.start <= start < item.end:
            return argument_span(module, call, index)
    return None


def replace_node(module: ModuleContext, node: ast.expr, text: str) -> Edit:
    """Replace an expression; parentheses around it stay."""
    return replacement(module.span(node), text)


def remove_item(text: str, brackets: Brackets, index: int) -> tuple[Edit, ...]:
    """Remove item `index` with its comma; a line of its own goes as a whole, its comment stays."""
    item = brackets.items[index]
    end = _behind(brackets, index)
    rest = text[end : line_end(text, end)]
    if starts_line(text, item.start) and not rest.strip():
        start = line_start(text, item.start)
        return (Edit(Span(start, line_end(text, end) + len(newline_of(text))), ""),)
    if starts_line(text, item.start) and rest.lstrip().startswith("#"):
        return (Edit(Span(item.start, end + len(rest) - len(rest.lstrip())), ""),)
    if index + 1 < len(brackets.items):
        return (Edit(Span(item.start, brackets.items[index + 1].start), ""),)
    start = item.start if index == 0 else brackets.items[index - 1].end
    return (Edit(Span(start, item.end if index else end), ""),)


def rename_parameter(
    module: ModuleContext, function: FunctionNode, old: str, new: str
) -> tuple[Edit, ...]:
    """Rename a parameter where it is declared and wherever the function means it."""
    edits: list[Edit] = []
    for argument in _arguments(function):
        if argument.arg == old:
            start, _ = module.span(argument)
            edits.append(Edit(Span(start, start + len(old)), new))
    body: list[ast.AST] = (
        [function.body] if isinstance(function, ast.Lambda) else list(function.body)
    )
    for name in _uses(body, old):
        edits.append(replacement(module.span(name), new))
    return tuple(edits)


def _arguments(function: FunctionNode) -> list[ast.arg]:
    args = function.args
    starred = [a for a in (args.vararg, args.kwarg) if a is not None]
    return [*args.posonlyargs, *args.args, *args.kwonlyargs, *starred]


def _uses(nodes: list[ast.AST], name: str) -> list[ast.Name]:
    """The uses of `name` below `nodes`, without inner functions that bind it themselves."""
    found: list[ast.Name] = []
    for node in nodes:
        if isinstance(node, ast.Name) and node.id == name:
            found.append(node)
        elif isinstance(node, FunctionNode) and name in (a.arg for a in _arguments(node)):
            defaults = [*node.args.defaults, *(d for d in node.args.kw_defaults if d)]
            found += _uses([*defaults, *getattr(node, "decorator_list", [])], name)
        else:
            found += _uses(list(ast.iter_child_nodes(node)), name)
    return found


# --- statements


def statement_around(
    module: ModuleContext, node: ast.AST, *, defines: bool = False
) -> ast.stmt | None:
    """The statement before which something must stand that `node` is to read.

    `defines`: it is a definition, which does no harm where `node` is skipped.

    None where no place exists: in the condition of a `while` or an `elif` (evaluated again, or
    only sometimes), in a part of an expression that may be skipped, after a name that the same
    statement binds, inside a lambda or a comprehension with names of its own.
    """
    path = [*path_to(module.tree, node), node]
    statement: ast.stmt | None = None
    for above, below in pairwise(path):
        if _has_no_place(above, below) and not (defines and isinstance(above, _SKIPPING)):
            return None
        if isinstance(above, ast.stmt):
            statement = above
    if isinstance(node, ast.stmt):
        return node
    if isinstance(statement, ast.If) and _is_elif(module, statement):
        return None
    if statement is not None and isinstance(node, ast.expr | ast.keyword | ast.arg):
        return None if _binds_before(module, statement, module.span(node)[0]) else statement
    return statement


_SKIPPING = (ast.IfExp, ast.BoolOp, ast.Compare, ast.Assert)


def _has_no_place(above: ast.AST, below: ast.AST) -> bool:
    """Whether `below` is evaluated in a scope of its own, again and again, or only sometimes."""
    match above:
        case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return True
        case ast.While(test=first) | ast.match_case(guard=first):
            return below is first
        case ast.IfExp(test=first) | ast.BoolOp(values=[first, *_]):
            return below is not first
        case ast.Compare(comparators=[_, *later]):
            return any(below is part for part in later)
        case ast.Assert(msg=message):
            return below is message
        case ast.With(items=[_, *others]) | ast.AsyncWith(items=[_, *others]):
            return any(below is item for item in others)
        case _:
            return False


def _binds_before(module: ModuleContext, statement: ast.stmt, start: int) -> bool:
    """Whether an assignment expression of a statement is evaluated before what is at `start`."""
    return any(
        isinstance(part, ast.NamedExpr) and module.span(part)[1] <= start
        for child in ast.iter_child_nodes(statement)
        if not isinstance(child, ast.stmt)
        for part in ast.walk(child)
    )


def _is_elif(module: ModuleContext, statement: ast.If) -> bool:
    start, _ = module.span(statement)
    return module.text.startswith("elif", start)


def statement_start(module: ModuleContext, statement: ast.stmt) -> int:
    """Where a statement begins, decorators included."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    if not decorators:
        return module.span(statement)[0]
    first, _ = module.span(decorators[0])
    return module.text.rindex("@", 0, first)


def insert_before(
    module: ModuleContext, statement: ast.stmt, lines: str, unit: str = "    "
) -> tuple[Edit, ...]:
    """Insert whole statements (`lines`, unindented, no final newline) before `statement`.

    They go above the comments that stand directly over it. A statement that shares its line with
    others or with a block's header gets a line of its own.
    """
    text = module.text
    newline = newline_of(text)
    start = statement_start(module, statement)
    if starts_line(text, start):
        at, indent = comments_above(text, start), indentation(text, start)
        return (insertion(at, indented(lines, indent, newline) + newline),)
    siblings = _block_of(module, statement)
    headed = not starts_line(text, module.span(siblings[0])[0])
    indent = indentation(text, start) + (unit if headed else "")
    block = newline + indented(lines, indent, newline) + newline + indent
    edits = [Edit(Span(_gap_start(text, start), start), block)]
    if headed and statement is not siblings[0]:
        # `if x: a; b` cannot be broken before b alone.
        opening = module.span(siblings[0])[0]
        edits.insert(0, Edit(Span(_gap_start(text, opening), opening), newline + indent))
    return tuple(edits)


def _gap_start(text: str, start: int) -> int:
    """Where the `;` or the blanks after a block's colon begin, left of a statement."""
    return len(text[:start].rstrip(" \t;"))


def _block_of(module: ModuleContext, statement: ast.stmt) -> list[ast.stmt]:
    """The statements of the block that holds `statement`, as far as they share its line."""
    parent = path_to(module.tree, statement)[-1]
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parent, name, None)
        if isinstance(block, list) and statement in block:
            return [s for s in block if s.lineno == statement.lineno]
    return [statement]


def insert_after(module: ModuleContext, statement: ast.stmt, lines: str) -> tuple[Edit, ...]:
    """Insert whole statements after `statement`, behind the comment on its last line."""
    text = module.text
    newline = newline_of(text)
    _, end = module.span(statement)
    indent = indentation(text, statement_start(module, statement))
    return (insertion(line_end(text, end), newline + indented(lines, indent, newline)),)


def comments_above(text: str, start: int) -> int:
    """Start of the first of the comment lines directly above the line at `start`, same indent."""
    at = line_start(text, start)
    indent = indentation(text, start)
    while at > 0:
        above = line_start(text, at - 1)
        line = text[above:at]
        if not line.startswith(f"{indent}#"):
            break
        at = above
    return at


def indented(lines: str, indent: str, newline: str = "\n") -> str:
    """`lines` with `indent` before each line that is not blank."""
    return newline.join(indent + line if line.strip() else line for line in lines.split("\n"))


def body_start(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> int:
    """Index of the first statement of the body that is not the docstring."""
    first = function.body[0]
    is_docstring = (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )
    return int(is_docstring)


def wrap_body(
    module: ModuleContext,
    function: ast.FunctionDef | ast.AsyncFunctionDef,
    header: str,
    *,
    first: int,
    last: int | None = None,
    unit: str = "    ",
) -> tuple[Edit, ...]:
    """Put the statements `first` to `last` (exclusive) of a body under `header`, one level deeper.

    `header` is one or more lines, unindented, ending in a block's colon, for instance
    `@pl.when(cond)` and `def _live_block():`. Comments and docstrings move along; lines inside
    other strings stay.
    """
    text = module.text
    newline = newline_of(text)
    statements = function.body[first:last]
    start = statement_start(module, statements[0])
    if not starts_line(text, start):
        return _wrap_inline_body(module, function, header, statements, unit)
    indent = indentation(text, start)
    previous = module.span(function.body[first - 1])[1] if first else None
    at = _block_comments_above(text, start, previous)
    _, end = module.span(statements[-1])
    end = _block_comments_below(text, end, indent, last_of_body=statements[-1] is function.body[-1])
    edits = [insertion(at, indented(header, indent, newline) + newline)]
    blank_above = first > 0 and text[line_start(text, at - 1) : at].strip()
    if blank_above:
        edits.insert(0, insertion(at, newline))
    strings = _other_strings(module, statements, at, end)
    edits += [insertion(line, unit) for line in _code_lines(text, at, end, indent, strings)]
    if statements[-1] is not function.body[-1] and _next_line(text, end).strip():
        edits.append(insertion(line_end(text, end), newline))
    return tuple(edits)


def _next_line(text: str, offset: int) -> str:
    start = line_end(text, offset) + len(newline_of(text))
    return text[start : line_end(text, start)]


def _other_strings(
    module: ModuleContext, statements: list[ast.stmt], start: int, end: int
) -> frozenset[int]:
    """Starts of the lines inside strings that are no docstrings."""
    text = module.text
    inside = string_lines(text, start, line_end(text, end))
    defined = (
        node
        for statement in statements
        for node in ast.walk(statement)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    )
    for node in defined:
        if body_start(node):
            inside -= string_lines(text, *module.span(node.body[0]))
    return inside


def _code_lines(text: str, start: int, end: int, indent: str, strings: frozenset[int]) -> list[int]:
    """Starts of the lines in the range that move with the code."""
    lines: list[int] = []
    at = start
    while at < end:
        line = text[at : line_end(text, at)]
        shallow_comment = line.lstrip().startswith("#") and not line.startswith(indent)
        if line.strip() and at not in strings and not shallow_comment:
            lines.append(at)
        at = line_end(text, at) + len(newline_of(text))
    return lines


def _block_comments_above(text: str, start: int, previous: int | None) -> int:
    """Comments above a statement, also with blank lines between, back to what precedes it."""
    at = comments_above(text, start)
    return at if previous is None or at > previous else line_start(text, start)


def _block_comments_below(text: str, end: int, indent: str, *, last_of_body: bool) -> int:
    """The end of the comment lines behind a statement that belong to the same block."""
    if not last_of_body:
        return end
    newline = len(newline_of(text))
    reach = end
    at = line_end(text, end) + newline
    while at < len(text):
        line = text[at : line_end(text, at)]
        if line.strip():
            if not (line.startswith(f"{indent}") and line.lstrip().startswith("#")):
                break
            reach = at + len(line)
        at += len(line) + newline
    return reach


def _wrap_inline_body(
    module: ModuleContext,
    function: ast.FunctionDef | ast.AsyncFunctionDef,
    header: str,
    statements: list[ast.stmt],
    unit: str,
) -> tuple[Edit, ...]:
    """`def f(x): a; b` becomes a block of lines."""
    text = module.text
    newline = newline_of(text)
    start, _ = module.span(statements[0])
    outer = indentation(text, module.span(function)[0]) + unit
    gap = _gap_start(text, start)
    block = newline + indented(header, outer, newline) + newline + outer + unit
    return (Edit(Span(gap, start), block),)
