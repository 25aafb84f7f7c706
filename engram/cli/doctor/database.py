"""The database: whether it answers, its versions, its revision, and what it says of its memories."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.cli.doctor.findings import Finding, fail, ok, warn
from engram.db.compatibility import MIN_PGVECTOR, Versions, advice, read_versions, require_supported
from engram.db.database import Database, driver
from engram.db.dsn import parse_dsn
from engram.db.revisions import current_revision, head_revision
from engram.embeddings.repository import EmbeddingModelRepository
from engram.memories.pending import PendingRepository
from engram.problems import ConfigurationProblem, Problem
from engram.settings import Settings
from engram.tenants.repository import KeyCounts, KeyRepository, PresentedKeys

_SECONDS = 3.0
_AVAILABLE = "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'"


@dataclass(slots=True)
class Contents:
    """What a migrated database holds: embedding models as (provider, name, dimension), keys, and what waits for links.
    None is not known."""

    models: list[tuple[str, str, int]] = field(default_factory=list)
    has_memories: bool = False
    pending: int | None = None
    has_keys: bool | None = None
    keys: KeyCounts | None = None


async def examine_database(url: str, settings: Settings) -> tuple[list[Finding], Contents]:
    """Look at a database in one read-only transaction. Its URL is shown without the password."""
    hasty = settings.model_copy(update={"connect_timeout": _SECONDS, "statement_timeout": _SECONDS, "pool_size": 1})
    contents = Contents()
    try:
        shown = str(parse_dsn(url))
        database = await Database.connect(url, hasty)
    except Problem as problem:
        return [fail("Database", problem.detail, "Start it, or correct ENGRAM_DATABASE_URL")], contents
    # The embedded one was shown already; where its socket is helps nobody.
    findings = [ok("Database", shown)] if settings.database_url is not None else []
    try:
        async with database.snapshot() as connection:
            findings += await _versions(connection)
            findings.append(await _revision(connection, contents))
    except Problem as problem:
        findings.append(fail("Database", problem.detail))
    finally:
        await database.close()
    return findings, contents


async def _versions(connection: AsyncConnection) -> list[Finding]:
    versions = await read_versions(driver(connection))
    try:
        require_supported(versions)
    except ConfigurationProblem as problem:
        return [fail("Versions", problem.detail)]
    postgres = ok("Postgres", versions.postgres_text)
    return [postgres, await _pgvector(connection, versions)]


async def _pgvector(connection: AsyncConnection, versions: Versions) -> Finding:
    if versions.pgvector is None:
        available = await driver(connection).fetchval(_AVAILABLE)
        if available is None:
            needed = ".".join(map(str, MIN_PGVECTOR))
            return fail("pgvector", "not installed on the server", f"Install pgvector {needed} or newer there")
        return ok("pgvector", f"{available} is available: engram migrate creates it")
    hint = advice(versions)
    return warn("pgvector", hint) if hint is not None else ok("pgvector", versions.pgvector)


async def _revision(connection: AsyncConnection, contents: Contents) -> Finding:
    head = await asyncio.to_thread(head_revision)
    try:
        current = await current_revision(driver(connection))
    except ConfigurationProblem as problem:
        return fail("Revision", problem.detail)
    if current is None:
        return warn("Revision", "never migrated", "engram migrate, or engram serve, which does it too")
    if current != head:
        return warn("Revision", f"{current}, the newest is {head}", "engram migrate")
    models = EmbeddingModelRepository(connection)
    contents.models = [(provider, name, dimension) for _, provider, name, dimension in await models.all()]
    contents.has_memories = await models.in_use()
    contents.has_keys = await PresentedKeys(connection).any_exist()
    contents.keys = await KeyRepository(connection).counts()
    contents.pending = await PendingRepository(connection).count()
    return ok("Revision", f"{current}, the newest")
