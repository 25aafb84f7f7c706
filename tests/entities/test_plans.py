"""What a walk over entities reads follows what is around its nodes, not what an agent holds."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from engram.db.database import driver
from engram.entities.graph.schemas import EntityPathRequest, TraverseRequest
from engram.entities.occurring.remaking import OccurrenceRemaking
from engram.services import Services
from engram.settings import Settings
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import DEFAULT_SCOPE
from tests.entities.statements import listening
from tests.fixtures.spaces import Space, new_space
from tests.fixtures.wiring import HashEmbedder, opened

PAIRS = 6000
TABLES = ("co_occurrences", "entity_pairs", "memories")


@pytest.fixture
async def services(settings: Settings) -> AsyncIterator[Services]:
    async with opened(settings, HashEmbedder(8, threshold=0.9999)) as services:
        yield services


async def hub(services: Services) -> Space:
    """An agent whose first entity occurs with thousands of others, each of which occurs with the next."""
    space = await new_space(services)
    # A vector without a direction is in no index: nothing is looked for by vector here.
    await space.remember_all([{"content": "pair 0", "embedding": [0.0] * 8}])
    agent = UUID(space.agent_id)
    async with services.database.transaction() as connection:
        run = driver(connection)
        columns = await run.fetch(
            "SELECT attname AS name FROM pg_attribute WHERE attrelid = 'memories'::regclass AND attnum > 0"
            " AND NOT attisdropped AND attgenerated = ''"
        )
        changed = {"id": "gen_random_uuid()", "content": "'pair ' || n", "dedup_hash": "sha256(n::text::bytea)"}
        wanted = {row["name"]: changed.get(row["name"], f"c.{row['name']}") for row in columns}
        # Copies of one memory: to write them one by one would take minutes.
        await run.execute(
            f"INSERT INTO memories ({', '.join(wanted)}) SELECT {', '.join(wanted.values())} FROM memories c,"
            f" generate_series(1, {PAIRS}) AS n WHERE c.agent_id = $1",
            agent,
        )
        await run.execute(
            f"""
            INSERT INTO entities (agent_id, tenant_id, id, name, display_name, opening)
            SELECT $1, $2, gen_random_uuid(), 'node ' || n, 'Node ' || n, 'node' FROM generate_series(0, {PAIRS}) AS n
            """,
            agent,
            DEFAULT_SCOPE.tenant_id,
        )
        await run.execute(
            """
            INSERT INTO mentions (agent_id, tenant_id, entity_id, memory_id, is_subject, recognized)
            SELECT DISTINCT e.agent_id, e.tenant_id, e.id, m.id, false, false
            FROM memories m JOIN entities e ON e.agent_id = $1
                AND e.name IN ('node 0', 'node ' || substr(m.content, 6), 'node ' || (substr(m.content, 6)::int - 1))
            WHERE m.agent_id = $1
            """,
            agent,
        )
    await OccurrenceRemaking(TenantDatabase(services.database), memories=2000).run(DEFAULT_SCOPE, agent)
    return space


def whole_scans(plan: Any) -> Iterator[str]:
    """Reads of all that a table, or an agent, has: without an entity or a memory that an index is asked for."""
    if isinstance(plan, list):
        for part in plan:
            yield from whole_scans(part)
        return
    kind, table, asked = plan.get("Node Type", ""), plan.get("Relation Name"), plan.get("Index Cond", "")
    # Of what is timed there is an index of its own, which is empty here.
    timed = "timed" in plan.get("Index Name", "")
    looked_up = re.search(r"\b(id|first_id|second_id|memory_id) = ", asked)
    if table in TABLES and not timed and (kind == "Seq Scan" or ("Index" in kind and not looked_up)):
        yield f"{kind} of {table}: {asked}"
    yield from whole_scans(plan.get("Plans", []))


async def test_a_walk_reads_what_is_around_its_nodes(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    space, now = await hub(services), datetime.now(UTC)
    heard = listening(monkeypatch)
    for as_of in (None, now):
        for seed in ("node 0", "node 7"):
            walk = TraverseRequest(agent_id=space.agent_id, seed_entity=seed, as_of=as_of, max_hops=3)
            assert (await services.entity_graph.traverse(DEFAULT_SCOPE, walk)).nodes
        path = EntityPathRequest(agent_id=space.agent_id, source="node 7", target="node 4000", as_of=as_of)
        assert (await services.entity_graph.path(DEFAULT_SCOPE, path)).path == ["node 7", "node 0", "node 4000"]
        await services.entity_graph.related(
            DEFAULT_SCOPE, space.agent_id, "node 7", as_of=as_of, min_co_occur=1, limit=5, cursor=None
        )
    statements = await heard.taken()
    assert len(statements) > 10
    for analyzed in (False, True):
        if analyzed:
            async with services.database.transaction() as connection:
                await driver(connection).execute("ANALYZE")
        async with TenantDatabase(services.database).snapshot(DEFAULT_SCOPE) as connection:
            for statement, values in statements:
                plan = await driver(connection).fetchval(f"EXPLAIN (FORMAT JSON) {statement}", *values)
                assert list(whole_scans([part["Plan"] for part in plan])) == [], statement
