"""HTTP of facts."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Query, Request, status
from pydantic import Field

from engram.facts.repository import FactFilter
from engram.facts.schemas import (
    FactAppend,
    FactAppended,
    FactBatch,
    FactChanged,
    FactHistory,
    FactPage,
    FactPaths,
    FactsAppended,
    GraphQuestion,
    Predicate,
    StoredFact,
    Term,
)
from engram.http.access import ViewerScope, WriterScope
from engram.http.dependencies import ServicesDep
from engram.http.disconnects import unless_disconnected
from engram.http.documents import ANYWHERE, WITH_BODY, problems
from engram.http.queries import PageQuery
from engram.http.routing import StrictRoute
from engram.wire import Id, Instant, Label, Omissible, WireModel

router = APIRouter(prefix="/v1/facts", tags=["facts"], route_class=StrictRoute, responses=problems(*ANYWHERE))


class FactQuery(PageQuery):
    agent_id: Id
    user_id: Omissible[Label] = Field(default=None, description="Whose facts; default: those of no user.")
    subject: Omissible[Term] = Field(default=None, description="As it was spelt.")
    predicate: Omissible[Predicate] = None
    object: Omissible[Term] = Field(default=None, description="As it was spelt.")
    valid_at: Omissible[Instant] = Field(
        default=None, description="Only what held at this moment; default: also what has ended."
    )
    known_at: Omissible[Instant] = Field(
        default=None, description="As the server knew it at this moment; later changes are not seen."
    )


class FactGetQuery(WireModel):
    known_at: Omissible[Instant] = Field(default=None, description="As the server knew it at this moment.")


_AGENT_ID = "01890a5d-ac96-774b-bcce-b302099a8057"
_ITEM = {"subject": "Alice", "predicate": "works_at", "object": "Initech", "valid_from": "2024-02-01"}
_APPEND = {"fact": {"value": {"agent_id": _AGENT_ID, **_ITEM}}}
_BATCH = {
    "batch": {
        "value": {
            "agent_id": _AGENT_ID,
            "items": [_ITEM, {"subject": "Initech", "predicate": "operates_in", "object": "Austin"}],
        }
    }
}
_QUESTION = {"question": {"value": {"agent_id": _AGENT_ID, "query": "Where does Alice's employer operate?"}}}


@router.post("", summary="Append a fact", status_code=status.HTTP_201_CREATED, responses=problems(404, *WITH_BODY))
async def append_fact(
    body: Annotated[FactAppend, Body(openapi_examples=_APPEND)], services: ServicesDep, scope: WriterScope
) -> FactAppended:
    """Stores a fact. What its subject and predicate said otherwise ends when it begins, and says so."""
    return await services.facts.append(scope, body)


@router.post(
    "/batch", summary="Append many facts", status_code=status.HTTP_201_CREATED, responses=problems(404, *WITH_BODY)
)
async def append_facts(
    body: Annotated[FactBatch, Body(openapi_examples=_BATCH)], services: ServicesDep, scope: WriterScope
) -> FactsAppended:
    """Stores up to 1,000 facts in the order given, all of them or none."""
    return await services.facts.append_many(scope, body)


@router.post("/recall-graph", summary="Answer by chains of facts", responses=problems(404, *WITH_BODY))
async def recall_graph(
    body: Annotated[GraphQuestion, Body(openapi_examples=_QUESTION)],
    request: Request,
    services: ServicesDep,
    scope: ViewerScope,
) -> FactPaths:
    """Follows facts from names in the question to what shares an entity with them, hop by hop; the shortest first."""
    return await unless_disconnected(request, services.facts.answer(scope, body))


@router.get("", summary="Query facts", responses=problems(404))
async def query_facts(
    query: Annotated[FactQuery, Query()], request: Request, services: ServicesDep, scope: ViewerScope
) -> FactPage:
    """Facts of one user, or of none, the one learnt last first: as they held at a moment, or as they were known."""
    wanted = FactFilter(user_id=query.user_id, subject=query.subject, predicate=query.predicate, object=query.object)
    return await unless_disconnected(
        request,
        services.facts.query(
            scope,
            query.agent_id,
            wanted,
            valid_at=query.valid_at,
            known_at=query.known_at,
            limit=query.limit,
            cursor=query.cursor,
        ),
    )


@router.get("/{fact_id}", summary="Get a fact", responses=problems(404))
async def get_fact(
    fact_id: Id,
    query: Annotated[FactGetQuery, Query()],
    request: Request,
    services: ServicesDep,
    scope: ViewerScope,
) -> StoredFact:
    """A fact that is believed, superseded or not."""
    return await unless_disconnected(request, services.facts.get(scope, fact_id, known_at=query.known_at))


@router.get("/{fact_id}/history", summary="Show what was believed of a fact", responses=problems(404))
async def fact_history(fact_id: Id, request: Request, services: ServicesDep, scope: ViewerScope) -> FactHistory:
    """A fact in any state, and since when what was believed of it."""
    return await unless_disconnected(request, services.facts.history(scope, fact_id))


@router.delete("/{fact_id}", summary="Delete a fact", responses=problems(404))
async def delete_fact(fact_id: Id, services: ServicesDep, scope: WriterScope) -> FactChanged:
    """Believes the fact no longer. What it superseded stays superseded; `undo` brings that back."""
    return await services.facts.delete(scope, fact_id)


@router.post("/{fact_id}/undo", summary="Take a fact back", responses=problems(404))
async def undo_fact(fact_id: Id, services: ServicesDep, scope: WriterScope) -> FactChanged:
    """As if the fact had never been appended: what it superseded holds on, as far as other facts allow."""
    return await services.facts.undo(scope, fact_id)


@router.post("/{fact_id}/restore", summary="Restore a fact", responses=problems(404, 409))
async def restore_fact(fact_id: Id, services: ServicesDep, scope: WriterScope) -> FactChanged:
    """Brings back a fact that was deleted or taken back, at its old place."""
    return await services.facts.restore(scope, fact_id)
