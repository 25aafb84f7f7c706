"""What an agent's memories are and were, written down from the description and kept in plain lists.

It knows nothing of how a server does it: two times, a list of states for each memory, and a look through all of them
for each question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise

Span = tuple[datetime, datetime | None]
"""From the first moment on, up to the second, if there is one, which is not part of it."""

_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class State:
    """What a memory is. ``valid_from`` and ``valid_until`` bound where it holds, as far as is known."""

    content: str
    valid_from: datetime
    valid_until: datetime | None = None
    stated_until: datetime | None = None
    key: str | None = None
    tags: tuple[str, ...] = ()
    status: str = "current"
    superseded_by: str | None = None
    earlier: tuple[Span, ...] = ()
    version: int = 1

    @property
    def window(self) -> Span:
        return self.valid_from, self.valid_until

    def holds(self, moment: datetime) -> bool:
        return self.status != "deleted" and any(_covers(span, moment) for span in (self.window, *self.earlier))

    def has_not_ended(self, moment: datetime) -> bool:
        return self.status != "deleted" and (self.valid_until is None or self.valid_until > moment)


@dataclass(frozen=True)
class Known:
    """A state, and from when until when it was what was known."""

    state: State
    since: datetime
    until: datetime | None = None


@dataclass
class Life:
    """All memories of an agent, by id. Ids are in the order in which they arrived."""

    states: dict[str, list[Known]] = field(default_factory=dict)

    def now(self, id: str) -> State:
        return self.states[id][-1].state

    def at(self, id: str, known_at: datetime) -> State | None:
        """What the memory was known to be; None for one that was not written yet."""
        for known in self.states[id]:
            if known.since <= known_at and (known.until is None or known_at < known.until):
                return known.state
        return None

    def seen(
        self, *, now: datetime, as_of: datetime | None = None, known_at: datetime | None = None
    ) -> dict[str, State]:
        """What a recall may see, and with room enough does."""
        found = {}
        for id in self.states:
            state = self.now(id) if known_at is None else self.at(id, known_at)
            if state is None:
                continue
            visible = state.has_not_ended(known_at or now) if as_of is None else state.holds(as_of)
            if visible:
                found[id] = state
        return found

    def ids(self, *statuses: str, key: bool | None = None) -> list[str]:
        """In the order of arrival; ``key`` asks for those with one, or without."""
        return [
            id
            for id in sorted(self.states)
            if self.now(id).status in statuses and (key is None or (self.now(id).key is not None) == key)
        ]

    def moments(self) -> Iterator[datetime]:
        """All that ever mattered, of either time."""
        for states in self.states.values():
            for known in states:
                yield known.since
                for span in (known.state.window, *known.state.earlier):
                    yield from (moment for moment in span if moment is not None)

    # What happens. ``at`` is when the server knew of it.

    def arrive(self, id: str, state: State, at: datetime) -> None:
        assert id not in self.states
        self.states[id] = [Known(state, at)]

    def change(self, id: str, at: datetime, **fields: object) -> None:
        latest = self.states[id].pop()
        self.states[id].append(replace(latest, until=at))
        self.states[id].append(Known(replace(latest.state, version=latest.state.version + 1, **fields), at))  # type: ignore[arg-type]

    def set(self, id: str, state: State, at: datetime) -> None:
        """A value that says something new."""
        before, after = self.around(state.key, state.valid_from)
        if before is not None:
            self._close(before, state.valid_from, id, at)
        self.arrive(id, self._before(state, after), at)
        self._cut(id, at)

    def supersede(self, id: str, successor: State, new: str, at: datetime) -> None:
        """Of a memory without a key."""
        self._close(id, successor.valid_from, new, at)
        self.arrive(new, successor, at)

    def delete(self, id: str, at: datetime) -> None:
        self.change(id, at, status="deleted")

    def restore(self, id: str, at: datetime) -> None:
        """Of one that is not current."""
        state = self.now(id)
        begins = max(state.valid_from, at)
        before, after = self._successor(id, begins) if state.key is None else self.around(state.key, begins, but=id)
        if state.superseded_by is None and before is None and after is None and not self.held_beside(id, state.window):
            self.change(id, at, status="current")  # it was only deleted
            return
        if before is not None:
            self._close(before, begins, id, at)
        held = _without([(state.valid_from, _least(state.valid_until, begins))], self._held_by_others(id))
        again = replace(state, valid_from=begins, status="current", superseded_by=None)
        again = self._before(again, after)
        earlier = _without((*state.earlier, *held), self._held_by_others(id))
        self.change(
            id,
            at,
            status=again.status,
            valid_from=begins,
            valid_until=again.valid_until,
            superseded_by=again.superseded_by,
            earlier=tuple(earlier),
        )
        self._cut(id, at)

    def purge(self, id: str) -> None:
        gone = self.now(id)
        del self.states[id]
        for states in self.states.values():
            latest = states[-1]
            if latest.state.superseded_by == id and gone.superseded_by is not None:
                states[-1] = replace(latest, state=replace(latest.state, superseded_by=gone.superseded_by))

    def around(self, key: str | None, begins: datetime, but: str | None = None) -> tuple[str | None, str | None]:
        """The last value of a key to begin by then, of those that are current or hold, and the first to begin later."""
        of_key = {id: self.now(id) for id in self.ids("current", "superseded") if self.now(id).key == key and id != but}
        begun = [
            (state.valid_from, id)
            for id, state in of_key.items()
            if state.valid_from <= begins and (state.status == "current" or state.has_not_ended(begins))
        ]
        later = [(state.valid_from, id) for id, state in of_key.items() if state.valid_from > begins]
        return max(begun)[1] if begun else None, min(later)[1] if later else None

    def held_beside(self, id: str, window: Span) -> bool:
        """Whether other values of a key held in a window."""
        return not _is_empty(window) and _without([window], self._held_by_others(id)) != [window]

    def holders(self, key: str, moment: datetime) -> list[str]:
        """The values of a key that hold at a moment."""
        return [id for id in self.states if self.now(id).key == key and self.now(id).holds(moment)]

    def _successor(self, id: str, begins: datetime) -> tuple[str | None, str | None]:
        """Of a memory without a key: what stands in its place, where that has begun, or where it is yet to."""
        last = id
        while (following := self.now(last).superseded_by) is not None and following in self.states:
            last = following
        if last == id or self.now(last).status == "deleted":
            return None, None
        return (last, None) if self.now(last).valid_from <= begins else (None, last)

    def _close(self, id: str, moment: datetime, successor: str, at: datetime) -> None:
        state = self.now(id)
        ends = max(_least(state.valid_until, moment), state.valid_from)
        self.change(id, at, status="superseded", valid_until=ends, superseded_by=successor)

    def _before(self, state: State, after: str | None) -> State:
        """``state`` where it holds until what is dated later."""
        stated = state.stated_until
        ends = stated if stated is not None and stated > state.valid_from else None
        if after is None:
            return replace(state, valid_until=ends)
        begins = self.now(after).valid_from
        return replace(state, valid_until=_least(ends, begins), status="superseded", superseded_by=after)

    def _cut(self, id: str, at: datetime) -> None:
        """What a value holds from now on others did not hold in earlier."""
        new = self.now(id)
        for other in self.ids("current", "superseded"):
            state = self.now(other)
            if other == id or new.key is None or state.key != new.key:
                continue
            left = tuple(_without(state.earlier, [new.window]))
            if left != state.earlier:
                self.change(other, at, earlier=left)

    def _held_by_others(self, id: str) -> list[Span]:
        key = self.now(id).key
        others = [self.now(other) for other in self.ids("current", "superseded") if other != id]
        return [
            span for state in others if key is not None and state.key == key for span in (state.window, *state.earlier)
        ]


def _covers(span: Span, moment: datetime) -> bool:
    return span[0] <= moment and (span[1] is None or moment < span[1])


def _is_empty(span: Span) -> bool:
    return span[1] is not None and span[1] <= span[0]


def _least(end: datetime | None, moment: datetime) -> datetime:
    return moment if end is None else min(end, moment)


def _without(spans: Iterable[Span], taken: Iterable[Span]) -> list[Span]:
    """What is left of spans, apart and in order."""
    taken = [span for span in taken if not _is_empty(span)]
    bounds = sorted({moment or _NEVER for span in (*spans, *taken) for moment in span})
    spans = [span for span in spans if not _is_empty(span)]
    left: list[Span] = []
    for start, end in pairwise(bounds):
        if any(_covers(span, start) for span in spans) and not any(_covers(span, start) for span in taken):
            until = None if end == _NEVER else end
            if left and left[-1][1] == start:
                left[-1] = (left[-1][0], until)
            else:
                left.append((start, until))
    return left
