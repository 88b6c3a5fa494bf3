"""Options from flags and pyproject.toml; what cannot be followed is an error that helps."""

from __future__ import annotations

from pathlib import Path

import pytest
from pallas_static_grid.config import KEYS, Config, ConfigError, load_config, parse_bound
from pallas_static_grid.model import UserBound
from pallas_static_grid.settings import Flags, Settings, merge

FORMATS = ("text", "json", "html")


def pyproject(folder: Path, table: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "pyproject.toml"
    file.write_text(f"[tool.pallas-static-grid]\n{table}")
    return file


def merged(workspace: Path, table: str = "", flags: Flags | None = None) -> Settings:
    pyproject(workspace, table)
    return merge(flags or Flags(), workspace, FORMATS)


def error(workspace: Path, table: str, flags: Flags | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        merged(workspace, table, flags)
    return str(caught.value)


def test_nothing_set_gives_the_defaults(workspace: Path) -> None:
    settings = merge(Flags(), workspace, FORMATS)
    assert settings.format == "text"
    assert settings.options.target == "auto"
    assert settings.options.select == ()
    assert not settings.options.safe_only
    assert settings.color is None


def test_every_key_is_followed(workspace: Path) -> None:
    settings = merged(
        workspace,
        """
        select = ["pad_and_mask", "inline_grid_callable"]
        ignore = "inline_grid_callable"
        target = "triton"
        bound = ["src/a.py::f::n=8"]
        format = "json"
        output = "out.json"
        patch = "out.patch"
        jobs = 3
        exclude = ["third_party", "gen/*"]
        color = false
        quiet = true
        verbose = true
        only = ["src/a.py:3"]
        safe-only = true
        mask-free = true
        include-generated = true
        allow-dirty = true
        exit-zero = true
        fail-on = "unknown"
        """,
    )
    options = settings.options
    assert options.select == ("pad_and_mask", "inline_grid_callable")
    assert options.ignore == ("inline_grid_callable",)
    assert options.target == "triton"
    assert options.bounds == (UserBound("src/a.py", "f", "n", "8"),)
    assert options.only == (("src/a.py", 3),)
    assert options.exclude == ("third_party", f"{workspace.as_posix()}/gen/*")
    assert options.jobs == 3
    assert options.safe_only and options.mask_free and options.include_generated
    assert (settings.format, settings.output, settings.patch) == ("json", "out.json", "out.patch")
    assert settings.color is False and settings.quiet and settings.verbose
    assert settings.allow_dirty and settings.exit_zero and settings.fail_on_unknown


def test_flags_beat_the_file_and_lists_of_exclusions_and_bounds_add_up(workspace: Path) -> None:
    settings = merged(
        workspace,
        'target = "tpu"\nselect = "pad_and_mask"\nexclude = ["a"]\nbound = ["x.py::f::n=1"]\n',
        Flags(
            target="triton",
            select=("static_shape_arithmetic",),
            exclude=("b",),
            bound=("y.py::g::m=2",),
        ),
    )
    assert settings.options.target == "triton"
    assert settings.options.select == ("static_shape_arithmetic",)
    assert settings.options.exclude == ("a", "b")
    assert [bound.path for bound in settings.options.bounds] == ["x.py", "y.py"]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("selct", "select"),
        ("bounds", "bound"),
        ("safe_only", "safe-only"),
        ("Target", "target"),
        ("excludes", "exclude"),
        ("formats", "format"),
        ("zzz", None),
    ],
)
def test_an_unknown_key_names_the_nearest_right_one(
    workspace: Path, wrong: str, right: str | None
) -> None:
    message = error(workspace, f"{wrong} = []\n")
    assert f"unknown key {wrong!r}" in message
    assert "pyproject.toml" in message
    if right is not None:
        assert f"did you mean {right!r}?" in message


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("select = 3\n", "select: expected a list of strings"),
        ("select = [3]\n", "select: expected a list of strings"),
        ("safe-only = 1\n", "safe-only: expected true or false"),
        ('jobs = "many"\n', "jobs: expected a whole number"),
        ("jobs = -1\n", "jobs: expected a whole number"),
        ("jobs = true\n", "jobs: expected a whole number"),
        ("output = 3\n", "output: expected a string"),
        ('target = "trition"\n', "did you mean 'triton'?"),
        ('format = "jsn"\n', "did you mean 'json'?"),
        ('fail-on = "dynamic"\n', "fail-on"),
        ('select = ["pad_mask"]\n', "did you mean 'pad_and_mask'?"),
        ('ignore = ["inline_callable"]\n', "did you mean 'inline_grid_callable'?"),
        ('bound = ["n=8"]\n', "PATH::FUNCTION::EXPRESSION=BOUND"),
        ('only = ["a.py"]\n', "PATH:LINE"),
        ('format = "mbox"\n', "format 'mbox' is none of text, json, html for this command"),
    ],
)
def test_wrong_values_are_errors(workspace: Path, table: str, message: str) -> None:
    assert message in error(workspace, table)


