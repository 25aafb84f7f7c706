"""The composition root: everything a server, a command or a benchmark needs, opened together and closed in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import structlog

from engram.agents.service import AgentService
from engram.db.database import Database
from engram.db.embedded import EmbeddedPostgres
from engram.db.migrate import migrate
from engram.embeddings.base import Embedder
from engram.embeddings.registry import open_embedder
from engram.entities.canonical import singular
from engram.entities.projection import EntityProjection
from engram.entities.service import EntityService
from engram.graph.projection import ThematicProjection
from engram.graph.service import GraphService
from engram.memories.projections import Projector
from engram.memories.registration import register_model
from engram.memories.service import MemoryService
from engram.memories.texts import MemoryTexts
from engram.recall.service import RecallService
from engram.settings import Settings
from engram.tenants.database import TenantDatabase
from engram.tuning import Tuning

log = structlog.get_logger(__name__)

WATCH_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Services:
    settings: Settings
    database: Database
    embedder: Embedder
    projector: Projector
    agents: AgentService
    memories: MemoryService
    graph: GraphService
    recall: RecallService


@asynccontextmanager
async def open_services(settings: Settings, *, tuning: Tuning | None = None) -> AsyncIterator[Services]:
    """Start what is configured: the database (embedded where no URL is given), its migrations, the embedder.

    Raises ConfigurationProblem where the server cannot run as configured, UnavailableProblem where the database does
    not answer in time. Everything opened is closed again, also when a later step fails.
    """
    async with AsyncExitStack() as stack:
        dsn = await _database_url(settings, stack)
        await migrate(dsn, settings)
        database = await Database.connect(dsn, settings)
        stack.push_async_callback(database.close)
        embedder = await open_embedder(settings)
        stack.push_async_callback(embedder.aclose)
        # English plurals take a library that loads for over a second: not in somebody's first write.
        warming = asyncio.create_task(asyncio.to_thread(singular, "plurals"))
        stack.push_async_callback(asyncio.wait, [warming])
        yield await assemble(settings, database, embedder, tuning=tuning)


async def _database_url(settings: Settings, stack: AsyncExitStack) -> str:
    if settings.database_url is not None:
        return settings.database_url.get_secret_value()
    postgres = await asyncio.to_thread(EmbeddedPostgres.start, settings.data_dir)
    stack.push_async_callback(asyncio.to_thread, postgres.stop)
    watch = asyncio.create_task(_keep_alive(postgres))
    stack.push_async_callback(asyncio.wait, [watch])
    stack.callback(watch.cancel)
    return postgres.dsn


async def _keep_alive(postgres: EmbeddedPostgres) -> None:
    """Nobody else starts the embedded server again where it dies alone: it is killed for want of memory, say."""
    while True:
        await asyncio.sleep(WATCH_SECONDS)
        try:
            if await asyncio.to_thread(postgres.revive):
                log.warning("the embedded Postgres had died and was started again")
        except Exception as error:
            log.warning("the embedded Postgres has died and does not start", error=str(error))


async def assemble(
    settings: Settings, database: Database, embedder: Embedder, *, tuning: Tuning | None = None
) -> Services:
    """The services over a migrated database and an embedder, which stay the caller's to close.

    ``tuning`` is the product's own where none is given.

    Raises ConfigurationProblem where the database holds memories embedded by another model.
    """
    tuning = tuning or Tuning()
    model = embedder.model
    threshold = tuning.graph.thematic_threshold
    if threshold is None:
        threshold = model.thematic_threshold
    index = await register_model(database, model)
    tenants = TenantDatabase(database)
    agents = AgentService(tenants)
    projector = Projector(
        database,
        [
            EntityProjection(tenants, agents, MemoryTexts(), enabled=settings.entity_recognition != "off"),
            ThematicProjection(tenants, agents, index, threshold, tuning.graph),
        ],
    )
    return Services(
        settings=settings,
        database=database,
        embedder=embedder,
        projector=projector,
        agents=agents,
        memories=MemoryService(
            tenants,
            embedder,
            index,
            agents,
            EntityService(),
            projector,
            tuning=tuning.memory,
            propose_names=settings.entity_recognition == "rules",
        ),
        graph=GraphService(tenants, agents, tuning.graph),
        recall=RecallService(tenants, embedder, index, tuning),
    )
