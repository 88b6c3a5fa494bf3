"""Bytes to text and back, and the files that cannot be read as Python text."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pallas_static_grid.model import Failed
from pallas_static_grid.newlines import LineEnds
from pallas_static_grid.source import Source, decode, generated_marker, split_lines

SITE = b"from jax.experimental import pallas as pl\nr = pl.pallas_call(k, grid=(4,), out_shape=s)\n"


def decoded(data: bytes) -> Source:
    source = decode("f.py", data)
    assert isinstance(source, Source), source
    return source


def failure(data: bytes) -> Failed:
    failed = decode("f.py", data)
    assert isinstance(failed, Failed), failed
    return failed


ROUND_TRIPS = {
    "plain": SITE,
    "empty": b"",
    "bom": codecs.BOM_UTF8 + SITE,
    "bom only": codecs.BOM_UTF8,
    "latin-1 cookie": b"# -*- coding: latin-1 -*-\n# caf\xe9\n" + SITE,
    "cookie on line 2": b"#!/usr/bin/env python\n# vim: set fileencoding=cp1252 :\n# \x80\n" + SITE,
    "utf-8 text": "# größer → ∞\n".encode() + SITE,
    "crlf": SITE.replace(b"\n", b"\r\n"),
    "cr": SITE.replace(b"\n", b"\r"),
    "mixed": b"a = 1\r\nb = 2\nc = 3\rd = 4\n",
    "no newline at the end": SITE[:-1],
    "form feed": b"\x0c\n" + SITE + b"\x0c",
    "u+2028 and u+0085": "x = 'a\u2028b\x85c'\n".encode() + SITE,
    "lone cr at the end": SITE + b"\r",
    "blank lines at the end": SITE + b"   \n\t\n  ",
}


@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_unchanged_text_gives_the_same_bytes(name: str) -> None:
    data = ROUND_TRIPS[name]
    source = decoded(data)
    assert source.encode(source.text) == data
    assert not source.text.startswith("\ufeff")


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_any_utf8_text_survives(text: str) -> None:
    data = text.encode()
    found = decode("f.py", data)
    if isinstance(found, Source):  # a random comment may be a cookie
        assert found.encode(found.text) == data


@given(st.binary(max_size=60))
def test_any_bytes_give_a_source_that_round_trips_or_a_failure(data: bytes) -> None:
    found = decode("f.py", data)
    assert isinstance(found, Failed) or found.encode(found.text) == data


def test_an_edit_keeps_bom_and_encoding() -> None:
    source = decoded(codecs.BOM_UTF8 + "grid = 'ä'\n".encode())
    assert source.encode("grid = 'ö'\n") == codecs.BOM_UTF8 + "grid = 'ö'\n".encode()
    latin = decoded(b"# coding: latin-1\n# caf\xe9\n")
    assert latin.encode(latin.text + "# é\n") == latin.data + b"# \xe9\n"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"#\x80\n" + SITE, "line 1: byte 0x80 is not valid utf-8"),
        (SITE + b"# \xff\n", "line 3: byte 0xff is not valid utf-8"),
        (b"a = 1\n\n\n\n\nb = '\xe9'\n", "line 6: byte 0xe9 is not valid utf-8"),
        (b"# coding: nope\n" + SITE, "encoding cookie cannot be followed: unknown encoding: nope"),
        (codecs.BOM_UTF8 + b"# coding: latin-1\n" + SITE, "encoding cookie cannot be followed"),
        (b"# coding: ascii\n\n# \xe9\n", "line 3: byte 0xe9 is not valid ascii"),
        (b"# coding: rot13\n" + SITE, "rot13"),
        (b"# coding: utf-7\n# +AOk-\n# a+b\n", "utf-7"),
        (SITE + b"x = '\0'\n", "line 3: a NUL byte"),
        ("grid = 1\n".encode("utf-16"), "not valid utf-8"),
    ],
)
def test_what_cannot_be_decoded_is_a_failure_in_one_line(data: bytes, message: str) -> None:
    failed = failure(data)
    assert failed.stage == "decode"
    assert message in failed.message
    assert "\n" not in failed.message


def test_lines_are_those_of_python() -> None:
    text = "a\r\nb\rc\nd\x0ce\u2028f\x85g\vh"
    assert split_lines(text) == ["a\r\n", "b\r", "c\n", "d\x0ce\u2028f\x85g\vh"]
    assert split_lines("") == []
    assert split_lines("\n") == ["\n"]


def restored(text: str, old: str, new: str) -> str:
    ends = LineEnds.of(text)
    assert old in ends.plain
    return ends.restore(ends.plain.replace(old, new))


@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_line_ends_come_back(name: str) -> None:
    text = decoded(ROUND_TRIPS[name]).text
    ends = LineEnds.of(text)
    assert "\r" not in ends.plain
    assert ends.plain.count("\n") == sum(line[-1] in "\r\n" for line in split_lines(text))
    assert ends.restore(ends.plain) == text


@given(st.text("ab\r\n", max_size=40), st.text("ab\n", max_size=40))
def test_any_line_ends_come_back(text: str, other: str) -> None:
    ends = LineEnds.of(text)
    assert ends.restore(ends.plain) == text
    assert LineEnds.of(ends.restore(other)).plain == other


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        ("a = 1\r\nb = 2\r\n", "b", "x = 0\nb", "a = 1\r\nx = 0\r\nb = 2\r\n"),
        ("a\rb", "b", "x\nb", "a\rx\rb"),
        ("a\nb\r\nc\rd\n", "c\n", "new\nc\n", "a\nb\r\nnew\r\nc\rd\n"),
        ("a\nb\r\nc\rd\n", "a\n", "new\na\n", "new\na\nb\r\nc\rd\n"),
        ("a\nb\r\nc", "c", "c\nd", "a\nb\r\nc\r\nd"),
        ("a\nb\r\nc\n", "c\n", "c", "a\nb\r\nc"),
        ("a\nb\n", "b", "x\ny", "a\nx\ny\n"),
    ],
)
def test_new_lines_get_the_end_of_the_line_above(
    text: str, old: str, new: str, expected: str
) -> None:
    assert restored(text, old, new) == expected


HAND = 'HEADER = "# @" "generated by gen.py"\nTEXT = "@generated"\n# @generated\n'


@pytest.mark.parametrize(
    "text",
    [
        "# @generated by gen.py - do not edit\nr = 1\n",
        "# Copyright\n\n# Code generated by gen. DO NOT EDIT.\nr = 1\n",
        "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n# This file is autogenerated.\n"
        "# Do not modify it by hand.\n",
        "# @generated\r\nr = 1\r\n",
    ],
)
def test_a_marker_in_a_leading_comment_is_found(text: str) -> None:
    marker = generated_marker(text)
    assert marker is not None
    assert "generated" in marker


@pytest.mark.parametrize(
    "text",
    [
        HAND,
        '"""@generated: do not edit."""\n',
        "# Do not edit the grid by hand.\nr = 1\n",
        "# The tables are generated by gen.py.\nr = 1\n",
        "# not-@generated\nr = 1\n",
        "import x\n# @generated\n",
        "",
    ],
)
def test_a_marker_elsewhere_does_not_count(text: str) -> None:
    assert generated_marker(text) is None
