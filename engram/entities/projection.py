"""Recognising known names: in new memories, and in earlier ones for names that are new."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from engram.agents.service import AgentService
from engram.entities.canonical import plural_name
from engram.entities.occurring.repository import OccurrenceRepository
from engram.entities.recognition import NameMatcher, openings_in, parts_of
from engram.entities.repository import EntityRepository, Mention
from engram.memories.projections import Settle
from engram.memories.rows import StoredText
from engram.memories.texts import MemoryTexts
from engram.problems import UnavailableProblem
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import Scope
from engram.text.stopwords import stop_words
from engram.text.terms import analyzer_for

SWEEP_LIMIT = 5000
"""Earlier memories searched for a new name, the latest first. It is far beyond the size of a hub, and a hub leads only
toward the memories about it: what lies further back would not change a recall."""

MAX_TEXT_CHARS = 100_000
"""Names are recognised in this much of a text's beginning."""

MAX_ROUNDS = 5
"""How often a group of texts is matched anew because names came meanwhile, before that is left for later."""

GROUP_CHARS = 1_000_000
"""Texts are matched in groups of about this size, so that memory stays flat."""


class EntityProjection:
    """Recognised mentions. What a memory declares is written with it; this adds what is found in texts."""

    name = "entities"

    def __init__(self, database: TenantDatabase, agents: AgentService, texts: MemoryTexts, *, enabled: bool) -> None:
        self._database = database
        self._agents = agents
        self._texts = texts
        self._enabled = enabled

    async def project(self, scope: Scope, agent_id: UUID, memory_ids: Sequence[UUID], settle: Settle) -> None:
        new_names: dict[str, UUID] = {}
        if self._enabled:
            async with self._database.snapshot(scope) as connection:
                language = await self._agents.language(connection, scope, agent_id)
                new_names = await EntityRepository(connection, scope).unswept(agent_id, memory_ids)
            if language is not None:
                ids = await self._with_earlier(scope, agent_id, memory_ids, list(new_names), language)
                await self._recognise(scope, agent_id, ids, stop_words(language))
        async with self._database.transaction(scope) as connection:
            if new_names:
                entities = EntityRepository(connection, scope)
                await entities.mark_swept(agent_id, list(new_names.values()), datetime.now(UTC))
            await settle(connection)

    async def remove_stale(self, scope: Scope, agent_id: UUID, memory_ids: Sequence[UUID]) -> None:
        """Nothing is left to do: what is recognised in a text takes the place of all that was."""

    async def _with_earlier(
        self, scope: Scope, agent_id: UUID, memory_ids: Sequence[UUID], names: list[str], language: str
    ) -> list[UUID]:
        """These memories and the earlier ones in which a new name may stand."""
        phrases = await asyncio.to_thread(_phrases, names, language)
        if not phrases:
            return list(memory_ids)
        async with self._database.snapshot(scope) as connection:
            earlier = await self._texts.holding_all(connection, scope, agent_id, phrases, SWEEP_LIMIT)
        return sorted({*memory_ids, *earlier})

    async def _recognise(
        self, scope: Scope, agent_id: UUID, memory_ids: Sequence[UUID], ignored: frozenset[str]
    ) -> None:
        for start in range(0, len(memory_ids), 1000):
            async with self._database.snapshot(scope) as connection:
                texts = await self._texts.read(
                    connection, scope, agent_id, memory_ids[start : start + 1000], max_chars=MAX_TEXT_CHARS
                )
            for group in _groups(texts):
                await self._recognise_group(scope, agent_id, group, ignored)

    async def _recognise_group(
        self, scope: Scope, agent_id: UUID, texts: Sequence[StoredText], ignored: frozenset[str]
    ) -> None:
        parts, offered = await asyncio.to_thread(_read, texts)
        async with self._database.snapshot(scope) as connection:
            names = await EntityRepository(connection, scope).named_in(agent_id, offered)
        for _ in range(MAX_ROUNDS):
            found = await asyncio.to_thread(_mentions, texts, parts, names, ignored)
            async with self._database.transaction(scope) as connection:
                entities = EntityRepository(connection, scope)
                await self._agents.hold(connection, scope, agent_id)
                # One whose text changed meanwhile is owed this anew.
                standing = await self._texts.lock(connection, scope, agent_id, texts)
                known = await entities.named_in(agent_id, offered)
                if known == names:
                    mentions = [mention for mention in found if mention.memory_id in standing]
                    changed = await entities.replace_recognized(agent_id, sorted(standing), mentions)
                    if changed:
                        await OccurrenceRepository(connection, scope).recount(agent_id, changed)
                    return
            # Another writer declared a name meanwhile. What it found in these memories must not be taken away again.
            names = known
        raise UnavailableProblem("Names were declared faster than texts could be searched for them.")


def _phrases(names: Sequence[str], language: str) -> list[list[str]]:
    """The terms of each name, and of its plural where they are others: a stemmer knows few plurals, and in some
    languages none of English. Of a name made only of stop words there are none, and it is never recognised."""
    analyzer = analyzer_for(language)
    phrases = dict.fromkeys(tuple(analyzer.query_terms(form)) for name in names for form in (name, plural_name(name)))
    return [list(terms) for terms in phrases if terms]


def _groups(texts: Sequence[StoredText]) -> list[list[StoredText]]:
    groups: list[list[StoredText]] = []
    size = GROUP_CHARS
    for text in texts:
        if size >= GROUP_CHARS:
            groups.append([])
            size = 0
        groups[-1].append(text)
        size += len(text.content)
    return groups


def _read(texts: Sequence[StoredText]) -> tuple[list[list[str]], set[str]]:
    """The words of each text, and the openings of which a name could stand in one."""
    parts = [parts_of(text.content) for text in texts]
    return parts, set().union(*map(openings_in, parts))


def _mentions(
    texts: Sequence[StoredText], parts: Sequence[Sequence[str]], names: dict[str, UUID], ignored: frozenset[str]
) -> list[Mention]:
    matcher = NameMatcher(names, ignored=ignored)
    return [
        Mention(text.id, names[name], is_subject=False, recognized=True)
        for text, words in zip(texts, parts, strict=True)
        for name in sorted(matcher.find_in(text.content, words))
    ]
