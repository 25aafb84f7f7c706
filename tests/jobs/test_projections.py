"""What could not be made with a write is made up for by jobs, and given up where it cannot be."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from engram.db.database import Database
from engram.entities.projection import EntityProjection
from engram.jobs.schemas import JobsRetry, JobStatus
from engram.memories.changes.schemas import MemoryUpdate
from engram.memories.projections import Projector, Settle
from engram.services import Services
from engram.settings import Settings
from engram.tenants.scope import DEFAULT_SCOPE, Scope
from tests.fixtures.spaces import Space, ids, new_space
from tests.fixtures.wiring import HashEmbedder, opened
from tests.jobs.working import WAIT_SECONDS, jobs_of, let_time_pass, until, until_nothing_is_owed, working


@dataclass
class Picky:
    """A projection that remembers what it made, and fails where one of ``poison`` is among what is asked of it."""

    database: Database
    poison: set[UUID] = field(default_factory=set)
    broken: bool = False
    made: list[UUID] = field(default_factory=list)
    tried: int = 0
    name: str = "picky"

    async def project(self, scope: Scope, agent_id: UUID, memory_ids: Sequence[UUID], settle: Settle) -> None:
        self.tried += 1
        if self.broken or self.poison & set(memory_ids):
            raise ValueError("secret words of a memory")
        async with self.database.transaction() as connection:
            self.made += memory_ids
            await settle(connection)


@asynccontextmanager
async def with_picky(settings: Settings, **changes: object) -> AsyncIterator[tuple[Services, Picky, Space]]:
    changed = settings.model_copy(update={"job_retry_seconds": 0.05, "job_attempts": 3, **changes})
    async with opened(settings, HashEmbedder()) as first:
        picky = Picky(first.database)
        async with opened(changed, HashEmbedder(), more_projections=[picky]) as services:
            yield services, picky, await new_space(services)


async def test_a_failed_projection_never_fails_the_write_and_is_made_up_for(settings: Settings) -> None:
    async with with_picky(settings, job_attempts=100) as (services, picky, space):
        picky.broken = True
        await space.remember("Zyra leads", entities=["Zyra"])
        answer = await space.remember("what Zyra did")
        assert not answer.linked
        # The others did their work.
        assert await space.entities(answer.id) == {"Zyra": ("mention", True)}
        assert (await space.stats()).pending_links == 2
        async with working(services):
            # Not due yet: whoever wrote it may still be at it.
            assert await jobs_of(services) == []
            await let_time_pass(services, timedelta(minutes=1))
            async with asyncio.timeout(WAIT_SECONDS):
                while not (found := await jobs_of(services)) or found[0].attempts < 2:  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
            assert (found[0].projection, found[0].error, found[0].total) == ("picky", "ValueError", 2)
            picky.broken = False
            job = await until(services, found[0].id, JobStatus.done)
            assert (job.done, job.total) == (2, 2)
        assert UUID(answer.id) in picky.made
        assert (await space.stats()).pending_links == 0


async def test_one_memory_that_cannot_be_done_holds_up_no_other_and_is_given_up(settings: Settings) -> None:
    async with with_picky(settings) as (services, picky, space):
        picky.broken = True
        written = [UUID(id) for id in ids(await space.remember_all([f"memory {number}" for number in range(5)]))]
        picky.broken, picky.poison = False, {written[2]}
        await let_time_pass(services, timedelta(minutes=1))
        async with working(services):
            async with asyncio.timeout(WAIT_SECONDS):
                while not (dead := await jobs_of(services, JobStatus.dead)):  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
            assert sorted(picky.made) == sorted(set(written) - picky.poison)
            assert (dead[0].attempts, dead[0].error) == (3, "ValueError")
            assert await services.projector.pending() == 1
            owed = (await space.stats()).projections["picky"]
            assert (owed.pending, owed.failed, owed.dead) == (0, 0, 1)
            # Dead, it is left alone.
            tried = picky.tried
            await let_time_pass(services, timedelta(days=1))
            await asyncio.sleep(0.3)
            assert picky.tried == tried

            picky.poison = set()
            assert (await services.jobs.retry_all(DEFAULT_SCOPE, JobsRetry())).retried == 1
            await until_nothing_is_owed(services)
            await until(services, dead[0].id, JobStatus.done)
        assert sorted(picky.made) == sorted(written)


async def test_names_that_could_not_be_looked_for_are_counted_and_found_later_in_the_texts_of_then(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A text that has changed since is given up by the job that had it: what counts is what the memory says now."""
    recognise, broken = EntityProjection._recognise_group, True

    async def recognised(*args: Any) -> None:
        if broken:
            raise ValueError("no names today")
        await recognise(*args)

    changed = settings.model_copy(update={"job_retry_seconds": 0.05, "job_attempts": 1000})
    async with opened(changed, HashEmbedder()) as services:
        space = await new_space(services)
        await space.remember("The ledger is in Porto", entities=["Zyra", "ledger", "Porto"])
        monkeypatch.setattr(EntityProjection, "_recognise_group", recognised)
        kept, moved = [await space.remember(f"{number} Zyra saw Porto") for number in range(2)]
        assert (kept.linked, moved.linked, await space.entities(kept.id)) == (False, False, {})
        owed = (await space.stats()).projections["entities"]
        assert (owed.pending, owed.failed, await services.projector.pending()) == (0, 2, 2)
        async with working(services):
            await let_time_pass(services, timedelta(minutes=1))
            async with asyncio.timeout(WAIT_SECONDS):
                while not (found := await jobs_of(services)) or found[0].attempts < 2:  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
            assert (found[0].projection, found[0].error, found[0].total) == ("entities", "ValueError", 2)
        # Nobody is at it while the text changes.
        update = MemoryUpdate(content="Nobody saw the ledger")
        await services.changes.revisions.update(DEFAULT_SCOPE, moved.id, update)
        broken = False
        async with working(services):
            await let_time_pass(services, timedelta(seconds=1))
            # The job had both memories, and does the one that still is what it was.
            assert (await until(services, found[0].id, JobStatus.done)).done == 1
            assert set(await space.entities(kept.id)) == {"Zyra", "Porto"}
        assert (await space.entities(moved.id), await services.projector.pending()) == ({}, 1)
        assert await services.projector.run(DEFAULT_SCOPE, UUID(space.agent_id), [UUID(moved.id)], changed=True)
        assert await services.projector.pending() == 0
        assert set(await space.entities(moved.id)) == {"ledger"}
        related = await services.entity_graph.related(
            DEFAULT_SCOPE, space.agent_id, "Zyra", as_of=None, min_co_occur=1, limit=9, cursor=None
        )
        assert {one.name: one.co_occur for one in related.data} == {"porto": 2, "ledger": 1}


