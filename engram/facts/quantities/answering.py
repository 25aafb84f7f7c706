"""Use case: one number from all that memories say of an attribute of an entity."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.entities.graph.names import EntityNames
from engram.entities.graph.walk import Entity
from engram.facts.quantities.checking import check_named_unit
from engram.facts.quantities.computing import Computing, Row, UncomputableError
from engram.facts.quantities.repository import ComputingRepository, Wanted
from engram.facts.quantities.schemas import Computed, ComputedRow, QuantityOp
from engram.problems import InvalidInputProblem
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import Scope

PAGE = 5_000
"""Numbers that are read at once. A computation goes through all there are, and keeps eight bytes of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberQuestion:
    """What is asked: ``begins`` and ``ends`` bound when something was so, ``as_of`` is when memories held."""

    agent_id: str
    entity: str
    attribute: str
    op: QuantityOp
    unit: str | None
    begins: datetime | None
    ends: datetime | None
    as_of: datetime | None


class ComputingService:
    def __init__(self, database: TenantDatabase, names: EntityNames) -> None:
        self._database = database
        self._names = names

    async def compute(self, scope: Scope, question: NumberQuestion) -> Computed:
        """Raises NotFoundProblem for an unknown agent, and InvalidInputProblem for an unknown unit, for numbers whose
        units are nothing to each other, and for a sum or a mean that means nothing."""
        if question.unit is not None:
            await asyncio.to_thread(check_named_unit, question.unit, "unit")
        async with self._database.snapshot(scope) as connection:
            agent_id = UUID(question.agent_id)
            _, (entity,) = await self._names.find(connection, scope, agent_id, [question.entity])
            computing = None
            if entity is not None:
                try:
                    computing = await self._computed(connection, scope, question, entity)
                    value = computing.value() if computing is not None else None
                except UncomputableError as error:
                    raise InvalidInputProblem.of("unit", str(error)) from None
        name = entity.name if entity is not None else question.entity
        if computing is None:
            value = 0.0 if question.op is QuantityOp.count else None
            return _answer(question, name, value)
        return _answer(question, name, value, computing)

    async def _computed(
        self, connection: AsyncConnection, scope: Scope, question: NumberQuestion, entity: Entity
    ) -> Computing | None:
        """None where there is no number."""
        wanted = Wanted(
            agent_id=UUID(question.agent_id),
            entity_ids=entity.ids,
            attribute=question.attribute,
            moment=question.as_of or datetime.now(UTC),
            begins=question.begins,
            ends=question.ends,
        )
        numbers = ComputingRepository(connection, scope, wanted)
        most = 1 if question.op is QuantityOp.latest else PAGE
        rows = await numbers.page(after=None, most=most)
        if not rows:
            return None
        computing = await asyncio.to_thread(_begun, question, rows)
        while question.op is not QuantityOp.latest and len(rows) == most:
            rows = await numbers.page(after=rows[-1], most=most)
            await asyncio.to_thread(computing.add, rows)
        return computing


def _begun(question: NumberQuestion, rows: list[Row]) -> Computing:
    """In the unit that is asked for, or that of the latest row. What is only counted needs none."""
    converts = question.op is not QuantityOp.count or question.unit is not None
    asked = question.unit is not None
    computing = Computing(
        question.op,
        question.unit if asked or not converts else rows[0].unit,
        converts=converts,
        named_by=None if asked else rows[0].memory_id,
    )
    computing.add(rows)
    return computing


def _answer(question: NumberQuestion, name: str, value: float | None, computing: Computing | None = None) -> Computed:
    rows = computing.shown() if computing is not None else []
    return Computed(
        entity=name,
        attribute=question.attribute,
        op=question.op,
        found=computing is not None,
        value=value,
        unit=computing.unit if computing is not None else None,
        count=computing.count if computing is not None else 0,
        rows=[
            ComputedRow(memory_id=str(row.memory_id), value=row.value, unit=row.unit, converted=converted, at=row.at)
            for row, converted in rows
        ],
        truncated=computing is not None and computing.count > len(rows),
    )
