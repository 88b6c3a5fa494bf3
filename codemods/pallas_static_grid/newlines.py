"""Line ends of edits: new lines get the file's line end, lines that stay keep theirs."""

from __future__ import annotations

import re
from dataclasses import replace
from difflib import SequenceMatcher

from pallas_static_grid.model import Edit
from pallas_static_grid.source import split_lines

_LINE_END = re.compile(r"\r\n|\r|\n")


def fit_newlines(text: str, edit: Edit, newline: str) -> Edit:
    """`edit` with the line ends that belong at its place in `text`.

    Transforms write `\\n`. A line that the edit takes over unchanged keeps the end it had; a new
    one gets the end of the line in which the edit starts, or else `newline`.
    """
    if "\n" not in edit.text and "\r" not in edit.text:
        return edit
    if "\r" not in text:
        return edit
    local = _end_of_line(text, edit.span.start) or newline
    old = split_lines(edit.span.of(text))
    new = split_lines(edit.text)
    old_bodies = [_LINE_END.sub("", line) for line in old]
    new_bodies = [_LINE_END.sub("", line) for line in new]
    fitted: list[str] = []
    for tag, i1, _, j1, j2 in SequenceMatcher(None, old_bodies, new_bodies, False).get_opcodes():
        for offset in range(j2 - j1):
            line, body = new[j1 + offset], new_bodies[j1 + offset]
            end = line[len(body) :]
            if end and tag == "equal":
                end = old[i1 + offset][len(body) :] or local
            elif end:
                end = local
            fitted.append(body + end)
    return replace(edit, text="".join(fitted))


def _end_of_line(text: str, position: int) -> str | None:
    """The line end of the line that holds `position`; of the line above for a last line."""
    match = _LINE_END.search(text, position)
    if match is not None:
        return match[0]
    ends = _LINE_END.findall(text[:position])
    return ends[-1] if ends else None
