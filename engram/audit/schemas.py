"""Wire models of the audit log."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import Field

from engram.wire import Id, Instant, ResponseModel


class Action(StrEnum):
    """What may have been done."""

    agent_create = "agent.create"
    agent_update = "agent.update"
    agent_delete = "agent.delete"
    agent_export = "agent.export"
    """Begun: what was read of it is not known."""
    agent_import = "agent.import"
    agent_ontology = "agent.ontology"
    """Which relations the agent prefers."""
    agent_rebuild = "agent.rebuild"
    """Asked for; a job does it."""
    agent_communities = "agent.communities"
    """Asked for; a job computes them."""
    graph_export = "graph.export"
    """Begun: what was read of it is not known."""
    memory_create = "memory.create"
    memory_set = "memory.set"
    memory_supersede = "memory.supersede"
    memory_update = "memory.update"
    memory_restore = "memory.restore"
    memory_delete = "memory.delete"
    memory_purge = "memory.purge"
    edge_create = "edge.create"
    edge_delete = "edge.delete"
    fact_append = "fact.append"
    fact_delete = "fact.delete"
    fact_undo = "fact.undo"
    """Taken back as if it had never been appended."""
    fact_restore = "fact.restore"
    fact_restate = "fact.restate"
    """What memories say, that were written again, holds again."""
    fact_expire = "fact.expire"
    """What one extractor said is believed no longer."""
    fact_merge = "fact.merge"
    fact_unmerge = "fact.unmerge"
    job_retry = "job.retry"
    key_create = "key.create"
    key_revoke = "key.revoke"
    tenant_create = "tenant.create"
    tenant_delete = "tenant.delete"
    """Begun; once it is done, the tenant's log is gone too."""


class Actor(StrEnum):
    key = "key"
    anonymous = "anonymous"
    """A request to a server without keys."""
    operator = "operator"
    """The command line, on the server's own database."""


class AuditEvent(ResponseModel):
    """One change. It never holds the text of a memory."""

    id: Id
    recorded_at: Instant
    actor: Actor
    key_id: Id | None
    key_prefix: str | None
    action: Action
    agent_id: Id | None
    targets: list[Id] = Field(
        description="What was changed: memories, both ends of an edge, facts, merges, a key, jobs."
    )
    details: dict[str, Any] = Field(description="Counts, and the names of fields that changed.")
    request_id: str | None


class AuditPage(ResponseModel):
    data: list[AuditEvent]
    next_cursor: str | None = Field(description="Pass as `cursor` for the next page; null on the last.")
