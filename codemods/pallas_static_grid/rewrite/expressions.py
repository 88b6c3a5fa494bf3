"""Expressions as documents, laid out the way `ruff format` and Black do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

import libcst as cst

from pallas_static_grid.rewrite.binary import Operand, flatten, lowest, simple_power
from pallas_static_grid.rewrite.comments import (
    Gap,
    Unsupported,
    above,
    below,
    code_of,
    gap,
    no_comment,
    trailing,
)
from pallas_static_grid.rewrite.doc import (
    NOTHING,
    SOFT,
    SPACE,
    BestParenthesized,
    Doc,
    Expand,
    FitsExpanded,
    Group,
    HugOrParentheses,
    IfBroken,
    Indent,
    block,
    concat,
    join,
)
from pallas_static_grid.rewrite.parentheses import DISPLAYS, Need, can_omit, need

_NO_GAP = Gap(None, ())


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a bracket with the blanks behind it (its comma's included)."""

    doc: Doc
    tail: Gap
    comma: bool


@dataclass(slots=True)
class Builder:
    """Builds the document of an expression.

    `inside` says whether brackets stand around; else `optional` is the group of the optional
    parentheses around the expression, if there are any.
    """

    inside: bool = False
    optional: int | None = None
    _ids: count[int] = field(default_factory=count)

    def _within(self) -> Builder:
        return replace(self, inside=True)

    # --- at the level of a statement

    def value(self, node: cst.BaseExpression) -> Doc:
        """The value of a statement, in parentheses where they help; redundant ones go."""
        node = without_parentheses(node)
        kind = need(node)
        if kind is Need.NEVER:
            return self.expression(node)
        if kind is Need.BEST:
            ident = next(self._ids)
            return BestParenthesized(replace(self, optional=ident).expression(node), ident)
        return self._optional(node)

    def _optional(self, node: cst.BaseExpression) -> Doc:
        """An expression that gets parentheses if it neither fits nor may break at its brackets."""
        left, right = IfBroken(concat("("), NOTHING), IfBroken(concat(")"), NOTHING)
        if not can_omit(node):
            return Group(concat(left, block(self._within().expression(node)), right))
        ident = next(self._ids)
        content = replace(self, inside=False, optional=ident).expression(node)
        return Group(concat(left, Indent(concat(SOFT, content), ident), SOFT, right), ident)

    # --- expressions

    def expression(self, node: cst.BaseExpression) -> Doc:
        """The document of an expression with the parentheses that it has."""
        if isinstance(node, cst.Tuple):
            return self._tuple(node)
        if not node.lpar:
            return self._bare(node)
        if len(node.lpar) > 1:
            raise Unsupported("doubled parentheses")
        opening = gap(node.lpar[0].whitespace_after)
        closing = gap(node.rpar[0].whitespace_before)
        inner = self._within()._bare(node.with_changes(lpar=(), rpar=()))
        content = concat(above(opening.own_lines), inner, trailing(closing.same_line))
        if closing.own_lines:
            raise Unsupported("a comment before a closing parenthesis")
        return self._brackets("(", trailing(opening.same_line), content, ")")

    def _bare(self, node: cst.BaseExpression) -> Doc:
        handler = self._handlers().get(type(node))
        if handler is not None:
            return handler(node)
        return verbatim(node)

    def _handlers(self) -> dict[type[cst.CSTNode], Callable[[cst.BaseExpression], Doc]]:
        return {
            cst.Attribute: self._attribute,
            cst.Call: self._call,
            cst.Subscript: self._subscript,
            cst.List: self._list,
            cst.Set: self._list,
            cst.Dict: self._dict,
            cst.BinaryOperation: self._binary,
            cst.BooleanOperation: self._binary,
            cst.Comparison: self._binary,
            cst.UnaryOperation: self._unary,
            cst.IfExp: self._conditional,
            cst.Lambda: self._lambda,
            cst.ListComp: self._comprehension,
            cst.GeneratorExp: self._comprehension,
        }

    def _brackets(self, opening: str, comment: Doc, content: Doc, closing: str) -> Doc:
        """A bracket pair with its content, which may move to lines of its own."""
        group = Group(concat(opening, comment, block(content), closing))
        if not self.inside and self.optional is not None:
            return FitsExpanded(group, self.optional)
        return group

    def _group(self, content: Doc) -> Doc:
        """A group that only counts inside of brackets."""
        if self.inside:
            return Group(content)
        return content if self.optional is None else Group(content, only_if=self.optional)

    def _space(self) -> Doc:
        """A blank that may be a line break inside of brackets only."""
        if self.inside:
            return SPACE
        return concat(" ") if self.optional is None else IfBroken(SPACE, concat(" "), self.optional)

    def _attribute(self, node: cst.BaseExpression) -> Doc:
        assert isinstance(node, cst.Attribute)
        no_comment(node.dot.whitespace_before, node.dot.whitespace_after)
        return concat(self.expression(node.value), ".", node.attr.value)

    def _call(self, node: cst.BaseExpression) -> Doc:
        assert isinstance(node, cst.Call)
        no_comment(node.whitespace_after_func)
        function = self.expression(node.func)
        opening = gap(node.whitespace_before_args)
        if not node.args:
            if opening != _NO_GAP:
                raise Unsupported("a comment in an empty call")
            return concat(function, "()")
        inner = self._within()
        items = [
            Item(
                inner._argument(arg), _tail(arg.comma, arg.whitespace_after_arg), _comma(arg.comma)
            )
            for arg in node.args
        ]
        last = node.args[-1]
        if len(items) == 1 and isinstance(last.value, cst.GeneratorExp) and not last.value.lpar:
            return concat(function, self._brackets("(", NOTHING, items[0].doc, ")"))
        content = Group(items_doc(items, opening.own_lines))
        return concat(function, self._brackets("(", trailing(opening.same_line), content, ")"))

    def _argument(self, arg: cst.Arg) -> Doc:
        value = self.expression(arg.value)
        if arg.keyword is None:
            return concat(arg.star, value)
        return concat(arg.keyword.value, "=", value)

    def _subscript(self, node: cst.BaseExpression) -> Doc:
        assert isinstance(node, cst.Subscript)
        no_comment(node.whitespace_after_value)
        value = self.expression(node.value)
        opening = gap(node.lbracket.whitespace_after)
        closing = gap(node.rbracket.whitespace_before)
        inner = self._within()
        items = [
            Item(inner._slice(element.slice), _tail(element.comma), _comma(element.comma))
            for element in node.slice
        ]
        items[-1] = replace(items[-1], tail=_merge(items[-1].tail, closing))
        single = len(items) == 1 and not items[0].comma
        content = items[0].doc if single else Group(items_doc(items, opening.own_lines))
        if single and (items[0].tail != _NO_GAP or opening.own_lines):
            raise Unsupported("a comment in a subscript")
        return concat(value, self._brackets("[", trailing(opening.same_line), content, "]"))

    def _slice(self, node: cst.BaseSlice) -> Doc:
        return (
            self.expression(node.value)
            if isinstance(node, cst.Index) and not node.star
            else (verbatim(node))
        )

    def _tuple(self, node: cst.Tuple) -> Doc:
        if not node.lpar:
            items = [
                Item(self.expression(e.value), _tail(e.comma), _comma(e.comma))
                for e in map(_plain, node.elements)
            ]
            return items_doc(items, ()) if self.inside else self._bare_tuple(items)
        if len(node.lpar) > 1:
            raise Unsupported("doubled parentheses")
        opening = gap(node.lpar[0].whitespace_after)
        closing = gap(node.rpar[0].whitespace_before)
        return self._display("(", opening, node.elements, closing, ")", is_tuple=True)

    def _bare_tuple(self, items: list[Item]) -> Doc:
        docs = [item.doc for item in items]
        if any(item.tail != _NO_GAP for item in items) or items[-1].comma:
            raise Unsupported("a comment or a last comma in a bare tuple")
        return join(concat(", "), docs)

    def _list(self, node: cst.BaseExpression) -> Doc:
        assert isinstance(node, cst.List | cst.Set)
        if isinstance(node, cst.Set):
            opening, closing = gap(node.lbrace.whitespace_after), gap(node.rbrace.whitespace_before)
            return self._display("{", opening, node.elements, closing, "}")
        opening, closing = gap(node.lbracket.whitespace_after), gap(node.rbracket.whitespace_before)
        return self._display("[", opening, node.elements, closing, "]")

    def _display(
        self,
        left: str,
        opening: Gap,
        elements: Sequence[cst.BaseElement],
        closing: Gap,
        right: str,
        *,
        is_tuple: bool = False,
    ) -> Doc:
        if not elements:
            if opening != _NO_GAP or closing != _NO_GAP:
                raise Unsupported("a comment in an empty display")
            return concat(left, right)
        inner = self._within()
        items = [
            Item(inner._element(element), _tail(element.comma), _comma(element.comma))
            for element in elements
        ]
        items[-1] = replace(items[-1], tail=_merge(items[-1].tail, closing))
        content = items_doc(items, opening.own_lines, one_tuple=is_tuple and len(items) == 1)
        return self._brackets(left, trailing(opening.same_line), content, right)

    def _element(self, element: cst.BaseElement) -> Doc:
        if isinstance(element, cst.StarredElement):
            return concat("*", self.expression(element.value))
        return self.expression(element.value)

    def _dict(self, node: cst.BaseExpression) -> Doc:
        assert isinstance(node, cst.Dict)
        opening, closing = gap(node.lbrace.whitespace_after), gap(node.rbrace.whitespace_before)
        if not node.elements:
            if opening != _NO_GAP or closing != _NO_GAP:
                raise Unsupported("a comment in an empty display")
            return concat("{}")
        inner = self._within()
        items = []
        for element in node.elements:
            if isinstance(element, cst.DictElement):
                no_comment(element.whitespace_before_colon, element.whitespace_after_colon)
                key, value = inner.expression(element.key), inner.expression(element.value)
                doc: Doc = Group(concat(key, ": ", value))
            else:
                doc = concat("**", inner.expression(element.value))
            items.append(Item(doc, _tail(element.comma), _comma(element.comma)))
        items[-1] = replace(items[-1], tail=_merge(items[-1].tail, closing))
        content = items_doc(items, opening.own_lines)
        return self._brackets("{", trailing(opening.same_line), content, "}")

    def _binary(self, node: cst.BaseExpression) -> Doc:
        return self._group(self._operands(flatten(node)))

    def _operands(self, operands: list[Operand]) -> Doc:
        """Operands joined by operators, split at the operators that bind least."""
        if len(operands) == 1:
            return self.expression(operands[0].node)
        weakest = lowest(operands)
        parts: list[Doc] = []
        start = 0
        for index in range(1, len(operands) + 1):
            if index < len(operands) and operands[index].precedence != weakest:
                continue
            piece = operands[start:index]
            content = self._operands(piece)
            doc = self._group(content) if len(piece) > 1 else content
            if start == 0:
                parts.append(doc)
            elif simple_power(operands, start):
                parts.append(concat("**", doc))
            else:
                parts.append(concat(self._space(), operands[start].operator, " ", doc))
            start = index
        return concat(*parts)

    def _unary(self, node: cst.BaseExpression) -> Doc:
        assert isinstance(node, cst.UnaryOperation)
        no_comment(node.operator.whitespace_after)
        blank = " " if isinstance(node.operator, cst.Not) else ""
        symbol = code_of(node.operator).strip()
        return concat(f"{symbol}{blank}", self.expression(node.expression))

    def _conditional(self, node: cst.BaseExpression) -> Doc:
        assert isinstance(node, cst.IfExp)
        no_comment(node.whitespace_before_if, node.whitespace_after_if)
        no_comment(node.whitespace_before_else, node.whitespace_after_else)
        return self._group(self._conditional_parts(node))

    def _conditional_parts(self, node: cst.IfExp) -> Doc:
        orelse = node.orelse
        chained = isinstance(orelse, cst.IfExp) and not orelse.lpar
        rest = self._conditional_parts(orelse) if chained else self.expression(orelse)  # type: ignore[arg-type]  # chained says so
        return concat(
            self.expression(node.body),
            self._space(),
            "if ",
            self.expression(node.test),
            self._space(),
            "else ",
            rest,
        )

    def _lambda(self, node: cst.BaseExpression) -> Doc:
        assert isinstance(node, cst.Lambda)
        head = code_of(node.with_changes(body=cst.Name("X")))
        if "\n" in head:
            raise Unsupported("a lambda over several lines")
        body = without_parentheses(node.body)
        if isinstance(body, DISPLAYS | cst.Tuple):
            return concat(head.removesuffix("X").rstrip(), " ", self.expression(body))
        if isinstance(body, cst.Call | cst.Subscript):
            wrapped: Doc = HugOrParentheses(self.expression(body))
        else:
            left, right = IfBroken(concat("("), NOTHING), IfBroken(concat(")"), NOTHING)
            wrapped = Group(concat(left, block(self._within().expression(body)), right))
            if not self.inside and self.optional is not None:
                wrapped = FitsExpanded(wrapped, self.optional)
        return concat(head.removesuffix("X").rstrip(), " ", wrapped)

    def _comprehension(self, node: cst.BaseExpression) -> Doc:
        assert isinstance(node, cst.ListComp | cst.GeneratorExp)
        inner = self._within()
        parts: list[Doc] = [Group(inner.expression(node.elt))]
        loop: cst.CompFor | None = node.for_in
        while loop is not None:
            no_comment(loop.whitespace_before, loop.whitespace_after_in)
            target = verbatim(loop.target)
            parts.append(Group(concat("for ", target, " in ", inner.expression(loop.iter))))
            parts += [Group(concat("if ", inner.expression(test.test))) for test in loop.ifs]
            loop = loop.inner_for_in
        content = Group(join(SPACE, parts))
        if isinstance(node, cst.GeneratorExp):
            return content
        no_comment(node.lbracket.whitespace_after, node.rbracket.whitespace_before)
        return self._brackets("[", NOTHING, content, "]")


