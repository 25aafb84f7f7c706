"""``engram migrate`` and ``engram serve``, as processes."""

from __future__ import annotations

import asyncio
import re
import signal
from pathlib import Path

import asyncpg
import pytest

from engram import Engram
from engram.db.revisions import head_revision

from .conftest import Run, finish, start


async def revision_of(url: str) -> str:
    connection = await asyncpg.connect(url)
    try:
        revision: str = await connection.fetchval("SELECT version_num FROM alembic_version")
        return revision
    finally:
        await connection.close()


def test_migrate_brings_a_database_to_the_newest_revision(
    run: Run, monkeypatch: pytest.MonkeyPatch, empty_database_url: str
) -> None:
    monkeypatch.setenv("ENGRAM_DATABASE_URL", empty_database_url)
    first = run("migrate")
    assert (first.status, first.stderr) == (0, "")
    assert head_revision() in first.stdout
    assert run("migrate", "--json").json == {"revision": head_revision()}
    assert asyncio.run(revision_of(empty_database_url)) == head_revision()


def test_migrate_tells_what_is_wrong_with_the_database(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_DATABASE_URL", "postgresql://me:hush@127.0.0.1:1/x")
    monkeypatch.setenv("ENGRAM_CONNECT_TIMEOUT", "0.5")
    outcome = run("migrate")
    assert outcome.status == 1
    assert outcome.stderr.startswith("engram: The database at postgresql://me@127.0.0.1:1/x")
    assert outcome.stderr.count("\n") == 1
    assert "hush" not in outcome.stderr


def test_serve_runs_a_server_on_a_database_of_its_own_until_interrupted(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    data = tmp_path_factory.mktemp("s")
    process = start("serve", "--port", "0", "--data-dir", str(data), cwd=data)
    assert process.stderr is not None
    url = None
    while url is None and (line := process.stderr.readline()):
        url = re.search(r"http://127\.0\.0\.1:\d+", line)
    assert url is not None
    with Engram(url[0]) as client:
        assert client.health().status == "ok"
    process.send_signal(signal.SIGINT)
    outcome = finish(process)
    assert outcome.status == 0
    assert outcome.stdout == ""
    assert (data / "postgres" / "PG_VERSION").exists()
    assert not (data / "postgres" / "postmaster.pid").exists()


def test_serve_refuses_an_address_that_others_can_reach(run: Run, tmp_path: Path) -> None:
    outcome = run("serve", "--host", "0.0.0.0", "--port", "0", "--data-dir", str(tmp_path / "data"))
    assert outcome.status == 1
    assert outcome.stderr.startswith("engram: ")
    assert outcome.stderr.count("\n") == 1
    assert not (tmp_path / "data").exists()
