"""SQL that erases what an agent holds, table by table: cascades would go row by row."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver

HELD_BY_AGENT = (
    "derived_facts",
    "fact_closures",
    "fact_memories",
    "facts",
    "fact_words",
    "fact_slots",
    "fact_merges",
    "ontologies",
    "edge_versions",
    "edges",
    "entity_communities",
    "entity_community_runs",
    "co_occurrences",
    "entity_pairs",
    "entity_degrees",
    "entity_vectors",
    "mentions",
    "entity_aliases",
    "entities",
    "jobs",
    "pending_projections",
    "memory_terms",
    "memory_lexemes",
    "memory_passages",
    "memory_versions",
    "memories",
    "memory_slots",
    "agent_counters",
    "idempotency_keys",
)
"""Every table with rows of an agent; what refers to another before it."""


async def erase_agent(connection: AsyncConnection, id: UUID) -> None:
    """Erase an agent that the caller has locked, with all that it holds."""
    for table in HELD_BY_AGENT:
        await driver(connection).execute(f"DELETE FROM {table} WHERE agent_id = $1", id)
    await driver(connection).execute("DELETE FROM agents WHERE id = $1", id)
