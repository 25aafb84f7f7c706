"""Recall in graph mode, and recall that is aimed at named entities."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from pydantic import ValidationError

from engram.entities.graph.service import ONE_HOP
from engram.facts.schemas import MergeCreate
from engram.recall.schemas import RecallRequest
from engram.recall.statements import aimed
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.spaces import Space

MENTIONED = 0.95 * 0.98
"""What a hop over an entity link keeps."""


async def named(space: Space, content: str, *entities: str, subject: str | None = None, **fields: object) -> str:
    """A memory that is far from every query by its vector."""
    declared = [{"name": name} for name in entities]
    declared += [{"name": subject, "role": "subject"}] if subject else []
    fields.setdefault("embedding", space.vector(-1))
    return (await space.remember(content, entities=declared, **fields)).id


async def asked(space: Space, query: str = "?", **fields: object) -> dict[str, float]:
    hits = await space.hits(query, embedding=space.vector(1), top_k=200, **fields)
    return {id: hit.graph_score for id, hit in hits.items()}


async def test_graph_mode_finds_only_what_names_the_querys_entities_and_one_hop_around(space: Space) -> None:
    reads = await named(space, "reads invoices from it", "billing service", "ledger database")
    outage = await named(space, "was down for an hour", "ledger database", "ledger outage")
    further = await named(space, "nobody was called", "ledger outage", "on-call rota")
    near = await named(space, "the text that is nearest by vector", embedding=space.vector(1))
    found = await asked(space, "What is connected to the billing service?", search_mode="graph", max_hops=0)
    assert found[reads] == pytest.approx(MENTIONED)
    assert 0 < found[outage] < found[reads]
    assert not {further, near} & found.keys()


async def test_graph_mode_follows_asserted_edges_from_there(space: Space) -> None:
    reads = await named(space, "reads invoices", "billing service", "ledger database")
    cause = await named(space, "the disk was full")
    beyond = await named(space, "it had been ordered late")
    await space.link(cause, reads, "causal")
    await space.link(beyond, cause, "causal")
    found = await asked(space, "billing service", search_mode="graph")
    assert found[cause] == pytest.approx(MENTIONED * 0.95 * 0.97)
    assert beyond not in found


async def test_graph_mode_without_an_entity_in_the_query_finds_nothing(space: Space) -> None:
    await named(space, "reads invoices", "billing service")
    assert await asked(space, "what is going on?", search_mode="graph") == {}
    assert await asked(space, "billing service", search_mode="graph", entity_filter=[]) == {}


async def test_in_graph_mode_the_filter_stands_for_the_names_in_the_query(space: Space) -> None:
    reads = await named(space, "reads invoices", "billing service")
    other = await named(space, "sends mail", "mail service")
    found = await asked(space, "billing service", search_mode="graph", entity_filter=["The Mail Services"])
    assert other in found
    assert reads not in found


async def test_a_hub_is_no_hop_of_graph_mode(space: Space) -> None:
    for at in range(150):
        await named(space, f"note {at}", "user", f"thing number {at}")
    found = await asked(space, "thing number 3", search_mode="graph", max_hops=0)
    assert len(found) == 1


async def test_entity_filter_brings_up_what_names_the_entity(space: Space) -> None:
    about = await named(space, "its owner is Ada", subject="billing service")
    mentions = await named(space, "reads invoices", "billing service")
    other = await named(space, "sends mail", "mail service")
    plain, boosted = await asked(space), await asked(space, entity_filter=["billing service"])
    assert plain[about] == plain[mentions] == plain[other] == boosted[other]
    assert boosted[about] == 1
    assert boosted[mentions] == pytest.approx(MENTIONED)
    hits = await space.hits(embedding=space.vector(1), entity_filter=["billing service"], max_hops=0, explain=True)
    (step,) = hits[about].path
    assert (step.entity, step.weight) == ("billing service", 1)
    for hit in hits.values():
        assert hit.explain is not None
        assert hit.explain.vector_part + hit.explain.graph_part == pytest.approx(hit.score)


async def test_the_filter_counts_without_words_too(space: Space) -> None:
    about = await named(space, "its owner is Ada", subject="billing service")
    hits = await space.hits(embedding=space.vector(1), entity_filter=["billing service"], lexical=False, max_hops=1)
    assert hits[about].graph_score == 1


async def test_names_that_nothing_has_bring_up_nothing(space: Space) -> None:
    await named(space, "reads invoices", "billing service")
    nothing = ["nobody", "it", "oh", "do", "x" * 300, "\ufb01" * 200]
    assert await asked(space, entity_filter=nothing) == await asked(space)
    assert await asked(space, entity_filter=[*nothing, "billing services"]) != await asked(space)


@pytest.mark.parametrize("mode", ["hybrid", "graph"])
async def test_the_scope_holds_for_what_an_entity_leads_to(space: Space, mode: str) -> None:
    mine = await named(space, "mine", "billing service", user_id="ada")
    theirs = await named(space, "theirs", "billing service", user_id="bob")
    gone = await named(space, "gone", "billing service", user_id="ada")
    await space.forget(gone)
    ended = await named(
        space, "ended", "billing service", user_id="ada", valid_from="2020-01-01", valid_until="2021-01-01"
    )
    found = await asked(space, "billing service", search_mode=mode, entity_filter=["billing service"], user_id="ada")
    assert mine in found
    assert not {theirs, gone, ended} & found.keys()
    then = {"as_of": datetime(2020, 6, 1, tzinfo=UTC)}
    found = await asked(space, search_mode=mode, entity_filter=["billing service"], user_id="ada", **then)
    assert set(found) == {ended}


async def test_filters_do_not_starve_an_entity_of_many(space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aimed, "MAX_AT_TARGET", 3)
    wanted = await named(space, "the first", "billing service", user_id="ada")
    for at in range(8):
        await named(space, f"later {at}", "billing service", user_id="bob")
    found = await asked(space, search_mode="graph", entity_filter=["billing service"], user_id="ada")
    assert set(found) == {wanted}


async def test_merged_entities_are_one(space: Space) -> None:
    robert = await named(space, "moved to Lisbon", "Robert")
    merge = MergeCreate(agent_id=space.agent_id, name="Bob", other="Robert")
    await space.services.facts.merges.merge(DEFAULT_SCOPE, merge)
    assert robert not in await asked(space, search_mode="graph", entity_filter=["Bobby"])
    await named(space, "likes tea", "Bob")
    assert robert in await asked(space, "Where is Bob?", search_mode="graph", max_hops=0)


async def test_graph_mode_is_repeatable_and_of_bounded_cost(space: Space) -> None:
    for at in range(ONE_HOP + 5):
        await named(space, f"note {at}", "billing service", f"thing number {at}")
    first = await space.ask("billing service", search_mode="graph", explain=True)
    again = await space.ask("billing service", search_mode="graph", explain=True)
    assert first.model_dump(exclude={"took_ms"}) == again.model_dump(exclude={"took_ms"})
    assert all(0 <= hit.score <= 1 for hit in first)
    assert UUID(first.results[0].id)


async def test_what_occurs_together_later_is_no_hop_of_an_earlier_moment(space: Space) -> None:
    past = datetime.now(UTC) - timedelta(days=400)
    old = await named(space, "old", "billing service", "ledger database", valid_from=past)
    later = datetime.now(UTC) - timedelta(days=10)
    await named(space, "new", "billing service", "mail service", valid_from=later)
    mail = await named(space, "sends mail", "mail service", valid_from=past)
    moment = {"as_of": past + timedelta(days=30), "max_hops": 0}
    found = await asked(space, "billing service", search_mode="graph", **moment)
    assert old in found
    assert mail not in found
    assert mail in await asked(space, "billing service", search_mode="graph", max_hops=0)


@pytest.mark.parametrize("entity_filter", [[""], ["  "], ["a\x00b"], ["x" * 513], ["x"] * 65, "billing service"])
def test_a_filter_that_cannot_be_right_is_refused(entity_filter: object) -> None:
    with pytest.raises(ValidationError, match="entity_filter"):
        RecallRequest.model_validate(
            {"agent_id": "01890a5d-ac96-774b-bcce-b302099a8057", "query": "x", "entity_filter": entity_filter}
        )
