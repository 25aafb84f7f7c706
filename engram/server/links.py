"""Where an answer leads: OpenAPI's links, from what an operation answers to what the next one takes."""

from __future__ import annotations

from typing import Any

Link = dict[str, Any]


def _query_or_path(**parameters: str) -> dict[str, Any]:
    return {"parameters": parameters}


def _body(**fields: str) -> dict[str, Any]:
    return {"requestBody": fields}


_ID = "$response.body#/id"
_FIRST = "$response.body#/data/0/id"
_SECOND = "$response.body#/data/1/id"
_NEXT = "$response.body#/next_cursor"
_HIT = "$response.body#/results/0/id"
_OTHER_HIT = "$response.body#/results/1/id"
_AGENT = "$response.body#/agent_id"
_ENTITY = "$response.body#/entities/0/name"

_OF_AGENT = {
    "get_agent": _query_or_path(agent_id=_ID),
    "update_agent": _query_or_path(agent_id=_ID),
    "agent_stats": _query_or_path(agent_id=_ID),
    "delete_agent": _query_or_path(agent_id=_ID),
    "create_memory": _body(agent_id=_ID),
    "set_memory": _body(agent_id=_ID),
    "create_memories": _body(agent_id=_ID),
    "list_memories": _query_or_path(agent_id=_ID),
    "delete_memories": _body(agent_id=_ID),
    "recall": _body(agent_id=_ID),
    "append_fact": _body(agent_id=_ID),
    "append_facts": _body(agent_id=_ID),
    "query_facts": _query_or_path(agent_id=_ID),
    "list_triples": _query_or_path(agent_id=_ID),
    "get_ontology": _query_or_path(agent_id=_ID),
    "register_ontology": _query_or_path(agent_id=_ID),
    "expire_by_adapter": _body(agent_id=_ID),
    "recall_graph": _body(agent_id=_ID),
    "merge_names": _body(agent_id=_ID),
    "list_merges": _query_or_path(agent_id=_ID),
    "agent_taxonomy": _query_or_path(agent_id=_ID),
    "rebuild_links": _query_or_path(agent_id=_ID),
    "find_communities": _query_or_path(agent_id=_ID),
    "list_jobs": _query_or_path(agent_id=_ID),
}
_OF_FACT = {
    "get_fact": _query_or_path(fact_id=_ID),
    "fact_history": _query_or_path(fact_id=_ID),
    "delete_fact": _query_or_path(fact_id=_ID),
    "undo_fact": _query_or_path(fact_id=_ID),
    "restore_fact": _query_or_path(fact_id=_ID),
    "query_facts": _query_or_path(agent_id=_AGENT),
    "list_triples": _query_or_path(agent_id=_AGENT),
    "append_fact": _body(agent_id=_AGENT),
    "recall_graph": _body(agent_id=_AGENT),
    "merge_names": _body(agent_id=_AGENT),
}
_OF_JOB = {
    "get_job": _query_or_path(job_id=_ID),
    "retry_job": _query_or_path(job_id=_ID),
    "list_jobs": _query_or_path(agent_id=_AGENT),
    "retry_jobs": _body(agent_id=_AGENT),
    "agent_stats": _query_or_path(agent_id=_AGENT),
}
_OF_MEMORY = {
    "get_memory": _query_or_path(memory_id=_ID),
    "update_memory": _query_or_path(memory_id=_ID),
    "supersede_memory": _query_or_path(memory_id=_ID),
    "restore_memory": _query_or_path(memory_id=_ID),
    "memory_history": _query_or_path(memory_id=_ID),
    "purge_memory": _query_or_path(memory_id=_ID),
    "set_memory": _body(agent_id=_AGENT),
    "delete_memory": _query_or_path(memory_id=_ID),
    "get_edges": _query_or_path(memory_id=_ID),
    "get_neighborhood": _query_or_path(memory_id=_ID),
    "related_memories": _query_or_path(memory_id=_ID),
    "memory_backlinks": _query_or_path(memory_id=_ID),
    "create_edge": _body(source_id=_ID),
    "list_memories": _query_or_path(agent_id=_AGENT),
    "recall": _body(agent_id=_AGENT),
    "agent_stats": _query_or_path(agent_id=_AGENT),
}


def _of_two_memories(first: str, second: str) -> dict[str, Link]:
    return {
        "get_memory": _query_or_path(memory_id=first),
        "delete_memory": _query_or_path(memory_id=first),
        "get_edges": _query_or_path(memory_id=first),
        "get_neighborhood": _query_or_path(memory_id=first),
        "find_paths": _query_or_path(source_id=first, target_id=second),
        "create_edge": _body(source_id=first, target_id=second),
    }


