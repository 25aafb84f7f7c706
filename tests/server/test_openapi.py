"""The OpenAPI document. That it names every answer is checked by all tests that ask over HTTP."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest
from pydantic import TypeAdapter

from engram.agents.schemas import AgentCreate, AgentUpdate
from engram.entities.graph.schemas import EntityPathRequest, TraverseRequest
from engram.facts.schemas import FactAppend, FactBatch, GraphQuestion, MergeCreate
from engram.graph.schemas import EdgeCreate
from engram.memories.schemas import MemoryBatch, MemoryCreate
from engram.recall.schemas import RecallRequest
from tests.fixtures.servers import openapi

MODELS = (
    *(AgentCreate, AgentUpdate, EdgeCreate, MemoryBatch, MemoryCreate, RecallRequest),
    *(FactAppend, FactBatch, GraphQuestion, MergeCreate),
    EntityPathRequest,
    TraverseRequest,
)


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    return [(path, method, found) for path, methods in openapi()["paths"].items() for method, found in methods.items()]


async def test_the_document_is_published_with_pages_to_try_it(http: httpx.AsyncClient) -> None:
    assert (await http.get("/openapi.json")).json() == openapi()
    assert (await http.get("/docs")).status_code == 200


def test_operations_are_named_for_what_they_do() -> None:
    names = [found["operationId"] for _, _, found in operations()]
    assert sorted(names) == sorted(
        [
            *("create_agent", "list_agents", "get_agent", "update_agent", "delete_agent", "agent_stats"),
            *("create_memory", "create_memories", "list_memories", "get_memory", "delete_memory", "recall"),
            *("delete_memories", "rebuild_links", "list_jobs", "get_job", "retry_job", "retry_jobs"),
            *("set_memory", "update_memory", "supersede_memory", "restore_memory", "memory_history", "purge_memory"),
            *("get_edges", "create_edge", "create_edges", "delete_edge", "get_neighborhood", "find_paths"),
            *("append_fact", "append_facts", "query_facts", "get_fact", "fact_history", "recall_graph"),
            *("delete_fact", "undo_fact", "restore_fact", "merge_names", "list_merges", "undo_merge"),
            *("list_audit", "live", "ready"),
            *("traverse_entities", "entity_path", "related_entities"),
            *("related_memories", "memory_backlinks", "entity_timeline", "agent_taxonomy"),
            *("export_agent", "import_agent", "export_graph", "find_communities"),
            *("list_triples", "expire_by_adapter", "get_ontology", "register_ontology", "compute_number"),
        ]
    )
    assert all(found["summary"] and found["tags"] for _, _, found in operations())


def test_every_operation_but_those_of_health_names_the_key_and_the_role_that_it_wants() -> None:
    roles = {found["operationId"]: found.get("x-engram-role") for _, _, found in operations()}
    assert {name for name, role in roles.items() if role is None} == {"live", "ready"}
    assert set(roles.values()) - {None} == {"viewer", "writer", "admin"}
    assert all(found["security"] == [{"apiKey": []}] for _, _, found in operations() if "x-engram-role" in found)
    assert (roles["recall"], roles["create_memory"], roles["delete_agent"]) == ("viewer", "writer", "admin")


def test_everything_that_is_referred_to_is_there() -> None:
    for name in set(re.findall(r"#/components/schemas/(\w+)", str(openapi()))):
        assert name in openapi()["components"]["schemas"]


def test_errors_are_problem_documents() -> None:
    for path, method, found in operations():
        for status, answer in found["responses"].items():
            if status >= "400" and path != "/health/ready":
                assert list(answer["content"]) == ["application/problem+json"], (path, method, status)


@pytest.mark.parametrize("model", MODELS)
def test_examples_are_valid(model: type) -> None:
    schema = f"#/components/schemas/{model.__name__}"
    requests = [found["requestBody"] for _, _, found in operations() if "requestBody" in found]
    kinds = [request["content"] for request in requests]
    bodies = [content["application/json"] for content in kinds if "application/json" in content]
    examples = [
        example["value"] for body in bodies if body["schema"]["$ref"] == schema for example in body["examples"].values()
    ]
    assert examples
    for example in examples:
        TypeAdapter(model).validate_python(example)


def test_repeatable_parameters_are_lists_and_required_ones_are_marked() -> None:
    parameters = {
        (found["operationId"], parameter["name"]): parameter
        for _, _, found in operations()
        for parameter in found.get("parameters", [])
    }
    assert parameters["list_memories", "agent_id"]["required"]
    assert not parameters["list_memories", "tag"]["required"]
    assert "array" in str(parameters["list_memories", "tag"]["schema"])
    assert "array" in str(parameters["get_edges", "relation_type"]["schema"])
    assert parameters["list_agents", "limit"]["schema"]["maximum"] == 200
