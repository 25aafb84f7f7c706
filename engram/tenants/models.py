"""Table of tenants: who holds API keys."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import DateTime, Text, func
from sqlalchemy.orm import Mapped, mapped_column

from engram.db.base import Base

DEFAULT_TENANT_ID = UUID("00000000-0000-7000-8000-000000000001")
"""The one tenant that exists before any is created; the first migration inserts it."""


class TenantRow(Base):
    __tablename__ = "tenants"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(Text, unique=True)
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.now())
