"""Each route says who may call it, and what it says is decided on here."""

from __future__ import annotations

from typing import Annotated

import pytest
from fastapi import APIRouter, Query
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

import engram.server.app
from engram.http.access import ViewerScope, public, role_needed
from engram.http.queries import PageQuery
from engram.http.routing import StrictRoute
from engram.server.app import create_app
from engram.settings import Settings

from .calls import calls
from .worlds import NOTHING

ROLES = {
    "agent_stats": "viewer",
    "expire_by_adapter": "admin",
    "get_ontology": "viewer",
    "list_triples": "viewer",
    "register_ontology": "admin",
    "append_fact": "writer",
    "append_facts": "writer",
    "agent_taxonomy": "viewer",
    "compute_number": "viewer",
    "create_agent": "writer",
    "create_edge": "writer",
    "create_edges": "writer",
    "create_memories": "writer",
    "create_memory": "writer",
    "delete_agent": "admin",
    "delete_edge": "writer",
    "delete_fact": "writer",
    "delete_memories": "writer",
    "delete_memory": "writer",
    "entity_path": "viewer",
    "entity_timeline": "viewer",
    "export_agent": "admin",
    "fact_history": "viewer",
    "export_graph": "admin",
    "find_communities": "writer",
    "find_paths": "viewer",
    "get_agent": "viewer",
    "get_edges": "viewer",
    "get_fact": "viewer",
    "get_job": "viewer",
    "get_memory": "viewer",
    "import_agent": "admin",
    "get_neighborhood": "viewer",
    "list_agents": "viewer",
    "list_audit": "admin",
    "list_jobs": "viewer",
    "list_memories": "viewer",
    "list_merges": "viewer",
    "merge_names": "writer",
    "memory_backlinks": "viewer",
    "memory_history": "viewer",
    "purge_memory": "admin",
    "query_facts": "viewer",
    "recall_graph": "viewer",
    "restore_fact": "writer",
    "restore_memory": "writer",
    "undo_fact": "writer",
    "undo_merge": "writer",
    "set_memory": "writer",
    "supersede_memory": "writer",
    "update_memory": "writer",
    "live": None,
    "ready": None,
    "rebuild_links": "writer",
    "recall": "viewer",
    "related_entities": "viewer",
    "related_memories": "viewer",
    "retry_job": "writer",
    "retry_jobs": "writer",
    "traverse_entities": "viewer",
    "update_agent": "writer",
}
"""The least role of each operation; None where anybody may, also without a key."""

UNDOCUMENTED = {"/metrics": None}
"""Routes of ours that the document leaves out, and their roles."""

UNGUARDED = {"/openapi.json", "/docs", "/docs/start.js", "/docs/swagger-ui-bundle.js", "/docs/swagger-ui.css"}
"""What is served without asking for anything: files, which are the same for everybody."""


def test_the_document_says_who_may() -> None:
    found = calls(NOTHING)
    assert {call.operation: call.role.value if call.role else None for call in found} == ROLES


def test_what_it_leaves_out_is_known() -> None:
    hidden = [
        route
        for router in engram.server.app._ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute) and not route.include_in_schema
    ]
    assert {route.path: role_needed(route.endpoint) for route in hidden} == UNDOCUMENTED


def test_nothing_else_is_served_but_what_describes_the_api() -> None:
    served: list[BaseRoute] = []
    for route in create_app(Settings()).routes:
        # FastAPI keeps routers that were included as they are.
        router = getattr(route, "original_router", None)
        served += [route] if router is None else router.routes
    assert sum(isinstance(route, StrictRoute) for route in served) == len(ROLES) + len(UNDOCUMENTED)
    assert {getattr(route, "path", route) for route in served if not isinstance(route, StrictRoute)} == UNGUARDED


def test_a_route_that_names_nobody_is_refused() -> None:
    router = APIRouter(route_class=StrictRoute)
    with pytest.raises(TypeError, match="forgotten names no role"):

        @router.get("/v1/forgotten")
        async def forgotten(query: Annotated[PageQuery, Query()]) -> None: ...


@pytest.mark.parametrize("marked", [False, True])
def test_a_route_of_another_class_is_refused_by_the_app(monkeypatch: pytest.MonkeyPatch, marked: bool) -> None:
    """It would not ask for a key at all, whatever its endpoint says."""
    router = APIRouter()

    async def unguarded(scope: ViewerScope) -> None: ...

    async def open_to_all() -> None: ...

    router.add_api_route("/v1/unguarded", public(open_to_all) if marked else unguarded)
    monkeypatch.setattr(engram.server.app, "_ROUTERS", (*engram.server.app._ROUTERS, router))
    with pytest.raises(TypeError, match="unguarded"):
        create_app(Settings())


def test_the_app_takes_one_that_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    router = APIRouter(route_class=StrictRoute)

    @router.get("/v1/guarded")
    async def guarded(scope: ViewerScope) -> None: ...

    monkeypatch.setattr(engram.server.app, "_ROUTERS", (*engram.server.app._ROUTERS, router))
    operation = create_app(Settings()).openapi()["paths"]["/v1/guarded"]["get"]
    assert (operation["x-engram-role"], operation["security"]) == ("viewer", [{"apiKey": []}])
