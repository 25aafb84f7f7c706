"""Tables of facts, of what was believed of them, and of what finds them."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, DateTime, Double, ForeignKeyConstraint, Index, SmallInteger, Text, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from engram.db.base import Base


def _of_agent() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(["tenant_id", "agent_id"], ["agents.tenant_id", "agents.id"], ondelete="CASCADE")


def _of_fact() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(["agent_id", "fact_id"], ["facts.agent_id", "facts.id"], ondelete="CASCADE")


class FactRow(Base):
    """What is believed of a fact now. Nodes and slot are hashes that hold the user."""

    __tablename__ = "facts"
    __table_args__ = (
        _of_agent(),
        CheckConstraint("status in ('standing', 'deleted', 'undone')", name="status"),
        CheckConstraint("valid_until >= valid_from", name="window"),
        CheckConstraint("provenance in ('extracted', 'inferred', 'facet')", name="provenance"),
        CheckConstraint(
            "memory_id is null or (subject_entity is not null and object_entity is not null"
            " and adapter_name is not null and ordinal is not null and arrived_at is not null)",
            name="statement",
        ),
        ForeignKeyConstraint(["agent_id", "memory_id"], ["memories.agent_id", "memories.id"], ondelete="CASCADE"),
        ForeignKeyConstraint(["agent_id", "subject_entity"], ["entities.agent_id", "entities.id"], ondelete="CASCADE"),
        ForeignKeyConstraint(["agent_id", "object_entity"], ["entities.agent_id", "entities.id"], ondelete="CASCADE"),
        Index("facts_id_idx", "id"),
        # A walk reads what was learnt last of a node, from either end.
        Index("facts_out_idx", "agent_id", "subject_node", text("recorded_at desc"), "id"),
        Index("facts_in_idx", "agent_id", "object_node", text("recorded_at desc"), "id"),
        # What of a slot has not ended by a moment.
        Index("facts_slot_idx", "agent_id", "slot", text("coalesce(valid_until, 'infinity'::timestamptz)")),
        Index("facts_user_idx", "agent_id", "user_id", text("recorded_at desc"), "id"),
        Index("facts_predicate_idx", "agent_id", "user_id", "predicate", text("recorded_at desc"), "id"),
        # What follows from a memory; what is said of an entity, from either end; what one extractor said; and what a
        # change of the ontology settles anew.
        Index("facts_memory_idx", "agent_id", "memory_id", postgresql_where=text("memory_id is not null")),
        Index(
            "facts_subject_entity_idx",
            "agent_id",
            "subject_entity",
            postgresql_where=text("subject_entity is not null"),
        ),
        Index(
            "facts_object_entity_idx", "agent_id", "object_entity", postgresql_where=text("object_entity is not null")
        ),
        Index("facts_adapter_idx", "agent_id", "adapter_name", "id", postgresql_where=text("memory_id is not null")),
        Index("facts_relation_idx", "agent_id", "predicate", "slot", postgresql_where=text("memory_id is not null")),
    )

    agent_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    tenant_id: Mapped[UUID]
    subject_node: Mapped[UUID]
    object_node: Mapped[UUID]
    # Of the facts that supersede each other: partition, subject as it was spelt, predicate.
    slot: Mapped[UUID]
    recorded_at: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    # When what is believed of it last changed.
    updated_at: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    valid_from: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    valid_until: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    # The end that its writer gave.
    stated_until: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    confidence: Mapped[float] = mapped_column(Double)
    supersede: Mapped[bool]
    status: Mapped[str] = mapped_column(Text, server_default=text("'standing'"))
    closed_by: Mapped[str | None] = mapped_column(Text)
    superseded_by: Mapped[UUID | None]
    user_id: Mapped[str | None] = mapped_column(Text)
    subject: Mapped[str] = mapped_column(Text)
    predicate: Mapped[str] = mapped_column(Text)
    object: Mapped[str] = mapped_column(Text)
    sources: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default=text("'{}'"))
    # The entities at its ends, where they have a canonical form.
    subject_entity: Mapped[UUID | None]
    object_entity: Mapped[UUID | None]
    # Of a statement, which follows from a memory: who extracted it, whether its ends stand in the text, and its place.
    memory_id: Mapped[UUID | None]
    adapter_name: Mapped[str | None] = mapped_column(Text)
    provenance: Mapped[str | None] = mapped_column(Text)
    ordinal: Mapped[int | None] = mapped_column(SmallInteger)
    # When it was stated, which settles what is newer.
    arrived_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    # When its memory was restored or said again, by which it holds; null: it was stated with the memory.
    since: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    # When its memory ceased to hold.
    held_until: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))


class FactClosureRow(Base):
    """What is believed of a fact since ``recorded_at``, until the next closure; before the first, its writer's word."""

    __tablename__ = "fact_closures"
    __table_args__ = (_of_fact(),)

    agent_id: Mapped[UUID] = mapped_column(primary_key=True)
    fact_id: Mapped[UUID] = mapped_column(primary_key=True)
    recorded_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), primary_key=True)
    tenant_id: Mapped[UUID]
    status: Mapped[str] = mapped_column(Text)
    valid_until: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    closed_by: Mapped[str | None] = mapped_column(Text)
    superseded_by: Mapped[UUID | None]


class FactMemoryRow(Base):
    """A memory that a fact names as its source."""

    __tablename__ = "fact_memories"
    __table_args__ = (
        ForeignKeyConstraint(["agent_id", "memory_id"], ["memories.agent_id", "memories.id"], ondelete="CASCADE"),
        _of_fact(),
        Index("fact_memories_fact_idx", "agent_id", "fact_id"),
    )

    agent_id: Mapped[UUID] = mapped_column(primary_key=True)
    memory_id: Mapped[UUID] = mapped_column(primary_key=True)
    fact_id: Mapped[UUID] = mapped_column(primary_key=True)
    tenant_id: Mapped[UUID]


class FactWordRow(Base):
    """A word by which a node is found, as a hash that holds the user."""

    __tablename__ = "fact_words"
    __table_args__ = (_of_agent(), Index("fact_words_node_idx", "agent_id", "node"))

    agent_id: Mapped[UUID] = mapped_column(primary_key=True)
    word: Mapped[UUID] = mapped_column(primary_key=True)
    node: Mapped[UUID] = mapped_column(primary_key=True)
    tenant_id: Mapped[UUID]


class FactSlotRow(Base):
    """A place where facts supersede each other. Whoever appends to one locks its row first."""

    __tablename__ = "fact_slots"
    __table_args__ = (_of_agent(),)

    agent_id: Mapped[UUID] = mapped_column(primary_key=True)
    slot: Mapped[UUID] = mapped_column(primary_key=True)
    tenant_id: Mapped[UUID]


class FactMergeRow(Base):
    """Somebody's word that two names are one node, from ``recorded_at`` until it is undone."""

    __tablename__ = "fact_merges"
    __table_args__ = (_of_agent(), Index("fact_merges_id_idx", "id"))

    agent_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    tenant_id: Mapped[UUID]
    name: Mapped[str] = mapped_column(Text)
    other: Mapped[str] = mapped_column(Text)
    recorded_at: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    undone_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
