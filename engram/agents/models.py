"""Tables of agents: one row per memory space, and its running counts."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    DateTime,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    SmallInteger,
    Text,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from engram.db.base import Base


class AgentRow(Base):
    __tablename__ = "agents"
    __table_args__ = (
        UniqueConstraint("tenant_id", "name"),
        UniqueConstraint("tenant_id", "id"),
        Index("agents_importing_idx", "updated_at", postgresql_where=text("importing")),
        CheckConstraint("hop_penalty >= 0 and hop_penalty < 1", name="hop_penalty"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    tenant_id: Mapped[UUID] = mapped_column(ForeignKey("tenants.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(Text)
    language: Mapped[str] = mapped_column(Text)
    # "metadata" is taken by SQLAlchemy's declarative base.
    extra: Mapped[dict[str, Any]] = mapped_column("metadata", JSONB, server_default=text("'{}'::jsonb"))
    # Of the relations for which the server's multiplier is not the agent's; no hop penalty: the server's.
    decay_multipliers: Mapped[dict[str, float]] = mapped_column(JSONB, server_default=text("'{}'::jsonb"))
    hop_penalty: Mapped[float | None] = mapped_column(Double)
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.now())
    updated_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.now())
    # Nobody sees it before all of it is there; until then updated_at says when its import last went on.
    importing: Mapped[bool] = mapped_column(Boolean, server_default=text("false"))


class AgentCounterRow(Base):
    """Running sums that a recall needs (memories, terms in all, passages), spread over shards.

    One row would make all writers of an agent queue for its lock; each write takes a shard by chance instead,
    and a reader adds the shards up.
    """

    __tablename__ = "agent_counters"
    __table_args__ = (
        ForeignKeyConstraint(["tenant_id", "agent_id"], ["agents.tenant_id", "agents.id"], ondelete="CASCADE"),
    )

    agent_id: Mapped[UUID] = mapped_column(primary_key=True)
    shard: Mapped[int] = mapped_column(SmallInteger, primary_key=True)
    tenant_id: Mapped[UUID]
    memories: Mapped[int] = mapped_column(BigInteger)
    terms: Mapped[int] = mapped_column(BigInteger)
    passages: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))
