"""What stands for a key in its partition of user and session. Pure."""

from __future__ import annotations

import hashlib


def slot_hash(user_id: str | None, session_id: str | None, key: str) -> bytes:
    """32 bytes."""
    digest = hashlib.sha256()
    for part in (user_id, session_id, key):
        encoded = b"" if part is None else part.encode()
        digest.update(b"-" if part is None else b"+")
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return digest.digest()
