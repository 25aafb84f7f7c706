"""Relations of which a subject has one value at a time: which value is current, whatever came in which order."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from engram.facts.schemas import FactAppend
from engram.tenants.scope import DEFAULT_SCOPE
from tests.facts.stating import Teller, from_
from tests.fixtures.spaces import Space

HOUR = timedelta(hours=1)


@pytest.fixture
def teller(space: Space) -> Teller:
    return Teller(space)


async def test_a_newer_value_ends_the_older_one_where_it_begins(teller: Teller) -> None:
    await teller.say("Anna works at Initech.", from_("Anna", "works_at", "Initech", "2024-01-01"))
    await teller.say("Anna works at Globex.", from_("Anna", "works_at", "Globex", "2024-03-01"))
    assert await teller.current("works_at", "Anna") == {"globex"}
    ended = (await teller.stated(subject="Anna", include_ended=True))["anna", "works_at", "initech"]
    assert ended.valid_until == datetime(2024, 3, 1, tzinfo=UTC)
    assert await teller.current("works_at", "Anna", datetime(2024, 2, 1, tzinfo=UTC)) == {"initech"}


async def test_the_later_day_wins_and_of_one_day_who_came_last(teller: Teller) -> None:
    await teller.say("later day, told first", from_("user", "lives_in", "Paris", "2024-10-02"))
    await teller.say("earlier day, told later", from_("user", "lives_in", "London", "2024-10-01"))
    assert await teller.current() == {"paris"}
    # Of one day the hour does not count, but who came last.
    await teller.say("same day, an earlier hour", from_("user", "lives_in", "Rome", "2024-10-02T00:00:00Z"))
    assert await teller.current() == {"rome"}
    # What is not dated starts when it arrives.
    await teller.say("not dated", ["user", "lives_in", "Oslo"])
    assert await teller.current() == {"oslo"}
    assert await teller.current(at=datetime(2024, 10, 1, 12, tzinfo=UTC)) == {"london"}


async def test_of_many_who_write_at_once_one_value_stands(teller: Teller) -> None:
    cities = [f"City{number}" for number in range(8)]
    await asyncio.gather(*(teller.say(f"I am in {city}", ["user", "lives_in", city]) for city in cities))
    assert len(await teller.current()) == 1
    ended = await teller.lines(relation="lives_in", include_ended=True)
    # One after the other, without a gap: each ends where another starts.
    assert len(ended) == len(cities)
    assert {line.valid_until for line in ended} - {None} <= {line.valid_from for line in ended}


async def test_who_says_the_older_value_again_meanwhile_keeps_it(teller: Teller) -> None:
    await teller.say("London it is", ["user", "lives_in", "London"])
    for _ in range(4):
        await asyncio.gather(
            teller.say("Paris it is", ["user", "lives_in", "Paris"]),
            teller.say("London it is", ["user", "lives_in", "London"]),
        )
        assert len(await teller.current()) == 1
    await teller.say("London it is", ["user", "lives_in", "London"])
    assert await teller.current() == {"london"}


async def test_of_what_one_memory_says_the_last_stands(teller: Teller) -> None:
    await teller.say("Paris, no: Rome", ["user", "lives_in", "Paris"], ["user", "lives_in", "Rome"])
    assert await teller.current() == {"rome"}
    items = [{"content": f"in {city}", "relations": [["user", "lives_in", city]]} for city in ("Oslo", "Bern", "Kyiv")]
    await teller.space.remember_all(items)
    assert await teller.current() == {"kyiv"}


@pytest.mark.parametrize("first", [0, 1], ids=["past first", "past last"])
async def test_what_was_once_and_has_no_date_comes_before_what_the_same_memory_dates(
    teller: Teller, first: int
) -> None:
    relations = [["user", "lived_in", "London"], from_("user", "lives_in", "Paris", "2025-10-01")]
    await teller.say("I lived in London, now Paris", *(relations[first:] + relations[:first]))
    open_ones = {line.object for line in await teller.lines(subject="user")}
    assert open_ones == {"paris"}


async def test_a_past_tense_is_the_same_slot(teller: Teller) -> None:
    await teller.say("was", from_("Acme", "was_located_in", "Bonn", "1990-01-01"))
    await teller.say("is", from_("Acme", "located_in", "Berlin", "2000-01-01"))
    assert {line.object for line in await teller.lines(subject="Acme")} == {"berlin"}


async def test_of_a_value_that_was_said_several_times_the_latest_counts(teller: Teller) -> None:
    """What an older statement of it held for stays what it was."""
    for number, (city, day) in enumerate((("London", 15), ("Paris", 14), ("London", 13))):
        await teller.say(f"told {number}", from_("user", "lives_in", city, f"2025-10-{day}"))
    assert await teller.current() == {"london"}
    # And between the two rows of London it was Paris.
    assert await teller.current(at=datetime(2025, 10, 14, 12, tzinfo=UTC)) == {"paris"}


async def test_what_was_said_to_end_holds_until_then_beside_what_is_newer(teller: Teller) -> None:
    until = datetime.now(UTC) + 30 * 24 * HOUR
    await teller.say("London for now", from_("user", "lives_in", "London", "2024-01-01", until.isoformat()))
    await teller.say("Paris too", from_("user", "lives_in", "Paris", "2024-06-01"))
    assert await teller.current() == {"london", "paris"}
    assert await teller.current(at=until + HOUR) == {"paris"}
    # The end of its memory is one that its writer gave, too.
    await teller.say("a stay", from_("user", "located_in", "Rome", "2024-01-01"), valid_until=until)
    await teller.say("on", from_("user", "located_in", "Oslo", "2024-02-01"))
    assert await teller.current("located_in") == {"rome", "oslo"}


async def test_what_is_restored_stands_from_then_on_and_the_memory_of_the_other_stays(
    teller: Teller,
) -> None:
    london = await teller.set("home", "London", ["user", "lives_in", "London"])
    await teller.set("home", "unknown")
    paris = await teller.say("Paris", ["user", "lives_in", "Paris"])
    before = datetime.now(UTC)
    await teller.undo(london.id)
    assert await teller.current() == {"london"}
    # From the restore on, and not before.
    assert await teller.current(at=before) == {"paris"}
    assert (await teller.space.get(paris.id)).status == "current"


async def test_what_is_restored_and_begins_later_begins_then(teller: Teller) -> None:
    start = (datetime.now(UTC) + 60 * 24 * HOUR).replace(hour=0, minute=0, second=0, microsecond=0)
    await teller.say("Paris", ["user", "lives_in", "Paris"])
    berlin = await teller.say("moving", from_("user", "lives_in", "Berlin", start.isoformat()))
    await teller.delete(berlin.id)
    assert (await teller.stated(subject="user"))["user", "lives_in", "paris"].valid_until is None
    await teller.undo(berlin.id)
    lines = await teller.stated(subject="user")
    assert lines["user", "lives_in", "berlin"].valid_from == start
    assert lines["user", "lives_in", "paris"].valid_until == start


async def test_a_later_day_and_what_is_said_afterwards_go_before_what_was_restored(
    teller: Teller,
) -> None:
    tomorrow = datetime.now(UTC) + 24 * HOUR
    london = await teller.say("London", ["user", "lives_in", "London"])
    await teller.say("Rome soon", from_("user", "lives_in", "Rome", tomorrow.isoformat()))
    await teller.delete(london.id)
    await teller.undo(london.id)
    assert await teller.current(at=tomorrow + HOUR) == {"rome"}
    await teller.say("Oslo", ["user", "lives_in", "Oslo"])
    now = datetime.now(UTC)
    assert await teller.current(at=now) == {"oslo"}


async def test_restoring_again_and_again_counts_once(teller: Teller) -> None:
    london = await teller.set("home", "London", ["user", "lives_in", "London"], ["London", "part_of", "England"])
    paris = await teller.set("home", "Paris", ["user", "lives_in", "Paris"])
    for _ in range(3):
        await teller.undo(london.id)
        assert await teller.current() == {"london"}
        await teller.undo(paris.id)
        assert await teller.current() == {"paris"}
    weights = {line.object: line.co_occur for line in await teller.lines(include_ended=True)}
    assert weights == {"london": 1, "paris": 1, "england": 1}


async def test_what_is_restored_while_it_is_current_is_said_again(teller: Teller) -> None:
    london = await teller.say("London", ["user", "lives_in", "London"])
    await teller.say("Paris", ["user", "lives_in", "Paris"])
    version = (await teller.space.get(london.id)).version
    await teller.undo(london.id)
    assert await teller.current() == {"london"}
    assert (await teller.space.get(london.id)).version == version


async def test_what_is_settled_late_is_settled_as_of_the_writes_that_said_it(
    teller: Teller,
) -> None:
    """Here a close cannot fail by itself; what is settled later is settled as the writes would have."""
    await teller.say("first", ["deploy", "runs_on", "alpha"])
    second = await teller.say("second", ["deploy", "runs_on", "beta"])
    await teller.delete(second.id)
    await teller.undo(second.id)
    await teller.say("third", ["deploy", "runs_on", "gamma"])
    assert await teller.current("runs_on", "deploy") == {"alpha", "beta", "gamma"}
    registered = await teller.register(verbs={"runs_on": "one"})
    assert await teller.current("runs_on", "deploy") == {"gamma"}
    assert registered.changed >= 2
    # And with many values again, what had ended so holds on.
    await teller.register(verbs={"runs_on": "many"})
    assert await teller.current("runs_on", "deploy") == {"alpha", "beta", "gamma"}


async def test_values_of_one_user_do_not_end_those_of_another(teller: Teller) -> None:
    await teller.say("London", ["I", "lives_in", "London"], user_id="a")
    await teller.say("Paris", ["I", "lives_in", "Paris"], user_id="b")
    assert await teller.current() == {"london", "paris"}


async def test_a_fact_that_is_appended_ends_nothing_that_memories_state(teller: Teller) -> None:
    await teller.say("Initech", ["Anna", "works_at", "Initech"])
    item = FactAppend(agent_id=teller.space.agent_id, subject="Anna", predicate="works_at", object="Globex")
    appended = await teller.services.facts.append(DEFAULT_SCOPE, item)
    assert appended.closed == []
    assert await teller.current("works_at", "Anna") == {"initech", "globex"}
    await teller.say("Hooli", ["Anna", "works_at", "Hooli"])
    assert await teller.current("works_at", "Anna") == {"hooli", "globex"}
