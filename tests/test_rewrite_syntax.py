"""Edits of calls, displays, signatures and bodies."""

from __future__ import annotations

import ast
from textwrap import dedent
from typing import TypeVar

import pytest
from pallas_static_grid.analysis.modules import ModuleContext, parse_module
from pallas_static_grid.model import Edit, Span
from pallas_static_grid.rewrite import syntax
from pallas_static_grid.rewrite.edits import EditConflict, apply, insertion

Node = TypeVar("Node", bound=ast.AST)


def module_of(text: str) -> ModuleContext:
    return parse_module("m.py", text)


def first(module: ModuleContext, kind: type[Node]) -> Node:
    return next(node for node in ast.walk(module.tree) if isinstance(node, kind))


def changed(module: ModuleContext, edits: tuple[Edit, ...]) -> str:
    after = apply(module.text, edits)
    ast.parse(after)
    return after


class TestEdits:
    def test_identical_edits_are_made_once(self) -> None:
        edit = insertion(0, "import math\n")
        assert apply("x\n", [edit, edit]) == "import math\nx\n"

    def test_insertions_at_one_place_keep_their_order(self) -> None:
        assert apply("c", [insertion(0, "a"), insertion(0, "b")]) == "abc"

    def test_an_insertion_at_either_end_of_a_replacement_stays_outside(self) -> None:
        edits = [Edit(Span(1, 3), "XX"), insertion(1, "<"), insertion(3, ">")]
        assert apply("a12b", edits) == "a<XX>b"

    @pytest.mark.parametrize(
        "edits",
        [
            [Edit(Span(0, 3), "a"), Edit(Span(2, 4), "b")],
            [Edit(Span(0, 3), "a"), Edit(Span(0, 3), "b")],
            [Edit(Span(0, 3), "a"), Edit(Span(0, 2), "b")],
            [Edit(Span(0, 3), "a"), insertion(1, "b")],
            [Edit(Span(3, 99), "a")],
        ],
    )
    def test_conflicts_are_found_before_anything_is_applied(self, edits: list[Edit]) -> None:
        with pytest.raises(EditConflict, match="line 1"):
            apply("abcdef", edits)

    def test_a_conflict_names_its_line(self) -> None:
        with pytest.raises(EditConflict) as caught:
            apply("a\nb\nc\n", [Edit(Span(4, 5), "x"), Edit(Span(4, 6), "y")])
        assert caught.value.line == 3


@pytest.mark.parametrize(
    ("before", "index", "after"),
    [
        ("f()", 0, "f(new)"),
        ("f(a)", 0, "f(new, a)"),
        ("f(a)", 1, "f(a, new)"),
        ("f(a, *b, c=1)", 1, "f(a, new, *b, c=1)"),
        ("f(a, b,)", 2, "f(a, b, new,)"),
        ("f((a), b)", 1, "f((a), new, b)"),
        ("f(lambda i, j: (i, j), b)", 1, "f(lambda i, j: (i, j), new, b)"),
        ("f(lambda x=lambda y, z: y, z=1: z, b)", 1, "f(lambda x=lambda y, z: y, z=1: z, new, b)"),
        ("f(a)(b)", 0, "f(a)(new, b)"),
        ("(f)(b)", 0, "(f)(new, b)"),
        ("f(x[1, 2], {1: 2})", 1, "f(x[1, 2], new, {1: 2})"),
        ("f(f'{a, b:>{w}}', b)", 1, "f(f'{a, b:>{w}}', new, b)"),
        ("f(\n    a,  # one\n    b,  # two\n)", 1, "f(\n    a,  # one\n    new,\n    b,  # two\n)"),
        ("f(\n    a,  # one\n)", 1, "f(\n    a,  # one\n    new,\n)"),
        ("f(\n    a  # one\n)", 1, "f(\n    a,  # one\n    new\n)"),
        ("f(\n    # about a\n    a,\n)", 0, "f(\n    new,\n    # about a\n    a,\n)"),
        ("f(  # open\n    a,\n)", 0, "f(  # open\n    new,\n    a,\n)"),
        ("f(\n    a, b\n)", 2, "f(\n    a, b, new\n)"),
        ("f(a,\n  b)", 1, "f(a,\n  new,\n  b)"),
        ("f(a,\n  b)", 2, "f(a,\n  b, new)"),
        ("f(\n    a\n    , b)", 1, "f(\n    a\n    , new, b)"),
    ],
)
def test_insert_argument(before: str, index: int, after: str) -> None:
    module = module_of(before)
    statement = module.tree.body[0]
    assert isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
    assert changed(module, syntax.insert_argument(module, statement.value, index, "new")) == after


