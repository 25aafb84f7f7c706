"""Walks and chains over triples, held against a walk that looks at every fact."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engram.entities.graph.schemas import EntityPath, EntityPathRequest, RankBy, Traversal, TraverseRequest
from engram.facts.schemas import FactAppend, MergeCreate
from engram.tenants.scope import DEFAULT_SCOPE
from tests.entities.statements import Heard, listening
from tests.fixtures.spaces import Space, new_space

Triple = tuple[str, str, str]

_NAMES = [f"node{letter}" for letter in "abcdef"]
_TRIPLES = st.tuples(st.sampled_from(_NAMES), st.sampled_from(["uses", "owns"]), st.sampled_from(_NAMES))
_MEMORIES = st.lists(st.lists(_TRIPLES, min_size=1, max_size=4), min_size=1, max_size=7)


async def told(space: Space, memories: Sequence[Sequence[Triple]]) -> None:
    await space.remember_all(
        {"content": f"text {number}", "relations": [list(triple) for triple in triples]}
        for number, triples in enumerate(memories)
    )


async def walked(space: Space, seed: str, **fields: object) -> Traversal:
    request = TraverseRequest.model_validate(
        {"agent_id": space.agent_id, "seed_entity": seed, "labeled": True, "hub_share": 0, **fields}
    )
    return await space.services.entity_graph.traverse(DEFAULT_SCOPE, request)


async def chain(space: Space, source: str, target: str, **fields: object) -> EntityPath:
    request = EntityPathRequest.model_validate(
        {"agent_id": space.agent_id, "source": source, "target": target, "labeled": True, **fields}
    )
    return await space.services.entity_graph.path(DEFAULT_SCOPE, request)


def weights(memories: Sequence[Sequence[Triple]], relations: Sequence[str] | None) -> dict[tuple[str, str], int]:
    """Of each pair, both ways, the memories that state any of the relations."""
    pairs: Counter[tuple[str, str]] = Counter()
    for triples in memories:
        wanted = [one for one in triples if relations is None or one[1] in relations]
        pairs.update({pair for s, _, o in wanted if s != o for pair in ((s, o), (o, s))})
    return dict(pairs)


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Heard:
    return listening(monkeypatch)


def nearest(pairs: dict[tuple[str, str], int], seed: str, hops: int) -> dict[str, tuple[int, int]]:
    """Hop and weight of the strongest pair, of what lies around a seed."""
    found: dict[str, tuple[int, int]] = {}
    front = {seed}
    for hop in range(1, hops + 1):
        reached: defaultdict[str, int] = defaultdict(int)
        for (near, far), weight in pairs.items():
            if near in front and far not in found and far != seed:
                reached[far] = max(reached[far], weight)
        found |= {name: (hop, weight) for name, weight in reached.items()}
        front = set(reached)
    return found


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(memories=_MEMORIES, relations=st.none() | st.just(["uses"]), hops=st.integers(1, 3), least=st.integers(1, 2))
async def test_a_walk_over_triples_finds_what_a_look_at_every_memory_finds_in_a_query_a_hop(
    space: Space, heard: Heard, memories: list[list[Triple]], relations: list[str] | None, hops: int, least: int
) -> None:
    space = await new_space(space.services)
    await told(space, memories)
    pairs = {pair: weight for pair, weight in weights(memories, relations).items() if weight >= least}
    seed = memories[0][0][0]
    asked = {"relations": relations, "max_hops": hops, "min_co_occur": least}
    await heard.taken()
    answer = await walked(space, seed, rank_by=RankBy.co_occur, top_k_per_hop=100, **asked)
    assert 1 <= len(await heard.taken()) <= hops
    now = datetime.now(UTC)
    assert await walked(space, seed, rank_by=RankBy.co_occur, top_k_per_hop=100, as_of=now, **asked) == answer
    around = nearest(pairs, seed, hops)
    assert {node.name: (node.hop, node.via_co_occur) for node in answer.nodes} == around
    stated = {one for triples in memories for one in triples}
    for node in answer.nodes:
        parent = node.path[-2]
        assert node.via_relation in (relations or ["uses", "owns"])
        ends = (parent, node.name) if node.via_direction == "out" else (node.name, parent)
        assert (ends[0], node.via_relation, ends[1]) in stated
        assert node.cumulative_weight == sum(pairs[pair] for pair in zip(node.path, node.path[1:], strict=False))
    for name in _NAMES:
        known = name == seed or any(name in (s, o) for triples in memories for s, _, o in triples)
        await heard.taken()
        found = await chain(space, seed, name, **asked)
        assert len(await heard.taken()) <= hops + 1
        assert found.found == (known and (name == seed or name in around))
        if found.found and name != seed:
            assert len(found.edges) == around[name][0]
            assert all(edge.relation is not None and edge.direction is not None for edge in found.edges)


async def test_a_pair_shows_the_relation_that_most_memories_state(space: Space) -> None:
    await told(space, [[("nodea", "uses", "nodeb")], [("nodeb", "owns", "nodea")], [("nodeb", "owns", "nodea")]])
    (node,) = (await walked(space, "nodea")).nodes
    assert (node.via_relation, node.via_direction, node.via_provenance, node.via_co_occur) == (
        "owns",
        "in",
        "inferred",
        3,
    )
    (node,) = (await walked(space, "nodea", relations=["uses"])).nodes
    assert (node.via_relation, node.via_direction, node.via_co_occur) == ("uses", "out", 1)
    assert (await walked(space, "nodea", relations=["likes"])).nodes == []
    (edge,) = (await chain(space, "nodea", "nodeb")).edges
    assert (edge.relation, edge.direction, edge.provenance, edge.co_occur) == ("owns", "in", "inferred", 3)


async def test_walks_over_triples_see_what_held_at_a_moment(space: Space) -> None:
    relation = {"subject": "nodea", "predicate": "uses", "object": "nodeb", "valid_until": "2000-01-01"}
    await space.remember("old", relations=[{**relation, "valid_from": "1990-01-01"}])
    assert (await walked(space, "nodea")).nodes == []
    (node,) = (await walked(space, "nodea", as_of=datetime(1995, 1, 1, tzinfo=UTC))).nodes
    assert (node.valid_from, node.valid_until) == (datetime(1990, 1, 1, tzinfo=UTC), datetime(2000, 1, 1, tzinfo=UTC))


async def test_hubs_of_a_walk_over_triples_are_what_occurs_with_much(space: Space) -> None:
    """By how often they occur with others, whatever is stated of them."""
    await told(space, [[("nodea", "uses", "nodeb")], [("nodeb", "uses", "nodec")]])
    await space.remember_all({"content": f"note {at}", "entities": ["nodeb", f"thing{at}"]} for at in range(5))
    for fields, found in (({"hub_degree": 5}, ["nodeb"]), ({"hub_share": 0.2}, ["nodeb"]), ({"hub_degree": 9}, [])):
        walk = await walked(space, "nodea", **fields)
        assert walk.hubs == found
        assert [node.name for node in walk.nodes] == (found or ["nodeb", "nodec"])
    assert {node.name for node in (await walked(space, "nodeb", hub_degree=1)).nodes} == {"nodea", "nodec"}


async def test_appended_facts_are_walked_as_those_of_memories_are_and_merged_names_as_one(space: Space) -> None:
    await told(space, [[("nodea", "uses", "nodeb")]])
    for subject, object in (("nodeb", "nodec"), ("noded", "nodea")):
        item = FactAppend(agent_id=space.agent_id, subject=subject, predicate="feeds", object=object)
        await space.services.facts.append(DEFAULT_SCOPE, item)
    assert (await chain(space, "noded", "nodec")).path == ["noded", "nodea", "nodeb", "nodec"]
    await space.services.facts.merges.merge(
        DEFAULT_SCOPE, MergeCreate(agent_id=space.agent_id, name="nodec", other="noded")
    )
    assert (await chain(space, "noded", "nodeb")).path == ["nodec", "nodeb"]


async def test_ends_of_a_relation_occur_together_and_no_relations_are_refused(space: Space) -> None:
    await told(space, [[("nodea", "uses", "nodeb")]])
    request = TraverseRequest(agent_id=space.agent_id, seed_entity="nodea")
    answer = await space.services.entity_graph.traverse(DEFAULT_SCOPE, request)
    assert [(node.name, node.via_co_occur) for node in answer.nodes] == [("nodeb", 1)]
    with pytest.raises(ValueError, match="relations"):
        TraverseRequest(agent_id=space.agent_id, seed_entity="nodea", relations=[])
