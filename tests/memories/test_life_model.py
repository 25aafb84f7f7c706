"""Whatever is done to memories, in whatever order: they are what a plain model says, now and at every instant.

``FUZZ_EXAMPLES`` and ``FUZZ_SEED`` ask for more, or for others.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
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

from engram import ConflictError, Engram, NotFoundError, UnprocessableEntityError
from engram.entities.canonical import singular
from engram.memories.schemas import Memory
from tests.fixtures.fuzzing import EXAMPLES, SEED, drawing
from tests.memories.life import Life, Span, State

SEQUENCES = max(2, EXAMPLES // 3)
STEPS = 25
MOST = 16
"""Memories of an agent: a recall has room for all of them."""

TICK = timedelta(microseconds=1)
PAST = [datetime(2020, month, 1, tzinfo=UTC) for month in range(1, 7)]
FUTURE = [datetime(2100, month, 1, tzinfo=UTC) for month in range(1, 4)]
LATEST = datetime(2150, 1, 1, tzinfo=UTC)

begins = st.sampled_from([None, None, None, *PAST, FUTURE[0], FUTURE[2]])
lasts = st.sampled_from([None, None, timedelta(days=45), timedelta(days=60_000)])
chances = st.integers(0, 2**20)


def test_a_life_is_what_the_model_says(live_server: str) -> None:
    # Hypothesis changes Python's recursion limit while it draws, and the library of plurals is loaded in a thread.
    singular("plurals")
    with Engram(live_server, max_retries=0) as client:
        Lives.client = client
        Lives.done = Counter()
        run_state_machine_as_test(
            hypothesis.seed(SEED)(Lives),
            settings=drawing(SEQUENCES, stateful_step_count=STEPS, phases=[hypothesis.Phase.generate]),
        )
    assert {"set", "stood", "update", "supersede", "delete", "restore", "purge", "edge", "no edge"} <= set(Lives.done)


def until(start: datetime | None, last: timedelta | None) -> datetime | None:
    return None if last is None else (start or FUTURE[1]) + last


class Lives(RuleBasedStateMachine):
    """One agent, and what is done to its memories."""

    client: Engram
    done: Counter[str]
    """How often each thing happened, over all sequences."""

    @initialize(seed=st.integers(0, 2**32))
    def begin(self, seed: int) -> None:
        self.agent = self.client.agents.create(f"agent {uuid4()}").id
        self.life = Life()
        self.edges: dict[tuple[str, str], list[Told]] = defaultdict(list)
        self.texts = 0
        self.chance = random.Random(seed)
        for key in "aab":
            self.create(begin=None, last=None)
            self.set(key=key, number=seed % 3, begin=None, last=None)

    def text(self) -> str:
        self.texts += 1
        return f"The keeper of harbour {self.texts} lights its lamp."

    def pick(self, chance: int, *statuses: str, key: bool | None = None) -> str | None:
        ids = self.life.ids(*statuses, key=key)
        return ids[chance % len(ids)] if ids else None

    def has_room(self) -> bool:
        return len(self.life.states) < MOST

    # What is done.

    @precondition(has_room)
    @rule(begin=begins, last=lasts)
    def create(self, begin: datetime | None, last: timedelta | None) -> None:
        text, end = self.text(), until(begin, last)
        made = self.client.memories.create(self.agent, text, valid_from=begin, valid_until=end)
        state = State(content=text, valid_from=begin or made.valid_from, valid_until=end, stated_until=end)
        self.life.arrive(made.id, state, made.recorded_at)
        self.done["create"] += 1

    @precondition(has_room)
    @rule(key=st.sampled_from("ab"), number=st.integers(0, 2), begin=begins, last=lasts)
    def set(self, key: str, number: int, begin: datetime | None, last: timedelta | None) -> None:
        text, end = f"Lamp {key} is lit by keeper {number}.", until(begin, last)
        asked_at = begin or datetime.now(UTC)
        standing, _ = self.life.around(key, asked_at)
        made = self.client.memories.set(self.agent, key, text, valid_from=begin, valid_until=end)
        if standing is not None:
            state = self.life.now(standing)
            if state.content == text and state.has_not_ended(asked_at) and begin in (None, state.valid_from):
                assert (made.id, made.deduplicated) == (standing, True)
                self.done["stood"] += 1
                return
        assert not made.deduplicated
        state = State(content=text, key=key, valid_from=begin or made.updated_at, stated_until=end)
        self.life.set(made.id, state, made.updated_at)
        self.done["set"] += 1

    @precondition(has_room)
    @rule(chance=chances, begin=begins)
    def supersede(self, chance: int, begin: datetime | None) -> None:
        id = self.pick(chance, "current", "superseded")
        if id is None:
            return
        old, text = self.life.now(id), self.text()
        asked_at = begin or datetime.now(UTC)
        refused: type[Exception] | None = None
        if old.superseded_by is not None or (old.key is not None and self.life.around(old.key, asked_at)[0] != id):
            refused = ConflictError
        if begin is not None and begin < old.valid_from and old.superseded_by is None:
            refused = UnprocessableEntityError
        if refused is not None:
            with pytest.raises(refused):
                self.client.memories.supersede(id, text, valid_from=begin)
            return
        made = self.client.memories.supersede(id, text, valid_from=begin)
        state = State(content=text, key=old.key, valid_from=begin or made.updated_at)
        if old.key is not None:
            self.life.set(made.id, state, made.updated_at)
        else:
            self.life.supersede(id, state, made.id, made.updated_at)
        self.done["supersede"] += 1

    @rule(chance=chances, what=st.sampled_from(["content", "tags", "valid_until", "nothing"]))
    def update(self, chance: int, what: str) -> None:
        id = self.pick(chance, "current", "superseded")
        if id is None:
            return
        old = self.life.now(id)
        fields: dict[str, Any] = {
            "content": {"content": self.text()},
            "tags": {"tags": [f"t{chance % 3}"]},
            "valid_until": {"valid_until": None if chance % 2 else LATEST},
            "nothing": {"content": old.content},
        }[what]
        end = fields.get("valid_until", old.valid_until)
        settled = old.superseded_by is not None or self.life.held_beside(id, (old.valid_from, end))
        if end != old.valid_until and settled:
            with pytest.raises(UnprocessableEntityError):
                self.client.memories.update(id, **fields)
            return
        if chance % 5 == 0:
            with pytest.raises(ConflictError):
                self.client.memories.update(id, if_version=old.version + 1, **fields)
        made = self.client.memories.update(id, if_version=old.version, **fields)
        known = {name: tuple(value) if name == "tags" else value for name, value in fields.items()}
        if "valid_until" in known and known["valid_until"] != old.valid_until:
            known["stated_until"] = known["valid_until"]
        if any(getattr(old, name) != value for name, value in known.items()):
            self.life.change(id, made.updated_at, **known)
            self.done["update"] += 1

    @rule(chance=chances)
    def delete(self, chance: int) -> None:
        id = self.pick(chance, "current", "superseded", "deleted")
        if id is None:
            return
        if self.life.now(id).status == "deleted":
            with pytest.raises(NotFoundError):
                self.client.memories.delete(id)
            return
        self.client.memories.delete(id)
        (gone,) = [found for found in self.client.memories.list(self.agent, status="deleted") if found.id == id]
        self.life.delete(id, gone.updated_at)
        self.done["delete"] += 1

    @rule(chance=chances)
    def restore(self, chance: int) -> None:
        id = self.pick(chance, "superseded", "deleted") or self.pick(chance, "current")
        if id is None:
            return
        made = self.client.memories.restore(id)
        if self.life.now(id).status != "current":
            self.life.restore(id, made.updated_at)
            self.done["restore"] += 1

    @rule(chance=chances)
    def purge(self, chance: int) -> None:
        id = self.pick(chance, "current", "superseded", "deleted")
        if id is None or chance % 3:
            return
        self.client.memories.purge(id)
        self.life.purge(id)
        for ends in [ends for ends in self.edges if id in ends]:
            del self.edges[ends]
        self.done["purge"] += 1

    @rule(chance=chances, start=st.sampled_from([None, PAST[2]]), end=st.sampled_from([None, PAST[4], LATEST]))
    def create_edge(self, chance: int, start: datetime | None, end: datetime | None) -> None:
        ids = self.life.ids("current", "superseded")
        if len(ids) < 2:
            return
        ends = ids[chance % len(ids)], ids[(chance // len(ids)) % len(ids)]
        if ends[0] == ends[1] or (self.edges[ends] and self.edges[ends][-1].until is None):
            return
        made = self.client.graph.create_edge(*ends, "causal", valid_from=start, valid_until=end)
        assert made.recorded_at is not None
        self.edges[ends].append(Told((start or datetime.min.replace(tzinfo=UTC), end), made.recorded_at))
        self.done["edge"] += 1

    @rule(chance=chances)
    def delete_edge(self, chance: int) -> None:
        standing = set(self.life.ids("current", "superseded"))
        edges = [ends for ends, told in sorted(self.edges.items()) if told and told[-1].until is None]
        edges = [ends for ends in edges if standing.issuperset(ends)]
        if edges:
            ends = edges[chance % len(edges)]
            gone = self.client.graph.delete_edge(*ends, "causal")
            self.edges[ends][-1] = replace(self.edges[ends][-1], until=gone.invalidated_at)
            self.done["no edge"] += 1

    # What is then so.

    @invariant()
    def all_is_as_it_should_be(self) -> None:
        if not hasattr(self, "life"):
            return
        self.lists_are_right()
        self.recalls_are_right()
        if self.life.states:
            looks = self.history_is_right, self.edges_are_right, self.it_was_what_it_was, self.lists_were_right
            self.chance.choice(looks)(self.chance.choice(sorted(self.life.states)))

    def moment(self) -> datetime:
        """Any that matters, or the one before."""
        moments = [*self.life.moments(), *PAST, datetime.now(UTC)]
        return self.chance.choice(moments) - self.chance.choice([timedelta(0), TICK])

    def lists_are_right(self) -> None:
        found = {
            memory.id: shown(memory)
            for status in ("current", "superseded", "deleted")
            for memory in self.client.memories.list(self.agent, status=status, limit=200)
        }
        expected = {
            id: (*said(states[-1].state), states[-1].state.superseded_by, states[-1].since)
            for id, states in self.life.states.items()
        }
        assert found == expected
        for key in "ab":
            assert len([id for id in self.life.ids("current") if self.life.now(id).key == key]) <= 1
            assert len(self.life.holders(key, self.moment())) <= 1

    def recalls_are_right(self) -> None:
        as_of, known_at = {"as_of": self.moment()}, {"known_at": min(self.moment(), datetime.now(UTC))}
        for asked in ({}, self.chance.choice([as_of, known_at, as_of | known_at, as_of | known_at])):
            now = datetime.now(UTC)
            answer = self.client.memories.recall(self.agent, "Which harbour has a lamp?", top_k=200, **asked)
            found = {hit.id: said_by(hit) for hit in answer}
            seen = self.life.seen(now=now, **asked)
            assert found == {id: said(state) for id, state in seen.items()}, asked
            assert {step.memory_id for hit in answer for step in hit.path} <= set(seen), asked

    def lists_were_right(self, _: str) -> None:
        as_of, known_at, status = self.moment(), self.moment(), self.chance.choice(["current", "superseded", "deleted"])
        held = self.client.memories.list(self.agent, as_of=as_of, known_at=known_at, limit=5)
        seen = self.life.seen(now=as_of, as_of=as_of, known_at=known_at)
        assert {memory.id: said_by(memory) for memory in held} == {id: said(state) for id, state in seen.items()}
        shown_then = self.client.memories.list(self.agent, known_at=known_at, status=status, limit=5)
        were = {id: self.life.at(id, known_at) for id in self.life.states}
        assert {memory.id: said_by(memory) for memory in shown_then} == {
            id: said(state) for id, state in were.items() if state is not None and state.status == status
        }

    def history_is_right(self, id: str) -> None:
        found = [
            (said_by(version), version.updated_at, version.recorded_until, version.ended_by is None)
            for version in self.client.memories.history(id, limit=3)
            if version.id == id
        ]
        known = self.life.states[id]
        assert found == [(said(each.state), each.since, each.until, each is known[-1]) for each in reversed(known)]

    def it_was_what_it_was(self, id: str) -> None:
        known_at = self.moment()
        state = self.life.at(id, known_at)
        if state is None or state.status == "deleted":
            with pytest.raises(NotFoundError):
                self.client.memories.get(id, known_at=known_at)
        else:
            assert said_by(self.client.memories.get(id, known_at=known_at)) == said(state)

    def edges_are_right(self, id: str) -> None:
        as_of, known_at = self.chance.choice([None, self.moment()]), self.chance.choice([None, self.moment()])
        state = self.life.now(id) if known_at is None else self.life.at(id, known_at)
        asked = {"relation_type": "causal", "as_of": as_of, "known_at": known_at}
        if state is None or state.status == "deleted":
            with pytest.raises(NotFoundError):
                self.client.graph.get_edges(id, **asked)
            return
        found = list(self.client.graph.get_edges(id, **asked))
        now = datetime.now(UTC)
        seen = set(self.life.seen(now=now, as_of=as_of, known_at=known_at))
        moment = as_of or known_at or now
        expected = {
            target if source == id else source
            for (source, target), told in self.edges.items()
            for edge in told
            if id in (source, target)
            and {source, target} <= seen
            and edge.since <= (known_at or now)
            and (edge.until is None or (known_at is not None and known_at < edge.until))
            and (edge.span[1] is None or edge.span[1] > moment)
            and (as_of is None or edge.span[0] <= as_of)
        }
        assert {edge.target_memory_id for edge in found} == expected, (as_of, known_at)


@dataclass(frozen=True)
class Told:
    """An edge between two memories: when it holds, and since when and until when it was known so."""

    span: Span
    since: datetime
    until: datetime | None = None


def said(state: State) -> tuple[Any, ...]:
    return (
        state.content,
        state.key,
        list(state.tags),
        state.status,
        state.valid_from,
        state.valid_until,
        state.version,
    )


def said_by(memory: Memory) -> tuple[Any, ...]:
    return (
        memory.content,
        memory.key,
        memory.tags,
        memory.status.value,
        memory.valid_from,
        memory.valid_until,
        memory.version,
    )


def shown(memory: Memory) -> tuple[Any, ...]:
    return (*said_by(memory), memory.superseded_by, memory.updated_at)
