"""Patches: whatever the file holds and is called, git and patch take them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pallas_static_grid.patching import DoesNotApply, apply_patch
from pallas_static_grid.render.unified import quoted, render, to_bytes, unified_diff
from patch_tools import Repository, changed

LINES = [b"line %d\n" % n for n in range(30)]
OLD = b"".join(LINES)
NEW = OLD.replace(b"line 15\n", b"line 15 new\nand one more\n")

CONTENTS = {
    "plain": (OLD, NEW),
    "first line": (OLD, b"new\n" + OLD),
    "last line": (OLD, OLD + b"new\n"),
    "two places": (OLD, OLD.replace(b"line 2\n", b"x\n").replace(b"line 25\n", b"y\nz\n")),
    "neighbours": (OLD, OLD.replace(b"line 9\n", b"x\n").replace(b"line 11\n", b"")),
    "no newline at the end, kept": (OLD[:-1], NEW[:-1]),
    "no newline at the end, in the hunk": (OLD[:-1], OLD[:-1].replace(b"29", b"twenty-nine")),
    "context reaches the end without newline": (OLD[:-1], OLD[:-1].replace(b"27", b"x")),
    "newline added": (OLD[:-1], OLD[:-1] + b"\nnew\n"),
    "newline removed": (OLD, OLD[:-1]),
    "crlf": (OLD.replace(b"\n", b"\r\n"), NEW.replace(b"\n", b"\r\n")),
    "mixed line ends": (
        OLD.replace(b"4\n", b"4\r\n").replace(b"6\n", b"6\r"),
        NEW.replace(b"4\n", b"4\r\n").replace(b"6\n", b"6\r"),
    ),
    "lone cr only": (OLD.replace(b"\n", b"\r"), NEW.replace(b"\n", b"\r")),
    "form feed": (OLD.replace(b"line 14", b"\x0c"), NEW.replace(b"line 14", b"\x0c")),
    "u+2028": (
        OLD.replace(b"line 16", "a\u2028b\x85c".encode()),
        NEW.replace(b"line 16", "a\u2028b\x85c".encode()),
    ),
    "tabs and blanks at line ends": (
        OLD.replace(b"line 14", b"\tx \t ").replace(b"line 16", b"  "),
        NEW.replace(b"line 14", b"\tx \t ").replace(b"line 16", b"  "),
    ),
    "bom": (b"\xef\xbb\xbf" + OLD, b"\xef\xbb\xbf" + NEW),
    "bom in the hunk": (b"\xef\xbb\xbf" + OLD, b"\xef\xbb\xbfnew\n" + OLD),
    "latin-1": (OLD.replace(b"line 14", b"caf\xe9"), NEW.replace(b"line 14", b"caf\xe9")),
    "one line": (b"a\n", b"b\n"),
    "one line without newline": (b"a", b"b"),
    "from nothing to nothing": (b"a\n", b""),
    "lines that look like a patch": (
        OLD.replace(b"line 14", b"--- a/x").replace(b"line 16", b"@@ -1 +1 @@"),
        NEW.replace(b"line 14", b"--- a/x").replace(b"line 16", b"@@ -1 +1 @@"),
    ),
    "removed line that looks like a header": (
        OLD.replace(b"line 15", b"-- x"),
        OLD.replace(b"line 15", b"++ x"),
    ),
}

NAMES = [
    "f.py",
    "sub/dir/f.py",
    "a b.py",
    "a b/c d.py",
    "tab\there.py",
    'quo"te.py',
    "back\\slash.py",
    "grün.py",
    "日本/語.py",
    "-dash.py",
    "new\nline.py",
    "bell\x07.py",
]


@pytest.mark.parametrize("name", CONTENTS)
@pytest.mark.parametrize("tool", ["git", "patch"])
def test_every_content_applies(tmp_path: Path, name: str, tool: str) -> None:
    before, after = CONTENTS[name]
    repository = Repository(tmp_path)
    repository.start({"src/f.py": before})
    patch = to_bytes(render([changed("src/f.py", before, after)]))
    if tool == "git":
        repository.apply(patch)
    else:
        repository.patch_p1(patch)
    left = tmp_path / "src/f.py"
    assert (left.read_bytes() if left.exists() else b"") == after
    assert apply_patch(before, patch) == after


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("tool", ["git", "patch"])
def test_every_name_applies(tmp_path: Path, name: str, tool: str) -> None:
    repository = Repository(tmp_path)
    repository.start({name: OLD, "other.py": OLD})
    patch = to_bytes(render([changed(name, OLD, NEW), changed("other.py", OLD, NEW)]))
    if tool == "git":
        repository.apply(patch)
    else:
        repository.patch_p1(patch)
    assert (tmp_path / name).read_bytes() == NEW
    assert (tmp_path / "other.py").read_bytes() == NEW


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a/f.py", "a/f.py"),
        ("a/a b.py", "a/a b.py"),
        ("a/tab\t.py", '"a/tab\\t.py"'),
        ('a/q".py', '"a/q\\".py"'),
        ("a/b\\s.py", '"a/b\\\\s.py"'),
        ("a/grün.py", '"a/gr\\303\\274n.py"'),
        ("a/\udcff.py", '"a/\\377.py"'),
        ("a/\x7f.py", '"a/\\177.py"'),
    ],
)
def test_names_are_quoted_as_git_does(path: str, expected: str) -> None:
    assert quoted(path) == expected


def test_headers_are_those_of_git(tmp_path: Path) -> None:
    assert unified_diff(b"a\n", b"b\n", "a b.py").splitlines()[:3] == [
        "diff --git a/a b.py b/a b.py",
        "--- a/a b.py\t",
        "+++ b/a b.py\t",
    ]
    for name in ("f.py", "a b.py", "grün.py", "tab\t.py"):
        repository = Repository(tmp_path / name.replace("\t", "T"))
        repository.root.mkdir()
        repository.start({name: b"a\n"})
        (repository.root / name).write_bytes(b"b\n")
        from patch_tools import git

        theirs = git(repository.root, "diff").decode().splitlines()
        ours = unified_diff(b"a\n", b"b\n", name).splitlines()
        assert ours == [line for line in theirs if not line.startswith("index ")]


def test_equal_files_give_no_patch() -> None:
    assert unified_diff(OLD, OLD, "f.py") == ""
    assert render([]) == ""


def test_no_timestamps_and_notes_above_each_file() -> None:
    text = render([changed("a.py", OLD, NEW), changed("b.py", OLD, OLD[5:], OLD[10:])])
    lines = text.splitlines()
    assert lines[0] == "# a.py:1 scale_0 (pad_and_mask; review)"
    second = lines.index("diff --git a/b.py b/b.py")
    above = lines[lines.index("# b.py:1 scale_0 (pad_and_mask; review)") : second]
    assert "# b.py:2 scale_1 (pad_and_mask; review)" in above
    assert all(line.startswith("#") for line in above)
    notes = "\n".join(above)
    for expected in (
        "#   dead steps do nothing",
        "grid[0] = steps is dynamic",
        "b.py:3: steps = pl.cdiv(n, 8)  (`n` is an argument of the jitted function)",
        "bound pl.cdiv(x.shape[0], 8)",
        "pl.BlockSpec((8,), lambda i: (i,))",
        "assumes: n <= x.shape[0]",
        "note: dead steps are not free",
    ):
        assert expected in notes


def test_two_rewrites_of_one_file_are_one_diff(tmp_path: Path) -> None:
    middle = OLD.replace(b"line 10\n", b"ten\n")
    after = middle.replace(b"line 11\n", b"eleven\nand more\n")
    repository = Repository(tmp_path)
    repository.start({"f.py": OLD})
    text = render([changed("f.py", OLD, middle, after)])
    assert text.count("diff --git") == 1
    repository.apply(to_bytes(text))
    assert (tmp_path / "f.py").read_bytes() == after


def test_the_parts_of_a_chain_apply_one_after_the_other(tmp_path: Path) -> None:
    middle = OLD.replace(b"line 10\n", b"ten\n")
    after = middle.replace(b"line 11\n", b"eleven\nand more\n")
    repository = Repository(tmp_path)
    repository.start({"f.py": OLD})
    report = changed("f.py", OLD, middle, after)
    for rewrite in report.rewrites:
        repository.apply(to_bytes(rewrite.patch))
    assert (tmp_path / "f.py").read_bytes() == after
    together = Repository(tmp_path / "together")
    together.root.mkdir()
    together.start({"f.py": OLD})
    together.apply(to_bytes("".join(rewrite.patch for rewrite in report.rewrites)))
    assert (together.root / "f.py").read_bytes() == after


def test_random_edits_apply(tmp_path: Path) -> None:
    choose = random.Random(0)
    pieces = [b"a\n", b"b\n", b"\n", b"\r\n", b"c\r", b" \n", b"+\n", b"-\n", b"\\ x\n", b"# y\n"]
    repository = Repository(tmp_path)
    repository.start({"f.py": b"start\n"})
    before = b"start\n"
    for _ in range(60):
        lines = before.split(b"\n")
        for _ in range(choose.randrange(1, 4)):
            at = choose.randrange(len(lines) + 1)
            lines[at : at + choose.randrange(3)] = [
                choose.choice(pieces)[:-1] for _ in range(choose.randrange(1, 5))
            ]
        after = b"\n".join(lines) + choose.choice([b"", b"\n"])
        if after == before:
            continue
        patch = to_bytes(unified_diff(before, after, "f.py"))
        repository.apply(patch)
        assert (tmp_path / "f.py").read_bytes() == after
        assert apply_patch(before, patch) == after
        before = after


def test_large_files_are_fast() -> None:
    lines = [b"    x = f(a, b)\n" if n % 3 else b"\n" for n in range(40_000)]
    changed_lines = [*lines[:200], b"new\n", *lines[200:39_000], b"other\n", *lines[39_001:]]
    text = unified_diff(b"".join(lines), b"".join(changed_lines), "f.py")
    assert apply_patch(b"".join(lines), to_bytes(text)) == b"".join(changed_lines)


def test_an_edited_patch_is_applied_by_content() -> None:
    head = b"# note\n--- a/f.py\n+++ b/f.py\n@@ -900,1 +1,1 @@\n"
    patch = head + b" line 14\n-line 15\n+by hand\n+more\n"
    assert apply_patch(OLD, patch) == OLD.replace(b"line 15\n", b"by hand\nmore\n")


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        (b"", "no hunk"),
        (b"# only notes\n", "no hunk"),
        (b"@@ -1 +1 @@\n-nothing like it\n+x\n", "not there"),
        (b"@@ -1 +1 @@\n-line 0\nline 1\n", "a line starts with"),
    ],
)
def test_a_patch_that_does_not_fit_is_refused(patch: bytes, message: str) -> None:
    with pytest.raises(DoesNotApply, match=message):
        apply_patch(OLD, patch)


def test_hunks_are_those_of_difflib_where_nothing_can_shift() -> None:
    import difflib

    old = [f"line {n}\n" for n in range(60)]
    for changes in ({5}, {0}, {59}, {10, 16}, {10, 17}, {10, 18}, {3, 30, 57}):
        new = [f"new {n}\n" if n in changes else line for n, line in enumerate(old)]
        expected = list(difflib.unified_diff(old, new, "a/f.py", "b/f.py"))
        ours = unified_diff("".join(old).encode(), "".join(new).encode(), "f.py")
        assert ours.splitlines(keepends=True)[1:] == expected
