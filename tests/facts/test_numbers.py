"""Numbers that come with memories, and what is computed from them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from engram import AsyncEngram, NotFoundError, UnprocessableEntityError
from engram.agents.schemas import Agent
from engram.facts.quantities import answering
from engram.facts.quantities.schemas import Computed

OPS = ("latest", "sum", "min", "max", "avg", "count")


@pytest.fixture
async def agent(engram: AsyncEngram) -> Agent:
    return await engram.agents.create("clerk")


def measured(value: float, unit: str | None = "GB", **more: Any) -> list[dict[str, Any]]:
    return [{"entity": "Billing Service", "attribute": "memoryUsed", "value": value, "unit": unit, **more}]


async def computed(engram: AsyncEngram, agent: Agent, op: str = "latest", **asked: Any) -> Computed:
    return await engram.facts.compute(agent.id, "the billing services", "memory used", op, **asked)


async def test_a_number_is_computed_from_all_that_memories_declare(engram: AsyncEngram, agent: Agent) -> None:
    first = await engram.memories.create(agent.id, "It used 2 GB.", quantities=measured(2, at="2026-03-01"))
    last = await engram.memories.create(agent.id, "It used 3,500 MB.", quantities=measured(3500, "MB", at="2026-03-03"))
    await engram.memories.create(agent.id, "It used 0.5 GB.", quantities=measured(0.5), valid_from="2026-03-02")
    found = {op: await computed(engram, agent, op) for op in OPS}
    assert {op: answer.value for op, answer in found.items()} == {
        **{"latest": 3500, "sum": 6000, "min": 500, "max": 3500, "avg": 2000, "count": 3}
    }
    assert {answer.unit for answer in found.values()} == {"MB", None}
    assert all(answer.found and answer.entity == "billing service" for answer in found.values())
    assert found["count"].unit is None
    assert [(row.value, row.unit, row.converted) for row in found["sum"].rows] == [
        (3500, "MB", 3500),
        (0.5, "GB", 500),
        (2, "GB", 2000),
    ]
    assert [row.memory_id for row in found["latest"].rows] == [last.id]
    assert found["max"].rows[0].memory_id == last.id
    assert (await computed(engram, agent, "min", unit="GB")).value == 0.5
    earlier = await computed(engram, agent, valid_until="2026-03-02")
    assert (earlier.value, earlier.rows[0].memory_id) == (2, first.id)
    assert (await computed(engram, agent, "count", valid_from="2026-03-02")).value == 2


async def test_where_there_is_nothing_nothing_is_found(engram: AsyncEngram, agent: Agent) -> None:
    await engram.memories.create(agent.id, "The billing service.", entities=["billing service"])
    for entity in ("billing service", "nobody"):
        for op in OPS:
            answer = await engram.facts.compute(agent.id, entity, "memory_used", op)
            assert (answer.found, answer.count, answer.rows, answer.truncated) == (False, 0, [], False)
            assert answer.value == (0 if op == "count" else None)
    with pytest.raises(NotFoundError):
        await engram.facts.compute("01890a5d-ac96-774b-bcce-b302099a8057", "nobody", "size")


@pytest.mark.parametrize(
    ("quantity", "field"),
    [
        ({"entity": "it"}, "quantities.0.entity"),
        ({"entity": " "}, "quantities.0.entity"),
        ({"unit": "furlongs per firkins"}, "quantities.0.unit"),
        ({"unit": "9**9**9**9"}, "quantities.0.unit"),
        ({"unit": ""}, "quantities.0.unit"),
        ({"value": True}, "quantities.0.value"),
        ({"attribute": "-"}, "quantities.0.attribute"),
    ],
)
async def test_what_is_no_number_of_anything_is_refused_by_name(
    engram: AsyncEngram, agent: Agent, quantity: dict[str, Any], field: str
) -> None:
    wrong = [{"entity": "Oak", "attribute": "height", "value": 3, "unit": "m", **quantity}]
    writes: list[Callable[[], Any]] = [
        lambda: engram.memories.create(agent.id, "An oak.", quantities=wrong),
        lambda: engram.memories.set(agent.id, "oak", "An oak.", quantities=wrong),
        lambda: engram.memories.create_many(agent.id, [{"content": "An oak.", "quantities": wrong}]),
    ]
    for write in writes:
        with pytest.raises(UnprocessableEntityError) as refused:
            await write()
        assert field in str(refused.value)


async def test_at_most_eight_come_with_a_memory(engram: AsyncEngram, agent: Agent) -> None:
    await engram.memories.create(agent.id, "Eight.", quantities=measured(1) * 8)
    # Said twice, a number is one.
    assert (await computed(engram, agent, "count")).value == 1
    with pytest.raises(UnprocessableEntityError, match="quantities"):
        await engram.memories.create(agent.id, "Nine.", quantities=measured(1) * 9)


async def test_units_that_are_nothing_to_each_other_are_named_with_their_memories(
    engram: AsyncEngram, agent: Agent
) -> None:
    seconds = await engram.memories.create(agent.id, "Seconds.", quantities=measured(5, "s", at="2026-01-01"))
    size = await engram.memories.create(agent.id, "Bytes.", quantities=measured(5, "GB", at="2026-01-02"))
    for op in ("sum", "min", "max", "avg"):
        with pytest.raises(UnprocessableEntityError) as refused:
            await computed(engram, agent, op)
        assert all(part in str(refused.value) for part in ("s, as", "GB", seconds.id, size.id))
    assert (await computed(engram, agent)).value == 5
    assert (await computed(engram, agent, "count")).value == 2
    with pytest.raises(UnprocessableEntityError, match=seconds.id):
        await computed(engram, agent, "count", unit="GB")
    with pytest.raises(UnprocessableEntityError, match="no unit of measurement"):
        await computed(engram, agent, unit="bogus")
    # Money is of one kind with itself alone, and a bare number with what has no dimension.
    for value, unit in ((1.5, "kEUR"), (0.5, "EUR")):
        await engram.memories.create(
            agent.id, f"{unit}", quantities=[{"entity": "rent", "attribute": "price", "value": value, "unit": unit}]
        )
    assert (await engram.facts.compute(agent.id, "rent", "price", "sum", unit="EUR")).value == 1500.5
    with pytest.raises(UnprocessableEntityError, match="USD"):
        await engram.facts.compute(agent.id, "rent", "price", "sum", unit="USD")


async def test_temperatures_convert_with_their_zero_and_have_no_sum(engram: AsyncEngram, agent: Agent) -> None:
    for day, (value, unit) in enumerate([(20, "degC"), (86, "degF"), (283.15, "K")], start=1):
        await engram.memories.create(
            agent.id,
            f"{value} {unit}",
            quantities=[{"entity": "server room", "attribute": "temperature", "value": value, "unit": unit}],
            valid_from=f"2026-01-0{day}",
        )

    async def temperature(op: str, unit: str) -> float | None:
        return (await engram.facts.compute(agent.id, "server room", "temperature", op, unit=unit)).value

    assert await temperature("avg", "degC") == pytest.approx(20)
    assert [await temperature(op, "degF") for op in ("min", "max", "latest")] == pytest.approx([50, 86, 50])
    assert await temperature("latest", "K") == 283.15
    for unit in ("degC", "K"):
        with pytest.raises(UnprocessableEntityError, match="have no sum"):
            await temperature("sum", unit)


async def test_numbers_follow_their_memory(engram: AsyncEngram, agent: Agent) -> None:
    async def values(**asked: Any) -> list[float]:
        return sorted(row.value for row in (await computed(engram, agent, "count", **asked)).rows)

    one = await engram.memories.set(agent.id, "usage", "One.", quantities=measured(1), valid_from="2026-01-01")
    two = await engram.memories.set(agent.id, "usage", "Two.", quantities=measured(2), valid_from="2026-02-01")
    assert await values() == [2]
    assert await values(as_of="2026-01-15") == [1]
    assert (await engram.memories.get(two.id)).quantities[0].attribute == "memory_used"
    await engram.memories.restore(one.id)
    assert await values() == [1]
    await engram.memories.delete(one.id)
    assert await values() == []
    await engram.memories.restore(one.id)
    assert await values() == [1]
    updated = await engram.memories.update(one.id, quantities=[*measured(7), *measured(8, "MB")])
    assert [quantity.value for quantity in updated.quantities] == [7, 8]
    assert await values() == [7, 8]
    await engram.memories.update(one.id, content="Seven.")
    assert await values() == [7, 8]
    await engram.memories.update(one.id, quantities=[])
    assert await values() == []
    three = await engram.memories.create(agent.id, "Three.", quantities=measured(3))
    assert (await engram.memories.purge(three.id)).quantities == 1
    assert await values() == []
    assert not (await engram.facts.compute(agent.id, "billing service", "memory_used")).found


async def test_the_moment_of_a_number_without_one_is_when_its_memory_begins(engram: AsyncEngram, agent: Agent) -> None:
    memory = await engram.memories.create(agent.id, "One.", quantities=measured(1), valid_from="2026-01-01")
    assert (await computed(engram, agent)).rows[0].at == memory.valid_from
    later = await engram.memories.update(memory.id, valid_from="2026-02-01")
    assert (await computed(engram, agent)).rows[0].at == later.valid_from


async def test_an_answer_shows_two_hundred_rows_and_counts_all(
    engram: AsyncEngram, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answering, "PAGE", 50)
    items = [
        {"content": f"Note {n}.", "quantities": measured(n + 0.1, "s", at=f"2026-01-01T00:{n // 60:02}:{n % 60:02}Z")}
        for n in range(251)
    ]
    await engram.memories.create_many(agent.id, items)
    whole = {op: await computed(engram, agent, op) for op in OPS}
    assert whole["sum"].value == math.fsum(n + 0.1 for n in range(251))
    assert (whole["count"].value, whole["min"].value, whole["max"].value) == (251, 0.1, 250.1)
    assert [(len(answer.rows), answer.truncated, answer.count) for answer in whole.values()] == [
        (1, False, 1),
        *[(200, True, 251)] * 5,
    ]
    # The least is beyond what is shown, and shown first all the same.
    assert whole["min"].rows[0].value == 0.1


async def test_numbers_too_large_for_the_unit_are_refused(engram: AsyncEngram, agent: Agent) -> None:
    for content in ("Much.", "As much."):
        await engram.memories.create(agent.id, content, quantities=measured(1e308, "km"))
    assert (await computed(engram, agent, "avg")).value == 1e308
    with pytest.raises(UnprocessableEntityError, match="larger unit"):
        await computed(engram, agent, "sum")
    with pytest.raises(UnprocessableEntityError, match="is no number in"):
        await computed(engram, agent, "max", unit="mm")


async def test_merged_entities_count_as_one_until_the_merge_is_taken_back(engram: AsyncEngram, agent: Agent) -> None:
    for name, value in (("Robert", 1), ("Bob", 2)):
        await engram.memories.create(
            agent.id, f"{name} ran.", quantities=[{"entity": name, "attribute": "runs", "value": value}]
        )

    async def runs(name: str) -> tuple[str, float | None]:
        found = await engram.facts.compute(agent.id, name, "runs", "sum")
        return found.entity, found.value

    merge = await engram.facts.merge(agent.id, "Bob", "Robert")
    assert await runs("Bob") == await runs("Robert") == (merge.canonical, 3)
    await engram.facts.unmerge(merge.id)
    assert [await runs("Bob"), await runs("Robert")] == [("bob", 2), ("robert", 1)]


async def test_a_duplicate_adds_no_numbers_and_said_in_two_memories_one_is_two(
    engram: AsyncEngram, agent: Agent
) -> None:
    for content in ("It took one.", "It took one.", "It took one more."):
        await engram.memories.create(agent.id, content, quantities=measured(1, None))
    answer = await computed(engram, agent, "sum")
    assert (answer.value, answer.unit, answer.count) == (2, None, 2)
