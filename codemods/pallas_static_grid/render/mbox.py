"""One mail per rewrite for `git am`, each applying on top of the one before."""

from __future__ import annotations

import binascii
import textwrap
from collections.abc import Iterator, Sequence
from email.header import Header

from pallas_static_grid import __version__
from pallas_static_grid.model import FileReport, Rewrite
from pallas_static_grid.outcome import rewrites_of
from pallas_static_grid.render.notes import chain_notes, one_line, reason

AUTHOR = "pallas-static-grid <pallas-static-grid@example.invalid>"
_WIDTH = 72
_LONGEST = 900
"""Longer lines than this need an encoding (mail allows 998 bytes)."""


def render(reports: Sequence[FileReport], author: str = AUTHOR) -> str:
    """All mails, in the order in which they apply (one after the other within a file)."""
    rewrites = list(rewrites_of(reports))
    return "".join(
        _mail(rewrite, number, len(rewrites), author)
        for number, rewrite in enumerate(rewrites, start=1)
    )


def subject(rewrite: Rewrite) -> str:
    """The first line of the commit message."""
    launch = rewrite.launch
    where = "the module" if launch.function == "<module>" else launch.function
    return f"{one_line(launch.path)}: give {where} a static grid"


def message(rewrite: Rewrite) -> str:
    """The commit message below its subject: reason, chain, bound, assumptions, how to check."""
    launch = rewrite.launch
    where = f"{one_line(launch.path)}:{launch.line}"
    lines = [*_wrapped(reason(rewrite)), ""]
    lines += [f"The launch at {where}:", *chain_notes(launch)]
    lines += ["", *(f"{plan.transform} is labelled {plan.safety}." for plan in rewrite.plans)]
    for note in rewrite.notes:
        lines += ["", *_wrapped(one_line(note))]
    lines += ["", *_wrapped(_how_to_check(rewrite))]
    return "\n".join(_harmless(line) for line in lines) + "\n"


def _how_to_check(rewrite: Rewrite) -> str:
    path = one_line(rewrite.launch.path)
    check = f"To check: `pallas-static-grid scan {path}` calls this launch static."
    if rewrite.safety == "safe":
        return f"{check} The values are the same for every call that was valid before."
    return (
        f"{check} Run its callers before and after with counts of 0, 1 and the largest one under "
        "TPU interpret mode (`pltpu.InterpretParams()`) and compare what the original defines."
    )


def _mail(rewrite: Rewrite, number: int, total: int, author: str) -> str:
    mark = f"[PATCH {number:0{len(str(total))}}/{total}]" if total > 1 else "[PATCH]"
    body = f"{message(rewrite)}---\n\n{rewrite.patch}-- \n{__version__}\n\n"
    raw = body.encode("utf-8", "surrogateescape")
    encoding = "8bit"
    if _needs_encoding(raw):
        encoding, body = "quoted-printable", _quoted_printable(raw)
    return (
        "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\n"
        f"From: {_header_author(author)}\n"
        f"Subject: {_header(f'{mark} {subject(rewrite)}')}\n"
        "MIME-Version: 1.0\n"
        "Content-Type: text/plain; charset=UTF-8\n"
        f"Content-Transfer-Encoding: {encoding}\n"
        f"\n{body}"
    )


def _needs_encoding(raw: bytes) -> bool:
    """Mail tools drop CR at line ends, and break lines that are too long or not UTF-8."""
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return b"\r" in raw or b"\0" in raw or any(len(line) > _LONGEST for line in raw.split(b"\n"))


def _quoted_printable(raw: bytes) -> str:
    lines = (binascii.b2a_qp(line, quotetabs=False, istext=False) for line in raw.split(b"\n"))
    return b"\n".join(lines).decode("ascii")


def _header(text: str) -> str:
    return text if text.isascii() else Header(text, "utf-8", maxlinelen=10_000).encode()


def _header_author(author: str) -> str:
    name, bracket, address = author.rpartition(" <")
    return f"{_header(name)}{bracket}{address}"


def _wrapped(text: str) -> Iterator[str]:
    yield from textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)


def _harmless(line: str) -> str:
    """A line of the message that no mail tool takes for the start of a mail or of a patch."""
    risky = ("From ", "---", "diff -", "Index: ", "@@ ", ">From ")
    return f" {line}" if line.startswith(risky) else line
