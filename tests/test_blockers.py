"""Blockers are named with their line, and nothing else is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pallas_static_grid.analysis import analyse
from pallas_static_grid.analysis.facts import LaunchFacts
from pallas_static_grid.analysis.modules import parse_module
from pallas_static_grid.analysis.project import Project

PATH = Path(__file__).parent.parent / "fixtures" / "bounds" / "blockers.py"
LINES = PATH.read_text().splitlines()
MARK = re.compile(r"# blocks ([\w, ]+): ([^#]+)")


def labels() -> list[tuple[str, int, str]]:
    """(target, line, part of the reason) of every mark."""
    return [
        (target.strip(), number, mark[2].strip())
        for number, line in enumerate(LINES, 1)
        for mark in MARK.finditer(line)
        for target in mark[1].split(",")
        if not line.startswith("`")
    ]


FACTS = analyse(
    parse_module("blockers.py", PATH.read_text(), "blockers", file=PATH), Project((PATH.parent,))
)


def test_every_label_is_found_and_nothing_else() -> None:
    found = {(b.target, b.line): b.reason for f in FACTS for b in f.launch.blockers}
    expected = {(target, line): part for target, line, part in labels()}
    assert set(found) == set(expected)
    for key, part in expected.items():
        assert part in found[key]


@pytest.mark.parametrize("facts", FACTS, ids=lambda f: str(f.launch.function))
def test_the_blockers_of_a_launch_are_in_its_function_or_what_it_calls(facts: LaunchFacts) -> None:
    launch = facts.launch
    inside = {b.line for b in launch.blockers if b.line >= launch.function_line}
    assert len(inside) >= len({b.line for b in launch.blockers}) - 1
    assert len({(b.target, b.line, b.reason) for b in launch.blockers}) == len(launch.blockers)


@pytest.mark.parametrize(
    "function",
    [
        "nothing_in_the_way",
        "prefetch_spec_without_prefetch",
        "whole_array_in_hbm",
        "one_step_only",
        "every_axis_is_used",
    ],
)
def test_nothing_is_in_the_way(function: str) -> None:
    (facts,) = [f for f in FACTS if f.launch.function == function]
    assert facts.launch.blockers == ()
