"""All links of an agent made anew are the links that were made as it was written."""

from __future__ import annotations

from collections.abc import AsyncIterator
from random import Random
from uuid import UUID

import pytest

from engram.db.database import driver
from engram.entities.graph.schemas import TraverseRequest
from engram.facts.schemas import FactBatch, FactItem
from engram.facts.triples.service import TripleQuestion
from engram.graph.schemas import RelationType
from engram.jobs.schemas import JobStatus
from engram.services import Services
from engram.settings import Settings
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.spaces import Space, ids, new_space
from tests.fixtures.wiring import HashEmbedder, opened
from tests.jobs.working import until, working

Links = dict[tuple[str, str], float]
NAMES = ("Zyra", "Old Mill", "Kestrel", "Port Aleph")


@pytest.fixture
async def services(settings: Settings) -> AsyncIterator[Services]:
    async with opened(settings, HashEmbedder(6, threshold=0.2)) as services, working(services):
        yield services


async def links(space: Space) -> Links:
    async with space.services.database.snapshot() as connection:
        rows = await driver(connection).fetch(
            "SELECT source_id, target_id, weight FROM edges WHERE agent_id = $1 AND relation_type = 'thematic'"
            " AND invalidated_at IS NULL",
            UUID(space.agent_id),
        )
    return {(str(row["source_id"]), str(row["target_id"])): row["weight"] for row in rows}


async def mentions(space: Space) -> set[tuple[str, str, bool]]:
    async with space.services.database.snapshot() as connection:
        rows = await driver(connection).fetch(
            "SELECT memory_id, entity_id, recognized FROM mentions WHERE agent_id = $1", UUID(space.agent_id)
        )
    return {(str(row["memory_id"]), str(row["entity_id"]), row["recognized"]) for row in rows}


async def rebuild(space: Space) -> None:
    job = await space.services.jobs.rebuild_links(DEFAULT_SCOPE, space.agent_id)
    ended = await until(space.services, job.id, JobStatus.done, JobStatus.dead)
    assert (ended.status, ended.error) == (JobStatus.done, None)
    assert ended.done == ended.total


async def spoil(space: Space, random: Random) -> None:
    """Lose some of what was found, and have some that nobody would find."""
    agent = UUID(space.agent_id)
    async with space.services.database.transaction() as connection:
        raw = driver(connection)
        await raw.execute("SELECT setseed($1)", random.random())
        await raw.execute("DELETE FROM edges WHERE agent_id = $1 AND random() < 0.5", agent)
        await raw.execute("UPDATE edges SET weight = 0.999 WHERE agent_id = $1 AND random() < 0.3", agent)
        await raw.execute("DELETE FROM mentions WHERE agent_id = $1 AND recognized AND random() < 0.5", agent)
        await raw.execute(
            """
            INSERT INTO edges (agent_id, tenant_id, source_id, target_id, relation_type, weight, origin)
            SELECT s.agent_id, s.tenant_id, s.id, t.id, 'thematic', 0.5, 'thematic'
            FROM memories s JOIN memories t ON t.agent_id = $1 AND t.id > s.id
            WHERE s.agent_id = $1 AND random() < 0.3
            ON CONFLICT DO NOTHING
            """,
            agent,
        )


async def random_space(services: Services, random: Random, most: int) -> Space:
    """An agent with up to so many memories, of which some were written at once, and some name something."""
    space = await new_space(services)
    written = 0
    while written < most:
        size = random.choice((1, 1, 3, 20))
        batch: list[str | dict[str, object]] = []
        for _ in range(min(size, most - written)):
            named = random.sample(NAMES, random.randrange(3))
            declared = [name for name in named if random.random() < 0.4]
            batch.append({"content": f"note {random.random()} on {' and '.join(named)}", "entities": declared})
        await space.remember_all(batch)
        written += len(batch)
    return space


