"""Labels of the modules in `fixtures/launches`: what each launch is, written beside it.

    return pl.pallas_call(kernel, grid=(n, 2))(x)  # launch[pallas_call, run]: dynamic static

The format is described in `fixtures/README.md`.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from dataclasses import dataclass
from pathlib import Path

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures" / "launches"

_LABEL = re.compile(
    r"#\s*launch\[(?P<api>\w+), (?P<function>[\w.<>]+)\]: (?P<words>[a-z() ]*?)"
    r"(?: unmeasured: (?P<reason>.+))?$"
)
_VERDICTS = ("static", "dynamic", "unknown")


@dataclass(frozen=True)
class Label:
    """One labelled launch: `dims` holds a verdict per dimension, `kind` the grid's kind."""

    path: Path
    line: int
    api: str
    function: str
    kind: str
    dims: tuple[str, ...]
    verdict: str
    unmeasured: str | None
    span: tuple[int, int]
    """First and last line of the launching expression."""

    @property
    def name(self) -> str:
        """Where the label stands, for messages."""
        return f"{self.path.relative_to(FIXTURES).as_posix()}:{self.line}"


def modules() -> tuple[Path, ...]:
    """Every module under `fixtures/launches`."""
    return tuple(sorted(FIXTURES.rglob("*.py")))


def labels(path: Path) -> tuple[Label, ...]:
    """The labels of a module, in source order."""
    text = path.read_text(encoding="utf-8")
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    found = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and "launch[" in token.string:
            found.append(_label(path, token.start[0], token.string, calls))
    return tuple(found)


def _label(path: Path, line: int, comment: str, calls: list[ast.Call]) -> Label:
    match = _LABEL.match(comment)
    assert match, f"{path}:{line}: not a label: {comment}"
    words = match["words"].split()
    kind, dims = ("tuple", words) if words[:1] and words[0] in _VERDICTS else (words[0], words[1:])
    assert all(word in _VERDICTS for word in dims), f"{path}:{line}: {dims}"
    if kind == "tuple":
        verdict = next((v for v in ("dynamic", "unknown") if v in dims), "static")
    else:
        verdict, dims = (dims or ["static"])[0], []
    ends = [node.end_lineno or line for node in calls if node.lineno == line]
    return Label(
        path,
        line,
        match["api"],
        match["function"],
        kind,
        tuple(dims),
        verdict,
        match["reason"],
        (line, max(ends, default=line)),
    )


def runs(path: Path) -> tuple[str, ...]:
    """The expressions under `Run:` in the module's docstring, which reach its launches."""
    doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    _, found, block = doc.partition("Run:\n")
    return tuple(line.strip() for line in block.splitlines() if line.strip()) if found else ()
