"""Every fixture in other clothes: comments on every line, other line ends, a byte order mark."""

from __future__ import annotations

import codecs
import io
import tokenize
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from pallas_static_grid.model import Changed, FileReport, Options
from pallas_static_grid.pipeline import examine
from pallas_static_grid.run import project_for
from pallas_static_grid.source import Source, decode

FIXTURES = Path(__file__).parents[1] / "fixtures"
FILES = sorted(
    str(path.relative_to(FIXTURES))
    for pattern in ("*/*/before.py", "demo/**/*.py")
    for path in FIXTURES.glob(pattern)
    if "refused" not in path.parent.name
)


def examined(name: str, data: bytes) -> FileReport:
    source = decode("x.py", data, file=FIXTURES / name)
    assert isinstance(source, Source)
    return examine(source, Options(), project_for((), Path.cwd()))


def result(name: str, data: bytes) -> bytes:
    """The file after its rewrites; as it is where there are none."""
    report = examined(name, data)
    return report.after if isinstance(report, Changed) else data


@cache
def plain(name: str) -> tuple[bytes, bytes]:
    data = (FIXTURES / name).read_bytes()
    return data, result(name, data)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("end", [b"\r\n", b"\r"])
def test_line_ends_make_no_difference(name: str, end: bytes) -> None:
    data, after = plain(name)
    assert result(name, data.replace(b"\n", end)) == after.replace(b"\n", end)


@pytest.mark.parametrize("name", FILES)
def test_a_byte_order_mark_makes_no_difference(name: str) -> None:
    data, after = plain(name)
    assert result(name, codecs.BOM_UTF8 + data) == codecs.BOM_UTF8 + after


def commented(text: str) -> str:
    """`text` with a comment at the end of each line that can carry one."""
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        line = token.start[0]
        if token.type in (tokenize.NL, tokenize.NEWLINE) and lines[line - 1].strip():
            lines[line - 1] += f"  # on line {line}"
    return "\n".join(lines) + "\n"


def comments(text: str) -> Counter[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return Counter(token.string for token in tokens if token.type == tokenize.COMMENT)


@pytest.mark.parametrize("name", FILES)
def test_no_comment_is_lost_and_none_keeps_a_launch_from_being_rewritten(name: str) -> None:
    data, after = plain(name)
    text = commented(data.decode())
    found = result(name, text.encode()).decode()
    assert comments(text) - comments(found) == Counter()
    assert (found == text) == (after == data)
