"""What the demo asks, and what it finds out."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any, NamedTuple

from engram.cli.demo.stage import Stage
from engram.cli.paths import in_words
from engram.recall.schemas import RecallHit, RecallRequest, RecallResponse
from engram.tenants.scope import DEFAULT_SCOPE

REPORTED = 5
REPETITIONS = 15
PLAIN: dict[str, Any] = {"graph_weight": 0.0, "lexical": False, "max_hops": 0}
"""Plain vector search."""


class Question(NamedTuple):
    """``key`` is the memory to watch, ``lesson`` says what lifts it, ``shown`` is how many ranks are worth a look."""

    query: str
    key: str
    lesson: str
    shown: int


QUESTIONS = (
    Question(
        "What does this user do for work?",
        "stripe",
        "Nothing in it sounds like the question; an edge that somebody asserted leads there.",
        5,
    ),
    Question(
        "Who can look at the boiler, and how do I reach them?",
        "away",
        "It says nothing of a boiler; the name that both memories mention leads there.",
        3,
    ),
    Question(
        "What was the cause of PAY-2231?",
        "ticket",
        "Numbers look alike to an embedding; as words they are told apart.",
        3,
    ),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One question both ways, with all memories ranked. The ranks are of the one to watch."""

    question: Question
    by_vector: RecallResponse
    hybrid: RecallResponse
    vector_rank: int
    hybrid_rank: int

    @property
    def lifted(self) -> RecallHit:
        hit: RecallHit = self.hybrid.results[self.hybrid_rank - 1]
        return hit


@dataclass(frozen=True, slots=True)
class Timing:
    """Median milliseconds of a recall, warm, in this process."""

    runs: int
    vector_ms: float
    hybrid_ms: float


async def ask(stage: Stage, question: Question) -> Finding:
    """Ask by vector alone and in full."""
    everything = {"top_k": len(stage.texts)}
    by_vector = await _recall(stage, question.query, everything | PLAIN)
    hybrid = await _recall(stage, question.query, everything | {"explain": True})
    watched = stage.ids[question.key]
    return Finding(question, by_vector, hybrid, _rank(by_vector, watched), _rank(hybrid, watched))


async def measure(stage: Stage) -> Timing:
    took: dict[str, list[float]] = {"vector": [], "hybrid": []}
    for _ in range(REPETITIONS):
        for question in QUESTIONS:
            took["vector"].append((await _recall(stage, question.query, PLAIN)).took_ms)
            took["hybrid"].append((await _recall(stage, question.query, {})).took_ms)
    return Timing(len(took["hybrid"]), statistics.median(took["vector"]), statistics.median(took["hybrid"]))


def report(stage: Stage, findings: list[Finding], timing: Timing) -> dict[str, Any]:
    """All that the demo shows, for a program."""
    model = stage.services.embedder.model
    return {
        "memories": len(stage.texts),
        "links": stage.links,
        "embedder": {"provider": model.provider, "model": model.name, "dimension": model.dimension},
        "seconds": {"starting": round(stage.starting_seconds, 2), "loading": round(stage.loading_seconds, 2)},
        "recall_ms": {
            "runs": timing.runs,
            "vector": round(timing.vector_ms, 2),
            "hybrid": round(timing.hybrid_ms, 2),
        },
        "questions": [
            {
                "query": finding.question.query,
                "memory": finding.lifted.content,
                "vector_rank": finding.vector_rank,
                "hybrid_rank": finding.hybrid_rank,
                "path": in_words(finding.lifted.path, stage.texts),
                "vector": [_brief(hit) for hit in finding.by_vector.results[:REPORTED]],
                "hybrid": [hit.model_dump(mode="json") for hit in finding.hybrid.results[:REPORTED]],
            }
            for finding in findings
        ],
    }


async def _recall(stage: Stage, query: str, options: dict[str, Any]) -> RecallResponse:
    request = RecallRequest.model_validate({"agent_id": stage.agent_id, "query": query, **options})
    return await stage.services.recall.recall(DEFAULT_SCOPE, request)


def _rank(response: RecallResponse, id: str) -> int:
    return [hit.id for hit in response.results].index(id) + 1


def _brief(hit: RecallHit) -> dict[str, Any]:
    return {"id": hit.id, "content": hit.content, "score": hit.score}
