"""From candidates and a walk to a ranked answer, in columns. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from engram.recall.naming import Named
from engram.recall.scoring import Column, Parts, final_scores, lexical_scores, parts_of, vector_scores
from engram.recall.walk import Path, Walk


@dataclass(frozen=True, slots=True, eq=False)
class Legs:
    """Candidates' own scores: what the query says of each, before any walk. In the order of ``ids``, which ascend;
    ``named`` holds those that a name in the query leads to."""

    ids: list[UUID]
    vector: Column
    lexical: Column
    named: Mapping[UUID, Named]

    @classmethod
    def of(
        cls, ids: Sequence[UUID], similarities: Column, bm25: Column, best_bm25: float, named: Mapping[UUID, Named]
    ) -> Legs:
        """From cosines, which are no number for a zero vector, and BM25, of which ``best_bm25`` is worth 1."""
        order = sorted(range(len(ids)), key=ids.__getitem__)
        return cls(
            [ids[place] for place in order],
            vector_scores(similarities[order]),
            lexical_scores(bm25[order], best_bm25),
            named,
        )

    @property
    def asked(self) -> Column:
        """Graph score at hop 0: the query's words, or a name in it, lead to the memory."""
        if not self.named:
            return self.lexical
        names = np.array([named.score if (named := self.named.get(id)) else 0.0 for id in self.ids])
        asked: Column = np.maximum(self.lexical, names)
        return asked


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with its final score. The best path of the walk is behind the graph score where ``walked``."""

    id: UUID
    vector: float
    lexical: float
    graph: float
    parts: Parts
    walked: bool
    named: Named | None


class Ranking:
    """All candidates, best first, ties by id."""

    def __init__(self, legs: Legs, walk: Walk, graph_weight: float) -> None:
        reached = walk.reached()
        asked = legs.asked
        led = np.array([reached.get(id, 0.0) for id in legs.ids])
        self._legs = legs
        self._walked = led > asked
        self._graph = np.maximum(asked, led)
        self._graph_weight = graph_weight
        self._scores = final_scores(legs.vector, self._graph, graph_weight)
        self._order = np.lexsort((np.arange(len(legs.ids)), -self._scores))

    def best(self, count: int, *, min_score: float) -> list[Ranked]:
        """The first ``count`` of at least ``min_score``."""
        return [self._ranked(place) for place in self._order[:count] if self._scores[place] >= min_score]

    def places(self) -> tuple[dict[UUID, int], dict[UUID, int], dict[UUID, int]]:
        """Rank, from 1, of every candidate with a score above 0: by vector, by words, by graph; ties by id."""
        vector, lexical, graph = (self._places(c) for c in (self._legs.vector, self._legs.lexical, self._graph))
        return vector, lexical, graph

    def _ranked(self, place: int) -> Ranked:
        id, vector, graph = self._legs.ids[place], float(self._legs.vector[place]), float(self._graph[place])
        return Ranked(
            id=id,
            vector=vector,
            lexical=float(self._legs.lexical[place]),
            graph=graph,
            parts=parts_of(vector, graph, self._graph_weight),
            walked=bool(self._walked[place]),
            named=self._legs.named.get(id),
        )

    def _places(self, column: Column) -> dict[UUID, int]:
        order = _descending(column)
        return {self._legs.ids[at]: rank for rank, at in enumerate(order[column[order] > 0], start=1)}


def anchors(legs: Legs, count: int, *, lexical: bool) -> dict[UUID, float]:
    """Where the walk starts: the best ``count`` by vector, by words where any is shared, and by name; ties by id."""
    asked = legs.asked
    by_name = np.array([place for place in _descending(asked) if legs.ids[place] in legs.named], dtype=np.intp)
    chosen = [_descending(legs.vector)[:count]]
    if lexical:
        by_words = _descending(legs.lexical)[:count]
        chosen.append(by_words[legs.lexical[by_words] > 0])
    chosen.append(by_name[:count])
    source = np.maximum(legs.vector, asked)
    return {legs.ids[place]: float(source[place]) for place in _distinct(chosen)}


def path_behind(ranked: Ranked, walk: Walk) -> Path | None:
    """The chain behind a graph score; None where the query itself found the memory."""
    return walk.paths(ranked.id, 1)[0] if ranked.walked else None


def _descending(column: Column) -> NDArray[np.intp]:
    return np.lexsort((np.arange(len(column)), -column))


def _distinct(chosen: Iterable[NDArray[np.intp]]) -> Iterable[int]:
    return dict.fromkeys(int(place) for places in chosen for place in places)
