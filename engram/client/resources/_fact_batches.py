"""Appending more facts than one call takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from engram.client._arguments import AnyId
from engram.client._errors import APIStatusError
from engram.client._request import Request, Sender
from engram.client.resources._batches import renumbered
from engram.facts.schemas import MAX_BATCH, FactItem, FactsAppended

FactGiven = FactItem | Mapping[str, Any] | tuple[str, str, str]
"""A fact to be appended: its fields, or subject, predicate and object alone."""


class BatchedAppend:
    """The operation that appends facts in calls of ``MAX_BATCH``, one by one, and sums up the answers."""

    def __init__(
        self, agent_id: AnyId, items: Iterable[FactGiven], progress: Callable[[int, int], object] | None
    ) -> None:
        if isinstance(items, str | Mapping | FactItem):
            raise TypeError(f"items must be a list of facts, not one {type(items).__name__}")
        self._agent_id = agent_id
        self._items = [_fields(item, place) for place, item in enumerate(items)]
        self._progress = progress

    async def perform(self, sender: Sender) -> FactsAppended:
        total = len(self._items)
        ids: list[str] = []
        closed: dict[str, None] = {}
        for start in range(0, total, MAX_BATCH):
            appended = await self._append(sender, start)
            ids += appended.ids
            closed |= dict.fromkeys(appended.closed)
            if self._progress is not None:
                self._progress(min(start + MAX_BATCH, total), total)
        new = set(ids)
        return FactsAppended(ids=ids, closed=[id for id in closed if id not in new])

    async def _append(self, sender: Sender, start: int) -> FactsAppended:
        body = {"agent_id": self._agent_id, "items": self._items[start : start + MAX_BATCH]}
        try:
            return await sender.send(Request("POST", "/v1/facts/batch", FactsAppended, body=body))
        except APIStatusError as error:
            raise renumbered(error, start) from error.__cause__


def _fields(item: FactGiven, place: int) -> FactItem | Mapping[str, Any]:
    if not isinstance(item, tuple | list):
        return item
    if len(item) != 3:
        raise TypeError(f"items[{place}]: a fact is a subject, a predicate and an object, not {len(item)} values")
    return dict(zip(("subject", "predicate", "object"), item, strict=True))
