"""Write `after.py` and `refused.txt` of fixtures as the tool makes them now; then read the diff.

    python tests/update_fixtures.py pad_and_mask/elementwise 'bounds/*'

What the tool makes is not right because it makes it: the tests run every rewritten fixture that
has a `case.py`, and the rest has to be read.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from tool import launches_of, run_tool

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
OURS = ("after.py", "case.py")


def update(case: Path) -> list[str]:
    """The names of the files that changed."""
    listed = case / "arguments.txt"
    arguments = listed.read_text().splitlines() if listed.exists() else []
    start = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        for file in case.glob("*.py"):
            if file.name not in OURS:
                shutil.copy(file, folder)
        os.chdir(folder)
        try:
            file = Path("before.py")
            refusals = [
                f"{launch['line']} {launch['refusal']['code']} {launch['refusal']['line']}\n"
                for launch in launches_of(file, *arguments)
                if launch["refusal"] is not None
            ]
            before = file.read_bytes()
            run_tool("apply", *arguments, file.name)
            after = file.read_bytes()
        finally:
            os.chdir(start)
    written = [
        _write(case / "after.py", after if after != before else b""),
        _write(case / "refused.txt", "".join(refusals).encode()),
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
