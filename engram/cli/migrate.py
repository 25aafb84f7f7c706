"""``engram migrate``."""

from __future__ import annotations

import asyncio

from engram.cli.configuration import load_settings
from engram.cli.logs import quiet_logs
from engram.cli.options import DataDirOption, JsonOption
from engram.cli.output import answers, write_json
from engram.settings import Settings


def migrate(data_dir: DataDirOption = None, as_json: JsonOption = False) -> None:
    """Bring the database to the newest revision, as serve does when it starts."""
    quiet_logs()
    revision = asyncio.run(_migrated(load_settings(data_dir=data_dir)))
    if as_json:
        write_json({"revision": revision})
    else:
        answers().print(f"The database is at revision {revision}, the newest.", markup=False)


async def _migrated(settings: Settings) -> str:
    # Alembic and SQLAlchemy take a second to load.
    from engram.db.embedded import EmbeddedPostgres  # noqa: PLC0415
    from engram.db.migrate import migrate as upgrade  # noqa: PLC0415

    if settings.database_url is not None:
        return await upgrade(settings.database_url.get_secret_value(), settings)
    postgres = await asyncio.to_thread(EmbeddedPostgres.start, settings.data_dir)
    try:
        return await upgrade(postgres.dsn, settings)
    finally:
        await asyncio.to_thread(postgres.stop)
