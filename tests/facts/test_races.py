"""Many who write facts of one subject and predicate at once: time has no gaps and no overlaps, now and as it was."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import UUID, uuid4

import pytest

from engram.agents.schemas import AgentCreate
from engram.db.database import driver
from engram.facts import Fact, InMemoryFactStore
from engram.facts.repository import FactFilter
from engram.facts.schemas import FactAppend, FactBatch, FactHistory, FactItem, FactStatus, StoredFact
from engram.problems import ConflictProblem, NotFoundProblem
from engram.services import Services
from engram.settings import Settings
from engram.tenants.scope import DEFAULT_SCOPE
from tests.facts.beliefs import Believed, Said, believed

WRITERS = 64
LIMIT = 120
"""Seconds, for what takes some: who waits for a lock for ever is found out."""

ALL = FactFilter(user_id=None)
EMPLOYER = {"subject": "alice", "predicate": "works_at"}


@pytest.fixture
def settings(database_url: str, make_settings: Callable[..., Settings]) -> Settings:
    """All of them wait for a connection for as long as it takes."""
    return make_settings(database_url, pool_size=10, pool_timeout=LIMIT)


@pytest.fixture
async def agent_id(services: Services) -> str:
    agent, _ = await services.agents.create(DEFAULT_SCOPE, AgentCreate(name="clerk"))
    return agent.id


async def every_fact(
    services: Services, agent_id: str, wanted: FactFilter = ALL, known_at: datetime | None = None
) -> list[StoredFact]:
    """The one that begins first first."""
    page = await services.facts.query(DEFAULT_SCOPE, agent_id, wanted, valid_at=None, known_at=known_at, limit=1000)
    return sorted(page.data, key=lambda fact: (fact.valid_from, fact.recorded_at))


def tile_time(facts: Sequence[StoredFact]) -> bool:
    """Whether each ends where the next begins, by that one's doing, and the last holds on."""
    touch = all(
        (before.valid_until, before.superseded_by) == (after.valid_from, after.id) for before, after in pairwise(facts)
    )
    return touch and (facts[-1].valid_until, facts[-1].superseded_by) == (None, None)


def said(fact: StoredFact) -> Said:
    names = ("id", "user_id", "subject", "predicate", "object", "valid_from", "stated_until", "supersede")
    return Said(**{name: getattr(fact, name) for name in names}, recorded_at=fact.recorded_at)


@pytest.mark.parametrize("backfilled", [False, True], ids=["now", "backfilled"])
async def test_of_many_who_contradict_each_other_at_once_each_has_its_time(
    services: Services, agent_id: str, backfilled: bool
) -> None:
    days = [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=day) for day in range(WRITERS)]
    random.Random(1).shuffle(days)

    async def write(writer: int) -> str:
        begins = days[writer] if backfilled and writer % 4 else None
        request = FactAppend(agent_id=agent_id, object=f"employer {writer}", valid_from=begins, **EMPLOYER)
        return (await services.facts.append(DEFAULT_SCOPE, request)).id

    async with asyncio.timeout(LIMIT):
        ids = await asyncio.gather(*map(write, range(WRITERS)))
    facts = await every_fact(services, agent_id)
    assert {fact.id for fact in facts} == set(ids)
    assert tile_time(facts)
    assert all(before.valid_from < after.valid_from for before, after in pairwise(facts))

    # One after the other they leave the same, and left it after each.
    sequential = InMemoryFactStore()
    for fact in sorted(facts, key=lambda fact: fact.recorded_at):
        plain = fact.model_dump(include=set(Fact.model_fields) - {"closed_by", "superseded_by"})
        await sequential.append(Fact(**{**plain, "valid_until": fact.stated_until}))
        known = await every_fact(services, agent_id, known_at=fact.recorded_at)
        assert tile_time(known)
        ends = {one.id: (one.valid_until, one.superseded_by) for one in await sequential.query(limit=WRITERS)}
        assert {one.id: (one.valid_until, one.superseded_by) for one in known} == ends
    assert {fact.id: (fact.valid_until, fact.superseded_by) for fact in facts} == ends


async def test_batches_that_write_the_same_slots_in_any_order_do_not_wait_in_a_circle(
    services: Services, agent_id: str
) -> None:
    people = [f"person {number}" for number in range(40)]

    def named(writer: int) -> list[str]:
        """All in one order or the other, or some of them."""
        if writer % 3 == 2:
            return random.Random(writer).sample(people, 5 + writer)
        return people[:: -1 if writer % 3 else 1]

    async def write(writer: int) -> list[str]:
        items = [FactItem(subject=name, predicate="works_at", object=f"employer {writer}") for name in named(writer)]
        return (await services.facts.append_many(DEFAULT_SCOPE, FactBatch(agent_id=agent_id, items=items))).ids

    async with asyncio.timeout(LIMIT):
        written = await asyncio.gather(*map(write, range(30)))
    stored = 0
    for name in people:
        facts = await every_fact(services, agent_id, FactFilter(user_id=None, subject=name))
        assert tile_time(facts)
        stored += len(facts)
    assert stored == len({id for ids in written for id in ids}) == sum(len(named(writer)) for writer in range(30))


