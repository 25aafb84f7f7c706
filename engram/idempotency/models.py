"""Table of answers that are given again."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import DateTime, ForeignKey, Index, LargeBinary, SmallInteger, text
from sqlalchemy.orm import Mapped, mapped_column

from engram.db.base import Base


class IdempotencyRow(Base):
    """The answer to a write that came with an idempotency key, kept for a day.

    ``digest`` is of the API key and the idempotency key, ``fingerprint`` of the request. It goes with its agent.
    """

    __tablename__ = "idempotency_keys"
    __table_args__ = (
        Index("idempotency_keys_expiry_idx", "expires_at"),
        Index("idempotency_keys_agent_idx", "agent_id", postgresql_where=text("agent_id is not null")),
    )

    tenant_id: Mapped[UUID] = mapped_column(ForeignKey("tenants.id", ondelete="CASCADE"), primary_key=True)
    digest: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)
    fingerprint: Mapped[bytes] = mapped_column(LargeBinary)
    agent_id: Mapped[UUID | None]
    status: Mapped[int] = mapped_column(SmallInteger)
    body: Mapped[bytes] = mapped_column(LargeBinary)
    recorded_at: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    expires_at: Mapped[datetime] = mapped_column(DateTime(timezone=True))
