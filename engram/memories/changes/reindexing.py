"""Taking what finds a memory out of the index, and putting in what its row says now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.embeddings.base import Vectors
from engram.entities.declaration import Declaration, declare
from engram.entities.proposals import proposed_names
from engram.entities.service import EntityService
from engram.memories.indexing import terms_of
from engram.memories.postings import Postings
from engram.memories.repository import MemoryRepository
from engram.memories.rows import IndexedTerms
from engram.memories.schemas import Sensitivity
from engram.memories.vectors import VectorIndex
from engram.tenants.scope import Scope
from engram.text.stopwords import stop_words


@dataclass(frozen=True, slots=True)
class Indexed:
    """What a memory is found by, ready to be written; ``passages`` has the shape (passages, dimension)."""

    terms: dict[UUID, IndexedTerms]
    postings: Postings
    declaration: Declaration
    passages: Vectors | None


def indexed(
    id: UUID,
    content: str,
    *,
    declared: Sequence[Mapping[str, str]],
    relations: Sequence[Mapping[str, Any]] = (),
    quantities: Sequence[Mapping[str, Any]] = (),
    sensitivity: str = Sensitivity.normal,
    withheld: bool = False,
    session_id: str | None,
    valid_from: datetime,
    language: str,
    passages: Vectors | None,
    propose_names: bool,
) -> Indexed:
    """Work for a thread. Without ``passages`` those that stand are left. For what is sensitive no names are proposed,
    and of what is withheld none are declared."""
    terms = {
        id: terms_of(
            content,
            declared=declared,
            relations=() if withheld else relations,
            session_id=session_id,
            valid_from=valid_from,
            language=language,
        )
    }
    names = [(entity["name"], entity["role"] == "subject") for entity in declared]
    ends = [name for relation in relations for name in (relation["subject"], relation["object"])]
    ends += [quantity["entity"] for quantity in quantities]
    proposes = propose_names and sensitivity == Sensitivity.normal
    proposals = {id: proposed_names(content, stop_words(language))} if proposes else {}
    declaration = declare({}, {}) if withheld else declare({id: names}, proposals, {id: ends})
    return Indexed(terms, Postings(terms), declaration, passages)


class Reindexing:
    """In a transaction that has locked the memory."""

    def __init__(self, index: VectorIndex, entities: EntityService) -> None:
        self._index = index
        self._entities = entities

    async def replace(
        self, connection: AsyncConnection, scope: Scope, agent_id: UUID, id: UUID, found_by: Indexed, *, standing: bool
    ) -> None:
        """Put in terms and declared names, and the passages where there are any, in place of those that are
        ``standing`` in the index. Names are recognised anew by what follows a write.

        Names go first and counts last, as in every write: two that change what they share wait, and do not deadlock.
        """
        memories = MemoryRepository(connection, scope)
        if standing:
            await self._entities.forget(connection, scope, agent_id, [id])
        await self._entities.declare(connection, scope, agent_id, found_by.declaration)
        if standing:
            await memories.remove_terms(agent_id, [id])
        await memories.add_terms(agent_id, found_by.postings, found_by.terms)
        if found_by.passages is None:
            return
        await memories.remove_passages(agent_id, [id])
        await memories.add_passages(agent_id, self._index.model_id, {id: found_by.passages})