async def test_what_is_learnt_later_is_later_whatever_the_clocks_of_several_servers_say(
    services: Services, agent_id: str
) -> None:
    async def write(employer: str) -> StoredFact:
        return await services.facts.append(DEFAULT_SCOPE, FactAppend(agent_id=agent_id, object=employer, **EMPLOYER))

    acme = await write("acme")
    # The clock of the server that wrote it is an hour ahead.
    async with services.database.transaction() as connection:
        await driver(connection).execute(
            "UPDATE facts SET recorded_at = $2, updated_at = $2, valid_from = $2 WHERE id = $1",
            UUID(acme.id),
            acme.recorded_at + timedelta(hours=1),
        )
    initech = await write("initech")
    assert initech.recorded_at > acme.recorded_at + timedelta(hours=1)
    assert tile_time(await every_fact(services, agent_id))
    assert tile_time(await every_fact(services, agent_id, known_at=initech.recorded_at))
    undone = await services.facts.undo(DEFAULT_SCOPE, initech.id)
    assert undone.updated_at > initech.recorded_at
    assert [fact.id for fact in await every_fact(services, agent_id)] == [acme.id]


async def test_in_one_slot_of_many_values_nobody_ends_another(services: Services, agent_id: str) -> None:
    async def write(writer: int) -> None:
        items = [
            FactItem(object=f"tongue {writer} {at}", supersede=False, subject="alice", predicate="speaks")
            for at in "ab"
        ]
        await services.facts.append_many(DEFAULT_SCOPE, FactBatch(agent_id=agent_id, items=items))

    async with asyncio.timeout(LIMIT):
        await asyncio.gather(*map(write, range(16)))
    facts = await every_fact(services, agent_id)
    assert len(facts) == 32
    assert {fact.valid_until for fact in facts} == {None}


@pytest.mark.parametrize("seed", [1, 2])
async def test_whatever_happens_at_once_each_fact_ends_as_it_should(
    services: Services, agent_id: str, seed: int
) -> None:
    chance, done = random.Random(seed), Counter[str]()
    ids: list[str] = []

    def item() -> FactItem:
        begins = chance.choice([None, datetime(2024, 1, chance.randint(1, 9), tzinfo=UTC)])
        lasts = None if begins is None or chance.random() < 0.6 else begins + timedelta(days=chance.randint(1, 5))
        fields = {"valid_from": begins, "valid_until": lasts, "supersede": chance.random() < 0.8}
        return FactItem(object=f"employer {chance.randint(1, 4)}", **EMPLOYER, **fields)

    async def append() -> None:
        made = await services.facts.append(DEFAULT_SCOPE, FactAppend(agent_id=agent_id, **item().model_dump()))
        ids.append(made.id)

    async def append_many() -> None:
        batch = FactBatch(agent_id=agent_id, items=[item(), item(), item()])
        ids.extend((await services.facts.append_many(DEFAULT_SCOPE, batch)).ids)

    deeds: dict[str, Callable[[], Awaitable[object]]] = {
        "append": append,
        "append again": append,
        "batch": append_many,
        "delete": lambda: services.facts.delete(DEFAULT_SCOPE, chance.choice(ids)),
        "undo": lambda: services.facts.undo(DEFAULT_SCOPE, chance.choice(ids)),
        "restore": lambda: services.facts.restore(DEFAULT_SCOPE, chance.choice(ids)),
        "restore again": lambda: services.facts.restore(DEFAULT_SCOPE, chance.choice(ids)),
    }

    async def work() -> None:
        for _ in range(12):
            name = chance.choice([*deeds])
            try:
                await deeds[name]()
            except (ConflictProblem, NotFoundProblem):
                continue
            done[name] += 1

    await append()
    async with asyncio.timeout(LIMIT):
        await asyncio.gather(*(work() for _ in range(8)))
    assert {"append", "batch", "delete", "undo", "restore"} <= set(done), done
    histories = [await services.facts.history(DEFAULT_SCOPE, id) for id in ids]
    moments = sorted({belief.recorded_at for history in histories for belief in history.beliefs})
    # Of a batch the first facts are known a little before the last, with which it is known what they end.
    settled = [now for now, then in pairwise(moments) if then - now > timedelta(microseconds=1)]
    for moment in [*chance.sample(settled, min(20, len(settled))), moments[-1]]:
        await is_as_it_should_be(services, agent_id, histories, moment)


async def is_as_it_should_be(
    services: Services, agent_id: str, histories: Sequence[FactHistory], moment: datetime
) -> None:
    """Every fact that was believed at a moment is told with the end that what was known gave it."""
    statuses: dict[str, str] = {}
    for history in histories:
        so_far = [belief.status for belief in history.beliefs if belief.recorded_at <= moment]
        if so_far:
            statuses[history.fact.id] = so_far[-1].value
    known = believed([said(history.fact) for history in histories if history.fact.id in statuses], statuses)
    expected = {id: _end(one) for id, one in known.items() if one.status == FactStatus.standing}
    found = await every_fact(services, agent_id, known_at=moment)
    assert {one.id: (one.valid_until, one.superseded_by) for one in found} == expected


def _end(one: Believed) -> tuple[datetime | None, str | None]:
    return one.until, one.superseded_by


async def test_an_id_that_many_write_at_once_is_taken_by_one(services: Services, agent_id: str) -> None:
    id = uuid4()

    async def write(writer: int) -> str | None:
        batch = FactBatch(agent_id=agent_id, items=[FactItem(subject=f"s{writer}", predicate="is", object="x")])
        try:
            return (await services.facts.append_many(DEFAULT_SCOPE, batch, [UUID(str(id))])).ids[0]
        except ConflictProblem:
            return None

    async with asyncio.timeout(LIMIT):
        outcomes = await asyncio.gather(*map(write, range(8)))
    assert [outcome for outcome in outcomes if outcome is not None] == [str(id)]
    assert len(await every_fact(services, agent_id)) == 1
