"""SQL of numbers that follow from memories. Scope: every statement names the tenant and the agent."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.db.moments import aware
from engram.db.parameters import Parameters
from engram.facts.quantities.computing import Row
from engram.facts.quantities.following import Measured, Measuring
from engram.memories.predicates import Visibility
from engram.tenants.scope import Scope


class QuantityRepository:
    def __init__(self, connection: AsyncConnection, scope: Scope) -> None:
        self._driver = driver(connection)
        self._tenant_id = scope.tenant_id

    async def memories(self, agent_id: UUID, ids: Collection[UUID]) -> list[Measuring]:
        """Those of these memories from which numbers follow, or did, by id."""
        rows = await self._driver.fetch(
            """
            SELECT m.id, m.valid_from,
                CASE WHEN m.status = 'deleted' OR m.withheld THEN '[]'::jsonb ELSE m.declared_quantities END
                    AS quantities
            FROM memories m
            WHERE m.agent_id = $1 AND m.tenant_id = $2 AND m.id = ANY ($3::uuid[]) AND (
                m.declared_quantities <> '[]' OR EXISTS (
                    SELECT FROM derived_facts d WHERE d.agent_id = $1 AND d.tenant_id = $2 AND d.memory_id = m.id
                )
            )
            ORDER BY m.id
            """,
            agent_id,
            self._tenant_id,
            list(ids),
        )
        return [Measuring(**{**row, "valid_from": aware(row["valid_from"])}) for row in rows]

    async def of_memories(self, agent_id: UUID, ids: Collection[UUID]) -> dict[Measured, UUID]:
        """The numbers that these memories have, with their ids."""
        rows = await self._driver.fetch(
            """
            SELECT d.id, d.memory_id, e.name AS entity, d.attribute, d.value, d.unit, d.at
            FROM derived_facts d
            JOIN entities e ON e.agent_id = $1 AND e.tenant_id = $2 AND e.id = d.entity_id
            WHERE d.agent_id = $1 AND d.tenant_id = $2 AND d.memory_id = ANY ($3::uuid[])
            """,
            agent_id,
            self._tenant_id,
            list(ids),
        )
        found = {}
        for row in rows:
            values = {**row, "at": aware(row["at"])}
            id = values.pop("id")
            found[Measured(**values)] = id
        return found

    async def insert(self, agent_id: UUID, new: Sequence[tuple[UUID, Measured]], entities: Mapping[str, UUID]) -> None:
        """Write numbers with their ids, of these entities by name; ordered by id."""
        new = sorted(new, key=lambda row: row[0].int)
        await self._driver.execute(
            """
            INSERT INTO derived_facts (agent_id, tenant_id, id, memory_id, entity_id, attribute, value, unit, at)
            SELECT $1, $2, new.* FROM unnest(
                $3::uuid[], $4::uuid[], $5::uuid[], $6::text[], $7::float8[], $8::text[], $9::timestamptz[]
            ) AS new (id, memory_id, entity_id, attribute, value, unit, at)
            ORDER BY new.id
            """,
            agent_id,
            self._tenant_id,
            [id for id, _ in new],
            [number.memory_id for _, number in new],
            [entities[number.entity] for _, number in new],
            [number.attribute for _, number in new],
            [number.value for _, number in new],
            [number.unit for _, number in new],
            [number.at for _, number in new],
        )

    async def remove(self, agent_id: UUID, ids: Collection[UUID]) -> None:
        """Take numbers away, of memories that the caller has locked."""
        await self._driver.execute(
            "DELETE FROM derived_facts WHERE agent_id = $1 AND tenant_id = $2 AND id = ANY ($3::uuid[])",
            agent_id,
            self._tenant_id,
            list(ids),
        )

    async def erase(self, agent_id: UUID, memory_id: UUID) -> int:
        """Erase the numbers of a memory that the caller has locked; how many."""
        status: str = await self._driver.execute(
            "DELETE FROM derived_facts WHERE agent_id = $1 AND tenant_id = $2 AND memory_id = $3",
            agent_id,
            self._tenant_id,
            memory_id,
        )
        return int(status.rsplit(maxsplit=1)[-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Numbers that are computed from: of an attribute of an entity, in memories that hold at ``moment``, dated from
    ``begins`` on and before ``ends``."""

    agent_id: UUID
    entity_ids: Sequence[UUID]
    """Those of merged ones, which count as one."""
    attribute: str
    moment: datetime
    begins: datetime | None
    ends: datetime | None


class ComputingRepository:
    def __init__(self, connection: AsyncConnection, scope: Scope, wanted: Wanted) -> None:
        self._driver = driver(connection)
        self._tenant_id = scope.tenant_id
        self._wanted = wanted

    async def page(self, *, after: Row | None, most: int) -> list[Row]:
        """The latest of these, or those that come after a row."""
        p = Parameters()
        wanted = self._wanted
        agent, tenant = p(wanted.agent_id, "uuid"), p(self._tenant_id, "uuid")
        clauses = [
            f"d.agent_id = {agent} AND d.tenant_id = {tenant}",
            f"d.entity_id = ANY ({p(list(wanted.entity_ids), 'uuid[]')})",
            f"d.attribute = {p(wanted.attribute, 'text')}",
        ]
        if wanted.begins is not None:
            clauses.append(f"d.at >= {p(wanted.begins, 'timestamptz')}")
        if wanted.ends is not None:
            clauses.append(f"d.at < {p(wanted.ends, 'timestamptz')}")
        if after is not None:
            clauses.append(f"(d.at, d.id) < ({p(after.at, 'timestamptz')}, {p(after.id, 'uuid')})")
        holding = Visibility(now=wanted.moment, as_of=wanted.moment).holding("m", p)
        rows = await self._driver.fetch(
            f"""
            SELECT d.id, d.memory_id, d.value, d.unit, d.at FROM derived_facts d
            JOIN memories m ON m.agent_id = {agent} AND m.tenant_id = {tenant} AND m.id = d.memory_id AND {holding}
            WHERE {" AND ".join(clauses)}
            ORDER BY d.at DESC, d.id DESC LIMIT {p(most, "int")}
            """,
            *p.values,
        )
        return [Row(**{**row, "at": aware(row["at"])}) for row in rows]
