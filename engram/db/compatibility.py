"""Which versions of Postgres and pgvector Engram runs on, and in which encoding."""

from __future__ import annotations

from dataclasses import dataclass

import asyncpg

from engram.problems import ConfigurationProblem

MIN_POSTGRES = 15
MIN_PGVECTOR = (0, 8, 0)
SOUND_PGVECTOR = (0, 8, 4)
"""Before it, vacuuming an HNSW index could corrupt it."""

_VERSIONS = """
    SELECT current_setting('server_version_num')::int / 10000 AS postgres,
           current_setting('server_version') AS postgres_text,
           (SELECT extversion FROM pg_catalog.pg_extension WHERE extname = 'vector') AS pgvector,
           current_setting('server_encoding') AS encoding
"""


@dataclass(frozen=True)
class Versions:
    """``postgres`` is the major version; ``pgvector`` is ``None`` where the extension is not created."""

    postgres: int
    postgres_text: str
    pgvector: str | None
    encoding: str = "UTF8"


async def read_versions(connection: asyncpg.Connection) -> Versions:
    row = await connection.fetchrow(_VERSIONS)
    assert row is not None
    return Versions(**row)


def require_supported(versions: Versions) -> None:
    """Raises ``ConfigurationProblem`` for what is too old or holds too few characters, saying what to do."""
    if versions.postgres < MIN_POSTGRES:
        raise ConfigurationProblem(
            f"The database runs PostgreSQL {versions.postgres_text}; Engram needs {MIN_POSTGRES} or newer."
        )
    if versions.encoding != "UTF8":
        raise ConfigurationProblem(
            f"The database is encoded in {versions.encoding}, which cannot hold every text. Make one with: "
            "CREATE DATABASE ... TEMPLATE template0 ENCODING 'UTF8'"
        )
    if versions.pgvector is not None and _numbers(versions.pgvector) < MIN_PGVECTOR:
        raise ConfigurationProblem(
            f"The database has pgvector {versions.pgvector}; Engram needs {_text(MIN_PGVECTOR)} or newer. "
            "Install a newer one on the server and run in this database: ALTER EXTENSION vector UPDATE"
        )


def advice(versions: Versions) -> str | None:
    """What an operator should change although Engram runs; ``None`` if nothing."""
    if versions.pgvector is not None and _numbers(versions.pgvector) < SOUND_PGVECTOR:
        return (
            f"pgvector {versions.pgvector} can corrupt an HNSW index during VACUUM. "
            f"Install {_text(SOUND_PGVECTOR)} or newer on the server, run ALTER EXTENSION vector UPDATE "
            "in this database, and rebuild such indexes with REINDEX."
        )
    return None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def _text(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
