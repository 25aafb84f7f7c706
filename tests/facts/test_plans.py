"""What is read of facts follows what is asked for, not how many an agent holds, nor how many name a node."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from engram.db.database import driver
from engram.facts.repository import FactFilter
from engram.facts.schemas import FactAppend, FactBatch, FactItem, GraphQuestion, MergeCreate
from engram.services import Services
from engram.settings import Settings
from engram.tenants.models import DEFAULT_TENANT_ID
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.spaces import Space, new_space
from tests.fixtures.statistics import counted
from tests.fixtures.wiring import HashEmbedder, opened

SPOKES = 4000
TABLES = ("facts", "fact_words", "fact_closures", "fact_merges", "fact_slots", "fact_memories")
KEYS = {
    "facts": r"\b(id|slot|subject_node|object_node) = |\buser_id (= |IS NULL)",
    "fact_words": r"\bword = ",
    "fact_closures": r"\bfact_id = ",
    "fact_memories": r"\b(fact_id|memory_id) = ",
    "fact_merges": r"\b(agent_id|id) = ",
    "fact_slots": r"\bslot = ",
}
"""What an index is asked for, by table, where a scan does not read all that an agent holds. Of merges a walk reads all,
of which an agent has a bounded number."""

Work = Callable[[], Awaitable[Any]]


@dataclass(frozen=True)
class World:
    """An agent whose facts nearly all say something of one city, each about somebody else: some of a user, most of
    none. ``half`` is when half of them were known."""

    services: Services
    agent_id: str
    half: datetime

    async def append(self, *items: dict[str, Any]) -> None:
        batch = FactBatch(agent_id=self.agent_id, items=[FactItem(**item) for item in items])
        await self.services.facts.append_many(DEFAULT_SCOPE, batch)

    async def walk(self, query: str, *, hops: int = 2, limit: int = 10, **asked: Any) -> Any:
        question = GraphQuestion(agent_id=self.agent_id, query=query, hops=hops, limit=limit, **asked)
        return await self.services.facts.answer(DEFAULT_SCOPE, question)

    async def page(self, valid_at: datetime | None = None, known_at: datetime | None = None, **wanted: Any) -> Any:
        return await self.services.facts.query(
            DEFAULT_SCOPE,
            self.agent_id,
            FactFilter(**{"user_id": None, **wanted}),
            valid_at=valid_at,
            known_at=known_at,
            limit=20,
        )

    async def read_by(self, work: Awaitable[Any]) -> int:
        """Rows and index entries that were read for it."""
        before = await self._read()
        await work
        return await self._read() - before

    async def _read(self) -> int:
        return await counted(
            self.services.database,
            """
            SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname LIKE 'fact%')::bigint
                + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname LIKE 'fact%')::bigint
            """,
        )

    async def said_by(self, work: Work) -> list[Any]:
        """The statements that it takes, each with its values."""
        said: list[Any] = []
        # Of a pool the connection used last is used next.
        async with self.services.database.transaction() as connection:
            driver(connection).add_query_logger(said.append)
        await work()
        async with self.services.database.transaction() as connection:
            driver(connection).remove_query_logger(said.append)
        return said

    async def scans_by(self, work: Work) -> list[dict[str, Any]]:
        """How its statements read the tables of facts, planned as the roles of requests do."""
        statements = [one for one in await self.said_by(work) if re.search(r"\bfacts?(_\w+)?\b", one.query)]
        found: list[dict[str, Any]] = []
        async with self.services.database.transaction() as connection:
            await driver(connection).execute(
                f"SET LOCAL ROLE engram_writer; SET LOCAL engram.tenant_id = '{DEFAULT_TENANT_ID}'"
            )
            for one in statements:
                if not one.args:
                    continue
                plan = await driver(connection).fetchval(f"EXPLAIN (FORMAT JSON) {one.query}", *one.args)
                read = [node for node in nodes(plan[0]["Plan"]) if node.get("Relation Name") in TABLES]
                found += [{**node, "Statement": one.query} for node in read]
        return found


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    # A scan by bitmap has its condition beneath.
    beneath = [part for part in plan.get("Plans", ()) if part["Node Type"] == "Bitmap Index Scan"]
    yield {**plan, "Index Cond": beneath[0]["Index Cond"]} if beneath else plan
    for part in plan.get("Plans", ()):
        yield from nodes(part)


def whole(scan: dict[str, Any]) -> bool:
    """Whether a scan reads all that a table, or an agent, holds."""
    if scan["Node Type"] in ("ModifyTable", "LockRows"):
        return False
    return not re.search(KEYS[scan["Relation Name"]], scan.get("Index Cond", ""))


@pytest.fixture
async def services(settings: Settings) -> AsyncIterator[Services]:
    async with opened(settings, HashEmbedder(8, threshold=0.9)) as services:
        yield services


@pytest.fixture
async def empty(services: Services) -> World:
    return World(services, (await new_space(services)).agent_id, datetime.now(UTC))


@pytest.fixture
async def world(services: Services) -> World:
    async with services.database.transaction() as connection:
        for table in TABLES:
            # Plans are looked at without statistics, and with those of all rows: not with what there were meanwhile.
            await driver(connection).execute(f"ALTER TABLE {table} SET (autovacuum_enabled = false)")
    space = await new_space(services)
    agent_id, memory = space.agent_id, (await space.remember("Everybody lives in Hubtown.")).id
    world = World(services, agent_id, datetime.now(UTC))
    for first in range(0, SPOKES, 1000):
        if first == SPOKES // 2:
            world = World(services, agent_id, datetime.now(UTC))
        await world.append(
            *(
                {
                    "subject": f"person{n}",
                    "predicate": "lives_in",
                    "object": "Hubtown",
                    "supersede": False,
                    "sources": [memory],
                }
                for n in range(first, first + 1000)
            )
        )
    await world.append({"subject": "Hubtown", "predicate": "lies_in", "object": "Rareland"})
    # Each ends the one before.
    await world.append(*({"subject": "clock", "predicate": "shows", "object": f"{n}"} for n in range(1000)))
    await world.append(
        *(
            {"user_id": "ada", "subject": f"thing{n}", "predicate": "is", "object": "Hubtown", "supersede": False}
            for n in range(500)
        )
    )
    await services.facts.merges.merge(DEFAULT_SCOPE, MergeCreate(agent_id=agent_id, name="Rareland", other="RL"))
    # Others' agents, which the statistics of the tables are about as well.
    for _ in range(20):
        other = World(services, (await new_space(services)).agent_id, world.half)
        await other.append(*({"subject": f"s{n}", "predicate": "p", "object": "o"} for n in range(20)))
    async with services.database.transaction() as connection:
        await driver(connection).execute(
            """
            INSERT INTO fact_merges (agent_id, id, tenant_id, name, other, recorded_at)
            SELECT $1, gen_random_uuid(), $2, 'n' || n, 'o' || n, now() FROM generate_series(1, 4000) AS n
            """,
            UUID(other.agent_id),
            DEFAULT_TENANT_ID,
        )
    return world


def asked(world: World) -> dict[str, Work]:
    half, long_ago = world.half, world.half - timedelta(days=900)
    moments: list[dict[str, Any]] = [{}, {"valid_at": half}, {"known_at": half}, {"valid_at": half, "known_at": half}]
    item = {"subject": "person7", "predicate": "lives_in", "object": "Elsewhere"}
    work: dict[str, Work] = {"append": lambda: world.append(item, {**item, "valid_from": long_ago})}
    for when in moments:
        for wanted in (
            {},
            {"user_id": "ada"},
            {"predicate": "lives_in"},
            {"user_id": "ada", "predicate": "is"},
            {"subject": "person3"},
            {"object": "Hubtown"},
        ):
            work[f"query {when} {wanted}"] = lambda when=when, wanted=wanted: world.page(**when, **wanted)  # type: ignore[misc]
        work[f"walk {when}"] = lambda when=when: world.walk("person3 Rareland", hops=3, **when)  # type: ignore[misc]
    return work


async def test_every_statement_looks_facts_up_by_an_index(world: World) -> None:
    for analysed in (False, True):
        if analysed:
            async with world.services.database.transaction() as connection:
                await driver(connection).execute("ANALYZE")
        for name, work in asked(world).items():
            scans = await world.scans_by(work)
            assert scans, name
            told = [(scan["Node Type"], scan.get("Index Cond"), scan["Statement"]) for scan in scans if whole(scan)]
            assert told == [], f"{name}, analysed: {analysed}"


async def test_a_page_of_facts_reads_as_many_as_it_shows(world: World) -> None:
    async with world.services.database.transaction() as connection:
        await driver(connection).execute("ANALYZE")
    for wanted in ({}, {"user_id": "ada"}, {"predicate": "lives_in"}, {"object": "Hubtown"}, {"known_at": world.half}):
        assert await world.read_by(world.page(**wanted)) < 300, wanted


async def test_what_a_walk_reads_of_a_hub_follows_its_answer(world: World) -> None:
    async with world.services.database.transaction() as connection:
        await driver(connection).execute("ANALYZE")
    few, more = [await world.read_by(world.walk("Rareland", limit=limit)) for limit in (5, 50)]
    assert 0 < few < more < SPOKES / 10
    known = await world.read_by(world.walk("Rareland", limit=5, known_at=datetime.now(UTC)))
    assert known < SPOKES / 10
    answer = await world.walk("Hubtown", limit=5)
    assert (len(answer.paths), answer.truncated) == (5, True)
    assert await world.read_by(world.walk("Hubtown", hops=4, limit=200)) < SPOKES / 4


async def test_a_walk_takes_one_statement_a_hop_and_nine_more(world: World) -> None:
    async def taken(hops: int, limit: int) -> int:
        return len(await world.said_by(lambda: world.walk("Rareland", hops=hops, limit=limit)))

    await taken(4, 200)  # statements are prepared
    counts = [await taken(hops, 200) for hops in (1, 2)]
    # The way to the hub, and what leads on from it: how many paths there are makes no difference.
    assert counts[1] == counts[0] + 1
    assert await taken(2, 2) == counts[1]
    # The transaction and its end, agent, merges, words, facts, memories, and what this test sends to listen.
    assert counts[0] <= 1 + 9


async def test_appending_what_is_held_already_reads_no_more_each_time(empty: World) -> None:
    item = {"subject": "sensor", "predicate": "status", "object": "up"}

    async def rows_for(work: Work) -> int:
        (found,) = [one for one in await empty.said_by(work) if "news (slot" in one.query]
        async with empty.services.database.snapshot() as connection:
            return len(await driver(connection).fetch(found.query, *found.args))

    await empty.append(*[item] * 1000)
    await empty.append(*[item] * 1000)
    assert await rows_for(lambda: empty.append(item)) == 1
    # Another value ends them all, once; what comes then reads none of them.
    await empty.append({**item, "object": "down"})
    assert await rows_for(lambda: empty.append({**item, "object": "up again"})) <= 2
    page = await empty.page(subject="sensor", valid_at=datetime.now(UTC))
    assert [fact.object for fact in page.data] == ["up again"]


async def test_many_values_appended_without_superseding_read_nothing_of_their_slot(empty: World) -> None:
    said = await empty.said_by(
        lambda: empty.append({"subject": "s", "predicate": "p", "object": "o", "supersede": False})
    )
    assert not [one for one in said if "news (slot" in one.query]


async def test_values_that_begin_together_read_the_last_alone(empty: World) -> None:
    """Each has held for no time when the next comes."""
    begun = {"subject": "door", "predicate": "state", "valid_from": empty.half}
    for n in range(30):
        await empty.append({**begun, "object": f"state {n}"})
    one = FactAppend(agent_id=empty.agent_id, **begun, object="closed")
    (found,) = [
        said
        for said in await empty.said_by(lambda: empty.services.facts.append(DEFAULT_SCOPE, one))
        if "news (slot" in said.query
    ]
    async with empty.services.database.snapshot() as connection:
        assert len(await driver(connection).fetch(found.query, *found.args)) <= 2
    page = await empty.page(subject="door", valid_at=datetime.now(UTC))
    assert [fact.object for fact in page.data] == ["closed"]


async def test_many_values_that_memories_state_read_nothing_of_their_slot(empty: World) -> None:
    space = Space(empty.services, empty.agent_id)
    relations = [["Anna", "likes", "tea"], ["Anna", "lives_in", "Oslo"]]
    first = await space.remember("first", relations=relations)

    async def slots_read(work: Work) -> list[int]:
        found = [one for one in await empty.said_by(work) if "AS asked (slot, day)" in one.query]
        return [len(one.args[2]) for one in found]

    # Of the place where she lives all that may end has to be known.
    changed = [["Anna", "likes", "coffee"], ["Anna", "lives_in", "Rome"]]
    assert await slots_read(lambda: space.remember("second", relations=changed)) == [1]
    assert await slots_read(lambda: space.remember("third", relations=[["Anna", "likes", "milk"]])) == []
    assert await slots_read(lambda: space.forget(first.id)) == [1]
    purge = empty.services.changes.purges.purge
    assert await slots_read(lambda: purge(DEFAULT_SCOPE, first.id)) == [1]
