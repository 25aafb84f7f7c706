"""The database: whether it answers, its versions, its revision, and what it says of its memories."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import asyncpg
from sqlalchemy.ext.asyncio import AsyncConnection

from engram.cli.doctor.findings import Finding, fail, ok, warn
from engram.cli.doctor.rights import Rights, no_member, no_owner, no_roles, read_rights
from engram.db.compatibility import MIN_PGVECTOR, Versions, advice, read_versions, require_supported
from engram.db.database import Database, driver
from engram.db.dsn import parse_dsn
from engram.db.identity import Identity, read_identity
from engram.db.revisions import current_revision, head_revision
from engram.embeddings.repository import EmbeddingModelRepository
from engram.memories.pending import PendingRepository
from engram.problems import ConfigurationProblem, Problem
from engram.server.workers.connections import check_connections
from engram.settings import Settings
from engram.tenants.repository import KeyCounts, KeyRepository, PresentedKeys

_SECONDS = 3.0
_AVAILABLE = """
    SELECT version, (r.rolsuper OR trusted AND has_database_privilege(current_database(), 'CREATE')) AS may_create
    FROM pg_available_extension_versions v
    JOIN pg_available_extensions e ON e.name = v.name AND e.default_version = v.version
    JOIN pg_roles r ON r.rolname = current_user
    WHERE v.name = 'vector'
"""


@dataclass(slots=True)
class Contents:
    """What a database holds: embedding models as (provider, name, dimension), memories, keys, and what waits for links;
    and which one it is. None is not known."""

    models: list[tuple[str, str, int]] = field(default_factory=list)
    has_memories: bool | None = None
    pending: int | None = None
    has_keys: bool | None = None
    keys: KeyCounts | None = None
    identity: Identity | None = None


def hasty(settings: Settings) -> Settings:
    """Settings for a look: nobody waits long for a diagnosis."""
    return settings.model_copy(update={"connect_timeout": _SECONDS, "statement_timeout": _SECONDS, "pool_size": 1})


async def examine_database(url: str, settings: Settings) -> tuple[list[Finding], Contents]:
    """Look at a database in one read-only transaction. Its URL is shown without the password."""
    contents = Contents()
    named = settings.owner_database_url is not None
    try:
        shown = str(parse_dsn(url))
        database = await Database.connect(url, hasty(settings))
    except Problem as problem:
        variable = "ENGRAM_OWNER_DATABASE_URL" if named else "ENGRAM_DATABASE_URL"
        return [fail("Database", problem.detail, f"Start it, or correct {variable}")], contents
    # The embedded one was shown already; where its socket is helps nobody.
    findings = [ok("Database", shown)] if settings.database_url is not None else []
    try:
        async with database.snapshot() as connection:
            contents.identity = await read_identity(driver(connection))
            rights = await read_rights(driver(connection))
            findings += await _versions(connection, rights)
            findings += await _revision(connection, contents, rights)
            findings += _of_login(rights, named=named)
            findings += await _workers(connection, settings)
    except Problem as problem:
        findings.append(fail("Database", problem.detail))
    except asyncpg.InsufficientPrivilegeError as error:
        findings.append(fail("Database", f"This login may not see what is in it: {error}"))
    finally:
        await database.close()
    return findings, contents


async def _workers(connection: AsyncConnection, settings: Settings) -> list[Finding]:
    if settings.workers == 1:
        return []
    try:
        await check_connections(connection, settings)
    except ConfigurationProblem as problem:
        return [fail("Workers", problem.detail)]
    return [ok("Workers", f"{settings.workers}, and as many connections as they need")]


def _of_login(rights: Rights, *, named: bool) -> list[Finding]:
    """Of the one login that there is, or of the owner's where it is ``named`` beside the one that serves."""
    # Until the first migration ends there is nothing to serve, and whoever runs it becomes a member.
    serving = no_member(rights) if not named and rights.sees_keys is not None else None
    return [finding for finding in (serving, no_owner(rights, named=named), no_roles(rights)) if finding is not None]


async def _versions(connection: AsyncConnection, rights: Rights) -> list[Finding]:
    versions = await read_versions(driver(connection))
    try:
        require_supported(versions)
    except ConfigurationProblem as problem:
        return [fail("Versions", problem.detail)]
    postgres = ok("Postgres", versions.postgres_text)
    return [postgres, await _pgvector(connection, versions, rights)]


async def _pgvector(connection: AsyncConnection, versions: Versions, rights: Rights) -> Finding:
    if versions.pgvector is None:
        available = await driver(connection).fetchrow(_AVAILABLE)
        if available is None:
            needed = ".".join(map(str, MIN_PGVECTOR))
            return fail("pgvector", "not installed on the server", f"Install pgvector {needed} or newer there")
        version = available["version"]
        if not available["may_create"]:
            forbidden = f"{version} is available, but the login {rights.login} may not create it"
            return fail("pgvector", forbidden, "In this database, a superuser runs CREATE EXTENSION vector")
        return ok("pgvector", f"{version} is available: engram migrate creates it")
    hint = advice(versions)
    return warn("pgvector", hint) if hint is not None else ok("pgvector", versions.pgvector)


async def _revision(connection: AsyncConnection, contents: Contents, rights: Rights) -> list[Finding]:
    head = await asyncio.to_thread(head_revision)
    if rights.sees_revision is False:
        return [warn("Revision", f"not known: the login {rights.login} may not see it")]
    try:
        current = await current_revision(driver(connection))
    except ConfigurationProblem as problem:
        return [fail("Revision", problem.detail)]
    if rights.sees_keys is None:
        # Older than keys.
        contents.has_keys = False
    elif rights.sees_keys:
        contents.has_keys = await PresentedKeys(connection).any_exist()
    if current is None:
        return [warn("Revision", "never migrated", "engram migrate, or engram serve, which does it too")]
    if current != head:
        return [warn("Revision", f"{current}, the newest is {head}", "engram migrate")]
    if rights.sees_keys:
        await _read(connection, contents, rights)
    return [ok("Revision", f"{current}, the newest")]


async def _read(connection: AsyncConnection, contents: Contents, rights: Rights) -> None:
    models = EmbeddingModelRepository(connection)
    contents.models = [(provider, name, dimension) for _, provider, name, dimension in await models.all()]
    if rights.owns:
        contents.has_memories = await models.in_use()
        contents.keys = await KeyRepository(connection).counts()
    contents.pending = await PendingRepository(connection).count()
