"""In how many memories common terms stand, remembered for a while. Pure.

Counting a term that stands in tens of thousands of memories takes longer than all else that a recall does, and the
count hardly changes. A rare term is counted every time: that is quick, and there a single memory makes a difference.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from uuid import UUID

COMMON = 1_000
"""A term in fewer memories is counted anew each time."""

DRIFT = 0.02
"""A count is used as long as the agent has grown or shrunk by at most this share of the count since."""

MAX_REMEMBERED = 20_000
"""Counts remembered at once, over all agents; those used least recently go first."""


class TermFrequencies:
    """Counts by agent and term. Not shared between processes: each counts for itself."""

    def __init__(self) -> None:
        self._counts: OrderedDict[tuple[UUID, str], tuple[int, int]] = OrderedDict()

    def known(self, agent_id: UUID, terms: Iterable[str], memories: int) -> list[int]:
        """For each term the count of an agent that has now so many memories, or 0 where it has to be counted."""
        return [self._known((agent_id, term), memories) for term in terms]

    def remember(self, agent_id: UUID, terms: Sequence[str], counts: Sequence[int], memories: int) -> None:
        for term, count in zip(terms, counts, strict=True):
            place = (agent_id, term)
            if count >= COMMON and place not in self._counts:
                self._counts[place] = (count, memories)
        while len(self._counts) > MAX_REMEMBERED:
            self._counts.popitem(last=False)

    def _known(self, place: tuple[UUID, str], memories: int) -> int:
        found = self._counts.get(place)
        if found is None:
            return 0
        count, then = found
        if abs(memories - then) > DRIFT * count:
            del self._counts[place]
            return 0
        self._counts.move_to_end(place)
        return count
