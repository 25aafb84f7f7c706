"""The recall formula by brute force: every memory of an agent, every simple path. Slow, and written from the formula.

Knows nothing of SQL, caps or arrays. What it shares with the code under test are numbers that are written down:
multipliers, the weight of a temporal link, the size of a hub, BM25's constants.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from uuid import UUID

MULTIPLIERS = {
    "entity_link": 0.98,
    "causal": 0.97,
    "temporal": 0.97,
    "thematic": 0.95,
    "contradicts": 0.95,
    "supports": 0.96,
    "derived_from": 0.96,
    "supersedes": 0.94,
}
TEMPORAL_WEIGHT = 0.8
ANSWER_WEIGHT = 1.0
HUB_SIZE = 50
ANCHORS = 20
K1, B = 0.9, 0.4
PHRASE_WEIGHT = 0.3


@dataclass(frozen=True)
class Note:
    """A memory as its writer knows it. ``order`` counts arrivals; ``names`` maps entities to their roles."""

    id: str
    order: int
    vector: Sequence[float]
    words: Sequence[str]
    valid_from: datetime
    asks: bool = False
    valid_until: datetime | None = None
    user: str | None = None
    session: str | None = None
    tags: frozenset[str] = frozenset()
    metadata: dict[str, object] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Link:
    """A stored edge. ``valid_from`` and ``valid_until`` bound when it holds."""

    source: str
    target: str
    relation: str
    weight: float
    valid_from: datetime | None = None
    valid_until: datetime | None = None


@dataclass(frozen=True)
class Asked:
    """A request. ``sees`` says whether a memory passes its filters (user, session, tags, metadata, window)."""

    vector: Sequence[float]
    now: datetime
    words: Sequence[str] = ()
    lexical: bool = False
    graph_weight: float = 0.4
    max_hops: int = 2
    hop_penalty: float = 0.05
    relations: frozenset[str] = frozenset(MULTIPLIERS)
    as_of: datetime | None = None
    sees: Callable[[Note], bool] = lambda note: True


@dataclass(frozen=True)
class Score:
    """What the formula gives for one memory."""

    score: float
    vector: float
    lexical: float
    graph: float


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    """0 where one of the two is a zero vector."""
    length = math.sqrt(math.fsum(x * x for x in a)) * math.sqrt(math.fsum(x * x for x in b))
    return math.fsum(x * y for x, y in zip(a, b, strict=True)) / length if length else 0.0


class Oracle:
    def __init__(self, notes: Sequence[Note], links: Sequence[Link], asked: Asked) -> None:
        self._all = notes
        self._by_id = {note.id: note for note in notes}
        self._links = links
        self._asked = asked
        self._seen = {note.id: note for note in notes if self._holds(note) and asked.sees(note)}

    def scores(self) -> dict[str, Score]:
        """The score of every memory that may be seen."""
        vector = {id: max(0.0, cosine(self._asked.vector, note.vector)) for id, note in self._seen.items()}
        lexical = self._lexical()
        source = {id: max(vector[id], lexical[id]) for id in self._anchors(vector, lexical)}
        walked = self._walked(source)
        weight = self._asked.graph_weight
        scores = {}
        for id in self._seen:
            graph = max(lexical[id], walked.get(id, 0.0))
            scores[id] = Score((1 - weight) * vector[id] + weight * graph, vector[id], lexical[id], graph)
        return scores

    # --- what may be seen

    def _holds(self, note: Note) -> bool:
        at = self._asked.as_of
        if at is None:
            return note.valid_until is None or self._asked.now < note.valid_until
        return note.valid_from <= at and (note.valid_until is None or at < note.valid_until)

    def _in_force(self, link: Link) -> bool:
        at = self._asked.as_of
        if at is None:
            return link.valid_until is None or self._asked.now < link.valid_until
        return (link.valid_from is None or link.valid_from <= at) and (
            link.valid_until is None or at < link.valid_until
        )

    # --- the legs

    def _lexical(self) -> dict[str, float]:
        if not self._asked.lexical:
            return dict.fromkeys(self._seen, 0.0)
        counts = {note.id: Counter(note.words) for note in self._all}
        average = sum(len(note.words) for note in self._all) / len(self._all)
        bm25 = {}
        for id, note in self._seen.items():
            parts = []
            for word in set(self._asked.words):
                df = sum(word in count for count in counts.values())
                idf = math.log(1 + (len(self._all) - df + 0.5) / (df + 0.5))
                tf = counts[id][word]
                parts.append(idf * tf * (K1 + 1) / (tf + K1 * (1 - B + B * len(note.words) / average)))
            for phrase in set(pairwise(self._asked.words)):
                df = sum(phrase in pairwise(other.words) for other in self._all)
                idf = math.log(1 + (len(self._all) - df + 0.5) / (df + 0.5))
                parts.append(PHRASE_WEIGHT * idf * (phrase in pairwise(note.words)))
            bm25[id] = math.fsum(parts)
        best = max(bm25.values(), default=0.0)
        return {id: value / best if best else 0.0 for id, value in bm25.items()}

    def _anchors(self, vector: dict[str, float], lexical: dict[str, float]) -> set[str]:
        def best(scores: dict[str, float]) -> list[str]:
            return sorted(scores, key=lambda id: (-scores[id], UUID(id)))[:ANCHORS]

        matching = {id: score for id, score in lexical.items() if score > 0}
        return {*best(vector), *best(matching)}

    # --- the walk

    def _walked(self, source: dict[str, float]) -> dict[str, float]:
        factors = self._factors()
        best: dict[str, float] = {}

        def go_on(at: str, score: float, hops: int, visited: frozenset[str]) -> None:
            if hops == self._asked.max_hops:
                return
            for target, factor in factors.get(at, {}).items():
                if target not in visited:
                    reached = score * (1 - self._asked.hop_penalty) * factor
                    best[target] = max(best.get(target, 0.0), reached)
                    go_on(target, reached, hops + 1, visited | {target})

        for anchor, score in source.items():
            go_on(anchor, score, 0, frozenset({anchor}))
        return best

    def _factors(self) -> dict[str, dict[str, float]]:
        """The best ``weight * multiplier`` from one memory to another, by source and target."""
        factors: dict[str, dict[str, float]] = {}
        for source, target, relation, weight in self.steps():
            if source in self._seen and target in self._seen and relation in self._asked.relations:
                onward = factors.setdefault(source, {})
                onward[target] = max(onward.get(target, 0.0), weight * MULTIPLIERS[relation])
        return factors

    def steps(self) -> Iterator[tuple[str, str, str, float]]:
        """All that a walk could follow, as (source, target, relation, weight), each direction by itself."""
        for link in self._links:
            if self._in_force(link):
                yield link.source, link.target, link.relation, link.weight
                yield link.target, link.source, link.relation, link.weight
        for before, after in self._neighbours():
            yield before, after, "temporal", ANSWER_WEIGHT if self._by_id[before].asks else TEMPORAL_WEIGHT
            yield after, before, "temporal", TEMPORAL_WEIGHT
        yield from self._shared_names()

    def _neighbours(self) -> Iterator[tuple[str, str]]:
        sessions: dict[str, list[Note]] = {}
        for note in self._all:
            if note.session is not None and self._holds(note):
                sessions.setdefault(note.session, []).append(note)
        for turns in sessions.values():
            turns.sort(key=lambda note: (note.valid_from, note.order))
            yield from ((before.id, after.id) for before, after in pairwise(turns))

    def _shared_names(self) -> Iterator[tuple[str, str, str, float]]:
        for name in {name for note in self._all for name in note.names}:
            naming = [note for note in self._all if name in note.names]
            for source in naming:
                for target in naming:
                    if source is target:
                        continue
                    if target.names[name] == "subject":
                        yield source.id, target.id, "entity_link", 1.0
                    elif len(naming) <= HUB_SIZE:
                        yield source.id, target.id, "entity_link", 1 / (1 + math.log(len(naming)))
