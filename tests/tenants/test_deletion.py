"""Deleting a tenant: all of it goes, and nothing else changes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import pytest

from engram.agents.erasure import HELD_BY_AGENT
from engram.agents.schemas import AgentCreate
from engram.db.database import Database, driver
from engram.facts.schemas import FactAppend, MergeCreate
from engram.graph.schemas import EdgeCreate, RelationType
from engram.memories.changes.schemas import MemorySet
from engram.memories.schemas import MemoryBatch, MemoryItem
from engram.problems import AuthenticationProblem, ConflictProblem, NotFoundProblem
from engram.services import Services
from engram.tenants.deletion import TenantDeletion
from engram.tenants.roles import Role
from engram.tenants.schemas import KeyCreate
from engram.tenants.scope import Scope
from engram.tenants.service import OperatorService
from tests.fixtures.rows import every_row

KEEPER, GONE = "keeper", "gone"

# Over 256 characters after each other, so that there are passages.
LONG = " ".join(f"On day {day} Alice told Bob that invoice {day} was paid." for day in range(40))


@dataclass(frozen=True)
class World:
    operator: OperatorService
    services: Services
    gone: Scope
    keeper: Scope


async def fill(services: Services, scope: Scope) -> None:
    """Rows in every table that a tenant has rows in."""
    for name in ("clerk", "cook"):
        agent, _ = await services.agents.create(scope, AgentCreate(name=name))
        numbers = [{"entity": "Alice", "attribute": "notes", "value": 5}]
        items = [
            MemoryItem(
                content=f"Alice wrote note {n}.", entities=["Alice", "Porto"], session_id="s", quantities=numbers
            )
            for n in range(5)
        ]
        batch = MemoryBatch(agent_id=agent.id, items=[*items, MemoryItem(content=LONG)])
        written = await services.memories.create_many(scope, batch)
        first, second = written.results[0].id, written.results[1].id
        edge = EdgeCreate(source_id=first, target_id=second, relation_type=RelationType.causal, reason="so it is")
        for because in ("so it is", "so it was"):
            await services.graph.create_edge(scope, edge.model_copy(update={"reason": because}))
            value = MemorySet(agent_id=agent.id, key="note/last", content=f"It is {because}.")
            await services.changes.setting.set(scope, value)
        # The second supersedes the first.
        for employer in ("Acme", "Initech"):
            fact = FactAppend(
                agent_id=agent.id, subject="Alice", predicate="works_at", object=employer, sources=[first]
            )
            await services.facts.append(scope, fact)
        await services.facts.merges.merge(scope, MergeCreate(agent_id=agent.id, name="Acme", other="Acme Corp"))
        await services.jobs.rebuild_links(scope, agent.id)
        async with services.database.transaction() as connection:
            await driver(connection).execute(
                """
                INSERT INTO pending_projections (tenant_id, agent_id, memory_id, projection, next_attempt_at, attempts)
                VALUES ($1, $2, $3, 'entities', $4, 0)
                """,
                scope.tenant_id,
                UUID(agent.id),
                UUID(first),
                datetime(2999, 1, 1, tzinfo=UTC),
            )
            for statement in (
                "INSERT INTO entity_vectors (agent_id, entity_id, user_id, tenant_id, memory_ids, mentions, digest,"
                " updated_at, embedding_model_id, embedding)"
                " SELECT m.agent_id, m.entity_id, '', m.tenant_id, ARRAY[m.memory_id], 1, 'x', now(),"
                " o.embedding_model_id, o.embedding"
                " FROM mentions m JOIN memories o ON o.agent_id = m.agent_id AND o.id = m.memory_id"
                " WHERE m.agent_id = $1 ON CONFLICT DO NOTHING",
                "INSERT INTO entity_communities (agent_id, entity_id, level, community_id, tenant_id)"
                " SELECT agent_id, id, 0, id, tenant_id FROM entities WHERE agent_id = $1",
                "INSERT INTO entity_community_runs (agent_id, tenant_id, computed_at, entities, dropped, levels)"
                " SELECT id, tenant_id, now(), 1, 0, 1 FROM agents WHERE id = $1",
                "INSERT INTO ontologies (agent_id, tenant_id, entity_types, verbs, attributes, updated_at)"
                " SELECT id, tenant_id, '[]', '{}', '{}', now() FROM agents WHERE id = $1",
            ):
                await driver(connection).execute(statement, UUID(agent.id))
            for digest, of in (
                (f"{scope.tenant_id} {name}", UUID(agent.id)),
                (f"{scope.tenant_id} {name} other", None),
            ):
                await driver(connection).execute(
                    """
                    INSERT INTO idempotency_keys
                        (tenant_id, digest, fingerprint, agent_id, status, body, recorded_at, expires_at)
                    VALUES ($1, $2, '', $3, 200, '', now(), now())
                    """,
                    scope.tenant_id,
                    digest.encode(),
                    of,
                )


@pytest.fixture
async def world(services: Services) -> World:
    operator = OperatorService(services.database)
    scopes = []
    for name in (KEEPER, GONE):
        tenant = await operator.create_tenant(name)
        await operator.create_key(KeyCreate(tenant=name, role=Role.writer))
        scopes.append(Scope(UUID(tenant.id)))
        await fill(services, scopes[-1])
    return World(operator, services, keeper=scopes[0], gone=scopes[1])


async def tables_of_tenants(database: Database) -> set[str]:
    async with database.snapshot() as connection:
        rows = await driver(connection).fetch(
            """
            SELECT table_name FROM information_schema.columns
            WHERE column_name = 'tenant_id' AND table_schema = 'public'
            """
        )
    return {row["table_name"] for row in rows}


async def test_every_table_of_tenants_is_known_to_the_deletion_and_filled_here(
    world: World, database: Database
) -> None:
    tables = await tables_of_tenants(database)
    assert tables == {*HELD_BY_AGENT, "agents", "api_keys", "audit_log"}
    rows = await every_row(database)
    assert {name for name in tables if not any(str(world.gone.tenant_id) in row for row in rows[name])} == set()


@pytest.mark.parametrize("rows_at_once", [2, 10_000])
async def test_all_of_the_tenant_goes_and_no_other_row_changes(
    world: World, database: Database, rows_at_once: int
) -> None:
    before = await every_row(database)
    assert await TenantDeletion(database, world.gone.tenant_id, GONE, rows_at_once=rows_at_once).run() == 2
    gone = str(world.gone.tenant_id)
    after = await every_row(database)
    assert after == {table: [row for row in rows if gone not in row] for table, rows in before.items()}
    assert [tenant.name for tenant in await world.operator.tenants()] == ["default", KEEPER]


async def test_one_that_broke_off_lets_nobody_in_and_goes_on_when_begun_again(
    world: World, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = await world.operator.create_key(KeyCreate(tenant=GONE, role=Role.admin))
    with monkeypatch.context() as broken:
        broken.setattr("engram.tenants.deletion.HELD_BY_AGENT", ("edges", "mentions", "no_such_table"))
        with pytest.raises(AssertionError):
            await world.operator.delete_tenant(GONE)
    with pytest.raises(AuthenticationProblem, match="revoked"):
        await world.services.authenticator.scope_of(key.key)
    assert (await world.operator.delete_tenant(GONE)).agents == 2
    rows = await every_row(database)
    assert not any(str(world.gone.tenant_id) in row for found in rows.values() for row in found)
    with pytest.raises(NotFoundProblem):
        await world.operator.delete_tenant(GONE)


async def test_two_tenants_that_have_all_keys_are_not_both_deleted(world: World) -> None:
    outcomes = await asyncio.gather(
        world.operator.delete_tenant(KEEPER), world.operator.delete_tenant(GONE), return_exceptions=True
    )
    refused = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    assert [type(outcome) for outcome in refused] == [ConflictProblem]
    assert len({tenant.name for tenant in await world.operator.tenants()} & {KEEPER, GONE}) == 1
    assert await world.services.authenticator.look()
