"""The patches of all fixtures, as one patch and as mails, taken by git and by patch."""

from __future__ import annotations

from pathlib import Path

import pytest
from pallas_static_grid.model import Changed, Options
from pallas_static_grid.render import mbox, unified
from pallas_static_grid.render.unified import to_bytes
from pallas_static_grid.run import Run, run_paths
from patch_tools import Repository, git

FIXTURES = Path(__file__).parents[1] / "fixtures"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A repository with every file that fixtures rewrite, and the demo."""
    made = Repository(tmp_path_factory.mktemp("fixtures"))
    sources = [*FIXTURES.glob("*/*/before.py"), *FIXTURES.glob("demo/**/*.py")]
    made.start({str(path.relative_to(FIXTURES)): path.read_bytes() for path in sources})
    return made


@pytest.fixture(scope="module")
def run(repository: Repository) -> Run:
    """One run over all of them."""
    return run_paths((".",), repository.root, Options())


@pytest.fixture(autouse=True)
def fresh(repository: Repository) -> None:
    """Every test starts from the first commit."""
    first = git(repository.root, "rev-list", "--max-parents=0", "HEAD").decode().strip()
    git(repository.root, "reset", "-q", "--hard", first)


def changes(run: Run) -> list[Changed]:
    return [report for report in run.reports if isinstance(report, Changed)]


def rewritten(repository: Repository, run: Run) -> bool:
    """Whether the work tree is as the reports say, and otherwise as it was."""
    for report in changes(run):
        if (repository.root / report.path).read_bytes() != report.after:
            return False
    names = git(repository.root, "diff", "--name-only", "HEAD").decode().splitlines()
    return set(names) <= {report.path for report in changes(run)}


def test_there_is_much_to_try(run: Run) -> None:
    assert len(changes(run)) > 50


def test_git_apply(repository: Repository, run: Run) -> None:
    repository.apply(to_bytes(unified.render(run.reports)))
    assert rewritten(repository, run)


def test_patch(repository: Repository, run: Run) -> None:
    repository.patch_p1(to_bytes(unified.render(run.reports)))
    assert rewritten(repository, run)


def test_git_am(repository: Repository, run: Run) -> None:
    repository.am(to_bytes(mbox.render(run.reports)))
    assert rewritten(repository, run)
    count = int(git(repository.root, "rev-list", "--count", "HEAD"))
    assert count == 1 + sum(len(report.rewrites) for report in changes(run))
