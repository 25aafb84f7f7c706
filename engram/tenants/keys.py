"""API keys: how one looks, and what is kept of it. Pure but for the randomness."""

from __future__ import annotations

import hashlib
import re
import secrets

PREFIX_CHARS = 15
"""What is shown of a key in lists: its mark and eight characters, of 43 that are random."""

_MARK = "engram_"
_KEY = re.compile(rf"{_MARK}[A-Za-z0-9_-]{{43}}")


def new_key() -> str:
    """A key: ``engram_`` and 256 random bits. The mark lets scanners find one that was published."""
    return _MARK + secrets.token_urlsafe(32)


def is_key(text: str) -> bool:
    """Whether a text could be a key at all: nobody need be asked of one that could not."""
    return _KEY.fullmatch(text) is not None


def digest_of(key: str) -> bytes:
    """What is stored of a key. One round of SHA-256: there is no guessing 256 random bits, however fast the hash."""
    return hashlib.sha256(key.encode()).digest()


def prefix_of(key: str) -> str:
    return key[:PREFIX_CHARS]
