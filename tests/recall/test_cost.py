"""What a recall costs: a fixed number of statements, and bounds on what each reads."""

from __future__ import annotations

from typing import Any

import asyncpg
import pytest

from engram.recall.statements import arms
from engram.recall.tuning import RecallTuning
from engram.tuning import Tuning
from tests.fixtures.spaces import Space


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The queries sent from here on."""
    sent: list[str] = []
    for name in ("fetch", "fetchrow", "fetchval"):
        send = getattr(asyncpg.Connection, name)

        async def listening(self: Any, query: str, *values: Any, _send: Any = send, **options: Any) -> Any:
            sent.append(query)
            return await _send(self, query, *values, **options)

        monkeypatch.setattr(asyncpg.Connection, name, listening)
    return sent


@pytest.mark.parametrize("memories", [1, 150])
@pytest.mark.parametrize("hops", [1, 5])
async def test_four_statements_whatever_is_found(space: Space, asked: list[str], memories: int, hops: int) -> None:
    await space.remember_all(
        [{"content": f"turn {at} about Zyra", "session_id": "s", "entities": ["Zyra"]} for at in range(memories)]
    )
    asked.clear()
    found = await space.ask("Zyra", top_k=50, max_hops=hops, explain=True)
    assert len(found.results) == min(memories, 50)
    assert len(asked) == 4


@pytest.fixture
def five_is_common(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arms, "MAX_POSTINGS", 5)


async def test_a_common_word_still_counts_beside_a_rare_one(space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    await space.remember_all([f"harbour note {at}" for at in range(12)])
    both = await space.remember("the harbour has a lighthouse")
    rare = await space.remember("a lighthouse")
    exact = {id: hit.lexical_score for id, hit in (await space.hits("harbour lighthouse", max_hops=0)).items()}
    monkeypatch.setattr(arms, "MAX_POSTINGS", 5)
    bounded = {id: hit.lexical_score for id, hit in (await space.hits("harbour lighthouse", max_hops=0)).items()}
    assert {id: bounded[id] for id in (both.id, rare.id)} == {id: exact[id] for id in (both.id, rare.id)}
    # "harbour" brings nothing in any more; what comes in otherwise is scored by it.
    assert 0 < bounded[rare.id] != bounded[both.id] > 0


@pytest.mark.usefixtures("five_is_common")
async def test_a_query_of_common_words_alone_is_still_answered(space: Space) -> None:
    await space.remember_all([f"harbour note {at}" for at in range(12)])
    found = await space.hits("harbour", max_hops=0, graph_weight=1)
    assert all(hit.lexical_score > 0 for hit in found.values())


async def test_a_cap_that_bites_is_said(space: Space) -> None:
    centre = await space.remember("centre", embedding=space.vector(1))
    for at in range(4):
        leaf = await space.remember(f"leaf {at}", embedding=space.vector(*[0] * (at + 1), 1))
        await space.link(centre.id, leaf.id, "causal", weight=0.2 * (at + 1))
    query: dict[str, Any] = {"embedding": space.vector(1), "lexical": False, "graph_weight": 1}
    assert not (await space.ask(**query)).truncated
    tuned = await space.tuned(Tuning(recall=RecallTuning(fan_out=2)))
    cut = await tuned.ask(**query)
    assert cut.truncated
    # The strongest edges are the ones followed.
    assert [hit.content for hit in cut.results[:2]] == ["leaf 3", "leaf 2"]


async def test_a_hub_leads_only_toward_what_is_about_it(space: Space) -> None:
    about = await space.remember("All about it", entities=[{"name": "Zyra", "role": "subject"}])
    written = await space.remember_all([{"content": f"note {at}", "entities": ["Zyra"]} for at in range(49)])
    one = written.results[0].id
    assert len(await space.edges(one, "entity_link")) == 49
    await space.remember("note 50", entities=["Zyra"])
    (edge,) = await space.edges(one, "entity_link")
    assert (edge.target_memory_id, edge.weight) == (about.id, 1)
