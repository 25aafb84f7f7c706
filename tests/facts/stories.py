"""Facts that tests tell: Alice, who works at Acme, which operates in Tokyo."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from engram.facts import Fact, FactGraph, InMemoryFactStore, Path


def day(number: int, *, year: int = 2024) -> datetime:
    return datetime(year, 1, 1, tzinfo=UTC) + timedelta(days=number - 1)


def fact(said: str, **fields: Any) -> Fact:
    """``"alice works_at acme"``, of the user alice, since the first day."""
    subject, predicate, object_ = said.split(" ")
    chosen = {"user_id": "alice", "valid_from": day(1), **fields}
    return Fact(subject=subject, predicate=predicate, object=object_, **chosen)


async def store_of(*facts: Fact) -> InMemoryFactStore:
    store = InMemoryFactStore()
    await store.append_many(facts)
    return store


def graph_of(*said: str) -> FactGraph:
    """A graph of these facts, each learnt after the one before."""
    return FactGraph.from_facts([fact(text, recorded_at=day(place + 1)) for place, text in enumerate(said)])


async def employed() -> InMemoryFactStore:
    return await store_of(fact("alice works_at acme"), fact("acme operates_in tokyo"))


async def moved() -> InMemoryFactStore:
    """She has worked at Initech since the tenth day."""
    store = await employed()
    await store.append_many([fact("alice works_at initech", valid_from=day(10)), fact("initech operates_in austin")])
    return store


def rendered(paths: Iterable[Path]) -> list[str]:
    return [path.render() for path in paths]