def test_broken_toml_is_an_error(workspace: Path) -> None:
    (workspace / "pyproject.toml").write_text("[tool.pallas-static-grid\n")
    with pytest.raises(ConfigError, match="not valid TOML"):
        load_config((), workspace)


def test_our_table_must_be_a_table(workspace: Path) -> None:
    (workspace / "pyproject.toml").write_text("[tool]\npallas-static-grid = 3\n")
    with pytest.raises(ConfigError, match="is not a table"):
        load_config((), workspace)


def test_the_nearest_file_with_our_table_counts(workspace: Path) -> None:
    pyproject(workspace, 'target = "tpu"\n')
    pyproject(workspace / "near", 'target = "triton"\n')
    (workspace / "bare").mkdir()
    (workspace / "bare" / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (workspace / "bare" / "deep").mkdir()

    def target(*paths: str) -> str | None:
        return load_config(paths, workspace).text("target")

    assert target() == "tpu"
    assert target("near") == "triton"
    assert target("bare/deep") == "tpu"
    assert target("near", "bare") == "tpu"
    assert load_config((), workspace / "near").text("target") == "triton"


def test_a_config_file_can_be_given(workspace: Path) -> None:
    pyproject(workspace, 'target = "tpu"\n')
    other = pyproject(workspace / "other", 'target = "triton"\n')
    assert merge(Flags(config=str(other)), workspace, FORMATS).options.target == "triton"
    with pytest.raises(ConfigError, match="no such file"):
        merge(Flags(config="nowhere.toml"), workspace, FORMATS)


def test_paths_in_a_file_are_meant_from_its_folder(workspace: Path) -> None:
    pyproject(workspace, 'output = "out.html"\nbound = ["src/a.py::f::n=8"]\nexclude = ["gen/*"]\n')
    here = workspace / "src"
    here.mkdir()
    settings = merge(Flags(), here, FORMATS)
    assert settings.output == "../out.html"
    assert settings.options.bounds[0].path == "a.py"
    assert settings.options.exclude == (f"{workspace.as_posix()}/gen/*",)


def test_the_line_length_is_that_of_ruff_or_black(workspace: Path) -> None:
    assert load_config((), workspace).line_length is None
    (workspace / "pyproject.toml").write_text("[tool.black]\n")
    assert load_config((), workspace).line_length == 88
    (workspace / "pyproject.toml").write_text("[tool.black]\nline-length = 79\n")
    assert load_config((), workspace).line_length == 79
    (workspace / "pyproject.toml").write_text("[tool.ruff]\nline-length = 120\n")
    assert merge(Flags(), workspace, FORMATS).options.line_length == 120


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.py::f::n=8", UserBound("a.py", "f", "n", "8")),
        ("./d/a.py::C.m::dims[1]=16", UserBound("d/a.py", "C.m", "dims[1]", "16")),
        ("a.py::f::g(x, k=2)=h(y, k=3)", UserBound("a.py", "f", "g(x, k=2)", "h(y, k=3)")),
        ("a.py::f::a == b = 8", UserBound("a.py", "f", "a == b", "8")),
        ("a.py::<module>::n[b'::'] = 1", UserBound("a.py", "<module>", "n[b'::']", "1")),
        (r"d\a.py::f::n=8", UserBound(r"d\a.py", "f", "n", "8")),
    ],
)
def test_bounds_are_taken_apart(text: str, expected: UserBound) -> None:
    assert parse_bound(text) == expected


@pytest.mark.parametrize("text", ["", "n=8", "a.py::n=8", "a.py::f::n", "a.py::f::n=", "::f::n=8"])
def test_what_is_no_bound_is_an_error(text: str) -> None:
    with pytest.raises(ConfigError, match="PATH::FUNCTION::EXPRESSION=BOUND"):
        parse_bound(text)


@pytest.mark.parametrize(
    "bound", ["0", "-4", "1.5", "1e3", "True", "'a'", "None", "(4,)", "[n]", "lambda: 3", "a == b"]
)
def test_a_bound_that_cannot_be_a_number_of_steps_is_an_error(bound: str) -> None:
    with pytest.raises(ConfigError, match="a Python int of at least 1"):
        parse_bound(f"a.py::f::n={bound}")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (Flags(paths=("-", "a.py")), "cannot be combined"),
        (Flags(paths=("a.py",), stdin_filename="b.py"), "--stdin-filename"),
        (Flags(paths=("-",), interactive=True), "--interactive"),
        (Flags(select=("nonsense",)), "--select: no transform is called 'nonsense'"),
        (Flags(only=("a.py:0",)), "--only 'a.py:0': expected PATH:LINE"),
    ],
)
def test_flags_that_cannot_be_followed(workspace: Path, flags: Flags, message: str) -> None:
    assert message in error(workspace, "", flags)


def test_every_option_has_a_key_except_those_of_one_run() -> None:
    one_run = {"paths", "config", "stdin_filename", "interactive"}
    fields = {name for name in Flags.__dataclass_fields__ if name not in one_run}
    assert {key.replace("-", "_") for key in KEYS} == fields
    assert Config().values == {}
