"""(e) What a server costs: its start, its memory and Postgres', the disk, and how long ``/health/live`` waits."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import httpx
import psutil  # type: ignore[import-untyped]
from pydantic_core import to_json

from benchmarks.bench import Bench
from benchmarks.figures import Figure, Sheet, below
from benchmarks.serving import Server, serving, serving_from
from benchmarks.store import Store
from benchmarks.timing import Times
from engram import AsyncEngram

_REST_SECONDS = 3.0
_IDLE_PROBES = 300
_PROBE_PAUSE = 0.005
_BATCH = 1_000
_BATCHES = 3
_MB = 1024 * 1024

_ON_DISK = """
    SELECT c.relname AS name, c.relkind = 'i' AS is_index,
        CASE WHEN c.relkind = 'i' THEN pg_relation_size(c.oid) ELSE pg_table_size(c.oid) END AS bytes
    FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'i') ORDER BY bytes DESC
"""
_SHOWN = 8
"""Tables and indexes that are told of by name: the largest."""


async def measure(bench: Bench) -> list[Figure]:
    sheet = bench.sheet("server")
    with tempfile.TemporaryDirectory(prefix="engram-benchmark-") as folder:
        async with serving_from(folder) as server:
            sheet.add("first start, in an empty folder", server.starting_seconds, "s")
        async with serving_from(folder) as server:
            sheet.add("start, embedded Postgres included", server.starting_seconds, "s")
    await _disk(sheet, bench.store)
    async with bench.stores.copy(bench.store) as copy, serving(copy) as server:
        sheet.add("start, Postgres running", server.starting_seconds, "s")
        await asyncio.sleep(_REST_SECONDS)
        sheet.add("memory of the server at rest", server.resident_mb, "MB", target=below(250, of="value"))
        sheet.add("memory of Postgres, server at rest", _postgres_mb(copy.data_dir), "MB")
        await _work(bench, sheet, copy, server)
    return sheet.figures


async def _work(bench: Bench, sheet: Sheet, copy: Store, server: Server) -> None:
    """Recalls, then batches during which the server is asked whether it lives."""
    agent_id = (await copy.agent_ids())[0]
    async with AsyncEngram(server.url) as client:
        for question in bench.asked(seed=51):
            await client.memories.recall(agent_id, question)
    idle = await _probe(server)
    busy, batches = Times(), Times()
    for number in range(_BATCHES + 1):  # the first warms up
        items = list(copy.corpus.memories(copy.size.memories + number * _BATCH, _BATCH))
        body = to_json({"agent_id": agent_id, "items": items})
        writing = asyncio.create_task(_post(server, body))
        probed = await _probe(server, until=writing)
        if number:
            busy.seconds += probed.seconds
            batches.seconds.append(await writing)
        else:
            await writing
    sheet.add("batch of 1,000, through HTTP", batches.milliseconds(50), "ms")
    for name, percent in (("p50", 50), ("p95", 95), ("slowest", 100)):
        beside = ("idle", idle.milliseconds(percent))
        sheet.add(f"/health/live during a batch, {name}", busy.milliseconds(percent), "ms", beside=beside)
    sheet.add("memory of the server after work", server.resident_mb, "MB")
    sheet.add("memory of Postgres after work", _postgres_mb(copy.data_dir), "MB")


async def _probe(server: Server, until: asyncio.Task[float] | None = None) -> Times:
    """Ask whether the server lives, again and again, until that is done; else a number of times."""
    times = Times()
    async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
        await client.get("/health/live")
        while not until.done() if until else len(times.seconds) < _IDLE_PROBES:
            (await times.of(client.get("/health/live"))).raise_for_status()
            await asyncio.sleep(_PROBE_PAUSE)
    return times


async def _post(server: Server, body: bytes) -> float:
    """Seconds that a batch took, sent as it is: encoding it would keep the probes waiting in this process."""
    times = Times()
    async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
        headers = {"content-type": "application/json"}
        (await times.of(client.post("/v1/memories/batch", content=body, headers=headers))).raise_for_status()
    return times.seconds[0]


async def _disk(sheet: Sheet, store: Store) -> None:
    async with store.connection() as connection:
        rows = await connection.fetch(_ON_DISK)
        memories = await connection.fetchval("SELECT count(*) FROM memories")
    sheet.add("on disk", sum(row["bytes"] for row in rows) / memories, "bytes a memory")
    for row in rows[:_SHOWN]:
        kind = "index" if row["is_index"] else "table"
        sheet.add(f"on disk, {kind} {row['name']}", row["bytes"] / memories, "bytes a memory")


def _postgres_mb(data_dir: Path) -> float:
    """Of all its processes; what they share is counted once, where the system tells how much that is."""
    pid = int((data_dir / "postgres" / "postmaster.pid").read_text().split(maxsplit=1)[0])
    postmaster = psutil.Process(pid)
    total = 0
    for process in (postmaster, *postmaster.children(recursive=True)):
        try:
            found = process.memory_full_info()
        except psutil.NoSuchProcess:
            continue
        total += getattr(found, "pss", found.rss)
    return total / _MB