@pytest.mark.parametrize("seed", range(6))
async def test_links_made_anew_are_those_made_with_each_write(services: Services, seed: int) -> None:
    """Of six memories none has more neighbours than it is linked to: then the order of arrival does not matter."""
    random = Random(seed)
    space = await random_space(services, random, 6)
    before, named = await links(space), await mentions(space)
    await spoil(space, random)
    await rebuild(space)
    assert await links(space) == pytest.approx(before, abs=1e-5)
    assert await mentions(space) == named
    await rebuild(space)
    assert await links(space) == pytest.approx(before, abs=1e-5)


@pytest.mark.parametrize("seed", range(2))
async def test_of_more_memories_each_is_linked_to_its_nearest_whatever_stood_before(
    services: Services, seed: int
) -> None:
    random = Random(seed)
    space = await random_space(services, random, 250)
    await rebuild(space)
    before = await links(space)
    assert before
    await spoil(space, random)
    await rebuild(space)
    assert await links(space) == pytest.approx(before, abs=1e-5)


async def test_what_clients_asserted_or_deleted_stays_as_it_is(services: Services) -> None:
    space = await new_space(services)
    embedding = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    away = [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    near, also, far = ids(
        await space.remember_all(
            [
                {"content": "one", "embedding": embedding},
                {"content": "two", "embedding": embedding},
                {"content": "three", "embedding": away},
            ]
        )
    )
    assert await links(space) == {(near, also): pytest.approx(1.0)}
    await space.link(near, far, RelationType.thematic, weight=0.3, reason="somebody says so")
    await space.unlink(near, also, RelationType.thematic)
    await rebuild(space)
    assert await links(space) == {(near, far): pytest.approx(0.3)}


async def test_two_who_ask_at_once_get_the_same_job(services: Services) -> None:
    space = await random_space(services, Random(1), 30)
    async with services.database.transaction() as connection:
        # Whoever works on the agent's links waits for this, and whoever only asks for it does not.
        await driver(connection).execute("LOCK TABLE edges")
        asked = [await services.jobs.rebuild_links(DEFAULT_SCOPE, space.agent_id) for _ in range(3)]
        assert len({job.id for job in asked}) == 1
    ended = await until(services, asked[0].id, JobStatus.done)
    assert ended.total == 30
    again = await services.jobs.rebuild_links(DEFAULT_SCOPE, space.agent_id)
    assert again.id != ended.id


async def test_what_facts_name_that_was_not_known_when_they_were_appended_is_made_entities(services: Services) -> None:
    """As of facts of before revision 0015: they are walked then, and found by what they name."""
    space = await new_space(services)
    texts = [("Zyra", "runs", "Old Mills"), ("the old mill", "is_in", "Port Aleph"), ("it", "is", "Kestrel")]
    items = [FactItem(subject=subject, predicate=predicate, object=object) for subject, predicate, object in texts]
    await services.facts.append_many(DEFAULT_SCOPE, FactBatch(agent_id=space.agent_id, items=items))
    agent = UUID(space.agent_id)
    shown = "SELECT id, updated_at, status, subject, object FROM facts WHERE agent_id = $1 ORDER BY id"
    async with services.database.transaction() as connection:
        raw = driver(connection)
        await raw.execute("UPDATE facts SET subject_entity = NULL, object_entity = NULL WHERE agent_id = $1", agent)
        await raw.execute("DELETE FROM entities WHERE agent_id = $1", agent)
        before = await raw.fetch(shown, agent)

    async def walked() -> list[str]:
        request = TraverseRequest(agent_id=space.agent_id, seed_entity="Zyra", labeled=True)
        walk = await services.entity_graph.traverse(DEFAULT_SCOPE, request)
        return [node.name for node in walk.nodes]

    assert await walked() == []
    await rebuild(space)
    assert await walked() == ["old mill", "port aleph"]
    asked = TripleQuestion(agent_id=space.agent_id, entity="kestrel")
    (line,) = (await services.triples.list(DEFAULT_SCOPE, asked, limit=10, cursor=None)).data
    assert (line.subject, line.object) == ("it", "kestrel")
    async with services.database.snapshot() as connection:
        assert await driver(connection).fetch(shown, agent) == before
    await rebuild(space)
    assert await walked() == ["old mill", "port aleph"]
