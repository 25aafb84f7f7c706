"""In which order paths and edges are shown. Pure.

A path comes before a longer one: a direct claim beats an inference. Among those of one length the one comes first of
which the newest fact was recorded last; then, hop by hop, the one whose fact was recorded last, by id where that is the
same. So of all ways to go on from one path the first few are those that come first at its last node: a walk need not
look at the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from engram.facts.paths import Edge
from engram.facts.schemas import Fact
from engram.wire import Instant

_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
_TICK = timedelta(microseconds=1)


def recency(fact: Fact) -> tuple[int, str]:
    """A sort key: the fact recorded last first, then by id."""
    return (-microseconds(fact.recorded_at), fact.id)


def rank(
    edges: Sequence[Edge], directions: Sequence[bool]
) -> tuple[int, tuple[tuple[int, str], ...], tuple[bool, ...]]:
    """A sort key among paths of one length."""
    hops = tuple(recency(edge.fact) for edge in edges)
    return (min(hop[0] for hop in hops), hops, tuple(not forward for forward in directions))


def microseconds(moment: Instant) -> int:
    """Since 1970, in UTC."""
    return (moment - _EPOCH) // _TICK
