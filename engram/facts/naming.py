"""Use case of jobs: making entities of the ends of facts that were appended before the server did so."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from engram.agents.service import AgentService
from engram.characters import one_line
from engram.entities.canonical import canonical_name
from engram.entities.service import EntityService
from engram.facts.naming_repository import FactNamingRepository
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import Scope

FACTS = 200
"""Facts whose ends are named in one transaction."""

_FIRST = UUID(int=0)


class FactNaming:
    """Only which entities their ends are changes of facts: nothing that is said or believed does."""

    def __init__(self, database: TenantDatabase, agents: AgentService, *, facts: int = FACTS) -> None:
        self._database = database
        self._agents = agents
        self._entities = EntityService()
        self._facts = facts

    async def run(self, scope: Scope, agent_id: UUID) -> None:
        """Go through the facts of an agent, beside writers. What names nothing stays no entity."""
        after: UUID | None = _FIRST
        while after is not None:
            after = await self._name(scope, agent_id, after)

    async def _name(self, scope: Scope, agent_id: UUID, after: UUID) -> UUID | None:
        """The last fact that this came to; None at the end."""
        async with self._database.transaction(scope) as connection:
            # Before it reads: a purge waits, or what it erased would get a name again.
            await self._agents.hold(connection, scope, agent_id)
            facts = FactNamingRepository(connection, scope)
            rows = await facts.unnamed(agent_id, after, self._facts)
            spellings = await asyncio.to_thread(_spellings, rows)
            if spellings:
                entities = await self._entities.named(connection, scope, agent_id, spellings)
                named = {spelt: entities[name] for name, each in spellings.items() for spelt in each}
                await facts.name(
                    agent_id,
                    {row["id"]: tuple(named.get(one_line(row[end])) for end in ("subject", "object")) for row in rows},
                )
        return rows[-1]["id"] if rows else None


def _spellings(rows: Iterable[Mapping[str, Any]]) -> dict[str, set[str]]:
    """How what facts name is spelt, by canonical name. Work for a thread."""
    found: dict[str, set[str]] = {}
    for row in rows:
        for text in (row["subject"], row["object"]):
            name = canonical_name(text)
            if name is not None:
                found.setdefault(name, set()).add(one_line(text))
    return found
