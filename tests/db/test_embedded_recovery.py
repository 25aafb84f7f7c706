"""The embedded server after accidents: killed servers, stale and broken files."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engram.db.embedded import EmbeddedPostgres
from tests.db.servers import (
    User,
    eventually,
    remember,
    remembered,
    server_folder,
    server_process,
    write_as_owner,
)


@pytest.fixture(scope="module")
def shared_dir() -> Iterator[Path]:
    with server_folder() as folder:
        server = EmbeddedPostgres.start(folder)
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, remember(server.dsn, "a fact")).result()
        server.stop()
        yield folder


@pytest.fixture
def data_dir(shared_dir: Path) -> Iterator[Path]:
    """A data directory that remembers one fact; its server is stopped, and must be so again afterwards."""
    yield shared_dir
    assert server_process(shared_dir) is None


def kill_server(data_dir: Path) -> None:
    server = server_process(data_dir)
    assert server is not None
    server.kill()
    eventually(lambda: not server.is_running())


async def check_and_stop(data_dir: Path) -> None:
    server = EmbeddedPostgres.start(data_dir)
    assert await remembered(server.dsn) == ["a fact"]
    server.stop()
    assert server_process(data_dir) is None


async def test_a_killed_server_is_started_again_with_its_data(data_dir: Path) -> None:
    lost = EmbeddedPostgres.start(data_dir)
    kill_server(data_dir)
    heir = EmbeddedPostgres.start(data_dir)
    assert heir.dsn == lost.dsn
    assert await remembered(heir.dsn) == ["a fact"]
    lost.stop()
    heir.stop()
    assert server_process(data_dir) is None


async def test_processes_that_outlive_a_killed_server_are_no_obstacle(data_dir: Path) -> None:
    lost = EmbeddedPostgres.start(data_dir)
    server = server_process(data_dir)
    assert server is not None
    children = server.children()
    for child in children:
        child.send_signal(signal.SIGSTOP)  # too busy to notice that their parent is gone
    kill_server(data_dir)
    lost.stop()
    try:
        await check_and_stop(data_dir)
        assert not any(child.is_running() for child in children)
    finally:
        for child in children:
            if child.is_running():
                child.kill()


def test_stopping_a_server_that_was_killed_is_no_error(data_dir: Path) -> None:
    server = EmbeddedPostgres.start(data_dir)
    kill_server(data_dir)
    server.stop()


async def test_a_server_and_its_user_killed_together_leave_the_data_whole(data_dir: Path) -> None:
    user = User(data_dir)
    user.address()
    kill_server(data_dir)
    user.signal(signal.SIGKILL)
    await check_and_stop(data_dir)


@pytest.mark.parametrize("content", ["", "12\n/somewhere", "not a number\n"])
async def test_a_broken_pid_file_is_no_obstacle(data_dir: Path, content: str) -> None:
    write_as_owner(data_dir / "postgres" / "postmaster.pid", content)
    await check_and_stop(data_dir)


async def test_a_pid_file_that_names_a_process_of_another_kind_is_no_obstacle(data_dir: Path) -> None:
    """After a kill, or in a new container, the number soon belongs to somebody else."""
    owner = (data_dir / "postgres").stat()
    user = owner.st_uid if os.geteuid() == 0 else None
    stranger = subprocess.Popen(  # noqa: ASYNC220 (it outlives the call)
        ["sleep", "300"], user=user, cwd=data_dir / "postgres"
    )
    address = f"{data_dir}/postgres\n1700000000\n5432\n{data_dir}/postgres\n\n  1 1\nready\n"
    write_as_owner(data_dir / "postgres" / "postmaster.pid", f"{stranger.pid}\n{address}")
    try:
        await check_and_stop(data_dir)
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


async def test_a_cluster_that_was_half_made_is_made_anew() -> None:
    with server_folder() as data_dir:
        half = data_dir / "postgres.new"
        half.mkdir(mode=0o700)
        (half / "PG_VERSION").write_text("18\n")
        server = EmbeddedPostgres.start(data_dir)
        await remember(server.dsn, "a fact")
        server.stop()
        assert not half.exists()
