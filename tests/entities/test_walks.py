"""Walks, chains and lists over what occurs together are what brute force finds, node for node, and take a query a hop.

``FUZZ_EXAMPLES`` and ``FUZZ_SEED`` ask for more, or for others.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from engram.db.database import driver
from engram.entities.canonical import canonical_name
from engram.entities.graph.schemas import EntityPathRequest, TraverseRequest
from engram.facts.schemas import MergeCreate
from engram.memories.changes.schemas import MemorySet, MemoryUpdate
from engram.services import Services
from engram.settings import Settings
from engram.tenants.scope import DEFAULT_SCOPE
from tests.entities.occurrences import GraphOracle, Observation
from tests.entities.statements import Heard, listening
from tests.fixtures.fuzzing import EXAMPLES, SEED
from tests.fixtures.spaces import Space, new_space
from tests.fixtures.wiring import HashEmbedder, opened

NAMES = ("amber", "birch", "cobalt", "delta", "ember", "fjord", "garnet", "harbor", "indigo", "jasper")
MEMORIES = 24
QUESTIONS = 12
START = datetime(2024, 3, 1, tzinfo=UTC)
FUTURE = datetime(2100, 1, 1, tzinfo=UTC)
DAYS = [START + timedelta(days=day) for day in range(5)]

BESIDE = {"display_name", "community_id", "via_relation", "via_direction", "via_provenance"}
"""What a node shows beside what brute force finds: names, communities, and what walks over triples tell."""

OF_TRIPLES = {"relation", "direction", "provenance"}


@pytest.fixture
async def services(settings: Settings) -> AsyncIterator[Services]:
    async with opened(settings, HashEmbedder(8, threshold=0.9999)) as services:
        yield services


@dataclass
class World:
    """An agent with memories at random, to which something was done at random."""

    space: Space
    chance: random.Random
    oracle: GraphOracle

    @classmethod
    async def made(cls, services: Services, seed: int) -> World:
        chance = random.Random(seed)
        space = await new_space(services)
        sparse = chance.random() < 0.4
        items = [_item(chance, at, sparse=sparse) for at in range(MEMORIES)]
        ids: list[str] = []
        while items:
            size = chance.choice([1, 3, 10])
            ids += [made.id for made in (await space.remember_all(items[:size])).results]
            del items[:size]
        ids += await _set(space, chance, sparse=sparse)
        gone = await _change(space, chance, ids)
        groups = await _merge(space, chance)
        earlier = await _earlier(space)
        found = [Observation.of(await space.get(id), earlier[id]) for id in ids if id not in gone]
        known = await _entity_ids(space)
        groups = [[name for name in group if name in known] for group in groups]
        oracle = GraphOracle(found, list(known), datetime.now(UTC), groups=[group for group in groups if group])
        oracle.ids.update(known)
        return cls(space, chance, oracle)

    def asked(self, as_of: datetime | None) -> GraphOracle:
        oracle = self.oracle
        return GraphOracle(
            oracle.observations, oracle.names, datetime.now(UTC), as_of, groups=oracle.groups, ids=oracle.ids
        )

    def question(self) -> dict[str, Any]:
        moments = [None, None, *DAYS, FUTURE, *(day - timedelta(microseconds=1) for day in DAYS)]
        return {"as_of": self.chance.choice(moments), "min_co_occur": self.chance.choice([1, 1, 1, 2, 3])}


def _item(chance: random.Random, at: int, *, sparse: bool = False) -> dict[str, Any]:
    names = chance.sample(NAMES, chance.choice([1, 2, 2, 3, 4])) if chance.random() < 0.8 else ["amber", "birch"]
    if sparse:
        # With few others only: chains are long, and there are several.
        first = chance.randrange(len(NAMES) - 2)
        names = [NAMES[first], NAMES[first + chance.choice([1, 2])]]
    begins = chance.choice([*DAYS, DAYS[0], FUTURE])
    lasts = chance.choice([None, None, None, timedelta(days=1), timedelta(days=2), timedelta(days=40_000)])
    spoken = " ".join(chance.sample(NAMES, 2)) if chance.random() < 0.3 and not sparse else ""
    return {
        "content": f"Note {at} {spoken}",
        "entities": [{"name": name, "role": chance.choice(["subject", "mention"])} for name in names],
        "valid_from": begins,
        "valid_until": begins + lasts if lasts else None,
    }


async def _set(space: Space, chance: random.Random, *, sparse: bool) -> list[str]:
    """Give slots values, one after the other and one before the other. The ids of what was made."""
    setting, ids = space.services.changes.setting, list[str]()
    for at in range(8):
        item = _item(chance, MEMORIES + at, sparse=sparse)
        key = chance.choice(["colour", "stone"])
        made = await setting.set(DEFAULT_SCOPE, MemorySet(agent_id=space.agent_id, key=key, **item))
        ids.append(made.id)
    return ids


async def _change(space: Space, chance: random.Random, ids: Sequence[str]) -> set[str]:
    """Do something to some memories. Those that are gone."""
    changes, gone = space.services.changes, set[str]()
    for id in chance.sample(list(ids), 10):
        memory = await space.get(id)
        # When the value of a slot ends is settled by the next one.
        end = "end" if memory.key is None else "rename"
        match chance.choice(["delete", "delete and restore", "restore", "purge", end, "rename"]):
            case "delete":
                await space.forget(id)
                gone.add(id)
            case "delete and restore":
                await space.forget(id)
                await changes.restorations.restore(DEFAULT_SCOPE, id)
            case "restore":
                await changes.restorations.restore(DEFAULT_SCOPE, id)
            case "purge":
                await changes.purges.purge(DEFAULT_SCOPE, id)
                gone.add(id)
            case "end":
                update = MemoryUpdate(valid_until=memory.valid_from + timedelta(days=chance.choice([1, 3, 50_000])))
                await changes.revisions.update(DEFAULT_SCOPE, id, update)
            case "rename":
                update = MemoryUpdate.model_validate({"entities": chance.sample(NAMES, 3)})
                await changes.revisions.update(DEFAULT_SCOPE, id, update)
    return gone


async def _merge(space: Space, chance: random.Random) -> list[list[str]]:
    """Say of some names that they are one: those of each group, the first of which it goes by."""
    names = chance.sample(NAMES, 5)
    groups = chance.choice([[], [], [names[:2]], [names[:3]], [names[:2], names[2:5]]])
    for first, *others in groups:
        for other in others:
            request = MergeCreate(agent_id=space.agent_id, name=first.title(), other=f"The {other}")
            await space.services.facts.merges.merge(DEFAULT_SCOPE, request)
    # A group goes by the name that was said, and by the first of the others where no memory has that.
    return [[first, *sorted(others)] for first, *others in groups]


async def _earlier(space: Space) -> dict[str, list[tuple[datetime, datetime]]]:
    """When each memory held before it was restored. Lists and recalls with ``as_of`` go by it."""
    async with space.services.database.snapshot() as connection:
        rows = await driver(connection).fetch(
            "SELECT id, earlier FROM memories WHERE agent_id = $1", UUID(space.agent_id)
        )
    return {str(row["id"]): [(span.lower, span.upper) for span in row["earlier"] or ()] for row in rows}


async def _entity_ids(space: Space) -> dict[str, UUID]:
    async with space.services.database.snapshot() as connection:
        rows = await driver(connection).fetch("SELECT name, id FROM entities WHERE agent_id = $1", UUID(space.agent_id))
    return {row["name"]: row["id"] for row in rows}


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Heard:
    return listening(monkeypatch)


@pytest.mark.parametrize("seed", range(SEED, SEED + max(4, EXAMPLES // 4)))
async def test_what_occurs_together_is_what_brute_force_finds(services: Services, heard: Heard, seed: int) -> None:
    assert [canonical_name(name) for name in NAMES] == list(NAMES)
    world = await World.made(services, seed)
    names = list(world.oracle.names)
    for _ in range(QUESTIONS):
        await _walks_are_right(world, world.chance.choice(names), heard)
        await _chains_are_right(world, world.chance.choice(names), world.chance.choice(names), heard)
        await _lists_are_right(world, world.chance.choice(names))


async def test_of_chains_as_short_and_as_strong_the_first_by_name_is_shown(services: Services) -> None:
    """Whichever end it was found from: here the source has many around it, and the target few."""
    space = await new_space(services)
    pairs = [("amber", name) for name in ("birch", "cobalt", "delta", "ember")]
    pairs += [("birch", "garnet"), ("garnet", "indigo"), ("birch", "fjord"), ("fjord", "jasper")]
    pairs += [("indigo", "quartz"), ("jasper", "quartz")]
    await space.remember_all({"content": f"{at}", "entities": list(pair)} for at, pair in enumerate(pairs))
    request = EntityPathRequest(agent_id=space.agent_id, source="amber", target="quartz", max_hops=4)
    answer = await services.entity_graph.path(DEFAULT_SCOPE, request)
    assert answer.path == ["amber", "birch", "fjord", "jasper", "quartz"]


async def _walks_are_right(world: World, seed: str, heard: Heard) -> None:
    chance, asked = world.chance, world.question()
    fields = {
        "max_hops": chance.choice([1, 2, 3, 4]),
        "top_k_per_hop": chance.choice([1, 2, 3, 20]),
        "max_nodes": chance.choice([1, 3, 5, 6, 400]),
        "hub_degree": chance.choice([0, 0, 10, 25]),
        "hub_share": chance.choice([0, 0, 0.01, 0.1, 0.2, 0.5]),
        "rank_by": chance.choice(["co_occur", "specificity", "cosine"]),
        "min_co_occur": asked["min_co_occur"],
    }
    request = TraverseRequest(agent_id=world.space.agent_id, seed_entity=f"the {seed}", as_of=asked["as_of"], **fields)
    await heard.taken()
    answer = await world.space.services.entity_graph.traverse(DEFAULT_SCOPE, request)
    assert 1 <= len(await heard.taken()) <= fields["max_hops"]
    oracle = world.asked(asked["as_of"])
    nodes, truncated = oracle.traverse(seed, **fields)
    shown = [node.model_dump(exclude=BESIDE) for node in answer.nodes]
    assert (shown, answer.truncated) == (nodes, truncated), request
    assert (answer.seed, answer.found) == (oracle.node(seed), True)
    assert answer.hubs == [node["name"] for node in nodes if node["hub"]]
    if asked["as_of"] is None:
        now = request.model_copy(update={"as_of": datetime.now(UTC)})
        assert await world.space.services.entity_graph.traverse(DEFAULT_SCOPE, now) == answer


async def _chains_are_right(world: World, source: str, target: str, heard: Heard) -> None:
    asked, hops = world.question(), world.chance.choice([1, 2, 3, 4])
    request = EntityPathRequest(
        agent_id=world.space.agent_id, source=source, target=target.upper(), max_hops=hops, **asked
    )
    await heard.taken()
    answer = await world.space.services.entity_graph.path(DEFAULT_SCOPE, request)
    # One for each hop, and one for what is shown of the chain.
    assert len(await heard.taken()) <= hops + 1
    oracle = world.asked(asked["as_of"])
    chain = oracle.path(source, target, max_hops=hops, min_co_occur=asked["min_co_occur"])
    assert (answer.path, answer.found, answer.truncated) == (chain, bool(chain), False), request
    assert [edge.model_dump(exclude=OF_TRIPLES) for edge in answer.edges] == [
        {
            "source": near,
            "target": far,
            "co_occur": oracle.co_occur(near, far),
            "valid_from": oracle.window(near, far)[0],
            "valid_until": oracle.window(near, far)[1],
        }
        for near, far in itertools.pairwise(chain)
    ]
    if asked["as_of"] is None:
        now = request.model_copy(update={"as_of": datetime.now(UTC)})
        assert await world.space.services.entity_graph.path(DEFAULT_SCOPE, now) == answer


async def _lists_are_right(world: World, name: str) -> None:
    asked, limit = world.question(), world.chance.choice([1, 2, 200])
    for as_of in (asked["as_of"], asked["as_of"] or datetime.now(UTC)):
        found, cursor = [], None
        while True:
            page = await world.space.services.entity_graph.related(
                DEFAULT_SCOPE,
                world.space.agent_id,
                name,
                as_of=as_of,
                min_co_occur=asked["min_co_occur"],
                limit=limit,
                cursor=cursor,
            )
            found += page.data
            cursor = page.next_cursor
            if cursor is None:
                break
        rows = world.asked(as_of).related(name, min_co_occur=asked["min_co_occur"])
        assert [(row.name, row.co_occur, row.degree, row.side.value) for row in found] == rows, (name, asked)
