"""The tables whose sizes are told: all of ours, and nobody else's who shares the schema."""

from __future__ import annotations

import engram.agents.models
import engram.audit.models
import engram.embeddings.models
import engram.entities.communities.models
import engram.entities.models
import engram.entities.occurring.models
import engram.entities.vectors.models
import engram.facts.models
import engram.facts.ontology.models
import engram.facts.quantities.models
import engram.graph.models
import engram.idempotency.models
import engram.jobs.models
import engram.memories.models
import engram.memories.versions.models
import engram.tenants.models  # noqa: F401 (each adds its tables to the metadata)
from engram.db.base import Base
from engram.jobs.models import QUEUE_TABLES

TABLES = sorted({*Base.metadata.tables, *QUEUE_TABLES})
