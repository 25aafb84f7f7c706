"""From the key that a request brings to the scope that it gets."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from uuid import UUID

import structlog

from engram.db.database import Database
from engram.problems import AuthenticationProblem, Problem
from engram.telemetry.errors import described
from engram.tenants.keys import digest_of, is_key
from engram.tenants.repository import KnownKey, PresentedKeys
from engram.tenants.roles import Role
from engram.tenants.scope import DEFAULT_SCOPE, KeyIdentity, Scope

log = structlog.get_logger(__name__)

NOTE_SECONDS = 10.0
"""How often the uses of keys are written down. A server that dies forgets those of the last seconds."""

MAX_NOTED = 10_000
"""Keys whose use is remembered between two such writes; uses of others are then not noted."""

_NO_KEY = "This server has API keys: send one as 'Authorization: Bearer KEY'."
_UNKNOWN = "The API key is not known."


class Authenticator:
    """Asks the database for each request: a key that was revoked or has expired opens nothing from that moment on, in
    whatever process."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._closed = False
        self._used: dict[UUID, datetime] = {}

    @property
    def closed(self) -> bool:
        """Whether a key was ever seen to exist. Keys are revoked but not removed: a server never opens again."""
        return self._closed

    async def look(self) -> bool:
        """Find out whether the server is closed, and say it."""
        if not self._closed:
            self._closed = await self._database.ask(lambda connection: PresentedKeys(connection).any_exist())
        return self._closed

    async def closed_as_far_as_known(self) -> bool:
        """As ``look``; where the database is away, what was known of it last holds."""
        try:
            return await self.look()
        except Problem:
            return self._closed

    async def anonymous(self) -> Scope:
        """The scope of a request without a key. Raises AuthenticationProblem once there are keys."""
        if await self.look():
            raise AuthenticationProblem(_NO_KEY)
        return DEFAULT_SCOPE

    async def scope_of(self, key: str) -> Scope:
        """The scope of a request that brings a key. Raises AuthenticationProblem for one that opens nothing."""
        known = await self._known(key) if is_key(key) else None
        if known is None:
            raise AuthenticationProblem(_UNKNOWN)
        self._closed = True
        if known.revoked:
            raise AuthenticationProblem(f"The API key {known.prefix} was revoked.")
        if known.expired:
            raise AuthenticationProblem(f"The API key {known.prefix} has expired.")
        if known.id in self._used or len(self._used) < MAX_NOTED:
            self._used[known.id] = datetime.now(UTC)
        return Scope(
            known.tenant_id, Role(known.role), known.agent_id, KeyIdentity(known.id, known.prefix, known.rate_limit)
        )

    async def _known(self, key: str) -> KnownKey | None:
        digest = digest_of(key)
        return await self._database.ask(lambda connection: PresentedKeys(connection).by_digest(digest))

    async def note_use(self) -> None:
        """Write down when keys were last used."""
        used, self._used = self._used, {}
        if used:
            await self._database.ask(lambda connection: PresentedKeys(connection).note_use(used))

    async def note_forever(self, pause: float = NOTE_SECONDS) -> None:
        """Write uses down every ``pause`` seconds, until cancelled, and once more then."""
        try:
            while True:
                await asyncio.sleep(pause)
                await self._note_if_possible()
        finally:
            await self._note_if_possible()

    async def _note_if_possible(self) -> None:
        try:
            await self.note_use()
        except Exception as error:
            log.warning("keys.use_not_noted", error=described(error))
