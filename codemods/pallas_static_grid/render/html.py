"""The HTML report: one page that needs no network, to read, filter, tick and download a patch."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from pallas_static_grid import __version__
from pallas_static_grid.catalogue import REFUSALS
from pallas_static_grid.model import Changed, FileReport
from pallas_static_grid.render.digest import (
    Entry,
    Totals,
    entries,
    plural,
    totals,
    warnings,
)
from pallas_static_grid.render.page.data import Chosen, chosen, script_data
from pallas_static_grid.render.page.launch import Place, article
from pallas_static_grid.render.page.markup import prose, text
from pallas_static_grid.source import Source, decode

_FOLDER = Path(__file__).with_name("page")


def render(
    reports: Sequence[FileReport], scanned: int | None = None, *, written: bool = False
) -> str:
    """The page, with a check box for every rewrite; `scanned` is the number of files looked at.

    Where the rewrites are `written` there is nothing to tick.
    """
    counted = totals(reports)
    changed = [chosen(report) for report in reports if isinstance(report, Changed) and not written]
    style = (_FOLDER / "report.css").read_text(encoding="utf-8")
    script = (_FOLDER / "report.js").read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(style, script)}">\n'
        f"<title>{text(_title(counted))}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#launches">Skip to the launches</a>\n'
        f'<header class="top"><div class="wrap">{"".join(_top(reports, counted, scanned, written))}'
        f"</div></header>\n{_toolbar(counted, bool(changed))}\n"
        f'<main id="launches" class="wrap">{"".join(_files(reports, changed))}'
        f"{_nothing(counted)}</main>\n{_footer()}\n"
        f'<script type="application/json" id="patch-data">{script_data(changed)}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def _policy(style: str, script: str) -> str:
    """Only this very style and script, and no network."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}';"
        " base-uri 'none'; form-action 'none'"
    )


