"""What it costs to find memories by a name that twenty thousand have: no more than is shown, or than names it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from engram.db.database import driver
from engram.entities.memories.repository import MAX_LATEST, MAX_WEIGHED
from engram.entities.memories.schemas import TimeOrder
from engram.entities.memories.service import Seen
from engram.memories.criteria import PastCriteria
from engram.services import Services
from engram.settings import Settings
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.spaces import Space, new_space
from tests.fixtures.statistics import counted
from tests.fixtures.wiring import HashEmbedder, opened

HUB = 20_000
OTHERS = 10_000
LOOKED_UP = {
    "memories": r"\bid = ",
    "mentions": r"\b(memory_id|entity_id) = ",
}
"""What an index is asked for, where a scan does not read all that an agent holds. Other tables are next to empty."""

Ask = Callable[[Seen], Awaitable[Any]]


@pytest.fixture
async def services(settings: Settings) -> AsyncIterator[Services]:
    async with opened(settings, HashEmbedder(8, threshold=0.9)) as services:
        yield services


async def harbour(services: Services) -> tuple[Space, str]:
    """An agent in which so many memories name the harbour, and half as many nothing; one that names it."""
    space = await new_space(services)
    first = await space.remember("memory", entities=["harbour", "lamp"], session_id="s", valid_from="2024-01-01")
    async with services.database.transaction() as connection:
        run = driver(connection)
        # Nothing here is looked for by vector, and to index twenty thousand takes half a minute.
        for row in await run.fetch("SELECT indexname FROM pg_indexes WHERE indexdef LIKE '%USING hnsw%'"):
            await run.execute(f"DROP INDEX {row['indexname']}")
        rows = await run.fetch(
            "SELECT attname FROM pg_attribute WHERE attrelid = 'memories'::regclass AND attnum > 0"
            " AND NOT attisdropped AND attgenerated = ''"
        )
        changed = {
            "id": "gen_random_uuid()",
            "content": "'memory ' || n",
            "dedup_hash": "sha256(n::text::bytea)",
            "session_id": "NULL",
            "valid_from": "c.valid_from + n * interval '1 minute'",
        }
        wanted = ", ".join(changed.get(row["attname"], f"c.{row['attname']}") for row in rows)
        # Copies of one memory: to write them one by one would take minutes.
        await run.execute(
            f"""
            WITH made AS (
                INSERT INTO memories ({", ".join(row["attname"] for row in rows)})
                SELECT {wanted} FROM memories c, generate_series(2, $2) AS n WHERE c.agent_id = $1
                RETURNING agent_id, tenant_id, id, split_part(content, ' ', 2)::int AS place
            )
            INSERT INTO mentions (agent_id, tenant_id, entity_id, memory_id, is_subject, recognized)
            SELECT made.agent_id, made.tenant_id, e.id, made.id, false, false
            FROM made JOIN entities e ON e.agent_id = made.agent_id AND e.name = 'harbour'
            WHERE made.place <= $3
            """,
            UUID(space.agent_id),
            HUB + OTHERS,
            HUB,
        )
    return space, first.id


def questions(space: Space, id: str) -> dict[str, Ask]:
    services = space.services

    def timeline(order: TimeOrder) -> Ask:
        def ask(seen: Seen) -> Awaitable[Any]:
            told = {name: getattr(seen, name) for name in ("user_id", "session_id", "as_of", "known_at")}
            criteria = PastCriteria(**{name: value for name, value in told.items() if value is not None})
            more: Any = {"superseded": True, "order": order, "limit": 50, "cursor": None}
            return services.entity_memories.timeline(DEFAULT_SCOPE, space.agent_id, "harbour", criteria, **more)

        return ask

    return {
        "related": lambda seen: services.entity_memories.related(DEFAULT_SCOPE, id, seen, limit=50),
        "backlinks": lambda seen: services.entity_memories.backlinks(DEFAULT_SCOPE, id, seen, limit=50, cursor=None),
        "oldest": timeline(TimeOrder.oldest),
        "newest": timeline(TimeOrder.newest),
        "taxonomy": lambda _: services.taxonomy.taxonomy(DEFAULT_SCOPE, space.agent_id, limit=50),
    }


def whole_scans(plan: dict[str, Any]) -> Iterator[str]:
    table, kind = plan.get("Relation Name"), plan["Node Type"]
    if table in LOOKED_UP and "Bitmap Heap" not in kind and not re.search(LOOKED_UP[table], plan.get("Index Cond", "")):
        yield f"{kind} of {table}: {plan.get('Index Cond')}"
    for part in plan.get("Plans", ()):
        yield from whole_scans(part)


async def explained(services: Services, ask: Callable[[], Awaitable[Any]]) -> list[str]:
    """Whole scans in the plans of all statements that a question takes, as they are planned for any values."""
    said: list[Any] = []
    async with services.database.transaction() as connection:
        driver(connection).add_query_logger(said.append)
    await ask()
    found: list[str] = []
    async with services.database.transaction() as connection:
        driver(connection).remove_query_logger(said.append)
        asked = [statement for statement in said if re.search(r"\b(mentions|entity_degrees)\b", statement.query)]
        assert asked
        for statement in asked:
            plan = await driver(connection).fetchval(f"EXPLAIN (FORMAT JSON) {statement.query}", *statement.args)
            found += whole_scans(plan[0]["Plan"])
    return found


async def rows_read(services: Services) -> int:
    return await counted(
        services.database,
        "SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables)::bigint"
        " + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes)::bigint",
    )


async def test_a_name_that_twenty_thousand_memories_have_costs_what_is_shown_or_what_names_it(
    services: Services,
) -> None:
    space, id = await harbour(services)
    now = datetime.now(UTC)
    asked = questions(space, id)
    for analyzed in (False, True):
        if analyzed:
            async with services.database.transaction() as connection:
                await driver(connection).execute("ANALYZE")
        for seen in (Seen(), Seen(session_id="s"), Seen(as_of=now), Seen(known_at=now), Seen(as_of=now, known_at=now)):
            for name, ask in asked.items():
                scans = await explained(services, lambda ask=ask, seen=seen: ask(seen))  # type: ignore[misc]
                assert scans == [], (name, analyzed, seen)

    most = {
        # How many name it is counted up to a bound, and of each of the latest its memory is looked at.
        "related": 2 * MAX_WEIGHED + 4 * MAX_LATEST,
        "backlinks": 500,
        # All that name it, and their memories.
        "oldest": 2.5 * HUB,
        "newest": 2.5 * HUB,
        "taxonomy": 1.5 * HUB,
    }
    for name, ask in asked.items():
        before = await rows_read(services)
        await ask(Seen())
        read = await rows_read(services) - before
        assert read < most[name], name
    await is_right(services, space, id, asked)


async def is_right(services: Services, space: Space, id: str, asked: Mapping[str, Ask]) -> None:
    """What is found among so many."""
    async with services.database.snapshot() as connection:
        rows = await driver(connection).fetch(
            "SELECT m.id, m.valid_from FROM memories m"
            " JOIN mentions n ON n.agent_id = m.agent_id AND n.memory_id = m.id"
            " JOIN entities e ON e.agent_id = n.agent_id AND e.id = n.entity_id AND e.name = 'harbour'"
            " WHERE m.agent_id = $1",
            UUID(space.agent_id),
        )
    naming = [(row["valid_from"], row["id"]) for row in rows]
    assert len(naming) == HUB
    latest = [str(one) for one in sorted((one for _, one in naming if str(one) != id), reverse=True)[:50]]
    in_time = [str(one) for _, one in sorted(naming)]
    assert [memory.id for memory in (await asked["related"](Seen())).data] == latest
    assert [memory.id for memory in (await asked["backlinks"](Seen())).data] == latest
    assert [memory.id for memory in (await asked["oldest"](Seen())).data] == in_time[:50]
    assert [memory.id for memory in (await asked["newest"](Seen())).data] == in_time[::-1][:50]
    top = (await asked["taxonomy"](Seen())).entities
    assert [(entity.name, entity.degree, entity.memories) for entity in top] == [("harbour", 1, HUB), ("lamp", 1, 1)]
