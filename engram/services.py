"""The composition root: everything a server, a command or a benchmark needs, opened together and closed in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta

from asyncpg import InsufficientPrivilegeError

from engram.agents.service import AgentService
from engram.audit.service import AuditService
from engram.db.database import Database
from engram.db.dsn import parse_dsn
from engram.db.owner import Urls, opened_by_owner, reachable
from engram.db.roles import SERVER_ROLE
from engram.embeddings.base import Embedder
from engram.embeddings.registry import open_embedder
from engram.entities.canonical import singular
from engram.entities.communities.computing import CommunityTuning, check_library
from engram.entities.communities.service import CommunityService
from engram.entities.exporting.service import GraphExportService
from engram.entities.graph.names import EntityNames
from engram.entities.graph.schemas import RankBy
from engram.entities.graph.service import EntityGraphService, TraverseDefaults
from engram.entities.memories.service import EntityMemoryService
from engram.entities.projection import EntityProjection
from engram.entities.service import EntityService
from engram.entities.taxonomy.service import TaxonomyService
from engram.entities.vectors.projection import EntityVectorProjection
from engram.entities.vectors.service import ENTITY_VECTORS, EntityVectors
from engram.facts.erasing import FactErasing
from engram.facts.ontology.service import OntologyService
from engram.facts.quantities.answering import ComputingService
from engram.facts.quantities.units import registry
from engram.facts.service import FactService
from engram.facts.statements.service import StatementService
from engram.facts.triples.service import TripleService
from engram.graph.decay import Decay
from engram.graph.projection import ThematicProjection
from engram.graph.service import GraphService
from engram.graph.supersession import SupersessionEdges
from engram.graph.thematic_links import ThematicLinks
from engram.idempotency.service import IdempotencyService
from engram.jobs.assembly import open_worker
from engram.jobs.service import JobService
from engram.jobs.worker import Worker
from engram.memories.changes.reindexing import Reindexing
from engram.memories.changes.service import MemoryChanges
from engram.memories.changes.writing import Writing
from engram.memories.projections import Projection, Projector
from engram.memories.registration import register_model
from engram.memories.service import MemoryService
from engram.memories.texts import MemoryTexts
from engram.memories.writing import MemoryWriter
from engram.problems import ConfigurationProblem
from engram.recall.service import RecallService
from engram.settings import Settings
from engram.tenants.authentication import Authenticator
from engram.tenants.database import TenantDatabase
from engram.transfer.exporting.service import ExportService
from engram.transfer.importing.service import ImportService
from engram.transfer.importing.staging import AbandonedImports
from engram.tuning import Tuning


@dataclass(frozen=True, slots=True)
class Services:
    settings: Settings
    database: Database
    embedder: Embedder
    authenticator: Authenticator
    idempotency: IdempotencyService
    projector: Projector
    agents: AgentService
    memories: MemoryService
    changes: MemoryChanges
    graph: GraphService
    facts: FactService
    triples: TripleService
    ontologies: OntologyService
    entity_graph: EntityGraphService
    entity_memories: EntityMemoryService
    taxonomy: TaxonomyService
    communities: CommunityService
    graph_exports: GraphExportService
    numbers: ComputingService
    recall: RecallService
    audit: AuditService
    exports: ExportService
    imports: ImportService
    abandoned: AbandonedImports
    jobs: JobService
    worker: Worker


@asynccontextmanager
async def open_services(settings: Settings, *, tuning: Tuning | None = None) -> AsyncIterator[Services]:
    """Start what is configured: the database (embedded where no URL is given), its migrations, the embedder.

    Raises ConfigurationProblem where the server cannot run as configured, UnavailableProblem where the database does
    not answer in time. Everything opened is closed again, also when a later step fails.
    """
    async with AsyncExitStack() as stack:
        urls = await stack.enter_async_context(reachable(settings))
        async with opened_by_owner(urls, settings) as owner:
            embedder = await open_embedder(settings)
            stack.push_async_callback(embedder.aclose)
            database = await Database.connect(urls.server, settings)
            stack.push_async_callback(database.close)
            # English plurals and units take libraries that load for over a second: not in somebody's first write.
            warming = asyncio.create_task(asyncio.to_thread(_warm))
            stack.push_async_callback(asyncio.wait, [warming])
            services = await assemble(settings, database, embedder, owner=owner, tuning=tuning)
        await _greet(services, urls)
        yield services


def _warm() -> None:
    singular("plurals")
    registry()


async def _greet(services: Services, urls: Urls) -> None:
    """The first thing that a server asks with its own login. Raises ConfigurationProblem where that may not serve."""
    try:
        await services.authenticator.look()
    except InsufficientPrivilegeError as error:
        login = parse_dsn(urls.server).user or "of ENGRAM_DATABASE_URL"
        raise ConfigurationProblem(
            f"The login {login} may not serve: an administrator runs GRANT {SERVER_ROLE} TO {login}."
        ) from error


async def assemble(
    settings: Settings,
    database: Database,
    embedder: Embedder,
    *,
    owner: Database | None = None,
    tuning: Tuning | None = None,
) -> Services:
    """The services over a migrated database and an embedder, which stay the caller's to close.

    ``owner`` may make indexes, and is asked once; ``database`` where none is given. ``tuning`` is the product's own
    where none is given.

    Raises ConfigurationProblem where the database holds memories embedded by another model.
    """
    tuning = tuning or Tuning()
    if tuning.recall.entity_vectors is None:
        tuning = replace(tuning, recall=replace(tuning.recall, entity_vectors=settings.entity_vectors))
    model = embedder.model
    threshold = tuning.graph.thematic_threshold
    if threshold is None:
        threshold = model.thematic_threshold
    index = await register_model(owner or database, model)
    tenants = TenantDatabase(database)
    decay = Decay().changed(settings.decay_multipliers, settings.hop_penalty)
    agents = AgentService(tenants)
    projections: list[Projection] = [
        EntityProjection(tenants, agents, MemoryTexts(), enabled=settings.entity_recognition != "off"),
        ThematicProjection(tenants, agents, index, threshold, tuning.graph),
    ]
    leads = bool(tuning.recall.entity_vectors)
    if leads:
        projections.insert(1, EntityVectorProjection(tenants, agents, embedder, index))
    projector = Projector(database, tenants, projections)
    abandoned = AbandonedImports(database, tenants)
    # Each holds a connection for long.
    at_once = max(1, settings.pool_size // 4)
    entities = EntityService(EntityVectors(made=leads))
    writer = MemoryWriter(index, entities, projector)
    proposes = settings.entity_recognition == "rules"
    memories = MemoryService(
        tenants, embedder, agents, entities, projector, writer, tuning=tuning.memory, propose_names=proposes
    )
    changes = MemoryChanges.assemble(
        Writing(tenants, embedder, agents, memories, entities, projector, writer, tuning.memory, proposes),
        database,
        Reindexing(index, entities),
        SupersessionEdges(),
        ThematicLinks(),
        FactErasing(),
        recovery=timedelta(days=settings.recovery_days),
    )
    facts = FactService(tenants, agents)
    names = EntityNames()
    statements = StatementService(entities)
    if settings.entity_communities:
        check_library()
    communities = CommunityService(
        tenants,
        agents,
        facts.merges,
        CommunityTuning(settings.entity_communities_hub_drop, settings.entity_communities_giant_share),
    )
    exports = ExportService(tenants, agents, model, at_once=at_once)
    entity_graph = EntityGraphService(
        tenants,
        names,
        TraverseDefaults(settings.traverse_hub_share, RankBy(settings.traverse_rank_by)),
    )
    return Services(
        settings=settings,
        database=database,
        embedder=embedder,
        authenticator=Authenticator(database),
        idempotency=IdempotencyService(database, tenants, agents),
        projector=projector,
        agents=agents,
        memories=memories,
        changes=changes,
        graph=GraphService(tenants, agents, tuning.graph, decay),
        facts=facts,
        triples=TripleService(tenants, agents, names, statements),
        ontologies=OntologyService(tenants, agents, statements),
        entity_graph=entity_graph,
        entity_memories=EntityMemoryService(tenants, names),
        taxonomy=TaxonomyService(tenants, names, communities),
        communities=communities,
        graph_exports=GraphExportService(tenants, agents, facts.merges, exports.place),
        numbers=ComputingService(tenants, names),
        recall=RecallService(tenants, embedder, index, tuning, decay, entity_graph, communities),
        audit=AuditService(tenants),
        exports=exports,
        imports=ImportService(
            tenants,
            embedder,
            index,
            abandoned,
            tuning=tuning.memory,
            longest_line=settings.max_body_bytes,
            at_once=at_once,
            owed=[ENTITY_VECTORS] if leads else [],
        ),
        abandoned=abandoned,
        jobs=JobService(database, tenants, agents, communities=settings.entity_communities),
        worker=open_worker(
            settings,
            database,
            tenants,
            agents,
            projector,
            purge_expired=changes.purges.purge_expired,
            communities=communities if settings.entity_communities else None,
        ),
    )
