"""What occurs together follows from what is imported: no line of a file tells it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from engram import AsyncEngram
from engram.agents.schemas import Agent
from engram.db.database import Database, driver
from engram.transfer.importing import making

from .files import exported, made_of, of_type
from .lives import PEOPLE, PLACES, live

_OBSERVED = """
    SELECT one.name AS first, other.name AS second, {what} FROM {table} t
    JOIN entities one ON one.agent_id = t.agent_id AND one.id = t.first_id
    JOIN entities other ON other.agent_id = t.agent_id AND other.id = t.second_id
    {more} WHERE t.agent_id = $1
"""
_STATEMENTS = {
    "observations": _OBSERVED.format(
        what="m.content || t.state AS what",
        table="co_occurrences",
        more="JOIN memories m ON m.agent_id = t.agent_id AND m.id = t.memory_id",
    ),
    "sums": _OBSERVED.format(what="t.co_occur::text AS what", table="entity_pairs", more=""),
    "degrees": """
        SELECT e.name AS first, e.name AS second, t.degree::text AS what FROM entity_degrees t
        JOIN entities e ON e.agent_id = t.agent_id AND e.id = t.entity_id WHERE t.agent_id = $1
    """,
}


async def kept(database: Database, agent_id: str) -> dict[str, list[Any]]:
    """Observations, sums and degrees of an agent, without ids."""
    found: dict[str, list[Any]] = {}
    async with database.snapshot() as connection:
        for name, statement in _STATEMENTS.items():
            rows = await driver(connection).fetch(statement, agent_id)
            found[name] = sorted((*sorted((row["first"], row["second"])), row["what"]) for row in rows)
    return found


async def walked(http: httpx.AsyncClient, agent_id: str) -> list[Any]:
    answers: list[Any] = []
    for moment in ({}, {"as_of": datetime(2026, 2, 1, tzinfo=UTC).isoformat()}):
        for name in (*PEOPLE, *PLACES):
            body = {"agent_id": agent_id, "seed_entity": name, "hub_share": 0, **moment}
            walk = await http.post("/v1/facts/traverse", json=body)
            assert walk.status_code == 200, walk.text
            answers.append(walk.json())
    return answers


async def test_observations_sums_and_degrees_of_the_copy_are_those_of_the_original(
    engram: AsyncEngram, http: httpx.AsyncClient, agent: Agent, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "OBSERVED_AT_ONCE", 7)
    await live(engram, agent.id, steps=150, seed=7)
    file = await exported(http, agent.id)
    expected, answers = await kept(database, agent.id), await walked(http, agent.id)
    assert all(expected.values())
    assert len({what[-4:] for _, _, what in expected["observations"]}) > 1
    assert sum(bool(answer["nodes"]) for answer in answers) > len(PEOPLE)
    assert len(of_type(file, "memory")) > 7
    copy = await made_of(http, file, name="copy", ids="new")
    assert await kept(database, copy) == expected
    assert await walked(http, copy) == answers
    # What is written next is counted as in the original.
    for id in (agent.id, copy):
        await engram.memories.create(id, "They met.", entities=["Alice", "Bob"], valid_from="2026-01-01")
    assert await kept(database, copy) == await kept(database, agent.id)
