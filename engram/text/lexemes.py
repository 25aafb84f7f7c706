"""The terms of one text, packed: what a candidate is scored by. Pure.

A record of ten bytes for each term, in the order of their hashes: the first eight bytes of the term's MD5, then its
frequency, both big-endian. A hash has 64 bits: two terms of a query and a text share one by chance once in 10^16 times.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

RECORD = np.dtype([("hash", ">u8"), ("frequency", ">i2")])

_REMEMBERED = 50_000


@lru_cache(_REMEMBERED)
def digest(term: str) -> bytes:
    """Eight bytes that stand for a term."""
    return hashlib.md5(term.encode(), usedforsecurity=False).digest()[:8]


def pack(frequencies: Mapping[str, int], unworded: Iterable[str]) -> bytes:
    """The terms of a text with their frequencies, and those that are no words of it, whose frequency is 0."""
    records = [digest(term) + frequency.to_bytes(2) for term, frequency in frequencies.items()]
    records += [digest(term) + b"\0\0" for term in unworded]
    return b"".join(sorted(records))


def unpack(packed: bytes) -> NDArray[np.void]:
    """Records, shape (terms,), of one text or of several joined."""
    return np.frombuffer(packed, dtype=RECORD)


def hashes(terms: Iterable[str]) -> NDArray[np.uint64]:
    """The hash of each term, shape (terms,)."""
    return np.frombuffer(b"".join(digest(term) for term in terms), dtype=">u8").astype(np.uint64)
