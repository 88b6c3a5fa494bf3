"""Texts of syntax nodes as reports show them."""

from __future__ import annotations

import ast

import pytest
from pallas_static_grid.analysis.modules import parse_module


@pytest.mark.parametrize(
    ("source", "flat"),
    [
        ("(a,  b)", "(a, b)"),
        ("(a,  # first\n b)", "(a, b)"),
        ("(a,  # first\r\n b)", "(a, b)"),
        ("(  # é, '#'\n a, # x # y\n f('#a'),\n)", "( a, f('#a'), )"),
        ("(f('# no comment'),\n b)", "(f('# no comment'), b)"),
        ("(f('''#\n'''),  # one\n b)", "(f('''# '''), b)"),
        ("(f('\u2028'),  # one\n b)", "(f(' '), b)"),
    ],
)
def test_an_expression_is_shown_on_one_line_without_comments(source: str, flat: str) -> None:
    module = parse_module("m.py", f"ä = {source}\n", "m")
    (statement,) = module.tree.body
    assert isinstance(statement, ast.Assign)
    assert module.flat(statement.value) == flat
