"""A sample of generated launches; `differential.py` as a script is the long run."""

from __future__ import annotations

import differential
import pytest

RUN = range(1000, 1024)
LOOKED_AT = range(150)


@pytest.mark.jax
@pytest.mark.parametrize("seed", RUN)
def test_rewritten_launches_compute_the_same(seed: int) -> None:
    verdict = differential.check("bounded", seed)
    assert verdict.problem is None, f"{verdict.features}: {verdict.problem}"


def test_at_most_a_tenth_of_the_bounded_launches_is_refused() -> None:
    verdicts = [differential.check("bounded", seed, run=False) for seed in LOOKED_AT]
    refused = [(v.seed, v.refusal) for v in verdicts if v.refusal is not None]
    assert len(refused) <= len(verdicts) / 10, refused


def test_every_hopeless_launch_is_refused() -> None:
    verdicts = [differential.check("hopeless", seed, run=False) for seed in LOOKED_AT]
    rewritten = [(v.seed, v.features) for v in verdicts if v.refusal is None]
    assert not rewritten
