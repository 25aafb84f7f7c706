"""What a memory was: its states, and those of the memories whose place it took or that took its own."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import TypeAdapter

from engram.memories.changes.schemas import MemoryHistory
from engram.memories.service import memory_not_found
from engram.memories.versions.repository import HistoryRepository
from engram.paging import CountKey, decode_cursor, encode_cursor
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import Scope
from engram.wire import Id, Instant

_CURSOR: TypeAdapter[tuple[datetime, str, int]] = TypeAdapter(tuple[Instant, Id, CountKey])


class HistoryService:
    def __init__(self, database: TenantDatabase) -> None:
        self._database = database

    async def history(self, scope: Scope, memory_id: str, *, limit: int, cursor: str | None) -> MemoryHistory:
        """All states of a memory, of the values of its key, and of what superseded what, the latest known first.

        Of a deleted memory too, until it is purged. Raises NotFoundProblem where there is no such memory.
        """
        after = None
        if cursor is not None:
            moment, id, version = decode_cursor(cursor, _CURSOR)
            after = moment, UUID(id), version
        async with self._database.snapshot(scope) as connection:
            histories = HistoryRepository(connection, scope)
            memory = await histories.line(UUID(memory_id))
            if memory is None:
                raise memory_not_found(memory_id)
            agent_id, ids = memory
            rows, more = await histories.page(agent_id, ids, limit=limit, after=after)
        last = rows[-1] if more else None
        return MemoryHistory.model_validate(
            {
                "data": rows,
                "next_cursor": encode_cursor(last["updated_at"].isoformat(), str(last["id"]), last["version"])
                if last
                else None,
            }
        )
