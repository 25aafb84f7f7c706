"""A ranked answer as the wire shows it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from engram.graph.schemas import PathStep, RelationType
from engram.recall.ranking import Ranked, Ranking, path_behind
from engram.recall.schemas import Alternative, Explanation, RecallHit
from engram.recall.walk import Path, Walk

ALTERNATIVES = 3


@dataclass(frozen=True, slots=True)
class Explained:
    """What ``explain`` needs beside the hits: where each stands among all candidates, its terms, the hop penalty."""

    ranking: Ranking
    terms: Callable[[UUID], list[str]]
    hop_penalty: float


class Answer:
    """The best hits, with the paths behind them; ``explained`` where the request wants more."""

    def __init__(self, best: Sequence[Ranked], walk: Walk, *, explained: Explained | None) -> None:
        self._best = {hit.id: hit for hit in best}
        self._walk = walk
        self._paths = {hit.id: path_behind(hit, walk) for hit in best}
        self._explained = explained
        self._alternatives = {hit.id: self._weaker(hit) for hit in best} if explained else {}
        self._places = explained.ranking.places() if explained else ()

    @property
    def ids(self) -> list[UUID]:
        return list(self._best)

    @property
    def scores(self) -> list[float]:
        return [hit.parts.score for hit in self._best.values()]

    @property
    def entity_ids(self) -> list[UUID]:
        paths = [path for path in self._paths.values() if path]
        paths += [path for weaker in self._alternatives.values() for path in weaker]
        return sorted({edge.entity_id for path in paths for edge in path.edges if edge.entity_id})

    def results(
        self, ids: Sequence[UUID], memories: Mapping[UUID, Mapping[str, Any]], entities: Mapping[str, str]
    ) -> list[RecallHit]:
        """These hits, with the text of ``memories`` (by id) and the names of ``entities`` (by id as text)."""
        return [self._hit(self._best[id], memories[id], entities) for id in ids]

    def _weaker(self, hit: Ranked) -> list[Path]:
        paths = self._walk.paths(hit.id, ALTERNATIVES + 1)
        return paths[1:] if hit.walked else paths[:ALTERNATIVES]

    def _hit(self, hit: Ranked, memory: Mapping[str, Any], entities: Mapping[str, str]) -> RecallHit:
        path = self._paths[hit.id]
        return RecallHit.model_validate(
            {
                **memory,
                "score": hit.parts.score,
                "vector_score": hit.vector,
                "lexical_score": hit.lexical,
                "graph_score": hit.graph,
                "hops": len(path.edges) if path else 0,
                "path": _steps(path, entities) if path else _by_name(hit),
                "explain": self._explanation(hit, path, entities) if self._explained else None,
            }
        )

    def _explanation(self, hit: Ranked, path: Path | None, entities: Mapping[str, str]) -> Explanation:
        assert self._explained is not None
        vector, lexical, graph = (ranks.get(hit.id) for ranks in self._places)
        return Explanation(
            vector_part=hit.parts.vector,
            graph_part=hit.parts.graph,
            vector_rank=vector,
            lexical_rank=lexical,
            graph_rank=graph,
            hop_penalty=self._explained.hop_penalty,
            anchor_score=path.anchor_score if path else None,
            terms=self._explained.terms(hit.id),
            alternatives=[
                Alternative(score=weaker.score, path=_steps(weaker, entities)) for weaker in self._alternatives[hit.id]
            ],
        )


def _by_name(hit: Ranked) -> list[PathStep]:
    """The one step from the query itself, where a name in it is behind the graph score."""
    named = hit.named
    if named is None or named.score <= hit.lexical:
        return []
    return [
        PathStep(memory_id=str(hit.id), relation_type=RelationType.entity_link, weight=named.score, entity=named.entity)
    ]


def _steps(path: Path, entities: Mapping[str, str]) -> list[PathStep]:
    steps = [PathStep(memory_id=str(path.anchor))]
    for edge in path.edges:
        entity = entities.get(str(edge.entity_id)) if edge.entity_id else None
        steps.append(
            PathStep.model_validate(
                {
                    "memory_id": edge.target,
                    "relation_type": edge.relation_type,
                    "direction": edge.direction,
                    "weight": edge.weight,
                    "multiplier": edge.multiplier,
                    "entity": entity,
                }
            )
        )
    return steps
