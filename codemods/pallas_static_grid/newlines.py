"""Line ends: everything works on texts whose lines end at LF; what is written has its own ends."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pallas_static_grid.render.opcodes import opcodes
from pallas_static_grid.source import split_lines

_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class LineEnds:
    """The line ends of a text, to be given back to a changed version of it."""

    plain: str
    """The text with LF at the end of every line."""
    ends: tuple[str, ...]
    """The end of each line ("" of a last line without one); empty where all are LF."""

    @classmethod
    def of(cls, text: str) -> LineEnds:
        """Take a text apart."""
        if "\r" not in text:
            return cls(text, ())
        lines = split_lines(text)
        bodies = [_LINE_END.sub("", line) for line in lines]
        ends = tuple(line[len(body) :] for line, body in zip(lines, bodies, strict=True))
        plain = "\n".join(bodies) + ("\n" if ends[-1] else "")
        return cls(plain, ends)

    def restore(self, text: str) -> str:
        """`text`, a changed version of `plain`, with line ends that fit the original.

        A line that stayed keeps its end; a new one gets that of the line above it.
        """
        used = {end for end in self.ends if end}
        if not used:
            return text
        if len(used) == 1:
            return text.replace("\n", used.pop())
        old, new = _bodies(self.plain), _bodies(text)
        out: list[str] = []
        for tag, i1, _, j1, j2 in opcodes(old, new):
            for offset, body in enumerate(new[j1:j2]):
                line = i1 + offset if tag == "equal" else i1
                stayed = self.ends[line] if tag == "equal" else ""
                out.append(body + (stayed or self._near(line)))
        joined = "".join(out)
        return joined if text.endswith("\n") else _chop(joined)

    def _near(self, line: int) -> str:
        """The end of the line above `line`, or of the nearest one that has any."""
        above = [end for end in self.ends[:line] if end]
        below = [end for end in self.ends[line:] if end]
        return above[-1] if above else below[0]


def _bodies(text: str) -> Sequence[str]:
    """The lines of a plain text without their ends."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _chop(text: str) -> str:
    """`text` without its last line end."""
    ends = list(_LINE_END.finditer(text))
    return text[: ends[-1].start()] if ends and ends[-1].end() == len(text) else text
