"""Pragmas: only comments count, names are checked, a pragma can be left behind."""

from __future__ import annotations

import ast

import pytest
from pallas_static_grid.pragmas import Pragma, find_pragmas, with_pragma


def lines(text: str) -> list[tuple[int, bool, tuple[str, ...]]]:
    return [(p.line, p.whole_file, p.transforms) for p in find_pragmas(text).pragmas]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 1  # pallas-static-grid: ignore\n", [(1, False, ())]),
        ("a = 1  #pallas-static-grid:ignore\n", [(1, False, ())]),
        ("a = 1  # noqa  # pallas-static-grid: ignore  because\n", [(1, False, ())]),
        ("\n# pallas-static-grid: ignore-file\n", [(2, True, ())]),
        ("f(  # pallas-static-grid: ignore[pad_and_mask]\n)\n", [(1, False, ("pad_and_mask",))]),
        ("a = 1  # pallas-static-grid: ignore[a, b]\n", [(1, False, ("a", "b"))]),
        ("a = 1\r\nb = 2  # pallas-static-grid: ignore\r\n", [(2, False, ())]),
        ("a = 1\rb = 2  # pallas-static-grid: ignore\r", [(2, False, ())]),
        ("a = '# pallas-static-grid: ignore'\n", []),
        ('"""\n# pallas-static-grid: ignore-file\n"""\n', []),
        ("a = 1  # about pallas-static-grid\n", []),
        ("a = 1\n", []),
    ],
)
def test_only_comments_are_pragmas(
    text: str, expected: list[tuple[int, bool, tuple[str, ...]]]
) -> None:
    found = find_pragmas(text)
    assert lines(text) == expected
    assert found.malformed == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = 1  # pallas-static-grid: ignored\n", "is no pragma"),
        ("a = 1  # pallas-static-grid: skip\n", "is no pragma"),
        ("a = 1  # pallas-static-grid: ignore-file[x]\n", "is no pragma"),
        ("a = 1  # pallas-static-grid: ignore[]\n", "names no transform"),
        ("a = 1  # pallas-static-grid: ignore-file\n", "on a line of its own"),
    ],
)
def test_comments_that_want_to_be_pragmas_are_told(text: str, message: str) -> None:
    found = find_pragmas(text)
    assert found.pragmas == ()
    ((line, told),) = found.malformed
    assert line == 1
    assert message in told


def test_what_covers_a_launch() -> None:
    found = find_pragmas(
        "# pallas-static-grid: ignore-file\na(  # pallas-static-grid: ignore\n)\nb()\n"
    )
    assert found.covering(2, 3) == (Pragma(2, "# pallas-static-grid: ignore"),)
    assert found.covering(4, 4) == ()
    assert found.covering(1, 1) == ()
    assert found.ignore_file is not None


def test_a_file_that_does_not_tokenize_still_gives_the_pragmas_above() -> None:
    text = "# pallas-static-grid: ignore-file\ndef (:\n    'open\n"
    assert find_pragmas(text).ignore_file is not None


@pytest.mark.parametrize(
    ("text", "first", "last", "line"),
    [
        ("r = f(\n    x,\n)\n", 1, 3, 1),
        ("r = f(  # why\n    x,\n)\n", 1, 3, 1),
        ('r = f("""\n""", \\\n    x)\n', 1, 3, 3),
        ("r = f(x)", 1, 1, 1),
        ("a = 1\r\nr = f(\r\n    x,\r\n)\r\n", 2, 4, 2),
    ],
)
def test_a_pragma_is_left_where_a_comment_may_stand(
    text: str, first: int, last: int, line: int
) -> None:
    out = with_pragma(text, first, last)
    assert out is not None
    assert ast.dump(ast.parse(out)) == ast.dump(ast.parse(text))
    assert [p.line for p in find_pragmas(out).pragmas] == [line]
    assert out.replace("  # pallas-static-grid: ignore", "") == text


def test_no_pragma_can_be_left_inside_a_string() -> None:
    assert with_pragma('r = f("""\n""", \\\n    x)\n', 1, 2) is None
