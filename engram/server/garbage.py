"""The garbage collector of a server that has much in memory to stay, and should not stop to look at it."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from engram.entities.canonical import singular


@asynccontextmanager
async def settled_heap() -> AsyncIterator[None]:
    """Keeps the collector from what was loaded at the start: modules, models, routes.

    There are hundreds of thousands of such objects. Looking through all of them stops every request for a quarter of
    a second, several times in a large batch, and finds nothing.
    """
    task = asyncio.create_task(_freeze())
    try:
        yield
    finally:
        await asyncio.wait([task])
        gc.unfreeze()


async def _freeze() -> None:
    # The library of plurals loads beside the first requests, and is as large as all others.
    await asyncio.to_thread(singular, "plurals")
    gc.freeze()
