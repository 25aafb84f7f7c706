"""What becomes of facts when a memory that they name as their source is erased."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.facts.erasing_repository import ErasingRepository, Sourced
from engram.facts.repository import FactRepository
from engram.facts.rows import as_id
from engram.facts.slots import erasing, later_than
from engram.tenants.scope import Scope

FACTS_AT_ONCE = 1_000


class FactErasing:
    """A fact that other memories state too loses the source. Of one that no other memory states nothing is left: it is
    taken back, so that what it superseded holds on, and then erased with what found it."""

    async def forget(self, connection: AsyncConnection, scope: Scope, agent_id: UUID, memory_id: UUID) -> int:
        """See ``memories.purging.facts``. The caller holds the agent alone."""
        rows = ErasingRepository(connection, scope)
        erased = 0
        while found := await rows.stated_by(agent_id, memory_id, FACTS_AT_ONCE):
            # Answers that tell of these facts name the memory too, in the spelling of whoever appended them.
            spellings = {text for fact in found for text in fact.sources if as_id(text) == memory_id}
            await rows.erase_answers(agent_id, spellings - {str(memory_id)})
            kept = [fact for fact in found if fact.elsewhere]
            await rows.unname(
                agent_id,
                memory_id,
                [(fact.id, [text for text in fact.sources if as_id(text) != memory_id]) for fact in kept],
            )
            gone = [fact for fact in found if not fact.elsewhere]
            if gone:
                await self._erase(connection, scope, agent_id, gone)
            erased += len(gone)
        return erased

    async def _erase(self, connection: AsyncConnection, scope: Scope, agent_id: UUID, gone: list[Sourced]) -> None:
        rows, facts = ErasingRepository(connection, scope), FactRepository(connection, scope)
        starts: dict[UUID, datetime] = {}
        for fact in gone:
            starts[fact.slot] = min(fact.valid_from, starts.get(fact.slot, fact.valid_from))
        await facts.lock_slots(agent_id, starts)
        standing = await facts.unended(agent_id, starts)
        closures = erasing({fact.id for fact in gone}, standing)
        if closures:
            now = later_than(standing, datetime.now(UTC))
            await facts.close(agent_id, closures, [now] * len(closures))
        await rows.erase(agent_id, [fact.id for fact in gone])
        await rows.erase_words(agent_id, {node for fact in gone for node in fact.nodes})
        await rows.erase_slots(agent_id, starts)
