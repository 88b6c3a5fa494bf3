"""The rows of the page's diffs hold both texts, and tell new indentation from change."""

from __future__ import annotations

import hypothesis
import hypothesis.strategies as st
from pallas_static_grid.render.page.rows import Row, hunks

OLD = ["def k(x_ref, o_ref):\n", "    x = x_ref[...]\n", "\n", "    o_ref[...] = x\n"]
NEW = [
    "def k(n_ref, x_ref, o_ref):\n",
    "    @pl.when(pl.program_id(0) < n_ref[0])\n",
    "    def _live():\n",
    "        x = x_ref[...]\n",
    "\n",
    "        o_ref[...] = x\n",
]


def test_a_guard_moves_the_body() -> None:
    (rows,) = hunks(OLD, NEW)
    assert [(row.kind[0], row.old, row.new, row.indented) for row in rows] == [
        ("r", 0, None, False),
        ("a", None, 0, False),
        ("a", None, 1, False),
        ("a", None, 2, False),
        ("r", 1, None, True),
        ("a", None, 3, True),
        ("s", 2, 4, False),
        ("r", 3, None, True),
        ("a", None, 5, True),
    ]
    assert [NEW[0][a:b] for a, b in rows[1].emphasis] == ["n_ref,"]
    assert (rows[0].pair, rows[4].pair) == (rows[1].pair, rows[5].pair)


def test_far_changes_have_hunks_of_their_own() -> None:
    old = [f"{i}\n" for i in range(30)]
    new = ["x\n", *old[1:20], "y\n", *old[21:]]
    groups = list(hunks(old, new))
    assert [(len(group), group[0].old) for group in groups] == [(5, 0), (8, 17)]
    assert list(hunks(old, old)) == []


LINES = st.lists(st.sampled_from(["a\n", "  a\n", "b\n", "\n", "    c\n"]), max_size=12)


@hypothesis.given(LINES, LINES)
def test_each_line_of_a_hunk_is_there_once(old: list[str], new: list[str]) -> None:
    rows = [row for hunk in hunks(old, new) for row in hunk]
    olds = [row.old for row in rows if row.old is not None]
    news = [row.new for row in rows if row.new is not None]
    assert olds == sorted(set(olds))
    assert news == sorted(set(news))
    assert applied(old, new, rows) == new
    partners = [row for row in rows if row.indented]
    assert all(row.pair for row in partners)
    for row in rows:
        if row.kind == "same":
            assert old[row.old or 0] == new[row.new or 0]


def applied(old: list[str], new: list[str], rows: list[Row]) -> list[str]:
    """The old lines without the removed ones, with the added ones in their places."""
    removed = {row.old for row in rows if row.kind == "removed"}
    kept = iter([line for i, line in enumerate(old) if i not in removed])
    added = {row.new for row in rows if row.kind == "added"}
    total = len(old) - len(removed) + len(added)
    return [new[at] if at in added else next(kept) for at in range(total)]
