"""Names of one thing that became several, and names of several things that became one."""

from __future__ import annotations

from typing import Any

from tests.fixtures.spaces import Space, ids

VARIANTS = ["Wren", "WREN", "the wren", "Wren's", "Wren\u200b", "Ｗｒｅｎ"]
OTHERS = ["Wrenn", "Wren 2", "Wren \U0001f56f\ufe0f", "Wren \U0001f5ef\ufe0f", "Merrivale", "Merryvale"]


async def test_variants_that_a_rule_merges_are_one_name_within_one_batch(space: Space) -> None:
    items = [{"content": f"note {at}", "entities": [name]} for at, name in enumerate(VARIANTS)]
    first, *others = ids(await space.remember_all(items))
    assert (await space.stats()).entities == 1
    assert set(await space.neighbours(first, "entity_link")) == set(others)


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


async def test_a_name_with_line_breaks_is_one_line(space: Space) -> None:
    memory = await space.remember("A city", entities=["New\nYork\t City", "New York City"])
    assert set(await space.entities(memory.id)) == {"New York City"}


async def test_every_pair_that_shares_a_name_is_linked_once(space: Space) -> None:
    written = ids(
        await space.remember_all({"content": f"note {at}", "entities": ["Zyra", "Quill", "Voss"]} for at in range(7))
    )
    pairs = [(id, edge.target_memory_id) for id in written for edge in await space.edges(id, "entity_link")]
    assert sorted(pairs) == sorted((one, other) for one in written for other in written if one != other)
