"""Rewrites made by hand, and git and patch to try the results on."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from pallas_static_grid.model import Bound, Changed, Dim, Launch, Plan, Rewrite, Step
from pallas_static_grid.render.unified import unified_diff

ENVIRONMENT = {
    **os.environ,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.invalid",
    "GIT_COMMITTER_NAME": "C",
    "GIT_COMMITTER_EMAIL": "c@example.invalid",
}


def git(root: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    """Run git; what it says on failure is the assertion's message."""
    done = subprocess.run(
        ["git", *arguments], cwd=root, input=stdin, capture_output=True, env=ENVIRONMENT
    )
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    return done.stdout


@dataclass(frozen=True)
class Repository:
    """A work tree with one commit."""

    root: Path

    def start(self, files: dict[str, bytes]) -> None:
        """Write and commit the files."""
        git(self.root, "init", "-q")
        for name, data in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        git(self.root, "add", "-A", "--force")
        git(self.root, "commit", "-q", "-m", "before")

    def apply(self, patch: bytes) -> None:
        """`git apply`, after `git apply --check`."""
        git(self.root, "apply", "--check", "-", stdin=patch)
        git(self.root, "apply", "-", stdin=patch)

    def patch_p1(self, patch: bytes) -> None:
        """`patch -p1`, without fuzz."""
        done = subprocess.run(
            ["patch", "-p1", "-F0", "--no-backup-if-mismatch"],
            cwd=self.root,
            input=patch,
            capture_output=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert b"fuzz" not in done.stdout
        assert b"offset" not in done.stdout

    def am(self, mails: bytes) -> None:
        """`git am`."""
        git(self.root, "am", "-q", stdin=mails)


def launch_at(path: str, line: int, function: str = "scale") -> Launch:
    """A dynamic launch with a chain and a bound."""
    why = (
        Step(path, line, "grid=(steps,)", "the grid entry"),
        Step(path, 3, "steps = pl.cdiv(n, 8)", "`n` is an argument of the jitted function"),
    )
    bound = Bound(
        "pl.cdiv(x.shape[0], 8)",
        "range",
        (Step(path, line + 1, "pl.BlockSpec((8,), lambda i: (i,))", "block i of x"),),
        ("n <= x.shape[0]",),
    )
    return Launch(
        path=path,
        line=line,
        column=5,
        end_line=line,
        api="pallas_call",
        function=function,
        function_line=2,
        grid="(steps,)",
        grid_kind="tuple",
        verdict="dynamic",
        dims=(Dim(0, "steps", "dynamic", why, bound),),
    )


def changed(path: str, *texts: bytes, patch_path: str | None = None) -> Changed:
    """The report on a file with the texts of its chain of rewrites."""
    where = patch_path or path
    rewrites: list[Rewrite] = []
    for number, (before, after) in enumerate(pairwise(texts)):
        patch = unified_diff(before, after, where)
        plan = Plan("pad_and_mask", "review", "dead steps do nothing", patch)
        launch = launch_at(path, number + 1, f"scale_{number}")
        rewrites.append(
            Rewrite(
                number,
                launch,
                (plan,),
                before.decode("utf-8", "surrogateescape"),
                after.decode("utf-8", "surrogateescape"),
                ("dead steps are not free",),
                patch,
            )
        )
    launches = tuple(rewrite.launch for rewrite in rewrites)
    return Changed(path, launches, tuple(rewrites), texts[0], texts[-1], (), where)
