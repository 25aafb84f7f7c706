"""HTTP of agents."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Query, Request, Response, status

from engram.agents.schemas import Agent, AgentCreate, AgentPage, AgentStats, AgentUpdate
from engram.http.access import AdminScope, ViewerScope, WriterScope
from engram.http.dependencies import ServicesDep
from engram.http.disconnects import unless_disconnected
from engram.http.documents import ANYWHERE, WITH_BODY, problems
from engram.http.queries import PageQuery
from engram.http.routing import StrictRoute
from engram.wire import Id, Name, Omissible

router = APIRouter(prefix="/v1/agents", tags=["agents"], route_class=StrictRoute, responses=problems(*ANYWHERE))


class AgentQuery(PageQuery):
    name: Omissible[Name] = None


_CREATE = {"agent": {"value": {"name": "support-bot", "metadata": {"team": "billing"}, "language": "english"}}}
_UPDATE = {"rename": {"value": {"name": "support-bot-2"}}}


@router.post(
    "",
    summary="Get or create an agent",
    status_code=status.HTTP_201_CREATED,
    response_description="The agent is new.",
    responses={200: {"model": Agent, "description": "It was there already."}, **problems(409, *WITH_BODY)},
)
async def create_agent(
    body: Annotated[AgentCreate, Body(openapi_examples=_CREATE)],
    response: Response,
    services: ServicesDep,
    scope: WriterScope,
) -> Agent:
    """The agent of that name. Where there is one, it is returned as it is."""
    agent, created = await services.agents.create(scope, body)
    if not created:
        response.status_code = status.HTTP_200_OK
    return agent


@router.get("", summary="List agents")
async def list_agents(
    query: Annotated[AgentQuery, Query()], request: Request, services: ServicesDep, scope: ViewerScope
) -> AgentPage:
    """Agents by name."""
    return await unless_disconnected(
        request, services.agents.list(scope, name=query.name, limit=query.limit, cursor=query.cursor)
    )


@router.get("/{agent_id}", summary="Get an agent", responses=problems(404))
async def get_agent(agent_id: Id, request: Request, services: ServicesDep, scope: ViewerScope) -> Agent:
    return await unless_disconnected(request, services.agents.get(scope, agent_id))


@router.patch("/{agent_id}", summary="Update an agent", responses=problems(404, 409, *WITH_BODY))
async def update_agent(
    agent_id: Id,
    body: Annotated[AgentUpdate, Body(openapi_examples=_UPDATE)],
    services: ServicesDep,
    scope: WriterScope,
) -> Agent:
    """Changes what the body names. `metadata` is replaced as a whole."""
    return await services.agents.update(scope, agent_id, body)


@router.delete(
    "/{agent_id}",
    summary="Delete an agent",
    status_code=status.HTTP_204_NO_CONTENT,
    response_class=Response,
    responses=problems(404),
)
async def delete_agent(agent_id: Id, services: ServicesDep, scope: AdminScope) -> None:
    """Erases the agent with all its memories, for good."""
    await services.agents.delete(scope, agent_id)


@router.get("/{agent_id}/stats", summary="Count what an agent holds", responses=problems(404))
async def agent_stats(agent_id: Id, request: Request, services: ServicesDep, scope: ViewerScope) -> AgentStats:
    return await unless_disconnected(request, services.agents.stats(scope, agent_id))