@pytest.mark.parametrize(
    ("before", "index", "after"),
    [
        ("()", 0, "(new,)"),
        ("(a,)", 1, "(a, new)"),
        ("(a,)", 0, "(new, a,)"),
        ("(a, b)", 1, "(a, new, b)"),
        ("a, b", 2, "a, b, new"),
        ("a, b", 0, "new, a, b"),
        ("(a, b), c", 1, "(a, b), new, c"),
        ("(a), c", 0, "new, (a), c"),
        ("[]", 0, "[new]"),
        ("[a]", 1, "[a, new]"),
        ("[\n    a,\n]", 1, "[\n    a,\n    new,\n]"),
        ("[\r\n    a,\r\n]", 0, "[\r\n    new,\r\n    a,\r\n]"),
        ("{x for x in y}, [é, b]", 1, "{x for x in y}, new, [é, b]"),
    ],
)
def test_insert_element(before: str, index: int, after: str) -> None:
    module = module_of(before)
    statement = module.tree.body[0]
    assert isinstance(statement, ast.Expr)
    assert changed(module, syntax.insert_element(module, statement.value, index, "new")) == after


@pytest.mark.parametrize(
    ("before", "index", "after"),
    [
        ("lambda: 0", 0, "lambda new: 0"),
        ("lambda i: 0", 0, "lambda new, i: 0"),
        ("lambda i, *_: 0", 1, "lambda i, new, *_: 0"),
        ("lambda i, k={1: 2}[1]: 0", 1, "lambda i, new, k={1: 2}[1]: 0"),
        ("lambda i=lambda j: j: 0", 1, "lambda i=lambda j: j, new: 0"),
        ("def f(): pass", 0, "def f(new): pass"),
        ("def f(x: dict[str, int] = {}, *, y=(1, 2)): pass", 0,
         "def f(new, x: dict[str, int] = {}, *, y=(1, 2)): pass"),
        ("@g(1, 2)\nasync def f(\n    a,\n    b,\n):\n    pass", 1,
         "@g(1, 2)\nasync def f(\n    a,\n    new,\n    b,\n):\n    pass"),
    ],
)  # fmt: skip
def test_insert_parameter(before: str, index: int, after: str) -> None:
    module = module_of(before)
    function = first(module, ast.Lambda) if "def" not in before else module.tree.body[0]
    assert isinstance(function, ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef)
    edits = syntax.insert_parameter(module, function, index, "new")
    text = apply(before, edits)
    assert text == after


def test_rename_parameter_leaves_inner_functions_that_bind_it_alone() -> None:
    module = module_of(
        dedent("""\
        def f(n, x):
            g = lambda n: n + 1
            def h(y=n):
                return n + y
            return n, x.n, g(n=2)
        """)
    )
    function = module.tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    assert changed(module, syntax.rename_parameter(module, function, "n", "m")) == dedent("""\
        def f(m, x):
            g = lambda n: n + 1
            def h(y=m):
                return m + y
            return m, x.n, g(n=2)
        """)


@pytest.mark.parametrize(
    ("before", "name", "value"),
    [
        ("f(grid=(a,), x=1)", "grid", "(a,)"),
        ("f(grid=(a), x=1)", "grid", "(a)"),
        ("f(x, grid = ( # why\n  a))", "grid", "( # why\n  a)"),
    ],
)
def test_keyword_span_covers_the_value_with_its_parentheses(
    before: str, name: str, value: str
) -> None:
    module = module_of(before)
    span = syntax.keyword_span(module, first(module, ast.Call), name)
    assert span is not None and span.of(before) == value


@pytest.mark.parametrize(
    ("before", "index", "after"),
    [
        ("f(a, b, c)", 0, "f(b, c)"),
        ("f(a, b, c)", 1, "f(a, c)"),
        ("f(a, b, c)", 2, "f(a, b)"),
        ("f(a)", 0, "f()"),
        ("f(a,)", 0, "f()"),
        ("f(\n    a,\n    b,\n)", 0, "f(\n    b,\n)"),
    ],
)
def test_remove_item(before: str, index: int, after: str) -> None:
    module = module_of(before)
    brackets = syntax.call_brackets(module, first(module, ast.Call))
    assert changed(module, syntax.remove_item(before, brackets, index)) == after


HEADER = "@pl.when(live)\ndef _live_block():"


def wrapped(before: str, *, first_statement: int = 0, last: int | None = None) -> str:
    module = module_of(before)
    function = first(module, ast.FunctionDef)
    edits = syntax.wrap_body(module, function, HEADER, first=first_statement, last=last)
    return changed(module, edits)


