"""Table of entities' vectors."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import DateTime, ForeignKey, ForeignKeyConstraint, Index, Integer, LargeBinary, SmallInteger, Text, Uuid
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from engram.db.base import Base
from engram.db.vectors import Vector


class EntityVectorRow(Base):
    """The embedding of an entity's name with what memories of one user say where they name it. Memories without a user
    make one of their own, that of the empty name, which no user has."""

    __tablename__ = "entity_vectors"
    __table_args__ = (
        ForeignKeyConstraint(["agent_id", "entity_id"], ["entities.agent_id", "entities.id"], ondelete="CASCADE"),
        Index("entity_vectors_agent_idx", "agent_id", postgresql_include=["tenant_id"]),
        Index("entity_vectors_memories_idx", "memory_ids", postgresql_using="gin"),
    )

    agent_id: Mapped[UUID] = mapped_column(primary_key=True)
    entity_id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[str] = mapped_column(Text, primary_key=True)
    tenant_id: Mapped[UUID]
    # What it was made of: it goes with any of these.
    memory_ids: Mapped[list[UUID]] = mapped_column(ARRAY(Uuid()))
    # How many memories named the entity then, counted up to a bound.
    mentions: Mapped[int] = mapped_column(Integer)
    # Of the text that was embedded: the same text is not embedded again.
    digest: Mapped[bytes] = mapped_column(LargeBinary)
    updated_at: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    embedding_model_id: Mapped[int] = mapped_column(SmallInteger, ForeignKey("embedding_models.id"))
    embedding: Mapped[Any] = mapped_column(Vector())
