"""``engram worker``."""

from __future__ import annotations

from engram.cli.configuration import load_settings
from engram.cli.options import DataDirOption


def worker(data_dir: DataDirOption = None) -> None:
    """Do jobs, and serve no requests: beside servers that were told not to, or to help one."""
    settings = load_settings(data_dir=data_dir)
    # A worker loads a database and an embedder, which no other command should wait for.
    from engram.server.work import work  # noqa: PLC0415

    work(settings)
