"""One agent's view of the client: the same resources, with the agent bound."""

from __future__ import annotations

from uuid import UUID

from engram.agents.schemas import Agent
from engram.client._agent import AgentSender, scoped
from engram.client._arguments import AnyId
from engram.client._methods import Resource, acall, alines, call, lines
from engram.client._request import Operation, Sender
from engram.client.resources.agents import agent_stats, create_agent, export_agent, get_agent, rebuild_links
from engram.client.resources.facts import AgentFacts, AsyncAgentFacts
from engram.client.resources.graph import AsyncGraph, Graph
from engram.client.resources.memories import AgentMemories, AsyncAgentMemories


class _Scope(Resource):
    def __init__(self, sender: Sender, agent: AnyId) -> None:
        super().__init__(AgentSender(sender, _id_or_lookup(agent)))
        self._agent = agent

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._agent)!r})"


class AgentScope(_Scope):
    """What ``Engram.agent`` returns."""

    get = call(scoped(get_agent))
    stats = call(scoped(agent_stats))
    export = lines(scoped(export_agent))
    rebuild_links = call(scoped(rebuild_links))

    def __init__(self, sender: Sender, agent: AnyId) -> None:
        super().__init__(sender, agent)
        self.memories = AgentMemories(self._sender)
        self.graph = Graph(self._sender)
        self.facts = AgentFacts(self._sender)


class AsyncAgentScope(_Scope):
    """What ``AsyncEngram.agent`` returns."""

    get = acall(scoped(get_agent))
    stats = acall(scoped(agent_stats))
    export = alines(scoped(export_agent))
    rebuild_links = acall(scoped(rebuild_links))

    def __init__(self, sender: Sender, agent: AnyId) -> None:
        super().__init__(sender, agent)
        self.memories = AsyncAgentMemories(self._sender)
        self.graph = AsyncGraph(self._sender)
        self.facts = AsyncAgentFacts(self._sender)


def _id_or_lookup(agent: AnyId) -> AnyId | Operation[Agent]:
    if not isinstance(agent, AnyId):
        raise TypeError(f"an agent's id or name is text, not {type(agent).__name__}")
    try:
        UUID(str(agent))
    except ValueError:
        return create_agent(str(agent))
    return agent
