"""Which database one is connected to, whatever the address was."""

from __future__ import annotations

from dataclasses import dataclass

import asyncpg

_DATABASE = "SELECT datname AS name, oid::bigint AS oid FROM pg_database WHERE datname = current_database()"
# Asked for first: without the right, a statement that names the function fails, also where it does not call it.
_MAY_ASK = "SELECT has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE')"
_CLUSTER = "SELECT system_identifier FROM pg_control_system()"


@dataclass(frozen=True, slots=True)
class Identity:
    """``cluster`` is the same for replicas, and None where the login may not ask."""

    name: str
    oid: int
    cluster: int | None

    def is_another_than(self, other: Identity) -> bool:
        if (self.name, self.oid) != (other.name, other.oid):
            return True
        return None not in (self.cluster, other.cluster) and self.cluster != other.cluster


async def read_identity(connection: asyncpg.Connection) -> Identity:
    row = await connection.fetchrow(_DATABASE)
    assert row is not None  # we are in it
    cluster = await connection.fetchval(_CLUSTER) if await connection.fetchval(_MAY_ASK) else None
    return Identity(row["name"], row["oid"], cluster)
