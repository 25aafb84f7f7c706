"""What is deleted leaves the index at once, and stays what it was for whoever asks what was known."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from engram.db.database import driver
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.spaces import Space, ids

LONG = " ".join(f"On day {day} the violin teacher said nothing that anyone remembers." for day in range(30))


async def held(space: Space) -> list[tuple[int, int, int]]:
    """Sums of an agent's counters, and what they count."""
    async with space.services.database.snapshot() as connection:
        rows = await driver(connection).fetch(
            """
            SELECT coalesce(sum(memories), 0)::int, coalesce(sum(terms), 0)::int, coalesce(sum(passages), 0)::int
            FROM agent_counters WHERE agent_id = $1
            UNION ALL
            SELECT count(*)::int, coalesce(sum(length), 0)::int,
                (SELECT count(*) FROM memory_passages WHERE agent_id = $1)::int
            FROM memory_lexemes WHERE agent_id = $1
            """,
            UUID(space.agent_id),
        )
    return [tuple(row) for row in rows]


async def test_what_was_deleted_is_found_as_it_was_known(space: Space) -> None:
    kept = await space.remember("The violin teacher moved to Lisbon", tags=["t"], metadata={"n": 1})
    await space.remember("Another violin teacher stays")
    before = datetime.now(UTC)
    await space.forget(kept.id)
    assert kept.id not in await space.hits("violin teacher")
    hit = (await space.hits("violin teacher", known_at=before))[kept.id]
    assert (hit.id, hit.content, hit.tags, hit.metadata) == (kept.id, kept.content, ["t"], {"n": 1})
    assert hit.lexical_score > 0
    assert kept.id not in await space.hits("violin teacher", known_at=datetime.now(UTC))


async def test_many_leave_the_index_in_one_go_and_its_counts_stay_exact(space: Space) -> None:
    texts = [f"note {at} on the violin" for at in range(40)]
    going = ids(await space.remember_all([*texts[:20], LONG]))
    staying = ids(await space.remember_all(texts[20:]))
    removal = space.services.memories._removal
    given = [UUID(id) for id in (*going, *going, staying[0])]
    async with space.services.database.transaction() as connection:
        deleted = await removal.delete_many(connection, DEFAULT_SCOPE, UUID(space.agent_id), given[:-1])
        again = await removal.delete_many(connection, DEFAULT_SCOPE, UUID(space.agent_id), given[:-1])
    assert ([str(id) for id in deleted], again) == (sorted(going), [])
    counted, stored = await held(space)
    assert counted == stored
    assert counted[0] == len(staying)
    assert set(await space.hits("violin", top_k=100)) == set(staying)
