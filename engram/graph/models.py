"""Table of stored edges. Temporal and entity links are computed from sessions and mentions, not stored."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, DateTime, Double, ForeignKeyConstraint, Index, Text, func, text
from sqlalchemy.dialects.postgresql import TSTZMULTIRANGE
from sqlalchemy.orm import Mapped, mapped_column

from engram.db.base import Base


class EdgeRow(Base):
    """One row per (source, target, type); a relation without direction is stored with the lesser id first."""

    __tablename__ = "edges"
    __table_args__ = (
        CheckConstraint("weight > 0 and weight <= 1", name="weight"),
        CheckConstraint("source_id <> target_id", name="no_loop"),
        CheckConstraint("valid_until > valid_from", name="window"),
        ForeignKeyConstraint(["agent_id", "source_id"], ["memories.agent_id", "memories.id"], ondelete="CASCADE"),
        ForeignKeyConstraint(["agent_id", "target_id"], ["memories.agent_id", "memories.id"], ondelete="CASCADE"),
        # A walk reads the strongest edges of a node, from either end.
        Index(
            "edges_out_idx",
            "source_id",
            "agent_id",
            text("weight desc"),
            "target_id",
            postgresql_where=text("invalidated_at is null"),
        ),
        Index(
            "edges_in_idx",
            "target_id",
            "agent_id",
            text("weight desc"),
            "source_id",
            postgresql_where=text("invalidated_at is null"),
        ),
        # Erasing a memory looks its edges up whatever their state.
        Index("edges_target_idx", "target_id", "agent_id"),
    )

    agent_id: Mapped[UUID] = mapped_column(primary_key=True)
    source_id: Mapped[UUID] = mapped_column(primary_key=True)
    target_id: Mapped[UUID] = mapped_column(primary_key=True)
    relation_type: Mapped[str] = mapped_column(Text, primary_key=True)
    tenant_id: Mapped[UUID]
    weight: Mapped[float] = mapped_column(Double)
    origin: Mapped[str] = mapped_column(Text)
    label: Mapped[str | None] = mapped_column(Text)
    reason: Mapped[str | None] = mapped_column(Text)
    valid_from: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    valid_until: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    recorded_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.now())
    # When a client last changed it; what is linked anew, only stronger, stands as it did.
    updated_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.now())
    # Windows before the last in which it was in force too.
    earlier: Mapped[Any | None] = mapped_column(TSTZMULTIRANGE)
    invalidated_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))


class EdgeVersionRow(Base):
    """What an edge was from ``recorded_from`` until it was changed, at ``recorded_until``.

    No foreign keys: it is written and erased with its memories.
    """

    __tablename__ = "edge_versions"
    __table_args__ = (
        CheckConstraint("recorded_until > recorded_from", name="known"),
        Index("edge_versions_target_idx", "agent_id", "target_id"),
    )

    agent_id: Mapped[UUID] = mapped_column(primary_key=True)
    source_id: Mapped[UUID] = mapped_column(primary_key=True)
    target_id: Mapped[UUID] = mapped_column(primary_key=True)
    relation_type: Mapped[str] = mapped_column(Text, primary_key=True)
    recorded_until: Mapped[datetime] = mapped_column(DateTime(timezone=True), primary_key=True)
    tenant_id: Mapped[UUID]
    recorded_from: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    recorded_at: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    weight: Mapped[float] = mapped_column(Double)
    origin: Mapped[str] = mapped_column(Text)
    label: Mapped[str | None] = mapped_column(Text)
    reason: Mapped[str | None] = mapped_column(Text)
    valid_from: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    valid_until: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    earlier: Mapped[Any | None] = mapped_column(TSTZMULTIRANGE)
    invalidated_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
