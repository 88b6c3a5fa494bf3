"""Write the pages under docs/ that come from docstrings and from the catalogue.

python docs/generate.py            write them
python docs/generate.py --check    exit 1 if they are not what this would write
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from pallas_static_grid.catalogue import REFUSALS, RefusalCode, TransformInfo, transforms
from pallas_static_grid.errors import ERRORS, ErrorHelp, support_table

DOCS = Path(__file__).resolve().parent
FIXTURES = DOCS.parent / "fixtures"
NOTICE = "<!-- Written by docs/generate.py; do not edit. -->\n\n"
EXAMPLES = {"pad_and_mask": "elementwise"}
"""The fixture that a transform's page shows, where it is not the one with the shortest diff."""

SHOWN = 3
"""How many fixtures the page of a refusal names."""


def pages() -> dict[Path, str]:
    """The generated pages, by path under docs/."""
    seen = dict(refusals_in_fixtures())
    found = {
        Path("transforms/README.md"): transform_index(),
        Path("refusals/README.md"): refusal_index(),
        Path("errors.md"): error_page(),
    }
    for info in transforms():
        found[Path(f"transforms/{info.name}.md")] = transform_page(info)
    for code, entry in REFUSALS.items():
        found[Path(f"refusals/{code}.md")] = refusal_page(entry, seen)
    return {path: NOTICE + text for path, text in found.items()}


def transform_index() -> str:
    """The table of transforms."""
    lines = ["# Transforms", "", "In the order in which they are tried on a launch.", ""]
    lines += ["| transform | what it does | runs |", "| --- | --- | --- |"]
    for info in transforms():
        runs = "by default" if info.default else "when selected"
        lines.append(f"| [`{info.name}`]({info.name}.md) | {cell(info.summary)} | {runs} |")
    return "\n".join(lines) + "\n"


def transform_page(info: TransformInfo) -> str:
    """The docstring, and an example from the fixtures."""
    summary, _, rest = info.text.partition("\n\n")
    lines = [f"# {info.name}", "", " ".join(summary.split()), ""]
    if rest:
        lines += [rest.strip(), ""]
    if not info.default:
        lines += [f"Runs only when selected: `--select {info.name}`.", ""]
    example = shortest_example(info.name)
    if example is not None:
        case, diff = example
        link = f"../../fixtures/{info.name}/{case}"
        lines += ["## Example", "", f"From [`fixtures/{info.name}/{case}`]({link}):", ""]
        lines += ["```diff", diff.rstrip("\n"), "```", ""]
    return "\n".join(lines)


def shortest_example(name: str) -> tuple[str, str] | None:
    """The fixture whose diff is shortest, or the one named in `EXAMPLES`."""
    found: list[tuple[int, str, str]] = []
    for after in sorted((FIXTURES / name).glob("*/after.py")):
        case = after.parent.name
        diff = unified(after.with_name("before.py"), after)
        if EXAMPLES.get(name, case) == case:
            found.append((len(diff), case, diff))
    return min(found)[1:] if found else None


def unified(before: Path, after: Path) -> str:
    """The diff of two files, without the names."""
    old, new = (path.read_text(encoding="utf-8").splitlines(True) for path in (before, after))
    return "".join(list(difflib.unified_diff(old, new))[2:])


def refusal_index() -> str:
    """The table of refusal codes."""
    lines = ["# Refusals", ""]
    lines += [
        "A launch that is dynamic and gets no rewrite is refused with one of these codes. "
        "`pallas-static-grid explain CODE` prints the same text.",
        "",
        "| code | meaning |",
        "| --- | --- |",
    ]
    for code, entry in REFUSALS.items():
        lines.append(f"| [`{code}`]({code}.md) | {cell(entry.title)} |")
    return "\n".join(lines) + "\n"


def refusal_page(entry: RefusalCode, seen: Mapping[str, list[str]]) -> str:
    """What a code means, what to do, and where the fixtures have it."""
    lines = [f"# {entry.code}", "", f"**{entry.title}.**", "", entry.meaning, ""]
    lines += ["## What to do", "", entry.next_step, ""]
    cases = seen.get(entry.code, [])[:SHOWN]
    if cases:
        lines += ["## Examples", ""]
        lines += [f"* [`fixtures/{case}`](../../fixtures/{case}/before.py)" for case in cases]
        lines.append("")
    return "\n".join(lines)


def refusals_in_fixtures() -> Iterator[tuple[str, list[str]]]:
    """For each code the fixtures that are refused with it."""
    cases: dict[str, list[str]] = {}
    for file in sorted(FIXTURES.glob("*/*/refused.txt")):
        case = file.parent.relative_to(FIXTURES).as_posix()
        for line in file.read_text(encoding="utf-8").splitlines():
            fields = line.split()
            if len(fields) >= 2 and not line.startswith("#"):
                known = cases.setdefault(fields[1], [])
                if case not in known:
                    known.append(case)
    yield from cases.items()


def error_page() -> str:
    """What each target supports, and every error that `explain` knows."""
    header, *rows = support_table()
    lines = ["# Error messages", ""]
    lines += [
        "`pallas-static-grid explain 'MESSAGE'` takes a message, a part of one, or a whole "
        "traceback, and prints what follows here. The versions are those of JAX; the texts were "
        "taken from runs under 0.10.2, 0.11.1 and 0.12.0.1.",
        "",
        "## What each target takes",
        "",
    ]
    lines += ["| " + " | ".join(header) + " |", "| " + " | ".join(["---"] * len(header)) + " |"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    for entry in ERRORS:
        lines += ["", *error_section(entry)]
    return "\n".join(lines) + "\n"


def error_section(entry: ErrorHelp) -> Iterator[str]:
    """One error."""
    yield f"## {entry.title}"
    yield ""
    yield "```text"
    yield entry.text
    yield "```"
    yield ""
    yield "| raised by | versions |"
    yield "| --- | --- |"
    for raised in entry.raised:
        yield f"| {cell(raised.where)} | {raised.versions} |"
    yield ""
    yield entry.cause
    yield ""
    for step in entry.what_to_do:
        yield f"* {step}"


def cell(text: str) -> str:
    """Text for a cell of a table."""
    return text.replace("|", "\\|")


def stale(found: Mapping[Path, str]) -> list[str]:
    """What differs between the pages on disk and what they should be."""
    problems = [
        f"{path.as_posix()} is not up to date"
        for path, text in found.items()
        if not (DOCS / path).is_file() or (DOCS / path).read_text(encoding="utf-8") != text
    ]
    for folder in ("transforms", "refusals"):
        for file in sorted((DOCS / folder).glob("*.md")):
            if file.relative_to(DOCS) not in found:
                problems.append(f"{folder}/{file.name} describes nothing that exists")
    return problems


def main(arguments: list[str]) -> int:
    """Write the pages, or compare them."""
    found = pages()
    if arguments == ["--check"]:
        problems = stale(found)
        for problem in problems:
            print(problem, file=sys.stderr)
        return 1 if problems else 0
    for folder in ("transforms", "refusals"):
        for file in (DOCS / folder).glob("*.md"):
            if file.relative_to(DOCS) not in found:
                file.unlink()
    for path, text in found.items():
        (DOCS / path).parent.mkdir(exist_ok=True)
        (DOCS / path).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
