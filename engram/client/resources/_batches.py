"""Writing more memories than one call takes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from engram.client._arguments import AnyId
from engram.client._errors import APIStatusError, FieldError
from engram.client._request import Request, Sender
from engram.memories.schemas import MAX_BATCH, BatchCreated, MemoryItem

_PLACE = re.compile(r"\bitems\.(\d+)")


class BatchedWrite:
    """The operation that writes items in calls of ``MAX_BATCH``, one by one, and sums up the answers."""

    def __init__(
        self,
        agent_id: AnyId,
        items: Iterable[str | MemoryItem | Mapping[str, Any]],
        progress: Callable[[int, int], object] | None,
    ) -> None:
        if isinstance(items, str | Mapping | MemoryItem):
            raise TypeError(f"items must be a list of memories, not one {type(items).__name__}")
        self._agent_id = agent_id
        self._items = [{"content": item} if isinstance(item, str) else item for item in items]
        self._progress = progress

    async def perform(self, sender: Sender) -> BatchCreated:
        total = len(self._items)
        combined = BatchCreated(results=[], created=0, deduplicated=0, linked=True)
        for start in range(0, total, MAX_BATCH):
            written = await self._write(sender, start)
            combined.results += written.results
            combined.created += written.created
            combined.deduplicated += written.deduplicated
            combined.linked &= written.linked
            known = set(combined.ontology_warnings)
            combined.ontology_warnings += [told for told in written.ontology_warnings if told not in known]
            if self._progress is not None:
                self._progress(min(start + MAX_BATCH, total), total)
        return combined

    async def _write(self, sender: Sender, start: int) -> BatchCreated:
        body = {"agent_id": self._agent_id, "items": self._items[start : start + MAX_BATCH]}
        try:
            return await sender.send(Request("POST", "/v1/memories/batch", BatchCreated, body=body))
        except APIStatusError as error:
            raise renumbered(error, start) from error.__cause__


def renumbered(error: APIStatusError, start: int) -> APIStatusError:
    """The error with the places that it names counted from the first of all items."""

    def shifted(text: str) -> str:
        return _PLACE.sub(lambda match: f"items.{int(match[1]) + start}", text)

    return type(error)(
        error.status_code,
        shifted(error.detail),
        error.request_id,
        [FieldError(field=shifted(one.field), message=one.message) for one in error.errors],
        error.retry_after,
    )
