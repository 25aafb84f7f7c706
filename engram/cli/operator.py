"""Commands that work on the server's own database, as its owner: for tenants and keys."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from engram.cli.configuration import load_settings
from engram.cli.logs import quiet_logs
from engram.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from engram.tenants.service import OperatorService

T = TypeVar("T")


def as_operator(work: Callable[[OperatorService], Awaitable[T]], data_dir: Path | None) -> T:
    """What ``work`` gives, on the configured database: the embedded one too, whether a server runs on it or not."""
    quiet_logs()
    return asyncio.run(_work(work, load_settings(data_dir=data_dir)))


async def _work(work: Callable[[OperatorService], Awaitable[T]], settings: Settings) -> T:
    # Alembic and SQLAlchemy take a second to load.
    from engram.db.owner import opened_by_operator, reachable  # noqa: PLC0415
    from engram.tenants.service import OperatorService  # noqa: PLC0415

    async with reachable(settings) as urls, opened_by_operator(urls, settings) as owner:
        return await work(OperatorService(owner))
