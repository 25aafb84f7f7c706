"""``engram migrate``."""

from __future__ import annotations

import asyncio
import getpass
from typing import Annotated

import typer

from engram.cli.configuration import load_settings
from engram.cli.errors import CommandError
from engram.cli.logs import quiet_logs
from engram.cli.options import DataDirOption, JsonOption
from engram.cli.output import answers, write_json
from engram.settings import Settings


def migrate(
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
    print_roles: Annotated[
        bool,
        typer.Option("--print-roles", help="Only print what an administrator runs once where this role makes none."),
    ] = False,
) -> None:
    """Bring the database to the newest revision, as serve does when it starts."""
    quiet_logs()
    settings = load_settings(data_dir=data_dir)
    if print_roles:
        _print_roles(settings)
        return
    revision = asyncio.run(_migrated(settings))
    if as_json:
        write_json({"revision": revision})
    else:
        answers().print(f"The database is at revision {revision}, the newest.", markup=False)


def _print_roles(settings: Settings) -> None:
    from engram.db.dsn import parse_dsn  # noqa: PLC0415
    from engram.db.roles import role_statements  # noqa: PLC0415

    url = settings.owner_database_url or settings.database_url
    if url is None:
        raise CommandError("the embedded database makes its roles by itself; this is for ENGRAM_DATABASE_URL")
    for statement in role_statements(parse_dsn(url.get_secret_value()).user or getpass.getuser()):
        typer.echo(statement)


async def _migrated(settings: Settings) -> str:
    # Alembic and SQLAlchemy take a second to load.
    from engram.db.migrate import migrate as upgrade  # noqa: PLC0415
    from engram.db.owner import reachable  # noqa: PLC0415

    async with reachable(settings) as urls:
        return await upgrade(urls.owner, settings)
