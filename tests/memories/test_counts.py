"""What an agent is counted to hold is what it holds, whatever became of its memories."""

from __future__ import annotations

from uuid import UUID

from engram import AsyncEngram
from engram.db.database import driver
from engram.services import Services

LONG = "The keeper of the harbour lights its lamp at dusk. " * 60


async def counted_and_held(services: Services, agent_id: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    async with services.database.snapshot() as connection:
        counted = await driver(connection).fetchrow(
            "SELECT sum(memories)::int, sum(terms)::int, sum(passages)::int FROM agent_counters WHERE agent_id = $1",
            UUID(agent_id),
        )
        held = await driver(connection).fetchrow(
            """
            SELECT count(*)::int, sum(length)::int, (SELECT count(*)::int FROM memory_passages WHERE agent_id = $1)
            FROM memory_lexemes WHERE agent_id = $1
            """,
            UUID(agent_id),
        )
    assert counted is not None
    assert held is not None
    return tuple(counted), tuple(held)


async def test_counts_follow_every_change(services: Services, engram: AsyncEngram) -> None:
    agent = await engram.agents.create("clerk")
    memories = engram.memories
    first = await memories.set(agent.id, "lamp", LONG)
    second = await memories.set(agent.id, "lamp", "The lamp is out")
    third = await memories.create(agent.id, LONG + "And at dawn.")
    steps = [
        memories.update(second.id, content=LONG + "Twice."),
        memories.update(second.id, content="Short again"),
        memories.update(third.id, entities=["Ann"]),
        memories.restore(first.id),
        memories.restore(second.id),
        memories.delete(third.id),
        memories.restore(third.id),
        memories.supersede(third.id, "Something else"),
        memories.delete(third.id),
        memories.purge(third.id),
        memories.delete(first.id),
        memories.purge(second.id),
    ]
    for step in steps:
        await step
        counted, held = await counted_and_held(services, agent.id)
        assert counted == held
    copy = await engram.agents.import_(engram.agents.export(agent.id), name="copy", ids="new")
    counted, held = await counted_and_held(services, copy.agent.id)
    assert counted == held
