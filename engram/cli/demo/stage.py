"""The demo's stage: a database that lives as long as the demo, with the sample in it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic_settings import PydanticBaseSettingsSource

from engram.agents.schemas import AgentCreate
from engram.cli.demo.sample import CONVERSATIONS, LINKS, USER
from engram.graph.schemas import Direction, EdgeCreate
from engram.memories.schemas import MAX_BATCH, MemoryBatch, MemoryItem
from engram.services import Services, open_services
from engram.settings import Settings
from engram.tenants.scope import DEFAULT_SCOPE


class _OwnSettings(Settings):
    """The defaults, whatever the environment says: the demo shows the same on every machine."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[Any],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


@dataclass(frozen=True, slots=True)
class Stage:
    """``texts`` has the memories by id, ``ids`` those with a key in the sample, ``links`` pairs by relation.

    Seconds are those that starting and loading took.
    """

    services: Services
    agent_id: str
    texts: dict[str, str]
    ids: dict[str, str]
    links: dict[str, int]
    starting_seconds: float
    loading_seconds: float


@asynccontextmanager
async def open_stage(folder: Path) -> AsyncIterator[Stage]:
    """Start everything in this process, on an embedded Postgres in ``folder``, and load the sample."""
    began = time.perf_counter()
    async with open_services(_OwnSettings(data_dir=folder)) as services:
        await _rehearse(services)
        started = time.perf_counter()
        agent, _ = await services.agents.create(DEFAULT_SCOPE, AgentCreate(name="demo"))
        texts, ids = await _load(services, agent.id)
        loaded = time.perf_counter()
        links = await _count_links(services, list(texts))
        yield Stage(services, agent.id, texts, ids, links, started - began, loaded - started)


async def _rehearse(services: Services) -> None:
    """Have loaded what a server loads with its first memory, so that the sample's time is that of any other."""
    agent, _ = await services.agents.create(DEFAULT_SCOPE, AgentCreate(name="rehearsal"))
    item = MemoryItem(content="The first of many memories")
    await services.memories.create_many(DEFAULT_SCOPE, MemoryBatch(agent_id=agent.id, items=[item]))


async def _load(services: Services, agent_id: str) -> tuple[dict[str, str], dict[str, str]]:
    keys, items = [], []
    for conversation in CONVERSATIONS:
        began = datetime.fromisoformat(f"{conversation.day}T{conversation.at}").replace(tzinfo=UTC)
        for minute, note in enumerate(conversation.notes):
            keys.append(note.key)
            items.append(
                MemoryItem.model_validate(
                    {
                        "content": note.text,
                        "user_id": USER,
                        "session_id": conversation.id,
                        "tags": [conversation.topic],
                        "valid_from": began + timedelta(minutes=minute),
                        "entities": [{"name": name, "role": "subject"} for name in note.about] + list(note.names),
                    }
                )
            )
    assert len(items) <= MAX_BATCH
    written = await services.memories.create_many(DEFAULT_SCOPE, MemoryBatch(agent_id=agent_id, items=items))
    ids = {key: result.id for key, result in zip(keys, written.results, strict=True) if key}
    for link in LINKS:
        edge = EdgeCreate(
            source_id=ids[link.source], target_id=ids[link.target], relation_type=link.relation, reason=link.reason
        )
        await services.graph.create_edge(DEFAULT_SCOPE, edge)
    texts = {result.id: item.content for result, item in zip(written.results, items, strict=True)}
    return texts, ids


async def _count_links(services: Services, memory_ids: list[str]) -> dict[str, int]:
    """How many pairs of memories each relation connects, the most frequent relation first."""
    seen: set[tuple[str, frozenset[str]]] = set()
    for id in memory_ids:
        page = await services.graph.get_edges(
            DEFAULT_SCOPE,
            id,
            direction=Direction.both,
            relation_types=None,
            min_weight=0.0,
            as_of=None,
            limit=200,
            cursor=None,
        )
        seen |= {(edge.relation_type.value, frozenset((id, edge.target_memory_id))) for edge in page.data}
    return dict(Counter(relation for relation, _ in sorted(seen, key=lambda link: link[0])).most_common())
