"""Edges that a supersession draws and closes, and links that go with the text they were found for."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from engram.db.database import driver
from engram.graph.supersession import SupersessionEdges
from engram.graph.thematic_links import ThematicLinks
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.spaces import Space, ids

NOON = datetime(2025, 5, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
HOURS = range(-1, 9)
HELD = "valid_from, valid_until, earlier, invalidated_at"


def at(hour: float) -> datetime:
    return NOON + hour * HOUR


async def pair(space: Space) -> tuple[UUID, UUID]:
    """A newer and an older memory that nothing links."""
    old, new = ids(
        await space.remember_all(
            {"content": f"memory {place}", "embedding": space.vector(*[0.0] * place, 1.0)} for place in range(2)
        )
    )
    return UUID(new), UUID(old)


async def change(space: Space, how: str, new: UUID, old: UUID, hour: float) -> None:
    edges = SupersessionEdges()
    async with TenantDatabase(space.services.database).transaction(DEFAULT_SCOPE) as connection:
        written = edges.draw if how == "draw" else edges.close
        await written(connection, DEFAULT_SCOPE, UUID(space.agent_id), [(new, old, at(hour))])


async def rows(space: Space, statement: str, *values: object) -> list[dict[str, Any]]:
    async with TenantDatabase(space.services.database).snapshot(DEFAULT_SCOPE) as connection:
        return [dict(row) for row in await driver(connection).fetch(statement, UUID(space.agent_id), *values)]


async def hours_held(space: Space, table: str = "edges", order: str = "updated_at") -> list[set[int]]:
    """Of each state of the agent's edges the hours at which it holds."""
    moments = [at(hour) for hour in HOURS]
    held = await rows(
        space,
        f"""
        SELECT ARRAY(
            SELECT place - 1 FROM unnest($2::timestamptz[]) WITH ORDINALITY AS asked (moment, place)
            WHERE e.invalidated_at IS NULL
                AND (tstzrange(e.valid_from, e.valid_until) @> moment OR e.earlier @> moment)
        ) AS places
        FROM {table} e WHERE agent_id = $1 ORDER BY {order}
        """,
        moments,
    )
    return [{HOURS[place] for place in row["places"]} for row in held]


async def test_an_edge_is_drawn_closed_and_drawn_again(space: Space) -> None:
    new, old = await pair(space)
    await change(space, "draw", new, old, 1)
    (edge,) = await rows(space, "SELECT * FROM edges WHERE agent_id = $1")
    assert (edge["source_id"], edge["target_id"], edge["relation_type"]) == (new, old, "supersedes")
    assert (edge["weight"], edge["origin"], edge["valid_from"], edge["valid_until"]) == (1, "supersession", at(1), None)
    assert await hours_held(space, "edge_versions", "recorded_until") == []

    await change(space, "close", new, old, 3)
    assert await hours_held(space) == [{1, 2}]
    await change(space, "draw", new, old, 5)
    assert await hours_held(space) == [{1, 2, 5, 6, 7, 8}]
    # A window in which it would have held at no time is taken back, and what held before stands.
    await change(space, "close", new, old, 5)
    assert await hours_held(space) == [{1, 2}]
    assert await hours_held(space, "edge_versions", "recorded_until") == [
        {1, 2, 3, 4, 5, 6, 7, 8},
        {1, 2},
        {1, 2, 5, 6, 7, 8},
    ]
    periods = await rows(
        space,
        "SELECT recorded_from, recorded_until FROM edge_versions WHERE agent_id = $1"
        " UNION ALL SELECT updated_at, NULL FROM edges WHERE agent_id = $1 ORDER BY 1",
    )
    assert [period["recorded_until"] for period in periods[:-1]] == [period["recorded_from"] for period in periods[1:]]


async def test_what_held_at_no_time_is_invalidated_and_comes_back_as_new(space: Space) -> None:
    new, old = await pair(space)
    await change(space, "draw", new, old, 4)
    await change(space, "close", new, old, 2)
    (edge,) = await rows(space, f"SELECT {HELD} FROM edges WHERE agent_id = $1")
    assert edge["invalidated_at"] is not None
    assert await space.edges(str(new), "supersedes") == []
    await change(space, "draw", new, old, 6)
    assert await hours_held(space) == [{6, 7, 8}]


