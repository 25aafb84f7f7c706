"""What follows from a sensitive memory: nothing where it came in bulk, else what its writer declared; of its text
nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from engram.entities.graph.schemas import EntityPathRequest
from engram.facts.quantities.answering import NumberQuestion
from engram.facts.quantities.schemas import QuantityOp
from engram.facts.schemas import Provenance
from engram.facts.triples.service import TripleQuestion
from engram.memories.changes.schemas import MemorySet, MemoryUpdate
from engram.memories.schemas import MemoryCreated
from engram.services import open_services
from engram.settings import Settings
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.spaces import Space, ids, new_space

TEXT = "Alice Moreau told the Harbour Clinic that Doctor Brandt treats her for a broken wrist."
DECLARED: dict[str, Any] = {
    "entities": ["Harbour Clinic", "Doctor Brandt"],
    "relations": [["Harbour Clinic", "employs", "Doctor Brandt"]],
    "quantities": [{"entity": "Harbour Clinic", "attribute": "patients", "value": 12}],
}
HIGH: dict[str, Any] = {**DECLARED, "sensitivity": "high"}
WHAT_IS_DECLARED = {"Doctor Brandt": ("mention", False), "Harbour Clinic": ("mention", False)}
ALIKE = "Alice Moreau told the Harbour Clinic that Doctor Brandt treated her for a broken wrist."


async def projected(space: Space) -> dict[str, Any]:
    """What of what is declared became of it: whether it occurs together, provenances of what is stated, the number."""
    services, asked = (
        space.services,
        EntityPathRequest(agent_id=space.agent_id, source="harbour clinic", target="doctor brandt"),
    )
    question = NumberQuestion(
        agent_id=space.agent_id,
        entity="harbour clinic",
        attribute="patients",
        op=QuantityOp.latest,
        unit=None,
        begins=None,
        ends=None,
        as_of=None,
    )
    triples = await services.triples.list(DEFAULT_SCOPE, TripleQuestion(agent_id=space.agent_id), limit=10, cursor=None)
    return {
        "together": (await services.entity_graph.path(DEFAULT_SCOPE, asked)).found,
        "stated": [triple.provenance for triple in triples.data],
        "number": (await services.numbers.compute(DEFAULT_SCOPE, question)).value,
    }


NOTHING = {"together": False, "stated": [], "number": None}


async def put(space: Space, **fields: Any) -> MemoryCreated:
    request = MemorySet(agent_id=space.agent_id, key="visit", content=TEXT, **fields)
    return await space.services.changes.setting.set(DEFAULT_SCOPE, request)


async def change(space: Space, id: str, **fields: Any) -> None:
    await space.services.changes.revisions.update(DEFAULT_SCOPE, id, MemoryUpdate(**fields))


async def rebuilt(space: Space, id: str) -> None:
    """As after a rebuild of all links."""
    assert await space.services.projector.run(DEFAULT_SCOPE, UUID(space.agent_id), [UUID(id)], changed=True)


async def test_nothing_follows_from_what_is_sensitive_and_came_in_bulk(space: Space) -> None:
    (id,) = ids(await space.remember_all([{"content": TEXT, **HIGH}]))
    await space.remember("Who is Alice Moreau?", entities=["Alice Moreau", "Wrist"])
    await rebuilt(space, id)
    assert await space.entities(id) == {}
    assert await space.edges(id) == []
    assert await projected(space) == NOTHING
    # It is kept as it was written, and found by what it says.
    memory = await space.get(id)
    assert (memory.sensitivity, len(memory.relations), len(memory.quantities)) == ("high", 1, 1)
    assert TEXT in await space.texts("Which doctor treats the broken wrist?")
    await space.forget(id)
    await space.services.changes.restorations.restore(DEFAULT_SCOPE, id)
    assert (await space.entities(id), await projected(space)) == ({}, NOTHING)


@pytest.mark.parametrize("by_key", [True, False])
async def test_from_a_sensitive_memory_follows_what_was_declared_and_nothing_of_its_text(
    space: Space, by_key: bool
) -> None:
    memory = await put(space, **HIGH) if by_key else await space.remember(TEXT, **HIGH)
    await space.remember("Who is Alice Moreau?", entities=["Alice Moreau", "Wrist"])
    await rebuilt(space, memory.id)
    assert await space.entities(memory.id) == WHAT_IS_DECLARED
    # That both ends stand in the text would be something of it.
    assert await projected(space) == {"together": True, "stated": [Provenance.inferred], "number": 12}
    assert TEXT in await space.texts("Which doctor treats the broken wrist?")
    await space.forget(memory.id)
    assert await projected(space) == NOTHING
    await space.services.changes.restorations.restore(DEFAULT_SCOPE, memory.id)
    assert await space.entities(memory.id) == WHAT_IS_DECLARED


async def test_nothing_is_linked_by_the_theme_of_a_high_text(space: Space) -> None:
    plain = await space.remember(ALIKE)
    high = await space.remember(TEXT, sensitivity="high")
    await space.remember_all([{"content": f"{ALIKE} {n}"} for n in range(20)])
    assert await space.neighbours(high.id, "thematic") == {}
    assert await space.neighbours(plain.id, "thematic") != {}
    await change(space, high.id, sensitivity="normal")
    assert await space.neighbours(high.id, "thematic") != {}
    await change(space, high.id, sensitivity="high")
    assert await space.neighbours(high.id, "thematic") == {}


async def test_no_names_are_proposed_for_a_high_text(
    shared_database_url: str, make_settings: Callable[..., Settings], static_weights: None
) -> None:
    async with open_services(make_settings(shared_database_url, entity_recognition="rules")) as services:
        space = await new_space(services)
        plain, high = await space.remember(ALIKE), await space.remember(TEXT, sensitivity="high")
        assert await space.entities(plain.id) != {}
        assert await space.entities(high.id) == {}
        await change(space, high.id, content=f"{TEXT} Twice.")
        assert await space.entities(high.id) == {}


async def test_what_was_projected_follows_an_update(space: Space) -> None:
    memory = await space.remember(TEXT, **DECLARED)
    await space.remember("Who is Alice Moreau?", entities=["Alice Moreau"])
    assert await space.entities(memory.id) == {**WHAT_IS_DECLARED, "Alice Moreau": ("mention", True)}
    assert (await projected(space))["stated"] == [Provenance.extracted]
    await change(space, memory.id, sensitivity="high")
    assert await space.entities(memory.id) == WHAT_IS_DECLARED
    assert await projected(space) == {"together": True, "stated": [Provenance.inferred], "number": 12}
    await change(space, memory.id, sensitivity="normal")
    assert await space.entities(memory.id) == {**WHAT_IS_DECLARED, "Alice Moreau": ("mention", True)}
    history = await space.services.memories.get(DEFAULT_SCOPE, memory.id, known_at=memory.updated_at)
    assert history.sensitivity == "normal"


async def test_a_bulk_entry_projects_what_is_said_of_it_by_itself(space: Space) -> None:
    first, second = ids(await space.remember_all([{"content": TEXT, **HIGH}, {"content": ALIKE, **HIGH}]))
    await change(space, first, tags=["kept"])
    assert (await space.entities(first), await projected(space)) == ({}, NOTHING)
    await change(space, first, entities=["Doctor Brandt", "Harbour Clinic"])
    assert await space.entities(first) == WHAT_IS_DECLARED
    assert await projected(space) == {"together": True, "stated": [Provenance.inferred], "number": 12}
    assert await space.entities(second) == {}
    await change(space, second, sensitivity="normal")
    assert await space.entities(second) == WHAT_IS_DECLARED


async def test_a_normal_batch_projects_all(space: Space) -> None:
    (id,) = ids(await space.remember_all([{"content": TEXT, **DECLARED}]))
    assert await space.entities(id) == WHAT_IS_DECLARED
    assert await projected(space) == {"together": True, "stated": [Provenance.extracted], "number": 12}
