"""Asking a real server over HTTP, as any client would."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx

from benchmarks.facts.sets import Item
from benchmarks.serving import serving
from benchmarks.store import Store

BATCH = 1000
_PAGE = 200
_SECONDS = 120.0


class Client:
    """One agent of a server."""

    def __init__(self, http: httpx.AsyncClient, agent_id: str) -> None:
        self._http = http
        self.agent_id = agent_id

    def of(self, agent_id: str) -> Client:
        """The same, asking about another agent."""
        return Client(self._http, agent_id)

    async def load(self, items: Sequence[Item]) -> float:
        """Append facts in batches of 1,000, one after the other: facts a second."""
        started = time.perf_counter()
        for first in range(0, len(items), BATCH):
            await self._post("/v1/facts/batch", {"items": list(items[first : first + BATCH])})
        return len(items) / (time.perf_counter() - started)

    async def facts(self, **asked: str) -> list[dict[str, Any]]:
        """All pages of a query."""
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        while True:
            params: dict[str, Any] = {"agent_id": self.agent_id, "limit": _PAGE, **asked}
            response = await self._http.get("/v1/facts", params=params | ({"cursor": cursor} if cursor else {}))
            page = response.raise_for_status().json()
            found += page["data"]
            cursor = page["next_cursor"]
            if cursor is None:
                return found

    async def recall_graph(self, query: str, *, hops: int, limit: int) -> dict[str, Any]:
        return await self._post("/v1/facts/recall-graph", {"query": query, "hops": hops, "limit": limit})

    async def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        response = await self._http.post(path, json={"agent_id": self.agent_id, **body})
        answer: dict[str, Any] = response.raise_for_status().json()
        return answer


@asynccontextmanager
async def connected(url: str, name: str) -> AsyncIterator[Client]:
    """A new agent of that name."""
    async with httpx.AsyncClient(base_url=url, timeout=_SECONDS) as http:
        response = await http.post("/v1/agents", json={"name": name})
        yield Client(http, response.raise_for_status().json()["id"])


@asynccontextmanager
async def served(store: Store, name: str) -> AsyncIterator[Client]:
    """The same, with a server of its own."""
    async with serving(store) as server, connected(server.url, name) as client:
        yield client
