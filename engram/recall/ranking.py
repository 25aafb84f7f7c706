"""From candidates and a walk to a ranked answer. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from engram.recall.naming import Named
from engram.recall.scoring import Parts, blend, lexical_score, vector_score
from engram.recall.walk import Path, Walk


@dataclass(frozen=True, slots=True)
class Leg:
    """A candidate's own scores: what the query says of it, before any walk."""

    vector: float
    lexical: float
    terms: tuple[str, ...]
    named: Named | None = None

    @property
    def asked(self) -> float:
        """Graph score at hop 0: the query's words, or a name in it, lead to the memory."""
        return max(self.lexical, self.named.score if self.named else 0.0)

    @property
    def source(self) -> float:
        """What an anchor starts a walk with."""
        return max(self.vector, self.asked)


@dataclass(frozen=True, slots=True)
class Ranked:
    """``paths`` holds the best path first; it is behind the graph score where ``walked``."""

    id: UUID
    leg: Leg
    graph: float
    parts: Parts
    walked: bool


def legs(
    candidates: Iterable[tuple[UUID, float, float, tuple[str, ...]]], best_bm25: float, names: Mapping[UUID, Named]
) -> dict[UUID, Leg]:
    """Scores of candidates ``(id, similarity, bm25, terms)``, of which the query may name what some are about."""
    return {
        id: Leg(vector_score(similarity), lexical_score(bm25, best_bm25), terms, names.get(id))
        for id, similarity, bm25, terms in candidates
    }


def anchors(found: Mapping[UUID, Leg], count: int, *, lexical: bool) -> dict[UUID, float]:
    """Where the walk starts: the best ``count`` by vector, by words where any is shared, and by name; ties by id."""
    by_vector = sorted(found, key=lambda id: (-found[id].vector, id))[:count]
    chosen = dict.fromkeys(by_vector)
    if lexical:
        by_words = sorted((id for id in found if found[id].lexical > 0), key=lambda id: (-found[id].lexical, id))
        chosen |= dict.fromkeys(by_words[:count])
        by_name = sorted((id for id, leg in found.items() if leg.named), key=lambda id: (-found[id].asked, id))
        chosen |= dict.fromkeys(by_name[:count])
    return {id: found[id].source for id in chosen}


def rank(found: Mapping[UUID, Leg], walk: Walk, graph_weight: float) -> list[Ranked]:
    """All candidates, best first, ties by id."""
    reached = walk.reached()
    ranked = []
    for id, leg in found.items():
        led = reached.get(id, 0.0)
        graph = max(leg.asked, led)
        parts = blend(leg.vector, graph, graph_weight)
        ranked.append(Ranked(id, leg, graph, parts, walked=led > leg.asked))
    ranked.sort(key=lambda r: (-r.parts.score, r.id))
    return ranked


def places(scores: Mapping[UUID, float]) -> dict[UUID, int]:
    """Rank, from 1, of every id with a score above 0; ties by id."""
    order = sorted((id for id, score in scores.items() if score > 0), key=lambda id: (-scores[id], id))
    return {id: place for place, id in enumerate(order, start=1)}


def path_behind(ranked: Ranked, walk: Walk) -> Path | None:
    """The chain behind a graph score; None where the query itself found the memory."""
    return walk.paths(ranked.id, 1)[0] if ranked.walked else None
