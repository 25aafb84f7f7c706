"""Whether filtered recalls give as many memories as there are, up to ``top_k``, counted by SQL of our own."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg

from benchmarks.bench import Bench
from benchmarks.figures import Figure, at_least
from benchmarks.timing import Times
from engram.recall.schemas import RecallRequest
from engram.tenants.scope import DEFAULT_SCOPE

TOP_K = 50
_LATEST = (10, 40, 500)
"""How many memories the filters on time let through."""

_QUESTIONS = 20
"""A filter is asked so many questions at most: what it lets through does not depend on them."""


@dataclass(frozen=True, slots=True)
class _Filter:
    """A filter as a recall takes it, and as a condition in SQL with one parameter, if any."""

    name: str
    fields: dict[str, Any]
    condition: str
    value: Any = None


async def measure(bench: Bench) -> list[Figure]:
    sheet = bench.sheet("filters")
    agent_id = (await bench.store.agent_ids())[0]
    async with bench.store.services() as services, bench.store.connection() as connection:
        filters = [
            *_FILTERS,
            *[await _latest(connection, agent_id, count) for count in _LATEST if count <= bench.store.size.memories],
        ]
        for one in filters:
            ids = await _matching(connection, agent_id, one)
            fewest, times = TOP_K, Times()
            for question in bench.asked(seed=41)[:_QUESTIONS]:
                request = RecallRequest(agent_id=agent_id, query=question, top_k=TOP_K, **one.fields)
                response = await times.of(services.recall.recall(DEFAULT_SCOPE, request))
                fewest = min(fewest, len({UUID(hit.id) for hit in response.results} & ids))
            wanted = min(TOP_K, len(ids))
            name = f"{one.name}: {len(ids):,} match"
            beside = ("brute force", float(wanted))
            sheet.add(f"{name}, fewest found", fewest, "rows", better="higher", beside=beside, target=at_least(1.0))
            sheet.add(f"{name}, median time", times.milliseconds(50), "ms")
    return sheet.figures


async def _matching(connection: asyncpg.Connection, agent_id: str, one: _Filter) -> set[UUID]:
    values = [] if one.value is None else [one.value]
    rows = await connection.fetch(
        f"SELECT id FROM memories WHERE agent_id = $1 AND status = 'current' AND {one.condition}",
        UUID(agent_id),
        *values,
    )
    return {row["id"] for row in rows}


async def _latest(connection: asyncpg.Connection, agent_id: str, count: int) -> _Filter:
    """The time filter that lets the latest ``count`` through."""
    since: datetime = await connection.fetchval(
        f"SELECT valid_from FROM memories WHERE agent_id = $1 ORDER BY valid_from DESC OFFSET {count - 1:d} LIMIT 1",
        UUID(agent_id),
    )
    return _Filter(f"the latest {count}", {"valid_from": since}, "valid_from >= $2", since)


_FILTERS = [
    _Filter("metadata, a third", {"metadata": {"channel": "mail"}}, "metadata->>'channel' = $2", "mail"),
    _Filter("metadata, a thousand", {"metadata": {"batch": 0}}, "metadata->'batch' = '0'::jsonb"),
    _Filter(
        "metadata, two conditions",
        {"metadata": {"channel": "call", "batch": {"lt": 1}}},
        "metadata->>'channel' = 'call' AND (metadata->>'batch')::int < 1",
    ),
    _Filter("tag", {"tags": ["tag-03"]}, "'tag-03' = ANY (tags)"),
    _Filter("user", {"user_id": "user-05"}, "user_id = $2", "user-05"),
    _Filter("session", {"session_id": "session-000002"}, "session_id = $2", "session-000002"),
    _Filter(
        "user, tag and metadata",
        {"user_id": "user-01", "tags": ["tag-07"], "metadata": {"channel": "chat"}},
        "user_id = 'user-01' AND 'tag-07' = ANY (tags) AND metadata->>'channel' = 'chat'",
    ),
]
