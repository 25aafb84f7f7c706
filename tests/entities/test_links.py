"""What it is worth to share a name: it depends on how many do, and on who is about it."""

from __future__ import annotations

import math

import pytest

from tests.fixtures.spaces import Space, ids

HUB = 50


def about(name: str) -> dict[str, str]:
    return {"name": name, "role": "subject"}


def specificity(memories: int) -> float:
    return 1 / (1 + math.log(memories))


async def links(space: Space, id: str) -> dict[str, float]:
    return await space.neighbours(id, "entity_link")


async def test_toward_what_is_about_a_name_the_weight_is_one(space: Space) -> None:
    subject = (await space.remember("biography", entities=[about("Zyra")])).id
    one = (await space.remember("one", entities=["Zyra"])).id
    other = (await space.remember("Zyra is recognised here")).id
    third = pytest.approx(specificity(3))
    assert await links(space, subject) == {one: third, other: third}
    assert await links(space, one) == {subject: 1.0, other: third}
    assert await links(space, other) == {subject: 1.0, one: third}


async def test_two_about_one_name_lead_to_each_other_in_full(space: Space) -> None:
    one, other = ids(
        await space.remember_all({"content": text, "entities": [about("Zyra")]} for text in ("one", "other"))
    )
    assert await links(space, one) == {other: 1.0}
    assert await links(space, other) == {one: 1.0}


async def test_of_several_shared_names_the_strongest_counts(space: Space) -> None:
    one = (await space.remember("one", entities=["Zyra", "Quill", "Voss"])).id
    other = (await space.remember("other", entities=["Zyra", "Quill"])).id
    await space.remember_all({"content": f"{number}", "entities": ["Zyra"]} for number in range(5))
    (edge,) = [edge for edge in await space.edges(one, "entity_link") if edge.target_memory_id == other]
    assert (edge.entity, edge.weight) == ("Quill", pytest.approx(specificity(2)))
    assert (edge.decay_multiplier, edge.origin, edge.direction) == (0.98, "entity", "both")


async def test_memories_that_share_no_name_are_not_linked(space: Space) -> None:
    one = (await space.remember("one", entities=["Zyra"])).id
    other = (await space.remember("other", entities=["Quill"])).id
    assert await links(space, one) == await links(space, other) == {}


async def test_up_to_fifty_memories_a_name_links_all_of_them(space: Space) -> None:
    mentions = ids(
        await space.remember_all({"content": f"mention {number}", "entities": ["Zyra"]} for number in range(HUB - 1))
    )
    subject = (await space.remember("biography", entities=[about("Zyra")])).id
    assert await links(space, subject) == dict.fromkeys(mentions, pytest.approx(specificity(HUB)))
    expected = {**dict.fromkeys(mentions[1:], pytest.approx(specificity(HUB))), subject: 1.0}
    assert await links(space, mentions[0]) == expected


async def test_a_name_of_more_leads_only_to_what_is_about_it(space: Space) -> None:
    mentions = ids(
        await space.remember_all({"content": f"mention {number}", "entities": ["Zyra"]} for number in range(HUB - 1))
    )
    subjects = ids(
        await space.remember_all({"content": f"about {number}", "entities": [about("Zyra")]} for number in range(2))
    )
    assert await links(space, mentions[0]) == dict.fromkeys(subjects, 1.0)
    assert await links(space, subjects[0]) == {subjects[1]: 1.0}
    # One fewer, and it is no hub any more.
    await space.forget(mentions[1])
    assert len(await links(space, subjects[0])) == HUB - 1


async def test_recognised_mentions_make_a_hub_too(space: Space) -> None:
    first = (await space.remember("declares", entities=["Zyra"])).id
    await space.remember_all(f"Zyra was seen {number} times" for number in range(HUB - 1))
    assert len(await links(space, first)) == HUB - 1
    await space.remember("Zyra was seen once more")
    assert await links(space, first) == {}


async def test_a_recall_walks_a_hub_the_same_way(space: Space) -> None:
    vectors = {"mention": space.vector(1), "subject": space.vector(0, 1), "others": space.vector(0, 0, 1)}
    start = (await space.remember("start", entities=["Zyra"], embedding=vectors["mention"])).id
    subject = (await space.remember("biography", entities=[about("Zyra")], embedding=vectors["subject"])).id
    others = ids(
        await space.remember_all(
            {"content": f"other {number}", "entities": ["Zyra"], "embedding": vectors["others"]}
            for number in range(HUB)
        )
    )
    hits = await space.hits(
        embedding=vectors["mention"], lexical=False, max_hops=1, relation_types=["entity_link"], top_k=100
    )
    assert hits[start].graph_score == 0
    assert hits[subject].graph_score == pytest.approx(0.95 * 0.98)
    (step,) = hits[subject].path[1:]
    assert (step.relation_type, step.entity, step.weight) == ("entity_link", "Zyra", 1.0)
    assert {hits[other].graph_score for other in others} == {0.0}
