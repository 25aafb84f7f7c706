"""A knowledge graph as an agent's memories: each triple is one that names both of its ends.

Texts would say nothing here, and to embed and to index 310,116 of them takes an hour: memories are copies of one that
the services wrote, and mentions are inserted beside them. What occurs together is then observed and counted by the
product.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

from benchmarks.store import Store
from engram.agents.schemas import AgentCreate
from engram.entities.occurring.remaking import OccurrenceRemaking
from engram.memories.schemas import MemoryCreate
from engram.services import Services
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import DEFAULT_SCOPE

AGENT = "agent-000000"
_BATCH = 20_000


def triples(directory: Path) -> list[tuple[int, int]]:
    """The two ends of every triple, by number. Raises OSError."""
    return [
        (int(head), int(tail))
        for part in ("train", "valid", "test")
        for head, _, tail in _rows(directory / f"{part}.tsv.gz")
    ]


def _rows(path: Path) -> Iterator[list[str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield line.rstrip("\n").split("\t")


async def load(store: Store, services: Services, directory: Path, said: Callable[[str], object]) -> UUID:
    """The agent; loaded where it is not there yet."""
    known = await store.agent_ids()
    if known:
        return UUID(known[0])
    ends = triples(directory)
    # It gets its name when it is whole: a load that was cut off is not taken for one.
    agent, _ = await services.agents.create(DEFAULT_SCOPE, AgentCreate(name=f"loading {len(ends)}"))
    agent_id = UUID(agent.id)
    # A vector without a direction is in no index.
    nowhere = [0.0] * services.embedder.model.dimension
    request = MemoryCreate(agent_id=agent.id, content="triple 1", embedding=nowhere)
    first = await services.memories.create(DEFAULT_SCOPE, request)
    said(f"{len(ends):,} memories")
    async with store.connection() as connection:
        await connection.execute(
            """
            INSERT INTO entities (agent_id, tenant_id, id, name, display_name, opening)
            SELECT $1, $2, gen_random_uuid(), 'node ' || n, 'Node ' || n, 'node' FROM generate_series(0, $3::int) AS n
            """,
            agent_id,
            DEFAULT_SCOPE.tenant_id,
            max(max(pair) for pair in ends),
        )
        entities = {
            int(row["name"].split()[1]): row["id"]
            for row in await connection.fetch("SELECT name, id FROM entities WHERE agent_id = $1", agent_id)
        }
        columns = await connection.fetch(
            "SELECT attname AS name FROM pg_attribute WHERE attrelid = 'memories'::regclass AND attnum > 0"
            " AND NOT attisdropped AND attgenerated = ''"
        )
        changed = {"id": "gen_random_uuid()", "content": "'triple ' || n", "dedup_hash": "sha256(n::text::bytea)"}
        wanted = {row["name"]: changed.get(row["name"], f"c.{row['name']}") for row in columns}
        await connection.execute(
            f"INSERT INTO memories ({', '.join(wanted)}) SELECT {', '.join(wanted.values())}"
            " FROM memories c, generate_series(2, $2::int) AS n WHERE c.agent_id = $1 AND c.id = $3",
            agent_id,
            len(ends),
            UUID(first.id),
        )
        ids = [row["id"] for row in await connection.fetch("SELECT id FROM memories WHERE agent_id = $1", agent_id)]
        for start in range(0, len(ends), _BATCH):
            # A triple may lead from a node to itself: its memory names one.
            named = [
                (entities[end], id)
                for id, pair in zip(ids[start : start + _BATCH], ends[start : start + _BATCH], strict=True)
                for end in set(pair)
            ]
            await connection.execute(
                """
                INSERT INTO mentions (agent_id, tenant_id, entity_id, memory_id, is_subject, recognized)
                SELECT $1, $2, entity_id, memory_id, false, false
                FROM unnest($3::uuid[], $4::uuid[]) AS new (entity_id, memory_id)
                """,
                agent_id,
                DEFAULT_SCOPE.tenant_id,
                [entity_id for entity_id, _ in named],
                [memory_id for _, memory_id in named],
            )
        said("what occurs together")
        await OccurrenceRemaking(TenantDatabase(services.database)).run(DEFAULT_SCOPE, agent_id)
        await connection.execute("UPDATE agents SET name = $2 WHERE id = $1", agent_id, AGENT)
        await connection.execute("VACUUM ANALYZE")
    return agent_id
