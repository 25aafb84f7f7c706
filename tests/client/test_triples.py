"""Triples and ontologies by the SDK, from the relation that is given to the line that is listed."""

from __future__ import annotations

import pytest

from engram import AsyncEngram, UnprocessableEntityError


async def test_relations_go_out_in_any_form_and_come_back_as_lines(engram: AsyncEngram) -> None:
    agent = await engram.agents.create("teller")
    scope = engram.agent(agent.id)
    first = await scope.memories.create("Anna leads Sales.", relations=[("Anna", "leads", "Sales")])
    assert [relation.predicate for relation in first.relations] == ["leads"]
    await scope.memories.create_many(
        [{"content": "again", "relations": [["Anna", "leads", "Sales"]]}],
    )
    await scope.memories.set("team", "Bert", relations=[{"subject": "Bert", "predicate": "isIn", "object": "Sales"}])
    changed = await scope.memories.update(first.id, relations=[("Anna", "leads", "Sales"), ("Anna", "knows", "Bert")])
    assert changed.ontology_warnings == []
    lines = [line async for line in scope.facts.list(entity="sales", sort_by="co_occur", limit=1)]
    assert [(line.subject, line.relation, line.co_occur) for line in lines] == [
        ("anna", "leads", 2),
        ("bert", "is_in", 1),
    ]
    expired = await scope.facts.expire_by_adapter("declared", max_confidence=0.5)
    assert (expired.expired, expired.changed) == (0, 0)
    assert (await scope.facts.expire_by_adapter("declared")).expired == 4
    with pytest.raises(UnprocessableEntityError) as refused:
        await scope.memories.create("it", relations=[("it", "is", "Anna")])
    assert [error.field for error in refused.value.errors] == ["relations.0.subject"]


async def test_an_ontology_is_registered_and_shown(engram: AsyncEngram) -> None:
    agent = await engram.agents.create("teller")
    registered = await engram.agents.register_ontology(agent.id, verbs={"owned_by": "one"}, entity_types=["service"])
    shown = await engram.agents.ontology(agent.id)
    assert (registered.changed, shown.verbs, shown.entity_types) == (0, {"owned_by": "one"}, ["service"])
    created = await engram.memories.create(agent.id, "text", relations=[("Anna", "sees", "Bert")])
    assert ["sees" in warning for warning in created.ontology_warnings] == [True]
