"""The embedded server's life: who starts it, who shares it, who stops it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from engram.db.embedded import EmbeddedPostgres
from tests.db.servers import User, eventually, remember, remembered, server_folder, server_process
from tests.fixtures.postgres import FAST


@pytest.fixture(scope="module")
def shared_dir() -> Iterator[Path]:
    """A data directory with a cluster in it, whose server is stopped between tests."""
    with server_folder() as folder:
        yield folder


@pytest.fixture
def data_dir(shared_dir: Path) -> Iterator[Path]:
    yield shared_dir
    if server_process(shared_dir) is not None:
        EmbeddedPostgres.start(shared_dir).stop()
    assert server_process(shared_dir) is None


async def test_data_outlives_the_server(data_dir: Path) -> None:
    first = EmbeddedPostgres.start(data_dir, FAST)
    await remember(first.dsn, "a fact")
    first.stop()
    assert server_process(data_dir) is None
    second = EmbeddedPostgres.start(data_dir, FAST)
    assert await remembered(second.dsn) == ["a fact"]
    second.stop()


def test_stopping_again_does_nothing(data_dir: Path) -> None:
    server = EmbeddedPostgres.start(data_dir)
    other = EmbeddedPostgres.start(data_dir)
    server.stop()
    server.stop()
    assert server_process(data_dir) is not None
    other.stop()
    assert server_process(data_dir) is None


async def test_open_connections_do_not_keep_it_from_stopping(data_dir: Path) -> None:
    server = EmbeddedPostgres.start(data_dir)
    connection = await asyncpg.connect(server.dsn)
    await connection.execute("BEGIN")
    server.stop()
    assert server_process(data_dir) is None
    connection.terminate()


async def test_settings_take_effect_at_the_next_start_of_an_old_cluster(data_dir: Path) -> None:
    for chosen in ("16MB", "24MB"):
        server = EmbeddedPostgres.start(data_dir, {"shared_buffers": chosen})
        connection = await asyncpg.connect(server.dsn)
        assert await connection.fetchval("SHOW shared_buffers") == chosen
        assert await connection.fetchval("SHOW listen_addresses") == ""
        await connection.close()
        server.stop()


async def test_processes_that_start_at_once_share_one_server(data_dir: Path) -> None:
    users = [User(data_dir) for _ in range(3)]
    assert len({user.address() for user in users}) == 1
    server = server_process(data_dir)
    assert server is not None
    for user in users[:-1]:
        user.leave()
        assert server_process(data_dir) == server
    users[-1].leave()
    assert server_process(data_dir) is None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_server_of_its_last_user(data_dir: Path, number: int) -> None:
    user = User(data_dir)
    user.address()
    user.signal(number)
    assert server_process(data_dir) is None


async def test_a_killed_user_is_not_waited_for(data_dir: Path) -> None:
    user = User(data_dir)
    await remember(user.address(), "before the kill")
    user.signal(signal.SIGKILL)
    server = server_process(data_dir)
    assert server is not None

    heir = EmbeddedPostgres.start(data_dir)
    assert server_process(data_dir) == server
    assert "before the kill" in await remembered(heir.dsn)
    heir.stop()
    assert server_process(data_dir) is None


def test_a_user_killed_beside_another_does_not_take_the_server_along(data_dir: Path) -> None:
    user = User(data_dir)
    user.address()
    survivor = EmbeddedPostgres.start(data_dir)
    user.signal(signal.SIGKILL)
    assert server_process(data_dir) is not None
    survivor.stop()
    eventually(lambda: server_process(data_dir) is None)


@pytest.mark.parametrize(
    "name", ["deep" * 40, "with, comma and 'quotes'", "mit Umläuten und 空白"], ids=["long", "quotes", "unicode"]
)
async def test_any_path_will_do(name: str) -> None:
    with server_folder() as folder:
        server = EmbeddedPostgres.start(folder / name, FAST)
        await remember(server.dsn, name)
        assert await remembered(server.dsn) == [name]
        server.stop()
