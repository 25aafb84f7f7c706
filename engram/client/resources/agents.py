"""Agents: each is one memory space."""

from collections.abc import Mapping
from typing import Any, Literal

import httpx

from engram.agents.schemas import Agent, AgentPage, AgentStats
from engram.client._arguments import AnyId, When, given, to_path
from engram.client._bodies import Source
from engram.client._methods import Resource, acall, alines, apages, call, lines, pages
from engram.client._pages import Listing
from engram.client._request import Command, Download, Operation, Request
from engram.client.resources._ontologies import get_ontology, register_ontology
from engram.jobs.schemas import Job
from engram.transfer.schemas import AgentImported


def create_agent(
    name: str,
    *,
    metadata: Mapping[str, Any] | None = None,
    language: str | None = None,
    decay_multipliers: Mapping[str, float] | None = None,
    hop_penalty: float | None = None,
) -> Operation[Agent]:
    """Get the agent of that name, or create it.

    Args:
        name: Unique among the agents of the API key's tenant.
        metadata: Any JSON object. Used only where the agent is created.
        language: Language whose words are stemmed, such as ``german``; ``none`` stems nothing.
        decay_multipliers: (0, 1] by relation: what a hop keeps, where it is not the server's.
        hop_penalty: [0, 1): what each hop costs; default: the server's.
    """
    body = given(
        name=name,
        metadata=metadata,
        language=language,
        decay_multipliers=decay_multipliers,
        hop_penalty=hop_penalty,
    )
    return Request("POST", "/v1/agents", Agent, body=body)


def get_agent(agent_id: AnyId) -> Operation[Agent]:
    """Get an agent. Raises NotFoundError where there is none."""
    return Request("GET", to_path("/v1/agents/{agent_id}", agent_id=agent_id), Agent)


def list_agents(*, name: str | None = None, limit: int | None = None, cursor: str | None = None) -> Listing[Agent]:
    """List agents.

    Args:
        name: Only the agent of that name.
        limit: Agents per page, 1 to 200. Iterating goes on to the next page by itself.
        cursor: ``next_cursor`` of an earlier page, to go on from there.
    """
    return Listing("/v1/agents", AgentPage, given(name=name, limit=limit, cursor=cursor))


def update_agent(
    agent_id: AnyId,
    *,
    name: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    decay_multipliers: Mapping[str, float] | None = None,
    hop_penalty: float | None = None,
) -> Operation[Agent]:
    """Change what is given, and keep the rest. ``metadata`` and ``decay_multipliers`` are replaced as a whole.

    Raises ConflictError where another agent has that name.
    """
    path = to_path("/v1/agents/{agent_id}", agent_id=agent_id)
    body = given(name=name, metadata=metadata, decay_multipliers=decay_multipliers, hop_penalty=hop_penalty)
    return Request("PATCH", path, Agent, body=body)


def delete_agent(agent_id: AnyId) -> Operation[None]:
    """Delete an agent with all its memories."""
    return Command("DELETE", to_path("/v1/agents/{agent_id}", agent_id=agent_id))


def agent_stats(agent_id: AnyId) -> Operation[AgentStats]:
    """Count what an agent remembers."""
    return Request("GET", to_path("/v1/agents/{agent_id}/stats", agent_id=agent_id), AgentStats)


def export_agent(
    agent_id: AnyId,
    *,
    include_embeddings: bool | None = None,
    include_history: bool | None = None,
    as_of: When | None = None,
    known_at: When | None = None,
) -> Operation[httpx.Response]:
    """Read all that an agent holds, as lines. Needs an admin's key.

    Args:
        include_embeddings: False leaves the vectors out.
        include_history: False leaves out what was before, and what was deleted.
        as_of: Only what held then, as if it had never been anything else.
        known_at: Only what the server knew then.
    """
    params = given(
        include_embeddings=include_embeddings, include_history=include_history, as_of=as_of, known_at=known_at
    )
    return Download(to_path("/v1/agents/{agent_id}/export", agent_id=agent_id), params)


def import_agent(
    source: Source,
    *,
    name: str | None = None,
    ids: Literal["keep", "new"] | None = None,
    reembed: bool | None = None,
) -> Operation[AgentImported]:
    """Make an agent of an export, wholly or not at all. Needs an admin's key. Sent once: it is not tried again.

    Args:
        source: A file that is open for reading in binary, bytes, or an iterable of them, such as an export.
        name: Of the agent; default: the exported one's.
        ids: ``new`` makes all ids anew; by default they are kept.
        reembed: Make the vectors anew, by the server's model.

    Raises ConflictError where the name or an id is taken, or the vectors are of another model.
    """
    params = given(name=name, ids=ids, reembed=reembed)
    return Request("POST", "/v1/agents/import", AgentImported, params=params, lines=source)


def rebuild_links(agent_id: AnyId) -> Operation[Job]:
    """Have the thematic links and recognised mentions of an agent made anew; the job that does it.

    Where one is at it already, it is that one.
    """
    return Request("POST", to_path("/v1/agents/{agent_id}/rebuild-links", agent_id=agent_id), Job)


class Agents(Resource):
    create = call(create_agent)
    get = call(get_agent)
    list = pages(list_agents)
    update = call(update_agent)
    delete = call(delete_agent)
    stats = call(agent_stats)
    export = lines(export_agent)
    import_ = call(import_agent)
    rebuild_links = call(rebuild_links)
    ontology = call(get_ontology)
    register_ontology = call(register_ontology)


class AsyncAgents(Resource):
    create = acall(create_agent)
    get = acall(get_agent)
    list = apages(list_agents)
    update = acall(update_agent)
    delete = acall(delete_agent)
    stats = acall(agent_stats)
    export = alines(export_agent)
    import_ = acall(import_agent)
    rebuild_links = acall(rebuild_links)
    ontology = acall(get_ontology)
    register_ontology = acall(register_ontology)
