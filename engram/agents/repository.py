"""SQL of agents. Scope: every statement names the tenant, but those that add up what an agent holds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from engram.agents.erasure import erase_agent
from engram.agents.models import AgentRow
from engram.agents.schemas import AgentCreate
from engram.db.database import driver
from engram.db.estimates import estimated_rows
from engram.db.parameters import Parameters
from engram.db.portions import portion, shown
from engram.tenants.scope import Scope

_COLUMNS = (
    AgentRow.id,
    AgentRow.name,
    AgentRow.extra.label("metadata"),
    AgentRow.language,
    AgentRow.decay_multipliers,
    AgentRow.hop_penalty,
    AgentRow.created_at,
    AgentRow.updated_at,
)

_ATTRIBUTES = {"metadata": AgentRow.extra.key}
"""Names of a row's attributes, where they are not those of its columns."""


@dataclass(frozen=True, slots=True)
class AgentSizes:
    """Memories in the lexical index and the terms they have in all; what BM25 and the choice of a search need."""

    memories: int
    terms: int
    stored: float
    """Memories of all agents, about."""


class AgentRepository:
    def __init__(self, connection: AsyncConnection, scope: Scope) -> None:
        self._connection = connection
        self._tenant_id = scope.tenant_id
        self._only = scope.agent_id

    def _within(self) -> ColumnElement[bool]:
        """The scope, as a condition: the tenant, and of it one agent where a key is for one. What is being imported is
        no agent yet."""
        mine = and_(AgentRow.tenant_id == self._tenant_id, AgentRow.importing.is_(False))
        return mine if self._only is None else and_(mine, AgentRow.id == self._only)

    def _select(self) -> Select[Any]:
        return select(*_COLUMNS).where(self._within())

    async def insert(self, id: UUID, agent: AgentCreate) -> bool:
        """Whether the agent is new; where the name is taken, nothing changes."""
        values = {_ATTRIBUTES.get(name, name): value for name, value in agent.model_dump(mode="json").items()}
        statement = (
            insert(AgentRow)
            .values(id=id, tenant_id=self._tenant_id, **values)
            .on_conflict_do_nothing(index_elements=[AgentRow.tenant_id, AgentRow.name])
            .returning(AgentRow.id)
        )
        return (await self._connection.execute(statement)).scalar() is not None

    async def by_name(self, name: str) -> dict[str, Any] | None:
        row = (await self._connection.execute(self._select().where(AgentRow.name == name))).mappings().first()
        return dict(row) if row else None

    async def by_id(self, id: UUID) -> dict[str, Any] | None:
        row = (await self._connection.execute(self._select().where(AgentRow.id == id))).mappings().first()
        return dict(row) if row else None

    async def hold(self, id: UUID, *, alone: bool = False) -> bool:
        """Keep an agent from being deleted until the transaction ends, or ``alone`` from being written to by anybody
        else; false where it is gone."""
        held = await driver(self._connection).fetchval(
            f"""
            SELECT true FROM agents
            WHERE id = $1 AND tenant_id = $2 AND ($3::uuid IS NULL OR id = $3) AND NOT importing
            FOR {"UPDATE" if alone else "KEY SHARE"}
            """,
            id,
            self._tenant_id,
            self._only,
        )
        return held is not None

    async def page(self, limit: int, after: str | None) -> tuple[list[dict[str, Any]], bool]:
        """Agents by name, after the given one: a portion of at most ``limit``, and whether there are more."""
        columns = "id, name, metadata, language, decay_multipliers, hop_penalty, created_at, updated_at"
        p = Parameters()
        where = f"tenant_id = {p(self._tenant_id, 'uuid')} AND NOT importing"
        if self._only is not None:
            where += f" AND id = {p(self._only, 'uuid')}"
        if after is not None:
            where += f" AND name > {p(after, 'text')}"
        rows = await driver(self._connection).fetch(
            portion(
                f"SELECT {columns} FROM agents WHERE {where} ORDER BY name LIMIT {p(limit, 'int')} + 1",
                columns=columns,
                size="octet_length(metadata::text)",
                order="name",
                limit=p(limit, "int"),
            ),
            *p.values,
        )
        return shown(rows)

    async def update(self, id: UUID, changes: dict[str, Any], now: datetime) -> bool:
        values = {_ATTRIBUTES.get(name, name): value for name, value in changes.items()}
        statement = update(AgentRow).where(self._within(), AgentRow.id == id).values(**values, updated_at=now)
        return (await self._connection.execute(statement)).rowcount > 0

    async def delete(self, id: UUID) -> str | None:
        """Erase an agent with all that it holds. Its name, or None where there was none."""
        locked = select(AgentRow.name).where(self._within(), AgentRow.id == id)
        name: str | None = (await self._connection.execute(locked.with_for_update())).scalar()
        if name is not None:
            await erase_agent(self._connection, id)
        return name

    async def sizes(self, id: UUID) -> AgentSizes:
        row = await driver(self._connection).fetchrow(
            f"""
            SELECT coalesce(sum(memories), 0)::bigint AS memories, coalesce(sum(terms), 0)::bigint AS terms,
                {estimated_rows("memories")} AS stored
            FROM agent_counters WHERE agent_id = $1
            """,
            id,
        )
        assert row is not None  # aggregates give one row always
        return AgentSizes(**dict(row))
