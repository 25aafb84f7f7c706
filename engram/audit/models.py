"""Table of what was changed."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, DateTime, ForeignKey, Index, Text, Uuid, text
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.orm import Mapped, mapped_column

from engram.db.base import Base


class AuditRow(Base):
    """One change. It refers to no row of what was changed, which may be gone: it stays.

    The server's roles may add to it, and neither change nor remove what it holds.
    """

    __tablename__ = "audit_log"
    __table_args__ = (
        CheckConstraint("actor in ('key', 'anonymous', 'operator')", name="actor"),
        Index("audit_log_agent_idx", "tenant_id", "agent_id", "id"),
    )

    tenant_id: Mapped[UUID] = mapped_column(ForeignKey("tenants.id", ondelete="CASCADE"), primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    recorded_at: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    actor: Mapped[str] = mapped_column(Text)
    key_id: Mapped[UUID | None]
    key_prefix: Mapped[str | None] = mapped_column(Text)
    action: Mapped[str] = mapped_column(Text)
    agent_id: Mapped[UUID | None]
    targets: Mapped[list[UUID]] = mapped_column(ARRAY(Uuid))
    details: Mapped[dict[str, Any]] = mapped_column(JSONB, server_default=text("'{}'::jsonb"))
    request_id: Mapped[str | None] = mapped_column(Text)
