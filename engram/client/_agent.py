"""Operations with the agent bound."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Concatenate, Generic, ParamSpec, TypeVar

import httpx

from engram.agents.schemas import Agent
from engram.client._arguments import AnyId
from engram.client._request import M, Operation, Request, Sender

P = ParamSpec("P")
T = TypeVar("T")


class AgentSender:
    """A sender that knows its agent: by id, or by the operation that finds it, performed on first use.

    Two threads or tasks may both find it first; as finding changes nothing, no lock is needed.
    """

    def __init__(self, sender: Sender, agent: AnyId | Operation[Agent]) -> None:
        self._sender = sender
        self._agent = agent

    async def send(self, request: Request[M]) -> M:
        return await self._sender.send(request)

    async def begin(self, request: Request[M]) -> httpx.Response:
        return await self._sender.begin(request)

    async def agent_id(self) -> AnyId:
        if not isinstance(self._agent, AnyId):
            self._agent = (await self._agent.perform(self._sender)).id
        return self._agent


@dataclass(frozen=True, slots=True)
class _Scoped(Generic[T]):
    """An operation that is known as soon as its agent is."""

    operation: Callable[[AnyId], Operation[T]]

    async def perform(self, sender: Sender) -> T:
        assert isinstance(sender, AgentSender), "only a scope's resources have scoped methods"
        return await self.operation(await sender.agent_id()).perform(sender)


def scoped(endpoint: Callable[Concatenate[AnyId, P], Operation[T]]) -> Callable[P, Operation[T]]:
    """The endpoint without its first argument, the agent, which the scope supplies."""

    @functools.wraps(endpoint)
    def bound(*args: P.args, **kwargs: P.kwargs) -> Operation[T]:
        return _Scoped(lambda agent_id: endpoint(agent_id, *args, **kwargs))

    signature = inspect.signature(endpoint)
    bound.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=list(signature.parameters.values())[1:]
    )
    return bound