def _digest(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def _title(counted: Totals) -> str:
    return (
        f"Static grids: {plural(counted.rewrites, 'rewrite')}, {plural(counted.refused, 'refusal')}"
    )


def _top(
    reports: Sequence[FileReport], counted: Totals, scanned: int | None, written: bool
) -> Iterable[str]:
    looked = f"{plural(scanned, 'Python file')} read, " if scanned is not None else ""
    yield "<h1>Pallas launches and their grids</h1>"
    yield (
        f"<p>{looked}{plural(counted.launches, 'launch', 'launches')} found in "
        f"{plural(counted.files, 'file')}. {_invitation(counted, written)}</p>"
    )
    tiles = [
        *((name, str(count)) for name, count in counted.verdicts),
        ("rewrites made" if written else "rewrites pending", str(counted.rewrites)),
        ("of them safe", str(counted.safe)),
        ("refused", str(counted.refused)),
    ]
    if counted.ignored:
        tiles.append(("ignored", str(counted.ignored)))
    items = "".join(f"<li><b>{value}</b><span>{text(name)}</span></li>" for name, value in tiles)
    yield f'<ul class="tiles">{items}</ul>'
    yield f'<div class="sums">{"".join(_sums(counted))}</div>'
    yield from _trouble(reports, counted)


def _invitation(counted: Totals, written: bool) -> str:
    if not counted.rewrites:
        return "There is nothing to rewrite."
    if written:
        return "The rewrites shown here have been written to the files."
    return (
        "Nothing has been written: tick the rewrites to take, download their patch and apply it "
        "with <code>git apply</code> from the root of the repository."
    )


def _sums(counted: Totals) -> Iterable[str]:
    if counted.transforms:
        rows = "".join(
            f"<tr><td><code>{text(name)}</code></td><td>{count}</td></tr>"
            for name, count in counted.transforms
        )
        yield f"<div><h2>Rewrites by transform</h2><table>{rows}</table></div>"
    if counted.refusals:
        rows = "".join(_refusal_row(code, count) for code, count in counted.refusals)
        yield f"<div><h2>Refusals by code</h2><table>{rows}</table></div>"


def _refusal_row(code: str, count: int) -> str:
    known = REFUSALS.get(code)
    words = f"<small>{text(known.title)}. {prose(known.next_step)}</small>" if known else ""
    return f"<tr><td><code>{text(code)}</code>{words}</td><td>{count}</td></tr>"


def _trouble(reports: Sequence[FileReport], counted: Totals) -> Iterable[str]:
    lists = (
        ("Files that could not be handled", [(f.path, f.message) for f in counted.failed], True),
        ("Warnings", list(warnings(reports)), False),
        ("Files passed over", [(s.path, s.reason) for s in counted.skipped], False),
    )
    for title, found, grave in lists:
        if found:
            items = "".join(
                f"<li><code>{text(path)}</code>: {prose(words)}</li>" for path, words in found
            )
            yield (
                f'<details class="aside{" trouble" if grave else ""}"{" open" if grave else ""}>'
                f"<summary>{title} <small>{len(found)}</small></summary><ul>{items}</ul></details>"
            )


def _toolbar(counted: Totals, tickable: bool) -> str:
    only = [name for name, count in counted.verdicts if count == counted.launches]
    verdicts = "".join(
        _chip("checkbox", "verdict", name, name, name != "static" or name in only)
        for name, _ in counted.verdicts
    )
    views = _chip("radio", "view", "unified", "unified", True) + _chip(
        "radio", "view", "split", "side by side", False
    )
    transforms = "".join(
        f'<option value="{text(name)}">{text(name)}</option>' for name, _ in counted.transforms
    )
    hidden = "" if tickable else " hidden"
    return (
        '<nav class="bar" aria-label="Filters and patch"><div class="wrap">'
        f"<fieldset><legend>Verdict</legend>{verdicts}</fieldset>"
        '<label class="field">Transform<select id="transform" class="filter">'
        f'<option value="">any</option>{transforms}</select></label>'
        '<label class="field">Safety<select id="safety" class="filter"><option value="">any'
        '</option><option value="safe">safe</option><option value="review">review</option>'
        "</select></label>"
        '<label class="field">Path<input type="search" id="path" class="filter" size="14" '
        'placeholder="part of a path"></label><span id="shown" aria-live="polite"></span>'
        f"<fieldset><legend>Diff</legend>{views}"
        '<label class="chip"><input type="checkbox" id="indent" checked>'
        "<span>indentation</span></label></fieldset>"
        '<div class="push"><button type="button" id="open-all">Open all</button>'
        '<button type="button" id="close-all">Close all</button>'
        f'<button type="button" id="tick-all"{hidden}>Tick shown</button>'
        f'<button type="button" id="tick-none"{hidden}>Untick shown</button>'
        f'<button type="button" class="main" id="download"{hidden}>Download patch</button>'
        '<span id="said" class="sr" role="status"></span></div></div></nav>'
    )


def _chip(kind: str, name: str, value: str, label: str, on: bool) -> str:
    state = " checked" if on else ""
    css = ' class="filter"' if kind == "checkbox" else ""
    return (
        f'<label class="chip"><input type="{kind}" name="{name}" value="{value}"{css}{state}>'
        f"<span>{text(label)}</span></label>"
    )


def _files(reports: Sequence[FileReport], changed: Sequence[Chosen]) -> Iterable[str]:
    numbers = {id(file.report): number for number, file in enumerate(changed)}
    for at, report in enumerate(reports):
        found = entries(report)
        if not found:
            continue
        number = numbers.get(id(report), -1)
        file = changed[number] if number >= 0 else None
        source = _text(report)
        body = "".join(
            article(entry, _place(f"f{at}l{i}", entry, found, number, file, source))
            for i, entry in enumerate(found)
        )
        count = plural(len(found), "launch", "launches")
        yield (
            f'<section class="file"><h2>{text(report.path)} <small>{count}</small></h2>'
            f"{body}</section>"
        )


def _place(
    ident: str,
    entry: Entry,
    found: Sequence[Entry],
    number: int,
    file: Chosen | None,
    source: str | None,
) -> Place:
    if file is None or entry.rewrite is None:
        return Place(ident, source=source)
    group = file.group_of(entry.place)
    tied = tuple(
        other.launch.line
        for other in found
        if other.place in file.composition.groups[group] and other.place != entry.place
    )
    return Place(ident, number, group, tied, source)


def _text(report: FileReport) -> str | None:
    """The file before any rewrite, where the report has it."""
    if not isinstance(report, Changed):
        return None
    source = decode(report.path, report.before)
    return source.text if isinstance(source, Source) else None


def _nothing(counted: Totals) -> str:
    if not counted.launches:
        return '<p class="empty">No Pallas launch was found.</p><p id="nothing" hidden></p>'
    return '<p class="empty" id="nothing" hidden>No launch fits these filters.</p>'


def _footer() -> str:
    keys = (
        ("j", "next launch"),
        ("k", "previous launch"),
        ("x", "tick or untick"),
        ("o", "open or close"),
        ("s", "unified or side by side"),
        ("i", "show or hide changes of indentation"),
        ("d", "download the patch"),
        ("/", "filter by path"),
    )
    items = "".join(f"<li><kbd>{key}</kbd> {words}</li>" for key, words in keys)
    return (
        f'<footer><div class="wrap"><ul class="keys">{items}</ul>'
        f"Made by pallas-static-grid {text(__version__)}.</div></footer>"
    )
