"""GitHub's workflow commands, read back as the runner reads them."""

from __future__ import annotations

import re

import report_samples as samples
from pallas_static_grid.render import github

COMMAND = re.compile(r"::(error|warning|notice) ([^:]*)::(.*)")


def commands() -> list[tuple[str, dict[str, str], str]]:
    found = []
    for line in github.render(samples.reports()).splitlines():
        match = COMMAND.fullmatch(line)
        assert match is not None, line
        level, properties, message = match.groups()
        read = dict(item.split("=", 1) for item in properties.split(","))
        found.append((level, {k: unescaped(v) for k, v in read.items()}, unescaped(message)))
    return found


def unescaped(text: str) -> str:
    for code, character in (("3A", ":"), ("2C", ","), ("0D", "\r"), ("0A", "\n"), ("25", "%")):
        text = text.replace(f"%{code}", character)
    return text


def test_levels_and_places() -> None:
    found = [(level, p["file"], p.get("line")) for level, p, _ in commands()]
    assert found == [
        *(("warning", "kernels/rows.py", str(n)) for n in (15, 24, 29, 33, 34, 39, 43)),
        ("warning", "kernels/other, odd%.py", "7"),
        ("notice", "kernels/other, odd%.py", "17"),
        ("error", "bad.py", None),
        ("warning", "kernels/other, odd%.py", None),
    ]


def test_messages_survive_the_escaping() -> None:
    _, properties, message = commands()[7]
    assert properties["title"] == "Dynamic Pallas grid, no rewrite"
    assert properties["endLine"] == "9"
    assert message.split("\n")[0] == (
        "Grid dimension 0 is dynamic: `steps` is an operand: 50% dynamic, or more (line 3)."
    )
    assert message.endswith("no-bound: nothing in sight bounds `steps`\ngive one with `--bound`")


def test_plans_are_named() -> None:
    _, _, message = commands()[0]
    assert message.endswith("pad_and_mask (review): makes grid 0 <static>")


def test_nothing_to_say() -> None:
    assert github.render(()) == ""
