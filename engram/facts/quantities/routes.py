"""HTTP of computing from numbers."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import Field, model_validator

from engram.facts.quantities.answering import NumberQuestion
from engram.facts.quantities.schemas import Computed, QuantityOp, UnitName
from engram.facts.schemas import Predicate
from engram.http.access import ViewerScope
from engram.http.dependencies import ServicesDep
from engram.http.disconnects import unless_disconnected
from engram.http.documents import ANYWHERE, problems
from engram.http.routing import StrictRoute
from engram.wire import Id, Instant, Name, Omissible, WireModel

router = APIRouter(prefix="/v1/facts", tags=["entities"], route_class=StrictRoute, responses=problems(*ANYWHERE))


class ComputeQuery(WireModel):
    agent_id: Id
    entity: Name
    attribute: Predicate
    op: QuantityOp = QuantityOp.latest
    valid_from: Omissible[Instant] = Field(default=None, description="Only what was so at this moment or later.")
    valid_until: Omissible[Instant] = Field(default=None, description="Only what was so before this moment.")
    as_of: Omissible[Instant] = Field(
        default=None, description="From memories that held at this moment; default: from those that hold now."
    )
    unit: Omissible[UnitName] = Field(
        default=None, description="Of the answer, such as `km/h`; default: that of the latest number."
    )

    @model_validator(mode="after")
    def _window(self) -> ComputeQuery:
        if self.valid_from and self.valid_until and self.valid_until <= self.valid_from:
            raise ValueError("valid_until must be later than valid_from")
        return self


@router.get("/compute", summary="Compute a number of an entity", responses=problems(404))
async def compute_number(
    query: Annotated[ComputeQuery, Query()], request: Request, services: ServicesDep, scope: ViewerScope
) -> Computed:
    """From all numbers that memories declare of an attribute of an entity, in one unit: the latest, their sum, least,
    greatest or mean, or how many they are. A name that nothing has gives an empty answer; units that are nothing to
    each other are a 422 that names both, and their memories."""
    return await unless_disconnected(
        request,
        services.numbers.compute(
            scope,
            NumberQuestion(
                agent_id=query.agent_id,
                entity=query.entity,
                attribute=query.attribute,
                op=query.op,
                unit=query.unit,
                begins=query.valid_from,
                ends=query.valid_until,
                as_of=query.as_of,
            ),
        ),
    )
