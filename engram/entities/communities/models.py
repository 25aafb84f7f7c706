"""Tables of communities."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, DateTime, ForeignKeyConstraint, Index, Integer, SmallInteger
from sqlalchemy.orm import Mapped, mapped_column

from engram.db.base import Base


def _entity(column: str) -> ForeignKeyConstraint:
    return ForeignKeyConstraint(["agent_id", column], ["entities.agent_id", "entities.id"], ondelete="CASCADE")


class EntityCommunityRow(Base):
    """The community of an entity at a level, 0 the finest. It is named by its strongest member."""

    __tablename__ = "entity_communities"
    __table_args__ = (
        _entity("entity_id"),
        _entity("community_id"),
        CheckConstraint("level >= 0", name="level"),
        Index(
            "entity_communities_members_idx",
            "agent_id",
            "community_id",
            "level",
            "entity_id",
            postgresql_include=["tenant_id"],
        ),
    )

    agent_id: Mapped[UUID] = mapped_column(primary_key=True)
    entity_id: Mapped[UUID] = mapped_column(primary_key=True)
    level: Mapped[int] = mapped_column(SmallInteger, primary_key=True)
    community_id: Mapped[UUID]
    tenant_id: Mapped[UUID]


class EntityCommunityRunRow(Base):
    """What an agent's communities were computed of: as it was at ``computed_at``."""

    __tablename__ = "entity_community_runs"
    __table_args__ = (
        ForeignKeyConstraint(["tenant_id", "agent_id"], ["agents.tenant_id", "agents.id"], ondelete="CASCADE"),
    )

    agent_id: Mapped[UUID] = mapped_column(primary_key=True)
    tenant_id: Mapped[UUID]
    computed_at: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    # That have a community; hubs that were left out; levels that there are.
    entities: Mapped[int] = mapped_column(Integer)
    dropped: Mapped[int] = mapped_column(Integer)
    levels: Mapped[int] = mapped_column(Integer)
