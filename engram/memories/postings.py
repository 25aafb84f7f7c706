"""The postings of new memories in Postgres' binary COPY format. Pure, and work for a thread.

A batch of a thousand memories has fifty thousand: spelt out by the driver, row by row, they would hold up all else that
the server has to answer.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from uuid import UUID

from engram.memories.rows import IndexedTerms
from engram.text.terms import MAX_FREQUENCY

COLUMNS = ("agent_id", "term", "memory_id", "tenant_id", "frequency", "length")

_HEADER = b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0)
_TRAILER = struct.pack(">h", -1)
_ROWS_A_CHUNK = 1_000


class Postings:
    """Rows of ``memory_terms`` for new memories of one agent, sorted by their key."""

    def __init__(self, agent_id: UUID, tenant_id: UUID, terms: Mapping[UUID, IndexedTerms]) -> None:
        self.memories = len(terms)
        self.length = sum(indexed.length for indexed in terms.values())
        """Words of all the texts together."""
        front = struct.pack(">h", len(COLUMNS)) + _field(agent_id.bytes)
        rows = []
        for id, indexed in terms.items():
            memory = _field(id.bytes) + _field(tenant_id.bytes)
            length = _field(struct.pack(">i", indexed.length))
            for term, frequency in indexed.words.items():
                end = memory + _field(struct.pack(">h", min(frequency, MAX_FREQUENCY))) + length
                rows.append((term.encode(), end))
            unworded = memory + _field(struct.pack(">h", 0)) + length
            rows += [(term.encode(), unworded) for term in indexed.unworded]
        # By term, and for one term by the memory's id, which the end opens with.
        rows.sort()
        self._chunks = [
            b"".join(front + _field(term) + end for term, end in rows[start : start + _ROWS_A_CHUNK])
            for start in range(0, len(rows), _ROWS_A_CHUNK)
        ]

    def copied(self) -> Iterator[bytes]:
        """What COPY reads, in parts."""
        yield _HEADER
        yield from self._chunks
        yield _TRAILER


def _field(value: bytes) -> bytes:
    return struct.pack(">i", len(value)) + value
