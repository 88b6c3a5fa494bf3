"""The right name nearest to a wrong one, for messages."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches


def nearest(wrong: str, right: Collection[str]) -> str:
    """The name of `right` that is most like `wrong` (there is always one)."""
    plain = {name.replace("-", "_").lower(): name for name in right}
    close = get_close_matches(wrong.replace("-", "_").lower(), sorted(plain), n=1, cutoff=0.0)
    return plain[close[0]]
