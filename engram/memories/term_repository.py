"""SQL that puts words into the index. Scope: rows get the tenant and the agent of the caller, who checked them."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.memories.postings import Postings
from engram.memories.rows import IndexedTerms
from engram.tenants.scope import Scope


class TermRepository:
    def __init__(self, connection: AsyncConnection, scope: Scope) -> None:
        self._driver = driver(connection)
        self._tenant_id = scope.tenant_id

    async def add(self, agent_id: UUID, postings: Postings, terms: Mapping[UUID, IndexedTerms]) -> None:
        """Write the terms of memories that have none yet, and leave the agent's running counts to the caller."""
        for part in postings.parts():
            await self._driver.execute(
                """
                INSERT INTO memory_terms (agent_id, tenant_id, term, memory_id, frequency, length)
                SELECT $1, $2, new.term, ($3::uuid[])[new.owner], new.frequency, ($4::int[])[new.owner]
                FROM unnest($5::text[], $6::int[], $7::smallint[]) AS new (term, owner, frequency)
                """,
                agent_id,
                self._tenant_id,
                postings.ids,
                postings.lengths,
                *part,
            )
        await self._driver.execute(
            """
            INSERT INTO memory_lexemes (agent_id, tenant_id, memory_id, length, lexemes)
            SELECT $1, $2, new.* FROM unnest($3::uuid[], $4::int[], $5::bytea[]) AS new
            """,
            agent_id,
            self._tenant_id,
            postings.ids,
            postings.lengths,
            [terms[id].packed for id in postings.ids],
        )
