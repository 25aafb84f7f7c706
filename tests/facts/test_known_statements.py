"""What memories stated, as it was known at any moment: told for ever, whatever became of the memories since.

``FUZZ_EXAMPLES`` and ``FUZZ_SEED`` ask for more, or for others.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from engram.facts.repository import FactFilter
from engram.facts.schemas import MergeCreate
from engram.problems import ConflictProblem, NotFoundProblem
from engram.tenants.scope import DEFAULT_SCOPE
from tests.facts.stating import Teller, from_
from tests.fixtures.fuzzing import EXAMPLES, SEED
from tests.fixtures.spaces import Space, new_space

STEPS = 14
PLACES = ("Oslo", "Rome", "Bern")
DATES = (None, None, "2024-02-01", "2024-02-10", "2024-02-20", "2100-01-01")
MOMENTS = (None, datetime(2024, 2, 15, tzinfo=UTC), datetime(2100, 6, 1, tzinfo=UTC))
"""When it is to have held; none: what has not ended."""

TICK = timedelta(microseconds=1)


@pytest.fixture
def teller(space: Space) -> Teller:
    return Teller(space)


@dataclass(frozen=True)
class Told:
    """What an agent answers of its statements: lines, facts and chains."""

    lines: list[Mapping[str, object]]
    facts: list[Mapping[str, object]]
    chains: list[list[str]]


async def told(teller: Teller, at: datetime | None, known_at: datetime | None) -> Told:
    services, agent_id = teller.services, teller.space.agent_id
    lines = await teller.lines(as_of=at, known_at=known_at)
    wanted = FactFilter(user_id=None, subject="user")
    page = await services.facts.query(DEFAULT_SCOPE, agent_id, wanted, valid_at=at, known_at=known_at, limit=200)
    paths = await services.facts.recall_graph(
        DEFAULT_SCOPE, agent_id, "user", user_id=None, hops=2, valid_at=at, known_at=known_at, limit=200
    )
    return Told(
        [line.model_dump() for line in lines],
        [fact.model_dump(exclude={"updated_at"}) for fact in page.data],
        [[fact.id for fact in path.facts] for path in paths],
    )


async def step(teller: Teller, chance: random.Random, number: int, ids: list[str]) -> None:
    """Do something to the memories of an agent."""
    relations = []
    for _ in range(chance.randrange(4)):
        predicate, place, date = chance.choice(["lives_in", "likes"]), chance.choice(PLACES), chance.choice(DATES)
        relation = {"subject": "user", "predicate": predicate, "object": place}
        relations.append(relation | ({"valid_from": date} if date else {}))
    id = chance.choice(ids) if ids else None
    deed = chance.choice(["say", "set", "supersede", "change", "rewrite", "delete", "undo", "undo", "register"])
    with suppress(ConflictProblem, NotFoundProblem):
        if deed == "say" or id is None:
            ids.append((await teller.say(f"text {number}", *relations)).id)
        elif deed == "set":
            ids.append((await teller.set("home", f"text {number}", *relations)).id)
        elif deed == "supersede":
            ids.append((await teller.supersede(id, f"text {number}", *relations)).id)
        elif deed == "change":
            await teller.change(id, relations=relations)
        elif deed == "rewrite":
            await teller.change(id, content=f"user saw {chance.choice(PLACES)} in {number}")
        elif deed == "register":
            await teller.register(verbs={"lives_in": chance.choice(["one", "many"])})
        else:
            await {"delete": teller.delete, "undo": teller.undo}[deed](id)


@pytest.mark.parametrize("seed", range(SEED, SEED + max(3, EXAMPLES // 8)))
async def test_what_was_known_of_statements_is_told_for_ever(space: Space, seed: int) -> None:
    teller = Teller(await new_space(space.services))
    chance = random.Random(seed)
    ids: list[str] = []
    known: list[tuple[datetime, dict[datetime | None, Told]]] = []
    for number in range(STEPS):
        await step(teller, chance, number, ids)
        answers = {at: await told(teller, at, None) for at in MOMENTS}
        known.append((datetime.now(UTC), answers))
    for moment, answers in known:
        for at, answer in answers.items():
            assert await told(teller, at, moment) == answer, (moment, at)
    assert any(answer.chains for _, answers in known for answer in answers.values())


async def test_what_a_memory_states_is_known_with_it_and_not_before(teller: Teller) -> None:
    async def known(at: datetime) -> set[str]:
        return {line.object for line in await teller.lines(known_at=at)}

    oslo = await teller.say("in Oslo", ["user", "lives_in", "Oslo"])
    assert (await known(oslo.recorded_at), await known(oslo.recorded_at - TICK)) == ({"oslo"}, set())
    # What a later one ends is known to have ended since that came, though it had ended before.
    rome = await teller.say("in Rome", from_("user", "lives_in", "Rome", "2100-01-01"))
    new_year = datetime(2100, 1, 1, tzinfo=UTC)
    ends = [line.valid_until for line in await teller.lines(object="Oslo", known_at=rome.recorded_at)]
    assert ends == [new_year]
    ends = [line.valid_until for line in await teller.lines(object="Oslo", known_at=rome.recorded_at - TICK)]
    assert ends == [None]
    await teller.change(oslo.id, relations=[["user", "lives_in", "Bern"]])
    changed = await teller.space.get(oslo.id)
    assert (await known(changed.updated_at), await known(changed.updated_at - TICK)) == (
        {"bern", "rome"},
        {"oslo", "rome"},
    )
    other = await teller.supersede(rome.id, "nowhere yet")
    assert (await known(other.recorded_at), await known(other.recorded_at - TICK)) == ({"bern"}, {"bern", "rome"})
    await teller.delete(oslo.id)
    gone = (await teller.space.get(other.id)).recorded_at
    assert (await known(datetime.now(UTC)), await known(gone)) == (set(), {"bern"})


async def test_names_are_one_as_long_as_that_was_known(teller: Teller) -> None:
    await teller.say("as Robert", ["Anna", "knows", "Robert"])
    await teller.say("as Bert", ["Anna", "knows", "Bert"])
    apart = datetime.now(UTC)
    request = MergeCreate(agent_id=teller.space.agent_id, name="Bert", other="Robert")
    merge = await teller.services.facts.merges.merge(DEFAULT_SCOPE, request)
    assert [(line.object, line.co_occur) for line in await teller.lines()] == [("bert", 2)]
    assert {line.object for line in await teller.lines(known_at=apart)} == {"bert", "robert"}
    one = datetime.now(UTC)
    await teller.services.facts.merges.undo(DEFAULT_SCOPE, merge.id)
    assert {line.object for line in await teller.lines()} == {"bert", "robert"}
    assert [(line.object, line.co_occur) for line in await teller.lines(object="Robert", known_at=one)] == [("bert", 2)]
