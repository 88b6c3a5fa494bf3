"""Documents that know where they may break, and the printer that decides.

The algebra of Wadler and Prettier with what the formatters of Python code add to it:
optional parentheses, groups that only count inside of them, and comments at the end of a line.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

FLAT: Literal["flat"] = "flat"
BROKEN: Literal["broken"] = "broken"
Mode = Literal["flat", "broken"]


@dataclass(frozen=True, slots=True)
class Text:
    """Text without a line break."""

    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """A possible line break: flat it is nothing (`soft`) or a blank (`space`)."""

    kind: Literal["soft", "space", "hard"]


@dataclass(frozen=True, slots=True)
class Concat:
    """Documents one after the other."""

    parts: tuple[Doc, ...]


@dataclass(frozen=True, slots=True)
class Indent:
    """A document whose lines are indented one level more; with `group`, only if that one breaks."""

    doc: Doc
    group: int | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """A document that is flat if it fits; with `only_if`, only where that group is broken."""

    doc: Doc
    ident: int | None = None
    only_if: int | None = None


@dataclass(frozen=True, slots=True)
class IfBroken:
    """One of two documents, by the mode of the group around it or of the group named."""

    broken: Doc
    flat: Doc
    group: int | None = None


@dataclass(frozen=True, slots=True)
class FitsExpanded:
    """A part that counts as fitting if it does so broken, while group `group` is flat."""

    doc: Doc
    group: int


@dataclass(frozen=True, slots=True)
class BestParenthesized:
    """In parentheses on a line of its own if it fits there and not here."""

    doc: Doc
    ident: int


@dataclass(frozen=True, slots=True)
class HugOrParentheses:
    """Flat, or broken at its own brackets if its first line fits, or in parentheses."""

    doc: Doc


@dataclass(frozen=True, slots=True)
class Suffix:
    """A comment for the end of the line, and how much of the line's width it takes."""

    text: str
    width: int


@dataclass(frozen=True, slots=True)
class Expand:
    """Breaks every group around it."""


Doc = (
    Text
    | Line
    | Concat
    | Indent
    | Group
    | IfBroken
    | FitsExpanded
    | BestParenthesized
    | HugOrParentheses
    | Suffix
    | Expand
)

NOTHING = Concat(())
SOFT, SPACE, HARD = Line("soft"), Line("space"), Line("hard")


def concat(*parts: Doc | str) -> Doc:
    """Documents and texts one after the other."""
    return Concat(tuple(Text(part) if isinstance(part, str) else part for part in parts))


def join(separator: Doc, docs: Iterable[Doc]) -> Doc:
    """Documents with a separator between them."""
    parts: list[Doc] = []
    for doc in docs:
        parts += [separator, doc] if parts else [doc]
    return Concat(tuple(parts))


def block(content: Doc) -> Doc:
    """Content that stands indented on lines of its own if the group around it breaks."""
    return concat(Indent(concat(SOFT, content)), SOFT)


def expands(doc: Doc) -> bool:
    """Whether the document breaks the groups around it."""
    match doc:
        case Expand() | Line(kind="hard"):
            return True
        case Concat(parts=parts):
            return any(map(expands, parts))
        case Indent(doc=inner) | Group(doc=inner):
            return expands(inner)
        case BestParenthesized(doc=inner) | HugOrParentheses(doc=inner):
            return expands(inner)
        case IfBroken(broken=broken):
            return expands(broken)
        case _:
            return False


@dataclass(frozen=True, slots=True)
class _Command:
    level: int
    mode: Mode
    doc: Doc
    all_lines: bool = False


