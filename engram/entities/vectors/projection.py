"""Making the vectors of what memories name.

That of an entity is made when it is first named, and again as the number of the memories that name it doubles: a write
embeds little more than the names that are new. It goes with any memory of which it was made.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

import numpy as np

from engram.agents.service import AgentService
from engram.embeddings.base import Embedder, Vectors
from engram.entities.vectors.repository import EntityVectorRepository, Made
from engram.entities.vectors.service import ENTITY_VECTORS
from engram.entities.vectors.telling import Group, Telling, TellingRepository
from engram.entities.vectors.texts import EntityText, entity_text
from engram.memories.projections import Settle
from engram.memories.vectors import VectorIndex
from engram.problems import UnavailableProblem
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import Scope

AT_ONCE = 500
"""Entities whose texts are embedded in one call, and written in one transaction."""

MAX_ROUNDS = 5
"""How often texts are read anew because their memories changed meanwhile, before that is left for later."""

CHANGING = "Memories changed faster than vectors could be made of what they name."


class EntityVectorProjection:
    name = ENTITY_VECTORS

    def __init__(self, database: TenantDatabase, agents: AgentService, embedder: Embedder, index: VectorIndex) -> None:
        self._database = database
        self._agents = agents
        self._embedder = embedder
        self._index = index

    async def project(self, scope: Scope, agent_id: UUID, memory_ids: Sequence[UUID], settle: Settle) -> None:
        """Raises what the embedder raises. What was made before that stands, and is not made again."""
        for _ in range(MAX_ROUNDS):
            await self._make(scope, agent_id, memory_ids, due=True)
            async with self._database.transaction(scope) as connection:
                rows = EntityVectorRepository(connection, scope, agent_id)
                # What stood a moment ago may go with a memory of which it was made. From here on whoever takes it
                # away finds these memories among those that tell of the entity.
                await rows.hold()
                if await rows.all_stand(memory_ids):
                    return await settle(connection)
        raise UnavailableProblem(CHANGING)

    async def remove_stale(self, scope: Scope, agent_id: UUID, memory_ids: Sequence[UUID]) -> None:
        """All that these memories name is made as if it were new: what stands may be of other texts by now, or of
        none."""
        await self._make(scope, agent_id, memory_ids, due=False)

    async def _make(self, scope: Scope, agent_id: UUID, memory_ids: Sequence[UUID], *, due: bool) -> None:
        async with self._database.snapshot(scope) as connection:
            groups = await TellingRepository(connection, scope, agent_id).named(memory_ids, due=due)
        for start in range(0, len(groups), AT_ONCE):
            await self._make_these(scope, agent_id, groups[start : start + AT_ONCE])

    async def _make_these(self, scope: Scope, agent_id: UUID, groups: Sequence[Group]) -> None:
        for _ in range(MAX_ROUNDS):
            async with self._database.snapshot(scope) as connection:
                told = await TellingRepository(connection, scope, agent_id).telling(groups)
            telling = [one for one in told if one.memories]
            texts = await asyncio.to_thread(_texts, telling)
            pairs = list(zip(telling, texts, strict=True))
            new = [(one, text) for one, text in pairs if one.digest != text.digest]
            same = [(one, text) for one, text in pairs if one.digest == text.digest]
            vectors = await self._embedded([text.text for _, text in new])
            silent = [one.group for one in told if not one.memories and one.digest is not None]
            if not (pairs or silent):
                return
            async with self._database.transaction(scope) as connection:
                await self._agents.hold(connection, scope, agent_id)
                rows = EntityVectorRepository(connection, scope, agent_id)
                if silent:
                    await rows.hold(alone=True)
                if not await rows.unchanged(dict(memory for one in telling for memory in one.memories)):
                    continue
                await rows.lock(groups)
                if silent:
                    await rows.remove_silent(silent)
                if same:
                    await rows.keep([_made(*pair) for pair in same])
                if new:
                    await rows.write([_made(*pair) for pair in new], vectors, self._index, datetime.now(UTC))
            return
        raise UnavailableProblem(CHANGING)

    async def _embedded(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self._index.dimension), dtype=np.float32)
        return (await self._embedder.embed_passages(texts)).vectors


def _texts(telling: Sequence[Telling]) -> list[EntityText]:
    return [entity_text(one.name, one.display_name, one.contents) for one in telling]


def _made(one: Telling, text: EntityText) -> Made:
    return Made(one.group, [id for id, _ in one.memories], one.mentions, text.digest)
