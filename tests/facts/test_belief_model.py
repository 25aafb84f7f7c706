"""Whatever is done to facts, in whatever order: what was believed at any instant is told for ever.

``FUZZ_EXAMPLES`` and ``FUZZ_SEED`` ask for more, or for others.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Coroutine, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import uuid4

import hypothesis
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from engram.agents.schemas import AgentCreate
from engram.entities.canonical import singular
from engram.facts.names import node_name
from engram.facts.repository import FactFilter
from engram.facts.schemas import FactAppend, FactBatch, FactItem, MergeCreate, StoredFact
from engram.facts.service import FactService
from engram.problems import ConflictProblem, InvalidInputProblem, NotFoundProblem
from engram.services import Services
from engram.tenants.scope import DEFAULT_SCOPE
from tests.facts.beliefs import Believed, Event, Log, Said
from tests.fixtures.fuzzing import EXAMPLES, SEED, drawing

SEQUENCES = max(3, EXAMPLES // 4)
STEPS = 30
MOST = 30
"""Facts of an agent."""

PATIENCE = 60.0
"""Seconds for one call."""

T = TypeVar("T")

TICK = timedelta(microseconds=1)
PAST = [datetime(2020, month, 1, tzinfo=UTC) for month in range(1, 7)]
FUTURE = [datetime(2100, month, 1, tzinfo=UTC) for month in range(1, 3)]
USERS = ("ann", "ann", None)
NAMES = ("alice", "acme", "tokyo", "Robert", "robert", "bob")
QUESTIONS = ("alice", "where is acme", "tokyo bob", "robert", "bob", "alice acme tokyo robert bob")

begins = st.sampled_from([None, *PAST, *PAST, *FUTURE])
lasts = st.sampled_from([None, None, None, timedelta(days=31), timedelta(days=45), timedelta(days=60_000)])
"""Some end where the next month begins."""
chances = st.integers(0, 2**20)

items = st.builds(
    lambda begin, last, **fields: FactItem(
        valid_from=begin, valid_until=None if last is None else (begin or FUTURE[0]) + last, **fields
    ),
    begin=begins,
    last=lasts,
    user_id=st.sampled_from(USERS),
    subject=st.sampled_from(NAMES[:3]),
    predicate=st.sampled_from(["at", "at", "knows"]),
    object=st.sampled_from(NAMES),
    supersede=st.sampled_from([True, True, True, False]),
)


async def test_what_was_believed_is_told_for_ever(services: Services) -> None:
    Lives.services, Lives.loop, Lives.done = services, asyncio.get_running_loop(), Counter()

    def live() -> None:
        run_state_machine_as_test(
            hypothesis.seed(SEED)(Lives),
            settings=drawing(SEQUENCES, stateful_step_count=STEPS, phases=[hypothesis.Phase.generate]),
        )

    # Hypothesis changes Python's recursion limit while it draws, and the library of plurals is loaded in a thread.
    singular("plurals")
    # Hypothesis draws in a thread: the connections are this loop's.
    await asyncio.to_thread(live)
    happened = {"append", "batch", "closed", "delete", "undo", "reopened", "restore", "merge", "unmerge", "path"}
    assert happened <= set(Lives.done)


class Lives(RuleBasedStateMachine):
    """One agent, and what is done to its facts."""

    services: Services
    loop: asyncio.AbstractEventLoop
    done: Counter[str]
    """How often each thing happened, over all sequences."""

    @initialize(seed=st.integers(0, 2**32))
    def begin(self, seed: int) -> None:
        agent, _ = self.wait(self.services.agents.create(DEFAULT_SCOPE, AgentCreate(name=f"agent {uuid4()}")))
        self.agent_id = agent.id
        self.log = Log()
        self.chance = random.Random(seed)

    def wait(self, call: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(call, self.loop).result(PATIENCE)

    @property
    def facts(self) -> FactService:
        return self.services.facts

    def has_room(self) -> bool:
        return len(self.log.known()) < MOST

    def pick(self, chance: int) -> Believed | None:
        known = self.log.known()
        ids = sorted(known)
        return known[ids[chance % len(ids)]] if ids else None

    # What is done.

    @precondition(has_room)
    @rule(item=items)
    def append(self, item: FactItem) -> None:
        request = FactAppend(agent_id=self.agent_id, **item.model_dump())
        made = self.wait(self.facts.append(DEFAULT_SCOPE, request))
        self.learn([made], closed=made.closed)
        self.done["append"] += 1

    @precondition(has_room)
    @rule(batch=st.lists(items, min_size=2, max_size=6))
    def append_many(self, batch: list[FactItem]) -> None:
        request = FactBatch(agent_id=self.agent_id, items=batch)
        made = self.wait(self.facts.append_many(DEFAULT_SCOPE, request))
        self.learn([self.wait(self.facts.get(DEFAULT_SCOPE, id)) for id in made.ids], closed=made.closed)
        self.done["batch"] += 1

    def learn(self, made: Sequence[StoredFact], closed: Sequence[str]) -> None:
        names = ("id", "user_id", "subject", "predicate", "object", "valid_from", "stated_until", "supersede")
        said = [Said(**{name: getattr(fact, name) for name in names}, recorded_at=fact.recorded_at) for fact in made]
        self.happen(Event(said[0].recorded_at - TICK, said[-1].recorded_at, said=tuple(said)), closed)
        self.done["closed"] += bool(closed)

    def happen(self, event: Event, changed: Sequence[str]) -> None:
        """What changes besides is told, and all of it."""
        before = self.log.known()
        self.log.add(event)
        of_event = {id for id, _ in event.statuses}
        others = {
            id
            for id, now in self.log.known().items()
            if id in before and id not in of_event and now.status == "standing" and now != before[id]
        }
        assert set(changed) == others

    def change(self, what: str, chance: int, status: str, of: tuple[str, ...], refused: type[Exception]) -> None:
        fact = self.pick(chance)
        if fact is None:
            return
        id, call = fact.said.id, getattr(self.facts, what)
        if fact.status not in of:
            with pytest.raises(refused):
                self.wait(call(DEFAULT_SCOPE, id))
            return
        made = self.wait(call(DEFAULT_SCOPE, id))
        self.happen(Event(made.updated_at - TICK, made.updated_at, statuses=((id, status),)), made.changed)
        self.done[what] += 1
        self.done["reopened"] += what == "undo" and bool(made.changed)

    @rule(chance=chances)
    def delete(self, chance: int) -> None:
        self.change("delete", chance, "deleted", ("standing",), NotFoundProblem)

    @rule(chance=chances)
    def undo(self, chance: int) -> None:
        self.change("undo", chance, "undone", ("standing", "deleted"), NotFoundProblem)

    @rule(chance=chances)
    def restore(self, chance: int) -> None:
        self.change("restore", chance, "standing", ("deleted", "undone"), ConflictProblem)

    @rule(name=st.sampled_from(NAMES), other=st.sampled_from([*NAMES, "nobody"]))
    def merge(self, name: str, other: str) -> None:
        call = self.facts.merges.merge(DEFAULT_SCOPE, MergeCreate(agent_id=self.agent_id, name=name, other=other))
        graph = self.log.graph(None, valid_at=None, known_at=None)
        if node_name(name) == node_name(other):
            with pytest.raises(InvalidInputProblem):
                self.wait(call)
        elif graph.merge(name, name) == graph.merge(other, other):
            with pytest.raises(ConflictProblem):
                self.wait(call)
        else:
            made = self.wait(call)
            assert made.canonical == graph.merge(name, other)
            self.happen(Event(made.recorded_at - TICK, made.recorded_at, merged=(made.id, name, other)), [])
            self.done["merge"] += 1

    @rule(chance=chances)
    def unmerge(self, chance: int) -> None:
        ids = list(self.log.merges())
        if ids:
            id = ids[chance % len(ids)]
            undone_at = self.wait(self.facts.merges.undo(DEFAULT_SCOPE, id)).undone_at
            assert undone_at is not None
            self.happen(Event(undone_at - TICK, undone_at, unmerged=id), [])
            self.done["unmerge"] += 1

    # What is then so.

    @invariant()
    def all_is_told_as_it_was(self) -> None:
        if not hasattr(self, "log") or not self.log.events:
            return
        self.facts_are_right(None, None)
        for _ in range(2):
            known_at = self.chance.choice([None, *self.log.moments()])
            self.facts_are_right(self.instant(known_at), known_at)
            self.paths_are_right(self.instant(known_at), known_at)
        self.history_is_right()

    def instant(self, known_at: datetime | None) -> datetime | None:
        """Any that matters, or the one before; or none."""
        bounds = [bound for one in self.log.known(known_at).values() for bound in (one.said.valid_from, one.until)]
        moments = [bound for bound in [*bounds, *PAST, *FUTURE] if bound is not None]
        return self.chance.choice([None, self.chance.choice(moments) - self.chance.choice([timedelta(0), TICK])])

    def facts_are_right(self, valid_at: datetime | None, known_at: datetime | None) -> None:
        known = self.log.known(known_at)
        for user_id in set(USERS):
            page = self.wait(
                self.facts.query(
                    DEFAULT_SCOPE,
                    self.agent_id,
                    FactFilter(user_id=user_id),
                    valid_at=valid_at,
                    known_at=known_at,
                    limit=200,
                )
            )
            seen = [
                (one.said.id, one.said.object, one.said.valid_from, one.until, one.superseded_by)
                for one in sorted(known.values(), key=lambda one: one.said.recorded_at, reverse=True)
                if one.status == "standing" and one.said.user_id == user_id
                if valid_at is None or one.holds(valid_at=valid_at, now=valid_at)
            ]
            found = [(one.id, one.object, one.valid_from, one.valid_until, one.superseded_by) for one in page.data]
            assert found == seen, (valid_at, known_at)

    def paths_are_right(self, valid_at: datetime | None, known_at: datetime | None) -> None:
        query, user_id = self.chance.choice(QUESTIONS), self.chance.choice(USERS)
        asked = {
            "hops": self.chance.randint(1, 4),
            "limit": self.chance.choice([1, 3, 200]),
            "valid_at": valid_at,
            "known_at": known_at,
        }
        paths = self.wait(self.facts.recall_graph(DEFAULT_SCOPE, self.agent_id, query, user_id=user_id, **asked))
        expected = self.log.paths(query, user_id, **asked)
        ids = [[(fact.id, forward) for fact, forward in zip(p.facts, p.directions, strict=True)] for p in paths]
        assert ids == [
            [(fact.id, forward) for fact, forward in zip(p.facts, p.directions, strict=True)] for p in expected
        ], (query, asked)
        assert paths.truncated == expected.truncated
        known = self.log.known(known_at)
        for fact in (fact for path in paths for fact in path.facts):
            assert (fact.valid_until, fact.superseded_by) == (known[fact.id].until, known[fact.id].superseded_by)
        self.done["path"] += any(len(path.edges) > 1 for path in paths)

    def history_is_right(self) -> None:
        """Each change is told once, and what is said of a moment is what was believed then."""
        fact = self.pick(self.chance.getrandbits(16))
        if fact is None:
            return
        history = self.wait(self.facts.history(DEFAULT_SCOPE, fact.said.id))
        beliefs, asked = history.beliefs, self.chance.choice(self.log.events)
        assert beliefs[0].recorded_at == fact.said.recorded_at
        assert [one.recorded_at for one in beliefs] == sorted({one.recorded_at for one in beliefs})
        for event in self.log.events:
            known = self.log.known(event.at).get(fact.said.id)
            if known is None:
                continue
            told = [one for one in beliefs if one.recorded_at <= event.at][-1]
            assert told.status == known.status
            if known.status == "standing":
                assert (told.valid_until, told.superseded_by) == (known.until, known.superseded_by)
            if known.status == "standing" and event is asked:
                then = self.wait(self.facts.get(DEFAULT_SCOPE, fact.said.id, known_at=event.at))
                assert (then.valid_until, then.superseded_by) == (known.until, known.superseded_by)
        assert all(
            before[1:] != after[1:] for before, after in zip(_states(beliefs), _states(beliefs)[1:], strict=False)
        )


def _states(beliefs: Sequence[Any]) -> list[tuple[Any, ...]]:
    return [(one.recorded_at, one.status, one.valid_until, one.superseded_by) for one in beliefs]
