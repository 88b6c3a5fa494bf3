"""One statement, header or decorator laid out on its lines, as `ruff format` or Black would."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from pallas_static_grid.rewrite.binary import BinaryLike
from pallas_static_grid.rewrite.comments import Unsupported, code_of, gap, no_comment, trailing
from pallas_static_grid.rewrite.doc import NOTHING, Doc, Group, Printer, block, concat
from pallas_static_grid.rewrite.expressions import (
    Builder,
    Item,
    items_doc,
    verbatim,
)


@dataclass(frozen=True, slots=True)
class Style:
    """How a file is laid out; `step` is one level inside brackets, `unit` one of a block."""

    line_length: int = 88
    unit: str = "    "
    step: str = "    "
    quote: str = '"'


def lay_out(source: str, style: Style, indent: str = "") -> str | None:
    """The text of a simple statement, a block's header or a decorator, laid out anew.

    `source` begins with the first character of the statement and ends with the last, its
    comment included; so does the result. None where the layout is not known.
    """
    doc = document(source)
    return None if doc is None else Printer(style.line_length, indent, style.step).render(doc)


def document(source: str) -> Doc | None:
    """The statement as a document, or None where its layout is not known."""
    try:
        return _document(source)
    except (Unsupported, cst.ParserSyntaxError):
        return None


def _document(source: str) -> Doc:
    if source.startswith("@"):
        line = _simple_line(source[1:])
        (statement,) = line.body
        if not isinstance(statement, cst.Expr):
            raise Unsupported("not a decorator")
        return concat("@", _standing_alone(statement.value), _comment(line.trailing_whitespace))
    if _is_header(source):
        return _header(source)
    line = _simple_line(source)
    if len(line.body) != 1:
        raise Unsupported("several statements on a line")
    statement = line.body[0]
    return concat(_statement(statement), _comment(line.trailing_whitespace))


def _standing_alone(value: cst.BaseExpression) -> Doc:
    """An expression statement or a decorator: parentheses that are there stay."""
    if isinstance(value, BinaryLike) and not value.lpar:
        raise Unsupported("operators outside of any statement")
    return Builder().expression(value)


def _condition(test: cst.BaseExpression) -> Doc:
    if isinstance(test, cst.Lambda):
        raise Unsupported("a lambda as a condition")
    return Builder().value(test)


def _comment(whitespace: cst.TrailingWhitespace) -> Doc:
    return trailing(whitespace.comment.value if whitespace.comment else None)


def _simple_line(source: str) -> cst.SimpleStatementLine:
    module = cst.parse_module(source)
    if len(module.body) != 1 or module.header or module.footer:
        raise Unsupported("not one statement")
    line = module.body[0]
    if not isinstance(line, cst.SimpleStatementLine):
        raise Unsupported("not a simple statement")
    return line


def _statement(node: cst.BaseSmallStatement) -> Doc:
    if isinstance(node.semicolon, cst.Semicolon):
        raise Unsupported("a semicolon")
    builder = Builder()
    match node:
        case cst.Expr(value=value):
            return _standing_alone(value)
        case cst.Return(value=None):
            return concat("return")
        case cst.Return(value=value) if value is not None:
            return concat("return ", builder.value(value))
        case cst.Assign(targets=targets, value=value):
            heads = [concat(verbatim(target.target), " = ") for target in targets]
            return concat(*heads, builder.value(value))
        case cst.AugAssign(target=target, operator=operator, value=value):
            head = concat(verbatim(target), f" {code_of(operator).strip()} ")
            return concat(head, builder.value(value))
        case cst.AnnAssign(target=target, annotation=annotation, value=value) if value:
            head = concat(verbatim(target), ": ", verbatim(annotation.annotation), " = ")
            return concat(head, builder.value(value))
        case cst.Assert(test=test, msg=None):
            return concat("assert ", _condition(test))
        case cst.Assert(test=test, msg=message) if message is not None:
            return concat("assert ", _condition(test), ", ", builder.value(message))
        case cst.Raise(exc=value, cause=None) if value is not None:
            return concat("raise ", builder.value(value))
        case cst.Import() | cst.Pass() | cst.Break() | cst.Continue() | cst.Global():
            return verbatim(node)
        case _:
            return verbatim(node)


def _is_header(source: str) -> bool:
    first = source.split(None, 1)[0].rstrip(":(")
    return first in {"def", "async", "if", "elif", "while", "for", "with", "else", "class"}


def _header(source: str) -> Doc:
    """`if ...:`, `def ...:` and the like, without the block below."""
    if source.startswith("elif"):
        return concat("el", _header(source[2:]))
    module = cst.parse_module(f"{source}\n    pass\n")
    (node,) = module.body
    body = getattr(node, "body", None)
    if not isinstance(body, cst.IndentedBlock):
        raise Unsupported("a block on its header's line")
    comment = _comment(body.header)
    builder = Builder()
    match node:
        case cst.FunctionDef():
            head = _signature(node)
        case cst.If(test=test):
            head = concat("if ", _condition(test), ":")
        case cst.While(test=test):
            head = concat("while ", _condition(test), ":")
        case cst.For(target=target, iter=iterable, asynchronous=None):
            head = concat("for ", verbatim(target), " in ", builder.value(iterable), ":")
        case _:
            head = verbatim_header(source)
            comment = NOTHING
    return concat(head, comment)


def verbatim_header(source: str) -> Doc:
    """A header just as it is, if it is on one line."""
    if "\n" in source:
        raise Unsupported("a header over several lines")
    return concat(source)


def _signature(node: cst.FunctionDef) -> Doc:
    start = "async def " if node.asynchronous else "def "
    if node.type_parameters is not None:
        raise Unsupported("type parameters")
    no_comment(node.whitespace_after_name, node.whitespace_before_colon)
    end: Doc = concat(":")
    if node.returns is not None:
        end = concat(" -> ", verbatim(node.returns.annotation), ":")
    return concat(start, node.name.value, _parameters(node), end)


def _parameters(node: cst.FunctionDef) -> Doc:
    opening = gap(node.whitespace_before_params)
    items = _parameter_items(node.params)
    if not items:
        if opening.same_line or opening.own_lines:
            raise Unsupported("a comment in an empty signature")
        return concat("()")
    content = items_doc(items, opening.own_lines, parameters=True)
    if len(items) > 1:
        content = Group(content)
    return Group(concat("(", trailing(opening.same_line), block(content), ")"))


def _parameter_items(parameters: cst.Parameters) -> list[Item]:
    items = [_parameter(param) for param in parameters.posonly_params]
    if isinstance(parameters.posonly_ind, cst.ParamSlash):
        slash = parameters.posonly_ind
        items.append(_item(concat("/"), slash.comma, slash.whitespace_after))
    items += [_parameter(param) for param in parameters.params]
    star = parameters.star_arg
    if isinstance(star, cst.Param):
        items.append(_parameter(star))
    elif isinstance(star, cst.ParamStar):
        items.append(_item(concat("*"), star.comma))
    items += [_parameter(param) for param in parameters.kwonly_params]
    if parameters.star_kwarg is not None:
        items.append(_parameter(parameters.star_kwarg))
    return items


def _parameter(param: cst.Param) -> Item:
    builder = Builder(inside=True)
    doc = concat(param.star if isinstance(param.star, str) else "", param.name.value)
    if param.annotation is not None:
        doc = concat(doc, ": ", builder.expression(param.annotation.annotation))
    if param.default is not None:
        equal = " = " if param.annotation is not None else "="
        doc = concat(doc, equal, builder.expression(param.default))
    return _item(doc, param.comma, param.whitespace_after_param)


def _item(doc: Doc, comma: cst.Comma | cst.MaybeSentinel, *after: cst.CSTNode) -> Item:
    if isinstance(comma, cst.Comma):
        tail = gap(comma.whitespace_before, comma.whitespace_after, *after)
        return Item(doc, tail, comma=True)
    return Item(doc, gap(*after), comma=False)
