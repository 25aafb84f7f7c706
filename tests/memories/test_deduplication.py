from __future__ import annotations

import asyncio
import contextlib
import random
import unicodedata
from datetime import UTC, datetime

import pytest

from engram.problems import ConflictProblem, NotFoundProblem
from tests.fixtures.spaces import Space, ids, new_space

MORNING = datetime(2026, 3, 1, 8, tzinfo=UTC)
EVENING = datetime(2026, 3, 1, 20, tzinfo=UTC)


async def count(space: Space) -> int:
    return (await space.stats()).memories


async def test_the_same_text_twice_is_one_memory(space: Space) -> None:
    first = await space.remember("I drink a cortado", tags=["coffee"])
    second = await space.remember("I drink a cortado", tags=["tea"])
    assert not first.deduplicated
    assert second.deduplicated
    assert second.id == first.id
    assert second.tags == ["coffee"]
    assert await count(space) == 1


async def test_twenty_at_once_are_one_memory(space: Space) -> None:
    answers = await asyncio.gather(*(space.remember("said by many at once") for _ in range(20)))
    assert len({answer.id for answer in answers}) == 1
    assert sum(not answer.deduplicated for answer in answers) == 1
    assert await count(space) == 1


async def test_a_batch_holds_each_text_once(space: Space) -> None:
    await space.remember("b")
    answer = await space.remember_all(["a", "b", "a", "c", "a"])
    assert [result.deduplicated for result in answer.results] == [False, True, True, False, True]
    first = ids(answer)
    assert first[0] == first[2] == first[4]
    assert (answer.created, answer.deduplicated) == (2, 3)
    assert await count(space) == 3


async def test_batches_that_overlap_in_opposite_order_do_not_wait_for_each_other_for_ever(space: Space) -> None:
    texts = [f"text {number}" for number in range(6)]
    names = ["Zyra", "Quill", "Voss"]

    async def write(number: int) -> list[str]:
        chosen = random.Random(number).sample(texts, 4)
        answer = await space.remember_all(
            # Always another session, so that every round writes.
            {"content": text, "session_id": str(number // 4), "entities": random.Random(number).sample(names, 2)}
            for text in chosen
        )
        return ids(answer)

    for start in range(0, 200, 4):
        await asyncio.gather(*(write(number) for number in range(start, start + 4)))
    written = {number: random.Random(number).sample(texts, 4) for number in range(200)}
    assert await count(space) == len({(number // 4, text) for number in written for text in written[number]})


async def test_all_writers_of_overlapping_batches_learn_the_same_ids(space: Space) -> None:
    texts = [f"text {number}" for number in range(40)]
    forward, backward = await asyncio.gather(space.remember_all(texts), space.remember_all(reversed(texts)))
    assert ids(forward) == list(reversed(ids(backward)))
    assert forward.created + backward.created == 40


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("caf\u00e9", "cafe\u0301"),
        ("\u00c5ngstr\u00f6m", "A\u030angstro\u0308m"),
        ("한국어", unicodedata.normalize("NFD", "한국어")),
    ],
)
async def test_how_accents_are_encoded_makes_no_difference(space: Space, one: str, other: str) -> None:
    first, second = await space.remember(one), await space.remember(other)
    assert second.deduplicated
    assert second.id == first.id
    assert second.content == one


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"user_id": "ada"}, {"user_id": "bob"}),
        ({"user_id": "ada"}, {}),
        ({"session_id": "1"}, {"session_id": "2"}),
        ({"session_id": "1"}, {"user_id": "1"}),
        ({"valid_from": MORNING}, {"valid_from": EVENING}),
        ({"valid_from": MORNING}, {}),
        ({"user_id": "ab", "session_id": "c"}, {"user_id": "a", "session_id": "bc"}),
        ({"user_id": "a+b", "session_id": "c"}, {"user_id": "a", "session_id": "b+c"}),
    ],
)
async def test_the_same_text_in_another_place_or_at_another_time_is_another_memory(
    space: Space, one: dict[str, object], other: dict[str, object]
) -> None:
    first, second = await space.remember("Yes.", **one), await space.remember("Yes.", **other)
    assert not second.deduplicated
    assert second.id != first.id
    again = await space.remember("Yes.", **one)
    assert (again.id, again.deduplicated) == (first.id, True)


async def test_an_import_can_be_repeated(space: Space) -> None:
    turns = [
        {"content": "Yes.", "session_id": "s", "valid_from": f"2026-03-01T08:0{minute}:00Z"} for minute in range(5)
    ]
    first, second = await space.remember_all(turns), await space.remember_all(turns)
    assert (first.created, second.created, second.deduplicated) == (5, 0, 5)
    assert ids(first) == ids(second)


async def test_the_same_instant_in_another_time_zone_is_the_same(space: Space) -> None:
    first = await space.remember("Yes.", valid_from="2026-03-01T08:00:00Z")
    second = await space.remember("Yes.", valid_from="2026-03-01T09:00:00+01:00")
    assert second.id == first.id


async def test_what_was_deleted_can_be_written_again(space: Space) -> None:
    first = await space.remember("I drink a cortado")
    await space.forget(first.id)
    again = await space.remember("I drink a cortado")
    assert not again.deduplicated
    assert again.id != first.id
    assert await space.texts("cortado") == ["I drink a cortado"]


async def test_writing_and_deleting_at_once_loses_no_write(space: Space) -> None:
    async def write_and_delete() -> None:
        for _ in range(10):
            # A write may find its twin gone again and again, but never fails to find what it wrote.
            with contextlib.suppress(ConflictProblem):
                memory = await space.remember("now and then")
                # Another one may have deleted the memory before we could.
                with contextlib.suppress(NotFoundProblem):
                    await space.forget(memory.id)

    await asyncio.gather(*(write_and_delete() for _ in range(4)))
    last = await space.remember("now and then")
    assert await count(space) == 1
    assert list(await space.hits("now and then")) == [last.id]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I drink a cortado", "I drink a flat white"),
        ("The port is 8080", "The port is 8081"),
        ("yes", "Yes"),
        ("a b", "a  b"),
        ("ﬁne", "fine"),
        ("done", "done "),
    ],
)
async def test_what_is_only_nearly_the_same_is_kept(space: Space, one: str, other: str) -> None:
    first, second = await space.remember(one), await space.remember(other)
    assert second.id != first.id
    assert await count(space) == 2


async def test_a_recalled_memory_stored_again_and_again_stays_one(space: Space) -> None:
    await space.remember("The user likes hiking")
    for _ in range(100):
        (content,) = await space.texts("hiking")
        assert (await space.remember(content)).deduplicated
    assert await count(space) == 1


async def test_agents_never_share_a_memory(space: Space) -> None:
    other = await new_space(space.services)
    here, there = await space.remember("shared text"), await other.remember("shared text")
    assert here.id != there.id
    assert not there.deduplicated
    assert list(await space.hits("shared text")) == [here.id]
    assert list(await other.hits("shared text")) == [there.id]
