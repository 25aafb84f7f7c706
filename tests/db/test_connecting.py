"""Connecting to servers that ask for passwords, or do not answer, or refuse."""

from __future__ import annotations

import logging
import socket
import traceback
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

import asyncpg
import pytest

from engram.db.database import Database, driver
from engram.db.embedded import EmbeddedPostgres
from engram.db.migrate import migrate
from engram.db.roles import role_statements
from engram.problems import ConfigurationProblem, Problem, UnavailableProblem
from engram.settings import Settings
from tests.db.servers import server_folder, write_as_owner
from tests.fixtures.databases import administrator, temporary_database
from tests.fixtures.postgres import FAST

Use = Callable[..., Awaitable[object]]

PASSWORD = "p@ss/w%rd:#?&é %40"
HBA = "local all postgres trust\nhost all all 127.0.0.1/32 scram-sha-256\n"


@dataclass
class Guarded:
    """A server on a TCP port that asks everyone for a password."""

    server: EmbeddedPostgres
    port: int
    url: str

    def url_with(self, *, user: str = "ann", password: str = PASSWORD, database: str = "engram") -> str:
        return f"postgresql://{user}:{quote(password, safe='')}@127.0.0.1:{self.port}/{database}?sslmode=disable"


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with server_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def guarded(folder: Path) -> Iterator[Guarded]:
    EmbeddedPostgres.start(folder, FAST).stop()
    write_as_owner(folder / "postgres" / "pg_hba.conf", HBA)
    port = free_port()
    server = EmbeddedPostgres.start(folder, {**FAST, "listen_addresses": "127.0.0.1", "port": str(port)})
    yield Guarded(server, port, server.dsn)
    server.stop()


@pytest.fixture
async def ann(guarded: Guarded) -> Guarded:
    """A server that knows a role with an awkward password, and has pgvector for it."""
    connection = await asyncpg.connect(guarded.url)
    await connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    if not await connection.fetchval("SELECT true FROM pg_roles WHERE rolname = 'ann'"):
        literal = await connection.fetchval("SELECT quote_literal($1::text)", PASSWORD)
        await connection.execute(f"CREATE ROLE ann LOGIN PASSWORD {literal}")
        await connection.execute("ALTER DATABASE engram OWNER TO ann")
        await connection.execute("".join(role_statements("ann")))
    await connection.close()
    return guarded


def everything_said(problem: Problem) -> str:
    return "".join(traceback.format_exception(problem)) + repr(problem) + problem.detail


async def test_an_awkward_password_opens_the_door_to_migrations_and_to_the_pool(
    ann: Guarded, make_settings: Callable[..., Settings]
) -> None:
    url = ann.url_with()
    settings = make_settings(url)
    await migrate(url, settings)
    database = await Database.connect(url, settings)
    async with database.snapshot() as connection:
        assert await driver(connection).fetchval("SELECT current_user") == "ann"
    await database.close()


async def test_a_password_shows_in_no_repr_and_no_log(
    ann: Guarded, make_settings: Callable[..., Settings], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    url = ann.url_with()
    settings = make_settings(url)
    await migrate(url, settings)
    database = await Database.connect(url, settings)
    said = repr(database) + str(database) + repr(settings) + caplog.text
    await database.close()
    assert "ann@127.0.0.1" in said
    for secret in (PASSWORD, quote(PASSWORD, safe="")):
        assert secret not in said


@pytest.mark.parametrize("use", [Database.connect, migrate])
@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"password": "hunter2 is wrong"}, "password"),
        ({"user": "nobody"}, "nobody"),
        ({"database": "nowhere"}, "nowhere"),
    ],
)
async def test_a_refusal_is_told_at_once_and_without_the_password(
    ann: Guarded,
    make_settings: Callable[..., Settings],
    use: Use,
    changes: dict[str, str],
    told: str,
) -> None:
    url = ann.url_with(**changes)
    with pytest.raises(ConfigurationProblem, match=told) as caught:
        # A refusal is final: it is not to be waited for.
        await use(url, make_settings(url, connect_timeout=120))
    assert f"127.0.0.1:{ann.port}" in caught.value.detail
    assert "hunter2" not in everything_said(caught.value)
    assert PASSWORD not in everything_said(caught.value)


@pytest.mark.parametrize("option", ["sslmode=perhaps", "no_such_setting=1"])
async def test_an_option_that_makes_no_sense_is_refused_at_once(
    ann: Guarded, make_settings: Callable[..., Settings], option: str
) -> None:
    url = f"{ann.url_with()}&{option}"
    with pytest.raises(ConfigurationProblem) as caught:
        await Database.connect(url, make_settings(url))
    assert PASSWORD not in everything_said(caught.value)


async def test_a_port_that_is_no_number_is_refused(make_settings: Callable[..., Settings]) -> None:
    url = "postgresql://ann:hunter2@/engram?host=/nowhere&port=many"
    with pytest.raises(ConfigurationProblem) as caught:
        await Database.connect(url, make_settings(url))
    assert "hunter2" not in everything_said(caught.value)


@pytest.mark.parametrize("use", [Database.connect, migrate])
async def test_nobody_listening_is_unavailable_after_the_time_to_connect(
    make_settings: Callable[..., Settings], use: Use
) -> None:
    url = f"postgresql://ann:hunter2@127.0.0.1:{free_port()}/engram"
    with pytest.raises(UnavailableProblem, match="cannot be reached") as caught:
        await use(url, make_settings(url, connect_timeout=0.3))
    assert "hunter2" not in everything_said(caught.value)


async def test_a_server_that_accepts_and_says_nothing_is_unavailable(make_settings: Callable[..., Settings]) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"postgresql://ann@127.0.0.1:{silent.getsockname()[1]}/engram"
        with pytest.raises(UnavailableProblem, match="cannot be reached"):
            await Database.connect(url, make_settings(url, connect_timeout=0.3))


async def test_a_server_without_a_connection_left_is_unavailable(
    postgres: EmbeddedPostgres, make_settings: Callable[..., Settings]
) -> None:
    role = f"role_{uuid4().hex}"
    async with temporary_database(postgres, "CONNECTION LIMIT 1") as url, administrator(postgres) as superuser:
        await superuser.execute(f"CREATE ROLE {role} LOGIN")
        theirs = url.replace("postgres@", f"{role}@", 1)
        first = await asyncpg.connect(theirs)
        with pytest.raises(UnavailableProblem, match="too many connections"):
            await Database.connect(theirs, make_settings(theirs, connect_timeout=0.3))
        await first.close()
        await superuser.execute(f"DROP ROLE {role}")
