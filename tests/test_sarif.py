"""The SARIF report against the schema, and its fixes against the rewrites."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import report_samples as samples
from pallas_static_grid.model import Changed, FileReport
from pallas_static_grid.render import sarif
from pallas_static_grid.render.page.data import chosen
from pallas_static_grid.render.pieces import compose, split

SCHEMA = json.loads(
    (Path(__file__).parent / "data" / "sarif-2.1.0-rtm.5.json").read_text(encoding="utf-8")
)


def document(reports: tuple[FileReport, ...]) -> dict[str, Any]:
    parsed = json.loads(sarif.render(reports))
    jsonschema.Draft4Validator(SCHEMA, format_checker=jsonschema.FormatChecker()).validate(parsed)
    return parsed


def results(reports: tuple[FileReport, ...]) -> list[dict[str, Any]]:
    return document(reports)["runs"][0]["results"]


def test_schema_refuses_what_is_wrong() -> None:
    parsed = json.loads(sarif.render(samples.reports()))
    parsed["runs"][0]["results"][0]["level"] = "severe"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft4Validator(SCHEMA).validate(parsed)


def test_one_result_for_each_launch_that_is_not_static() -> None:
    found = results(samples.reports())
    assert [result["ruleId"] for result in found] == [
        "pad_and_mask",
        "static_shape_arithmetic",
        "static_shape_arithmetic",
        "pad_and_mask",
        "pad_and_mask",
        "pad_and_mask",
        "pad_and_mask",
        "no-bound",
        "unknown-grid",
        "dynamic-grid",
    ]
    assert [result["level"] for result in found] == ["warning"] * 8 + ["note", "warning"]
    assert ["suppressions" in result for result in found] == [False] * 9 + [True]


def test_rules_have_help_and_are_pointed_to() -> None:
    run = document(samples.reports())["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    by_id = {rule["id"]: rule for rule in rules}
    assert "--bound" in by_id["no-bound"]["help"]["text"]
    assert all(rule["help"]["markdown"] for rule in rules)


def test_paths_are_relative_and_escaped() -> None:
    uris = {
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for result in results(samples.reports())
    }
    assert uris == {"kernels/rows.py", "kernels/other%2C%20odd%25.py"}


def test_the_code_flow_runs_from_the_cause_to_the_grid() -> None:
    flow = results(samples.reports())[0]["codeFlows"][0]["threadFlows"][0]["locations"]
    texts = [step["location"]["message"]["text"] for step in flow]
    assert texts == [
        "def scale(x, n):: `n` is an argument of a jitted function",
        "return pl.pallas_call(: the grid of this launch",
    ]
    lines = [step["location"]["physicalLocation"]["region"]["startLine"] for step in flow]
    assert lines == [14, 15]


def test_failures_and_warnings_are_notifications() -> None:
    invocation = document(samples.reports())["runs"][0]["invocations"][0]
    assert invocation["executionSuccessful"] is False
    found = [(n["level"], n["message"]["text"]) for n in invocation["toolExecutionNotifications"]]
    assert found == [
        ("error", "parse: line 3: invalid syntax"),
        ("warning", "line 50: unused pragma"),
    ]


def test_fingerprints_do_not_depend_on_lines() -> None:
    moved = samples.ROWS.replace("BLOCK = 128\n", "BLOCK = 128\n# one\n# two\n")
    one = [r["partialFingerprints"] for r in results((samples.changed(),))]
    other = [r["partialFingerprints"] for r in results((samples.changed(text=moved),))]
    assert one == other
    assert len({tuple(found.items()) for found in one}) == 7


def test_empty() -> None:
    assert results(()) == []


@pytest.mark.parametrize(
    "report",
    [
        pytest.param(samples.changed(), id="lf"),
        pytest.param(samples.changed(newline="\r\n"), id="crlf"),
        pytest.param(samples.changed(bom=True), id="bom"),
        pytest.param(samples.changed(text=samples.ROWS.rstrip("\n")), id="no-last-newline"),
    ],
)
def test_each_fix_makes_its_rewrite(report: Changed) -> None:
    composition = chosen(report).composition
    for place, result in enumerate(results((report,))):
        (change,) = result["fixes"][0]["artifactChanges"]
        text = fixed(report.rewrites[0].before, change["replacements"])
        group = chosen(report).group_of(place)
        assert text == composition.text((group,))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\nb\nc", "a\nb\nx\n"),
        ("a\nb\nc\n", "a\nb\nx"),
        ("a\n", "a\nb\n"),
        ("a\nb\nc\n", "a\n"),
        ("a\nb\n", "b\n"),
        ("", "a\n"),
        ("a\n", "x\na\n"),
    ],
)
def test_edits_at_the_ends_of_a_file(before: str, after: str) -> None:
    assert fixed(before, list(sarif.replacements(compose([before, after]), 0))) == after


def fixed(text: str, replacements: list[Any]) -> str:
    """The text with the replacements made, last one first."""
    lines = split(text)

    def offset(line: int, column: int) -> int:
        return sum(map(len, lines[: line - 1])) + column - 1

    for replacement in reversed(replacements):
        region = replacement["deletedRegion"]
        start = offset(region["startLine"], region["startColumn"])
        end = offset(region["endLine"], region["endColumn"])
        text = text[:start] + replacement["insertedContent"]["text"] + text[end:]
    return text
