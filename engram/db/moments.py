"""Moments as the driver reads them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import overload


@overload
def aware(moment: datetime) -> datetime: ...
@overload
def aware(moment: datetime | None) -> datetime | None: ...
def aware(moment: datetime | None) -> datetime | None:
    """With its time zone: the driver reads the last moment there is without."""
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment
