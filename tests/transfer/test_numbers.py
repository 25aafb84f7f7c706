"""Numbers and sensitivity on their way from one server to another."""

from __future__ import annotations

import httpx

from engram import AsyncEngram
from engram.agents.schemas import Agent

from .files import exported, made_of, of_type

HIGH = "The Harbour Clinic had 40 patients, said Doctor Brandt."


def patients(value: float, **more: object) -> dict[str, object]:
    return {"quantities": [{"entity": "Harbour Clinic", "attribute": "patients", "value": value, **more}]}


async def test_a_copy_computes_the_same_and_withholds_the_same(
    engram: AsyncEngram, http: httpx.AsyncClient, agent: Agent
) -> None:
    for day, value in (("01", 10), ("02", 30)):
        await engram.memories.set(
            agent.id, "clinic", f"{value} patients.", valid_from=f"2026-01-{day}", **patients(value)
        )
    await engram.memories.create(agent.id, "20 patients.", **patients(20, at="2026-01-01T12:00:00Z"))
    gone = await engram.memories.create(agent.id, "Never.", **patients(99))
    await engram.memories.delete(gone.id)
    item = {"content": HIGH, "sensitivity": "high", "entities": ["Doctor Brandt"], **patients(1000)}
    await engram.memories.create_many(agent.id, [item])
    file = await exported(http, agent.id)
    (high,) = [memory for memory in of_type(file, "memory") if memory["content"] == HIGH]
    assert (high["sensitivity"], high["withheld"], len(high["quantities"])) == ("high", True, 1)
    copy = await made_of(http, file, name="copy", ids="new")

    async def told(agent_id: str, op: str, as_of: str | None = None) -> tuple[float | None, list[float]]:
        found = await engram.facts.compute(agent_id, "harbour clinic", "patients", op, as_of=as_of)
        return found.value, [row.value for row in found.rows]

    for op, as_of in (("sum", None), ("latest", None), ("avg", "2026-01-01T18:00:00Z")):
        assert await told(copy, op, as_of) == await told(agent.id, op, as_of)
    assert await told(copy, "sum") == (50, [30, 20])
    found = [memory async for memory in engram.memories.list(copy) if memory.content == HIGH]
    detail = await engram.memories.get(found[0].id)
    assert (detail.sensitivity, detail.entities, len(detail.quantities)) == ("high", [], 1)
