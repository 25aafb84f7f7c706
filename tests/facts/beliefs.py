"""What is believed of facts, written down from the description: a log of what happened, played again for each question.

It knows nothing of how a server does it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from engram.facts import Fact, FactGraph, Paths

_LONG_AGO = datetime(1900, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Said:
    """A fact as its writer gave it, and when it was learnt."""

    id: str
    user_id: str | None
    subject: str
    predicate: str
    object: str
    valid_from: datetime
    stated_until: datetime | None
    supersede: bool
    recorded_at: datetime

    @property
    def slot(self) -> tuple[str | None, str, str]:
        return self.user_id, self.subject, self.predicate

    def is_later_than(self, other: Said) -> bool:
        return (self.valid_from, self.recorded_at, self.id) > (other.valid_from, other.recorded_at, other.id)

    def came_after(self, other: Said) -> bool:
        return (self.recorded_at, self.id) > (other.recorded_at, other.id)


@dataclass(frozen=True)
class Believed:
    """A fact, whether it is believed, when it ends as far as is known, and by which other."""

    said: Said
    status: str
    until: datetime | None
    superseded_by: str | None

    def holds(self, *, valid_at: datetime | None, now: datetime) -> bool:
        """At a moment; without one, whether it has not ended by now."""
        if valid_at is not None and self.said.valid_from > valid_at:
            return False
        return self.until is None or self.until > (valid_at or now)


def believed(said: Sequence[Said], statuses: dict[str, str]) -> dict[str, Believed]:
    """How facts end of which these statuses are known: each is held against every other."""
    return {one.id: Believed(one, statuses[one.id], *_end(one, said, statuses)) for one in said}


def _end(one: Said, said: Iterable[Said], statuses: dict[str, str]) -> tuple[datetime | None, str | None]:
    """Until the end that its writer gave, or until the first later start of another object."""
    first: Said | None = None
    for other in said:
        if other.slot != one.slot or other.object == one.object or not other.is_later_than(one):
            continue
        # One that stands beside others ends nothing, and what was undone ends nothing.
        if not other.supersede or statuses[other.id] == "undone":
            continue
        # One that stands beside others is ended only by what is learnt after it.
        if not one.supersede and not other.came_after(one):
            continue
        if first is None or first.is_later_than(other):
            first = other
    if first is None or (one.stated_until is not None and one.stated_until <= first.valid_from):
        return one.stated_until, None
    return first.valid_from, first.id


@dataclass(frozen=True)
class Event:
    """What happened, wholly known at ``at`` and not at all before ``begun``."""

    begun: datetime
    at: datetime
    said: tuple[Said, ...] = ()
    statuses: tuple[tuple[str, str], ...] = ()
    merged: tuple[str, str, str] | None = None
    """Its id, and two names."""
    unmerged: str | None = None


@dataclass
class Log:
    events: list[Event] = field(default_factory=list)

    def add(self, event: Event) -> None:
        assert not self.events or self.events[-1].at < event.begun, "the server's time went backward"
        self.events.append(event)

    def known(self, known_at: datetime | None = None) -> dict[str, Believed]:
        """All facts in any state as they are known, or were at an instant."""
        said: list[Said] = []
        statuses: dict[str, str] = {}
        for event in self._until(known_at):
            said += event.said
            statuses.update({one.id: "standing" for one in event.said})
            statuses.update(event.statuses)
        return believed(said, statuses)

    def merges(self, known_at: datetime | None = None) -> dict[str, tuple[str, str]]:
        """Merges that stand or stood, by id, in the order in which they were said."""
        found: dict[str, tuple[str, str]] = {}
        for event in self._until(known_at):
            if event.merged is not None:
                found[event.merged[0]] = event.merged[1:]
            if event.unmerged is not None:
                del found[event.unmerged]
        return found

    def graph(self, user_id: str | None, *, valid_at: datetime | None, known_at: datetime | None) -> FactGraph:
        """A graph in which what holds has no end, and all else that is believed has ended."""
        now = known_at or datetime.now(UTC)
        graph = FactGraph()
        for one in self.known(known_at).values():
            if one.status != "standing" or one.said.user_id != user_id:
                continue
            holds = one.holds(valid_at=valid_at, now=now)
            fields = {name: getattr(one.said, name) for name in ("id", "user_id", "subject", "predicate", "object")}
            window = {} if holds else {"valid_until": _LONG_AGO}
            graph.add_fact(Fact(**fields, recorded_at=one.said.recorded_at, valid_from=_LONG_AGO, **window))
        for name, other in self.merges(known_at).values():
            graph.merge(name, other)
        return graph

    def paths(
        self,
        query: str,
        user_id: str | None,
        *,
        hops: int,
        limit: int,
        valid_at: datetime | None = None,
        known_at: datetime | None = None,
    ) -> Paths:
        graph = self.graph(user_id, valid_at=valid_at, known_at=known_at)
        return graph.traverse(graph.seed_entities(query), hops=hops, limit=limit)

    def moments(self) -> list[datetime]:
        """When something came to be known, and when it was not yet."""
        return [moment for event in self.events for moment in (event.begun, event.at)]

    def _until(self, known_at: datetime | None) -> list[Event]:
        return [event for event in self.events if known_at is None or event.at <= known_at]
