"""What the script needs to put a patch together out of the ticked rewrites.

All text is in bytes read as Latin-1, one character per byte, so that the downloaded patch has the
very bytes of the file, whatever its encoding.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pallas_static_grid.model import Changed
from pallas_static_grid.render import notes, unified
from pallas_static_grid.render.pieces import Composition, Line, compose
from pallas_static_grid.source import Source, decode

_CONTEXT = 3
Json = None | bool | int | str | Sequence["Json"] | Mapping[str, "Json"]


@dataclass(frozen=True, slots=True)
class Chosen:
    """A changed file whose rewrites can be taken one by one."""

    report: Changed
    composition: Composition
    encoded: tuple[bytes, ...]
    """The bytes of each line of the composition."""

    def group_of(self, place: int) -> int:
        """The group of the rewrite at `place` in the file's chain."""
        return next(i for i, group in enumerate(self.composition.groups) if place in group)


def chosen(report: Changed) -> Chosen:
    """The composition of a file's rewrites."""
    source = decode(report.path, report.before)
    if isinstance(source, Source):
        texts = [source.text, *(rewrite.after for rewrite in report.rewrites)]
        if source.encode(texts[-1]) == report.after:
            composition = compose(texts)
            encoded = _encode_lines(source, composition)
            if encoded is not None:
                return Chosen(report, composition, encoded)
    whole = compose([report.before.decode("latin-1"), report.after.decode("latin-1")])
    everything = tuple(range(len(report.rewrites)))
    composition = Composition(whole.lines, (everything,), whole.pieces)
    return Chosen(report, composition, tuple(x.text.encode("latin-1") for x in whole.lines))


def _encode_lines(source: Source, composition: Composition) -> tuple[bytes, ...] | None:
    """Each line in the file's encoding; None if that gives another file than the original."""
    bom = source.encode("")
    encoded = [source.encode(line.text)[len(bom) :] for line in composition.lines]
    if bom:
        # The mark belongs to whichever line comes first: only an original one can be told.
        if not composition.lines or composition.lines[0].added is not None:
            return None
        if composition.lines[0].removed is not None:
            return None
        encoded[0] = bom + encoded[0]
    original = b"".join(
        data for line, data in zip(composition.lines, encoded, strict=True) if line.added is None
    )
    return tuple(encoded) if original == source.data else None


def script_data(files: Sequence[Chosen]) -> str:
    """The data of all files as JSON that can stand in a script element."""
    document: list[Json] = [_file(file) for file in files]
    plain = json.dumps(document, ensure_ascii=True, separators=(",", ":"))
    return plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _file(file: Chosen) -> Json:
    report = file.report
    patch = unified.unified_diff(report.before, report.after, report.patch_path or report.path)
    header = patch[: patch.find("\n@@ ") + 1]
    return {
        "header": _latin(unified.to_bytes(header)),
        "notes": [
            _latin(unified.to_bytes(_comment(notes.rewrite_notes(rewrite))))
            for rewrite in report.rewrites
        ],
        "groups": [_numbers(group) for group in file.composition.groups],
        "pieces": [_numbers(owners) for owners in file.composition.pieces],
        "lines": _lines(file),
    }


def _numbers(numbers: Iterable[int]) -> Json:
    return sorted(numbers)


def _comment(lines: Sequence[str]) -> str:
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)


def _lines(file: Chosen) -> Json:
    """Lines as `[text]`, `[text, piece that adds]`, `[text, null or piece, piece that removes]`.

    A number stands for that many lines that no choice shows.
    """
    lines = file.composition.lines
    shown = _near_changes(lines)
    out: list[Json] = []
    hidden = 0
    for at, line in enumerate(lines):
        if not shown[at]:
            hidden += 1
            continue
        if hidden:
            out.append(hidden)
            hidden = 0
        text = _latin(file.encoded[at])
        if line.removed is not None:
            out.append([text, line.added, line.removed])
        else:
            out.append([text] if line.added is None else [text, line.added])
    return out


def _near_changes(lines: Sequence[Line]) -> list[bool]:
    """The changed lines and enough untouched ones on both sides of each for its context."""
    shown = [False] * len(lines)
    for order in (range(len(lines)), range(len(lines) - 1, -1, -1)):
        wanted = 0
        for at in order:
            touched = lines[at].added is not None or lines[at].removed is not None
            wanted = _CONTEXT if touched else wanted - 1
            shown[at] = shown[at] or touched or wanted >= 0
    return shown


def _latin(data: bytes) -> str:
    return data.decode("latin-1")
