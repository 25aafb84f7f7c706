"""The doctor on logins: which may do what, and whether both are of one database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from engram.db.embedded import EmbeddedPostgres
from engram.db.roles import role_statements
from tests.fixtures.databases import administrator, url_of

from .conftest import Examine, Run, change, statuses, told


@pytest.fixture
async def login(postgres: EmbeddedPostgres, template: str) -> AsyncIterator[str]:
    """A role that may log in, and nothing else."""
    name = f"role_{uuid4().hex}"
    async with administrator(postgres) as connection:
        await connection.execute(f"CREATE ROLE {name} LOGIN")
    yield name
    async with administrator(postgres) as connection:
        await connection.execute(f"DROP OWNED BY {name}")
        await connection.execute(f"DROP ROLE {name}")


@pytest.fixture
async def owner_url(postgres: EmbeddedPostgres, empty_database_url: str, login: str) -> AsyncIterator[str]:
    """An empty database as ``login`` reaches it, who owns it."""
    database = urlsplit(empty_database_url).path[1:]
    async with administrator(postgres) as connection:
        await connection.execute(f"ALTER DATABASE {database} OWNER TO {login}")
    yield as_login(empty_database_url, login)
    async with administrator(postgres) as connection:
        await connection.execute(f"ALTER DATABASE {database} OWNER TO postgres")


def as_login(url: str, login: str) -> str:
    return url.replace("postgres@", f"{login}@", 1)


def run_in(postgres: EmbeddedPostgres, *statements: str) -> None:
    asyncio.run(change(url_of(postgres, "postgres"), *statements))


def test_a_login_that_cannot_serve_is_named_beside_the_owner(
    examine: Examine, postgres: EmbeddedPostgres, database_url: str, login: str
) -> None:
    urls = {"ENGRAM_DATABASE_URL": as_login(database_url, login), "ENGRAM_OWNER_DATABASE_URL": database_url}
    outcome = examine("--json", **urls)
    assert outcome.status == 1
    assert f"The login {login} is not a member of engram_server" in told(outcome, "Login")
    assert f"GRANT engram_server TO {login}" in told(outcome, "Login")
    run_in(postgres, f"GRANT engram_server TO {login}")
    outcome = examine("--json", **urls)
    assert (outcome.status, statuses(outcome)["Login"]) == (0, "ok")
    assert f"{login} serves" in told(outcome, "Login")


def test_each_login_that_the_database_refuses_is_told(examine: Examine, database_url: str) -> None:
    refused = database_url.replace("postgres@", "stranger:hush@", 1)
    outcome = examine("--json", ENGRAM_DATABASE_URL=refused, ENGRAM_OWNER_DATABASE_URL=database_url)
    assert outcome.status == 1
    assert (statuses(outcome)["Database"], statuses(outcome)["Login"]) == ("ok", "fail")
    assert "stranger" in told(outcome, "Login")
    assert "Correct ENGRAM_DATABASE_URL" in told(outcome, "Login")
    assert "hush" not in outcome.stdout
    outcome = examine("--json", ENGRAM_DATABASE_URL=database_url, ENGRAM_OWNER_DATABASE_URL=refused)
    assert outcome.status == 1
    assert (statuses(outcome)["Database"], statuses(outcome)["Login"]) == ("fail", "ok")
    assert "correct ENGRAM_OWNER_DATABASE_URL" in told(outcome, "Database")


def test_logins_of_two_databases_are_told_apart(examine: Examine, database_url: str, empty_database_url: str) -> None:
    outcome = examine("--json", ENGRAM_DATABASE_URL=empty_database_url, ENGRAM_OWNER_DATABASE_URL=database_url)
    assert outcome.status == 1
    assert statuses(outcome)["Login"] == "fail"
    assert "ENGRAM_OWNER_DATABASE_URL is of another database" in told(outcome, "Login")
    for url in (database_url, empty_database_url):
        assert urlsplit(url).path in told(outcome, "Login")


def test_a_login_that_owns_nothing_sees_what_it_may(
    examine: Examine, run: Run, postgres: EmbeddedPostgres, database_url: str, login: str
) -> None:
    outcome = examine("--json", ENGRAM_DATABASE_URL=as_login(database_url, login))
    assert outcome.status == 1
    assert "not a member of engram_server" in told(outcome, "Login")
    run_in(postgres, f"GRANT engram_server TO {login}")
    examine(ENGRAM_DATABASE_URL=database_url)
    assert run("keys", "create", "--role", "viewer").status == 0
    outcome = examine("--json", ENGRAM_DATABASE_URL=as_login(database_url, login))
    assert (outcome.status, outcome.stderr) == (0, "")
    found = statuses(outcome)
    assert (found["Login"], found["Revision"], found["Links"], found["Keys"]) == ("warn", "ok", "ok", "ok")
    assert "this login owns no tables: set ENGRAM_OWNER_DATABASE_URL" in told(outcome, "Login")
    assert "there are some" in told(outcome, "Keys")


def test_an_owner_who_may_not_make_what_a_migration_needs_is_told_who_does(
    examine: Examine, postgres: EmbeddedPostgres, empty_database_url: str, owner_url: str, login: str
) -> None:
    outcome = examine("--json", ENGRAM_DATABASE_URL=owner_url)
    assert outcome.status == 1
    assert (statuses(outcome)["pgvector"], statuses(outcome)["Roles"]) == ("fail", "fail")
    assert "a superuser runs CREATE EXTENSION vector" in told(outcome, "pgvector")
    assert "engram migrate --print-roles" in told(outcome, "Roles")
    asyncio.run(change(empty_database_url, "CREATE EXTENSION vector", *role_statements(login)))
    outcome = examine("--json", ENGRAM_DATABASE_URL=owner_url)
    assert (outcome.status, statuses(outcome)["pgvector"]) == (0, "ok")
    assert "Roles" not in statuses(outcome)
