"""The memory store that an engineer would write in an afternoon: exact vectors, OR-ed words, fused by rank.

One table; no graph, no entities, no duplicates found, no filters. It runs in the process of its user, on the embedder
and connection settings of the product.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

import asyncpg

from engram.db.vectors import packed
from engram.embeddings.base import Embedder

_POOL = 50
_RRF = 60
"""Of reciprocal rank fusion: the usual constant."""

_TABLE = """
    CREATE SCHEMA handmade;
    CREATE TABLE handmade.memories (
        id uuid PRIMARY KEY, agent_id uuid NOT NULL, content text NOT NULL, user_id text, session_id text,
        valid_from timestamptz, extra jsonb NOT NULL, embedding vector({dimension}) NOT NULL, words tsvector NOT NULL
    );
"""
_FILL = """
    INSERT INTO handmade.memories
    SELECT id, agent_id, content, user_id, session_id, valid_from,
        jsonb_build_object('tags', tags, 'metadata', metadata),
        embedding, to_tsvector('english', content)
    FROM public.memories
"""
_INDEXES = """
    CREATE INDEX ON handmade.memories (agent_id);
    CREATE INDEX ON handmade.memories USING gin (words);
"""
_INSERT = """
    INSERT INTO handmade.memories
    SELECT id, $1, content, user_id, session_id, valid_from, extra::jsonb, embedding, to_tsvector('english', content)
    FROM unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::text[], $8::vector[])
        AS new (id, content, user_id, session_id, valid_from, extra, embedding)
"""
_NEAREST = f"""
    SELECT id, content FROM handmade.memories WHERE agent_id = $1 ORDER BY embedding <=> $2::vector LIMIT {_POOL:d}
"""
_WORDS = f"""
    WITH asked AS (SELECT replace(plainto_tsquery('english', $2)::text, '&', '|')::tsquery AS query)
    SELECT id, content FROM handmade.memories, asked WHERE agent_id = $1 AND words @@ query
    ORDER BY ts_rank(words, query) DESC LIMIT {_POOL:d}
"""


class Handmade:
    """On one connection, as its user has one at a time."""

    def __init__(self, connection: asyncpg.Connection, embedder: Embedder) -> None:
        self._connection = connection
        self._embedder = embedder

    async def create_from_memories(self) -> None:
        """The table, with what the product's table holds, indexed and analysed."""
        await self._connection.execute(_TABLE.format(dimension=self._embedder.model.dimension))
        await self._connection.execute(_FILL)
        await self._connection.execute(_INDEXES)
        await self._connection.execute("VACUUM (ANALYZE) handmade.memories")

    async def write(self, agent_id: str, items: Sequence[dict[str, Any]]) -> None:
        """Embed a batch, and insert it by one statement."""
        texts = [item["content"] for item in items]
        embedded = await self._embedder.embed_passages(texts)
        await self._connection.execute(
            _INSERT,
            UUID(agent_id),
            [uuid4() for _ in items],
            texts,
            [item["user_id"] for item in items],
            [item["session_id"] for item in items],
            [item["valid_from"] for item in items],
            [json.dumps({"tags": item["tags"], "metadata": item["metadata"]}) for item in items],
            packed(embedded.vectors),
        )

    async def recall(self, agent_id: str, query: str, top_k: int = 10) -> list[str]:
        """The texts that answer a question, best first."""
        vector = await self._embedder.embed_query(query)
        agent = UUID(agent_id)
        nearest = await self._connection.fetch(_NEAREST, agent, vector)
        worded = await self._connection.fetch(_WORDS, agent, query)
        scores: dict[UUID, float] = {}
        for rows in (nearest, worded):
            for rank, row in enumerate(rows, start=1):
                scores[row["id"]] = scores.get(row["id"], 0.0) + 1 / (_RRF + rank)
        texts = {row["id"]: row["content"] for row in (*nearest, *worded)}
        return [texts[id] for id in sorted(scores, key=scores.__getitem__, reverse=True)[:top_k]]
