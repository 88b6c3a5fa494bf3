"""Write `after.py` and `refused.txt` of fixtures as the tool makes them now; then read the diff.

    python tests/update_fixtures.py pad_and_mask/elementwise 'bounds/*'

What the tool makes is not right because it makes it: the tests run every rewritten fixture that
has a `case.py`, and the rest has to be read.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from fixture_tool import apply, copied, refusals

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"


def update(case: Path) -> list[str]:
    """The names of the files that changed."""
    start = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        file = copied(case, Path(folder))
        os.chdir(folder)
        try:
            before = file.read_bytes()
            lines = [
                f"{launch['line']} {launch['refusal']['code']} {launch['refusal']['line']}\n"
                for launch in refusals(case, file)
            ]
            apply(case, file)
            after = file.read_bytes()
        finally:
            os.chdir(start)
    written = [
        _write(case / "after.py", after if after != before else b""),
        _write(case / "refused.txt", "".join(lines).encode()),
    ]
    return [name for name in written if name is not None]


def _write(path: Path, content: bytes) -> str | None:
    """Write, or remove what has no content; the name if anything changed."""
    if (path.read_bytes() if path.exists() else b"") == content:
        return None
    if content:
        path.write_bytes(content)
    else:
        path.unlink()
    return path.name


def main(patterns: list[str]) -> None:
    for pattern in patterns:
        for case in sorted(FIXTURES.glob(pattern)):
            if (case / "before.py").exists():
                for name in update(case):
                    print(f"{case.relative_to(FIXTURES)}/{name}")


if __name__ == "__main__":
    main(sys.argv[1:])
