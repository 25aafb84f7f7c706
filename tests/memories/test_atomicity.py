"""A write happens wholly or not at all, and what follows from it is made sooner or later."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

import pytest

from engram.db.database import Database, driver
from engram.embeddings.base import Passages, Vectors
from engram.memories.projections import Projector, Settle
from engram.problems import UnavailableProblem
from engram.services import Services
from engram.settings import Settings
from engram.tenants.scope import Scope
from tests.fixtures.rows import every_row
from tests.fixtures.spaces import Space, ids, new_space
from tests.fixtures.wiring import HashEmbedder, opened


class Crash(BaseException):
    """What ends a process, as far as a test can say it."""


@dataclass
class Follower:
    """A projection that remembers what it made, and fails with ``error`` while there is one."""

    database: Database
    error: BaseException | None = None
    made: list[UUID] = field(default_factory=list)
    name: str = "follower"

    async def project(self, scope: Scope, agent_id: UUID, memory_ids: Sequence[UUID], settle: Settle) -> None:
        if self.error is not None:
            raise self.error
        async with self.database.transaction() as connection:
            self.made += memory_ids
            await settle(connection)


@dataclass
class ChokingEmbedder(HashEmbedder):
    """Fails at one text."""

    at: str = "poison"

    async def embed_passages(self, texts: Sequence[str]) -> Passages:
        if self.at in texts:
            raise UnavailableProblem("choked")
        return await super().embed_passages(texts)


@dataclass
class MeetingEmbedder(HashEmbedder):
    """Answers only once ``guests`` callers wait for it at the same time."""

    guests: int = 50
    barrier: asyncio.Barrier = field(init=False)

    def __post_init__(self) -> None:
        self.barrier = asyncio.Barrier(self.guests)

    async def embed_passages(self, texts: Sequence[str]) -> Passages:
        await self.barrier.wait()
        return await super().embed_passages(texts)

    async def embed_query(self, text: str) -> Vectors:
        await self.barrier.wait()
        return await super().embed_query(text)


async def let_time_pass(services: Services, time: timedelta) -> None:
    """What was to be tried at some time is to be tried that much earlier."""
    async with services.database.transaction() as connection:
        await driver(connection).execute(
            "UPDATE pending_projections SET next_attempt_at = next_attempt_at - $1::interval", time
        )


async def test_a_batch_that_cannot_be_embedded_leaves_no_trace(settings: Settings) -> None:
    async with opened(settings, ChokingEmbedder()) as services:
        space = await new_space(services)
        before = await every_row(services.database)
        with pytest.raises(UnavailableProblem, match="choked"):
            await space.remember_all([{"content": "fine", "entities": ["Zyra"]}, "poison", "also fine"])
        assert await every_row(services.database) == before


async def test_a_batch_with_a_wrong_item_leaves_no_trace(settings: Settings) -> None:
    async with opened(settings, HashEmbedder(8)) as services:
        space = await new_space(services)
        before = await every_row(services.database)
        with pytest.raises(Exception, match=r"items\.1\.embedding"):
            await space.remember_all([{"content": "fine"}, {"content": "short", "embedding": [1.0]}])
        assert await every_row(services.database) == before


async def test_a_failed_projection_never_fails_the_write_and_is_made_up_for(settings: Settings) -> None:
    async with opened(settings, HashEmbedder()) as services:
        follower = Follower(services.database, error=ValueError("no luck"))
        async with opened(settings, HashEmbedder(), more_projections=[follower]) as broken:
            space = await new_space(broken)
            await space.remember("Zyra leads", entities=["Zyra"])
            answer = await space.remember("what Zyra did")
            assert not answer.linked
            # The others did their work.
            assert await space.entities(answer.id) == {"Zyra": ("mention", True)}
            assert (await space.stats()).pending_links == 2
            assert await broken.projector.pending() == 2
            assert answer.id in await space.hits("Zyra")

            assert await broken.projector.retry_due() == 0
            await let_time_pass(broken, timedelta(minutes=1))
            assert await broken.projector.retry_due() == 2
            assert (await space.stats()).pending_links == 2

            follower.error = None
            await let_time_pass(broken, timedelta(minutes=10))
            assert await broken.projector.retry_due() == 2
            assert UUID(answer.id) in follower.made
            assert (await space.stats()).pending_links == 0
            await let_time_pass(broken, timedelta(days=1))
            assert await broken.projector.retry_due() == 0


async def test_the_pause_between_attempts_grows(settings: Settings) -> None:
    async with opened(settings, HashEmbedder()) as services:
        follower = Follower(services.database, error=ValueError("no luck"))
        async with opened(settings, HashEmbedder(), more_projections=[follower]) as broken:
            await (await new_space(broken)).remember("anything")
            waited = []
            for _ in range(4):
                minutes = 0.0
                while await broken.projector.retry_due() == 0:
                    await let_time_pass(broken, timedelta(seconds=15))
                    minutes += 0.25
                waited.append(minutes)
            assert waited == sorted(waited)
            assert waited[-1] >= 4 * waited[0]


class DyingProjector(Projector):
    """Ends the process where the memory is committed and nothing followed from it yet."""

    async def run(self, scope: Scope, agent_id: UUID, memory_ids: Sequence[UUID]) -> bool:
        raise Crash


async def test_what_a_process_that_died_still_owed_is_made_by_the_next(settings: Settings) -> None:
    async with opened(settings, HashEmbedder(threshold=-1), projector_type=DyingProjector) as dying:
        space = await new_space(dying)
        with pytest.raises(Crash):
            await space.remember_all(["Zyra leads", {"content": "follows", "entities": ["Zyra"]}])
    async with opened(settings, HashEmbedder(threshold=-1)) as restarted:
        space = Space(restarted, space.agent_id)
        assert (await space.stats()).pending_links == 2
        # Whoever wrote them may still be at it.
        assert await restarted.projector.retry_due() == 0
        await let_time_pass(restarted, timedelta(hours=1))
        await restarted.projector.retry_due()
        assert (await space.stats()).pending_links == 0
        first, second = (hit.id for hit in (await space.ask("Zyra leads")).results)
        assert await space.neighbours(first, "thematic") != {}
        assert await space.neighbours(first, "entity_link") == {second: pytest.approx(1 / (1 + math.log(2)))}


async def test_what_is_owed_is_tried_once_however_many_try(settings: Settings) -> None:
    async with opened(settings, HashEmbedder()) as services:
        follower = Follower(services.database, error=ValueError("no luck"))
        async with opened(settings, HashEmbedder(), more_projections=[follower]) as broken:
            await (await new_space(broken)).remember_all([f"memory {number}" for number in range(30)])
            await let_time_pass(broken, timedelta(hours=1))
            follower.error = None
            tried = await asyncio.gather(*(broken.projector.retry_due() for _ in range(4)))
            assert sum(tried) == 30
            assert len(follower.made) == len(set(follower.made)) == 30


async def test_a_server_makes_up_for_what_is_owed_by_itself_and_outlives_failures(settings: Settings) -> None:
    async with opened(settings, HashEmbedder()) as services:
        follower = Follower(services.database, error=ValueError("no luck"))
        async with opened(settings, HashEmbedder(), more_projections=[follower]) as broken:
            await (await new_space(broken)).remember("anything")
            retrying = asyncio.create_task(broken.projector.retry_forever(pause=0.01))
            await asyncio.sleep(0.05)
            follower.error = None
            async with asyncio.timeout(30):
                while await broken.projector.pending():
                    await let_time_pass(broken, timedelta(hours=1))
                    await asyncio.sleep(0.01)
            assert len(follower.made) == 1
            assert not retrying.done()
            retrying.cancel()


async def test_no_connection_is_held_while_text_is_embedded(settings: Settings) -> None:
    few = settings.model_copy(update={"pool_size": 5, "pool_timeout": 5.0})
    async with opened(few, MeetingEmbedder(guests=50)) as services:
        space = await new_space(services)
        written = await asyncio.gather(*(space.remember(f"memory {number}") for number in range(50)))
        assert len({memory.id for memory in written}) == 50
        asked = await asyncio.gather(*(space.ask(f"memory {number}") for number in range(50)))
        assert all(len(answer.results) == 10 for answer in asked)


async def test_one_connection_is_enough(settings: Settings) -> None:
    single = settings.model_copy(update={"pool_size": 1, "pool_timeout": 5.0})
    async with opened(single, HashEmbedder(threshold=-1)) as services:
        space = await new_space(services)
        one, two, three = ids(await space.remember_all(["one", "two", "three"]))
        await asyncio.gather(*(space.remember(f"more {number}", entities=["Zyra"]) for number in range(10)))
        await space.link(one, two, "causal")
        await space.forget(three)
        assert len(await space.edges(one)) > 0
        assert len(await space.hits("one", top_k=50)) == 12
        assert (await space.stats()).pending_links == 0
        assert await services.projector.retry_due() == 0
