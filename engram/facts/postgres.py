"""Facts in Postgres, without a server: what a server does over HTTP, in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from uuid import UUID

from pydantic import SecretStr

from engram.agents.schemas import AgentCreate
from engram.agents.service import AgentService
from engram.db.database import Database
from engram.db.owner import opened_by_owner, reachable
from engram.facts.paths import Paths
from engram.facts.repository import FactFilter
from engram.facts.schemas import MAX_BATCH, Fact, FactBatch, FactItem, MergeCreate
from engram.facts.service import FactService
from engram.problems import NotFoundProblem
from engram.settings import Settings
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import DEFAULT_SCOPE, Scope


class PostgresFactStore:
    """The facts of one agent. ``recorded_at`` is the store's to say: what a fact brings of that is not kept.

    Appends of one subject and predicate wait for each other, in whatever process.
    """

    def __init__(self, facts: FactService, scope: Scope, agent_id: str) -> None:
        self._facts = facts
        self._scope = scope
        self._agent_id = agent_id

    @classmethod
    @asynccontextmanager
    async def connect(cls, url: str | None = None, *, agent: str) -> AsyncIterator[PostgresFactStore]:
        """Open the facts of an agent, which is made where there is none.

        Args:
            url: A Postgres with pgvector; default: what ``ENGRAM_DATABASE_URL`` says, else the embedded one. Its
                schema is brought to the newest revision.
            agent: The agent's name.

        Raises ConfigurationProblem where the database cannot serve, UnavailableProblem where it does not answer.
        """
        settings = Settings() if url is None else Settings(database_url=SecretStr(url))
        async with reachable(settings) as urls:
            async with opened_by_owner(urls, settings):
                database = await Database.connect(urls.server, settings)
            try:
                tenants = TenantDatabase(database)
                agents = AgentService(tenants)
                found, _ = await agents.create(DEFAULT_SCOPE, AgentCreate(name=agent))
                yield cls(FactService(tenants, agents), DEFAULT_SCOPE, found.id)
            finally:
                await database.close()

    async def append(self, fact: Fact) -> str:
        """Store a fact, end what it supersedes, and give its id. Raises ConflictProblem where the id is taken."""
        (id,) = await self.append_many([fact])
        return id

    async def append_many(self, facts: Iterable[Fact]) -> list[str]:
        """Store facts in their order, and give their ids: each thousand all or none."""
        ids: list[str] = []
        waiting = list(facts)
        for first in range(0, len(waiting), MAX_BATCH):
            part = waiting[first : first + MAX_BATCH]
            request = FactBatch.model_construct(agent_id=self._agent_id, items=[_item(fact) for fact in part])
            done = await self._facts.append_many(self._scope, request, [UUID(fact.id) for fact in part])
            ids += done.ids
        return ids

    async def query(
        self,
        *,
        subject: str | None = None,
        predicate: str | None = None,
        object_: str | None = None,
        valid_at: datetime | None = None,
        known_at: datetime | None = None,
        limit: int = 10,
        user_id: str | None = None,
    ) -> Sequence[Fact]:
        """Facts of a user that are spelt so, the one learnt last first; superseded ones too, without ``valid_at``.

        ``known_at``: as the store knew it at this moment.
        """
        if limit < 1:
            return []
        wanted = FactFilter(user_id=user_id, subject=subject, predicate=predicate, object=object_)
        page = await self._facts.query(
            self._scope, self._agent_id, wanted, valid_at=valid_at, known_at=known_at, limit=limit
        )
        return page.data

    async def get(self, id: str) -> Fact | None:
        """A fact that is believed, by its id."""
        try:
            return await self._facts.get(self._scope, id)
        except NotFoundProblem:
            return None

    async def delete(self, id: str) -> bool:
        """Believe a fact no longer; what it superseded stays superseded. Whether there was one."""
        try:
            await self._facts.delete(self._scope, id)
        except NotFoundProblem:
            return False
        return True

    async def count(self, *, user_id: str | None = None) -> int:
        """Facts of a user, superseded ones included."""
        return await self._facts.count(self._scope, self._agent_id, FactFilter(user_id=user_id))

    async def merge(self, name: str, other: str) -> str:
        """Make two names one node for good, and say by which it goes. Raises ConflictProblem where they are one, and
        InvalidInputProblem for spellings of one name."""
        request = MergeCreate(agent_id=self._agent_id, name=name, other=other)
        return (await self._facts.merges.merge(self._scope, request)).canonical

    async def walk(
        self,
        query: str,
        *,
        user_id: str | None,
        hops: int,
        valid_at: datetime | None,
        limit: int,
        known_at: datetime | None = None,
    ) -> Paths:
        """What ``recall_graph`` gives over all facts of the user, whatever their number."""
        return await self._facts.recall_graph(
            self._scope,
            self._agent_id,
            query,
            user_id=user_id,
            hops=hops,
            valid_at=valid_at,
            known_at=known_at,
            limit=limit,
        )

    async def aclose(self) -> None:
        """What ``connect`` opened is closed with its block."""


def _item(fact: Fact) -> FactItem:
    return FactItem.model_construct(**{name: getattr(fact, name) for name in FactItem.model_fields})
