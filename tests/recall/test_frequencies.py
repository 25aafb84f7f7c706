"""Counts of common terms are remembered as long as they hold."""

from __future__ import annotations

from uuid import UUID

import pytest

from engram.recall import frequencies
from engram.recall.frequencies import COMMON, TermFrequencies
from engram.recall.statements import arms
from tests.fixtures.spaces import Space

AGENT, OTHER = UUID(int=1), UUID(int=2)


def test_a_common_term_is_known_and_a_rare_one_is_counted_anew() -> None:
    counts = TermFrequencies()
    counts.remember(AGENT, ["common", "rare"], [COMMON, COMMON - 1], memories=10_000)
    assert counts.known(AGENT, ["rare", "common", "new"], memories=10_000) == [0, COMMON, 0]
    assert counts.known(OTHER, ["common"], memories=10_000) == [0]


@pytest.mark.parametrize(("memories", "known"), [(10_100, True), (9_900, True), (10_101, False), (9_899, False)])
def test_a_count_is_forgotten_when_the_agent_has_changed(memories: int, known: bool) -> None:
    counts = TermFrequencies()
    counts.remember(AGENT, ["common"], [5_000], memories=10_000)
    assert counts.known(AGENT, ["common"], memories) == [5_000 if known else 0]


def test_what_was_not_asked_for_longest_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frequencies, "MAX_REMEMBERED", 2)
    counts = TermFrequencies()
    counts.remember(AGENT, ["a", "b"], [COMMON, COMMON], memories=10_000)
    counts.known(AGENT, ["a"], memories=10_000)
    counts.remember(AGENT, ["c"], [COMMON], memories=10_000)
    assert counts.known(AGENT, ["a", "b", "c"], memories=10_000) == [COMMON, 0, COMMON]


async def test_a_remembered_count_gives_the_answer_that_counting_gave(
    space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frequencies, "COMMON", 3)
    await space.remember_all([f"harbour note {at}" for at in range(12)] + ["a lighthouse at the harbour"])
    counted = await space.ask("harbour", max_hops=0, graph_weight=1, top_k=20)
    # Counting finds nothing any more: what is right now was remembered.
    monkeypatch.setattr(arms, "MAX_COUNTED", 0)
    remembered = await space.ask("harbour", max_hops=0, graph_weight=1, top_k=20)
    assert [hit.lexical_score for hit in counted.results if hit.lexical_score > 0] != []
    assert remembered.results == counted.results
    lost = await space.ask("lighthouse", max_hops=0, graph_weight=1, top_k=20)
    assert all(hit.lexical_score == 0 for hit in lost.results)
