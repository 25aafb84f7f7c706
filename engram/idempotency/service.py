"""Writes that may be repeated: the first answer under a key is kept, and given again.

An answer is kept after its write was committed. Where the server dies between the two, or the answer is too long to be
kept, a repeat is carried out again. That is harmless: what a write stores is keyed by its content or its name, so it is
there once however often it is written. But such a repeat may be answered otherwise: a memory says ``deduplicated``, and
what is already deleted is not found.

Within one process, requests with one key wait for one another. Two processes may carry out the same one at the same
moment; whichever keeps its answer first has answered for both. Only of deletions that meet so closely that one is done
and its answer is not kept yet, the other is told that there is nothing to delete.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

import structlog

from engram.agents.service import AgentService
from engram.db.database import Database
from engram.idempotency.budget import Budget
from engram.idempotency.repository import AnswerRepository, ExpiredAnswers, KeptAnswer
from engram.problems import ConflictProblem, InvalidInputProblem, NotFoundProblem, UnavailableProblem
from engram.telemetry.errors import described
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import Scope

log = structlog.get_logger(__name__)

KEPT_FOR = timedelta(hours=24)

MAX_KEPT_BYTES = 100_000
"""Longer answers are not kept: those to memories of about as many characters. A batch of a thousand is shorter."""

BUDGET_BYTES = 64_000_000
BUDGET_SECONDS = 3600.0
"""What is kept for one API key in an hour. Beyond it repeats are carried out again, and the disk does not fill."""

MAX_WAITING = 32
"""Requests that wait for one that is under way with the same key: each has a place that others could have."""

MAX_RUNNING = 10_000
"""Requests that others may wait for. Beyond, twins do not know of each other, as those of other processes do not."""

SWEEP_BATCH = 1000

KEY_HEADER = "Idempotency-Key"


@dataclass(frozen=True, slots=True)
class Subject:
    """Whose texts an answer may hold: an agent, or the agent of a memory."""

    agent_id: UUID | None = None
    memory_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """``subject`` is None for an answer that holds nothing of anybody. ``replayed`` is set on one that is given
    again."""

    status: int
    body: bytes
    subject: Subject | None
    replayed: bool = False

    @property
    def succeeded(self) -> bool:
        return 200 <= self.status < 300


CarryOut = Callable[[], Awaitable[Answer]]


class IdempotencyService:
    def __init__(self, database: Database, tenants: TenantDatabase, agents: AgentService) -> None:
        self._database = database
        self._tenants = tenants
        self._agents = agents
        self._running: dict[bytes, _Running] = {}
        self._budget = Budget(BUDGET_BYTES, BUDGET_SECONDS)

    async def once(self, scope: Scope, key: str, fingerprint: bytes, carry_out: CarryOut) -> Answer:
        """The answer to the write that the scope sends under ``key``: the one that is kept, or that of ``carry_out``.

        ``fingerprint`` is of the whole request. Raises InvalidInputProblem where the key stands for another request,
        UnavailableProblem where too many wait for the same one, and what ``carry_out`` raises: such failures are not
        kept, and the same request may be tried again.
        """
        digest = digest_of(*_owner(scope), key.encode())
        while (first := self._running.get(digest)) is not None:
            answered = await first.wait(fingerprint)
            if answered is not None:
                return _again(answered, fingerprint)
        mine = _Running(fingerprint)
        if len(self._running) < MAX_RUNNING:
            self._running[digest] = mine
        answer = None
        try:
            answer = await self._first(scope, digest, fingerprint, carry_out)
        finally:
            # Whoever waits for a write that failed tries by itself.
            if self._running.get(digest) is mine:
                del self._running[digest]
            succeeded = answer is not None and answer.succeeded
            mine.answered(KeptAnswer(fingerprint, answer.status, answer.body) if answer and succeeded else None)
        return answer

    async def _first(self, scope: Scope, digest: bytes, fingerprint: bytes, carry_out: CarryOut) -> Answer:
        kept = await self._find(scope, digest)
        if kept is not None:
            return _again(kept, fingerprint)
        try:
            answer = await carry_out()
        except (NotFoundProblem, ConflictProblem):
            # Another process may have done the same meanwhile, and left nothing to do.
            kept = await self._find(scope, digest)
            if kept is None or kept.fingerprint != fingerprint:
                raise
            return _again(kept, fingerprint)
        if not answer.succeeded or not self._may_keep(scope, len(answer.body)):
            return answer
        try:
            other = await self._keep(scope, digest, KeptAnswer(fingerprint, answer.status, answer.body), answer.subject)
        except Exception as error:
            # The write stands, and its caller shall know.
            log.warning("idempotency.not_kept", error=described(error))
            return answer
        if other is None or other.fingerprint != fingerprint:
            return answer
        return _again(other, fingerprint)

    def _may_keep(self, scope: Scope, size: int) -> bool:
        if size > MAX_KEPT_BYTES:
            return False
        allowed = self._budget.allows(_owner(scope), size)
        if not allowed:
            log.warning("idempotency.budget_spent", key=scope.key.prefix if scope.key is not None else None)
        return allowed

    async def _find(self, scope: Scope, digest: bytes) -> KeptAnswer | None:
        async with self._tenants.transaction(scope) as connection:
            return await AnswerRepository(connection, scope).find(digest, datetime.now(UTC))

    async def _keep(
        self, scope: Scope, digest: bytes, answer: KeptAnswer, subject: Subject | None
    ) -> KeptAnswer | None:
        """Keep an answer, and give the one that somebody else kept before, if there is one.

        Raises NotFoundProblem where the agent was erased meanwhile: nothing of it is kept then.
        """
        now = datetime.now(UTC)
        async with self._tenants.transaction(scope, durable=False) as connection:
            answers = AnswerRepository(connection, scope)
            agent_id = subject.agent_id if subject is not None else None
            if subject is not None:
                if subject.memory_id is not None:
                    agent_id = await answers.agent_of(subject.memory_id)
                if agent_id is None:
                    raise NotFoundProblem("The agent was deleted in the same moment.")
                await self._agents.hold(connection, scope, agent_id)
            if await answers.insert(digest, answer, agent_id, now, now + KEPT_FOR):
                return None
            other = await answers.find(digest, now)
            if other is None:
                await answers.remove_expired(digest, now)
                await answers.insert(digest, answer, agent_id, now, now + KEPT_FOR)
            return other

    async def sweep(self) -> int:
        """Remove answers whose time is over, a bounded number; how many there were."""
        now = datetime.now(UTC)
        return await self._database.ask(lambda connection: ExpiredAnswers(connection).forget(now, SWEEP_BATCH))

    async def sweep_forever(self, pause: float) -> None:
        """Sweep every ``pause`` seconds, until cancelled."""
        while True:
            try:
                while await self.sweep() >= SWEEP_BATCH:
                    pass
            except Exception as error:
                log.warning("idempotency.sweep_failed", error=described(error))
            await asyncio.sleep(pause)


class _Running:
    """A request that is being carried out, and those that wait for it."""

    def __init__(self, fingerprint: bytes) -> None:
        self._fingerprint = fingerprint
        self._answer: asyncio.Future[KeptAnswer | None] = asyncio.get_running_loop().create_future()
        self._waiting = 0

    async def wait(self, fingerprint: bytes) -> KeptAnswer | None:
        """The answer, or None where it failed. Another request is refused at once, and so is one too many."""
        if fingerprint != self._fingerprint:
            raise _other_request()
        if self._waiting >= MAX_WAITING:
            raise UnavailableProblem("The same request is being carried out, and others wait for it.", retry_after=1)
        self._waiting += 1
        try:
            return await asyncio.shield(self._answer)
        finally:
            self._waiting -= 1

    def answered(self, answer: KeptAnswer | None) -> None:
        self._answer.set_result(answer)


def digest_of(*parts: bytes) -> bytes:
    """A digest of parts in order, wherever one ends and the next begins."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()


def _owner(scope: Scope) -> tuple[bytes, bytes]:
    """Who may ask for an answer again: one API key of one tenant, or whoever asks a server that has none."""
    return scope.tenant_id.bytes, scope.key.id.bytes if scope.key is not None else b"anonymous"


def _again(kept: KeptAnswer, fingerprint: bytes) -> Answer:
    if kept.fingerprint != fingerprint:
        raise _other_request()
    return Answer(kept.status, kept.body, None, replayed=True)


def _other_request() -> InvalidInputProblem:
    return InvalidInputProblem.of(KEY_HEADER, "was used for another request; send a new one")
