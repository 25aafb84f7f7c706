"""What is asked of pairs and observations while a test walks over them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.entities.graph.repository import EntityGraphRepository


@dataclass
class Heard:
    statements: list[tuple[str, Sequence[Any]]] = field(default_factory=list)

    async def taken(self) -> list[tuple[str, Sequence[Any]]]:
        """Statements since the last time, with their values. They are told of in the loop's next turn."""
        await asyncio.sleep(0)
        taken, self.statements = self.statements, []
        return taken

    def hear(self, record: Any) -> None:
        if "front AS MATERIALIZED" in record.query:
            self.statements.append((record.query, record.args))


def listening(patch: pytest.MonkeyPatch) -> Heard:
    """Hear all statements of walks from now on, on whatever connection."""
    heard, known = Heard(), set[int]()
    made = EntityGraphRepository.__init__

    def make(self: EntityGraphRepository, connection: AsyncConnection, *arguments: Any) -> None:
        made(self, connection, *arguments)
        if id(driver(connection)) not in known:
            known.add(id(driver(connection)))
            driver(connection).add_query_logger(heard.hear)

    patch.setattr(EntityGraphRepository, "__init__", make)
    return heard
