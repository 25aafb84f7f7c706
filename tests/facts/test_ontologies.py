"""What an agent prefers: warned of, never refused, and settled anew where it changes."""

from __future__ import annotations

import asyncio

import pytest

from engram.memories.changes.schemas import MemoryUpdate
from engram.problems import NotFoundProblem
from engram.tenants.scope import DEFAULT_SCOPE
from tests.facts.stating import Teller, from_
from tests.fixtures.spaces import Space


@pytest.fixture
def teller(space: Space) -> Teller:
    return Teller(space)


async def test_names_outside_are_written_and_warned_of(teller: Teller) -> None:
    assert (await teller.say("first", ["svc alpha", "uses", "svc beta"])).ontology_warnings == []
    await teller.register(verbs={"dependsOn": "many"}, attributes={"status": "one"}, entity_types=["service"])
    known = await teller.services.ontologies.get(DEFAULT_SCOPE, teller.space.agent_id)
    assert (known.verbs, known.attributes, known.entity_types) == (
        {"depends_on": "many"},
        {"status": "one"},
        ["service"],
    )
    inside = await teller.say("second", ["svc alpha", "depends_on", "svc beta"], ["svc alpha", "status", "green"])
    assert inside.ontology_warnings == []
    outside = await teller.say("third", ["svc alpha", "calls", "svc beta"])
    assert len(outside.ontology_warnings) == 1
    assert "calls" in outside.ontology_warnings[0]
    batch = await teller.space.remember_all([{"content": "fourth", "relations": [["svc alpha", "eats", "svc beta"]]}])
    changed = await teller.services.changes.revisions.update(
        DEFAULT_SCOPE, outside.id, MemoryUpdate.model_validate({"relations": [["svc alpha", "sees", "svc beta"]]})
    )
    for warnings, name in ((batch.ontology_warnings, "eats"), (changed.ontology_warnings, "sees")):
        assert [name in warning for warning in warnings] == [True]
    assert {line.relation for line in await teller.lines(object="svc beta")} == {"uses", "depends_on", "eats", "sees"}


async def test_what_is_registered_takes_the_place_of_what_was(teller: Teller) -> None:
    await teller.register(verbs={"owned_by": "one"})
    await teller.say("first", ["svc alpha", "owned_by", "Anna"])
    await teller.say("second", ["svc alpha", "owned_by", "Bert"])
    assert await teller.current("owned_by", "svc alpha") == {"bert"}
    await teller.register(verbs={"lives_in": "many"})
    assert await teller.current("owned_by", "svc alpha") == {"anna", "bert"}
    await teller.say("here", ["Anna", "lives_in", "Oslo"])
    await teller.say("there", ["Anna", "lives_in", "Rome"])
    assert await teller.current(subject="Anna") == {"oslo", "rome"}
    assert (await teller.register()).changed == 1
    assert await teller.current(subject="Anna") == {"rome"}


async def test_a_past_without_a_date_is_placed_by_what_is_registered_whenever_that_was(teller: Teller) -> None:
    said = (["I", "mentored_by", "Anna"], from_("I", "mentors_by", "Bert", "2020-01-01"))

    async def believed() -> set[tuple[str, bool]]:
        lines = await teller.lines(subject="user", include_ended=True)
        return {(line.object, line.valid_until is None) for line in lines}

    await teller.say("before", *said)
    assert await believed() == {("anna", True), ("bert", True)}
    assert (await teller.register(verbs={"mentors_by": "one"})).changed == 1
    settled = await believed()
    await teller.say("after", *said)
    assert settled == await believed() == {("anna", False), ("bert", True)}
    # Named itself, it is nothing's past.
    await teller.register(verbs={"mentors_by": "one", "mentored_by": "one"})
    assert await believed() == {("anna", True), ("bert", False)}
    await teller.register()
    assert await believed() == {("anna", True), ("bert", True)}


async def test_who_writes_while_it_is_registered_is_settled_by_it(teller: Teller) -> None:
    async def write(number: int) -> None:
        await teller.say(f"text {number}", ["svc alpha", "owned_by", f"Owner{number}"])

    await asyncio.gather(*(write(number) for number in range(5)), teller.register(verbs={"owned_by": "one"}))
    assert len(await teller.current("owned_by", "svc alpha")) == 1


async def test_an_unknown_agent_has_none(teller: Teller) -> None:
    nobody = Teller(Space(teller.services, "01890a5d-ac96-774b-bcce-b302099a8057"))
    with pytest.raises(NotFoundProblem):
        await nobody.register()
    with pytest.raises(NotFoundProblem):
        await nobody.services.ontologies.get(DEFAULT_SCOPE, nobody.space.agent_id)
    with pytest.raises(NotFoundProblem):
        await nobody.lines()
    with pytest.raises(NotFoundProblem):
        await nobody.expire("declared")
