"""What the garbage collector looks at in a server."""

from __future__ import annotations

import asyncio
import gc

from engram.server.garbage import settled_heap


async def test_what_was_loaded_at_the_start_is_left_alone_for_as_long_as_the_server_runs() -> None:
    before = gc.get_freeze_count()
    async with settled_heap(), asyncio.timeout(30):
        while gc.get_freeze_count() <= before:  # noqa: ASYNC110  # the collector sets no event
            await asyncio.sleep(0.01)
    assert gc.get_freeze_count() == 0


async def test_a_server_that_ends_at_once_leaves_nothing_frozen() -> None:
    async with settled_heap():
        pass
    assert gc.get_freeze_count() == 0
