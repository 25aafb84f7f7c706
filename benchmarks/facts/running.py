"""Doing one of these runs: a Postgres for it, a report of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.figures import Figure, Size
from benchmarks.report import Report, environment
from benchmarks.store import Stores, open_stores

Measure = Callable[[Stores, Path, Callable[[str], None]], Awaitable[list[Figure]]]
"""Takes the stores, the folder of the set, and where to say how far it is."""


async def report(measure: Measure, folder: Path, data_dir: Path | None, said: Callable[[str], None]) -> Report:
    async with _stores(data_dir) as stores:
        figures = await measure(stores, folder, said)
        async with stores.fresh(Size()) as store, store.services():
            return Report(environment=await environment(store), figures=figures)


@asynccontextmanager
async def _stores(data_dir: Path | None) -> AsyncIterator[Stores]:
    if data_dir is not None:
        async with open_stores(data_dir) as stores:
            yield stores
        return
    with TemporaryDirectory(prefix="engram-benchmark-") as folder:
        async with open_stores(Path(folder)) as stores:
            yield stores
