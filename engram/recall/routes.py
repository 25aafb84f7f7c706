"""HTTP of recall."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Request

from engram.http.access import ViewerScope
from engram.http.dependencies import ServicesDep
from engram.http.disconnects import unless_disconnected
from engram.http.documents import ANYWHERE, EMBEDDING, WITH_BODY, problems
from engram.http.routing import StrictRoute
from engram.recall.schemas import RecallRequest, RecallResponse

router = APIRouter(
    prefix="/v1/memories/recall", tags=["memories"], route_class=StrictRoute, responses=problems(*ANYWHERE)
)

_RECALL = {
    "question": {"value": {"agent_id": "01890a5d-ac96-774b-bcce-b302099a8057", "query": "Where does Alice work?"}},
    "filtered": {
        "value": {
            "agent_id": "01890a5d-ac96-774b-bcce-b302099a8057",
            "query": "Where does Alice work?",
            "top_k": 5,
            "graph_weight": 0.5,
            "tags": {"all": ["profile"]},
            "metadata": {"age": {"gte": 3, "lt": 9}},
            "as_of": "2026-05-01T12:00:00Z",
            "explain": True,
        }
    },
}


@router.post("", summary="Recall memories", responses=problems(404, *WITH_BODY, *EMBEDDING))
async def recall(
    body: Annotated[RecallRequest, Body(openapi_examples=_RECALL)],
    request: Request,
    services: ServicesDep,
    scope: ViewerScope,
) -> RecallResponse:
    """What is near the query, and what is connected to that, best first. Changes nothing."""
    return await unless_disconnected(request, services.recall.recall(scope, body))
