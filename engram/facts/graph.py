"""The fact graph in memory: facts as directed edges between named nodes, and the paths over them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, get_args

from engram.facts.merges import Groups
from engram.facts.names import node_name, words_of
from engram.facts.paths import Edge, Path, Paths
from engram.facts.ranking import rank, recency
from engram.facts.schemas import Fact

MAX_PATHS = 10_000
"""Paths that a walk looks at, over all of its seeds."""

Direction = Literal["out", "in", "both"]


@dataclass(frozen=True, slots=True)
class _Step:
    edge: Edge
    forward: bool


class FactGraph:
    """Nodes are names, case folded and trimmed; every fact is an edge from its subject to its object.

    Build one with ``from_facts``, and walk it as often as needed. Merging changes what is walked, never what is said:
    an edge keeps the nodes that its fact names.
    """

    def __init__(self) -> None:
        self._steps: dict[str, list[_Step]] = {}
        self._aliases: dict[str, set[str]] = {}
        self._words: dict[str, set[str]] = {}
        self._groups = Groups()

    @classmethod
    def from_facts(cls, facts: Iterable[Fact]) -> FactGraph:
        """A graph of these facts, superseded ones among them: a walk asks what holds."""
        graph = cls()
        for fact in facts:
            graph.add_fact(fact)
        return graph

    def add_fact(self, fact: Fact) -> Edge | None:
        """Add a fact; its edge, or None where an end names nothing."""
        edge = Edge(node_name(fact.subject), fact.predicate, node_name(fact.object), fact)
        if not edge.subject or not edge.object:
            return None
        for node, spelling in ((edge.subject, fact.subject), (edge.object, fact.object)):
            self._name(node, spelling)
        self._steps.setdefault(edge.subject, []).append(_Step(edge, True))
        if edge.object != edge.subject:
            self._steps.setdefault(edge.object, []).append(_Step(edge, False))
        return edge

    @property
    def entities(self) -> set[str]:
        """The names of all nodes; of merged ones the canonical name."""
        return {self._groups.resolve(node) for node in self._aliases}

    @property
    def aliases(self) -> dict[str, set[str]]:
        """How each node was spelt, by its own name, whatever was merged."""
        return {node: set(spellings) for node, spellings in self._aliases.items()}

    def merge(self, name: str, other: str) -> str:
        """Make two names one node, and say by which it goes: the first. Neither needs to be in the graph.

        Raises ValueError for an empty name.
        """
        return self._groups.merge(name, other)

    def neighbors(self, entity: str, *, direction: Direction = "both", valid_at: datetime | None = None) -> list[Edge]:
        """Edges at a node, the most recently learnt first: ``out`` of it, ``in`` to it, or both.

        ``valid_at`` as in ``traverse``. Raises ValueError for another direction.
        """
        if direction not in get_args(Direction):
            raise ValueError(f"direction must be 'out', 'in' or 'both', not {direction!r}")
        holds = Holding(valid_at)
        found: dict[int, Edge] = {}
        for step in self._at(self._groups.resolve(node_name(entity))):
            # One with both ends here goes both ways.
            goes = {"out", "in"} if self._is_loop(step.edge) else {"out" if step.forward else "in"}
            if holds(step.edge.fact) and (direction == "both" or direction in goes):
                found[id(step.edge)] = step.edge
        return sorted(found.values(), key=lambda edge: recency(edge.fact))

    def seed_entities(self, query: str) -> list[str]:
        """Nodes of which a name or a spelling has a word in common with the query, by name."""
        asked = words_of(query)
        if not asked:
            return []
        return sorted({self._groups.resolve(node) for node, words in self._words.items() if words & asked})

    def traverse(
        self, seeds: Iterable[str], *, hops: int = 2, valid_at: datetime | None = None, limit: int = 50
    ) -> Paths:
        """Paths of 1 to ``hops`` edges from any of the seeds, in both directions, no node twice on one.

        The shorter first, then that of which the newest fact was recorded last. ``valid_at`` None walks over what has
        not ended; a moment, over what held then. ``truncated`` of the answer: there are, or may be, more than these:
        of more than 10,000 paths no more are looked at.
        """
        wanted = min(limit, MAX_PATHS)
        if hops < 1 or wanted < 1:
            return Paths()
        holds = Holding(valid_at)
        found: list[Path] = []
        level = [_Trail((), (), (seed,)) for seed in dict.fromkeys(self._resolved(seeds))]
        for _ in range(hops):
            longer = self._longer(level, holds)
            level = []
            for trail in longer:
                if len(found) + len(level) == MAX_PATHS:
                    return Paths(_first(found, level, wanted), truncated=True)
                level.append(trail)
            found = _first(found, level, wanted + 1)
            # What is longer comes after what is shorter.
            if not level or len(found) > wanted:
                break
        return Paths(found[:wanted], truncated=len(found) > wanted)

    def _longer(self, trails: Iterable[_Trail], holds: Holding) -> Iterator[_Trail]:
        for trail in trails:
            steps = [step for step in self._at(trail.visited[-1]) if holds(step.edge.fact)]
            for step in sorted(steps, key=lambda step: recency(step.edge.fact)):
                reached = self._groups.resolve(step.edge.ends(forward=step.forward)[1])
                if reached not in trail.visited:
                    yield _Trail(
                        (*trail.edges, step.edge), (*trail.directions, step.forward), (*trail.visited, reached)
                    )

    def _at(self, canonical: str) -> Iterator[_Step]:
        for node in sorted(self._groups.members(canonical)):
            yield from self._steps.get(node, ())

    def _resolved(self, seeds: Iterable[str]) -> Iterator[str]:
        for seed in seeds:
            if name := node_name(seed):
                yield self._groups.resolve(name)

    def _is_loop(self, edge: Edge) -> bool:
        return self._groups.resolve(edge.subject) == self._groups.resolve(edge.object)

    def _name(self, node: str, spelling: str) -> None:
        spellings = self._aliases.setdefault(node, set())
        if spelling not in spellings:
            spellings.add(spelling)
            self._words.setdefault(node, words_of(node)).update(words_of(spelling))


@dataclass(frozen=True, slots=True)
class _Trail:
    """A path while it grows, and the canonical nodes on it."""

    edges: tuple[Edge, ...]
    directions: tuple[bool, ...]
    visited: tuple[str, ...]

    def path(self) -> Path:
        return Path(self.edges, self.directions)


class Holding:
    """Whether a fact holds at a moment; without one, whether it has not ended by now."""

    def __init__(self, valid_at: datetime | None) -> None:
        self._begun_by = _aware(valid_at)
        self._at = self._begun_by or datetime.now(UTC)

    def __call__(self, fact: Fact) -> bool:
        begun = self._begun_by is None or fact.valid_from <= self._begun_by
        return begun and (fact.valid_until is None or fact.valid_until > self._at)


def _aware(moment: datetime | None) -> datetime | None:
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment


def _first(found: list[Path], level: list[_Trail], most: int) -> list[Path]:
    room = most - len(found)
    return found + [
        trail.path() for trail in sorted(level, key=lambda trail: rank(trail.edges, trail.directions))[:room]
    ]
