"""Any choice of a file's rewrites gives a text that compiles and has all its names."""

from __future__ import annotations

import itertools
from pathlib import Path

import hypothesis
import hypothesis.strategies as st
import pytest
import report_samples as samples
from pallas_static_grid.model import Changed, Options
from pallas_static_grid.pipeline import examine
from pallas_static_grid.render.page.data import chosen
from pallas_static_grid.render.pieces import compose, split, unresolved_names
from pallas_static_grid.run import project_for
from pallas_static_grid.source import Source, decode


def chain() -> list[str]:
    report = samples.changed()
    return [report.rewrites[0].before, *(rewrite.after for rewrite in report.rewrites)]


def test_every_choice_compiles_and_lacks_no_name() -> None:
    texts = chain()
    composition = compose(texts)
    groups = range(len(composition.groups))
    for size in range(len(composition.groups) + 1):
        for choice in itertools.combinations(groups, size):
            text = composition.text(choice)
            assert unresolved_names(text) == frozenset()
    assert composition.text(()) == texts[0]
    assert composition.text(groups) == texts[-1]


def test_neighbours_and_users_of_a_helper_are_tied() -> None:
    assert compose(chain()).groups == ((0,), (1,), (2,), (3, 4), (5, 6))


def test_an_import_comes_with_any_rewrite_that_needs_it_and_no_other() -> None:
    composition = compose(chain())
    for choice, wanted in (((0,), 0), ((1,), 1), ((2,), 1), ((1, 2), 1), ((3,), 0)):
        assert composition.text(choice).count("import math\n") == wanted
    assert composition.text((2,)).count("math.prod") == 1


def test_two_imports_at_one_place_are_taken_apart() -> None:
    texts = [
        "import os\n\n\ndef f(s):\n    return os\n\n\ndef g(s):\n    return s\n",
        "import math\nimport os\n\n\ndef f(s):\n    return math\n\n\ndef g(s):\n    return s\n",
        "import functools\nimport math\nimport os\n\n\ndef f(s):\n    return math\n\n\n"
        "def g(s):\n    return functools\n",
    ]
    composition = compose(texts)
    assert composition.groups == ((0,), (1,))
    assert composition.text((0,)) == texts[1]
    assert "import math" not in composition.text((1,))
    assert "import functools" in composition.text((1,))


def test_a_rewrite_that_undoes_another_is_tied_to_it() -> None:
    composition = compose(["a = 1\n\n\n\nb = 2\n", "a = 3\n\n\n\nb = 2\n", "a = 4\n\n\n\nb = 5\n"])
    assert composition.groups == ((0, 1),)


def test_a_file_without_a_last_line_end() -> None:
    composition = compose(["a = 1\n\n\n\nb = 2", "a = 3\n\n\n\nb = 2", "a = 3\n\n\n\nb = 5\n"])
    assert composition.groups == ((0,), (1,))
    assert composition.text((0,)) == "a = 3\n\n\n\nb = 2"
    assert composition.text((1,)) == "a = 1\n\n\n\nb = 5\n"


def test_split_counts_lines_as_git_does() -> None:
    assert split("a\r\nb\x0c\u2028c\rd\n\ne") == ["a\r\n", "b\x0c\u2028c\rd\n", "\n", "e"]
    assert split("") == []


def test_unresolved_names() -> None:
    assert unresolved_names("def f(x):\n    return g(x) + len(y)\ny = 1\n") == {"g"}
    assert unresolved_names("def f(x):\n    a = 1\n    return lambda: a + b\n") == {"b"}
    assert unresolved_names("def f(:\n") is None


LINES = st.lists(
    st.sampled_from(["a = 1\n", "b = a\n", "\n", "c = 3\n", "import os\n"]), max_size=9
)


@hypothesis.given(st.lists(LINES, min_size=1, max_size=5), st.data())
def test_the_ends_of_any_chain_come_out(texts: list[list[str]], data: st.DataObject) -> None:
    joined = ["".join(lines) for lines in texts]
    composition = compose(joined)
    everything = range(len(composition.groups))
    assert composition.text(()) == joined[0]
    assert composition.text(everything) == joined[-1]
    assert sorted(itertools.chain(*composition.groups)) == list(range(len(joined) - 1))
    some = data.draw(st.sets(st.sampled_from(list(everything)))) if len(everything) else set()
    assert set(split(composition.text(some))) <= set(itertools.chain(*texts))


FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
CROWDED = (
    "demo/raggedkit/kernels/norms.py",
    "launches/arithmetic_dynamic.py",
    "launches/flow_helpers.py",
    "launches/pattern_splash.py",
    "pad_and_mask/custom_vjp/before.py",
)


@pytest.mark.parametrize("name", CROWDED)
def test_a_group_alone_is_what_the_pipeline_makes_of_its_launches(name: str) -> None:
    file = FIXTURES / name
    source = decode(file.name, file.read_bytes(), file=file)
    assert isinstance(source, Source)
    project = project_for((FIXTURES / "demo",), FIXTURES)
    report = examine(source, Options(), project)
    assert isinstance(report, Changed)
    composition = chosen(report).composition
    assert len(composition.groups) > 1
    for number, group in enumerate(composition.groups):
        ordinals = {report.rewrites[place].ordinal for place in group}
        alone = examine(source, Options(), project, ordinals)
        assert isinstance(alone, Changed)
        assert composition.text((number,)) == alone.after.decode()
