"""Which agents are scanned, and which are searched through the index."""

from __future__ import annotations

import pytest

from engram.memories.vectors import EXACT_SEARCH_LIMIT, VectorIndex


@pytest.mark.parametrize(
    ("vectors", "stored", "through_index"),
    [
        (EXACT_SEARCH_LIMIT, 0, False),
        (EXACT_SEARCH_LIMIT + 1, -1, True),
        (100_000, 100_000, True),
        (5_000, 20_000, True),
        # A hundredth of a million: the index would go through a hundred vectors of others for each that is wanted.
        (10_000, 1_000_000, False),
        (50_000, 1_000_000, True),
    ],
)
def test_the_index_serves_agents_that_hold_much_of_it(vectors: int, stored: float, through_index: bool) -> None:
    assert VectorIndex(1, 256).serves(vectors, stored) is through_index


def test_more_dimensions_than_an_index_takes_are_scanned() -> None:
    assert not VectorIndex(1, 4001).serves(1_000_000, 1_000_000)
