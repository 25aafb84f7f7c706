"""Which other memories are seen from one."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

from engram.memories.predicates import Visibility


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Those of a user, of a session, at a moment, as they were known then."""

    user_id: str | None = None
    session_id: str | None = None
    as_of: datetime | None = None
    known_at: datetime | None = None
    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def visibility(self) -> Visibility:
        return Visibility(
            now=self.now,
            as_of=self.as_of,
            known_at=self.known_at,
            user_id=self.user_id,
            session_id=self.session_id,
        )
