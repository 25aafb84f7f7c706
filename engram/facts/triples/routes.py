"""HTTP of facts by what they say."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Query, Request
from pydantic import Field

from engram.facts.schemas import Predicate, Provenance
from engram.facts.triples.schemas import AdapterExpired, AdapterExpiry, TriplePage, TripleSort
from engram.facts.triples.service import TripleQuestion
from engram.http.access import AdminScope, ViewerScope
from engram.http.dependencies import ServicesDep
from engram.http.disconnects import unless_disconnected
from engram.http.documents import ANYWHERE, WITH_BODY, problems
from engram.http.queries import PageQuery
from engram.http.routing import StrictRoute
from engram.wire import Id, Instant, Label, Name, Omissible

router = APIRouter(prefix="/v1/facts", tags=["facts"], route_class=StrictRoute, responses=problems(*ANYWHERE))

_AGENT_ID = "01890a5d-ac96-774b-bcce-b302099a8057"
_EXPIRY = {"weak": {"value": {"agent_id": _AGENT_ID, "adapter_name": "extractor-1", "max_confidence": 0.5}}}


class TripleQuery(PageQuery):
    agent_id: Id
    subject: Omissible[Name] = None
    object: Omissible[Name] = None
    relation: Omissible[Predicate] = None
    entity: Omissible[Name] = Field(default=None, description="At either end.")
    provenance: Omissible[Provenance] = None
    adapter: Omissible[Label] = Field(default=None, description="Only what it extracted.")
    as_of: Omissible[Instant] = Field(
        default=None, description="What held at this moment; default: what has not ended."
    )
    known_at: Omissible[Instant] = Field(
        default=None, description="As the server knew it at this moment; later changes are not seen."
    )
    include_ended: bool = Field(default=False, description="Without `as_of`, also what has ended.")
    include_sources: bool = Field(default=False, description="Show memories that state each, at most ten.")
    include_source_status: bool = Field(default=False, description="Show what they are, and what is stale.")
    sort_by: TripleSort = TripleSort.co_occur


@router.get("/triples", summary="List what facts say", responses=problems(404))
async def list_triples(
    query: Annotated[TripleQuery, Query()], request: Request, services: ServicesDep, scope: ViewerScope
) -> TriplePage:
    """One line for each subject, relation and object, whoever and however many say it."""
    question = TripleQuestion(**{name: value for name, value in query if name not in ("limit", "cursor")})
    return await unless_disconnected(
        request, services.triples.list(scope, question, limit=query.limit, cursor=query.cursor)
    )


@router.post("/expire-by-adapter", summary="Expire what one extractor said", responses=problems(404, *WITH_BODY))
async def expire_by_adapter(
    body: Annotated[AdapterExpiry, Body(openapi_examples=_EXPIRY)], services: ServicesDep, scope: AdminScope
) -> AdapterExpired:
    """Believes it no longer, as if it had not been said. The memories stay, and can be made to say it again."""
    return await services.triples.expire_by_adapter(scope, body)
