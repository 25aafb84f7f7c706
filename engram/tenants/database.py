"""The database as a request may use it: as a role that owns nothing, and within one tenant."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import Database
from engram.tenants.roles import Role
from engram.tenants.scope import Scope
from engram.tenants.shares import Shares

_DATABASE_ROLES = {Role.viewer: "engram_reader", Role.writer: "engram_writer", Role.admin: "engram_admin"}


class TenantDatabase:
    """Transactions of a scope.

    The role and the tenant are set for the transaction alone, with the statement that begins it, and row-level
    security compares every row with that tenant: a statement that forgot its scope finds nothing, one that would write
    for another tenant fails. What a role may not do, its transactions cannot do either, whatever a route forgot.

    One tenant does not get all connections of the pool: see ``Shares``. Whoever waits too long for a turn gets an
    UnavailableProblem.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._shares = Shares(database.pool_status().limit, database.pool_timeout)

    @asynccontextmanager
    async def snapshot(self, scope: Scope) -> AsyncIterator[AsyncConnection]:
        """A read-only transaction in which every statement sees the same state.

        All reads run as one role, whoever asks: a plan is made for a role, and would be made anew for each other one.
        """
        async with (
            self._shares.turn(scope.tenant_id),
            self._database.snapshot(setup=_within(Role.viewer, scope)) as connection,
        ):
            yield connection

    @asynccontextmanager
    async def transaction(self, scope: Scope, *, durable: bool = True) -> AsyncIterator[AsyncConnection]:
        """A transaction that may write. Raises PermissionDeniedProblem for a scope that only reads.

        One that is not ``durable`` does not wait for the disk: a crash of the database may undo it, as a whole.
        """
        scope.require(Role.writer)
        setup = _within(Role.writer, scope) + ("" if durable else "; SET LOCAL synchronous_commit = off")
        async with self._shares.turn(scope.tenant_id), self._database.transaction(setup=setup) as connection:
            yield connection

    @asynccontextmanager
    async def administration(self, scope: Scope) -> AsyncIterator[AsyncConnection]:
        """A transaction that may erase, and read who did what. Raises PermissionDeniedProblem for lesser scopes."""
        scope.require(Role.admin)
        async with (
            self._shares.turn(scope.tenant_id),
            self._database.transaction(setup=_within(Role.admin, scope)) as connection,
        ):
            yield connection


def _within(role: Role, scope: Scope) -> str:
    # SET takes no parameters. What stands here is one of three names and a UUID, which has no quotes.
    return f"SET LOCAL ROLE {_DATABASE_ROLES[role]}; SET LOCAL engram.tenant_id = '{UUID(int=scope.tenant_id.int)}'"
