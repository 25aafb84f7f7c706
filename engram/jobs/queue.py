"""The queue: PgQueuer on tables of our names. It belongs to the server, and holds tickets: whose job, and which.

No request reads or writes it. Who asks for a job writes its record in a transaction of the tenant, and hands the ticket
in after the commit; where that fails, recovery finds a record without a ticket. A ticket handed in twice is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import asyncpg
from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver
from pgqueuer.adapters.persistence.qb import QueryBuilderEnvironment, QueryQueueBuilder, QuerySchedulerBuilder
from pgqueuer.adapters.persistence.queries import Queries
from pgqueuer.domain.settings import DBSettings, Durability
from pgqueuer.domain.types import Channel
from pgqueuer.ports.driver import Driver
from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.jobs.rows import Ticket

CHANNEL = Channel("job_queue")

# Constructed without its environment: a variable QUEUE_TABLE is somebody else's.
NAMES = DBSettings.model_construct(
    prefix="",
    db_schema=None,
    channel=CHANNEL,
    function="job_queue_changed",
    statistics_table="job_queue_statistics",
    queue_status_type="job_queue_status",
    queue_table="job_queue",
    queue_table_log="job_queue_log",
    trigger="job_queue_changed",
    schedules_table="job_queue_schedules",
    durability=Durability.durable,
    widen_id=True,
)


class Payload(BaseModel):
    """All that the queue knows of a job."""

    tenant_id: UUID
    job_id: UUID


def queries(driver: Driver) -> Queries:
    return Queries(
        driver,
        qbe=QueryBuilderEnvironment(NAMES),
        qbq=QueryQueueBuilder(NAMES),
        qbs=QuerySchedulerBuilder(NAMES),
    )


class QueueRepository:
    """SQL of the queue, as the server itself: no tenant is set, and no role."""

    def __init__(self, connection: AsyncConnection | asyncpg.Connection) -> None:
        self._driver = connection if isinstance(connection, asyncpg.Connection) else driver(connection)

    async def put(self, tickets: Sequence[Ticket]) -> None:
        """Hand in tickets, for now. Those that are there already stay as they are."""
        await queries(AsyncpgDriver(self._driver)).enqueue(
            [ticket.kind.value for ticket in tickets],
            [Payload(tenant_id=ticket.tenant_id, job_id=ticket.id).model_dump_json().encode() for ticket in tickets],
            [0] * len(tickets),
            dedupe_key=[str(ticket.id) for ticket in tickets],
            on_conflict="skip",
        )

    async def forget_log(self, before: datetime, limit: int) -> int:
        """Remove what the queue noted before; how many notes."""
        done: str = await self._driver.execute(
            "DELETE FROM job_queue_log WHERE id IN (SELECT id FROM job_queue_log WHERE created < $1 LIMIT $2)",
            before,
            limit,
        )
        return int(done.removeprefix("DELETE "))
