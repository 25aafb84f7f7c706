"""HTTP of ontologies."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Request

from engram.facts.ontology.schemas import Ontology, OntologyRegistered, OntologyUpdate
from engram.http.access import AdminScope, ViewerScope
from engram.http.dependencies import ServicesDep
from engram.http.disconnects import unless_disconnected
from engram.http.documents import ANYWHERE, WITH_BODY, problems
from engram.http.routing import StrictRoute
from engram.wire import Id

router = APIRouter(prefix="/v1/agents", tags=["agents"], route_class=StrictRoute, responses=problems(*ANYWHERE))

_ONTOLOGY = {
    "ontology": {
        "value": {
            "entity_types": ["person", "service"],
            "verbs": {"depends_on": "many", "owned_by": "one"},
            "attributes": {"status": "one"},
        }
    }
}


@router.get("/{agent_id}/ontology", summary="Get an agent's ontology", responses=problems(404))
async def get_ontology(agent_id: Id, request: Request, services: ServicesDep, scope: ViewerScope) -> Ontology:
    """Which kinds of entities and which relations the agent prefers."""
    return await unless_disconnected(request, services.ontologies.get(scope, agent_id))


@router.put("/{agent_id}/ontology", summary="Register an agent's ontology", responses=problems(404, *WITH_BODY))
async def register_ontology(
    agent_id: Id,
    body: Annotated[OntologyUpdate, Body(openapi_examples=_ONTOLOGY)],
    services: ServicesDep,
    scope: AdminScope,
) -> OntologyRegistered:
    """Replaces it as a whole. Relations that get another cardinality are settled anew; nothing is refused for being
    outside."""
    return await services.ontologies.register(scope, agent_id, body)
