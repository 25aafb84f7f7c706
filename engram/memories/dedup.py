"""When two memories are the same: one hash over text and scope, compared exactly."""

from __future__ import annotations

import hashlib
from datetime import datetime

from engram.text.normal import normal


def dedup_hash(
    content: str,
    *,
    user_id: str | None,
    session_id: str | None,
    key: str | None = None,
    valid_from: datetime | None = None,
) -> bytes:
    """32 bytes, equal exactly for the same NFC text in the same user, session and key.

    ``valid_from`` counts where the writer gave one: an import can be repeated, and a turn said twice at different
    times stays two.
    """
    began = valid_from.isoformat() if valid_from is not None else None
    return _digest(user_id, session_id, key, began, normal("NFC", content))


def slot_hash(key: str, *, user_id: str | None, session_id: str | None) -> bytes:
    """32 bytes that stand for a key in its partition of user and session. Keys are equal as NFC text."""
    return _digest(user_id, session_id, normal("NFC", key))


def _digest(*parts: str | None) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        # A length before each part, and a mark for none, so that parts cannot run into each other.
        encoded = b"" if part is None else part.encode()
        digest.update(b"-" if part is None else b"+")
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return digest.digest()
