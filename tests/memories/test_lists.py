"""Lists at an instant, and what it takes to read them."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from engram.db.database import Database, driver
from engram.memories.criteria import PastCriteria
from engram.memories.schemas import MemoriesDelete, MemoryPage, MemoryStatus
from engram.services import Services
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.spaces import Space, ids, new_space
from tests.fixtures.statistics import counted

NOON = datetime(2025, 5, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
INSTANT = timedelta(microseconds=1)


async def page(space: Space, *, limit: int = 200, status: str | None = None, **criteria: Any) -> MemoryPage:
    return await space.services.memories.list(
        DEFAULT_SCOPE,
        space.agent_id,
        PastCriteria(**criteria),
        status=MemoryStatus(status) if status else None,
        limit=limit,
        cursor=None,
        include_total=True,
    )


async def listed(space: Space, **asked: Any) -> list[str]:
    """Contents, with a check that the count is theirs."""
    found = await page(space, **asked)
    assert found.total == len(found.data)
    return [memory.content for memory in found.data]


async def test_what_held_at_an_instant_is_half_open(space: Space) -> None:
    await space.remember("meeting", valid_from=NOON, valid_until=NOON + HOUR)
    await space.remember("lease", valid_from=NOON + HOUR)
    assert await listed(space, as_of=NOON - INSTANT) == []
    assert await listed(space, as_of=NOON) == ["meeting"]
    assert await listed(space, as_of="2025-05-01T12:00:00") == ["meeting"]
    assert await listed(space, as_of=NOON + HOUR - INSTANT) == ["meeting"]
    assert await listed(space, as_of=NOON + HOUR) == ["lease"]
    # Without an instant, whatever time it holds in.
    assert await listed(space) == ["lease", "meeting"]


async def test_a_list_as_it_was_known_is_the_list_of_then(space: Space) -> None:
    written = ids(await space.remember_all([{"content": f"note {at}", "tags": ["t"]} for at in range(6)]))
    before, known = await listed(space, tags=["t"]), datetime.now(UTC)
    await space.services.memories.delete_many(
        DEFAULT_SCOPE, MemoriesDelete(agent_id=space.agent_id, tags=["t"], limit=3)
    )
    await space.remember("later", tags=["t"])
    assert await listed(space, tags=["t"]) == ["later", "note 5", "note 4", "note 3"]
    assert await listed(space, tags=["t"], known_at=known) == before
    assert await listed(space, tags=["t"], known_at=known, as_of=known) == before
    assert await listed(space, status="deleted") == ["note 2", "note 1", "note 0"]
    assert await listed(space, status="deleted", known_at=known) == []
    # Page by page, from both halves of what was known.
    found: list[str] = []
    cursor = None
    while cursor is not None or not found:
        answer = await space.services.memories.list(
            DEFAULT_SCOPE,
            space.agent_id,
            PastCriteria(known_at=known),
            status=None,
            limit=2,
            cursor=cursor,
            include_total=False,
        )
        found += [memory.id for memory in answer.data]
        cursor = answer.next_cursor
    assert found == written[::-1]


async def test_whatever_changes_a_memory_is_listed_as_changed_since(space: Space) -> None:
    first, second = [await space.remember(text) for text in ("first", "second")]
    since = second.updated_at + INSTANT
    assert await listed(space, updated_since=since) == []
    assert await listed(space, updated_since=second.updated_at) == ["second"]
    await space.forget(first.id)
    assert await listed(space, updated_since=since, status="deleted") == ["first"]


@pytest.fixture
async def crowded(unlinked: Services) -> Space:
    """Two thousand memories of an agent: of a user, a session, a day and a key each a few; all counted."""
    space = await new_space(unlinked)
    vector = space.vector(1)
    for start in range(0, 2000, 1000):
        await space.remember_all(
            {
                "content": f"note {at}",
                "user_id": f"user {at % 100}",
                "session_id": f"session {at // 20}",
                "valid_from": NOON + at * HOUR,
                "embedding": vector,
            }
            for at in range(start, start + 1000)
        )
    async with space.services.database.transaction() as connection:
        await driver(connection).execute("ANALYZE memories")
    return space


async def memories_read(database: Database) -> int:
    """Rows of memories and entries of their indexes that were read so far."""
    return await counted(
        database,
        """
        SELECT (SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'memories')
            + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'memories')::bigint
        """,
    )


async def test_lists_read_what_they_show_and_not_the_agent(crowded: Space) -> None:
    database = crowded.services.database
    asked: list[dict[str, Any]] = [
        {"user_id": "user 7"},
        {"session_id": "session 7"},
        {"key": "nobody's"},
        {"key_prefix": "nobody's"},
        {"as_of": NOON + 5 * HOUR},
        {"as_of": NOON - HOUR},
        {"valid_from": NOON + 70 * HOUR, "valid_until": NOON + 75 * HOUR},
        {"updated_since": datetime.now(UTC)},
        {"known_at": NOON},
    ]
    for criteria in asked:
        before = await memories_read(database)
        found = await page(crowded, limit=10, **criteria)
        read = await memories_read(database) - before
        # Once for the page and once for the count.
        assert read <= 100 + 4 * (found.total or 0), (criteria, read, found.total)


async def test_a_deletion_of_some_reads_no_more_among_many(crowded: Space) -> None:
    database = crowded.services.database
    before = await memories_read(database)
    done = await crowded.services.memories.delete_many(
        DEFAULT_SCOPE, MemoriesDelete(agent_id=crowded.agent_id, session_id="session 7")
    )
    assert done.deleted == 20
    assert await memories_read(database) - before < 1000


async def test_reads_go_on_while_many_are_deleted(crowded: Space) -> None:
    deleting = asyncio.create_task(
        crowded.services.memories.delete_many(DEFAULT_SCOPE, MemoriesDelete(agent_id=crowded.agent_id, all=True))
    )
    seen = []
    while not deleting.done():
        seen.append((await page(crowded, limit=1)).total or 0)
    assert (await deleting).deleted == 2000
    assert seen == sorted(seen, reverse=True)
    assert len(set(seen)) > 1
