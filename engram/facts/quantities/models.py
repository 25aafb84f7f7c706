"""The table of numbers that follow from memories."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import DateTime, Double, ForeignKeyConstraint, Index, Text
from sqlalchemy.orm import Mapped, mapped_column

from engram.db.base import Base


class DerivedFactRow(Base):
    """A number that a memory declares of an entity. Follows from the memory's row alone, and is there as long as the
    memory is not deleted; when it counts is when the memory holds."""

    __tablename__ = "derived_facts"
    __table_args__ = (
        ForeignKeyConstraint(["agent_id", "memory_id"], ["memories.agent_id", "memories.id"], ondelete="CASCADE"),
        ForeignKeyConstraint(["agent_id", "entity_id"], ["entities.agent_id", "entities.id"], ondelete="CASCADE"),
        # What is computed of an entity reads it in the order of time.
        Index("derived_facts_entity_idx", "agent_id", "entity_id", "attribute", "at", "id"),
        Index("derived_facts_memory_idx", "agent_id", "memory_id"),
    )

    agent_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    tenant_id: Mapped[UUID]
    memory_id: Mapped[UUID]
    entity_id: Mapped[UUID]
    attribute: Mapped[str] = mapped_column(Text)
    value: Mapped[float] = mapped_column(Double)
    unit: Mapped[str | None] = mapped_column(Text)
    at: Mapped[datetime] = mapped_column(DateTime(timezone=True))
