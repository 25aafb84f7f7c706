"""Edges of the fact graph, and chains of them. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from engram.facts.schemas import Fact


@dataclass(frozen=True, slots=True)
class Edge:
    """A fact as an edge. ``subject`` and ``object`` are the nodes that it names itself, whatever was merged."""

    subject: str
    predicate: str
    object: str
    fact: Fact

    def render(self) -> str:
        """The hop as a person reads it: ``alice —works_at→ acme``."""
        return f"{self.subject} {self._arrow(forward=True)} {self.object}"

    def ends(self, *, forward: bool) -> tuple[str, str]:
        """The node that is left, and the one that is reached."""
        return (self.subject, self.object) if forward else (self.object, self.subject)

    def _arrow(self, *, forward: bool) -> str:
        return f"—{self.predicate}→" if forward else f"←{self.predicate}—"


@dataclass(frozen=True, slots=True)
class Path:
    """A chain of edges. ``directions`` says of each whether it is walked from subject to object; all are by default.

    Raises ValueError where there are not as many directions as edges.
    """

    edges: tuple[Edge, ...]
    directions: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        if not self.directions:
            object.__setattr__(self, "directions", (True,) * len(self.edges))
        elif len(self.directions) != len(self.edges):
            raise ValueError("directions must have one entry for each edge")

    def render(self) -> str:
        """The chain as a person reads it. The arrow of a hop that is walked backward points back, so that what the
        fact says stays what it says: ``tokyo ←operates_in— acme``."""
        if not self.edges:
            return ""
        text = [self.nodes[0]]
        for edge, forward, node in zip(self.edges, self.directions, self.nodes[1:], strict=True):
            text += [edge._arrow(forward=forward), node]
        return " ".join(text)

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of nodes in the order of the walk: one more than there are edges."""
        walked = list(zip(self.edges, self.directions, strict=True))
        if not walked:
            return ()
        first, forward = walked[0]
        return (first.ends(forward=forward)[0], *(edge.ends(forward=forward)[1] for edge, forward in walked))

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts behind the hops."""
        return tuple(edge.fact for edge in self.edges)


class Paths(list[Path]):
    """Paths in their order. ``truncated``: there are, or may be, more than these."""

    def __init__(self, paths: list[Path] | tuple[Path, ...] = (), *, truncated: bool = False) -> None:
        super().__init__(paths)
        self.truncated = truncated