async def test_a_memory_that_is_deleted_is_owed_nothing(settings: Settings) -> None:
    async with with_picky(settings) as (services, picky, space):
        picky.broken = True
        kept, gone = ids(await space.remember_all(["kept", "gone"]))
        await space.forget(gone)
        picky.broken, picky.poison = False, {UUID(gone)}
        await let_time_pass(services, timedelta(minutes=1))
        async with working(services):
            await until_nothing_is_owed(services)
        assert picky.made == [UUID(kept)]


class Crash(BaseException):
    """What ends a process, as far as a test can say it."""


class DyingProjector(Projector):
    """Ends the process where the memory is committed and nothing followed from it yet."""

    async def run(self, scope: Scope, agent_id: UUID, memory_ids: Sequence[UUID], *, changed: bool = False) -> bool:
        raise Crash


async def test_what_a_process_that_died_still_owed_is_made_once_by_those_that_live(settings: Settings) -> None:
    async with opened(settings, HashEmbedder(threshold=-1), projector_type=DyingProjector) as dying:
        space = await new_space(dying)
        with pytest.raises(Crash):
            await space.remember_all(["Zyra leads", {"content": "follows", "entities": ["Zyra"]}])
    async with (
        opened(settings, HashEmbedder(threshold=-1)) as one,
        opened(settings, HashEmbedder(threshold=-1)) as other,
    ):
        space = Space(one, space.agent_id)
        assert (await space.stats()).pending_links == 2
        await let_time_pass(one, timedelta(hours=1))
        async with working(one), working(other):
            await until_nothing_is_owed(one)
        assert len(await jobs_of(one)) == 2  # one for each projection
        first, second = (hit.id for hit in (await space.ask("Zyra leads")).results)
        assert await space.neighbours(first, "thematic") != {}
        assert list(await space.neighbours(first, "entity_link")) == [second]


async def test_no_text_of_a_memory_reaches_the_queue(settings: Settings) -> None:
    async with with_picky(settings) as (services, picky, space):
        picky.broken = True
        await space.remember("secret words of a memory")
        await let_time_pass(services, timedelta(minutes=1))
        async with working(services), asyncio.timeout(WAIT_SECONDS):
            while not await jobs_of(services, JobStatus.dead):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        from engram.db.database import driver

        async with services.database.snapshot() as connection:
            for table in ("jobs", "job_queue", "job_queue_log", "pending_projections"):
                found = await driver(connection).fetch(f"SELECT t::text AS row FROM {table} t")
                assert not [row for row in found if "secret" in row["row"]], table
            assert await driver(connection).fetchval("SELECT count(*) FROM job_queue_log WHERE traceback IS NOT NULL")
