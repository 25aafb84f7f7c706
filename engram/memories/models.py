"""Tables of memories: the rows, their words, and the work that is still owed to them."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    CheckConstraint,
    Computed,
    DateTime,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    Text,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, TSTZMULTIRANGE
from sqlalchemy.orm import Mapped, mapped_column

from engram.db.base import Base
from engram.db.vectors import Vector

WIRE_COLUMNS = (
    "id, agent_id, content, key, user_id, session_id, tags, metadata, source, confidence, valid_from, valid_until,"
    " recorded_at, updated_at, superseded_by, status, version"
)
"""What a memory shows of its row."""

WIRE_BYTES = "octet_length(content) + octet_length(metadata::text) + octet_length(tags::text)"
"""What may be long in that. The length of a text is known without reading it."""


class MemoryRow(Base):
    __tablename__ = "memories"
    __table_args__ = (
        ForeignKeyConstraint(["tenant_id", "agent_id"], ["agents.tenant_id", "agents.id"], ondelete="CASCADE"),
        CheckConstraint("status in ('current', 'superseded', 'deleted')", name="status"),
        CheckConstraint("sensitivity in ('normal', 'high')", name="sensitivity"),
        # What began no later than what supersedes it has held for no time at all.
        CheckConstraint(
            "valid_until is null or valid_until > valid_from"
            " or (superseded_by is not null and valid_until = valid_from)",
            name="window",
        ),
        Index(
            "memories_dedup_idx",
            "agent_id",
            "dedup_hash",
            unique=True,
            postgresql_where=text("dedup_hash is not null and status = 'current'"),
        ),
        # Look-up by id alone (`get_edges(memory_id=...)`), and every page of a list.
        Index("memories_id_idx", "id"),
        # The turn before and the turn after, in a session.
        Index(
            "memories_session_idx",
            "agent_id",
            "session_id",
            "valid_from",
            "id",
            postgresql_where=text("session_id is not null and status <> 'deleted'"),
            postgresql_include=["status", "valid_until", "tenant_id"],
        ),
        # What a key names now, and its order through time.
        Index(
            "memories_slot_idx",
            "agent_id",
            "slot_hash",
            unique=True,
            postgresql_where=text("slot_hash is not null and status = 'current'"),
        ),
        Index(
            "memories_slot_order_idx",
            "agent_id",
            "slot_hash",
            "valid_from",
            postgresql_where=text("slot_hash is not null"),
        ),
        Index("memories_key_idx", "agent_id", "key", "id", postgresql_where=text("key is not null")),
        Index(
            "memories_successor_idx", "superseded_by", "agent_id", postgresql_where=text("superseded_by is not null")
        ),
        # Pages of lists: what a user has, what began or held in a time, what was changed since. Those by time have
        # every memory, but serve only who asks for a confidence of 0 or more: they would tempt others.
        Index("memories_user_idx", "agent_id", "user_id", "id", postgresql_where=text("user_id is not null")),
        Index("memories_begun_idx", "agent_id", "valid_from", postgresql_where=text("confidence >= 0")),
        Index("memories_earlier_idx", "agent_id", postgresql_where=text("earlier is not null")),
        Index("memories_changed_idx", "agent_id", "updated_at", postgresql_where=text("confidence >= 0")),
        # What may not be restored any more, over all agents.
        Index("memories_deleted_idx", "deleted_at", postgresql_where=text("status = 'deleted'")),
    )

    agent_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    tenant_id: Mapped[UUID]
    status: Mapped[str] = mapped_column(Text, server_default=text("'current'"))
    user_id: Mapped[str | None] = mapped_column(Text)
    session_id: Mapped[str | None] = mapped_column(Text)
    valid_from: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    valid_until: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    recorded_at: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    updated_at: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    deleted_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    superseded_by: Mapped[UUID | None]
    # Counts what was changed, from 1; the state that it numbers has stood since ``updated_at``.
    version: Mapped[int] = mapped_column(Integer, server_default=text("1"))
    # The end that its writer gave. A supersession cuts it short, and a restoration brings it back.
    stated_until: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    # Periods before the last in which it held too: it was superseded, and restored.
    earlier: Mapped[Any | None] = mapped_column(TSTZMULTIRANGE)
    # In the order of code points, so that keys that begin alike are neighbours.
    key: Mapped[str | None] = mapped_column(Text(collation="C"))
    # The key in its partition of user and session.
    slot_hash: Mapped[bytes | None] = mapped_column(LargeBinary)
    source: Mapped[str | None] = mapped_column(Text)
    confidence: Mapped[float] = mapped_column(Double)
    tags: Mapped[list[str]] = mapped_column(ARRAY(Text))
    # "metadata" is taken by SQLAlchemy's declarative base.
    extra: Mapped[dict[str, Any]] = mapped_column("metadata", JSONB)
    # What the writer declared. Mentions are projected from it, and can be projected again.
    declared_entities: Mapped[list[dict[str, str]]] = mapped_column(JSONB, server_default=text("'[]'::jsonb"))
    # Facts are stated from these, and can be stated again.
    declared_relations: Mapped[list[dict[str, Any]]] = mapped_column(JSONB, server_default=text("'[]'::jsonb"))
    # Numbers follow from these, and can follow again.
    declared_quantities: Mapped[list[dict[str, Any]]] = mapped_column(JSONB, server_default=text("'[]'::jsonb"))
    # Of what is high, nothing is made of the text but what finds it; of what is withheld, which came so in a batch,
    # nothing of what it declares either.
    sensitivity: Mapped[str] = mapped_column(Text, server_default=text("'normal'"))
    withheld: Mapped[bool] = mapped_column(server_default=text("false"))
    # When it was restored or said again last: since then its relations hold, or since their own later start.
    stated_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    # Only of what is current, and has not ended, is there one: that alone can be a twin. A key's value has none.
    dedup_hash: Mapped[bytes | None] = mapped_column(LargeBinary)
    chunks: Mapped[int] = mapped_column(Integer, server_default=text("1"))
    embedding_model_id: Mapped[int] = mapped_column(SmallInteger, ForeignKey("embedding_models.id"))
    embedding: Mapped[Any] = mapped_column(Vector())
    content: Mapped[str] = mapped_column(Text)
    # Whether a question mark stands in it: what is said next is likely the answer.
    asks: Mapped[bool] = mapped_column(
        Computed(
            "position('?' in content) > 0 OR position('？' in content) > 0 OR position('؟' in content) > 0",
            persisted=True,
        )
    )


class MemoryTermRow(Base):
    """The inverted index that BM25 reads: how often a stem stands in a memory, and how long that memory is.

    Narrow, and read by index-only scans. No foreign key: it is derived, written in the memory's own transaction and
    removed with it, and a check per posting would cost more than the posting.
    """

    __tablename__ = "memory_terms"
    __table_args__ = (Index("memory_terms_memory_idx", "memory_id", "agent_id"),)

    agent_id: Mapped[UUID] = mapped_column(primary_key=True)
    term: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    memory_id: Mapped[UUID] = mapped_column(primary_key=True)
    tenant_id: Mapped[UUID]
    frequency: Mapped[int] = mapped_column(SmallInteger)
    length: Mapped[int] = mapped_column(Integer)


class MemoryLexemesRow(Base):
    """The same of one memory in a row: its candidates are found by postings, and scored by this.

    No foreign key, as for terms: it is written and removed with the memory.
    """

    __tablename__ = "memory_lexemes"

    agent_id: Mapped[UUID] = mapped_column(primary_key=True)
    memory_id: Mapped[UUID] = mapped_column(primary_key=True)
    tenant_id: Mapped[UUID]
    length: Mapped[int] = mapped_column(Integer)
    lexemes: Mapped[bytes] = mapped_column(LargeBinary)


class MemoryPassageRow(Base):
    """A passage of a longer memory: only its vector, which a query may be nearer to than to the whole.

    No foreign key, as for terms: it is written and removed with the memory.
    """

    __tablename__ = "memory_passages"
    __table_args__ = (Index("memory_passages_memory_idx", "memory_id", "agent_id"),)

    agent_id: Mapped[UUID] = mapped_column(primary_key=True)
    memory_id: Mapped[UUID] = mapped_column(primary_key=True)
    position: Mapped[int] = mapped_column(SmallInteger, primary_key=True)
    tenant_id: Mapped[UUID]
    embedding_model_id: Mapped[int] = mapped_column(SmallInteger, ForeignKey("embedding_models.id"))
    embedding: Mapped[Any] = mapped_column(Vector())


class PendingProjectionRow(Base):
    """Work owed to a version of a memory that stands already. Written with it, removed when the work is done.

    ``job_id`` is the job that has taken it over: then it is due no more, and tried when the job is.

    No foreign key: it is claimed across agents, and stays a local table where the others are distributed.
    """

    __tablename__ = "pending_projections"
    __table_args__ = (
        Index("pending_projections_due_idx", "next_attempt_at"),
        Index("pending_projections_job_idx", "agent_id", "job_id", postgresql_where=text("job_id IS NOT NULL")),
    )

    agent_id: Mapped[UUID] = mapped_column(primary_key=True)
    memory_id: Mapped[UUID] = mapped_column(primary_key=True)
    projection: Mapped[str] = mapped_column(Text, primary_key=True)
    tenant_id: Mapped[UUID]
    attempts: Mapped[int] = mapped_column(Integer, server_default=text("0"))
    error: Mapped[str | None] = mapped_column(Text)
    recorded_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.now())
    next_attempt_at: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    version: Mapped[int] = mapped_column(Integer, server_default=text("1"))
    job_id: Mapped[UUID | None]