class TestWrapBody:
    def test_whole_body(self) -> None:
        assert wrapped("def k(x):\n    # why\n    a = 1\n\n    b = 2\nz = 1\n") == dedent("""\
            def k(x):
                @pl.when(live)
                def _live_block():
                    # why
                    a = 1

                    b = 2
            z = 1
            """)

    def test_after_a_first_statement_a_blank_line_is_set(self) -> None:
        before = "def k(x):\n    step = 1\n    # why\n    a = 1\n"
        assert wrapped(before, first_statement=1) == dedent("""\
            def k(x):
                step = 1

                @pl.when(live)
                def _live_block():
                    # why
                    a = 1
            """)

    def test_statements_behind_the_block_stay_outside(self) -> None:
        before = "def k(x):\n    a = 1  # one\n    b = 2\n"
        assert wrapped(before, last=1) == dedent("""\
            def k(x):
                @pl.when(live)
                def _live_block():
                    a = 1  # one

                b = 2
            """)

    def test_lines_inside_strings_stay_as_they_are(self) -> None:
        before = 'def k(x):\n    a = """\n  one\n    two"""\n    b = ("x"\n         "y")\n'
        after = wrapped(before)
        assert '        a = """\n  one\n    two"""\n' in after
        assert '        b = ("x"\n             "y")\n' in after

    def test_f_strings_over_several_lines_stay_as_they_are(self) -> None:
        before = 'def k(x):\n    a = f"""\n  {x}\n    two"""\n    b = 1\n'
        assert 'a = f"""\n  {x}\n    two"""\n        b = 1\n' in wrapped(before)

    def test_shallow_and_trailing_comments(self) -> None:
        before = "def k(x):\n    a = 1\n# off\n    b = 2\n\n    # tail\n\n# next\ny = 1\n"
        assert wrapped(before) == dedent("""\
            def k(x):
                @pl.when(live)
                def _live_block():
                    a = 1
            # off
                    b = 2

                    # tail

            # next
            y = 1
            """)

    def test_body_on_the_line_of_the_def(self) -> None:
        assert wrapped("def k(x): a = 1; b = 2\n") == dedent("""\
            def k(x):
                @pl.when(live)
                def _live_block():
                    a = 1; b = 2
            """)

    def test_decorated_first_statement_and_crlf(self) -> None:
        before = "def k(x):\r\n    @pl.when(x)\r\n    def _():\r\n        a = 1\r\n"
        after = wrapped(before)
        assert "\n" not in after.replace("\r\n", "")
        assert "    def _live_block():\r\n        @pl.when(x)\r\n        def _():\r\n" in after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1\ny = launch(x)\n", "x = 1\nnew = 1\ny = launch(x)\n"),
        ("x = 1\n# why\ny = launch(x)\n", "x = 1\nnew = 1\n# why\ny = launch(x)\n"),
        ("if x:\n  return_ = launch(x)\n", "if x:\n  new = 1\n  return_ = launch(x)\n"),
        ("x = 1; y = launch(x)\n", "x = 1\nnew = 1\ny = launch(x)\n"),
        ("if x: launch(x); y = 2\n", "if x:\n    new = 1\n    launch(x); y = 2\n"),
        ("if x: y = 2; launch(x)\n", "if x:\n    y = 2\n    new = 1\n    launch(x)\n"),
        ("@launch(x)\n@other\ndef f(): pass\n", "new = 1\n@launch(x)\n@other\ndef f(): pass\n"),
        ("with a:\n\ty = launch(x)\n", "with a:\n\tnew = 1\n\ty = launch(x)\n"),
        ("y = launch(x) and x\n", "new = 1\ny = launch(x) and x\n"),
        ("y = a if launch(x) else b\n", "new = 1\ny = a if launch(x) else b\n"),
        ("y = a < launch(x) < b\n", "new = 1\ny = a < launch(x) < b\n"),
        ("y = launch(x) + (x := 2)\n", "new = 1\ny = launch(x) + (x := 2)\n"),
    ],
)
def test_insert_before(before: str, after: str) -> None:
    module = module_of(before)
    call = next(
        n
        for n in ast.walk(module.tree)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "launch"
    )
    statement = syntax.statement_around(module, call)
    assert statement is not None
    assert changed(module, syntax.insert_before(module, statement, "new = 1")) == after


@pytest.mark.parametrize(
    "before",
    [
        "while launch(x): pass\n",
        "if a:\n    pass\nelif launch(x):\n    pass\n",
        "f = lambda x: launch(x)\n",
        "y = [launch(x) for x in z]\n",
        "y = x if x is None else launch(x)\n",
        "y = launch(x) if x else x\n",
        "y = x and launch(x)\n",
        "y = a < b < launch(x)\n",
        "assert x, launch(x)\n",
        "with a as x, launch(x):\n    pass\n",
        "match x:\n    case 1 if launch(x):\n        pass\n",
        "y = [x := x + 1, launch(x)]\n",
    ],
)
def test_no_place_before_what_runs_again_or_only_sometimes(before: str) -> None:
    module = module_of(before)
    call = first(module, ast.Call)
    assert syntax.statement_around(module, call) is None


def test_a_definition_may_stand_before_what_is_skipped() -> None:
    module = module_of("def f(x):\n    return [spec(x) if x else None]\n")
    call = first(module, ast.Call)
    assert syntax.statement_around(module, call) is None
    statement = syntax.statement_around(module, call, defines=True)
    assert isinstance(statement, ast.Return)
