"""Tables of what occurs together."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, ForeignKeyConstraint, Index, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from engram.db.base import Base


def _entity(column: str) -> ForeignKeyConstraint:
    return ForeignKeyConstraint(["agent_id", column], ["entities.agent_id", "entities.id"], ondelete="CASCADE")


class CoOccurrenceRow(Base):
    """A memory names both entities. Follows from its mentions and its row alone; see ``occurrences``."""

    __tablename__ = "co_occurrences"
    __table_args__ = (
        ForeignKeyConstraint(["agent_id", "memory_id"], ["memories.agent_id", "memories.id"], ondelete="CASCADE"),
        _entity("first_id"),
        _entity("second_id"),
        CheckConstraint("state in ('steady', 'timed', 'past')", name="state"),
        CheckConstraint("first_id < second_id", name="order"),
        Index(
            "co_occurrences_first_idx",
            "agent_id",
            "first_id",
            "second_id",
            postgresql_include=["memory_id", "state", "tenant_id"],
        ),
        Index(
            "co_occurrences_second_idx",
            "agent_id",
            "second_id",
            "first_id",
            postgresql_include=["memory_id", "state", "tenant_id"],
        ),
        # What a walk looks at beside the sums.
        Index("co_occurrences_timed_first_idx", "agent_id", "first_id", postgresql_where=text("state = 'timed'")),
        Index("co_occurrences_timed_second_idx", "agent_id", "second_id", postgresql_where=text("state = 'timed'")),
    )

    agent_id: Mapped[UUID] = mapped_column(primary_key=True)
    memory_id: Mapped[UUID] = mapped_column(primary_key=True)
    first_id: Mapped[UUID] = mapped_column(primary_key=True)
    second_id: Mapped[UUID] = mapped_column(primary_key=True)
    tenant_id: Mapped[UUID]
    state: Mapped[str] = mapped_column(Text)


class EntityPairRow(Base):
    """How many steady observations there are of a pair."""

    __tablename__ = "entity_pairs"
    __table_args__ = (
        _entity("first_id"),
        _entity("second_id"),
        Index(
            "entity_pairs_second_idx",
            "agent_id",
            "second_id",
            "first_id",
            postgresql_include=["co_occur", "tenant_id"],
        ),
    )

    agent_id: Mapped[UUID] = mapped_column(primary_key=True)
    first_id: Mapped[UUID] = mapped_column(primary_key=True)
    second_id: Mapped[UUID] = mapped_column(primary_key=True)
    tenant_id: Mapped[UUID]
    co_occur: Mapped[int] = mapped_column(BigInteger)


class EntityDegreeRow(Base):
    """How many steady observations an entity is in."""

    __tablename__ = "entity_degrees"
    __table_args__ = (
        _entity("entity_id"),
        Index("entity_degrees_top_idx", "agent_id", text("degree desc"), "entity_id"),
    )

    agent_id: Mapped[UUID] = mapped_column(primary_key=True)
    entity_id: Mapped[UUID] = mapped_column(primary_key=True)
    tenant_id: Mapped[UUID]
    degree: Mapped[int] = mapped_column(BigInteger)