_LINKS: dict[str, dict[str, Link]] = {
    "compute_number": {"get_memory": _query_or_path(memory_id="$response.body#/rows/0/memory_id")},
    "create_agent": _OF_AGENT,
    "get_agent": _OF_AGENT,
    "update_agent": {"get_agent": _query_or_path(agent_id=_ID)},
    "list_agents": {
        "get_agent": _query_or_path(agent_id=_FIRST),
        "list_memories": _query_or_path(agent_id=_FIRST),
        "create_memory": _body(agent_id=_FIRST),
        "recall": _body(agent_id=_FIRST),
        "list_agents": _query_or_path(cursor=_NEXT),
    },
    "create_memory": _OF_MEMORY,
    "create_memories": _of_two_memories(_HIT, _OTHER_HIT),
    "get_memory": _OF_MEMORY,
    "list_memories": {
        **_of_two_memories(_FIRST, _SECOND),
        "list_memories": _query_or_path(agent_id="$request.query.agent_id", cursor=_NEXT),
    },
    "recall": _of_two_memories(_HIT, _OTHER_HIT),
    "create_edge": {
        "get_edges": _query_or_path(memory_id="$response.body#/source_memory_id"),
        "delete_edge": _query_or_path(
            source_id="$response.body#/source_memory_id",
            target_id="$response.body#/target_memory_id",
            relation_type="$response.body#/relation_type",
        ),
    },
    "create_edges": {"get_edges": _query_or_path(memory_id="$response.body#/results/0/source_memory_id")},
    "append_fact": _OF_FACT,
    "register_ontology": {"get_ontology": _query_or_path(agent_id=_AGENT)},
    "expire_by_adapter": {"list_triples": _query_or_path(agent_id=_AGENT)},
    "list_triples": {
        "list_triples": _query_or_path(agent_id="$request.query.agent_id", cursor=_NEXT),
        "get_memory": _query_or_path(memory_id="$response.body#/data/0/sources/0/memory_id"),
    },
    "append_facts": {"get_fact": _query_or_path(fact_id="$response.body#/ids/0")},
    "get_fact": _OF_FACT,
    "fact_history": {"get_fact": _query_or_path(fact_id="$response.body#/fact/id")},
    "restore_fact": {"get_fact": _query_or_path(fact_id=_ID)},
    "query_facts": {
        "get_fact": _query_or_path(fact_id=_FIRST),
        "query_facts": _query_or_path(agent_id="$request.query.agent_id", cursor=_NEXT),
    },
    "recall_graph": {"get_fact": _query_or_path(fact_id="$response.body#/paths/0/edges/0/fact/id")},
    "merge_names": {
        "undo_merge": _query_or_path(merge_id=_ID),
        "list_merges": _query_or_path(agent_id=_AGENT),
    },
    "list_merges": {
        "undo_merge": _query_or_path(merge_id=_FIRST),
        "list_merges": _query_or_path(agent_id="$request.query.agent_id", cursor=_NEXT),
    },
    "rebuild_links": _OF_JOB,
    "find_communities": _OF_JOB,
    "get_job": _OF_JOB,
    "retry_job": {"get_job": _query_or_path(job_id=_ID)},
    "list_jobs": {
        "get_job": _query_or_path(job_id=_FIRST),
        "retry_job": _query_or_path(job_id=_FIRST),
        "list_jobs": _query_or_path(cursor=_NEXT),
    },
    "agent_taxonomy": {
        "traverse_entities": _body(agent_id=_AGENT, seed_entity=_ENTITY),
        "entity_path": _body(agent_id=_AGENT, source=_ENTITY, target="$response.body#/entities/1/name"),
        "related_entities": _query_or_path(agent_id=_AGENT, entity=_ENTITY),
        "entity_timeline": _query_or_path(agent_id=_AGENT, entity=_ENTITY),
    },
    "traverse_entities": {
        "traverse_entities": _body(agent_id="$request.body#/agent_id", seed_entity="$response.body#/nodes/0/name"),
        "entity_path": _body(
            agent_id="$request.body#/agent_id",
            source="$response.body#/seed",
            target="$response.body#/nodes/0/name",
        ),
    },
    "related_entities": {
        "traverse_entities": _body(agent_id="$request.query.agent_id", seed_entity="$response.body#/data/0/name"),
        "related_entities": _query_or_path(
            agent_id="$request.query.agent_id", entity="$request.query.entity", cursor=_NEXT
        ),
    },
    "entity_timeline": {
        **_of_two_memories(_FIRST, _SECOND),
        "entity_timeline": _query_or_path(
            agent_id="$request.query.agent_id", entity="$request.query.entity", cursor=_NEXT
        ),
    },
    "related_memories": _of_two_memories(_FIRST, _SECOND),
    "memory_backlinks": {
        **_of_two_memories(_FIRST, _SECOND),
        "memory_backlinks": _query_or_path(memory_id="$request.path.memory_id", cursor=_NEXT),
    },
    "get_neighborhood": {"get_memory": _query_or_path(memory_id="$response.body#/nodes/1/id")},
    "find_paths": {"get_memory": _query_or_path(memory_id="$response.body#/paths/0/steps/1/memory_id")},
    "get_edges": {
        "get_memory": _query_or_path(memory_id="$response.body#/data/0/target_memory_id"),
        "get_edges": _query_or_path(memory_id="$request.query.memory_id", cursor=_NEXT),
    },
}


def links_of(operation_id: str) -> dict[str, Link]:
    """The links of an operation's good answers, by the operation that each leads to; a page's to the next page."""
    return {target: {"operationId": target, **arguments} for target, arguments in _LINKS.get(operation_id, {}).items()}
