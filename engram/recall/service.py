"""The recall use case: embed, look, walk, rank, show. Reads only."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import numpy as np

from engram.agents.service import agent_not_found
from engram.embeddings.base import Embedder, Vectors
from engram.embeddings.checks import unit_vector
from engram.entities.communities.service import CommunityService
from engram.entities.graph.service import EntityGraphService
from engram.entities.recognition import openings
from engram.entities.vectors.service import EntityVectorSearch
from engram.graph.decay import Decay
from engram.graph.schemas import RelationType
from engram.memories.predicates import Visibility
from engram.memories.registration import model_replaced
from engram.memories.vectors import VectorIndex
from engram.problems import InvalidInputProblem
from engram.recall import diversity, ranking
from engram.recall.aiming import Aiming, leads_by_vector, worth_of_mention
from engram.recall.answer import Answer, Explained
from engram.recall.asked import asked_terms
from engram.recall.frequencies import TermFrequencies
from engram.recall.naming import Named, Near, meant, named
from engram.recall.pool import Candidates, Pool
from engram.recall.repository import AskedAgent, Question, RecallRepository, Walked
from engram.recall.schemas import RecallRequest, RecallResponse, SearchMode
from engram.recall.targets import stronger
from engram.recall.tuning import RecallTuning
from engram.recall.walk import Edges, Namings, Walk
from engram.recall.words import AskedWords
from engram.telemetry.counting import recalled
from engram.telemetry.stages import stage
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import Scope
from engram.text.stopwords import stop_words
from engram.text.terms import analyzer_for
from engram.tuning import Tuning

_NOTHING = Walked(Edges(), Namings(), Candidates((), np.zeros(0), (), ()), truncated=False)


class RecallService:
    def __init__(
        self,
        database: TenantDatabase,
        embedder: Embedder,
        index: VectorIndex,
        tuning: Tuning,
        decay: Decay,
        entities: EntityGraphService,
        communities: CommunityService,
    ) -> None:
        self._database = database
        self._embedder = embedder
        self._index = index
        self._tuning = tuning
        self._decay = decay
        self._aiming = Aiming(entities, communities, EntityVectorSearch(index), tuning.recall)
        self._frequencies = TermFrequencies()

    async def recall(self, scope: Scope, request: RecallRequest) -> RecallResponse:
        """The memories that answer a query, best first.

        The same request on the same data gives the same answer. Raises NotFoundProblem for an unknown agent,
        ConfigurationProblem where the database has become another model's, and what the embedder raises. No connection
        is held while the query is embedded.
        """
        started = time.perf_counter()
        with stage("recall.embed"):
            vector = await self._vector(request)
        async with self._database.snapshot(scope) as connection:
            recalls = RecallRepository(connection, scope, self._index, self._tuning, self._frequencies)
            with stage("recall.agent"):
                agent = await recalls.agent(UUID(request.agent_id))
            if agent is None:
                raise agent_not_found(request.agent_id)
            if not agent.registered:
                raise model_replaced()
            decay = self._decay.changed(agent.decay_multipliers, agent.hop_penalty).changed(None, request.hop_penalty)
            question = _question(request, vector, agent, self._tuning.recall, decay)
            targets = None
            if request.search_mode is SearchMode.graph or request.entity_filter is not None:
                with stage("recall.aim"):
                    targets = await self._aiming.targets(connection, scope, request, vector, agent, decay)
            question = replace(
                question,
                targets=targets,
                mentioned=worth_of_mention(decay),
                only_targets=request.search_mode is SearchMode.graph,
            )
            with stage("recall.arms"):
                found = await recalls.arms(question, agent, request.top_k)
            words = AskedWords(found.weights, agent.average_length, self._tuning.recall)
            by_name = named(request.query, found.subjects, stop_words(agent.language))
            by_vector = _by_vector(found.near, self._tuning.recall)
            pool = Pool(found.candidates, words, stronger(by_name, found.aimed, by_vector))
            anchors = ranking.anchors(pool.legs(), self._tuning.recall.anchors, lexical=request.lexical)
            walked = await self._walk(recalls, request, question, agent, anchors, decay)
            pool.add(walked.candidates)
            with stage("recall.rank"):
                answer = _ranked(request, pool, walked, anchors, decay)
            with stage("recall.show"):
                chosen = await _chosen(recalls, request, question, answer)
                memories, entities = await recalls.show(question, chosen, answer.entity_ids)
        recalled(candidates=len(pool), truncated=walked.truncated)
        return RecallResponse(
            results=answer.results([id for id in chosen if id in memories], memories, entities),
            query=request.query,
            took_ms=(time.perf_counter() - started) * 1000,
            truncated=walked.truncated or len(memories) < len(chosen),
        )

    async def _walk(
        self,
        recalls: RecallRepository,
        request: RecallRequest,
        question: Question,
        agent: AskedAgent,
        anchors: dict[UUID, float],
        decay: Decay,
    ) -> Walked:
        if not anchors or request.max_hops == 0 or not question.multipliers:
            return _NOTHING
        with stage("recall.walk"):
            return await recalls.walk(
                question, agent, anchors, max_hops=_max_hops(request), hop_penalty=decay.hop_penalty
            )

    async def _vector(self, request: RecallRequest) -> Vectors:
        if request.embedding is None:
            return await self._embedder.embed_query(request.query)
        dimension = self._embedder.model.dimension
        if len(request.embedding) != dimension:
            raise InvalidInputProblem.of(
                "embedding",
                f"has {len(request.embedding)} dimensions; the model {self._embedder.model.name} has {dimension}",
            )
        return unit_vector(request.embedding)


def _question(
    request: RecallRequest, vector: Vectors, agent: AskedAgent, tuning: RecallTuning, decay: Decay
) -> Question:
    now = datetime.now(UTC)
    analyzer = analyzer_for(agent.language)
    return Question(
        agent_id=UUID(request.agent_id),
        vector=vector,
        terms=asked_terms(analyzer, request.query, request.as_of or request.known_at or now, tuning)
        if request.lexical
        else [],
        openings=_openings(request, tuning),
        visibility=Visibility.of(request, now),
        multipliers=decay.over(request.relation_types),
        near_above=tuning.entity_vectors_floor if _looks_near(request, tuning) else None,
    )


def _openings(request: RecallRequest, tuning: RecallTuning) -> list[str]:
    """How names in the query may open; none where a name may lead nowhere."""
    walked = request.relation_types is None or RelationType.entity_link in request.relation_types
    if not (tuning.names and request.lexical and request.max_hops and walked):
        return []
    return sorted(openings(request.query))


def _looks_near(request: RecallRequest, tuning: RecallTuning) -> bool:
    """In graph mode the entities that are near are what the recall is aimed at, where it names none."""
    return request.search_mode is not SearchMode.graph and request.max_hops > 0 and leads_by_vector(request, tuning)


def _by_vector(near: Sequence[Near], tuning: RecallTuning) -> dict[UUID, Named]:
    return meant(near, weight=tuning.entity_vectors or 0.0, floor=tuning.entity_vectors_floor)


def _max_hops(request: RecallRequest) -> int:
    """In graph mode the hop around the query's entities is behind it: what is linked to what was found there."""
    return min(request.max_hops, 1) if request.search_mode is SearchMode.graph else request.max_hops


def _ranked(request: RecallRequest, pool: Pool, walked: Walked, anchors: dict[UUID, float], decay: Decay) -> Answer:
    walk = Walk(
        anchors,
        walked.edges,
        walked.namings,
        max_hops=_max_hops(request),
        hop_penalty=decay.hop_penalty,
        entity_multiplier=decay.multipliers[RelationType.entity_link],
    )
    ranked = ranking.Ranking(pool.legs(), walk, request.graph_weight)
    wanted = request.top_k * (diversity.POOL if request.diversity else 1)
    best = ranked.best(wanted, min_score=request.min_score)
    explained = Explained(ranked, pool.terms, decay.hop_penalty) if request.explain else None
    return Answer(best, walk, explained=explained)


async def _chosen(recalls: RecallRepository, request: RecallRequest, question: Question, answer: Answer) -> list[UUID]:
    """The hits to be shown, of those offered: all, or where diversity is wanted the ones that repeat least."""
    if not request.diversity or not answer.ids:
        return answer.ids
    vectors = np.stack(await recalls.embeddings(question, answer.ids))
    chosen = diversity.choose(answer.scores, vectors, request.diversity, request.top_k)
    return [answer.ids[place] for place in chosen]
