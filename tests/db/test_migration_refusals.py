"""What a database that cannot be migrated is told with."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from urllib.parse import urlsplit
from uuid import uuid4

import asyncpg
import pytest

from engram.agents.schemas import AgentCreate
from engram.db.database import Database
from engram.db.embedded import EmbeddedPostgres
from engram.db.migrate import ADVISORY_LOCK, migrate, revision_status
from engram.db.revisions import head_revision
from engram.db.roles import role_statements
from engram.memories.schemas import MemoryCreate
from engram.problems import ConfigurationProblem, UnavailableProblem
from engram.services import open_services
from engram.settings import Settings
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.databases import administrator


@pytest.fixture
async def owner(postgres: EmbeddedPostgres, empty_database_url: str) -> AsyncIterator[str]:
    """The URL of an empty database for a role that owns it and is no superuser."""
    role = f"role_{uuid4().hex}"
    database = urlsplit(empty_database_url).path[1:]
    async with administrator(postgres) as connection:
        await connection.execute(f"CREATE ROLE {role} LOGIN")
        await connection.execute(f"ALTER DATABASE {database} OWNER TO {role}")
    yield empty_database_url.replace("postgres@", f"{role}@", 1)
    async with administrator(postgres) as connection:
        await connection.execute(f"ALTER DATABASE {database} OWNER TO postgres")
    raw = await asyncpg.connect(empty_database_url)
    await raw.execute(f"DROP OWNED BY {role}")
    await raw.execute(f"DROP ROLE {role}")
    await raw.close()


def role_of(url: str) -> str:
    role = urlsplit(url).username
    assert role is not None
    return role


async def refusal(dsn: str, make_settings: Callable[..., Settings]) -> str:
    with pytest.raises(ConfigurationProblem) as caught:
        await migrate(dsn, make_settings(dsn))
    assert "\n" not in caught.value.detail
    return caught.value.detail


async def test_a_revision_of_a_newer_version_is_named_and_nothing_is_touched(
    database_url: str, database: Database, make_settings: Callable[..., Settings]
) -> None:
    raw = await asyncpg.connect(database_url)
    await raw.execute("UPDATE alembic_version SET version_num = 'beef'")
    await raw.close()
    detail = await refusal(database_url, make_settings)
    assert "beef" in detail
    assert head_revision() in detail
    with pytest.raises(ConfigurationProblem, match="beef"):
        await revision_status(database)


async def test_several_revisions_at_once_are_refused(database_url: str, make_settings: Callable[..., Settings]) -> None:
    raw = await asyncpg.connect(database_url)
    await raw.execute("INSERT INTO alembic_version VALUES ('beef')")
    await raw.close()
    assert "beef" in await refusal(database_url, make_settings)


async def test_without_the_right_to_create_the_extension_a_superusers_command_is_given(
    owner: str, make_settings: Callable[..., Settings]
) -> None:
    detail = await refusal(owner, make_settings)
    assert "superuser" in detail
    assert "CREATE EXTENSION vector" in detail
    assert urlsplit(owner).path[1:] in detail


async def test_the_owner_of_a_database_that_has_the_extension_and_the_roles_can_migrate_it(
    owner: str, template: str, empty_database_url: str, make_settings: Callable[..., Settings]
) -> None:
    """The template's migration has made the roles."""
    raw = await asyncpg.connect(empty_database_url)
    await raw.execute("CREATE EXTENSION vector")
    await raw.execute(role_statements(role_of(owner))[-1])
    await raw.close()
    settings = make_settings(owner)
    assert await migrate(owner, settings) == head_revision()
    async with open_services(settings) as services:
        agent, _ = await services.agents.create(DEFAULT_SCOPE, AgentCreate(name="clerk"))
        await services.memories.create(DEFAULT_SCOPE, MemoryCreate(agent_id=agent.id, content="It works."))
        assert (await services.agents.stats(DEFAULT_SCOPE, agent.id)).memories == 1
        await services.agents.delete(DEFAULT_SCOPE, agent.id)


async def test_an_owner_who_may_not_become_the_roles_is_told_what_an_administrator_runs(
    owner: str, template: str, empty_database_url: str, make_settings: Callable[..., Settings]
) -> None:
    raw = await asyncpg.connect(empty_database_url)
    await raw.execute("CREATE EXTENSION vector")
    await raw.close()
    assert "engram migrate --print-roles" in await refusal(owner, make_settings)


async def test_without_the_right_to_create_tables_the_right_is_named(
    owner: str, empty_database_url: str, make_settings: Callable[..., Settings]
) -> None:
    raw = await asyncpg.connect(empty_database_url)
    await raw.execute("CREATE EXTENSION vector")
    await raw.execute("ALTER SCHEMA public OWNER TO postgres")
    await raw.close()
    assert "permission denied for schema public" in await refusal(owner, make_settings)


async def test_tables_of_somebody_elses_are_refused_and_nothing_is_left_behind(
    empty_database_url: str, make_settings: Callable[..., Settings]
) -> None:
    raw = await asyncpg.connect(empty_database_url)
    await raw.execute("CREATE TABLE memories (mine text)")
    assert '"memories" already exists' in await refusal(empty_database_url, make_settings)
    tables = await raw.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    await raw.close()
    assert {row["tablename"] for row in tables} <= {"memories", "alembic_version"}


async def test_waiting_for_another_process_ends(
    empty_database_url: str, make_settings: Callable[..., Settings]
) -> None:
    raw = await asyncpg.connect(empty_database_url)
    await raw.execute("SELECT pg_advisory_lock($1)", ADVISORY_LOCK)
    with pytest.raises(UnavailableProblem, match="Another process"):
        await migrate(empty_database_url, make_settings(empty_database_url), patience=0.2)
    await raw.close()
    assert await migrate(empty_database_url, make_settings(empty_database_url)) == head_revision()
