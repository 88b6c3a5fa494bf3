"""One launch of the HTML report: what it is, why, what is to be done, and the diff."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pallas_static_grid.catalogue import REFUSALS
from pallas_static_grid.model import Dim, Launch, Refusal, Rewrite, Step
from pallas_static_grid.render.digest import Entry, chain, headline, status
from pallas_static_grid.render.highlight import line_marks
from pallas_static_grid.render.page import diff
from pallas_static_grid.render.page.markup import code, prose, text

_STATUS = {
    "refused": "refused",
    "ignored": "ignored by a pragma",
    "together": "with another launch",
}
_BOUNDS = {
    "value": "by its value",
    "range": "from what the launch addresses",
    "user": "given by the user",
}
_AROUND = 2


@dataclass(frozen=True, slots=True)
class Place:
    """Where an article stands: its id, and for a rewrite its tick group."""

    ident: str
    file: int = -1
    group: int = -1
    tied: tuple[int, ...] = ()
    """Lines of the other launches of the group."""
    source: str | None = None
    """The text of the file before any rewrite, where it is known."""


def article(entry: Entry, place: Place) -> str:
    """The launch as a collapsible article."""
    launch, rewrite = entry.launch, entry.rewrite
    transforms = [plan.transform for plan in (rewrite.plans if rewrite else ())]
    name = f"{launch.path}, line {launch.line}"
    body = "".join(_body(entry, place))
    opened = " open" if rewrite is not None else ""
    return (
        f'<article id="{place.ident}" tabindex="-1" aria-label="{text(name)}"'
        f' data-path="{text(launch.path)}" data-verdict="{launch.verdict}"'
        f' data-safety="{rewrite.safety if rewrite else ""}"'
        f' data-transforms="{text(" ".join(transforms))}" data-status="{status(entry)}">'
        f'<div class="head">{_tick(rewrite, place, name)}<h3>'
        f'<span class="mono">line {launch.line}</span> in <code>{text(launch.function)}</code>'
        f" <small>{text(launch.api)}</small></h3>"
        f'<div class="pills">{"".join(_pills(entry, transforms))}</div>'
        f'<p class="say">{prose(_say(launch, rewrite))}</p></div>'
        f'<details class="more"{opened}><summary>Details</summary>'
        f'<div class="body">{body}</div></details></article>'
    )


def _say(launch: Launch, rewrite: Rewrite | None) -> str:
    plans = () if rewrite is not None else launch.plans
    return " ".join([headline(launch), *(_sentence(plan.summary) for plan in plans)])


def _sentence(words: str) -> str:
    stripped = words.strip()
    return stripped[:1].upper() + stripped[1:] + ("" if stripped.endswith(".") else ".")


def _tick(rewrite: Rewrite | None, place: Place, name: str) -> str:
    if rewrite is None or place.group < 0:
        return '<div class="tick"></div>'
    return (
        '<div class="tick"><input type="checkbox" checked'
        f' data-file="{place.file}" data-group="{place.group}"'
        f' aria-label="Take the rewrite of {text(name)}"></div>'
    )


def _pills(entry: Entry, transforms: Iterable[str]) -> Iterable[str]:
    yield _pill(entry.launch.verdict, entry.launch.verdict)
    for name in transforms:
        yield _pill("", name)
    if entry.rewrite is not None:
        yield _pill(entry.rewrite.safety, entry.rewrite.safety)
    state = status(entry)
    if state in _STATUS:
        yield _pill(state, _STATUS[state])


def _pill(kind: str, label: str) -> str:
    return f'<span class="pill {kind}">{text(label)}</span>'


def _body(entry: Entry, place: Place) -> Iterable[str]:
    launch, rewrite = entry.launch, entry.rewrite
    if place.tied:
        lines = ", ".join(str(line) for line in place.tied)
        yield f'<p class="tied">Taken or left together with the rewrite of line {lines}.</p>'
    if launch.refusal is not None and not launch.ignored:
        yield _refusal(launch.refusal)
    if rewrite is not None:
        yield from _rewrite(rewrite)
    yield from _grid(launch)
    source = _Excerpts(place, launch.path)
    for dim, steps in chain(launch):
        yield _chain(f"Why {_subject(dim, launch)}", steps, source)
        if dim is not None and dim.bound is not None and dim.bound.evidence:
            title = f"What bounds it: `{dim.bound.expression}`"
            yield _chain(title, dim.bound.evidence, source)
    blockers = [
        f"{text(blocker.target)}: {prose(blocker.reason)} ({text(blocker.path)}:{blocker.line})"
        for blocker in launch.blockers
    ]
    yield _listed("What else keeps it off a target", blockers)


def _subject(dim: Dim | None, launch: Launch) -> str:
    if dim is None:
        return f"the grid is {launch.verdict}"
    return f"dimension {dim.index} is {dim.verdict}"


def _refusal(refusal: Refusal) -> str:
    known = REFUSALS.get(refusal.code)
    title = f"{text(known.title)} " if known else ""
    step = refusal.hint or (known.next_step if known else "")
    return (
        f'<div class="refusal"><h4>{title}<code>{text(refusal.code)}</code></h4>'
        f"<p>{prose(refusal.reason)} ({text(refusal.path)}:{refusal.line})</p>"
        f"<p>{prose(step)}</p></div>"
    )


def _grid(launch: Launch) -> Iterable[str]:
    if not launch.dims:
        if launch.grid:
            yield f"<h4>Grid</h4><p><code>{text(launch.grid)}</code></p>"
        return
    rows = "".join(
        f"<tr><td>{dim.index}</td><td><code>{text(dim.expression)}</code></td>"
        f"<td>{_pill(dim.verdict, dim.verdict)}</td><td>{_bound_cell(dim)}</td></tr>"
        for dim in launch.dims
    )
    yield (
        '<h4>Grid</h4><table class="dims"><thead><tr><th scope="col">axis</th>'
        '<th scope="col">expression</th><th scope="col">verdict</th><th scope="col">bound</th>'
        f"</tr></thead><tbody>{rows}</tbody></table>"
    )


def _bound_cell(dim: Dim) -> str:
    if dim.bound is None:
        return ""
    return f"<code>{text(dim.bound.expression)}</code> {_BOUNDS[dim.bound.kind]}"


def _rewrite(rewrite: Rewrite) -> Iterable[str]:
    plans = [
        f"<code>{text(plan.transform)}</code> {_pill(plan.safety, plan.safety)} "
        f"{prose(_sentence(plan.summary))}"
        for plan in rewrite.plans
    ]
    yield _listed("What the rewrite does", plans)
    bounds = [dim.bound for dim in rewrite.launch.dims if dim.bound is not None]
    assumed = [prose(assumption) for bound in bounds for assumption in bound.assumes]
    yield _listed("Assumed of the caller", list(dict.fromkeys(assumed)))
    yield _listed("To know when reviewing", [prose(note) for note in rewrite.notes])
    where = f"Diff for {rewrite.launch.path}, line {rewrite.launch.line}"
    yield "<h4>Diff</h4>" + diff.table(rewrite, where)


def _listed(title: str, items: Sequence[str]) -> str:
    body = "".join(f"<li>{item}</li>" for item in items)
    return f"<h4>{title}</h4><ul>{body}</ul>" if items else ""


class _Excerpts:
    """Pieces of the source around a step, each under an id of its own."""

    def __init__(self, place: Place, path: str) -> None:
        self._place = place
        self._path = path
        self._lines = (place.source or "").split("\n")
        self._marks = line_marks(place.source or "")
        self._count = 0

    def ident(self) -> str:
        self._count += 1
        return f"{self._place.ident}-s{self._count}"

    def around(self, step: Step, ident: str) -> str:
        known = self._place.source is not None and step.path == self._path
        numbers: Sequence[int] = [step.line]
        if known and 0 < step.line <= len(self._lines):
            first = max(1, step.line - _AROUND)
            numbers = range(first, min(len(self._lines), step.line + _AROUND) + 1)
        elif not step.text:
            return ""
        rows = "".join(
            f"<div{' class=hit' if number == step.line else ''}><i>{number}</i>"
            f"<span>{self._line(number) if known else code(step.text)}</span></div>"
            for number in numbers
        )
        return f'<div class="excerpt" id="{ident}" hidden>{rows}</div>'

    def _line(self, number: int) -> str:
        if number > len(self._lines):
            return ""
        return code(self._lines[number - 1], self._marks.get(number, ()))


def _chain(title: str, steps: Sequence[Step], source: _Excerpts) -> str:
    items = "".join(_step(step, source) for step in steps)
    return f'<h4>{prose(title)}</h4><ol class="steps">{items}</ol>'


def _step(step: Step, source: _Excerpts) -> str:
    ident = source.ident()
    excerpt = source.around(step, ident)
    controls = f' aria-controls="{ident}"' if excerpt else ""
    shown = f"<code>{text(step.text)}</code> " if step.text else ""
    return (
        f'<li><button type="button" aria-expanded="false"{controls}'
        f' data-line="{step.line}" data-path="{text(step.path)}">{shown}{prose(step.reason)}'
        f'<span class="at">{text(step.path)}:{step.line}</span></button>{excerpt}</li>'
    )
