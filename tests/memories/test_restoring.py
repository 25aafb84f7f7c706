"""Values of a key that come back after others came and went."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from engram import AsyncEngram, ConflictError, UnprocessableEntityError
from engram.agents.schemas import Agent


@pytest.fixture
async def agent(engram: AsyncEngram) -> Agent:
    return await engram.agents.create("clerk")


async def test_a_deleted_value_comes_back_beside_those_that_held_meanwhile(engram: AsyncEngram, agent: Agent) -> None:
    first, second, third = [(agent.id, "owner", f"{name} owns it") for name in ("Ann", "Bob", "Cid")]
    ann = await engram.memories.set(*first)
    await engram.memories.delete(ann.id)
    bob, cid = await engram.memories.set(*second), await engram.memories.set(*third)
    await engram.memories.delete(cid.id)
    again = await engram.memories.restore(ann.id)

    async def held(moment: object) -> list[str]:
        return [hit.id for hit in await engram.memories.recall(agent.id, "Who owns it?", as_of=moment)]

    # Bob was the owner when he was, though Ann had been before, and is now.
    assert again.valid_from > cid.valid_from
    assert [await held(each.valid_from) for each in (ann, bob, cid, again)] == [[ann.id], [bob.id], [ann.id], [ann.id]]
    dora = await engram.memories.set(agent.id, "owner", "Dora owns it")
    assert [memory.id async for memory in engram.memories.list(agent.id)] == [dora.id]
    assert (await engram.memories.get(ann.id)).superseded_by == dora.id


async def test_a_value_is_set_after_one_that_came_back_from_before_an_empty_one(
    engram: AsyncEngram, agent: Agent
) -> None:
    ann = await engram.memories.set(agent.id, "owner", "Ann owns it", valid_from="2024-01-01")
    await engram.memories.delete(ann.id)
    # The first of two that begin together never held.
    await engram.memories.set(agent.id, "owner", "Bob owns it", valid_from="2024-02-01")
    cid = await engram.memories.set(agent.id, "owner", "Cid owns it", valid_from="2024-02-01")
    await engram.memories.delete(cid.id)
    assert (await engram.memories.restore(ann.id)).valid_from == ann.valid_from
    dora = await engram.memories.set(agent.id, "owner", "Dora owns it")
    assert [memory.id async for memory in engram.memories.list(agent.id)] == [dora.id]


async def test_an_end_is_not_moved_into_the_time_of_another_value(engram: AsyncEngram, agent: Agent) -> None:
    ann = await engram.memories.set(agent.id, "owner", "Ann owns it", valid_from="2024-01-01", valid_until="2024-02-01")
    await engram.memories.delete(ann.id)
    await engram.memories.set(agent.id, "owner", "Bob owns it", valid_from="2024-03-01")
    cid = await engram.memories.set(agent.id, "owner", "Cid owns it", valid_from="2024-04-01")
    await engram.memories.delete(cid.id)
    assert (await engram.memories.restore(ann.id)).valid_until == ann.valid_until
    assert (await engram.memories.update(ann.id, valid_until="2024-03-01")).version == 4
    for end in ("2024-03-02", None):
        with pytest.raises(UnprocessableEntityError, match="another value"):
            await engram.memories.update(ann.id, valid_until=end)


async def test_a_value_that_is_yet_to_hold_is_superseded_from_then_on(engram: AsyncEngram, agent: Agent) -> None:
    ann = await engram.memories.set(agent.id, "owner", "Ann owns it", valid_from="2999-01-01")
    with pytest.raises(ConflictError, match="does not hold before 2999-01-01T00:00:00Z: give a valid_from"):
        await engram.memories.supersede(ann.id, "Bob owns it")
    bob = await engram.memories.supersede(ann.id, "Bob owns it", valid_from="2999-02-01")
    assert (await engram.memories.get(ann.id)).superseded_by == bob.id


async def test_a_value_that_is_restored_after_another_was_set_takes_its_place(
    engram: AsyncEngram, agent: Agent, database_url: str
) -> None:
    """Though it was asked for while the other was not set yet."""
    ann = await engram.memories.set(agent.id, "owner", "Ann owns it")
    await engram.memories.set(agent.id, "owner", "Bob owns it")
    connection = await asyncpg.connect(database_url)

    async def until_waiting(count: int) -> None:
        async with asyncio.timeout(15):
            while count != await connection.fetchval(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            ):
                await asyncio.sleep(0.01)
                await connection.execute("SELECT pg_stat_clear_snapshot()")

    async with connection.transaction():
        await connection.execute("SELECT FROM memory_slots FOR UPDATE")
        setting = asyncio.create_task(engram.memories.set(agent.id, "owner", "Cid owns it"))
        await until_waiting(1)
        restoring = asyncio.create_task(engram.memories.restore(ann.id))
        await until_waiting(2)
    await connection.close()
    cid, again = await setting, await restoring
    assert (again.status, again.valid_until) == ("current", None)
    assert again.valid_from > cid.valid_from
    assert (await engram.memories.get(cid.id)).valid_until == again.valid_from


async def test_the_beginning_of_what_took_a_place_stays(engram: AsyncEngram, agent: Agent) -> None:
    ann = await engram.memories.create(agent.id, "Ann owns it.", valid_from="2024-01-01")
    bob = await engram.memories.supersede(ann.id, "Bob owns it.", valid_from="2024-03-01")
    for begins in ("2024-02-01", "2024-05-01"):
        with pytest.raises(UnprocessableEntityError, match="took the place"):
            await engram.memories.update(bob.id, valid_from=begins)


async def test_a_text_that_begins_later_takes_a_place_when_it_begins(engram: AsyncEngram, agent: Agent) -> None:
    ann = await engram.memories.create(agent.id, "Ann owns it.", valid_from="2024-01-01")
    bob = await engram.memories.create(agent.id, "Bob owns it.")
    again = await engram.memories.supersede(ann.id, "Bob owns it.")
    assert (again.id, again.deduplicated) == (bob.id, True)
    assert (await engram.memories.get(ann.id)).valid_until >= bob.valid_from


async def test_what_is_kept_of_each_time_outgrows_no_index(
    engram: AsyncEngram, agent: Agent, database_url: str
) -> None:
    """Entries of an index are bounded, and a memory may come back any number of times."""
    first = await engram.memories.set(agent.id, "owner", "Ann owns it", session_id="s")
    await engram.memories.set(agent.id, "owner", "Bob owns it", session_id="s")
    connection = await asyncpg.connect(database_url)
    await connection.execute(
        """
        UPDATE memories SET earlier = (
            SELECT range_agg(tstzrange(at, at + interval '1 minute'))
            FROM generate_series('2020-01-01Z'::timestamptz, '2020-03-01Z', '1 hour') AS at
        )
        """
    )
    await connection.close()
    assert (await engram.memories.restore(first.id)).status == "current"
    await engram.memories.set(agent.id, "owner", "Cid owns it", session_id="s")
