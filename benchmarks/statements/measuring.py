"""What lists of triples, of memories by what they name, and of entities take, of a large agent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from random import Random
from typing import Any
from uuid import UUID

from benchmarks.figures import Figure, Sheet
from benchmarks.store import Store
from benchmarks.timing import alternate
from engram.entities.memories.schemas import TimeOrder
from engram.facts.triples.schemas import TripleSort
from engram.facts.triples.service import TripleQuestion
from engram.memories.criteria import PastCriteria
from engram.memories.seen import Seen
from engram.services import Services
from engram.tenants.scope import DEFAULT_SCOPE

PAGE = 50

Job = Callable[[int], Awaitable[Any]]


async def measure(store: Store, services: Services, agent_id: UUID, questions: int) -> list[Figure]:
    """Percentiles of each read; those of the whole agent are asked a fifth as often."""
    sheet, chance = Sheet("statements", store.size), Random("statements")
    async with store.connection() as connection:
        held = await connection.fetchrow(
            """
            SELECT (SELECT count(*) FROM memories WHERE agent_id = $1) AS memories,
                (SELECT count(*) FROM facts WHERE agent_id = $1) AS facts,
                (SELECT count(*) FROM entities WHERE agent_id = $1) AS entities
            """,
            agent_id,
        )
        rows = await connection.fetch(
            """
            SELECT e.name FROM entity_degrees d JOIN entities e ON e.agent_id = $1 AND e.id = d.entity_id
            WHERE d.agent_id = $1 ORDER BY d.degree DESC, e.name
            """,
            agent_id,
        )
        ids = await connection.fetch(
            "SELECT id FROM memories WHERE agent_id = $1 ORDER BY md5(id::text) LIMIT 500", agent_id
        )
    names = [row["name"] for row in rows]
    asked = [chance.choice(names) for _ in range(questions)]
    memories = [str(chance.choice(ids)["id"]) for _ in range(questions)]
    assert held is not None  # a SELECT without FROM gives a row
    for name, number in dict(held).items():
        sheet.add(name, number, name, better="higher")
    reads = _Reads(services, str(agent_id), asked, memories)
    for jobs, often in ((reads.narrow(names[0]), questions), (reads.wide(), max(3, questions // 20))):
        await alternate(jobs, max(2, often // 10))
        for name, times in (await alternate(jobs, often)).items():
            sheet.latency(name, times)
    return sheet.figures


class _Reads:
    """Each of a number of entities, or of memories."""

    def __init__(self, services: Services, agent_id: str, entities: list[str], memories: list[str]) -> None:
        self._services = services
        self._agent_id = agent_id
        self._entities = entities
        self._memories = memories

    def narrow(self, hub: str) -> dict[str, Job]:
        """Of an entity, or a memory."""
        now = datetime.now(UTC)

        def of(read: Callable[[str], Awaitable[Any]]) -> Job:
            return lambda number: read(self._entities[number])

        def seen_from(number: int) -> tuple[Any, ...]:
            return DEFAULT_SCOPE, self._memories[number], Seen()

        memories = self._services.entity_memories
        return {
            "triples of a subject": of(lambda name: self._triples(subject=name)),
            "triples of an entity, with sources": of(
                lambda name: self._triples(entity=name, include_sources=True, include_source_status=True)
            ),
            "triples of an entity, as of a moment": of(lambda name: self._triples(entity=name, as_of=now)),
            "triples of an entity, as known": of(lambda name: self._triples(entity=name, known_at=now)),
            "triples of the largest hub": lambda _: self._triples(entity=hub, include_sources=True),
            "timeline of an entity": of(self._timeline),
            "timeline of the largest hub": lambda _: self._timeline(hub),
            "related memories": lambda number: memories.related(*seen_from(number), limit=PAGE),
            "backlinks": lambda number: memories.backlinks(*seen_from(number), limit=PAGE, cursor=None),
            "taxonomy": lambda _: self._services.taxonomy.taxonomy(DEFAULT_SCOPE, self._agent_id, limit=PAGE),
        }

    def wide(self) -> dict[str, Job]:
        """Of all that the agent holds."""
        now = datetime.now(UTC)
        return {
            "all triples": lambda _: self._triples(),
            "all triples, by recency": lambda _: self._triples(sort_by=TripleSort.recency),
            "all triples, with sources": lambda _: self._triples(include_sources=True, include_source_status=True),
            "all triples, as of a moment": lambda _: self._triples(as_of=now),
        }

    def _triples(self, **wanted: Any) -> Awaitable[Any]:
        question = TripleQuestion(agent_id=self._agent_id, **wanted)
        return self._services.triples.list(DEFAULT_SCOPE, question, limit=PAGE, cursor=None)

    def _timeline(self, name: str) -> Awaitable[Any]:
        return self._services.entity_memories.timeline(
            DEFAULT_SCOPE,
            self._agent_id,
            name,
            PastCriteria(),
            superseded=False,
            order=TimeOrder.newest,
            limit=PAGE,
            cursor=None,
        )
