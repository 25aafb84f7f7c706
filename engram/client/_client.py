"""The two clients."""

from __future__ import annotations

from types import TracebackType
from typing import Self

import httpx

from engram.client._arguments import AnyId
from engram.client._connection import AsyncConnection, BlockingConnection, Connection, finish
from engram.client._methods import Resource, acall, call
from engram.client._options import DEFAULT_MAX_RETRIES, DEFAULT_TIMEOUT, Options
from engram.client._scope import AgentScope, AsyncAgentScope
from engram.client._transport import Transport
from engram.client.resources.agents import Agents, AsyncAgents
from engram.client.resources.audit import AsyncAuditLog, AuditLog
from engram.client.resources.facts import AsyncFacts, Facts
from engram.client.resources.graph import AsyncGraph, Graph
from engram.client.resources.health import get_health
from engram.client.resources.jobs import AsyncJobs, Jobs
from engram.client.resources.memories import AsyncMemories, Memories


class _Client(Resource):
    def __init__(self, connection: Connection, options: Options) -> None:
        self._options = options
        self._transport = Transport(connection, options)
        super().__init__(self._transport)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._options.origin!r})"


class Engram(_Client):
    """A client of an Engram server. Safe to share between threads, and usable after a fork.

    Args:
        base_url: Where the server is; default: ``ENGRAM_BASE_URL``, or ``http://127.0.0.1:8080``.
        api_key: Sent as a bearer token; default: ``ENGRAM_API_KEY``, or none.
        timeout: Seconds that connecting, sending and each wait for an answer may take; an ``httpx.Timeout``
            tells them apart; None waits for ever.
        max_retries: How often to try again after connection errors, time-outs, 408, 429 and 5xx.
        http_client: An ``httpx.Client`` to use, with its proxies and certificates but not its time-outs. The
            caller closes it.
        transport: An httpx transport to use instead of the network.

    Raises EngramError where the base URL or the key cannot work.
    """

    def __init__(
        self,
        base_url: str | None = None,
        *,
        api_key: str | None = None,
        timeout: float | httpx.Timeout | None = DEFAULT_TIMEOUT,
        max_retries: int = DEFAULT_MAX_RETRIES,
        http_client: httpx.Client | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        connection = BlockingConnection(http_client, transport)
        super().__init__(connection, Options.given(base_url, api_key, timeout, max_retries))
        self.agents = Agents(self._sender)
        self.memories = Memories(self._sender)
        self.graph = Graph(self._sender)
        self.facts = Facts(self._sender)
        self.audit = AuditLog(self._sender)
        self.jobs = Jobs(self._sender)

    health = call(get_health)

    def agent(self, agent: AnyId) -> AgentScope:
        """The same resources with the agent bound.

        Args:
            agent: The agent's id, or its name. A name is looked up on first use, and the agent created where
                there is none; its id is then kept.
        """
        return AgentScope(self._sender, agent)

    def close(self) -> None:
        """Close the connections. The client cannot be used any more. Closing twice does nothing."""
        finish(self._transport.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class AsyncEngram(_Client):
    """As ``Engram``, with methods to await. Usable from any number of event loops.

    Args:
        base_url: As for ``Engram``, like ``api_key``, ``timeout`` and ``max_retries``.
        http_client: An ``httpx.AsyncClient`` to use; it belongs to one event loop, and the caller closes it.
        transport: An asynchronous httpx transport to use instead of the network, such as
            ``httpx.ASGITransport``.

    Raises EngramError where the base URL or the key cannot work.
    """

    def __init__(
        self,
        base_url: str | None = None,
        *,
        api_key: str | None = None,
        timeout: float | httpx.Timeout | None = DEFAULT_TIMEOUT,
        max_retries: int = DEFAULT_MAX_RETRIES,
        http_client: httpx.AsyncClient | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        connection = AsyncConnection(http_client, transport)
        super().__init__(connection, Options.given(base_url, api_key, timeout, max_retries))
        self.agents = AsyncAgents(self._sender)
        self.memories = AsyncMemories(self._sender)
        self.graph = AsyncGraph(self._sender)
        self.facts = AsyncFacts(self._sender)
        self.audit = AsyncAuditLog(self._sender)
        self.jobs = AsyncJobs(self._sender)

    health = acall(get_health)

    def agent(self, agent: AnyId) -> AsyncAgentScope:
        """The same resources with the agent bound, as in ``Engram.agent``."""
        return AsyncAgentScope(self._sender, agent)

    async def aclose(self) -> None:
        """Close the connections. The client cannot be used any more. Closing twice does nothing."""
        await self._transport.close()

    close = aclose

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()