async def test_drawing_or_closing_what_stands_so_changes_nothing(space: Space) -> None:
    new, old = await pair(space)
    await change(space, "close", new, old, 2)
    for how, hour in (("draw", 1), ("close", 3)):
        await change(space, how, new, old, hour)
        before = await rows(space, "SELECT concat(xmin, e) AS row FROM edges e WHERE agent_id = $1")
        versions = await hours_held(space, "edge_versions", "recorded_until")
        if how == "draw":
            await change(space, "draw", new, old, hour)
        else:
            await change(space, "close", new, old, hour)
            await change(space, "close", new, old, hour + 1)
        assert await rows(space, "SELECT concat(xmin, e) AS row FROM edges e WHERE agent_id = $1") == before
        assert await hours_held(space, "edge_versions", "recorded_until") == versions


async def test_what_a_client_asserted_becomes_a_supersession_and_keeps_its_words(space: Space) -> None:
    new, old = await pair(space)
    await space.link(str(new), str(old), "supersedes", weight=0.5, label="mine", reason="seen")
    await change(space, "draw", new, old, 1)
    (edge,) = await rows(space, "SELECT weight, origin, label, reason, valid_from FROM edges WHERE agent_id = $1")
    assert edge == {"weight": 1, "origin": "supersession", "label": "mine", "reason": "seen", "valid_from": at(1)}
    (before,) = await rows(space, "SELECT weight, origin FROM edge_versions WHERE agent_id = $1")
    assert before == {"weight": 0.5, "origin": "asserted"}


@pytest.mark.parametrize("chance", range(3))
async def test_whatever_the_order_it_holds_as_was_last_said_of_each_hour(space: Space, chance: int) -> None:
    new, old = await pair(space)
    said = random.Random(chance)
    held: set[int] = set()
    drawn = False
    for _ in range(25):
        hour = said.choice(HOURS)
        if drawn:
            await change(space, "close", new, old, hour)
            held = {each for each in held if each < hour}
        else:
            await change(space, "draw", new, old, hour)
            held = {each for each in held if each < hour} | {each for each in HOURS if each >= hour}
        drawn = not drawn
        assert await hours_held(space) == [held]


async def test_links_of_a_text_go_with_it_and_those_of_clients_stay(space: Space) -> None:
    centre, *others = ids(
        await space.remember_all(
            {"content": f"this is memory number {place} of it", "embedding": space.vector(1, place / 20)}
            for place in range(5)
        )
    )
    assert set(await space.neighbours(centre, "thematic")) == set(others)
    await space.unlink(centre, others[0], "thematic")
    await space.link(centre, others[1], "thematic", weight=0.1)
    await space.link(centre, others[2], "causal")
    now = datetime.now(UTC)
    async with TenantDatabase(space.services.database).transaction(DEFAULT_SCOPE) as connection:
        await ThematicLinks().forget(connection, DEFAULT_SCOPE, UUID(space.agent_id), UUID(centre), now)
    assert set(await space.neighbours(centre, "thematic")) == {others[1]}
    assert set(await space.neighbours(centre, "causal")) == {others[2]}
    assert len(await space.neighbours(others[3], "thematic")) == 3
    gone = await rows(
        space,
        "SELECT source_id, target_id FROM edge_versions WHERE agent_id = $1 AND origin = 'thematic'"
        " AND recorded_until = $2 AND invalidated_at IS NULL",
        now,
    )
    assert {frozenset(str(id) for id in row.values()) for row in gone} == {
        frozenset((centre, other)) for other in others[2:]
    }
    # Nothing but the client brings back what it deleted.
    (deleted,) = await rows(space, "SELECT origin FROM edges WHERE agent_id = $1 AND invalidated_at IS NOT NULL")
    assert deleted["origin"] == "thematic"
