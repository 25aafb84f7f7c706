"""How the embeddings of one model are searched: exactly among few, through the model's HNSW index among many.

The number of vector indexes follows the number of models, never the number of agents.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

MAX_INDEXED_DIMENSION = 4000

EXACT_SEARCH_LIMIT = 4_000
"""An agent with at most this many memories, or passages, is scanned: that is complete, and takes about as long as the
index would; ``python -m benchmarks run recall`` measures either, by the size of the store."""

SPARSE_FROM = 22_500
"""Vectors of a model, over all agents, up to which that limit holds. Beyond it grows with their root.

The index does not know of agents: of one that holds a hundredth of all vectors it goes through a hundred to find one.
So a search through it costs as their number over the agent's, a scan as the agent's, and the two meet at its root.
"""

HNSW_OPTIONS = "m = 16, ef_construction = 64"
"""Links of a vector, and how many it is compared with as it is inserted.

Fewer links would make insertions cheaper, but then a search has to look at more for the same share of the nearest, and
takes longer; ``python -m benchmarks run recall`` measures that share.
"""


@dataclass(frozen=True, slots=True)
class VectorIndex:
    """The indexes of one model. ``model_id`` and ``dimension`` are numbers of our own tables, fit to stand in SQL."""

    model_id: int
    dimension: int

    @property
    def exists(self) -> bool:
        """Whether pgvector can index this many dimensions at all; if not, every search is exact."""
        return self.dimension <= MAX_INDEXED_DIMENSION

    @property
    def type(self) -> str:
        """What is indexed: half the size, and order to within the fourth digit of a cosine, which scores do not use."""
        return f"halfvec({self.dimension:d})"

    def serves(self, vectors: int, stored: float) -> bool:
        """Whether so many vectors of an agent, of about ``stored`` of all agents, are searched through the index."""
        return self.exists and vectors > EXACT_SEARCH_LIMIT * max(1.0, math.sqrt(max(stored, 0.0) / SPARSE_FROM))

    def serves_sql(self, table: str, mine: str, stored: str) -> str:
        """The same as an expression: the agent's rows, by the condition ``mine``, are counted as far as it takes."""
        if not self.exists:
            return "false"
        most = f"({EXACT_SEARCH_LIMIT:d} * greatest(1, sqrt(greatest({stored}, 0) / {SPARSE_FROM:d})))::bigint"
        return f"(SELECT count(*) FROM (SELECT FROM {table} WHERE {mine} LIMIT {most} + 1) AS counted) > {most}"

    def distance(self, alias: str, query: str, *, indexed: bool) -> str:
        """Cosine distance as an expression; ``query`` is a placeholder of type vector."""
        if indexed:
            return f"{alias}.embedding::{self.type} <=> {query}::{self.type}"
        return f"{alias}.embedding <=> {query}"

    def of_model(self, alias: str) -> str:
        """The predicate under which vectors may be compared, spelt as in the index."""
        return f"{alias}.embedding_model_id = {self.model_id:d}"

    @property
    def statements(self) -> dict[str, str]:
        """What makes the indexes, by name: one of memories, one of passages, one of entities."""
        return {
            f"{table}_embedding_{self.model_id:d}_half_idx": self._statement(table)
            for table in ("memories", "memory_passages", "entity_vectors")
        }

    def _statement(self, table: str) -> str:
        return (
            f"CREATE INDEX {table}_embedding_{self.model_id:d}_half_idx ON {table}"
            f" USING hnsw ((embedding::{self.type}) halfvec_cosine_ops) WITH ({HNSW_OPTIONS})"
            f" WHERE embedding_model_id = {self.model_id:d}"
        )


SEARCH_SETTINGS = "engram_search_vectors()"
"""For one transaction, HNSW goes on in order until enough rows match, within pgvector's bounds on tuples and memory.
Where those are reached, so few of what is scanned match that it pays to scan them all."""

LINK_SETTINGS = "engram_search_links()"
"""The same for making links: fewer are wanted, and of those above a threshold all are found with less. Turns sorting
off, so that no plan reads the whole agent for each: only for a transaction that does nothing else."""
