"""Vectors of entities while memories come and go at the same moment."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

import pytest

from engram.db.database import driver
from engram.entities.vectors.service import EntityVectors
from engram.memories.changes.schemas import MemorySet, MemoryUpdate
from engram.memories.schemas import MemoryItem
from engram.problems import ConflictProblem
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import DEFAULT_SCOPE
from tests.entities.vectors import about, delete, hide, purge, supersede, vectors
from tests.entities.vectors import embedder as embedder  # noqa: PLC0414  # a fixture
from tests.entities.vectors import space as space  # noqa: PLC0414  # a fixture
from tests.fixtures.spaces import Space
from tests.fixtures.wiring import MeaningEmbedder
from tests.jobs.working import let_time_pass, until_nothing_is_owed, working


@pytest.mark.parametrize("change", [delete, purge, hide])
async def test_what_changes_while_it_is_embedded_is_read_anew(
    space: Space,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Space, str], Awaitable[None]],
) -> None:
    gone = await about(space, "Kestrel takes the payments.")
    embed = MeaningEmbedder.embed_passages
    changed = 0

    async def meanwhile(self: MeaningEmbedder, texts: Any) -> Any:
        nonlocal changed
        if any(text.startswith("Kestrel\n") for text in texts):
            changed += 1
            if changed == 1:
                await change(space, gone)
        return await embed(self, texts)

    monkeypatch.setattr(MeaningEmbedder, "embed_passages", meanwhile)
    second = await about(space, "They say that Kestrel moved.")
    assert changed == 2
    assert (await vectors(space))["kestrel", ""][0] == {second}


@pytest.mark.parametrize("change", [delete, purge, hide])
async def test_what_was_owed_to_a_memory_is_owed_to_another_where_it_goes(
    space: Space, change: Callable[[Space, str], Awaitable[None]]
) -> None:
    kept = await space.remember("A note of Kestrel and Merlin and Hobby.", entities=["Kestrel", "Merlin", "Hobby"])
    gone = [await about(space, f"Kestrel takes the payments, {at}.") for at in range(4)]
    for id in gone:
        await change(space, id)
    await _made_up(space)
    assert (await vectors(space))["kestrel", ""][0] == {kept.id}


async def test_a_memory_that_still_tells_after_it_was_changed_has_it_made_again(space: Space) -> None:
    sole = await about(space, "Kestrel takes the payments.")
    later = datetime.now(UTC) + timedelta(days=300)
    await space.services.changes.revisions.update(DEFAULT_SCOPE, sole, MemoryUpdate(valid_until=later))
    await _made_up(space)
    assert (await vectors(space))["kestrel", ""][0] == {sole}


async def test_a_value_that_is_set_before_another_leaves_the_others_vectors(space: Space) -> None:
    fields: dict[str, Any] = {"agent_id": space.agent_id, "key": "bird"}
    latest = MemorySet(**fields, content="Kestrel takes the payments.", entities=["Kestrel"])
    kept = await space.services.changes.setting.set(DEFAULT_SCOPE, latest)
    before = MemorySet(**fields, content="Merlin.", valid_from=datetime.now(UTC) - timedelta(days=3))
    await space.services.changes.setting.set(DEFAULT_SCOPE, before)
    await _made_up(space)
    assert (await vectors(space))["kestrel", ""][0] == {kept.id}


async def test_changes_that_come_to_the_same_text_do_not_stop_each_other(space: Space) -> None:
    changes = space.services.changes
    for at in range(8):
        first, second = [await about(space, f"Kestrel takes the payments, {at} {name}.") for name in ("a", "b")]
        said = f"Kestrel moved, {at}."
        ended = await asyncio.gather(
            changes.setting.supersede(DEFAULT_SCOPE, first, MemoryItem(content=said)),
            changes.revisions.update(DEFAULT_SCOPE, second, MemoryUpdate(content=said)),
            return_exceptions=True,
        )
        assert not [one for one in ended if isinstance(one, Exception) and not isinstance(one, ConflictProblem)]


async def test_one_that_is_written_while_the_vector_of_what_it_names_goes_has_it_made(space: Space) -> None:
    first, second = [await about(space, f"Kestrel takes the payments, {at}.") for at in range(2)]
    async with TenantDatabase(space.services.database).transaction(DEFAULT_SCOPE) as connection:
        vectors_of = EntityVectors(made=True)
        await vectors_of.forget(connection, DEFAULT_SCOPE, UUID(space.agent_id), [UUID(first), UUID(second)], going=())
        # Not so many that it would be made again.
        writing = asyncio.create_task(about(space, "They say that Kestrel moved."))
        async with asyncio.timeout(60):
            while not await _waiting(space):  # another connection of the database sets no event
                assert not writing.done()
                await asyncio.sleep(0.01)
    third = await writing
    assert (await vectors(space))["kestrel", ""][0] == {first, second, third}


async def test_beside_those_that_change_and_erase_nothing_stays_of_what_is_gone(space: Space) -> None:
    names = ["Kestrel", "Merlin", "Old Mill", "Hobby"]
    random = Random(5)

    async def live(number: int) -> None:
        for at in range(6):
            said = random.choice(["payments", "city", "tea"])
            named = random.sample(names, 3)
            id = (await space.remember(f"{' and '.join(named)}: {said} {number} {at}", entities=named)).id
            await random.choice([delete, purge, supersede, hide, _keep])(space, id)

    await asyncio.gather(*(live(number) for number in range(8)))
    await _made_up(space)
    made = await vectors(space)
    tell, named = await telling(space)
    assert {UUID(id) for made_of, _, _ in made.values() for id in made_of} <= tell
    assert made.keys() == {(name, "") for name in named}


async def _keep(space: Space, id: str) -> None:
    await space.get(id)


async def telling(space: Space) -> tuple[set[UUID], set[str]]:
    """The memories that may tell of an entity, and what they name."""
    async with space.services.database.snapshot() as connection:
        rows = await driver(connection).fetch(
            "SELECT m.id, e.name FROM memories m JOIN mentions n ON n.agent_id = m.agent_id AND n.memory_id = m.id"
            " JOIN entities e ON e.agent_id = n.agent_id AND e.id = n.entity_id"
            " WHERE m.agent_id = $1 AND m.status = 'current' AND m.sensitivity = 'normal'",
            UUID(space.agent_id),
        )
    return {row["id"] for row in rows}, {row["name"] for row in rows}


async def _made_up(space: Space) -> None:
    async with working(space.services):
        await let_time_pass(space.services, timedelta(minutes=1))
        await until_nothing_is_owed(space.services)


async def _waiting(space: Space) -> bool:
    """Whether a transaction of this database waits for another."""
    async with space.services.database.snapshot() as connection:
        waits: bool = await driver(connection).fetchval(
            "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()"
            " AND wait_event_type = 'Lock')"
        )
        return waits
