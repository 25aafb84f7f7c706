"""The key that all clients use: what is measured is a server that asks for one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engram.db.owner import opened_by_owner, reachable
from engram.settings import Settings
from engram.tenants.roles import Role
from engram.tenants.schemas import KeyCreate
from engram.tenants.service import OperatorService


@dataclass(frozen=True, slots=True)
class Access:
    """Where a server is, and what opens it."""

    url: str
    key: str


async def new_key(data_dir: Path) -> str:
    """An admin's key for the server whose embedded Postgres lives there."""
    settings = Settings(data_dir=data_dir)
    async with reachable(settings) as urls, opened_by_owner(urls, settings) as owner:
        made = await OperatorService(owner).create_key(KeyCreate(role=Role.admin, name="reliability"))
    return made.key
