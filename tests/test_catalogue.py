"""Every refusal code is documented, every documented one is used, and so for the transforms."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pallas_static_grid
from pallas_static_grid.catalogue import OPT_IN, REFUSALS, TRANSFORMS, transforms

PACKAGE = Path(pallas_static_grid.__file__).parent
CODE = re.compile(r"[a-z]+(-[a-z0-9]+)*")


def modules() -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.name != "catalogue.py":
            yield path, ast.parse(path.read_bytes())


def refusing_calls(tree: ast.Module) -> Iterator[str]:
    """The codes that stand in calls of `Refusal` and of functions that make one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if re.search("refus", name, re.IGNORECASE):
                for argument in node.args[:2]:
                    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                        yield argument.value


def test_every_code_in_use_is_listed() -> None:
    missing = {
        (path.name, code)
        for path, tree in modules()
        for code in refusing_calls(tree)
        if CODE.fullmatch(code) and code not in REFUSALS
    }
    assert not missing


def test_every_listed_code_is_in_use() -> None:
    constants = {
        node.value
        for _, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert set(REFUSALS) <= constants


def test_entries_are_sentences() -> None:
    for code, entry in REFUSALS.items():
        assert CODE.fullmatch(code)
        assert entry.code == code
        assert not entry.title.endswith(".")
        assert entry.title[0].isupper()
        assert entry.meaning.endswith(".")
        assert entry.next_step.endswith(".")
        assert "  " not in entry.meaning + entry.next_step


def test_transforms_are_those_that_run() -> None:
    from pallas_static_grid.transforms import TRANSFORMS as RUN

    present = transforms()
    assert [info.name for info in present] == [transform.name for transform in RUN]
    assert set(TRANSFORMS) >= {info.name for info in present}
    assert {info.name for info in present if not info.default} <= OPT_IN


def test_every_transform_says_what_it_does() -> None:
    for info in transforms():
        assert info.summary.endswith(".")
        assert len(info.summary) < 200
        assert len(info.text.split()) > 40, f"{info.name}: the docstring is the documentation"


def test_the_catalogue_brings_nothing_in() -> None:
    """`explain` must be quick: no LibCST, rich or JAX."""
    code = (
        "import sys, pallas_static_grid.catalogue, pallas_static_grid.errors\n"
        "from pallas_static_grid.catalogue import transforms; transforms()\n"
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'libcst', 'rich', 'jax', 'click'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
