"""The migrations that this version of Engram knows, and where a database stands among them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import asyncpg
from alembic.config import Config
from alembic.script import ScriptDirectory

from engram.problems import ConfigurationProblem

_PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True)
class RevisionStatus:
    """``current`` is ``None`` in a database that was never migrated."""

    current: str | None
    head: str

    @property
    def up_to_date(self) -> bool:
        return self.current == self.head


def alembic_config() -> Config:
    """Alembic's configuration, without a file: the folder of migrations and nothing else."""
    # In a wheel they are package data, in a clone they stand beside the package.
    folders = (_PACKAGE / "_alembic", _PACKAGE.parent / "alembic")
    for folder in folders:
        if (folder / "env.py").exists():
            config = Config()
            config.set_main_option("script_location", str(folder).replace("%", "%%"))
            return config
    raise ConfigurationProblem("This installation of Engram is incomplete: its migrations are missing.")


class Known(NamedTuple):
    head: str
    revisions: frozenset[str]


@cache
def known() -> Known:
    """What this version of Engram knows. Reads files, once."""
    scripts = ScriptDirectory.from_config(alembic_config())
    head = scripts.get_current_head()
    assert head is not None
    return Known(head, frozenset(script.revision for script in scripts.walk_revisions()))


def head_revision() -> str:
    return known().head


async def current_revision(connection: asyncpg.Connection) -> str | None:
    """The revision of a database. Raises ``ConfigurationProblem`` for one that this version does not know."""
    if await connection.fetchval("SELECT to_regclass('alembic_version')") is None:
        return None
    found = [row["version_num"] for row in await connection.fetch("SELECT version_num FROM alembic_version")]
    unknown = sorted(set(found) - known().revisions)
    if unknown:
        raise ConfigurationProblem(
            f"The database is at revision {', '.join(unknown)}, which this version of Engram does not know; "
            f"its newest is {head_revision()}. A newer version has migrated the database: upgrade Engram."
        )
    if len(found) > 1:
        raise ConfigurationProblem(
            f"The database is at several revisions at once ({', '.join(sorted(found))}); restore a backup."
        )
    return found[0] if found else None
