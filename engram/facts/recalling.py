"""One call from a question to the chains of facts that may answer it."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol, runtime_checkable

from engram.facts.graph import FactGraph
from engram.facts.paths import Paths
from engram.facts.store import FactStore


@runtime_checkable
class WalkingStore(Protocol):
    """A store that walks its graph itself, however many facts it holds."""

    async def walk(self, query: str, *, user_id: str | None, hops: int, valid_at: datetime | None, limit: int) -> Paths:
        """What ``recall_graph`` gives over all facts of the user."""
        ...


async def recall_graph(
    fact_store: FactStore,
    query: str,
    *,
    user_id: str | None = None,
    hops: int = 2,
    valid_at: datetime | None = None,
    limit: int = 10,
    fetch_limit: int = 2000,
) -> Paths:
    """Chains of facts that begin at names which have a word in common with the question.

    Args:
        fact_store: Any store; one that can walk by itself does.
        query: The question. Words of three characters or more find names, whatever their case.
        user_id: Whose facts; None: those of no user. No path leads from one user to another.
        hops: Edges on a path, at most.
        valid_at: What held at this moment; None: what has not ended.
        limit: Paths, at most.
        fetch_limit: Facts read from a store that cannot walk by itself: the graph is made of the latest so many.

    The shorter paths come first, then those of which the newest fact was learnt last. ``truncated`` of the answer:
    there are, or may be, more paths than these.
    """
    if hops < 1 or limit < 1 or fetch_limit < 1:
        return Paths()
    if isinstance(fact_store, WalkingStore):
        return await fact_store.walk(query, user_id=user_id, hops=hops, valid_at=valid_at, limit=limit)
    # One more than wanted tells whether there are more.
    facts = await fact_store.query(user_id=user_id, limit=fetch_limit + 1)
    graph = FactGraph.from_facts(facts[:fetch_limit])
    paths = graph.traverse(graph.seed_entities(query), hops=hops, valid_at=valid_at, limit=limit)
    return Paths(paths, truncated=paths.truncated or len(facts) > fetch_limit)
