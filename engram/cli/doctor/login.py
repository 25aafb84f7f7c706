"""The login that serves, where the owner of the tables is another: whether it can connect, and to the same database."""

from __future__ import annotations

from engram.cli.doctor.database import hasty
from engram.cli.doctor.findings import Finding, fail, ok
from engram.cli.doctor.rights import no_member, read_rights
from engram.db.database import Database, driver
from engram.db.dsn import parse_dsn
from engram.db.identity import Identity, read_identity
from engram.db.roles import SERVER_ROLE
from engram.problems import Problem
from engram.settings import Settings


async def examine_login(settings: Settings, of_owner: Identity | None) -> list[Finding]:
    """What is to be said of the login of ENGRAM_DATABASE_URL beside the one of ENGRAM_OWNER_DATABASE_URL.

    ``of_owner`` is the database that the owner sees; None where it could not connect.
    """
    if settings.database_url is None or settings.owner_database_url is None:
        return []
    url = settings.database_url.get_secret_value()
    try:
        database = await Database.connect(url, hasty(settings))
    except Problem as problem:
        return [fail("Login", problem.detail, "Correct ENGRAM_DATABASE_URL")]
    try:
        async with database.snapshot() as connection:
            here = await read_identity(driver(connection))
            rights = await read_rights(driver(connection))
    except Problem as problem:
        return [fail("Login", problem.detail)]
    finally:
        await database.close()
    if of_owner is not None and here.is_another_than(of_owner):
        owner_url = settings.owner_database_url.get_secret_value()
        another = (
            f"ENGRAM_OWNER_DATABASE_URL is of another database ({parse_dsn(owner_url)}) "
            f"than ENGRAM_DATABASE_URL ({parse_dsn(url)})"
        )
        return [fail("Login", another, "Correct one of them")]
    return [no_member(rights) or ok("Login", f"{rights.login} serves, a member of {SERVER_ROLE}")]
