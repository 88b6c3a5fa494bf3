"""Fixtures with a `case.py`: before and after compute what NumPy computes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax_harness
import pytest
from jax_harness import Mode

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
VERSIONS = ("before", "after")
MODES = {mode.name: mode for mode in (jax_harness.HLO, jax_harness.TPU, jax_harness.TPU_EAGER)}
pytestmark = pytest.mark.jax


@dataclass(frozen=True)
class Case:
    """A fixture's folder with what its `case.py` says."""

    folder: Path
    module: Any

    def get(self, name: str, default: Any) -> Any:
        return getattr(self.module, name, default)

    @property
    def name(self) -> str:
        return self.folder.relative_to(FIXTURES).as_posix()

    def modes(self, version: str) -> list[Mode]:
        """The interpreters to run one version under, each once for every input."""
        parallel = self.get("PARALLEL", False)
        modes = [MODES[name] for name in self.get("MODES", ("tpu",))]
        if version == "before" and parallel:
            return [jax_harness.TPU_SEQUENTIAL if m is jax_harness.TPU else m for m in modes]
        return modes

    def two_cores(self) -> list[Mode]:
        watch = not self.get("RACES_ARE_HARMLESS", False)
        return [jax_harness.two_cores(seed, watch_races=watch) for seed in jax_harness.SEEDS]

    @contextlib.contextmanager
    def types(self) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            if self.get("X64", False):
                stack.enter_context(jax.enable_x64(True))
            yield

    def check(self, version: str, label: str, args: tuple[Any, ...], mode: Mode) -> None:
        path = self.folder / f"{version}.py"
        with self.types():
            result = jax_harness.run(path, self.module.entry, args, mode)
        wrong = jax_harness.differences(result, self.module.reference(*args))
        assert wrong is None, f"{version}, {label}, {mode.name}: {wrong}"


def collected() -> list[Case]:
    paths = sorted(FIXTURES.glob("*/*/case.py"))
    return [Case(path.parent, jax_harness.load(path)) for path in paths]


def parameters() -> list[Any]:
    """Every version of every case that is there; the first of each transform is in the sample."""
    result, sampled = [], set()
    for case in collected():
        transform = case.folder.parent.name
        has_after = (case.folder / "after.py").exists()
        sample = has_after and (transform not in sampled or case.get("SMOKE", False))
        if sample:
            sampled.add(transform)
        for version in VERSIONS:
            if (case.folder / f"{version}.py").exists():
                marks = [pytest.mark.smoke] if sample else []
                result.append(pytest.param(case, version, id=f"{case.name}-{version}", marks=marks))
    return result


PARAMETERS = parameters()
PARALLEL = [
    pytest.param(case, id=case.name)
    for case in collected()
    if case.get("PARALLEL", False) and (case.folder / "after.py").exists()
]

LOWERED = [
    pytest.param(case, platform, id=f"{case.name}-{platform}")
    for case in collected()
    if (case.folder / "after.py").exists()
    for platform in case.get("LOWERS", ())
]


@pytest.mark.parametrize(("case", "version"), PARAMETERS)
def test_computes_what_numpy_computes(case: Case, version: str) -> None:
    for label, args in case.module.cases():
        for mode in case.modes(version):
            case.check(version, label, args, mode)


@pytest.mark.parametrize("case", PARALLEL)
def test_two_cores_agree(case: Case) -> None:
    """All seeds over the inputs in turn, and every input at least once."""
    inputs = list(case.module.cases())
    seeds = case.two_cores()
    for turn in range(max(len(inputs), len(seeds))):
        label, args = inputs[turn % len(inputs)]
        case.check("after", label, args, seeds[turn % len(seeds)])


@pytest.mark.parametrize(("case", "platform"), LOWERED)
def test_after_lowers(case: Case, platform: str) -> None:
    _, args = next(iter(case.module.cases()))
    with case.types():
        jax_harness.lower(case.folder / "after.py", case.module.entry, args, platform)
