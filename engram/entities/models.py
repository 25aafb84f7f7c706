"""Tables of entities: what memories name, how it was spelt, and which memory names it."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import (
    Boolean,
    DateTime,
    ForeignKeyConstraint,
    Index,
    Text,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from engram.db.base import Base


class EntityRow(Base):
    __tablename__ = "entities"
    __table_args__ = (
        UniqueConstraint("agent_id", "name"),
        ForeignKeyConstraint(["tenant_id", "agent_id"], ["agents.tenant_id", "agents.id"], ondelete="CASCADE"),
        # Recognition looks names up by their first two words.
        Index("entities_opening_idx", "agent_id", "opening"),
    )

    agent_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    tenant_id: Mapped[UUID]
    name: Mapped[str] = mapped_column(Text)
    display_name: Mapped[str] = mapped_column(Text)
    opening: Mapped[str] = mapped_column(Text(collation="C"))
    # When earlier memories were searched for the name; null: that is still owed.
    swept_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.now())


class EntityAliasRow(Base):
    """A spelling under which an entity was declared."""

    __tablename__ = "entity_aliases"
    __table_args__ = (
        ForeignKeyConstraint(["agent_id", "entity_id"], ["entities.agent_id", "entities.id"], ondelete="CASCADE"),
    )

    agent_id: Mapped[UUID] = mapped_column(primary_key=True)
    entity_id: Mapped[UUID] = mapped_column(primary_key=True)
    alias: Mapped[str] = mapped_column(Text, primary_key=True)
    tenant_id: Mapped[UUID]


class MentionRow(Base):
    """A memory names an entity: it is about it (`is_subject`), or mentions it."""

    __tablename__ = "mentions"
    __table_args__ = (
        ForeignKeyConstraint(["agent_id", "entity_id"], ["entities.agent_id", "entities.id"], ondelete="CASCADE"),
        ForeignKeyConstraint(["agent_id", "memory_id"], ["memories.agent_id", "memories.id"], ondelete="CASCADE"),
        Index(
            "mentions_memory_idx",
            "memory_id",
            "agent_id",
            postgresql_include=["entity_id", "is_subject", "recognized", "tenant_id"],
        ),
        Index(
            "mentions_subject_idx",
            "agent_id",
            "entity_id",
            "memory_id",
            postgresql_include=["tenant_id"],
            postgresql_where=text("is_subject"),
        ),
    )

    agent_id: Mapped[UUID] = mapped_column(primary_key=True)
    entity_id: Mapped[UUID] = mapped_column(primary_key=True)
    memory_id: Mapped[UUID] = mapped_column(primary_key=True)
    tenant_id: Mapped[UUID]
    is_subject: Mapped[bool] = mapped_column(Boolean)
    recognized: Mapped[bool] = mapped_column(Boolean)
