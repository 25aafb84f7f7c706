"""Random agents and random requests, and how they are written to the services."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from engram.db.database import driver
from tests.fixtures.spaces import Space, ids
from tests.recall.oracle import MULTIPLIERS, Asked, Link, Note

START = datetime(2024, 3, 1, tzinfo=UTC)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
WORDS = ("amber", "birch", "cobalt", "delta", "ember", "fjord", "garnet", "harbor")
NAMES = ("Zyra", "Quill", "Voss")
SESSIONS = ("monday", "tuesday")
USERS = ("ada", "bob")
TAGS = ("work", "home", "urgent")
COLOURS = ("red", "blue")

days = st.integers(0, 5).map(lambda day: START + timedelta(days=day))
"""Few instants, so that those of memories, edges and requests often coincide."""


def exact_vector(seed: int, dimension: int) -> list[float]:
    """A vector whose length and whose cosines with its like are exact in single precision; now and then zero."""
    chance = random.Random(seed)
    vector = [0.0] * dimension
    if seed % 17 == 0:
        return vector
    size = chance.choice([1, 4, 16])
    for place in chance.sample(range(24), size):
        # Mostly positive, so that most cosines are.
        vector[place] = chance.choice([1.0, 1.0, 1.0, -1.0]) / size**0.5
    return vector


def rough_vector(seed: int, dimension: int) -> list[float]:
    """A vector without any such luck."""
    chance = random.Random(seed)
    return [chance.gauss(0.4, 1.0) for _ in range(dimension)]


@dataclass(frozen=True)
class Plan:
    """A memory to be written."""

    seed: int
    words: list[str]
    asks: bool
    names: dict[str, str]
    session: str | None
    user: str | None
    tags: frozenset[str]
    metadata: dict[str, Any]
    valid_from: datetime
    ends: timedelta | None


@dataclass(frozen=True)
class PlannedLink:
    """An edge to be written, between memories by number."""

    source: int
    target: int
    relation: str
    weight: float
    valid_from: datetime | None
    ends: timedelta | None


@dataclass(frozen=True)
class PlannedWorld:
    memories: list[Plan]
    links: list[PlannedLink]
    batches: list[int]


@dataclass
class World:
    """What stands: memories and stored edges, thematic ones included."""

    space: Space
    notes: list[Note] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)


def _or_none(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), strategy)


durations = st.integers(1, 4).map(lambda number: timedelta(days=number))

memories = st.builds(
    Plan,
    seed=st.integers(0, 2**32),
    words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=6),
    asks=st.booleans(),
    names=st.dictionaries(st.sampled_from(NAMES), st.sampled_from(["subject", "mention"]), max_size=2),
    session=_or_none(st.sampled_from(SESSIONS)),
    user=_or_none(st.sampled_from(USERS)),
    tags=st.frozensets(st.sampled_from(TAGS)),
    metadata=st.fixed_dictionaries(
        {}, optional={"colour": _or_none(st.sampled_from(COLOURS)), "size": st.integers(0, 5)}
    ),
    valid_from=days,
    ends=_or_none(durations),
)


@st.composite
def planned_worlds(draw: st.DrawFn, *, most: int) -> PlannedWorld:
    """Agents of 2 to ``most`` memories with up to twelve edges, written in batches of random sizes."""
    plans = draw(st.lists(memories, min_size=2, max_size=most))
    places = st.integers(0, len(plans) - 1)
    links = draw(
        st.lists(
            st.builds(
                PlannedLink,
                source=places,
                target=places,
                relation=st.sampled_from(sorted(MULTIPLIERS)),
                weight=st.integers(1, 100).map(lambda percent: percent / 100),
                valid_from=_or_none(days),
                ends=_or_none(durations),
            ).filter(lambda link: link.source != link.target),
            max_size=12,
        )
    )
    batches = draw(st.lists(st.integers(1, most), max_size=2))
    return PlannedWorld(plans, links, batches)


def _vector(plan: Plan, dimension: int, *, exact: bool) -> list[float]:
    return (exact_vector if exact else rough_vector)(plan.seed, dimension)


def _item(plan: Plan, at: int, vector: Sequence[float]) -> dict[str, Any]:
    return {
        "content": " ".join([*plan.words, f"note{at}"]) + "?" * plan.asks,
        "embedding": vector,
        "entities": [{"name": name, "role": role} for name, role in plan.names.items()],
        "session_id": plan.session,
        "user_id": plan.user,
        "tags": sorted(plan.tags),
        "metadata": plan.metadata,
        "valid_from": plan.valid_from,
        "valid_until": plan.valid_from + plan.ends if plan.ends else None,
    }


async def written(space: Space, plan: PlannedWorld, *, exact: bool) -> World:
    """The world as it stands once everything is written."""
    world = World(space)
    vectors = [_vector(memory, space.dimension, exact=exact) for memory in plan.memories]
    items = [_item(memory, at, vectors[at]) for at, memory in enumerate(plan.memories)]
    start = 0
    stored: list[str] = []
    for size in [*plan.batches, len(items)]:
        if items[start : start + size]:
            stored += ids(await space.remember_all(items[start : start + size]))
        start += size
    for at, (id, memory) in enumerate(zip(stored, plan.memories, strict=True)):
        world.notes.append(
            Note(
                id=id,
                order=at,
                vector=vectors[at],
                words=[*memory.words, f"note{at}"],
                asks=memory.asks,
                valid_from=memory.valid_from,
                valid_until=memory.valid_from + memory.ends if memory.ends else None,
                user=memory.user,
                session=memory.session,
                tags=memory.tags,
                metadata=memory.metadata,
                names=memory.names,
            )
        )
    links = {(link.source, link.target, link.relation): link for link in await _stored_links(space)}
    for link in _merged(plan.links, stored):
        await space.link(
            link.source,
            link.target,
            link.relation,
            weight=link.weight,
            valid_from=link.valid_from,
            valid_until=link.valid_until,
        )
        place = (link.source, link.target, link.relation)
        weight = max(link.weight, links[place].weight if place in links else 0.0)
        links[place] = replace(link, weight=weight)
    world.links = list(links.values())
    return world


async def _stored_links(space: Space) -> list[Link]:
    """The thematic links that writing made."""
    async with space.services.database.snapshot() as connection:
        rows = await driver(connection).fetch(
            "SELECT source_id, target_id, relation_type, weight FROM edges WHERE agent_id = $1", UUID(space.agent_id)
        )
    return [Link(str(source), str(target), relation, weight) for source, target, relation, weight in rows]


def _merged(planned: Sequence[PlannedLink], stored: Sequence[str]) -> list[Link]:
    """One link of a place and relation; writing it twice is another test's subject."""
    merged: dict[tuple[str, str, str], Link] = {}
    for link in planned:
        ends = (stored[link.source], stored[link.target])
        if link.relation in {"thematic", "contradicts", "entity_link"}:
            ends = (min(ends), max(ends))
        until = (link.valid_from or START) + link.ends if link.ends else None
        merged.setdefault((*ends, link.relation), Link(*ends, link.relation, link.weight, link.valid_from, until))
    return list(merged.values())


