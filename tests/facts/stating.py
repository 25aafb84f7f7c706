"""What an agent's memories state, in short words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from engram.facts.ontology.schemas import OntologyRegistered, OntologyUpdate
from engram.facts.triples.schemas import AdapterExpired, AdapterExpiry, Triple
from engram.facts.triples.service import TripleQuestion
from engram.memories.changes.schemas import MemorySet, MemoryUpdate
from engram.memories.schemas import MemoryCreated, MemoryItem
from engram.services import Services
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.spaces import Space

Line = tuple[str, str, str]


@dataclass(frozen=True)
class Teller:
    """An agent's memories and what they state. A relation is given as a list of three texts, or spelt out."""

    space: Space

    @property
    def services(self) -> Services:
        return self.space.services

    async def say(self, content: str, *relations: Any, **fields: Any) -> MemoryCreated:
        return await self.space.remember(content, relations=list(relations), **fields)

    async def set(self, key: str, content: str, *relations: Any, **fields: Any) -> MemoryCreated:
        request = MemorySet(agent_id=self.space.agent_id, key=key, content=content, relations=list(relations), **fields)
        return await self.services.changes.setting.set(DEFAULT_SCOPE, request)

    async def supersede(self, id: str, content: str, *relations: Any) -> MemoryCreated:
        item = MemoryItem(content=content, relations=list(relations))
        return await self.services.changes.setting.supersede(DEFAULT_SCOPE, id, item)

    async def change(self, id: str, **fields: Any) -> None:
        await self.services.changes.revisions.update(DEFAULT_SCOPE, id, MemoryUpdate(**fields))

    async def undo(self, id: str) -> None:
        await self.services.changes.restorations.restore(DEFAULT_SCOPE, id)

    async def delete(self, id: str) -> None:
        await self.space.forget(id)

    async def purge(self, id: str) -> None:
        await self.services.changes.purges.purge(DEFAULT_SCOPE, id)

    async def register(self, **names: Any) -> OntologyRegistered:
        return await self.services.ontologies.register(DEFAULT_SCOPE, self.space.agent_id, OntologyUpdate(**names))

    async def expire(self, adapter: str, **fields: Any) -> AdapterExpired:
        request = AdapterExpiry(agent_id=self.space.agent_id, adapter_name=adapter, **fields)
        return await self.services.triples.expire_by_adapter(DEFAULT_SCOPE, request)

    async def lines(self, *, page: int = 200, **question: Any) -> list[Triple]:
        """Triples in their order, page by page."""
        asked = TripleQuestion(agent_id=self.space.agent_id, **question)
        found: list[Triple] = []
        cursor = None
        while True:
            answer = await self.services.triples.list(DEFAULT_SCOPE, asked, limit=page, cursor=cursor)
            found += answer.data
            cursor = answer.next_cursor
            if cursor is None:
                return found

    async def stated(self, **question: Any) -> dict[Line, Triple]:
        """The same, by what they say."""
        return {said(line): line for line in await self.lines(**question)}

    async def current(self, relation: str = "lives_in", subject: str = "user", at: datetime | None = None) -> set[str]:
        """The values of a relation that have not ended; or those that held at a moment."""
        return {line.object for line in await self.lines(subject=subject, relation=relation, as_of=at)}


def said(line: Triple) -> Line:
    return (line.subject, line.relation, line.object)


def from_(subject: str, predicate: str, object: str, begins: str, ends: str | None = None) -> dict[str, Any]:
    return {
        "subject": subject,
        "predicate": predicate,
        "object": object,
        "valid_from": begins,
        **({"valid_until": ends} if ends is not None else {}),
    }
