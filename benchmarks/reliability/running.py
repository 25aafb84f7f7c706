"""A run from the start of the server to the last check."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from random import SystemRandom

from benchmarks.figures import Size
from benchmarks.reliability.access import Access, new_key
from benchmarks.reliability.client import behave
from benchmarks.reliability.disturbing import disturb
from benchmarks.reliability.embedder import Provider, embedding_provider
from benchmarks.reliability.judging import Course
from benchmarks.reliability.load import Load
from benchmarks.reliability.plan import Plan
from benchmarks.reliability.postgres import Postgres
from benchmarks.reliability.resources import Held, held, watch
from benchmarks.reliability.texts import Texts
from benchmarks.reliability.verifying import verify
from benchmarks.report import Environment, environment
from benchmarks.serving import Server, serving_as
from benchmarks.store import Store
from engram import AsyncEngram

_WARMING_QUESTIONS = 20
_SETTLING_SECONDS = 15.0
_POLL_SECONDS = 0.5


async def run(plan: Plan, data_dir: Path, said: Callable[[str], None]) -> tuple[Course, Environment]:
    """Do what is planned, with a server of its own on ``data_dir``; its log is there too.

    Raises ServerDiedError, and what starting the server raises.
    """
    async with embedding_provider() as provider:
        key = await new_key(data_dir)
        settings = {"ENGRAM_DATA_DIR": str(data_dir), **provider.environment(plan.embedding_timeout)}
        async with serving_as(settings, log=data_dir / "server.log") as server:
            postgres = Postgres(data_dir)
            access = Access(server.url, key)
            try:
                course = await _course(plan, server, access, postgres, provider, said)
                return course, await _environment(data_dir, postgres)
            finally:
                await postgres.close()


async def _course(
    plan: Plan, server: Server, access: Access, postgres: Postgres, provider: Provider, said: Callable[[str], None]
) -> Course:
    mark = f"{SystemRandom().getrandbits(32):x}"
    load = Load(Texts(mark))
    async with AsyncEngram(access.url, api_key=access.key) as engram:
        for number in range(plan.agents):
            agent = await engram.agents.create(f"reliability {mark} {number}")
            load.agents[agent.name] = agent.id
        first = next(iter(load.agents.values()))
        for number in range(_WARMING_QUESTIONS):
            await engram.memories.recall(first, f"Warm {number}?")
        before = await held(server.pid, postgres)
    said(f"{plan.clients} clients for {plan.seconds:g} s")
    began = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for number in range(plan.clients):
            group.create_task(behave(access, load, number, began + plan.seconds))
        disturbing = group.create_task(disturb(plan.disturbances, began, postgres, provider, said))
        watching = group.create_task(watch(server.pid, postgres, plan.seconds))
    said("reading everything")
    async with AsyncEngram(access.url, api_key=access.key) as engram:
        verdict = await verify(engram, load)
    after = await _settled(server, access, postgres, before)
    owed = await postgres.owed_links()
    return Course(plan, load, disturbing.result(), watching.result(), (before, after), owed, verdict)


async def _settled(server: Server, access: Access, postgres: Postgres, before: Held) -> Held:
    """What the server holds when connections that nobody uses had time to end. It closes them as it works."""
    until = time.monotonic() + _SETTLING_SECONDS
    async with AsyncEngram(access.url, api_key=access.key) as engram:
        (agent,) = (await engram.agents.list(limit=1)).data
        while True:
            await engram.memories.recall(agent.id, f"At rest at {time.monotonic()}?")
            found = await held(server.pid, postgres)
            if found.other_files <= before.other_files or time.monotonic() > until:
                return found
            await asyncio.sleep(_POLL_SECONDS)


async def _environment(data_dir: Path, postgres: Postgres) -> Environment:
    texts = Texts("")
    return await environment(Store(Size(memories=0), postgres.url, data_dir, texts.corpus))
