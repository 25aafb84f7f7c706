"""Erasing memories for good: at once where that is asked for, or when they can no longer be restored."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.agents.service import AgentService
from engram.audit.schemas import Action
from engram.audit.service import Audit
from engram.db.database import Database
from engram.entities.declaration import declare
from engram.entities.proposals import proposed_names
from engram.entities.service import EntityService
from engram.facts.quantities.service import QuantityService
from engram.facts.statements.service import StatementService
from engram.memories.changes.repository import ChangeRepository
from engram.memories.changes.rows import Standing
from engram.memories.changes.schemas import MemoryPurged
from engram.memories.purging.facts import FactSources
from engram.memories.purging.repository import ExpiredMemories, PurgeRepository, Said
from engram.memories.repository import MemoryRepository
from engram.memories.service import ATTEMPTS, CONTESTED, memory_not_found
from engram.problems import ConflictProblem, NotFoundProblem
from engram.tenants.database import TenantDatabase
from engram.tenants.roles import Role
from engram.tenants.scope import Scope
from engram.text.stopwords import stop_words

EXPIRED_BATCH = 200


class PurgeService:
    def __init__(
        self,
        database: Database,
        tenants: TenantDatabase,
        agents: AgentService,
        entities: EntityService,
        facts: FactSources,
        *,
        recovery: timedelta,
    ) -> None:
        """``recovery`` is how long what was deleted can be restored."""
        self._database = database
        self._tenants = tenants
        self._agents = agents
        self._entities = entities
        self._facts = facts
        self._statements = StatementService(entities)
        self._quantities = QuantityService(entities)
        self._recovery = recovery
        self._audit = Audit()

    async def purge(self, scope: Scope, memory_id: str) -> MemoryPurged:
        """Erase a memory in any state, with all that is known through it alone. It cannot be taken back.

        Raises NotFoundProblem where there is no such memory, PermissionDeniedProblem for less than an admin.
        """
        id = UUID(memory_id)
        async with self._tenants.snapshot(scope) as connection:
            found = await ChangeRepository(connection, scope).find(id)
        receipt = await self._erase(scope, found.agent_id, id) if found is not None else None
        if receipt is None:
            raise memory_not_found(memory_id)
        return receipt

    async def purge_expired(self) -> int:
        """Erase what was deleted too long ago to be restored, over all tenants, each in a transaction of its own; how
        many memories that were."""
        erased = 0
        while True:
            due = datetime.now(UTC) - self._recovery
            expired, before = await self._expired(due), erased
            for tenant_id, agent_id, memory_id in expired:
                scope = Scope(tenant_id, Role.admin)
                with suppress(NotFoundProblem):  # the agent went meanwhile, with all that it held
                    erased += await self._erase(scope, agent_id, memory_id, deleted_before=due) is not None
            if len(expired) < EXPIRED_BATCH or erased == before:
                return erased

    async def _expired(self, due: datetime) -> list[tuple[UUID, UUID, UUID]]:
        return await self._database.ask(lambda connection: ExpiredMemories(connection).find(due, EXPIRED_BATCH))

    async def _erase(
        self, scope: Scope, agent_id: UUID, id: UUID, *, deleted_before: datetime | None = None
    ) -> MemoryPurged | None:
        """None where the memory is gone, or was restored meanwhile."""
        for _ in range(ATTEMPTS):
            async with self._tenants.snapshot(scope) as connection:
                memory = await ChangeRepository(connection, scope).find(id)
                said = await PurgeRepository(connection, scope).texts(agent_id, id)
                language = await self._agents.language(connection, scope, agent_id) or ""
            if memory is None or (deleted_before is not None and not _deleted_by(memory, deleted_before)):
                return None
            names, spellings = await asyncio.to_thread(_declared, id, said, language)
            async with self._tenants.administration(scope) as connection:
                # Who appends a fact locks its slot and then its sources, and here it is the other way round.
                await self._agents.hold_alone(connection, scope, agent_id)
                changes = ChangeRepository(connection, scope)
                if memory.slot_hash is not None:
                    await changes.hold_slot(agent_id, memory.slot_hash)
                locked = await changes.lock_erasing(agent_id, id)
                if locked is None:
                    return None
                if locked.version != memory.version:
                    continue  # it says something else by now
                counts = await self._erase_locked(connection, scope, locked, names, spellings)
                await self._audit.record(
                    connection, scope, Action.memory_purge, agent_id=agent_id, targets=[id], details={**counts}
                )
            return MemoryPurged(id=str(id), agent_id=str(agent_id), purged_at=datetime.now(UTC), **counts)
        raise ConflictProblem(CONTESTED)

    async def _erase_locked(
        self,
        connection: AsyncConnection,
        scope: Scope,
        memory: Standing,
        names: Sequence[str],
        spellings: Sequence[str],
    ) -> dict[str, int]:
        """What was erased, by the names of the receipt."""
        agent_id, id = memory.agent_id, memory.id
        purges, memories = PurgeRepository(connection, scope), MemoryRepository(connection, scope)
        in_facts = await purges.named_by_facts(agent_id, id)
        # First what follows from the memory: what is left names it as a source.
        statements = await self._statements.erase(connection, scope, agent_id, id)
        facts = await self._facts.forget(connection, scope, agent_id, id)
        quantities = await self._quantities.erase(connection, scope, agent_id, id)
        edges = await purges.edges(agent_id, id)
        passages = await purges.passages(agent_id, id)
        terms = await purges.terms(agent_id, id)
        await self._entities.forget_vectors(connection, scope, agent_id, [id], going=[id])
        erased = await purges.of_memory(agent_id, id)
        # While its row stands, with which its observations go; counted at the end, when nothing else is to be locked.
        observed = await self._entities.observe(connection, scope, agent_id, [id])
        entities = await purges.names(
            agent_id, sorted({*names, *in_facts}), sorted(set().union(spellings, *in_facts.values()))
        )
        # What counts them is locked after all that others count under.
        await memories.remove_passages(agent_id, [id])
        if not memory.deleted:
            await memories.remove_terms(agent_id, [id])
        await purges.row(agent_id, id, memory.slot_hash, memory.superseded_by)
        edges += await purges.edge_versions(agent_id, id)
        answers = await purges.answers(agent_id, id)
        await self._entities.count(connection, scope, agent_id, observed, gone=entities)
        return {
            "memories": 1,
            "terms": terms,
            "passages": passages,
            "edges": edges,
            "entities": len(entities),
            "statements": statements,
            "quantities": quantities,
            "facts": facts,
            "answers": answers,
            **erased,
        }


def _deleted_by(memory: Standing, moment: datetime) -> bool:
    return memory.deleted_at is not None and memory.deleted_at <= moment


def _declared(id: UUID, said: Sequence[Said], language: str) -> tuple[list[str], list[str]]:
    """The canonical names and the spellings of what a memory declared, or could have had proposed."""
    names = [(entity["name"], False) for each in said for entity in each.entities]
    proposals = [name for each in said for name in proposed_names(each.content, stop_words(language))]
    ends = [relation[end] for each in said for relation in each.relations for end in ("subject", "object")]
    ends += [quantity["entity"] for each in said for quantity in each.quantities]
    declaration = declare({id: names}, {id: proposals}, {id: ends})
    return sorted(declaration.spellings), sorted(set().union(*declaration.spellings.values(), set()))
