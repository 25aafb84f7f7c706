"""Use cases of ontologies."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.agents.service import AgentService, agent_not_found
from engram.audit.schemas import Action
from engram.audit.service import Audit
from engram.facts.ontology.cardinalities import Cardinalities
from engram.facts.ontology.repository import OntologyRepository
from engram.facts.ontology.schemas import Cardinality, Ontology, OntologyRegistered, OntologyUpdate
from engram.facts.statements.repository import StatementRepository
from engram.facts.statements.service import StatementService, cardinalities_of
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import Scope

SLOTS_AT_ONCE = 500
MEMORIES_AT_ONCE = 500


class OntologyService:
    def __init__(self, database: TenantDatabase, agents: AgentService, statements: StatementService) -> None:
        self._database = database
        self._agents = agents
        self._statements = statements
        self._audit = Audit()

    async def get(self, scope: Scope, agent_id: str) -> Ontology:
        """What an agent prefers; nothing, where nothing was registered. Raises NotFoundProblem."""
        async with self._database.snapshot(scope) as connection:
            if await self._agents.language(connection, scope, UUID(agent_id)) is None:
                raise agent_not_found(agent_id)
            row = await OntologyRepository(connection, scope).get(UUID(agent_id))
        return Ontology.model_validate({**_shown(row), "agent_id": agent_id})

    async def register(self, scope: Scope, agent_id: str, request: OntologyUpdate) -> OntologyRegistered:
        """Prefer these names, in place of those before. Relations that get another cardinality are settled anew, as of
        the writes that stated them: with one value the older ones end where the next begins, with many what had ended
        so holds on. Raises NotFoundProblem."""
        id, now = UUID(agent_id), datetime.now(UTC)
        async with self._database.transaction(scope) as connection:
            # Nobody writes by the old one meanwhile.
            await self._agents.hold_alone(connection, scope, id)
            ontologies = OntologyRepository(connection, scope)
            before = cardinalities_of(await ontologies.get(id))
            await ontologies.put(
                id,
                entity_types=request.entity_types,
                verbs={name: value.value for name, value in request.verbs.items()},
                attributes={name: value.value for name, value in request.attributes.items()},
                now=now,
            )
            changed = await self._settle(
                connection, scope, id, before, Cardinalities(request.verbs, request.attributes)
            )
            row = await ontologies.get(id)
            names = len(request.entity_types) + len(request.verbs) + len(request.attributes)
            await self._audit.record(
                connection,
                scope,
                Action.agent_ontology,
                agent_id=id,
                targets=[id],
                details={"names": names, "changed": changed},
            )
        return OntologyRegistered.model_validate({**_shown(row), "agent_id": agent_id, "changed": changed})

    async def _settle(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, before: Cardinalities, after: Cardinalities
    ) -> int:
        """Settle relations that have another cardinality now; how many facts are believed otherwise."""
        statements = StatementRepository(connection, scope)
        known = await statements.relations(agent_id)
        changed = await self._restate(
            connection, scope, agent_id, [name for name in known if before.past(name) != after.past(name)]
        )
        names = [name for name in known if before.one(name) != after.one(name)]
        last = None
        while names:
            slots = await statements.slots_with(agent_id, names, after=last, most=SLOTS_AT_ONCE)
            closures = await self._statements.settle(connection, scope, agent_id, slots) if slots else []
            changed |= {closure.fact_id for closure in closures}
            if len(slots) < SLOTS_AT_ONCE:
                break
            last = list(slots)[-1]
        return len(changed)

    async def _restate(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, names: Sequence[str]
    ) -> set[UUID]:
        """State anew what memories say of relations that are the past of another now, or are so no longer: when they
        begin depends on it. Which facts are believed otherwise."""
        statements = StatementRepository(connection, scope)
        changed, last = set[UUID](), None
        while names:
            ids = await statements.memories_with(agent_id, names, after=last, most=MEMORIES_AT_ONCE)
            closures = await self._statements.restate(connection, scope, agent_id, ids) if ids else []
            changed |= {closure.fact_id for closure in closures}
            if len(ids) < MEMORIES_AT_ONCE:
                break
            last = ids[-1]
        return changed


def _shown(row: dict[str, Any] | None) -> dict[str, Any]:
    if row is None:
        return {"entity_types": [], "verbs": {}, "attributes": {}, "updated_at": None}
    return {
        **row,
        "verbs": {name: Cardinality(value) for name, value in row["verbs"].items()},
        "attributes": {name: Cardinality(value) for name, value in row["attributes"].items()},
    }
