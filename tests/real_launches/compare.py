"""Compares what a launch computed before and after, and with a NumPy reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from case import Case


@dataclass(frozen=True)
class Verdict:
    """Whether a rewrite computes the same, and what was compared."""

    text: str
    failed: bool


def verdict_of(case: Case, before: list[tuple[str, Any]], after: list[tuple[str, Any]]) -> Verdict:
    """Compare the results of all inputs; a string stands for an error."""
    if len(before) == 1 and isinstance(before[0][1], str):
        return Verdict(f"not run: {before[0][1]}", failed=False)
    if len(before) != len(after):
        return Verdict(f"the rewrite does not run: {after[0][1]}", failed=True)
    references = _references(case)
    same, equal, remarks = 0, 0, _Remarks()
    for (label, old), (_, new) in zip(before, after, strict=True):
        if isinstance(new, str):
            failed = not isinstance(old, str)
            remarks.add(label, f"{'the rewrite raises' if failed else 'both raise'} {new}", failed)
            continue
        if isinstance(old, str):
            remarks.add(label, f"the original raises {old}", False)
        elif difference := differences(new, old, case.tolerance):
            remarks.add(label, difference, True)
        else:
            same += 1
        if references:
            difference = differences(new, references[label], 1e-2)
            known = not isinstance(old, str) and differences(old, references[label], 1e-2)
            equal += difference is None
            if difference is not None:
                who = "the original, too, against NumPy" if known else "against NumPy"
                remarks.add(label, f"{who}: {difference}", not known)
    text = f"{same} of {len(before)} inputs the same"
    if references:
        text += f", {equal} as NumPy has it"
    return Verdict(". ".join([text, *remarks.texts()]), remarks.failed)


class _Remarks:
    """What there is to say of single inputs, and of how many the same."""

    def __init__(self) -> None:
        self.failed = False
        self._labels: dict[str, list[str]] = {}

    def add(self, label: str, text: str, failed: bool) -> None:
        self.failed |= failed
        self._labels.setdefault(text, []).append(label)

    def texts(self) -> list[str]:
        return [
            f"{labels[0]}{f' and {len(labels) - 1} more' if labels[1:] else ''}: {text}"
            for text, labels in self._labels.items()
        ]


def _references(case: Case) -> dict[str, list[Any]]:
    if case.reference is None:
        return {}
    results = {}
    for label, arguments in case.inputs():
        result = case.reference(*arguments)
        results[label] = list(result) if isinstance(result, (tuple, list)) else [result]
    return results


def differences(result: list[Any], expected: list[Any], tolerance: float) -> str | None:
    """Where `result` is not what is expected; NaN and masked entries of that are undefined."""
    if len(result) != len(expected):
        return f"{len(result)} results, expected {len(expected)}"
    for index, (got, wanted) in enumerate(zip(result, expected, strict=True)):
        if got.shape != wanted.shape:
            return f"result {index} has the shape {got.shape}, expected {wanted.shape}"
        values = np.ma.getdata(wanted)
        defined = ~np.ma.getmaskarray(wanted)
        if np.issubdtype(values.dtype, np.floating):
            defined &= ~np.isnan(values)
        close = np.isclose(got, values, rtol=tolerance, atol=tolerance)
        wrong = defined & ~close & ~np.ma.getmaskarray(got)
        if wrong.any():
            at = tuple(int(position) for position in np.argwhere(wrong)[0])
            return (
                f"result {index} differs in {wrong.sum()} of {defined.sum()} defined entries, "
                f"first at {at}: {got[at]}, expected {values[at]}"
            )
    return None
