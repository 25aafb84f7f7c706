"""Table of embedding models: each memory row names the one that made its embedding."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import DateTime, Identity, Integer, SmallInteger, Text, UniqueConstraint, func
from sqlalchemy.orm import Mapped, mapped_column

from engram.db.base import Base


class EmbeddingModelRow(Base):
    __tablename__ = "embedding_models"
    __table_args__ = (UniqueConstraint("provider", "name", "dimension"),)

    id: Mapped[int] = mapped_column(SmallInteger, Identity(always=True), primary_key=True)
    provider: Mapped[str] = mapped_column(Text)
    name: Mapped[str] = mapped_column(Text)
    dimension: Mapped[int] = mapped_column(Integer)
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.now())
