from __future__ import annotations

import asyncio
import importlib
import pkgutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import asyncpg
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

import engram
from engram.db.base import Base
from engram.db.database import Database, driver
from engram.db.extension import ensure_vector_extension
from engram.db.migrate import downgrade, migrate, revision_status
from engram.db.programs import Programs
from engram.db.revisions import alembic_config, head_revision
from engram.settings import Settings
from tests.db.servers import ROOT

PROCESSES = 8


def schema_of(dsn: str, folder: Path) -> list[str]:
    """All of a database's schema, as statements."""
    dump = Programs(folder).run("pg_dump", "--schema-only", "--no-owner", f"--dbname={dsn}")
    # These two lines carry a random word.
    return [line for line in dump.splitlines() if not line.startswith(("\\restrict", "\\unrestrict"))]


def test_there_is_one_head() -> None:
    assert len(ScriptDirectory.from_config(alembic_config()).get_heads()) == 1


async def test_processes_that_start_at_once_migrate_a_database_once(
    empty_database_url: str, make_settings: Callable[..., Settings]
) -> None:
    processes = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.db.migrate_once", empty_database_url),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(PROCESSES)
    ]
    answers = [await process.communicate() for process in processes]
    assert [error.decode() for _, error in answers] == [""] * PROCESSES
    assert {revision.decode() for revision, _ in answers} == {head_revision()}
    database = await Database.connect(empty_database_url, make_settings(empty_database_url))
    assert (await revision_status(database)).up_to_date
    await database.close()


async def test_sessions_that_create_the_extension_at_once_do_not_collide(empty_database_url: str) -> None:
    connections = [await asyncpg.connect(empty_database_url) for _ in range(PROCESSES)]
    await asyncio.gather(*(ensure_vector_extension(connection) for connection in connections))
    for connection in connections:
        assert await connection.fetchval("SELECT count(*) FROM pg_extension WHERE extname = 'vector'") == 1
        await connection.close()


async def test_down_and_up_again_gives_the_same_schema(database_url: str, settings: Settings, tmp_path: Path) -> None:
    first = schema_of(database_url, tmp_path)
    await downgrade(database_url, settings, "base")
    bare = schema_of(database_url, tmp_path)
    await migrate(database_url, settings)
    assert schema_of(database_url, tmp_path) == first
    tables = [line for line in bare if line.startswith("CREATE TABLE")]
    assert tables == ["CREATE TABLE public.alembic_version ("]
    assert not [line for line in bare if line.startswith(("CREATE TYPE", "CREATE FUNCTION", "CREATE INDEX"))]


async def test_migrating_again_changes_nothing(database_url: str, settings: Settings, tmp_path: Path) -> None:
    before = schema_of(database_url, tmp_path)
    assert await migrate(database_url, settings) == head_revision()
    assert schema_of(database_url, tmp_path) == before


async def test_status_tells_where_a_database_stands(
    empty_database_url: str, make_settings: Callable[..., Settings]
) -> None:
    settings = make_settings(empty_database_url)
    database = await Database.connect(empty_database_url, settings)
    before = await revision_status(database)
    assert (before.current, before.up_to_date) == (None, False)
    await migrate(empty_database_url, settings)
    after = await revision_status(database)
    assert (after.current, after.head, after.up_to_date) == (head_revision(), head_revision(), True)
    await database.close()


def _is_ours(name: str | None, kind: str, parents: object) -> bool:
    """The queue's tables are its library's, which is asked itself: ``tests/jobs/test_queue.py``."""
    return not (kind == "table" and (name or "").startswith("job_queue"))


async def test_the_models_describe_the_migrated_tables(database: Database) -> None:
    for module in pkgutil.walk_packages(engram.__path__, "engram."):
        if module.name.endswith(".models"):
            importlib.import_module(module.name)
    assert Base.metadata.tables
    async with database.snapshot() as connection:
        differences = await connection.run_sync(
            lambda sync: compare_metadata(
                MigrationContext.configure(sync, opts={"include_name": _is_ours}), Base.metadata
            )
        )
    assert differences == []


async def test_pgvector_in_a_schema_of_its_own_is_found(
    empty_database_url: str, make_settings: Callable[..., Settings]
) -> None:
    raw = await asyncpg.connect(empty_database_url)
    await raw.execute("CREATE SCHEMA ext")
    await raw.execute("CREATE EXTENSION vector SCHEMA ext")
    await raw.close()
    settings = make_settings(empty_database_url)
    await migrate(empty_database_url, settings)
    database = await Database.connect(empty_database_url, settings)
    assert (await revision_status(database)).up_to_date
    async with database.snapshot() as connection:
        await driver(connection).fetch("SELECT embedding <=> $1 FROM memories", [1.0, 2.0])
    await database.close()
