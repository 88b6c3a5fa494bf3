"""Fixtures with a `case.py`: before and after compute what NumPy computes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
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

Input = tuple[str, tuple[Any, ...]]


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

    def check(self, version: str, mode: Mode, inputs: Iterable[Input] | None = None) -> None:
        """Run one version on its inputs; any difference from the reference is an error."""
        inputs = list(self.module.cases() if inputs is None else inputs)
        path = self.folder / f"{version}.py"
        with self.types():
            results = jax_harness.run_all(
                path, self.module.entry, (args for _, args in inputs), mode
            )
            for (label, args), result in zip(inputs, results, strict=True):
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
    raises = case.get("BEFORE_RAISES", None) if version == "before" else None
    for mode in case.modes(version):
        if raises is None:
            case.check(version, mode)
        else:
            with pytest.raises(NotImplementedError, match=raises):
                case.check(version, mode)


@pytest.mark.parametrize("case", PARALLEL)
def test_two_cores_agree(case: Case) -> None:
    """Under every seed, two of the inputs; over all seeds, every input."""
    inputs = list(case.module.cases())
    for turn, mode in enumerate(case.two_cores()):
        start = turn * len(inputs) // len(jax_harness.SEEDS)
        case.check("after", mode, inputs[start : start + 2])


@pytest.mark.parametrize(("case", "platform"), LOWERED)
def test_after_lowers(case: Case, platform: str) -> None:
    _, args = next(iter(case.module.cases()))
    with case.types():
        jax_harness.lower(case.folder / "after.py", case.module.entry, args, platform)
