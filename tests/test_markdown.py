"""The Markdown report, read by a CommonMark parser with GitHub's tables."""

from __future__ import annotations

import re
from dataclasses import replace

import report_samples as samples
from markdown_it import MarkdownIt
from markdown_it.token import Token
from pallas_static_grid.model import Changed, Clean
from pallas_static_grid.render import markdown

HOSTILE = "# ``` ````\n# </details><script>alert(1)</script> `x` | @someone #12 \x0c\u2028 &amp;\n"


def tokens(text: str) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(text)


def fences(text: str) -> list[Token]:
    return [token for token in tokens(text) if token.type == "fence"]


def cells(text: str) -> list[list[str]]:
    rows: list[list[str]] = []
    inside = False
    for token in tokens(text):
        if token.type == "tr_open":
            rows.append([])
        inside = token.type in ("td_open", "th_open") or (inside and token.type == "inline")
        if inside and token.type == "inline":
            rows[-1].append("".join(child.content for child in token.children or ()))
    return rows


def test_head() -> None:
    text = markdown.render(samples.reports())
    lines = text.split("\n")
    assert lines[0] == "## Static grids for Pallas launches"
    assert lines[2] == "11 launches in 2 files: 8 dynamic, 1 unknown, 1 static."
    assert lines[3] == (
        "7 rewrites (5 × `pad_and_mask`, 2 × `static_shape_arithmetic`), of which 6 safe and "
        "1 to review."
    )
    assert lines[4] == "1 dynamic launch refused."


def test_table() -> None:
    rows = cells(markdown.render(samples.reports()))
    assert rows[0] == ["launch", "function", "grid", "outcome", "bound"]
    assert rows[1] == [
        "kernels/rows.py:15",
        "scale",
        "(pl.cdiv(n, BLOCK),)",
        "pad_and_mask, review",
        "pl.cdiv(x.shape[0], BLOCK)",
    ]
    assert rows[8][:4] == [
        "kernels/other, odd%.py:7",
        "Model.step",
        "(steps,)",
        "refused: no-bound",
    ]
    assert rows[9][3] == "unknown"
    assert len(rows) == 10


def test_each_diff_is_there_to_the_letter() -> None:
    report = samples.changed()
    diffs = [fence.content for fence in fences(markdown.render((report,))) if fence.info == "diff"]
    assert len(diffs) == 7
    for diff, rewrite in zip(diffs, report.rewrites, strict=True):
        assert rewrite.patch.endswith("\n" + diff)


def test_source_breaks_out_of_nothing() -> None:
    text = samples.ROWS.replace("def scale(x, n):\n", f"{HOSTILE}def scale(x, n):\n")
    report = samples.changed(text=text, path="a|b`c_d*e.py")
    rendered = markdown.render((report,))
    html = [
        child.content
        for token in tokens(rendered)
        for child in [token, *(token.children or ())]
        if child.type in ("html_block", "html_inline")
    ]
    tags = set(re.findall(r"</?\w+", "".join(html)))
    assert tags == {"<details", "</details", "<summary", "</summary"}
    assert "".join(html).count("<details") == rendered.count("\n<details>\n") == 7
    assert "</details><script>" in fences(rendered)[1].content
    assert cells(rendered)[1][0] == "a|b`c_d*e.py:17"


def test_refusals_say_what_helps() -> None:
    text = markdown.render(samples.reports())
    assert "* `no-bound` (1): Nothing in sight bounds the dimension. Give the bound with" in text
    assert "* `bad.py` could not be handled: line 3: invalid syntax" in text
    assert "line 50: unused pragma" in text


def test_it_fits_a_pull_request() -> None:
    many = [replace(samples.changed(f"kernels/rows{i}.py")) for i in range(40)]
    refused = [samples.refused(f"{'long' * 40}{i}.py") for i in range(300)]
    text = markdown.render([*many, *refused])
    assert 40_000 < len(text) < 65_536
    assert re.search(r"\d+ diffs left out, because the text would be too long", text)
    assert text.count("<details>") == text.count("</details>")
    assert "more launches are not listed." in text


def test_nothing_found() -> None:
    assert markdown.render(()).startswith("## Static grids for Pallas launches\n\n0 launches in 0")
    clean = Clean("a.py", samples.refused().launches[2:3])
    assert "| launch |" not in markdown.render((clean,))


def test_code_spans_and_fences() -> None:
    for text in ("a", "`a`", "a``b", "`", " a "):
        (inline,) = [t for t in tokens(markdown.code(text) or "x") if t.type == "inline"]
        assert inline.children is not None
        assert inline.children[0].content == text.strip()
    assert markdown.code("") == ""
    (fence,) = fences(markdown.fenced("a\n````\n~~~\n```diff", "diff"))
    assert fence.content == "a\n````\n~~~\n```diff\n"


def test_changed_is_what_the_samples_say() -> None:
    assert isinstance(samples.reports()[0], Changed)
