"""Paths to files: git's ignore rules, excludes, links, named files, notebooks."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from pallas_static_grid.discover import Discovery, Excludes, MissingPath, discover
from pallas_static_grid.model import Failed, Skipped

SITE = "from jax.experimental import pallas as pl\nr = pl.pallas_call(k, grid=(4,), out_shape=s)\n"
PLAIN = "import os\n"


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True)


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def found(discovery: Discovery) -> list[str]:
    return [candidate.path for candidate in discovery.candidates]


def reasons(discovery: Discovery) -> dict[str, str]:
    return {
        report.path: report.reason if isinstance(report, Skipped) else report.message
        for report in discovery.settled
        if isinstance(report, Skipped | Failed)
    }


@pytest.fixture
def repository(workspace: Path) -> Path:
    git(workspace, "init", "-q")
    return workspace


def test_a_directory_is_walked_and_files_without_a_launch_are_settled(workspace: Path) -> None:
    write(workspace, {"b.py": SITE, "a/c.py": SITE, "d.py": PLAIN, "e.txt": SITE, "f.pyi": SITE})
    discovery = discover((), workspace)
    assert found(discovery) == ["a/c.py", "b.py"]
    assert reasons(discovery) == {"d.py": "no launch"}
    assert discovery.scanned == 3
    assert discovery.roots == (workspace.resolve(),)


def test_a_named_file_is_always_read(repository: Path) -> None:
    write(repository, {".gitignore": "*.py\n", "a.py": PLAIN, "b.txt": SITE, "c.py": SITE})
    assert found(discover((".",), repository)) == []
    assert found(discover(("a.py", "b.txt"), repository, ("a.py", "b.txt"))) == ["a.py", "b.txt"]


def test_a_missing_path_is_told(workspace: Path) -> None:
    with pytest.raises(MissingPath, match=r"nowhere\.py"):
        discover(("nowhere.py",), workspace)


def test_git_ignore_rules_are_followed_in_a_repository(repository: Path) -> None:
    write(
        repository,
        {
            ".gitignore": "build/\n*_gen.py\n!keep_gen.py\n",
            "a.py": SITE,
            "build/b.py": SITE,
            "x_gen.py": SITE,
            "keep_gen.py": SITE,
            "sub/.gitignore": "c.py\n",
            "sub/c.py": SITE,
            "sub/d.py": SITE,
            "tracked_gen.py": SITE,
            "gone.py": SITE,
        },
    )
    git(repository, "add", "-f", "tracked_gen.py", "gone.py", "a.py")
    (repository / "gone.py").unlink()
    expected = ["a.py", "keep_gen.py", "sub/d.py", "tracked_gen.py"]
    discovery = discover((".",), repository)
    assert found(discovery) == expected
    assert "gone.py" not in reasons(discovery)


def test_from_a_subdirectory_paths_are_relative_to_it(repository: Path) -> None:
    write(repository, {"sub/a.py": SITE, "other/b.py": SITE, ".gitignore": "skip.py\n"})
    write(repository, {"sub/skip.py": SITE})
    here = repository / "sub"
    assert found(discover((), here)) == ["a.py"]
    discovery = discover(("..",), here)
    assert found(discovery) == ["../other/b.py", "a.py"]
    assert [c.patch_path for c in discovery.candidates] == ["other/b.py", "sub/a.py"]


def test_an_ignored_directory_that_is_named_is_walked(repository: Path) -> None:
    write(repository, {".gitignore": ".venv/\n", ".venv/lib/a.py": SITE, "b.py": SITE})
    assert found(discover((".",), repository)) == ["b.py"]
    assert found(discover((".venv/lib",), repository)) == [".venv/lib/a.py"]


def test_repositories_inside_a_repository_are_walked_by_their_own_rules(repository: Path) -> None:
    write(repository, {"inner/.gitignore": "no.py\n", "inner/no.py": SITE, "inner/yes.py": SITE})
    git(repository / "inner", "init", "-q")
    discovery = discover((".",), repository)
    assert found(discovery) == ["inner/yes.py"]
    assert discovery.candidates[0].patch_path == "yes.py"


def test_outside_a_repository_hidden_and_installed_folders_are_passed_over(
    workspace: Path,
) -> None:
    write(
        workspace,
        {
            ".hidden/a.py": SITE,
            "env/pyvenv.cfg": "",
            "env/b.py": SITE,
            "__pycache__/c.py": SITE,
            "node_modules/d.py": SITE,
            "e.py": SITE,
        },
    )
    assert found(discover((".",), workspace)) == ["e.py"]
    assert found(discover((".hidden", "env"), workspace)) == [".hidden/a.py", "env/b.py"]


@pytest.mark.parametrize(
    ("pattern", "excluded"),
    [
        ("tests", {"tests/a.py", "src/tests/b.py"}),
        ("tests/", {"tests/a.py", "src/tests/b.py"}),
        ("tests/*", {"tests/a.py"}),
        ("*/tests", {"src/tests/b.py"}),
        ("*_slow.py", {"src/x_slow.py"}),
        ("./src/x_slow.py", {"src/x_slow.py"}),
        ("src", {"src/tests/b.py", "src/x_slow.py"}),
        ("other", set()),
        ("x", set()),
    ],
)
def test_excludes(workspace: Path, pattern: str, excluded: set[str]) -> None:
    files = {"tests/a.py", "src/tests/b.py", "src/x_slow.py", "c.py"}
    write(workspace, dict.fromkeys(files, SITE))
    assert set(found(discover((".",), workspace, (pattern,)))) == files - excluded


def test_absolute_excludes_and_paths_outside(tmp_path: Path) -> None:
    excludes = Excludes((f"{tmp_path.as_posix()}/third_party/*",))
    assert excludes.match("../third_party/a.py", f"{tmp_path.as_posix()}/third_party/a.py")
    assert not excludes.match("third_party.py", f"{tmp_path.as_posix()}/third_party.py")
    assert not Excludes(("..",)).match("../a.py", "/a.py")


def test_a_file_given_twice_is_found_once(workspace: Path) -> None:
    write(workspace, {"a.py": SITE})
    discovery = discover(("a.py", ".", "./a.py", str(workspace / "a.py")), workspace)
    assert found(discovery) == ["a.py"]
    assert discovery.scanned == 1


def test_a_link_and_its_target_are_one_file(workspace: Path) -> None:
    write(workspace, {"z_real.py": SITE})
    (workspace / "a_link.py").symlink_to("z_real.py")
    discovery = discover((".",), workspace)
    assert found(discovery) == ["z_real.py"]
    assert "z_real.py" in reasons(discovery)["a_link.py"]
    both = discover(("a_link.py", "z_real.py"), workspace)
    assert found(both) == ["z_real.py"]


def test_a_link_named_alone_leads_to_the_real_file(repository: Path) -> None:
    write(repository, {"src/real.py": SITE})
    (repository / "link.py").symlink_to("src/real.py")
    (candidate,) = discover(("link.py",), repository).candidates
    assert candidate.path == "link.py"
    assert candidate.file == (repository / "src/real.py").resolve()
    assert candidate.patch_path == "src/real.py"


def test_a_link_that_leads_out_of_the_root_is_told_and_not_edited(tmp_path: Path) -> None:
    write(tmp_path, {"outside/real.py": SITE, "root/a.py": SITE})
    (tmp_path / "root/link.py").symlink_to(tmp_path / "outside/real.py")
    for paths in ((".",), ("link.py", "a.py")):
        discovery = discover(paths, tmp_path / "root")
        assert found(discovery) == ["a.py"]
        assert "outside the root" in reasons(discovery)["link.py"]


def test_linked_directories_are_not_followed_unless_named(workspace: Path) -> None:
    write(workspace, {"real/a.py": SITE})
    (workspace / "link").symlink_to("real")
    (workspace / "real/loop").symlink_to("..")
    assert found(discover((".",), workspace)) == ["real/a.py"]
    assert found(discover(("link",), workspace)) == ["link/a.py"]


def test_unreadable_files_are_failures(workspace: Path) -> None:
    (workspace / "nowhere.py").symlink_to("gone.py")
    (workspace / ".#lock.py").symlink_to("user@host.1234")
    os.mkfifo(workspace / "pipe.py")
    write(workspace, {"ok.py": SITE})
    discovery = discover((".",), workspace)
    assert found(discovery) == ["ok.py"]
    failed = {r.path: r for r in discovery.settled if isinstance(r, Failed)}
    assert set(failed) == {"nowhere.py", "pipe.py"}
    assert all(report.stage == "read" for report in failed.values())


def test_notebooks_with_a_launch_are_listed_and_left_alone(workspace: Path) -> None:
    cell = {"cell_type": "code", "source": ["%magic\n", SITE]}
    write(
        workspace,
        {
            "launch.ipynb": json.dumps({"cells": [cell]}),
            "plain.ipynb": json.dumps({"cells": []}),
        },
    )
    discovery = discover((".",), workspace)
    assert found(discovery) == []
    assert discovery.settled == (Skipped("launch.ipynb", "not rewritten: notebook", True),)
    assert discovery.scanned == 0


def test_percent_scripts_are_ordinary_files(workspace: Path) -> None:
    write(workspace, {"script.py": f"# %%\n{SITE}# %% [markdown]\n# text\n"})
    assert found(discover((".",), workspace)) == ["script.py"]


@pytest.mark.parametrize(
    "text",
    [
        "import pallas as pl\npl.kernel(f)\n",
        "from jax.experimental.pallas import kernel\n",
        "from jax.experimental.pallas import (\n    BlockSpec,\n    kernel,\n)\n",
        "spec = pl.GridSpec(grid=(n,))\n",
        "launch = pallas_call\n",
    ],
)
def test_every_way_to_a_launch_passes_the_byte_test(workspace: Path, text: str) -> None:
    write(workspace, {"a.py": text})
    assert found(discover((".",), workspace)) == ["a.py"]


def test_callers_of_a_wrapper_in_another_file_pass_the_byte_test(workspace: Path) -> None:
    write(
        workspace,
        {
            "lib/launching.py": "def launch(k, grid):\n    return pl.pallas_call(k, grid=grid)\n",
            "lib/user.py": "from lib.launching import launch\nlaunch(k, grid=(n,))\n",
            "lib/relative.py": "from . import launching\nlaunching.launch(k, grid=(n,))\n",
            "lib/stranger.py": "from lib.other import launch\nlaunch(k, grid=(n,))\n",
        },
    )
    discovery = discover((".",), workspace)
    assert found(discovery) == ["lib/launching.py", "lib/relative.py", "lib/user.py"]
    assert reasons(discovery) == {"lib/stranger.py": "no launch"}


def test_strange_names_are_found(repository: Path) -> None:
    names = ["a b.py", "tab\there.py", 'quo"te.py', "grün.py", "-dash.py", "new\nline.py"]
    write(repository, dict.fromkeys(names, SITE))
    assert found(discover((".",), repository)) == sorted(names)
    assert found(discover(("./-dash.py",), repository)) == ["-dash.py"]
