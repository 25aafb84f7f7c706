"""Wire models of jobs."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from engram.wire import Id, Instant, ResponseModel, WireModel


class JobKind(StrEnum):
    """What is done beside requests."""

    projection = "projection"
    """Makes links or mentions that could not be made as memories were written."""
    rebuild_links = "rebuild_links"
    """Makes all thematic links and recognised mentions of an agent anew."""
    entity_communities = "entity_communities"
    """Computes the communities of an agent's entities."""


class JobStatus(StrEnum):
    waiting = "waiting"
    """For a worker, or for its next attempt."""
    running = "running"
    done = "done"
    dead = "dead"
    """Given up after its last attempt. It stays until it is retried."""


class Job(ResponseModel):
    """One piece of work, and how far it is. It never holds the text of a memory."""

    id: Id
    kind: JobKind
    agent_id: Id
    projection: str | None = Field(description="Which links a job of the kind `projection` makes.")
    status: JobStatus
    attempts: int = Field(description="How often it was begun.")
    error: str | None = Field(description="The class of the last error, such as `UnavailableProblem`.")
    done: int = Field(description="Memories that were worked on; entities where communities are computed.")
    total: int | None = Field(description="Of the same to be worked on; null before that is known.")
    created_at: Instant
    due_at: Instant = Field(description="When it is begun, or was, at the earliest.")
    started_at: Instant | None
    finished_at: Instant | None


class JobPage(ResponseModel):
    data: list[Job]
    next_cursor: str | None = Field(description="Pass as `cursor` for the next page; null on the last.")


class JobsRetry(WireModel):
    """Which dead jobs are tried again: those that fit all that is given."""

    agent_id: Id | None = None
    kind: JobKind | None = None


class JobsRetried(ResponseModel):
    retried: int = Field(description="Jobs that wait again.")
    more: bool = Field(description="Whether there are more: one call takes a thousand.")
