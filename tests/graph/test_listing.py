"""Which edges of a memory are shown: at any instant, as known at any other, and those that have closed."""

from __future__ import annotations

import random
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from engram.db.database import driver
from engram.graph.supersession import SupersessionEdges
from engram.problems import NotFoundProblem
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.spaces import Space, ids

NOON = datetime(2025, 5, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
HOURS = range(10)
ALWAYS, NEVER_ENDS = -1, 12
"""Before and after all hours that are asked about."""

RELATIONS = ["causal", "supports", "supersedes"]

Period = tuple[int, int]


def at(hour: int) -> datetime:
    return NOON + hour * HOUR


def hours(*periods: Period) -> set[int]:
    return {hour for begins, ends in periods for hour in range(begins, ends)}


@dataclass
class PlainEdge:
    """What an edge is said to be, hour by hour."""

    window: Period
    weight: float
    earlier: set[int] = field(default_factory=set)
    deleted: bool = False

    def say(self, begins: int | None, ends: int | None, weight: float) -> bool:
        """Assert it again; whether that is possible."""
        starts = self.window[0] if begins is None else begins
        reopened = begins is not None and begins >= self.window[1]
        stops = ends if ends is not None else NEVER_ENDS if reopened else self.window[1]
        if stops <= starts:
            return False
        self.weight = max(self.weight, weight)
        said = hours((starts, stops))
        if said & hours(self.window):
            self.window, self.earlier = (starts, stops), self.earlier - said
            return True
        every = self.earlier | hours(self.window) | said
        first = last = max(every)
        while first - 1 in every:
            first -= 1
        self.window, self.earlier = (first, last + 1), every - hours((first, last + 1))
        return True

    def holds(self, hour: int) -> bool:
        return not self.deleted and hour in hours(self.window) | self.earlier


async def supersede(space: Space, new: str, old: str, hour: int) -> None:
    """What a write to the old one's key does to the two rows and their edge."""
    async with TenantDatabase(space.services.database).transaction(DEFAULT_SCOPE) as connection:
        await driver(connection).execute(
            "UPDATE memories SET status = 'superseded', superseded_by = $2, valid_until = $3 WHERE id = $1",
            UUID(old),
            UUID(new),
            at(hour),
        )
        await SupersessionEdges().draw(
            connection, DEFAULT_SCOPE, UUID(space.agent_id), [(UUID(new), UUID(old), at(hour))]
        )


async def memories(space: Space, periods: list[Period]) -> list[str]:
    return ids(
        await space.remember_all(
            {
                "content": f"memory {place}",
                "embedding": space.vector(*[0.0] * place, 1.0),
                "valid_from": at(begins),
                "valid_until": at(ends) if ends < NEVER_ENDS else None,
            }
            for place, (begins, ends) in enumerate(periods)
        )
    )


@pytest.mark.parametrize("seed", range(4))
async def test_any_edge_is_shown_at_any_hour_as_known_at_any_time_as_a_plain_model_says(
    space: Space, seed: int
) -> None:
    chance = random.Random(seed)
    held = [(chance.randrange(3), chance.choice([7, 9, NEVER_ENDS, NEVER_ENDS])) for _ in range(5)]
    known_ids = await memories(space, held)
    standing: dict[tuple[int, int, str], PlainEdge] = {}
    history = [({}, datetime.now(UTC))]

    for _ in range(60):
        one, other = chance.sample(range(5), 2)
        key = (one, other, chance.choice(RELATIONS))
        edge = standing.get(key)
        if edge is not None and not edge.deleted and chance.random() < 0.2:
            await space.unlink(known_ids[one], known_ids[other], key[2])
            edge.deleted = True
        else:
            begins = chance.choice([None, *HOURS])
            ends = chance.choice([None, *HOURS])
            if begins is not None and ends is not None and ends <= begins:
                continue
            weight = chance.randint(1, 9) / 10
            window = (ALWAYS if begins is None else begins, NEVER_ENDS if ends is None else ends)
            if edge is None or edge.deleted:
                standing[key] = PlainEdge(window, weight)
            elif not edge.say(begins, ends, weight):
                continue
            said = {"valid_from": begins, "valid_until": ends}
            given = {name: at(hour) for name, hour in said.items() if hour is not None}
            await space.link(known_ids[one], known_ids[other], key[2], weight=weight, **given)
        history.append((deepcopy(standing), datetime.now(UTC)))

    for edges, known_at in [*chance.sample(history, 8), (standing, None)]:
        for hour in chance.sample(HOURS, 4):
            for centre in range(5):
                expected = {
                    (target if centre == source else source, relation, "out" if centre == source else "in", edge.weight)
                    for (source, target, relation), edge in edges.items()
                    if centre in (source, target)
                    and edge.holds(hour)
                    and (relation == "supersedes" or hour in hours(held[source]) & hours(held[target]))
                }
                shown = await space.edges(known_ids[centre], *RELATIONS, as_of=at(hour), known_at=known_at)
                assert {
                    (known_ids.index(e.target_memory_id), e.relation_type.value, e.direction.value, e.weight)
                    for e in shown
                } == expected


async def test_what_was_superseded_shows_its_successor_and_what_led_to_it_then(space: Space) -> None:
    old, new, cause = await memories(space, [(0, NEVER_ENDS), (4, NEVER_ENDS), (0, NEVER_ENDS)])
    await space.link(cause, old, "causal")
    await supersede(space, new, old, 4)
    (up,) = await space.edges(old)
    assert (up.target_memory_id, up.relation_type.value, up.direction.value) == (new, "supersedes", "in")
    assert (up.origin, up.weight, up.valid_from, up.valid_until) == ("supersession", 1, at(4), None)
    (down,) = await space.edges(new)
    assert (down.target_memory_id, down.direction.value) == (old, "out")
    assert await space.edges(cause) == []

    # Before, it led where it did; nothing superseded it yet. The edge ends where its end does.
    (before,) = await space.edges(old, as_of=at(3))
    assert (before.target_memory_id, before.valid_until) == (cause, at(4))
    (seen,) = await space.edges(cause, as_of=at(3))
    assert seen.valid_until == at(4)
    assert [edge.target_memory_id for edge in await space.edges(cause, include_invalidated=True)] == [old]
    assert await space.edges(new, as_of=at(3), include_invalidated=True) == []

    await space.forget(old)
    with pytest.raises(NotFoundProblem):
        await space.edges(old)
    assert await space.edges(new, include_invalidated=True) == []


async def test_what_was_deleted_is_seen_as_it_was_known_before(space: Space) -> None:
    one, other = await memories(space, [(0, NEVER_ENDS), (0, NEVER_ENDS)])
    await space.link(one, other, "causal", weight=0.5)
    before = datetime.now(UTC)
    await space.forget(other)
    assert await space.edges(one) == []
    assert [edge.target_memory_id for edge in await space.edges(one, known_at=before)] == [other]
    assert [edge.target_memory_id for edge in await space.edges(other, known_at=before)] == [one]
    with pytest.raises(NotFoundProblem):
        await space.edges(other)


async def test_closed_edges_are_shown_where_asked_for(space: Space) -> None:
    one, deleted, ended, over, later = await memories(
        space, [(0, NEVER_ENDS), (0, NEVER_ENDS), (0, NEVER_ENDS), (0, 5), (0, NEVER_ENDS)]
    )
    await space.link(one, deleted, "causal", weight=0.9)
    await space.unlink(one, deleted, "causal")
    await space.link(one, ended, "causal", weight=0.8, valid_until=at(5))
    await space.link(one, over, "causal", weight=0.7)
    await space.link(one, later, "causal", weight=0.6, valid_from=at(8))
    closed = await space.edges(one, include_invalidated=True)
    assert [edge.target_memory_id for edge in closed] == [deleted, ended, over, later]
    assert [edge.invalidated_at is not None for edge in closed] == [True, False, False, False]
    assert await space.edges(one, include_invalidated=True, page=1) == closed
    assert [edge.target_memory_id for edge in await space.edges(one)] == [later]
    # At an instant, what had begun by then.
    then = await space.edges(one, include_invalidated=True, as_of=at(6))
    assert [edge.target_memory_id for edge in then] == [deleted, ended, over]
    assert [edge.target_memory_id for edge in await space.edges(one, as_of=at(4))] == [ended, over]


async def test_edges_are_filtered_by_label_and_by_origin(space: Space) -> None:
    one, other, third = ids(
        await space.remember_all(
            {
                "content": f"this is turn number {place} of it",
                "session_id": "s",
                "entities": ["Zyra"],
                "embedding": space.vector(1, place / 10),
            }
            for place in range(3)
        )
    )
    await space.link(one, third, "causal", label="depends_on")
    await space.link(one, other, "supports", label="depends_on", weight=0.5)
    await space.link(one, other, "causal", label="other")

    async def shown(**asked: object) -> list[tuple[str, str]]:
        return [(edge.relation_type.value, edge.target_memory_id) for edge in await space.edges(one, **asked)]

    assert await shown(label="depends_on") == [("causal", third), ("supports", other)]
    assert await shown(label="no_such") == []
    assert {relation for relation, _ in await shown(origins=["temporal", "entity"])} == {"temporal", "entity_link"}
    assert await shown(origins=["asserted"], label="other") == [("causal", other)]
    assert {relation for relation, _ in await shown(origins=["thematic"])} == {"thematic"}


async def test_an_end_that_was_not_known_yet_is_not_found(space: Space) -> None:
    before = datetime.now(UTC)
    (one,) = await memories(space, [(0, NEVER_ENDS)])
    with pytest.raises(NotFoundProblem):
        await space.edges(one, known_at=before)
    assert await space.edges(one) == []
