"""Facts in Postgres without a server: the same facts and the same paths as in memory, and how a store is opened."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.agents.schemas import AgentCreate
from engram.entities.canonical import singular
from engram.facts import Fact, FactGraph, FactStore, InMemoryFactStore, Path, PostgresFactStore, recall_graph
from engram.problems import ConflictProblem, InvalidInputProblem
from engram.services import Services
from engram.tenants.scope import DEFAULT_SCOPE
from tests.facts.drawing import USERS, Drawn, histories, instants, merges, moment, questions
from tests.facts.stories import day, fact, rendered
from tests.fixtures.fuzzing import SEED, drawing

ALL = 1000


def drawn(test: Any) -> Any:
    # To make an example of a failure smaller takes a database minutes.
    return hypothesis.seed(SEED)(drawing(phases=[hypothesis.Phase.generate])(test))


@pytest.fixture(autouse=True)
def plurals() -> None:
    # Hypothesis changes Python's recursion limit while it draws, and the library of plurals is loaded in a thread.
    singular("plurals")


@pytest.fixture
async def store(services: Services) -> PostgresFactStore:
    return await opened(services)


async def opened(services: Services) -> PostgresFactStore:
    """The facts of a new agent."""
    agent, _ = await services.agents.create(DEFAULT_SCOPE, AgentCreate(name=f"agent {uuid4()}"))
    return PostgresFactStore(services.facts, DEFAULT_SCOPE, agent.id)


@dataclass(frozen=True)
class Told:
    """A history that is told to a store: how many facts come at a time, and which are deleted after that."""

    facts: list[Fact]
    portions: list[int]
    deleted: list[int]

    async def to(self, store: FactStore) -> list[datetime]:
        """When each portion was known."""
        waiting, gone, known = list(self.facts), list(self.deleted), []
        for portion in self.portions:
            part, waiting = waiting[:portion], waiting[portion:]
            if len(part) == 1:
                assert await store.append(part[0]) == part[0].id
            else:
                assert await store.append_many(part) == [one.id for one in part]
            if gone:
                told = self.facts[: len(self.facts) - len(waiting)]
                await store.delete(told[gone.pop() % len(told)].id)
            known.append(datetime.now(UTC))
        return known


@st.composite
def told(draw: st.DrawFn, facts: list[Drawn]) -> Told:
    made = [
        Fact(**one.fields, id=str(uuid4()), recorded_at=moment(place), supersede=draw(st.integers(0, 3)) > 0)
        for place, one in enumerate(facts)
    ]
    portions: list[int] = []
    while sum(portions) < len(made):
        portions.append(min(draw(st.sampled_from([1, 1, 2, 5])), len(made) - sum(portions)))
    return Told(made, portions, draw(st.lists(st.integers(0, 20), max_size=2)))


def said(one: Fact) -> tuple[Any, ...]:
    window = one.valid_from, one.valid_until, one.superseded_by, one.closed_by
    return (one.id, one.user_id, one.subject, one.predicate, one.object, one.confidence, one.supersede, *window)


def walked(paths: list[Path]) -> list[list[tuple[str, bool]]]:
    return [[(one.id, forward) for one, forward in zip(path.facts, path.directions, strict=True)] for path in paths]


@drawn
@given(data=st.data())
async def test_the_same_history_leaves_the_same_facts_as_in_memory(services: Services, data: st.DataObject) -> None:
    history = data.draw(told(data.draw(histories())))
    stores: tuple[FactStore, FactStore] = await opened(services), InMemoryFactStore()
    for store in stores:
        await history.to(store)
    chosen, valid_at = data.draw(st.sampled_from(history.facts)), data.draw(instants)
    for user_id in USERS:
        for wanted in (
            {"limit": ALL},
            {"limit": ALL, "valid_at": valid_at},
            {"subject": chosen.subject, "predicate": chosen.predicate, "limit": 3},
            {"object_": chosen.object, "valid_at": valid_at, "limit": 2},
            {"limit": -1},
        ):
            found, expected = [await store.query(**wanted, user_id=user_id) for store in stores]
            assert [said(one) for one in found] == [said(one) for one in expected], wanted
        assert len({await store.count(user_id=user_id) for store in stores}) == 1
    for one in history.facts:
        kept, expected = [await store.get(one.id) for store in stores]
        assert (kept and said(kept)) == (expected and said(expected))


@drawn
@given(data=st.data())
async def test_a_walk_in_the_database_gives_what_one_in_memory_gives(services: Services, data: st.DataObject) -> None:
    facts = data.draw(histories(least=7, most=20))
    history, merged = data.draw(told(facts)), data.draw(merges(facts))
    store = await opened(services)
    instants_known = await history.to(store)
    standing = []
    for pair in merged:
        try:
            await store.merge(*pair)
        except (ConflictProblem, InvalidInputProblem):
            continue
        standing.append(pair)

    valid_at = data.draw(instants)
    known_at = data.draw(st.sampled_from([None, None, *instants_known]))
    for user_id in USERS:
        graph = FactGraph.from_facts(await store.query(user_id=user_id, limit=ALL, known_at=known_at))
        for pair in standing if known_at is None else []:
            graph.merge(*pair)
        for question in (data.draw(questions(facts)), data.draw(questions(facts))):
            asked = {"hops": data.draw(st.integers(0, 4)), "limit": data.draw(st.sampled_from([1, 3, 200, 200]))}
            found = await store.walk(question, user_id=user_id, valid_at=valid_at, known_at=known_at, **asked)
            expected = graph.traverse(graph.seed_entities(question), valid_at=valid_at, **asked)
            assert walked(found) == walked(expected), (question, asked)
            assert rendered(found) == rendered(expected)
            assert found.truncated == expected.truncated


async def test_a_question_is_answered_as_from_memory(store: PostgresFactStore) -> None:
    memory = InMemoryFactStore()
    for each in (store, memory):
        await each.append_many([fact("alice works_at acme"), fact("acme operates_in tokyo")])
        await each.append_many([fact("alice works_at initech", valid_from=day(10)), fact("initech operates_in austin")])
    for asked in ({}, {"valid_at": day(5)}, {"hops": 1}, {"limit": 1}, {"hops": 0}, {"limit": 0}):
        answers = [await recall_graph(each, "alice employer", user_id="alice", **asked) for each in (store, memory)]
        assert rendered(answers[0]) == rendered(answers[1])
        assert answers[0].truncated == answers[1].truncated
    assert await recall_graph(store, "alice employer") == []


async def test_a_walk_sees_more_facts_than_are_fetched(store: PostgresFactStore) -> None:
    await store.append_many([fact("alice works_at acme"), *(fact(f"n{at} is a{at}") for at in range(30))])
    paths = await recall_graph(store, "alice", user_id="alice", fetch_limit=5)
    assert (rendered(paths), paths.truncated) == (["alice —works_at→ acme"], False)


async def test_a_merged_name_finds_its_node_while_a_fact_names_it(store: PostgresFactStore) -> None:
    await store.append(fact("bob works_at acme"))
    assert await store.merge("bob", "Robert") == "bob"
    with pytest.raises(ConflictProblem):
        await store.merge("Robert", "bob")

    async def found(known_at: datetime | None = None) -> list[str]:
        asked: dict[str, Any] = {"user_id": "alice", "hops": 1, "valid_at": None, "limit": 9}
        return rendered(await store.walk("robert", **asked, known_at=known_at))

    before = datetime.now(UTC)
    assert await found() == []
    named = fact("Robert lives_in oslo")
    await store.append(named)
    both = ["robert —lives_in→ oslo", "bob —works_at→ acme"]
    assert (await found(), await found(before)) == (both, [])
    named_at = datetime.now(UTC)
    await store.delete(named.id)
    assert (await found(), await found(named_at), await found(before)) == ([], both, [])


async def test_what_a_fact_ends_is_known_with_it(store: PostgresFactStore) -> None:
    acme, initech = fact("alice works_at acme"), fact("alice works_at initech", valid_from=day(10))
    await store.append(acme)
    await store.append(initech)
    learnt = await store.get(initech.id)
    assert learnt is not None
    for wanted, held in ((day(20), ["initech"]), (day(5), ["acme"])):
        found = await store.query(user_id="alice", valid_at=wanted, known_at=learnt.recorded_at)
        assert [one.object for one in found] == held


async def test_more_facts_than_a_batch_holds_are_stored(store: PostgresFactStore) -> None:
    facts = [fact(f"n{at} is a{at}") for at in range(2001)]
    assert await store.append_many(facts) == [one.id for one in facts]
    assert await store.count(user_id="alice") == 2001
    assert await store.append_many([]) == []


async def test_an_id_is_taken_once(store: PostgresFactStore) -> None:
    known = fact("alice works_at acme")
    await store.append(known)
    with pytest.raises(ConflictProblem):
        await store.append_many([fact("alice works_at initech"), known])
    assert [one.id for one in await store.query(user_id="alice")] == [known.id]


async def test_facts_that_are_not_there_are_not_found(store: PostgresFactStore) -> None:
    assert await store.get(str(UUID(int=7))) is None
    assert not await store.delete(str(UUID(int=7)))


@pytest.mark.parametrize("by", ["argument", "environment"])
async def test_a_store_is_opened_by_an_agents_name_and_found_again(
    empty_database_url: str, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if by == "environment":
        monkeypatch.setenv("ENGRAM_DATABASE_URL", empty_database_url)
    url = empty_database_url if by == "argument" else None
    async with asyncio.timeout(60), PostgresFactStore.connect(url, agent="notes") as store:
        assert isinstance(store, FactStore)
        await store.append(Fact(subject="alice", predicate="works_at", object="acme"))
        async with PostgresFactStore.connect(url, agent="other") as other:
            assert await other.query() == []
            await other.aclose()
    async with asyncio.timeout(60), PostgresFactStore.connect(url, agent="notes") as store:
        assert rendered(await recall_graph(store, "alice")) == ["alice —works_at→ acme"]
