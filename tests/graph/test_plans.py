"""What reading the graph costs follows what is around a memory, not what an agent holds."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from engram.db.database import driver
from engram.db.parameters import Parameters
from engram.graph.decay import Decay
from engram.graph.listing import MAX_EDGES, EdgeFilter, listing
from engram.graph.neighbours import Neighbourhood
from engram.graph.schemas import PathOrder
from engram.graph.subgraph import Reach, subgraph
from engram.graph.tuning import GraphTuning
from engram.memories.predicates import Visibility
from engram.services import Services
from engram.settings import Settings
from engram.tenants.database import TenantDatabase
from engram.tenants.models import DEFAULT_TENANT_ID
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.spaces import Space, new_space
from tests.fixtures.wiring import HashEmbedder, opened

from .test_exploration import around, between

MEMORIES = 20_000
SPOKES = 4000
NOW = datetime.now(UTC)


@dataclass(frozen=True)
class Hub:
    """An agent whose first memory has edges to thousands of others, the lightest to the last."""

    space: Space
    ids: list[str]


async def hub(services: Services) -> Hub:
    space = await new_space(services)
    agent = UUID(space.agent_id)
    (first,) = (await space.remember_all([{"content": "first", "valid_from": "2024-01-01"}])).results
    async with services.database.transaction() as connection:
        run = driver(connection)
        # Nothing here is looked for by vector, and to index twenty thousand takes half a minute.
        for row in await run.fetch("SELECT indexname FROM pg_indexes WHERE indexdef LIKE '%USING hnsw%'"):
            await run.execute(f"DROP INDEX {row['indexname']}")
        # Copies of one memory: to write them one by one would take minutes.
        copied = {"id": "gen_random_uuid()", "content": "'memory ' || n", "dedup_hash": "sha256(n::text::bytea)"}
        await _copy(run, "memories", copied, "generate_series(2, $2) AS n WHERE c.agent_id = $1", agent, MEMORIES)
        rows = await run.fetch(
            "SELECT id FROM memories WHERE agent_id = $1 ORDER BY id = $2 DESC, id", agent, UUID(first.id)
        )
        ids = [row["id"] for row in rows]
        await run.execute(
            """
            INSERT INTO edges (agent_id, tenant_id, source_id, target_id, relation_type, weight, origin)
            SELECT $1, $2, source, target, 'causal', 1.0 / (1 + place), 'asserted'
            FROM unnest($3::uuid[], $4::uuid[]) WITH ORDINALITY AS e (source, target, place)
            """,
            agent,
            DEFAULT_TENANT_ID,
            [ids[0]] * SPOKES + ids[1:-1],
            ids[1 : SPOKES + 1] + ids[2:],
        )
    return Hub(space, [str(id) for id in ids])


async def _copy(run: Any, table: str, changed: dict[str, str], rows: str, *values: object) -> None:
    """Rows like the one that a table has of an agent."""
    columns = [
        row["name"]
        for row in await run.fetch(
            "SELECT attname AS name FROM pg_attribute WHERE attrelid = $1::text::regclass AND attnum > 0"
            " AND NOT attisdropped AND attgenerated = ''",
            table,
        )
    ]
    wanted = ", ".join(changed.get(name, f"c.{name}") for name in columns)
    await run.execute(f"INSERT INTO {table} ({', '.join(columns)}) SELECT {wanted} FROM {table} c, {rows}", *values)


@pytest.fixture
async def services(settings: Settings) -> AsyncIterator[Services]:
    async with opened(settings, HashEmbedder(8, threshold=0.9)) as services:
        yield services


def statements(hub: Hub, known_at: datetime | None, as_of: datetime | None) -> Iterator[tuple[str, list[Any]]]:
    def near(fan_out: int) -> Neighbourhood:
        return Neighbourhood(
            tenant_id=DEFAULT_TENANT_ID,
            agent_id=UUID(hub.space.agent_id),
            visibility=Visibility(now=NOW, as_of=as_of, known_at=known_at),
            multipliers=Decay().over(),
            fan_out=fan_out,
            tuning=GraphTuning(),
            p=Parameters(),
        )

    for closed in (False, True):
        listed = near(MAX_EDGES)
        wanted = EdgeFilter(include_closed=closed, label=None)
        yield listing(UUID(hub.ids[0]), listed, wanted, limit=51, after=None), listed.p.values
    for reach in (
        Reach(starts=[UUID(hub.ids[0])], hops=2, keep=0.95, max_nodes=50, max_stored=201),
        Reach(starts=[UUID(hub.ids[0]), UUID(hub.ids[-1])], hops=1, keep=0.95, max_nodes=400),
    ):
        walked = near(reach.max_nodes + 1)
        yield subgraph(walked, reach), walked.p.values


def whole_scans(plan: Any) -> Iterator[str]:
    """Reads of all that a table, or an agent, has: without a node or a memory that an index is asked for."""
    if isinstance(plan, list):
        for part in plan:
            yield from whole_scans(part)
        return
    kind, table = plan.get("Node Type", ""), plan.get("Relation Name")
    if table in ("edges", "memories"):
        looked_up = r"\b(id|session_id|source_id|target_id) = "
        if kind == "Seq Scan" or ("Index" in kind and not re.search(looked_up, plan.get("Index Cond", ""))):
            yield f"{kind} of {table}: {plan.get('Index Cond')}"
    yield from whole_scans(plan.get("Plans", []))


async def test_reading_the_graph_costs_what_is_read_of_it(services: Services) -> None:
    world = await hub(services)
    space, ids = world.space, world.ids
    for analyzed in (False, True):
        if analyzed:
            async with services.database.transaction() as connection:
                await driver(connection).execute("ANALYZE")
        async with TenantDatabase(services.database).snapshot(DEFAULT_SCOPE) as connection:
            for asked in ((None, None), (NOW, None), (NOW, NOW)):
                for statement, values in statements(world, *asked):
                    plan = await driver(connection).fetchval(f"EXPLAIN (FORMAT JSON) {statement}", *values)
                    assert list(whole_scans([part["Plan"] for part in plan])) == []

    listed = await space.edges(ids[0], "causal")
    assert [edge.target_memory_id for edge in listed] == ids[1 : SPOKES + 1]

    async def read_by(work: Any) -> int:
        async with services.database.transaction() as connection:
            await driver(connection).execute("SELECT pg_stat_force_next_flush()")
        count = "SELECT sum(seq_tup_read + idx_tup_fetch)::bigint FROM pg_stat_user_tables"
        async with services.database.snapshot() as connection:
            before = await driver(connection).fetchval(count)
        await work
        async with services.database.transaction() as connection:
            await driver(connection).execute("SELECT pg_stat_force_next_flush()")
        async with services.database.snapshot() as connection:
            return int(await driver(connection).fetchval(count)) - int(before)

    small = around(space, ids[0], max_nodes=20, max_edges=20)
    assert await read_by(small) < 2 * SPOKES
    found = await around(space, ids[0], max_nodes=20, max_edges=20)
    assert [node.id for node in found.nodes] == ids[:20]
    assert found.truncated
    # The path through a light edge of the hub: its other end has few.
    last = ids[SPOKES]
    best = await between(space, ids[0], last, max_hops=1, by=PathOrder.shortest)
    assert [path.hops for path in best.paths] == [1]
