"""Names of one thing that became several, and names of several things that became one."""

from __future__ import annotations

from typing import Any

from engram.entities.graph.schemas import TraverseRequest
from engram.facts.schemas import MergeCreate, MergeCreated
from engram.facts.triples.service import TripleQuestion
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.spaces import Space, ids

VARIANTS = ["Wren", "WREN", "the wren", "Wren's", "Wren\u200b", "Ｗｒｅｎ"]
OTHERS = [
    "Wrenn",
    "Wren 2",
    "Wren \U0001f56f\ufe0f",
    "Wren \U0001f5ef\ufe0f",
    "Merrivale",
    "Merryvale",
    "Aster",
    "aster 0",
]


async def test_variants_that_a_rule_merges_are_one_name_within_one_batch(space: Space) -> None:
    items = [{"content": f"note {at}", "entities": [name]} for at, name in enumerate(VARIANTS)]
    first, *others = ids(await space.remember_all(items))
    assert (await space.stats()).entities == 1
    assert set(await space.neighbours(first, "entity_link")) == set(others)
    items = [{"content": f"nest {at}", "relations": [[name, "builds", "nest"]]} for at, name in enumerate(VARIANTS)]
    await space.remember_all(items)
    assert (await space.stats()).entities == 2
    asked = TripleQuestion(agent_id=space.agent_id)
    (line,) = (await space.services.triples.list(DEFAULT_SCOPE, asked, limit=10, cursor=None)).data
    assert (line.subject, line.co_occur) == ("wren", len(VARIANTS))


async def test_names_that_no_rule_merges_stay_apart_within_one_batch(space: Space) -> None:
    items = [{"content": f"note {at}", "entities": [name]} for at, name in enumerate(["Wren", *OTHERS])]
    written = ids(await space.remember_all(items))
    assert (await space.stats()).entities == 1 + len(OTHERS)
    for id in written:
        assert await space.neighbours(id, "entity_link") == {}


async def test_what_is_said_of_two_things_of_one_name_is_all_kept(space: Space) -> None:
    said: list[dict[str, Any]] = [
        {"content": "Apple released a phone", "entities": [{"name": "Apple", "role": "subject"}]},
        {"content": "I ate an apple", "entities": [{"name": "apple", "role": "subject"}]},
    ]
    company, fruit = ids(await space.remember_all(said))
    assert [(await space.get(id)).content for id in (company, fruit)] == [item["content"] for item in said]
    assert await space.entities(company) == {"Apple": ("subject", False)}
    assert await space.texts("phone", top_k=1) == ["Apple released a phone"]
    assert await space.texts("ate", top_k=1) == ["I ate an apple"]


async def around(space: Space, entity: str, **fields: Any) -> set[str]:
    """What occurs with an entity, or with ``labeled`` what is stated of it."""
    request = TraverseRequest(agent_id=space.agent_id, seed_entity=entity, max_hops=1, **fields)
    return {node.name for node in (await space.services.entity_graph.traverse(DEFAULT_SCOPE, request)).nodes}


async def merge(space: Space, name: str, other: str) -> MergeCreated:
    request = MergeCreate(agent_id=space.agent_id, name=name, other=other)
    return await space.services.facts.merges.merge(DEFAULT_SCOPE, request)


async def test_names_that_say_what_kind_of_thing_is_meant_stay_two_nodes(space: Space) -> None:
    """However near they are in every other way: nothing makes them one but somebody's word."""
    company, fruit = "Apple (company)", "apple (fruit)"
    said = [
        {"content": "Apple released it", "entities": [company, "iOS"], "relations": [[company, "sells", "iOS"]]},
        {"content": "I ate an apple", "entities": [fruit, "lunch"], "relations": [["user", "eats", fruit]]},
    ]
    for item in said:
        await space.remember_all([item, {**item, "content": f"{item['content']} again"}])
    assert (await around(space, company, labeled=True), await around(space, fruit, labeled=True)) == ({"ios"}, {"user"})
    # Beside what occurs with it, each occurs with the bare name, which texts have for either.
    assert await around(space, company) == {"ios", "apple"}
    assert await around(space, fruit) == {"lunch", "apple", "user"}
    asked = {"embedding": space.vector(1), "search_mode": "graph", "max_hops": 0}
    assert len(await space.texts("?", entity_filter=["apple"], **asked)) == 4


async def test_one_thing_under_names_of_several_kinds_meets_where_somebody_says_so(space: Space) -> None:
    concept, technology = "GraphRAG (concept)", "GraphRAG (technology)"
    await space.remember("It was described first", entities=[concept, "paper"])
    await space.remember("It was built later", entities=[technology, "library"])
    assert await around(space, "GraphRAG") == {"graphrag (concept)", "graphrag (technology)", "paper", "library"}
    assert "library" not in await around(space, concept)
    said = await merge(space, concept, technology)
    assert {"paper", "library"} <= await around(space, technology) == await around(space, concept)
    await space.services.facts.merges.undo(DEFAULT_SCOPE, said.id)
    assert "library" not in await around(space, concept)


async def test_a_merge_takes_the_name_that_was_said_and_none_that_is_like_it_and_better_known(space: Space) -> None:
    await space.remember_all(
        {"content": f"note {at}", "entities": ["Anna", f"thing{at}"], "relations": [["Anna", "has", f"thing{at}"]]}
        for at in range(9)
    )
    await space.remember("one more", entities=["Ann", "ledger"], relations=[["Ann", "keeps", "ledger"]])
    made = await merge(space, "Ann", "Robert")
    assert made.canonical == "ann"
    assert await around(space, "Robert") == await around(space, "Ann", labeled=True) == {"ledger"}
    assert len(await around(space, "Anna")) == len(await around(space, "Anna", labeled=True)) == 9


async def test_a_name_with_line_breaks_is_one_line(space: Space) -> None:
    memory = await space.remember("A city", entities=["New\nYork\t City", "New York City"])
    assert set(await space.entities(memory.id)) == {"New York City"}


async def test_every_pair_that_shares_a_name_is_linked_once(space: Space) -> None:
    written = ids(
        await space.remember_all({"content": f"note {at}", "entities": ["Zyra", "Quill", "Voss"]} for at in range(7))
    )
    pairs = [(id, edge.target_memory_id) for id in written for edge in await space.edges(id, "entity_link")]
    assert sorted(pairs) == sorted((one, other) for one in written for other in written if one != other)
