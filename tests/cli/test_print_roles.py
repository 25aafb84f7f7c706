"""``engram migrate --print-roles``: what an administrator runs where the owner of the database may make no roles."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from engram.agents.schemas import AgentCreate
from engram.db.embedded import EmbeddedPostgres
from engram.services import open_services
from engram.settings import Settings
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.databases import url_of
from tests.fixtures.postgres import FAST

from .conftest import Run


@pytest.fixture
def cluster() -> Iterator[EmbeddedPostgres]:
    """A cluster of this test's own: roles belong to the whole of it."""
    with tempfile.TemporaryDirectory(prefix="engram-tests-") as folder:
        server = EmbeddedPostgres.start(Path(folder) / "data", FAST)
        yield server
        server.stop()


def execute(url: str, *statements: str) -> None:
    async def work() -> None:
        connection = await asyncpg.connect(url)
        try:
            for statement in statements:
                await connection.execute(statement)
        finally:
            await connection.close()

    asyncio.run(work())


async def served(settings: Settings) -> int:
    async with open_services(settings) as services:
        agent, _ = await services.agents.create(DEFAULT_SCOPE, AgentCreate(name="clerk"))
        return (await services.agents.stats(DEFAULT_SCOPE, agent.id)).memories


def test_an_owner_who_makes_no_roles_migrates_and_a_login_that_owns_nothing_serves(
    run: Run, monkeypatch: pytest.MonkeyPatch, cluster: EmbeddedPostgres, static_weights: None
) -> None:
    administrator = url_of(cluster, "postgres")
    execute(administrator, "CREATE ROLE owner LOGIN", "CREATE ROLE app LOGIN", "CREATE DATABASE engrams OWNER owner")
    execute(url_of(cluster, "engrams"), "CREATE EXTENSION vector")
    owner = url_of(cluster, "engrams").replace("postgres@", "owner@", 1)
    monkeypatch.setenv("ENGRAM_DATABASE_URL", owner)
    refused = run("migrate")
    assert refused.status == 1
    assert "engram migrate --print-roles" in refused.stderr
    printed = run("migrate", "--print-roles")
    assert (printed.status, printed.stderr) == (0, "")
    for _ in range(2):
        execute(administrator, printed.stdout)
    assert run("migrate").status == 0
    assert asyncio.run(served(Settings())) == 0
    execute(administrator, "GRANT engram_server TO app")
    monkeypatch.setenv("ENGRAM_OWNER_DATABASE_URL", owner)
    monkeypatch.setenv("ENGRAM_DATABASE_URL", owner.replace("owner@", "app@", 1))
    assert run("migrate", "--print-roles").stdout == printed.stdout
    assert asyncio.run(served(Settings())) == 0
    assert run("keys", "create", "--role", "viewer").status == 0
    found = {finding["name"]: finding for finding in run("doctor", "--json").json["findings"]}
    assert found["Keys"]["detail"] == "1 valid key in 1 tenant"
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        execute(owner.replace("owner@", "app@", 1), "SELECT FROM memories")


def test_the_embedded_database_makes_its_roles_by_itself(run: Run) -> None:
    outcome = run("migrate", "--print-roles")
    assert (outcome.status, outcome.stdout) == (1, "")
    assert "by itself" in outcome.stderr
