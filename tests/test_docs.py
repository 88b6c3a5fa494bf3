"""The docs: generated pages are up to date, and every link in them leads somewhere."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from pallas_static_grid.catalogue import REFUSALS, transforms
from pallas_static_grid.errors import explain_error

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
LINK = re.compile(r"\]\(([^)\s]+)\)")


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_pages_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, DOCS / "generate.py", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, f"{done.stderr}run: python docs/generate.py"


def test_drift_is_found(tmp_path: Path) -> None:
    module = generator()
    pages = module.pages()
    module.DOCS = tmp_path
    assert len(module.stale(pages)) == len(pages)
    assert module.main([]) == 0
    assert module.stale(pages) == []
    (tmp_path / "refusals" / "no-such-code.md").write_text("old")
    (tmp_path / "errors.md").write_text("changed")
    assert module.stale(pages) == [
        "errors.md is not up to date",
        "refusals/no-such-code.md describes nothing that exists",
    ]


def test_one_page_for_each_code_and_transform() -> None:
    codes = {page.stem for page in (DOCS / "refusals").glob("*.md")} - {"README"}
    names = {page.stem for page in (DOCS / "transforms").glob("*.md")} - {"README"}
    assert codes == set(REFUSALS)
    assert names == {info.name for info in transforms()}


def test_readme_has_every_transform_and_no_other() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"\]\(docs/transforms/(\w+)\.md\)", text)
    assert named == [info.name for info in transforms()]


@pytest.mark.parametrize(
    "page",
    [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    prose = re.sub(r"```.*?```|`[^`]*`", "code", text, flags=re.DOTALL)
    for target in LINK.findall(prose):
        if target.startswith(("https://", "http://")):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), f"{page.name} links to {target}"
        if anchor:
            assert anchor in anchors(file), f"{page.name} links to {target}"


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_errors_quoted_in_the_docs_are_known() -> None:
    text = (DOCS / "errors.md").read_text(encoding="utf-8")
    quoted = re.findall(r"```text\n(.+?)\n```", text, re.DOTALL)
    assert len(quoted) > 10
    assert all(explain_error(message) is not None for message in quoted)


def test_yaml_in_the_docs_is_yaml() -> None:
    yaml = pytest.importorskip("yaml")
    blocks = [
        block
        for page in (ROOT / "README.md", *DOCS.rglob("*.md"))
        for block in re.findall(r"```yaml\n(.+?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    ]
    assert blocks
    assert all(isinstance(yaml.safe_load(block), dict | list) for block in blocks)