@dataclass(slots=True)
class Printer:
    """Prints documents; `indent` is the text of the line's own indentation, `step` of one level."""

    width: int
    indent: str
    step: str
    _modes: dict[int, Mode] = field(default_factory=dict)
    _out: list[str] = field(default_factory=list)
    _suffixes: list[str] = field(default_factory=list)
    _column: int = 0

    def render(self, doc: Doc) -> str:
        """The text of `doc`, its first line without indentation."""
        self._column = len(self.indent.expandtabs(8))
        stack = [_Command(0, BROKEN, doc)]
        while stack:
            self._print(stack.pop(), stack)
        self._flush()
        return "".join(self._out)

    def _print(self, command: _Command, stack: list[_Command]) -> None:
        level, mode = command.level, command.mode
        match command.doc:
            case Text(text=text):
                self._write(text)
            case Line(kind=kind):
                self._line(kind, level, mode)
            case Concat(parts=parts):
                stack.extend(_Command(level, mode, part) for part in reversed(parts))
            case Indent(doc=inner, group=group):
                deeper = group is None or self._modes.get(group) == BROKEN
                stack.append(_Command(level + deeper, mode, inner))
            case Group() as group_doc:
                stack.append(self._group(group_doc, command, stack))
            case IfBroken(broken=broken, flat=flat, group=group):
                known = mode if group is None else self._modes.get(group, BROKEN)
                stack.append(_Command(level, mode, broken if known == BROKEN else flat))
            case FitsExpanded(doc=inner, group=group):
                inside = BROKEN if self._modes.get(group) == FLAT else mode
                stack.append(_Command(level, inside, inner))
            case BestParenthesized(doc=inner, ident=ident):
                stack.extend(self._best(inner, ident, level, stack))
            case HugOrParentheses(doc=inner):
                stack.extend(self._hug(inner, command, stack))
            case Suffix(text=text):
                self._suffixes.append(text)
            case Expand():
                pass

    def _group(self, group: Group, command: _Command, stack: list[_Command]) -> _Command:
        level, mode = command.level, command.mode
        if group.only_if is not None and self._modes.get(group.only_if) != BROKEN:
            return _Command(level, mode, group.doc)
        if expands(group.doc):
            chosen: Mode = BROKEN
        elif mode == FLAT or self._fits(group, _Command(level, FLAT, group.doc), stack):
            chosen = FLAT
        else:
            chosen = BROKEN
        if group.ident is not None:
            self._modes[group.ident] = chosen
        return _Command(level, chosen, group.doc)

    def _best(self, doc: Doc, ident: int, level: int, stack: list[_Command]) -> list[_Command]:
        flat = Group(doc, ident)
        if not self._fits(flat, _Command(level, FLAT, doc), stack):
            wrapped = concat(Indent(concat(HARD, doc)), HARD, ")")
            trial = _Command(level, BROKEN, wrapped, all_lines=True)
            if self._fits(Group(doc, ident), trial, stack, opening=1):
                self._modes[ident] = BROKEN
                return [_Command(level, BROKEN, concat("(", wrapped))]
        self._modes[ident] = FLAT
        return [_Command(level, FLAT, doc)]

    def _hug(self, doc: Doc, command: _Command, stack: list[_Command]) -> list[_Command]:
        level, flat, broken = command.level, FLAT, BROKEN
        if command.mode == FLAT:
            return [_Command(level, flat, doc)]
        measured = Group(doc)
        if not expands(doc) and self._fits(measured, _Command(level, flat, doc), stack):
            return [_Command(level, flat, doc)]
        if self._fits(measured, _Command(level, broken, doc), stack):
            return [_Command(level, broken, doc)]
        wrapped = concat("(", Indent(concat(HARD, Group(doc))), HARD, ")")
        return [_Command(level, broken, wrapped)]

    def _write(self, text: str) -> None:
        self._out.append(text)
        self._column += len(text)

    def _line(self, kind: str, level: int, mode: Mode) -> None:
        if mode == FLAT and kind != "hard":
            if kind == "space":
                self._write(" ")
            return
        self._flush()
        if self._out and self._out[-1] == " ":
            self._out.pop()
        lead = self.indent + self.step * level
        self._out.append("\n" + lead)
        self._column = len(lead.expandtabs(8))

    def _flush(self) -> None:
        self._out.extend(self._suffixes)
        self._suffixes.clear()

    def _fits(self, group: Group, first: _Command, rest: list[_Command], opening: int = 0) -> bool:
        """Whether `first` and what follows up to the next possible break fit on the line."""
        modes = dict(self._modes)
        if group.ident is not None:
            modes[group.ident] = FLAT if first.mode == FLAT else BROKEN
        pending, position, column = [first], len(rest), self._column + opening
        while True:
            if not pending:
                position -= 1
                if position < 0:
                    return True
                pending.append(rest[position])
            command = pending.pop()
            level, mode, all_lines = command.level, command.mode, command.all_lines
            match command.doc:
                case Text(text=text):
                    column += len(text)
                case Suffix(width=width):
                    column += width
                case Line(kind=kind):
                    if mode == FLAT and kind != "hard":
                        column += kind == "space"
                    elif all_lines:
                        column = len((self.indent + self.step * level).expandtabs(8))
                    else:
                        return True
                case _:
                    pending.extend(self._parts(command, modes))
            if column > self.width:
                return False

    @staticmethod
    def _parts(command: _Command, modes: dict[int, Mode]) -> list[_Command]:
        """What is inside a document while it is being measured, last part first."""
        level, mode, all_lines = command.level, command.mode, command.all_lines
        match command.doc:
            case Concat(parts=parts):
                return [_Command(level, mode, part, all_lines) for part in reversed(parts)]
            case Indent(doc=inner, group=group):
                deeper = group is None or modes.get(group) == BROKEN
                return [_Command(level + deeper, mode, inner, all_lines)]
            case Group(doc=inner, ident=ident, only_if=only_if):
                counts = only_if is None or modes.get(only_if) == BROKEN
                chosen = BROKEN if counts and expands(inner) else mode
                if ident is not None:
                    modes[ident] = chosen
                return [_Command(level, chosen, inner, all_lines)]
            case IfBroken(broken=broken, flat=flat, group=group):
                known = mode if group is None else modes.get(group, BROKEN)
                return [_Command(level, mode, broken if known == BROKEN else flat, all_lines)]
            case FitsExpanded(doc=inner, group=group):
                if mode == FLAT and modes.get(group) == FLAT:
                    return [_Command(level, BROKEN, inner, all_lines=True)]
                return [_Command(level, mode, inner, all_lines)]
            case BestParenthesized(doc=inner) | HugOrParentheses(doc=inner):
                return [_Command(level, mode, inner, all_lines)]
            case _:
                return []
