"""SQL of observations and of the sums over them. Scope: every statement names the tenant and the agent.

Observations are a function of what a memory names and of its row; whoever changes either recounts the memory in the
same transaction, last of all: pairs and degrees are what many writers share, and are locked in the order of their keys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.tenants.scope import Scope

MAX_PAIRS = 100
"""Pairs of entities of one memory that are observed."""

_MOST = 15
"""Entities of a memory among which these pairs are: fifteen make more."""

_STATE = """
    CASE WHEN m.status = 'deleted' THEN NULL
         WHEN m.valid_until <= m.updated_at THEN 'past'
         WHEN m.status = 'current' AND m.valid_until IS NULL AND m.valid_from <= m.updated_at THEN 'steady'
         ELSE 'timed' END
"""
"""Steady: it has begun, and no end is in sight. Past: it had ended when its row was last changed. As the row has it,
so that the same rows always give the same."""

_RECOUNT = f"""
    WITH touched AS MATERIALIZED (
        SELECT m.id, {_STATE} AS state FROM memories m
        WHERE m.agent_id = $1 AND m.tenant_id = $2 AND m.id = ANY ($3::uuid[])
    ),
    listed AS MATERIALIZED (
        SELECT n.memory_id, t.state,
            array_agg(n.entity_id ORDER BY n.is_subject DESC, n.recognized, e.name) AS entities
        FROM touched t
        JOIN mentions n ON n.agent_id = $1 AND n.tenant_id = $2 AND n.memory_id = t.id
        -- OFFSET 0 has each looked up: the planner takes what was not counted yet for little, and reads all of it.
        CROSS JOIN LATERAL (
            SELECT e.name FROM entities e
            WHERE e.agent_id = $1 AND e.tenant_id = $2 AND e.id = n.entity_id OFFSET 0
        ) AS e
        WHERE t.state IS NOT NULL
        GROUP BY n.memory_id, t.state
    ),
    places AS MATERIALIZED (
        SELECT a.place AS one, b.place AS other
        FROM generate_series(1, {_MOST}) AS b (place), generate_series(1, {_MOST}) AS a (place)
        WHERE a.place < b.place ORDER BY b.place, a.place LIMIT {MAX_PAIRS}
    ),
    wanted AS MATERIALIZED (
        SELECT l.memory_id, least(l.entities[p.one], l.entities[p.other]) AS first_id,
            greatest(l.entities[p.one], l.entities[p.other]) AS second_id, l.state
        FROM listed l JOIN places p ON p.other <= cardinality(l.entities)
    ),
    standing AS MATERIALIZED (
        SELECT o.memory_id, o.first_id, o.second_id, o.state FROM co_occurrences o
        WHERE o.agent_id = $1 AND o.tenant_id = $2 AND o.memory_id = ANY ($3::uuid[])
    ),
    -- A full join is hashed or merged, whatever is believed of its sides: there are tens of thousands of rows in both.
    changes AS MATERIALIZED (
        SELECT memory_id, first_id, second_id, s.state AS was, w.state AS now_is
        FROM standing s FULL JOIN wanted w USING (memory_id, first_id, second_id)
        WHERE s.state IS DISTINCT FROM w.state
    ),
    gone AS (
        DELETE FROM co_occurrences o USING changes c
        WHERE c.now_is IS NULL AND o.agent_id = $1 AND o.tenant_id = $2 AND o.memory_id = c.memory_id
            AND o.first_id = c.first_id AND o.second_id = c.second_id
    ),
    put AS (
        INSERT INTO co_occurrences AS o (agent_id, tenant_id, memory_id, first_id, second_id, state)
        SELECT $1, $2, c.memory_id, c.first_id, c.second_id, c.now_is FROM changes c WHERE c.now_is IS NOT NULL
        ORDER BY c.memory_id, c.first_id, c.second_id
        ON CONFLICT (agent_id, memory_id, first_id, second_id) DO UPDATE SET state = excluded.state
    )
    SELECT first_id, second_id, sum((is_steady)::int - (was_steady)::int)::bigint AS change
    FROM (
        SELECT c.first_id, c.second_id, coalesce(c.now_is = 'steady', false) AS is_steady,
            coalesce(c.was = 'steady', false) AS was_steady
        FROM changes c
    ) AS counted
    GROUP BY first_id, second_id
    HAVING sum((is_steady)::int - (was_steady)::int) <> 0
