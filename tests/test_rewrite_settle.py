"""Edits end in the layout of the file: re-broken where it is formatted, kept where it is not."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest
from pallas_static_grid.analysis.modules import ModuleContext, parse_module
from pallas_static_grid.model import Edit
from pallas_static_grid.rewrite import syntax
from pallas_static_grid.rewrite.edits import apply
from pallas_static_grid.rewrite.layout import Style
from pallas_static_grid.rewrite.settle import line_edits, settle
from pallas_static_grid.rewrite.style import style_of


def module_of(text: str) -> ModuleContext:
    return parse_module("m.py", text)


def call_of(module: ModuleContext, name: str) -> ast.Call:
    return next(
        node
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == name
    )


def settled(module: ModuleContext, edits: tuple[Edit, ...], style: Style) -> str:
    return apply(module.text, settle(module, edits, style))


NARROW = Style(line_length=40)


def test_a_formatted_call_that_grows_too_long_is_broken() -> None:
    module = module_of("def f():\n    return launch(alpha, beta, gamma)\n")
    edits = syntax.insert_argument(module, call_of(module, "launch"), 0, "number")
    assert settled(module, edits, NARROW) == dedent("""\
        def f():
            return launch(
                number, alpha, beta, gamma
            )
        """)


def test_a_call_in_a_style_of_its_own_keeps_it() -> None:
    text = "def f():\n    return launch(alpha,\n                  beta, gamma)\n"
    module = module_of(text)
    edits = syntax.insert_argument(module, call_of(module, "launch"), 0, "n")
    assert settled(module, edits, NARROW) == text.replace("alpha", "n, alpha")


def test_untouched_statements_stay_as_they_are() -> None:
    text = "x = [1,\n  2]\ny = f( a )\nz = launch(a)\n"
    module = module_of(text)
    edits = syntax.insert_argument(module, call_of(module, "launch"), 1, "b")
    assert settled(module, edits, NARROW) == text.replace("launch(a)", "launch(a, b)")


def test_a_wrapped_body_is_broken_anew_where_it_no_longer_fits() -> None:
    module = module_of("def k(x):\n    out[...] = alpha(beta, gamma, delta, e)\n    y = 1\n")
    function = module.tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    edits = syntax.wrap_body(module, function, "@when(x)\ndef _live():", first=0)
    assert settled(module, edits, Style(line_length=46)) == dedent("""\
        def k(x):
            @when(x)
            def _live():
                out[...] = alpha(
                    beta, gamma, delta, e
                )
                y = 1
        """)


def test_comments_and_magic_commas_survive() -> None:
    text = dedent("""\
        call = launch(
            # the gate
            gate,  # read only
            up,
        )
        """)
    module = module_of(text)
    edits = syntax.insert_argument(module, call_of(module, "launch"), 0, "number")
    assert settled(module, edits, NARROW) == text.replace(
        "    # the gate", "    number,\n    # the gate"
    )


def test_crlf_stays() -> None:
    module = module_of("def f():\r\n    return launch(alpha, beta, gamma)\r\n")
    edits = syntax.insert_argument(module, call_of(module, "launch"), 0, "number")
    after = settled(module, edits, NARROW)
    assert "    return launch(\r\n        number, alpha" in after
    assert after.count("\n") == after.count("\r\n")


def test_a_new_statement_is_laid_out() -> None:
    module = module_of("def f():\n    return launch(a)\n")
    statement = syntax.statement_around(module, call_of(module, "launch"))
    assert statement is not None
    edits = syntax.insert_before(module, statement, "number = make(alpha, beta, gamma, delta)")
    assert "number = make(\n        alpha, beta" in settled(module, edits, NARROW)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "a\n"),
        ("a\nb\nc\n", "a\nx\nc\n"),
        ("a\nb\nc", "a\nb\nd"),
        ("a\nb\n", "b\n"),
        ("a\nb\nc\nd\n", "a\nB\nc\nD\ne\n"),
    ],
)
def test_line_edits_give_the_text(before: str, after: str) -> None:
    assert apply(before, line_edits(before, after)) == after


GOOGLE = """\
def f(self):
  group_metadata, num_active_tiles = make_group_metadata(
      group_sizes=group_sizes, m=m, tm=tm, start_group=group_offset[0], num=8
  )
  call = pl.pallas_call(
      kernel,
      grid=(tiles_n, num_active_tiles, tiles_k),
  )
"""

WIDE = """\
def f(self):
    metadata = make_group_metadata(group_sizes=group_sizes, m=m, tm=tm, start_group=offset[0])
    if self.name == 'x':
        return 'a', 'b'
"""


@pytest.mark.parametrize(
    ("text", "style"),
    [
        (GOOGLE, Style(80, "  ", "    ", '"')),
        (WIDE, Style(100, "    ", "    ", "'")),
        ("x = 1\n", Style(88, "    ", "    ", '"')),
        ("def f():\n\treturn 1\n", Style(88, "\t", "\t", '"')),
    ],
)
def test_style_is_read_off_the_file(text: str, style: Style) -> None:
    assert style_of(module_of(text)) == style


def test_a_configured_line_length_wins() -> None:
    assert style_of(module_of(GOOGLE), 120).line_length == 120
