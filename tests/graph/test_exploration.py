"""What surrounds a memory and what leads to another, against the edges that are listed memory by memory."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from engram.graph.exploration import Explored
from engram.graph.schemas import Edge, GraphPaths, Neighborhood, PathOrder
from engram.problems import InvalidInputProblem, NotFoundProblem
from engram.services import Services
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.spaces import Space, ids, new_space

NOON = datetime(2025, 5, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
RELATIONS = ["causal", "supports", "contradicts", "derived_from", "temporal"]
KEEP = 0.95

Found = tuple[float, list[str]]


async def around(space: Space, id: str, **asked: Any) -> Neighborhood:
    sizes = {"max_hops": 2, "max_nodes": 500, "max_edges": 1000, "content_chars": 200}
    given = {name: asked.pop(name, size) for name, size in sizes.items()}
    return await space.services.graph.explore.neighborhood(DEFAULT_SCOPE, id, Explored(**asked), **given)


async def between(space: Space, source: str, target: str, **asked: Any) -> GraphPaths:
    given = {"max_hops": asked.pop("max_hops", 3), "by": PathOrder(asked.pop("by", "strongest"))}
    given["limit"] = asked.pop("limit", 20)
    return await space.services.graph.explore.paths(DEFAULT_SCOPE, source, target, Explored(**asked), **given)


async def chain_of(space: Space, number: int, **fields: Any) -> list[str]:
    """Memories that nothing links but one causal edge from each to the next."""
    made = ids(
        await space.remember_all(
            {"content": f"memory {place}", "embedding": space.vector(*[0.0] * place, 1.0), **fields}
            for place in range(number)
        )
    )
    for one, other in pairwise(made):
        await space.link(one, other, "causal", weight=0.8)
    return made


@dataclass
class World:
    space: Space
    ids: list[str]
    known_at: datetime


async def some_world(space: Space, seed: int) -> World:
    """Memories with windows, sessions and shared names, random edges, and changes to them after ``known_at``."""
    chance = random.Random(seed)
    made = ids(
        await space.remember_all(
            {
                "content": f"memory {place}",
                "embedding": space.vector(*[0.0] * place, 1.0),
                "valid_from": NOON + chance.randrange(3) * HOUR,
                "valid_until": chance.choice([None, None, NOON + 6 * HOUR]),
                "session_id": chance.choice(["s", "t", None, None]),
                "entities": [
                    {"name": name, "role": chance.choice(["subject", "mention"])}
                    for name in chance.sample(["Zyra", "Qoph", "Xeno", "Wynn", "Vale"], chance.choice([0, 0, 1, 1, 2]))
                ],
            }
            for place in range(14)
        )
    )

    async def some_edges(number: int) -> None:
        for _ in range(number):
            one, other = chance.sample(made, 2)
            until = chance.choice([None, None, NOON + 4 * HOUR])
            begins = chance.choice([None, NOON + HOUR])
            await space.link(
                one,
                other,
                chance.choice(RELATIONS),
                weight=chance.choice([0.25, 0.5, 0.9]),
                valid_from=begins,
                valid_until=until,
            )

    await some_edges(24)
    known_at = datetime.now(UTC)
    await some_edges(8)
    for _ in range(3):
        one, other = chance.sample(made, 2)
        await space.link(one, other, "causal")
        await space.unlink(one, other, "causal")
    return World(space, made, known_at)


async def edges_by_memory(world: World, **asked: Any) -> dict[str, list[Edge]]:
    return {id: await world.space.edges(id, **asked) for id in world.ids}


def share(edge: Edge) -> float:
    return edge.weight * edge.decay_multiplier


def layers(edges: dict[str, list[Edge]], centre: str, max_hops: int) -> dict[str, tuple[int, float]]:
    found = {centre: (0, 1.0)}
    frontier = {centre: 1.0}
    for hop in range(1, max_hops + 1):
        reached: dict[str, float] = {}
        for id, strength in frontier.items():
            for edge in edges[id]:
                target = edge.target_memory_id
                if target not in found:
                    reached[target] = max(reached.get(target, 0), strength * share(edge) * KEEP)
        found |= {id: (hop, strength) for id, strength in reached.items()}
        frontier = reached
    return found


def once(edges: dict[str, list[Edge]], among: Sequence[str]) -> set[tuple[str, str, str, float, str | None]]:
    """Each edge among some memories: an entity link through what it weighs most by, from the end where it does."""
    best: dict[tuple[frozenset[str], str, str], tuple[float, str, str, str | None]] = {}
    for source in sorted(among):
        for edge in edges[source]:
            if edge.target_memory_id not in among or edge.direction == "in":
                continue
            target, relation = edge.target_memory_id, edge.relation_type.value
            way = "" if edge.direction == "both" else source
            key = (frozenset((source, target)), relation, way)
            if key not in best or edge.weight > best[key][0]:
                best[key] = (edge.weight, source, target, edge.entity)
    return {(source, target, key[1], weight, entity) for key, (weight, source, target, entity) in best.items()}


def all_paths(
    edges: dict[str, list[Edge]], path: list[str], strength: float, target: str, max_hops: int
) -> Iterator[Found]:
    if path[-1] == target:
        yield strength, path
    elif len(path) <= max_hops:
        best: dict[str, float] = {}
        for edge in edges[path[-1]]:
            best[edge.target_memory_id] = max(best.get(edge.target_memory_id, 0), share(edge))
        for id, most in best.items():
            if id not in path:
                yield from all_paths(edges, [*path, id], strength * most * KEEP, target, max_hops)


def same_paths(found: GraphPaths, expected: list[Found]) -> None:
    assert [path.strength for path in found.paths] == pytest.approx([strength for strength, _ in expected])
    strengths = {tuple(path): strength for strength, path in expected}
    shown = [tuple(step.memory_id for step in path.steps) for path in found.paths]
    assert len(set(shown)) == len(shown)
    # Of equally strong ones rounding may tell the last that is shown.
    for path, steps in zip(found.paths, shown, strict=True):
        assert path.strength == pytest.approx(strengths.get(steps, path.strength))
        assert path.hops == len(steps) - 1


@pytest.mark.parametrize("seed", range(4))
async def test_what_surrounds_a_memory_is_what_its_edges_lead_to(space: Space, seed: int) -> None:
    world = await some_world(space, seed)
    chance = random.Random(seed)
    for asked in (
        {},
        {"as_of": NOON + 3 * HOUR},
        {"as_of": NOON + 3 * HOUR, "known_at": world.known_at},
        {"known_at": world.known_at},
    ):
        edges = await edges_by_memory(world, **asked)
        for centre in chance.sample(world.ids, 4):
            max_hops = chance.randint(1, 4)
            found = await around(space, centre, max_hops=max_hops, **asked)
            expected = layers(edges, centre, max_hops)
            assert {node.id: (node.hops, pytest.approx(node.strength)) for node in found.nodes} == expected
            places = [(node.hops, -round(node.strength, 9)) for node in found.nodes]
            assert places == sorted(places)
            shown = [
                (e.source_memory_id, e.target_memory_id, e.relation_type.value, e.weight, e.entity) for e in found.edges
            ]
            assert len(set(shown)) == len(shown)
            assert set(shown) == once(edges, [*expected])
            assert [edge.weight for edge in found.edges] == sorted((e.weight for e in found.edges), reverse=True)
            assert not found.truncated

            few = await around(space, centre, max_hops=max_hops, max_nodes=3, max_edges=2, **asked)
            assert [node.id for node in few.nodes] == [node.id for node in found.nodes][:3]
            assert few.truncated == (len(found.nodes) > 3 or len(once(edges, [n.id for n in few.nodes])) > 2)


@pytest.mark.parametrize("seed", range(4))
async def test_paths_are_the_best_of_all_simple_ones(space: Space, seed: int) -> None:
    world = await some_world(space, seed)
    chance = random.Random(seed)
    for asked in (
        {},
        {"as_of": NOON + 3 * HOUR},
        {"as_of": NOON + 3 * HOUR, "known_at": world.known_at},
    ):
        edges = await edges_by_memory(world, **asked)
        for _ in range(4):
            source, target = chance.sample(world.ids, 2)
            max_hops, limit = chance.randint(1, 5), chance.choice([1, 5, 20])
            every = list(all_paths(edges, [source], 1.0, target, max_hops))
            found = await between(space, source, target, max_hops=max_hops, limit=limit, **asked)
            same_paths(found, sorted(every, key=lambda path: -path[0])[:limit])
            assert not found.truncated
            found = await between(space, source, target, max_hops=max_hops, limit=limit, by="shortest", **asked)
            same_paths(found, sorted(every, key=lambda path: (len(path[1]), -path[0]))[:limit])


async def test_steps_say_by_what_edge_each_memory_is_reached(space: Space) -> None:
    one, other, third = ids(
        await space.remember_all(
            {"content": text, "embedding": space.vector(*[0.0] * place, 1.0), "entities": names}
            for place, (text, names) in enumerate(
                [("apple", ["Zyra"]), ("bridge", [{"name": "Zyra", "role": "subject"}]), ("cloud", [])]
            )
        )
    )
    await space.link(third, other, "causal", weight=0.5)
    (path,) = (await between(space, one, third)).paths
    assert [step.memory_id for step in path.steps] == [one, other, third]
    first, second, last = path.steps
    assert (first.relation_type, first.weight) == (None, None)
    assert (second.relation_type, second.direction, second.weight, second.entity) == ("entity_link", "both", 1, "Zyra")
    assert (last.relation_type, last.direction, last.weight, last.multiplier) == ("causal", "in", 0.5, 0.97)
    assert path.strength == pytest.approx(KEEP * 0.98 * KEEP * 0.5 * 0.97)


async def test_a_memory_that_does_not_hold_is_no_stepping_stone(space: Space) -> None:
    one, middle, last = await chain_of(space, 3, valid_from=NOON)
    (stone,) = ids(
        await space.remember_all(
            [{"content": "over", "embedding": space.vector(0, 0, 0, 1), "valid_from": NOON, "valid_until": NOON + HOUR}]
        )
    )
    await space.unlink(middle, last, "causal")
    await space.link(middle, stone, "causal")
    await space.link(stone, last, "causal")
    then = {"as_of": NOON}
    assert [node.id for node in (await around(space, one, max_hops=3, **then)).nodes] == [one, middle, stone, last]
    assert [node.id for node in (await around(space, one, max_hops=3)).nodes] == [one, middle]
    assert len((await between(space, one, last, **then)).paths) == 1
    assert (await between(space, one, last)).paths == []
    # What does not hold itself is shown alone.
    alone = await around(space, stone)
    assert ([node.id for node in alone.nodes], alone.edges) == ([stone], [])


async def test_filters_hold_at_every_hop(space: Space) -> None:
    one, middle, last = await chain_of(space, 3)
    await space.link(one, last, "supports", weight=0.3)
    await space.link(middle, last, "supports", weight=0.9)

    async def reached(**asked: Any) -> list[int]:
        return [(one, middle, last).index(node.id) for node in (await around(space, one, **asked)).nodes]

    assert await reached() == [0, 1, 2]
    assert await reached(relation_types=["supports"], max_hops=1) == [0, 2]
    assert await reached(min_weight=0.85) == [0]
    assert await reached(min_weight=0.5, max_hops=1) == [0, 1]
    assert [edge.weight for edge in (await around(space, one, min_weight=0.5)).edges] == [0.9, 0.8, 0.8]
    strong = await between(space, one, last, min_weight=0.5)
    assert [len(path.steps) for path in strong.paths] == [3]
    assert (await between(space, one, last, relation_types=["derived_from"])).paths == []
    assert await reached(user_id="nobody") == [0]


async def test_texts_are_cut_and_say_so(space: Space) -> None:
    written = await space.remember("ä" * 300, tags=["t"])
    (node,) = (await around(space, written.id, content_chars=5)).nodes
    assert (node.content, node.content_truncated, node.tags, node.hops) == ("äääää", True, ["t"], 0)
    (node,) = (await around(space, written.id, content_chars=300)).nodes
    assert (node.content, node.content_truncated) == ("ä" * 300, False)


async def test_paths_need_two_memories_of_one_agent(shared_services: Services, space: Space) -> None:
    one, other = await chain_of(space, 2)
    (elsewhere,) = await chain_of(await new_space(shared_services), 1)
    with pytest.raises(InvalidInputProblem, match="differ"):
        await between(space, one, one)
    with pytest.raises(InvalidInputProblem, match="another agent"):
        await between(space, one, elsewhere)
    await space.forget(other)
    with pytest.raises(NotFoundProblem, match=other):
        await between(space, one, other)
    with pytest.raises(NotFoundProblem, match=other):
        await around(space, other)


async def test_a_pair_of_hubs_is_linked_whatever_else_they_are_linked_to(space: Space) -> None:
    hubs = await chain_of(space, 2)
    await space.unlink(*hubs, "causal")
    leaves = ids(await space.remember_all({"content": f"l{place}"} for place in range(30)))
    for hub in hubs:
        for leaf in leaves:
            await space.link(hub, leaf, "causal", weight=0.9)
    await space.link(*hubs, "supports", weight=0.01)
    found = await between(space, *hubs, max_hops=1)
    assert [path.hops for path in found.paths] == [1]
    few = await around(space, hubs[0], max_nodes=10)
    assert len(few.nodes) == 10
    assert few.truncated
    assert few.nodes[0].id == hubs[0]
