"""What a write reads does not grow with what the agent holds."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from engram.db.database import driver
from engram.memories import vectors as vector_search
from engram.services import Services
from engram.settings import Settings
from tests.fixtures.spaces import Space, new_space
from tests.fixtures.statistics import rows_read
from tests.fixtures.wiring import HashEmbedder, opened


@pytest.fixture
async def services(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Services]:
    """Services in which every agent is searched through the vector index."""
    monkeypatch.setattr(vector_search, "EXACT_SEARCH_LIMIT", 10)
    async with opened(settings, HashEmbedder(8, threshold=0.9999)) as services:
        yield services


async def fill(space: Space, number: int, start: int = 0) -> None:
    for first in range(start, start + number, 500):
        await space.remember_all(f"memory {at}" for at in range(first, min(first + 500, start + number)))


@pytest.mark.parametrize("batch", [1, 40])
@pytest.mark.parametrize("analysed", [False, True])
async def test_a_write_to_an_agent_that_no_statistics_know_reads_few_rows(
    services: Services, analysed: bool, batch: int
) -> None:
    if analysed:
        await fill(await new_space(services), 500)
        async with services.database.transaction() as connection:
            await driver(connection).execute("ANALYZE")
    space = await new_space(services)
    # So often that plans are no longer made for the values of a call.
    for turn in range(8):
        await fill(space, batch, 10_000 + 100 * turn)
    await fill(space, 2000)
    before = await rows_read(services.database, "memories")
    await fill(space, batch, 20_000)
    # A search of the vector index looks at some; a scan, even one for all of them, would read 2,000 and more.
    assert await rows_read(services.database, "memories") - before < 100 * batch
