"""What an operator does: tenants and their keys. Runs as the owner of the schema, never for a request."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection
from uuid_utils.compat import uuid7

from engram.audit.schemas import Action
from engram.audit.service import Audit, Operator
from engram.db.database import Database
from engram.problems import ConflictProblem, InvalidInputProblem, NotFoundProblem
from engram.tenants.deletion import TenantDeletion
from engram.tenants.keys import digest_of, is_key, new_key, prefix_of
from engram.tenants.repository import KeyRepository, NewKey, TenantRepository
from engram.tenants.schemas import Key, KeyCreate, KeyCreated, Tenant, TenantDeleted

MAX_LISTED = 10_000


class OperatorService:
    def __init__(self, owner: Database) -> None:
        self._database = owner
        self._audit = Audit()

    async def create_tenant(self, name: str) -> Tenant:
        """Raises ConflictProblem where the name is taken."""
        id, now = uuid7(), datetime.now(UTC)
        async with self._database.transaction() as connection:
            if not await TenantRepository(connection).insert(id, name, now):
                raise ConflictProblem(f"There is a tenant {name!r} already.")
            await self._audit.record(
                connection, Operator(id), Action.tenant_create, targets=[id], details={"name": name}
            )
        return Tenant(id=str(id), name=name, created_at=now, agents=0, keys=0)

    async def tenants(self) -> list[Tenant]:
        """Tenants by name, at most ``MAX_LISTED``."""
        async with self._database.snapshot() as connection:
            rows = await TenantRepository(connection).all(MAX_LISTED)
        return [Tenant.model_validate(row) for row in rows]

    async def delete_tenant(self, name: str) -> TenantDeleted:
        """Erase a tenant for good, with its agents, memories, keys and audit log.

        Raises NotFoundProblem for an unknown one, ConflictProblem for one that must stay.
        """
        async with self._database.snapshot() as connection:
            id = await _tenant_id(connection, name)
        agents = await TenantDeletion(self._database, id, name).run()
        return TenantDeleted(id=str(id), name=name, agents=agents)

    async def create_key(self, request: KeyCreate) -> KeyCreated:
        """A new key. Raises NotFoundProblem for an unknown tenant or agent, InvalidInputProblem for an end that is
        past."""
        now = datetime.now(UTC)
        if request.expires_at is not None and request.expires_at <= now:
            raise InvalidInputProblem.of("expires_at", "must be in the future")
        secret, id = new_key(), uuid7()
        async with self._database.transaction() as connection:
            tenant_id = await _tenant_id(connection, request.tenant)
            agent_id = await _agent_id(connection, tenant_id, request)
            key = NewKey(
                id=id,
                agent_id=agent_id,
                name=request.name,
                prefix=prefix_of(secret),
                digest=digest_of(secret),
                role=request.role,
                rate_limit=request.rate_limit,
                created_at=now,
                expires_at=request.expires_at,
            )
            await KeyRepository(connection).insert(tenant_id, key)
            await self._audit.record(
                connection,
                Operator(tenant_id),
                Action.key_create,
                agent_id=agent_id,
                targets=[id],
                details={"prefix": key.prefix, "role": key.role.value},
            )
        return KeyCreated(
            key=secret,
            id=str(id),
            prefix=key.prefix,
            role=key.role,
            tenant=request.tenant,
            expires_at=request.expires_at,
        )

    async def keys(self, tenant: str | None) -> list[Key]:
        """Keys of a tenant, or of all, the latest first, at most ``MAX_LISTED``; revoked ones too."""
        async with self._database.snapshot() as connection:
            tenant_id = await _tenant_id(connection, tenant) if tenant is not None else None
            rows = await KeyRepository(connection).all(tenant_id, MAX_LISTED)
        return [Key.model_validate(row) for row in rows]

    async def revoke(self, named: str) -> str:
        """End the key of a prefix, an id, or that whole key, everywhere and at once; its prefix.

        Raises NotFoundProblem for an unknown one, ConflictProblem for a prefix that several have.
        """
        digest = digest_of(named) if is_key(named) else None
        async with self._database.transaction() as connection:
            keys = KeyRepository(connection)
            found = await keys.matching(named, digest)
            if not found:
                shown = named if digest is None else f"{prefix_of(named)}…"
                raise NotFoundProblem(f"There is no key {shown}; engram keys list shows them.")
            if len(found) > 1:
                raise ConflictProblem(f"Several keys begin with {named}: name one by its id.")
            ((tenant_id, id, prefix, revoked),) = found
            if not revoked:
                await keys.revoke(tenant_id, id, datetime.now(UTC))
                await self._audit.record(
                    connection, Operator(tenant_id), Action.key_revoke, targets=[id], details={"prefix": prefix}
                )
        return prefix


async def _tenant_id(connection: AsyncConnection, name: str) -> UUID:
    id = await TenantRepository(connection).id_of(name)
    if id is None:
        raise NotFoundProblem(f"There is no tenant {name!r}; engram tenants list shows them.")
    return id


async def _agent_id(connection: AsyncConnection, tenant_id: UUID, request: KeyCreate) -> UUID | None:
    if request.agent is None:
        return None
    id = await TenantRepository(connection).agent_id(tenant_id, request.agent)
    if id is None:
        raise NotFoundProblem(f"The tenant {request.tenant!r} has no agent {request.agent!r}.")
    return id
