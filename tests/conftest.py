"""What all tests share: where things are, reproducible runs, how many processes."""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import pytest

# JAX reads these when it is first imported.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_TRACEBACK_FILTERING", "off")
# The same output whatever terminal the tests are started from.
for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "NO_COLOR", "GITHUB_ACTIONS"):
    os.environ.pop(name, None)

hypothesis.settings.register_profile("suite", derandomize=True, deadline=None, database=None)
hypothesis.settings.load_profile("suite")


def pytest_xdist_auto_num_workers() -> int:
    """A worker holds JAX and compiled kernels in memory: a handful is enough."""
    return min(4, os.cpu_count() or 1)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder outside any repository, as the current directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