"""


Pair = tuple[UUID, UUID]


@dataclass(frozen=True, slots=True)
class Changes:
    """By how much there are more steady observations of pairs."""

    pairs: Mapping[Pair, int]

    @property
    def degrees(self) -> dict[UUID, int]:
        degrees: Counter[UUID] = Counter()
        for pair, change in self.pairs.items():
            for entity_id in pair:
                degrees[entity_id] += change
        return {id: change for id, change in degrees.items() if change}


class OccurrenceRepository:
    def __init__(self, connection: AsyncConnection, scope: Scope) -> None:
        self._driver = driver(connection)
        self._tenant_id = scope.tenant_id

    async def recount(self, agent_id: UUID, memory_ids: Collection[UUID]) -> None:
        """Make the observations of these memories what follows from what they name and are. The caller has locked
        them, or wrote them itself."""
        await self.add(agent_id, await self.observe(agent_id, memory_ids))

    async def observe(self, agent_id: UUID, memory_ids: Collection[UUID]) -> Changes:
        """The same without counting it, which is left to ``add``, later in the transaction."""
        rows = await self._driver.fetch(_RECOUNT, agent_id, self._tenant_id, list(memory_ids))
        return Changes({(row["first_id"], row["second_id"]): row["change"] for row in rows})

    async def add(self, agent_id: UUID, changes: Changes, *, gone: Collection[UUID] = ()) -> None:
        """Count what was observed. ``gone`` are entities that were erased since, and their sums with them."""
        erased = set(gone)
        pairs = {pair: change for pair, change in changes.pairs.items() if erased.isdisjoint(pair)}
        degrees = {id: change for id, change in changes.degrees.items() if id not in erased}
        if pairs:
            await self._add_pairs(agent_id, pairs)
        if degrees:
            await self._add_degrees(agent_id, degrees)

    async def _add_pairs(self, agent_id: UUID, changes: Mapping[Pair, int]) -> None:
        rows = sorted(changes.items(), key=lambda row: (row[0][0].int, row[0][1].int))
        values = (agent_id, self._tenant_id, [first for (first, _), _ in rows], [second for (_, second), _ in rows])
        await self._driver.execute(
            """
            INSERT INTO entity_pairs AS pair (agent_id, tenant_id, first_id, second_id, co_occur)
            SELECT $1, $2, new.first_id, new.second_id, new.change
            FROM unnest($3::uuid[], $4::uuid[], $5::bigint[]) AS new (first_id, second_id, change)
            ORDER BY new.first_id, new.second_id
            ON CONFLICT (agent_id, first_id, second_id) DO UPDATE SET co_occur = pair.co_occur + excluded.co_occur
            """,
            *values,
            [change for _, change in rows],
        )
        if any(change < 0 for _, change in rows):
            await self._driver.execute(
                """
                DELETE FROM entity_pairs pair USING unnest($3::uuid[], $4::uuid[]) AS gone (first_id, second_id)
                WHERE pair.agent_id = $1 AND pair.tenant_id = $2 AND pair.first_id = gone.first_id
                    AND pair.second_id = gone.second_id AND pair.co_occur = 0
                """,
                *values,
            )

    async def _add_degrees(self, agent_id: UUID, changes: Mapping[UUID, int]) -> None:
        rows = sorted(changes.items(), key=lambda row: row[0].int)
        values = (agent_id, self._tenant_id, [id for id, _ in rows])
        await self._driver.execute(
            """
            INSERT INTO entity_degrees AS known (agent_id, tenant_id, entity_id, degree)
            SELECT $1, $2, new.entity_id, new.change
            FROM unnest($3::uuid[], $4::bigint[]) AS new (entity_id, change)
            ORDER BY new.entity_id
            ON CONFLICT (agent_id, entity_id) DO UPDATE SET degree = known.degree + excluded.degree
            """,
            *values,
            [change for _, change in rows],
        )
        if any(change < 0 for _, change in rows):
            await self._driver.execute(
                """
                DELETE FROM entity_degrees known
                WHERE known.agent_id = $1 AND known.tenant_id = $2 AND known.entity_id = ANY ($3::uuid[])
                    AND known.degree = 0
                """,
                *values,
            )
