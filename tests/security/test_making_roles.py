"""Roles are made by whoever migrates, who need not be a superuser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import ModuleType
from uuid import uuid4

import asyncpg
import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import make_url

from engram.db.embedded import EmbeddedPostgres
from engram.db.revisions import alembic_config
from tests.fixtures.databases import administrator, url_of


@pytest.fixture(scope="module")
def revision() -> ModuleType:
    return ScriptDirectory.from_config(alembic_config()).get_revision("0007").module


@pytest.fixture
async def maker(postgres: EmbeddedPostgres) -> AsyncIterator[asyncpg.Connection]:
    """Somebody who may make roles, and nothing else."""
    name = f"maker_{uuid4().hex}"
    async with administrator(postgres) as connection:
        await connection.execute(f"CREATE ROLE {name} LOGIN CREATEROLE")
        url = make_url(url_of(postgres, "postgres")).set(username=name)
        maker = await asyncpg.connect(url.render_as_string(hide_password=False))
        try:
            yield maker
        finally:
            await maker.close()
            made = await connection.fetch("SELECT rolname FROM pg_roles WHERE rolname LIKE $1 || '%'", f"{name}_")
            for role in (*(role for (role,) in made), name):
                await connection.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")


async def test_who_makes_a_role_may_become_it(maker: asyncpg.Connection, revision: ModuleType) -> None:
    name = await maker.fetchval("SELECT current_user")
    reader, writer = f"{name}_reader", f"{name}_writer"
    for _ in range(2):  # again changes nothing
        for role in (reader, writer):
            await maker.execute(revision.MAKE_ROLE.format(role=role, attributes=""))
        for granted, member in ((reader, f"'{writer}'::regrole"), (reader, "current_user::regrole")):
            await maker.execute(revision.GRANT_ROLE.format(granted=granted, member=member))
    await maker.execute(f"SET ROLE {reader}")
    assert await maker.fetchval("SELECT pg_has_role($1::name, $2::name, 'USAGE')", writer, reader)
