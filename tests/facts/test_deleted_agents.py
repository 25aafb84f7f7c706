"""The facts of an agent that is deleted go with it, whoever appends meanwhile, and those of others stay."""

from __future__ import annotations

import asyncio

from engram.agents.erasure import HELD_BY_AGENT
from engram.db.database import Database
from engram.facts.schemas import FactBatch, FactItem, MergeCreate
from engram.problems import NotFoundProblem
from engram.services import Services
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.rows import every_row
from tests.fixtures.spaces import Space, new_space

LIMIT = 120
"""Seconds, for what takes some: who waits for a lock for ever is found out."""
TABLES = tuple(table for table in HELD_BY_AGENT if table.startswith("fact"))


async def fill(space: Space) -> None:
    memory = await space.remember("Alice changed employers.")
    items = [
        FactItem(subject="Alice", predicate="works_at", object=object, sources=[memory.id])
        for object in ("Acme", "Initech", "Hooli")
    ]
    await space.services.facts.append_many(DEFAULT_SCOPE, FactBatch(agent_id=space.agent_id, items=items))
    merge = MergeCreate(agent_id=space.agent_id, name="Acme", other="Acme Corp")
    await space.services.facts.merges.merge(DEFAULT_SCOPE, merge)


async def test_facts_go_with_their_agent_and_those_of_others_stay(services: Services, database: Database) -> None:
    gone, kept = await new_space(services), await new_space(services)
    for space in (gone, kept):
        await fill(space)
    before = await every_row(database)
    assert all(any(gone.agent_id in row for row in before[table]) for table in TABLES)
    await services.agents.delete(DEFAULT_SCOPE, gone.agent_id)
    after = await every_row(database)
    for table in TABLES:
        assert after[table] == [row for row in before[table] if gone.agent_id not in row]


async def test_an_agent_deleted_while_facts_are_appended_leaves_none(services: Services, database: Database) -> None:
    space = await new_space(services)

    under_way = asyncio.Event()

    async def append(writer: int) -> None:
        for at in range(1_000):
            item = FactItem(subject=f"house {(writer + at) % 3}", predicate="owned_by", object=f"{writer} {at}")
            await services.facts.append_many(DEFAULT_SCOPE, FactBatch(agent_id=space.agent_id, items=[item]))
            under_way.set()

    async def delete() -> None:
        await under_way.wait()
        await services.agents.delete(DEFAULT_SCOPE, space.agent_id)

    async with asyncio.timeout(LIMIT):
        deleted, *ended = await asyncio.gather(delete(), *map(append, range(8)), return_exceptions=True)
    assert deleted is None
    assert {type(end) for end in ended} == {NotFoundProblem}
    rows = await every_row(database)
    assert [table for table in TABLES if rows[table]] == []
