"""Tables of what memories were before, and of the slots that keys name."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    CheckConstraint,
    DateTime,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, TSTZMULTIRANGE
from sqlalchemy.orm import Mapped, mapped_column

from engram.db.base import Base
from engram.db.vectors import Vector


class MemoryVersionRow(Base):
    """What a memory was from ``recorded_from`` until it was changed, at ``recorded_until``; ``ended_by`` says how.

    No foreign key to the memory, as for terms: it is written and erased with it.
    """

    __tablename__ = "memory_versions"
    __table_args__ = (
        CheckConstraint("recorded_until > recorded_from", name="known"),
        CheckConstraint("sensitivity in ('normal', 'high')", name="sensitivity"),
        # What was known at an instant, of all that an agent held.
        Index("memory_versions_known_idx", "agent_id", "recorded_until", "recorded_from"),
        Index("memory_versions_memory_idx", "memory_id", "agent_id"),
        Index(
            "memory_versions_session_idx",
            "agent_id",
            "session_id",
            "valid_from",
            "memory_id",
            postgresql_where=text("session_id is not null and status <> 'deleted'"),
        ),
    )

    agent_id: Mapped[UUID] = mapped_column(primary_key=True)
    memory_id: Mapped[UUID] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(Integer, primary_key=True)
    tenant_id: Mapped[UUID]
    recorded_from: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    recorded_until: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    ended_by: Mapped[str] = mapped_column(Text)
    status: Mapped[str] = mapped_column(Text)
    user_id: Mapped[str | None] = mapped_column(Text)
    session_id: Mapped[str | None] = mapped_column(Text)
    key: Mapped[str | None] = mapped_column(Text(collation="C"))
    slot_hash: Mapped[bytes | None] = mapped_column(LargeBinary)
    valid_from: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    valid_until: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    stated_until: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    earlier: Mapped[Any | None] = mapped_column(TSTZMULTIRANGE)
    recorded_at: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    deleted_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    superseded_by: Mapped[UUID | None]
    source: Mapped[str | None] = mapped_column(Text)
    confidence: Mapped[float] = mapped_column(Double)
    tags: Mapped[list[str]] = mapped_column(ARRAY(Text))
    extra: Mapped[dict[str, Any]] = mapped_column("metadata", JSONB)
    declared_entities: Mapped[list[dict[str, str]]] = mapped_column(JSONB)
    declared_relations: Mapped[list[dict[str, Any]]] = mapped_column(JSONB, server_default=text("'[]'::jsonb"))
    declared_quantities: Mapped[list[dict[str, Any]]] = mapped_column(JSONB, server_default=text("'[]'::jsonb"))
    sensitivity: Mapped[str] = mapped_column(Text, server_default=text("'normal'"))
    withheld: Mapped[bool] = mapped_column(server_default=text("false"))
    chunks: Mapped[int] = mapped_column(Integer)
    asks: Mapped[bool]
    # Of the words in ``lexemes``, as in ``memory_lexemes``.
    length: Mapped[int] = mapped_column(Integer)
    embedding_model_id: Mapped[int] = mapped_column(SmallInteger, ForeignKey("embedding_models.id"))
    embedding: Mapped[Any] = mapped_column(Vector())
    content: Mapped[str] = mapped_column(Text)
    lexemes: Mapped[bytes] = mapped_column(LargeBinary)


class MemorySlotRow(Base):
    """A key in its partition, to be locked by whoever writes to it: one after the other, also to an empty one."""

    __tablename__ = "memory_slots"
    __table_args__ = (
        ForeignKeyConstraint(["tenant_id", "agent_id"], ["agents.tenant_id", "agents.id"], ondelete="CASCADE"),
    )

    agent_id: Mapped[UUID] = mapped_column(primary_key=True)
    slot_hash: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)
    tenant_id: Mapped[UUID]
