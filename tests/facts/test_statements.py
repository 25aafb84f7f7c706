"""Facts that follow from what memories declare: there with the memory, and gone, changed and back with it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engram.db.database import driver
from engram.facts.repository import FactFilter
from engram.facts.schemas import ClosurePolicy, FactBatch, FactItem, GraphQuestion, StoredFact
from engram.facts.statements.service import StatementService
from engram.memories.schemas import MemoryItem
from engram.problems import ConflictProblem, InvalidInputProblem, NotFoundProblem
from engram.tenants.scope import DEFAULT_SCOPE
from tests.facts.stating import Line, Teller, from_
from tests.fixtures.spaces import Space, new_space

A_R_B, A_R_C = ("svc alpha", "uses", "svc beta"), ("svc alpha", "uses", "svc gamma")


@pytest.fixture
def teller(space: Space) -> Teller:
    return Teller(space)


async def facts_of(teller: Teller, subject: str) -> list[StoredFact]:
    """Facts as they are spelt, whether they have ended or not; the one learnt first first."""
    wanted = FactFilter(user_id=None, subject=subject)
    page = await teller.services.facts.query(
        DEFAULT_SCOPE, teller.space.agent_id, wanted, valid_at=None, known_at=None, limit=200
    )
    return page.data[::-1]


async def test_what_a_supersession_does_not_state_again_is_closed(teller: Teller) -> None:
    await teller.set("deps", "both", A_R_B, A_R_C)
    new = await teller.set("deps", "one", A_R_B)
    assert set(await teller.stated()) == {A_R_B}
    closed = (await teller.stated(include_ended=True))[A_R_C]
    assert closed.valid_until == new.valid_from
    (fact,) = [fact for fact in await facts_of(teller, "svc alpha") if fact.object == "svc gamma"]
    assert (fact.closed_by, fact.superseded_by, fact.status) == (ClosurePolicy.memory, None, "standing")
    # The same where a memory has no key.
    first = await teller.say("no key", ("svc delta", "uses", "svc beta"))
    await teller.supersede(first.id, "no key, another")
    assert set(await teller.stated()) == {A_R_B}


async def test_what_is_superseded_before_it_begins_is_not_to_begin_any_more(teller: Teller) -> None:
    to_move = from_("user", "lives_in", "Rome", "2100-01-01")
    first = await teller.say("to move", to_move, from_("user", "likes", "Rome", "2100-01-01"))
    assert await teller.current() == await teller.current("likes") == {"rome"}
    await teller.supersede(first.id, "to stay", ["user", "lives_in", "Oslo"])
    assert (await teller.current(), await teller.current("likes")) == ({"oslo"}, set())
    assert set(await teller.stated(include_ended=True)) >= {("user", "likes", "rome")}
    wanted = FactFilter(user_id=None, subject="user", object="Rome")
    chains = await teller.services.facts.recall_graph(
        DEFAULT_SCOPE, teller.space.agent_id, "Rome", user_id=None, hops=2, valid_at=None, known_at=None, limit=9
    )
    assert len(chains) == 0
    page = await teller.services.facts.query(
        DEFAULT_SCOPE, teller.space.agent_id, wanted, valid_at=None, known_at=None, limit=9
    )
    assert len(page.data) == 2


async def test_what_is_put_between_two_values_of_a_key_holds_until_the_next(teller: Teller) -> None:
    day = datetime(2024, 1, 1, tzinfo=UTC)
    await teller.set("deps", "first", A_R_B, valid_from=day)
    await teller.set("deps", "third", A_R_B, valid_from=day + timedelta(days=20))
    await teller.set("deps", "second", A_R_C, valid_from=day + timedelta(days=10))
    assert set(await teller.stated(as_of=day + timedelta(days=5))) == {A_R_B}
    assert set(await teller.stated(as_of=day + timedelta(days=15))) == {A_R_C}
    assert set(await teller.stated()) == {A_R_B}


async def test_deletion_takes_statements_out_and_restoration_brings_them_back(teller: Teller) -> None:
    memory = await teller.say("alpha uses beta", A_R_B)
    before = datetime.now(UTC)
    await teller.delete(memory.id)
    assert await teller.stated(include_ended=True) == {}
    # As it was known before, it was there.
    assert set(await teller.stated(known_at=before)) == {A_R_B}
    await teller.undo(memory.id)
    assert set(await teller.stated()) == {A_R_B}
    assert set(await teller.stated(as_of=before)) == {A_R_B}


async def test_a_purge_leaves_nothing_of_what_only_the_memory_said(teller: Teller) -> None:
    memory = await teller.say("secret", ["Quillon", "lives_in", "Zanzibar"])
    await teller.say("other", ["Quillon", "knows", "Mopsa"])
    await teller.purge(memory.id)
    assert set(await teller.stated(include_ended=True)) == {("quillon", "knows", "mopsa")}
    async with teller.services.database.snapshot() as connection:
        for query in (
            "SELECT count(*) FROM facts WHERE agent_id = $1 AND object = 'Zanzibar'",
            "SELECT count(*) FROM entities WHERE agent_id = $1 AND name = 'zanzibar'",
            "SELECT count(*) FROM entity_aliases WHERE agent_id = $1 AND alias = 'Zanzibar'",
            "SELECT count(*) FROM memory_versions WHERE agent_id = $1 AND declared_relations::text LIKE '%Zanz%'",
        ):
            assert await driver(connection).fetchval(query, UUID(teller.space.agent_id)) == 0, query
    # What it had ended holds on.
    await teller.say("in Oslo", from_("Mopsa", "lives_in", "Oslo", "2024-01-01"))
    rome = await teller.say("in Rome", from_("Mopsa", "lives_in", "Rome", "2024-02-01"))
    await teller.purge(rome.id)
    assert await teller.current(subject="Mopsa") == {"oslo"}


async def test_a_change_of_what_a_memory_declares_changes_what_is_stated(teller: Teller) -> None:
    memory = await teller.say("alpha uses", A_R_B, A_R_C)
    kept = (await teller.stated())[A_R_B].last_seen
    before = datetime.now(UTC)
    await teller.change(memory.id, relations=[A_R_B, ("svc alpha", "calls", "svc beta")])
    lines = await teller.stated(include_ended=True)
    assert set(lines) == {A_R_B, ("svc alpha", "calls", "svc beta")}
    assert lines[A_R_B].last_seen == kept
    assert set(await teller.stated(known_at=before)) == {A_R_B, A_R_C}
    # What does not concern them leaves them as they are.
    facts = await facts_of(teller, "svc alpha")
    await teller.change(memory.id, tags=["seen"])
    assert await facts_of(teller, "svc alpha") == facts
    assert [relation.predicate for relation in (await teller.space.get(memory.id)).relations] == ["uses", "calls"]


async def test_a_text_says_whether_it_names_both_ends(teller: Teller) -> None:
    memory = await teller.say(
        "I moved to The Hague with the Billing Services.",
        ["I", "lives_in", "The Hague"],
        ["user", "pays", "billing service"],
        ["user", "knows", "Mopsa"],
    )
    found = {line.object: line.provenance for line in await teller.lines()}
    assert found == {"hague": "extracted", "billing service": "extracted", "mopsa": "inferred"}
    await teller.change(memory.id, content="Mopsa and I")
    found = {line.object: line.provenance for line in await teller.lines()}
    assert found == {"hague": "inferred", "billing service": "inferred", "mopsa": "extracted"}


@pytest.mark.parametrize("end", ["it", "go", "x" * 257, "\ufb01" * 129])
async def test_an_end_that_names_nothing_is_refused_by_name(teller: Teller, end: str) -> None:
    memory = await teller.say("Anna knows Bert", ["Anna", "knows", "Bert"])
    for relation, field in (((end, "knows", "Anna"), "subject"), (("Anna", "knows", end), "object")):
        with pytest.raises(InvalidInputProblem) as refused:
            await teller.say("text", ["Anna", "knows", "Bert"], relation)
        assert refused.value.errors[0].field == f"relations.1.{field}"
        with pytest.raises(InvalidInputProblem):
            await teller.set("key", "text", relation)
        with pytest.raises(InvalidInputProblem):
            await teller.change(memory.id, relations=[relation])
        with pytest.raises(InvalidInputProblem):
            await teller.supersede(memory.id, "another", relation)
        with pytest.raises(InvalidInputProblem):
            await teller.space.remember_all([{"content": "text", "relations": [relation]}])
    assert set(await teller.stated()) == {("anna", "knows", "bert")}


def test_a_memory_declares_at_most_eight_relations_in_lower_snake_case() -> None:
    triple = ["Anna", "is-head of", "Sales"]
    item = MemoryItem(content="x", relations=[triple])  # type: ignore[list-item]
    assert item.relations[0].predicate == "is_head_of"
    with pytest.raises(ValueError, match="relations"):
        MemoryItem(content="x", relations=[triple] * 9)  # type: ignore[list-item]
    with pytest.raises(ValueError, match="relations"):
        MemoryItem(content="x", relations=[triple[:2]])  # type: ignore[list-item]


async def test_the_same_triple_in_one_batch_is_one_line_with_the_weight_of_its_memories(teller: Teller) -> None:
    items = [{"content": f"text {number}", "relations": [A_R_B, A_R_B]} for number in range(3)]
    await teller.space.remember_all(items)
    (line,) = await teller.lines()
    assert line.co_occur == 3


async def test_what_somebody_takes_back_by_hand_stays_so_whatever_becomes_of_the_memory(teller: Teller) -> None:
    memory = await teller.say("alpha uses", A_R_B, A_R_C)
    (fact,) = [fact for fact in await facts_of(teller, "svc alpha") if fact.object == "svc gamma"]
    assert fact.memory_id == memory.id
    await teller.services.facts.delete(DEFAULT_SCOPE, fact.id)
    await teller.change(memory.id, content="alpha uses them")
    await teller.delete(memory.id)
    await teller.undo(memory.id)
    assert set(await teller.stated()) == {A_R_B}
    await teller.services.facts.restore(DEFAULT_SCOPE, fact.id)
    assert set(await teller.stated()) == {A_R_B, A_R_C}
    await teller.delete(memory.id)
    with pytest.raises(ConflictProblem):
        await teller.services.facts.restore(DEFAULT_SCOPE, fact.id)


async def test_an_undo_by_hand_lets_what_it_ended_hold_on(teller: Teller) -> None:
    await teller.say("in Oslo", ["user", "lives_in", "Oslo"])
    await teller.say("in Rome", ["user", "lives_in", "Rome"])
    rome = (await facts_of(teller, "user"))[-1]
    await teller.services.facts.undo(DEFAULT_SCOPE, rome.id)
    assert await teller.current() == {"oslo"}
    history = await teller.services.facts.history(DEFAULT_SCOPE, (await facts_of(teller, "user"))[0].id)
    assert [(belief.closed_by, belief.valid_until is None) for belief in history.beliefs] == [
        (None, True),
        (ClosurePolicy.cardinality, False),
        (None, True),
    ]


async def test_chains_of_facts_lead_over_what_memories_state(teller: Teller) -> None:
    memory = await teller.say("Alice is at Acme", ["Alice", "worksAt", "Acme"])
    item = FactItem(subject="Acme", predicate="operates_in", object="Tokyo")
    await teller.services.facts.append_many(DEFAULT_SCOPE, FactBatch(agent_id=teller.space.agent_id, items=[item]))
    question = GraphQuestion(agent_id=teller.space.agent_id, query="Where is Alice?")
    answer = await teller.services.facts.answer(DEFAULT_SCOPE, question)
    assert [path.rendered for path in answer.paths] == [
        "alice —works_at→ acme",
        "alice —works_at→ acme —operates_in→ tokyo",
    ]
    assert [source.id for source in answer.memories] == [memory.id]
    await teller.delete(memory.id)
    assert (await teller.services.facts.answer(DEFAULT_SCOPE, question)).paths == []


async def test_writers_of_the_same_names_wait_for_each_other_and_none_fails(teller: Teller) -> None:
    """Memories and facts that name the same new entities, in one order and in the other, while others go."""

    def said(number: int) -> list[list[str]]:
        found = [["user", "lives_in", f"Town{number % 3}"], [f"Town{number % 3}", "near", f"Town{(number + 1) % 3}"]]
        return found if number % 2 else found[::-1]

    async def append(number: int) -> None:
        items = [
            FactItem(subject=subject, predicate=predicate, object=object) for subject, predicate, object in said(number)
        ]
        request = FactBatch(agent_id=teller.space.agent_id, items=items)
        await teller.services.facts.append_many(DEFAULT_SCOPE, request)

    gone = [(await teller.say(f"early {number}", *said(number))).id for number in range(4)]
    async with asyncio.timeout(60):
        await asyncio.gather(
            *(teller.say(f"text {number}", *said(number)) for number in range(8)),
            *(teller.set(f"key {number % 2}", f"value {number}", *said(number)) for number in range(6)),
            *(append(number) for number in range(4)),
            *(teller.delete(id) for id in gone[:2]),
            *(teller.purge(id) for id in gone[2:]),
        )
    lines = await teller.lines(subject="user", relation="lives_in", adapter="declared")
    assert len(lines) == 1
    before = await shown(teller)
    await remade(teller)
    assert await shown(teller) == before


async def remade(teller: Teller) -> None:
    """State everything anew from what memories declare, and nothing else."""
    agent_id = UUID(teller.space.agent_id)
    async with teller.services.database.transaction() as connection:
        await driver(connection).execute("DELETE FROM facts WHERE agent_id = $1 AND memory_id IS NOT NULL", agent_id)
        await StatementService().state_next(connection, DEFAULT_SCOPE, agent_id, after=None, most=1000)


async def shown(teller: Teller) -> dict[Line, tuple[object, ...]]:
    lines = await teller.stated()
    return {place: (line.co_occur, line.valid_from, line.valid_until, line.last_seen) for place, line in lines.items()}


_PLACES = st.sampled_from(["Oslo", "Rome", "Bern"])
_DATES = st.none() | st.integers(1, 28).map(lambda day: f"2024-02-{day:02}")
_SAID = st.lists(st.tuples(st.sampled_from(["lives_in", "lived_in", "likes"]), _PLACES, _DATES), max_size=3)
_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["say", "say", "set", "supersede", "change", "delete", "undo", "purge"]),
        st.integers(0, 9),
        _SAID,
    ),
    min_size=4,
    max_size=9,
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=_STEPS)
async def test_what_stands_after_any_life_is_what_a_rebuild_from_the_memories_makes(
    space: Space, steps: list[tuple[str, int, list[tuple[str, str, str | None]]]]
) -> None:
    teller = Teller(await new_space(space.services))
    ids: list[str] = []
    for number, (step, which, said) in enumerate(steps):
        relations = [
            {"subject": "user", "predicate": predicate, "object": place, **({"valid_from": date} if date else {})}
            for predicate, place, date in said
        ]
        id = ids[which % len(ids)] if ids else None
        try:
            if step == "say" or id is None:
                ids.append((await teller.say(f"text {number}", *relations)).id)
            elif step == "set":
                ids.append((await teller.set("home", f"text {number}", *relations)).id)
            elif step == "supersede":
                ids.append((await teller.supersede(id, f"text {number}", *relations)).id)
            elif step == "change":
                await teller.change(id, relations=relations)
            else:
                await {"delete": teller.delete, "undo": teller.undo, "purge": teller.purge}[step](id)
        except (NotFoundProblem, ConflictProblem):
            continue  # it is gone, or was superseded already
    before = await shown(teller)
    assert len({line for line in before if line[1] == "lives_in" and before[line][2] is None}) <= 1
    await remade(teller)
    assert await shown(teller) == before
