"""What is kept of what occurs together is what memories and their mentions give, whatever was done to them, by however
many at once; and what somebody damaged a rebuild makes right again.

``FUZZ_EXAMPLES`` and ``FUZZ_SEED`` ask for more, or for others.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Any
from uuid import UUID

import pytest

from engram.db.database import driver
from engram.db.migrate import downgrade, migrate
from engram.jobs.schemas import JobStatus
from engram.memories.changes.schemas import MemorySet, MemoryUpdate
from engram.memories.schemas import MemoryItem
from engram.problems import ConflictProblem, InvalidInputProblem, NotFoundProblem
from engram.services import Services
from engram.settings import Settings
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.fuzzing import EXAMPLES, SEED
from tests.fixtures.spaces import Space, new_space
from tests.fixtures.wiring import HashEmbedder, opened
from tests.jobs.working import until, working

NAMES = ("amber", "birch", "cobalt", "delta", "ember", "fjord", "garnet", "harbor")
START = datetime(2024, 3, 1, tzinfo=UTC)
FUTURE = datetime(2100, 1, 1, tzinfo=UTC)
STEPS = 40
WRITERS = 16
ROUNDS = 12
LIMIT = 120
"""Seconds, for what takes some: who waits for a lock for ever is found out."""


@pytest.fixture
async def services(settings: Settings) -> AsyncIterator[Services]:
    async with opened(settings, HashEmbedder(8, threshold=0.9999)) as services:
        yield services


@dataclass
class Kept:
    """What is kept of an agent: observations with their state, sums by pair, degrees by entity."""

    observations: dict[tuple[UUID, UUID, UUID], str] = field(default_factory=dict)
    pairs: Counter[tuple[UUID, UUID]] = field(default_factory=Counter)
    degrees: Counter[UUID] = field(default_factory=Counter)

    @classmethod
    async def by(cls, space: Space) -> Kept:
        agent = UUID(space.agent_id)
        async with space.services.database.snapshot() as connection:
            asked = driver(connection)
            observed = await asked.fetch("SELECT * FROM co_occurrences WHERE agent_id = $1", agent)
            pairs = await asked.fetch("SELECT * FROM entity_pairs WHERE agent_id = $1", agent)
            degrees = await asked.fetch("SELECT * FROM entity_degrees WHERE agent_id = $1", agent)
        return cls(
            {(row["memory_id"], row["first_id"], row["second_id"]): row["state"] for row in observed},
            Counter({(row["first_id"], row["second_id"]): row["co_occur"] for row in pairs}),
            Counter({row["entity_id"]: row["degree"] for row in degrees}),
        )

    @classmethod
    async def rebuilt(cls, space: Space) -> Kept:
        """The same, from memories and mentions alone."""
        agent = UUID(space.agent_id)
        async with space.services.database.snapshot() as connection:
            memories = await driver(connection).fetch("SELECT * FROM memories WHERE agent_id = $1", agent)
            mentions = await driver(connection).fetch("SELECT * FROM mentions WHERE agent_id = $1", agent)
        kept = cls()
        for memory in memories:
            if memory["status"] == "deleted":
                continue
            begins, ends, now = memory["valid_from"], memory["valid_until"], memory["updated_at"]
            state = "steady" if ends is None and begins <= now else "timed"
            if ends is not None and ends <= now:
                state = "past"
            named = sorted(row["entity_id"] for row in mentions if row["memory_id"] == memory["id"])
            for pair in combinations(named, 2):
                kept.observations[(memory["id"], *pair)] = state
                if state == "steady":
                    kept.pairs[pair] += 1
                    kept.degrees.update(pair)
        return kept


async def is_right(space: Space) -> Kept:
    kept = await Kept.by(space)
    assert kept == await Kept.rebuilt(space)
    return kept


class Doing:
    """Things done at random to one agent."""

    def __init__(self, space: Space, seed: int) -> None:
        self.space = space
        self.chance = random.Random(seed)
        self.ids: list[str] = []
        self.done: Counter[str] = Counter()
        self.texts = 0

    def item(self) -> dict[str, Any]:
        self.texts += 1
        begins = self.chance.choice([None, None, START, START + timedelta(days=3), FUTURE])
        lasts = self.chance.choice([None, None, None, timedelta(days=2), timedelta(days=60_000)])
        # A name that a text only has is found in it once somebody has declared it, be that later.
        spoken = " ".join(self.chance.sample(NAMES, self.chance.randrange(4)))
        return {
            "content": f"Note {self.texts} {id(self)} {spoken}",
            "entities": self.chance.sample(NAMES, self.chance.choice([0, 0, 1, 2, 3])),
            "valid_from": begins,
            "valid_until": (begins or FUTURE) + lasts if lasts else None,
        }

    async def step(self) -> None:
        changes, chance = self.space.services.changes, self.chance
        deeds = ["create", "batch", "set", "set", "set late"]
        if self.ids:
            deeds += ["supersede", "rename", "end", "rewrite", "delete", "restore", "restore", "purge"]
        deed, id = chance.choice(deeds), chance.choice(self.ids) if self.ids else ""
        # Refusals are part of it: a value that has a successor, a memory that is gone.
        with suppress(ConflictProblem, NotFoundProblem, InvalidInputProblem):
            match deed:
                case "create":
                    self.ids.append((await self.space.remember(**self.item())).id)
                case "batch":
                    items = [self.item() for _ in range(chance.choice([2, 5]))]
                    self.ids += [made.id for made in (await self.space.remember_all(items)).results]
                case "set" | "set late":
                    item = self.item() | ({"valid_from": START, "valid_until": None} if deed == "set late" else {})
                    request = MemorySet(agent_id=self.space.agent_id, key=chance.choice("ab"), **item)
                    self.ids.append((await changes.setting.set(DEFAULT_SCOPE, request)).id)
                case "supersede":
                    item = self.item() | {"valid_until": None}
                    self.ids.append((await changes.setting.supersede(DEFAULT_SCOPE, id, MemoryItem(**item))).id)
                case "rename":
                    update = MemoryUpdate.model_validate({"entities": chance.sample(NAMES, chance.randrange(4))})
                    await changes.revisions.update(DEFAULT_SCOPE, id, update)
                case "end":
                    ends = chance.choice([None, datetime.now(UTC), START + timedelta(days=9), FUTURE])
                    await changes.revisions.update(DEFAULT_SCOPE, id, MemoryUpdate(valid_until=ends))
                case "rewrite":
                    content = self.item()["content"]
                    await changes.revisions.update(DEFAULT_SCOPE, id, MemoryUpdate(content=content))
                case "delete":
                    await self.space.forget(id)
                case "restore":
                    await changes.restorations.restore(DEFAULT_SCOPE, id)
                case "purge":
                    await changes.purges.purge(DEFAULT_SCOPE, id)
            self.done[deed] += 1


@pytest.mark.parametrize("seed", range(SEED, SEED + max(2, EXAMPLES // 8)))
async def test_what_is_kept_is_what_memories_give(services: Services, seed: int) -> None:
    doing = Doing(await new_space(services), seed)
    for _ in range(STEPS):
        await doing.step()
        await is_right(doing.space)
    assert (await is_right(doing.space)).pairs


async def test_a_name_that_is_declared_later_is_counted_in_earlier_texts(services: Services) -> None:
    space = await new_space(services)
    await space.remember_all([f"Amber and birch met {at} times" for at in range(3)])
    assert not (await is_right(space)).pairs
    await space.remember("Who is amber?", entities=["amber"])
    await space.remember("Who is birch?", entities=["birch"])
    assert list((await is_right(space)).pairs.values()) == [3]


async def test_of_many_names_the_first_hundred_pairs_are_kept(services: Services) -> None:
    """Those of subjects first, then of what was declared, then by name."""
    space = await new_space(services)
    names = [f"stone{at:02}x" for at in range(20)]
    entities = [{"name": name, "role": "subject" if name == names[-1] else "mention"} for name in names]
    await space.remember("Many stones", entities=entities)
    kept = await Kept.by(space)
    assert (len(kept.observations), len(kept.pairs), sum(kept.degrees.values())) == (100, 100, 200)
    found = await services.entity_graph.related(
        DEFAULT_SCOPE, space.agent_id, names[-1], as_of=None, min_co_occur=1, limit=200, cursor=None
    )
    # A hundred pairs are all of fourteen names, and nine of the fifteenth.
    assert [row.name for row in found.data] == names[:14]


async def test_of_many_who_write_at_once_nothing_is_lost_and_nobody_waits_for_ever(services: Services) -> None:
    space = await new_space(services)
    doings = [Doing(space, SEED + writer) for writer in range(WRITERS)]
    for doing in doings:
        # They change each other's memories.
        doing.ids = doings[0].ids

    async def work(doing: Doing) -> None:
        for _ in range(ROUNDS):
            await doing.step()

    async with asyncio.timeout(LIMIT):
        await asyncio.gather(*map(work, doings))
    assert (await is_right(space)).pairs
    done = sum((doing.done for doing in doings), Counter[str]())
    assert {"create", "set", "rename", "delete", "restore", "purge"} <= set(done), done


async def test_what_somebody_damaged_a_rebuild_makes_right(services: Services) -> None:
    space = await new_space(services)
    doing = Doing(space, SEED)
    for _ in range(STEPS):
        await doing.step()
    before = await is_right(space)
    damages = [f"DELETE FROM {table} WHERE {{}}" for table in ("co_occurrences", "entity_pairs", "entity_degrees")]
    damages += [
        "UPDATE entity_pairs SET co_occur = co_occur + 7 WHERE {}",
        "UPDATE entity_degrees SET degree = -3 WHERE {}",
        "UPDATE co_occurrences SET state = 'past' WHERE {}",
        """
        INSERT INTO entity_pairs (agent_id, tenant_id, first_id, second_id, co_occur)
        SELECT a.agent_id, a.tenant_id, a.id, b.id, 5 FROM entities a JOIN entities b ON b.agent_id = $1 AND b.id > a.id
        WHERE a.agent_id = $1 ON CONFLICT DO NOTHING
        """,
    ]
    async with services.database.transaction() as connection:
        await driver(connection).execute("SELECT setseed(0.5)")
        for damage in damages:
            await driver(connection).execute(damage.format("agent_id = $1 AND random() < 0.3"), UUID(space.agent_id))
    assert await Kept.by(space) != before
    async with working(services), asyncio.timeout(LIMIT):
        job = await services.jobs.rebuild_links(DEFAULT_SCOPE, space.agent_id)
        other = Doing(space, SEED + WRITERS)
        ended, _ = await asyncio.gather(until(services, job.id, JobStatus.done, JobStatus.dead), _write_on(other))
    assert (ended.status, ended.error) == (JobStatus.done, None)
    await is_right(space)


async def _write_on(doing: Doing) -> None:
    for _ in range(ROUNDS):
        await doing.step()


async def test_what_was_written_before_any_of_it_was_kept_is_counted_by_the_migration(settings: Settings) -> None:
    """Memories in every state as revision 0013 has them, one of them with more names than are counted."""
    url = settings.database_url.get_secret_value() if settings.database_url is not None else ""
    async with opened(settings, HashEmbedder(8, threshold=0.9999)) as services:
        doing = Doing(await new_space(services), SEED)
        for _ in range(2 * STEPS):
            await doing.step()
        names = [f"stone{at:02}x" for at in range(20)]
        entities = [{"name": name, "role": "subject" if name == names[-1] else "mention"} for name in names]
        await doing.space.remember("Many stones, and amber", entities=entities)
        before = await Kept.by(doing.space)
        other = await new_space(services)
        await other.remember("Of another agent", entities=list(NAMES))
        beside = await Kept.by(other)
    assert {"steady", "timed", "past"} == set(before.observations.values())
    await downgrade(url, settings, "0013")
    await migrate(url, settings)
    async with opened(settings, HashEmbedder(8, threshold=0.9999)) as services:
        space, other = Space(services, doing.space.agent_id), Space(services, other.agent_id)
        assert await Kept.by(space) == before
        assert await Kept.by(other) == beside
        async with working(services), asyncio.timeout(LIMIT):
            job = await services.jobs.rebuild_links(DEFAULT_SCOPE, space.agent_id)
            await until(services, job.id, JobStatus.done)
        assert await Kept.by(space) == before
