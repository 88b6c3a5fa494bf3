"""Shapes of grouped matrix products, and how their rows are split into groups."""

M, K, GROUPS = 32, 256, 4
TILING = (8, 128, 128)
SIZES = (
    (0, 0, 0, 0),
    (1, 0, 0, 0),
    (0, 0, 0, 5),
    (8, 8, 8, 8),
    (5, 3, 0, 11),
    (0, 15, 1, 16),
    (32, 0, 0, 0),
    (7, 10, 7, 8),
)
"""Rows of each group: none, one, some, all; with empty groups and with ends inside a tile."""
SHARDS = ((0, GROUPS), (1, 2))
"""The first group whose matrices are at hand, and how many are."""
