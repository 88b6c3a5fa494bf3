"""Fixtures that can be run: what their `case.py` says, and the checks that follow from it."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import jax_harness
import numpy as np
from jax_harness import Mode
from kernel_work import Allowed, Record, added_by_dead_steps, record, wrongly_carried

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
MODES = {mode.name: mode for mode in (jax_harness.HLO, jax_harness.TPU, jax_harness.TPU_EAGER)}

Input = tuple[str, tuple[Any, ...]]


@dataclass(frozen=True)
class Case:
    """A fixture's folder with what its `case.py` says."""

    folder: Path
    module: Any
    _records: dict[tuple[str, ...], Record] = field(default_factory=dict, compare=False, repr=False)

    def get(self, name: str, default: Any) -> Any:
        return getattr(self.module, name, default)

    @property
    def name(self) -> str:
        return self.folder.relative_to(FIXTURES).as_posix()

    @property
    def parallel(self) -> bool:
        return bool(self.get("PARALLEL", False))

    @property
    def before(self) -> Path:
        return self.folder / "before.py"

    @property
    def after(self) -> Path:
        return self.folder / "after.py"

    def modes(self, *, original: bool = False) -> list[Mode]:
        """The interpreters to run a version under, each for all inputs."""
        modes = [MODES[name] for name in self.get("MODES", ("tpu",))]
        if original and self.parallel:
            return [jax_harness.TPU_SEQUENTIAL if m is jax_harness.TPU else m for m in modes]
        return modes

    def two_cores(self) -> Iterator[tuple[Mode, list[Input]]]:
        """Under every seed at least one of the inputs; over all seeds every input."""
        inputs = list(self.module.cases())
        watch = not self.get("RACES_ARE_HARMLESS", False)
        share = len(inputs) / len(jax_harness.SEEDS)
        for turn, seed in enumerate(jax_harness.SEEDS):
            start = int(turn * share)
            stop = max(start + 1, int((turn + 1) * share))
            yield jax_harness.two_cores(seed, watch_races=watch), inputs[start:stop]

    @contextlib.contextmanager
    def types(self) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            if self.get("X64", False):
                stack.enter_context(jax.enable_x64(True))
            yield

    def check(self, path: Path, mode: Mode, inputs: Iterable[Input] | None = None) -> None:
        """Run one version on its inputs; any difference from the reference is an error."""
        chosen = list(self.module.cases() if inputs is None else inputs)
        with self.types():
            results = jax_harness.run_all(
                path, self.module.entry, (args for _, args in chosen), mode
            )
            for (label, args), result in zip(chosen, results, strict=True):
                wrong = jax_harness.differences(result, self.module.reference(*args))
                assert wrong is None, f"{path.stem}, {label}, {mode.name}: {wrong}"

    def check_dead_steps(self, path: Path, *, sample: bool = False) -> None:
        """Compare what the kernels do with what they do in the original: dead steps add nothing.

        Live counts come in front of all other operands and are int32.

        `path` is the rewritten file, or a mutant of it; a sample is the first and a middle input.
        Code for GPUs only runs under the HLO interpreter: there, they leave NaN where it was.
        """
        chosen = list(self.module.cases())
        chosen = [chosen[0], chosen[len(chosen) // 2]] if sample else chosen
        on_gpu = self.modes()[0] is jax_harness.HLO
        if on_gpu:
            self._check_untouched(path, chosen)
        allowed = Allowed.of(self.after.read_text())
        allowed = dataclasses.replace(allowed, **self.get("DEAD_STEPS", {}))
        labels = tuple(label for label, _ in chosen)
        if labels not in self._records:
            self._records[labels] = self._record(self.before, chosen)
        old, new = self._records[labels], self._record(path, chosen)
        wrong = wrongly_carried(old.operands, new.operands)
        assert wrong is None, f"{path.stem}: {wrong}"
        for label, before, after in zip(labels, old.launches, new.launches, strict=True):
            wrong = None if on_gpu else added_by_dead_steps(before, after, allowed)
            assert wrong is None, f"{path.stem}, {label}: {wrong}"

    def _record(self, path: Path, inputs: list[Input]) -> Record:
        arguments = [args for _, args in inputs]
        with self.types():
            mode = self.modes(original=True)[0]
            return record(path, self.module.entry, arguments, mode)

    def _check_untouched(self, path: Path, chosen: list[Input]) -> None:
        """Whether what the original leaves undefined stays as the interpreter made it."""
        arguments = [args for _, args in chosen]
        with self.types():
            results = jax_harness.run_all(path, self.module.entry, arguments, jax_harness.HLO)
            for (label, args), result in zip(chosen, results, strict=True):
                wanted = self.module.reference(*args)
                written = np.isnan(wanted) & ~np.isnan(result)
                assert not written.any(), f"{path.stem}, {label}: dead steps wrote {written.sum()}"

    @property
    def masked(self) -> bool:
        """Whether the rewrite may have added live counts to launches that ran before."""
        carries = "num_live" in self.after.read_text()
        masks = carries or self.folder.parent.name == "pad_and_mask"
        return masks and not self.get("BEFORE_RAISES", None)

    def check_overflows(self, path: Path) -> None:
        """More steps than the user's bound: every output is NaN, the greatest integer or true."""
        chosen = list(self.get("overflows", list)())
        with self.types():
            results = jax_harness.run_all(
                path, self.module.entry, (args for _, args in chosen), self.modes()[0]
            )
        for (label, _), result in zip(chosen, results, strict=True):
            for output in jax.tree.leaves(result):
                assert _is_flagged(output), f"{path.stem}, {label}: work is lost silently"

    def check_lowering(self, path: Path, platform: str) -> None:
        """Lower for a platform; whatever is raised there is an error."""
        _, args = next(iter(self.module.cases()))
        with self.types():
            jax_harness.lower(path, self.module.entry, args, platform)


def _is_flagged(output: np.ndarray[Any, Any]) -> bool:
    if np.issubdtype(output.dtype, np.integer):
        return bool((output == np.iinfo(output.dtype).max).all())
    return bool((np.isnan(output) if output.dtype != bool else output).all())


def collected() -> list[Case]:
    """All fixtures with a `case.py`, in the order of their names."""
    paths = sorted(FIXTURES.glob("*/*/case.py"))
    return [Case(path.parent, jax_harness.load(path)) for path in paths]
