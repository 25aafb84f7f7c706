"""Table of jobs: what is done beside requests, and what became of it. The queue's own tables are PgQueuer's."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import DateTime, Index, Integer, Text, func, text
from sqlalchemy.orm import Mapped, mapped_column

from engram.db.base import Base

QUEUE_TABLES = ("job_queue", "job_queue_log", "job_queue_schedules", "job_queue_statistics")
"""PgQueuer's tables, under names of ours."""


class JobRow(Base):
    """One piece of work on an agent. It names what is to be worked on, and holds no text of a memory.

    ``done`` and ``total`` are memories; ``reached`` is the memory up to which a rebuilding came, ``last`` the one with
    which it ends. No foreign key: open ones are looked for across tenants, and it goes with its agent.
    """

    __tablename__ = "jobs"
    __table_args__ = (
        Index("jobs_agent_idx", "agent_id", "id"),
        Index(
            "jobs_rebuilding_idx",
            "agent_id",
            unique=True,
            postgresql_where=text("kind = 'rebuild_links' AND status IN ('waiting', 'running')"),
        ),
        Index(
            "jobs_communities_idx",
            "agent_id",
            unique=True,
            postgresql_where=text("kind = 'entity_communities' AND status IN ('waiting', 'running')"),
        ),
        Index("jobs_open_idx", "due_at", postgresql_where=text("status IN ('waiting', 'running')")),
        Index("jobs_done_idx", "finished_at", postgresql_where=text("status = 'done'")),
    )

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    agent_id: Mapped[UUID]
    kind: Mapped[str] = mapped_column(Text)
    projection: Mapped[str | None] = mapped_column(Text)
    status: Mapped[str] = mapped_column(Text)
    attempts: Mapped[int] = mapped_column(Integer, server_default=text("0"))
    error: Mapped[str | None] = mapped_column(Text)
    done: Mapped[int] = mapped_column(Integer, server_default=text("0"))
    total: Mapped[int | None] = mapped_column(Integer)
    reached: Mapped[UUID | None]
    last: Mapped[UUID | None]
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.now())
    due_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.now())
    started_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    finished_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