def items_doc(
    items: list[Item],
    first_comments: tuple[str, ...],
    *,
    one_tuple: bool = False,
    parameters: bool = False,
) -> Doc:
    """Items separated by commas, with a last comma if they stand one per line."""
    parts: list[Doc] = [above(first_comments)]
    for index, item in enumerate(items):
        parts.append(item.doc)
        last = index == len(items) - 1
        if last:
            # A lone item gets no comma of its own; one that is there stays, and keeps it broken.
            several = len(items) > 1 or item.comma or parameters
            optional = IfBroken(concat(","), NOTHING) if several else NOTHING
            parts.append(concat(",") if one_tuple else optional)
            parts += [trailing(item.tail.same_line), below(item.tail.own_lines)]
            if item.comma and not one_tuple:
                parts.append(Expand())
            if item.tail.own_lines:
                parts.append(Expand())
        else:
            parts += [concat(","), trailing(item.tail.same_line), SPACE]
            parts.append(above(item.tail.own_lines))
    return concat(*parts)


def verbatim(node: cst.CSTNode) -> Doc:
    """A node just as it is written, if it is on one line."""
    text = code_of(node)
    if "\n" in text or "\r" in text:
        raise Unsupported(f"{type(node).__name__} over several lines")
    return concat(text)


def without_parentheses(node: cst.BaseExpression) -> cst.BaseExpression:
    """The expression without the parentheses around it, if no comment is lost."""
    if isinstance(node, cst.Tuple) or not node.lpar:
        return node
    for left, right in zip(node.lpar, node.rpar, strict=True):
        no_comment(left.whitespace_after, right.whitespace_before)
    stripped = node.with_changes(lpar=(), rpar=())
    assert isinstance(stripped, cst.BaseExpression)
    return stripped


def _plain(element: cst.BaseElement) -> cst.Element:
    if not isinstance(element, cst.Element):
        raise Unsupported("a starred element in a bare tuple")
    return element


def _comma(comma: cst.Comma | cst.MaybeSentinel) -> bool:
    return isinstance(comma, cst.Comma)


def _tail(comma: cst.Comma | cst.MaybeSentinel, *more: cst.CSTNode) -> Gap:
    around = (
        [comma.whitespace_before, comma.whitespace_after] if isinstance(comma, cst.Comma) else []
    )
    return gap(*around, *more)


def _merge(first: Gap, second: Gap) -> Gap:
    """Two gaps that follow one another."""
    if first.own_lines or (first.same_line and second.same_line):
        raise Unsupported("comments on both sides of a comma")
    return Gap(first.same_line or second.same_line, second.own_lines)