@dataclass(frozen=True)
class Request:
    """A request as it is sent, and the same as the oracle reads it."""

    fields: dict[str, Any]
    seed: int

    def sent(self, space: Space, *, exact: bool, **changes: Any) -> dict[str, Any]:
        vector = (exact_vector if exact else rough_vector)(self.seed, space.dimension)
        return {**self.fields, "embedding": vector, "top_k": 200, **changes}

    def asked(self, sent: dict[str, Any]) -> Asked:
        relations = sent.get("relation_types")
        return Asked(
            vector=sent["embedding"],
            now=datetime.now(UTC),
            words=sent["query"].split(),
            lexical=sent["lexical"],
            graph_weight=sent["graph_weight"],
            max_hops=sent["max_hops"],
            hop_penalty=sent["hop_penalty"],
            relations=frozenset(MULTIPLIERS if relations is None else relations),
            as_of=sent.get("as_of"),
            sees=lambda note: _passes(note, sent),
        )


def _passes(note: Note, sent: dict[str, Any]) -> bool:
    tags = sent.get("tags") or {}
    metadata = sent.get("metadata") or {}
    return (
        ("user_id" not in sent or note.user == sent["user_id"])
        and ("session_id" not in sent or note.session == sent["session_id"])
        and ("any" not in tags or bool(note.tags & set(tags["any"])))
        and ("all" not in tags or note.tags >= set(tags["all"]))
        and ("valid_from" not in sent or sent["valid_from"] <= note.valid_from)
        and ("valid_until" not in sent or note.valid_from < sent["valid_until"])
        and ("colour" not in metadata or ("colour" in note.metadata and note.metadata["colour"] == metadata["colour"]))
        and ("size" not in metadata or _between(note.metadata.get("size"), metadata["size"]))
    )


def _between(size: Any, bounds: dict[str, int]) -> bool:
    return size is not None and bounds["gte"] <= size < bounds["lt"]


_filters: dict[str, st.SearchStrategy[Any]] = {
    "user_id": st.sampled_from(USERS),
    "session_id": st.sampled_from(SESSIONS),
    "tags": st.fixed_dictionaries(
        {},
        optional={
            "any": st.lists(st.sampled_from(TAGS), max_size=2),
            "all": st.lists(st.sampled_from(TAGS), min_size=1, max_size=2),
        },
    ),
    "metadata": st.fixed_dictionaries(
        {},
        optional={
            "colour": _or_none(st.sampled_from(COLOURS)),
            "size": st.fixed_dictionaries({"gte": st.integers(0, 2), "lt": st.integers(3, 6)}),
        },
    ),
    "valid_from": st.integers(0, 2).map(lambda day: START + timedelta(days=day)),
    "valid_until": st.integers(3, 6).map(lambda day: START + timedelta(days=day)),
}


@st.composite
def requests(draw: st.DrawFn, *, hops: st.SearchStrategy[int], lexical: bool) -> Request:
    """Requests with all filters at random, none more often than not."""
    fields = {
        "query": " ".join(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4))),
        "lexical": lexical,
        "graph_weight": draw(st.integers(0, 10)) / 10,
        "max_hops": draw(hops),
        "hop_penalty": draw(st.sampled_from([0.0, 0.05, 0.3, 0.9])),
    }
    if draw(st.booleans()):
        fields["relation_types"] = draw(st.lists(st.sampled_from(sorted(MULTIPLIERS)), unique=True))
    if draw(st.booleans()):
        fields["as_of"] = draw(days)
    for name in draw(st.sets(st.sampled_from(sorted(_filters)), max_size=2)) if draw(st.booleans()) else ():
        fields[name] = draw(_filters[name])
    return Request(fields, draw(st.integers(0, 2**32)))
