"""What it takes to write a memory in another's place, or to write one anew."""

from __future__ import annotations

from dataclasses import dataclass, field

from engram.agents.service import AgentService
from engram.embeddings.base import Embedder
from engram.entities.service import EntityService
from engram.facts.statements.service import StatementService
from engram.memories.embedding import Embedded, embed
from engram.memories.projections import Projector
from engram.memories.schemas import MemoryItem
from engram.memories.service import MemoryService
from engram.memories.tuning import MemoryTuning
from engram.memories.writing import MemoryWriter
from engram.tenants.database import TenantDatabase


@dataclass(frozen=True, slots=True)
class Writing:
    database: TenantDatabase
    embedder: Embedder
    agents: AgentService
    memories: MemoryService
    entities: EntityService
    projector: Projector
    writer: MemoryWriter
    tuning: MemoryTuning
    propose_names: bool
    statements: StatementService = field(default_factory=StatementService)

    async def embedded(self, item: MemoryItem) -> Embedded:
        """The vectors of one text. Raises what the embedder raises, and InvalidInputProblem for a given vector of the
        wrong dimension."""
        (vectors,) = await embed(self.embedder, [item], [""], passage_chars=self.tuning.passage_chars)
        return vectors
