"""Facts go out and come in with the rest of an agent: the same lines, and the same answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from engram import AsyncEngram
from engram.agents.schemas import Agent
from engram.db.database import Database, driver
from engram.facts.schemas import MAX_MERGES

from .fact_lives import BEGIN, answers, live, questions
from .files import Record, changed, exported, file_of, imported, made_of, of_type, records, told

KINDS = ("fact", "fact_closure", "merge")


async def remembered(engram: AsyncEngram, agent: Agent) -> list[str]:
    return [(await engram.memories.create(agent.id, f"They said it on day {day}.")).id for day in range(4)]


async def every_fact_row(database: Database, agent_id: str) -> dict[str, list[str]]:
    """What is kept of an agent's facts but in the export: keys, words and ties, and all else of them."""
    async with database.snapshot() as connection:
        return {
            table: [
                row["row"].replace(agent_id, "AGENT")
                for row in await driver(connection).fetch(
                    f"SELECT t::text AS row FROM {table} t WHERE agent_id = $1 ORDER BY 1", agent_id
                )
            ]
            for table in ("facts", "fact_closures", "fact_memories", "fact_words", "fact_merges")
        }


async def test_a_copy_answers_walks_and_lists_as_the_original_and_is_exported_the_same(
    engram: AsyncEngram, http: httpx.AsyncClient, agent: Agent, database: Database
) -> None:
    """200 of them, with new ids, and with those of the file where the original is gone."""
    memories = await remembered(engram, agent)
    await engram.memories.delete(memories[3])
    await live(http, agent.id, memories, steps=60, seed=1)
    between = datetime.now(UTC)
    await live(http, agent.id, memories, steps=80, seed=2)
    file = await exported(http, agent.id)
    facts = of_type(file, "fact")
    assert all(of_type(file, kind) for kind in KINDS)
    assert {fact["status"] for fact in facts} == {"standing", "deleted", "undone"}
    assert {merge["undone_at"] is None for merge in of_type(file, "merge")} == {True, False}
    assert any(fact["superseded_by"] for fact in facts)
    counts = records(file)[0]["counts"]
    assert {kind: counts[kind] for kind in KINDS} == {kind: len(of_type(file, kind)) for kind in KINDS}

    asked = questions(200, [BEGIN, datetime(2026, 2, 1, tzinfo=UTC), between, datetime.now(UTC)], seed=3)
    expected = await answers(http, agent.id, asked)
    assert sum('"id"' in answer for answer in expected) > 100
    assert sum('"memories":[{' in answer for answer in expected) > 20
    rows = await every_fact_row(database, agent.id)

    beside = await made_of(http, file, name="beside", ids="new")
    copy = await exported(http, beside)
    renamed = [
        (old["id"], new["id"])
        for kind in ("memory", "entity", "fact", "merge")
        for old, new in zip(of_type(file, kind), of_type(copy, kind), strict=True)
    ]
    assert all(old != new for old, new in renamed)
    found, text = "\n".join(await answers(http, beside, asked)), copy.decode()
    for old, new in renamed:
        found, text = found.replace(new, old), text.replace(new, old)
    assert found == "\n".join(expected)
    back = told(text.encode())
    back[0]["agent"]["name"] = "clerk"
    assert back == told(file)

    await engram.agents.delete(agent.id)
    kept = await made_of(http, file)
    assert told(await exported(http, kept)) == told(file)
    assert await answers(http, kept, asked) == expected
    assert await every_fact_row(database, kept) == rows


async def test_a_copy_lives_on_like_the_original(engram: AsyncEngram, http: httpx.AsyncClient, agent: Agent) -> None:
    """What is appended next finds the same slots, and ends the same."""
    await live(http, agent.id, [], steps=40, seed=4)
    copy = await made_of(http, await exported(http, agent.id), name="copy", ids="new")
    for id in (agent.id, copy):
        await live(http, id, [], steps=60, seed=5)

    async def shape(id: str) -> list[list[Any]]:
        names = ("user_id", "subject", "predicate", "object", "valid_from", "valid_until", "status", "closed_by")
        return sorted([str(line[name]) for name in names] for line in of_type(await exported(http, id), "fact"))

    assert await shape(copy) == await shape(agent.id)


async def test_an_export_of_a_moment_has_the_facts_that_held_then_without_a_past(
    http: httpx.AsyncClient, agent: Agent
) -> None:
    async def say(**fact: Any) -> str:
        body = {"agent_id": agent.id, "subject": "Alice", "predicate": "works_at", **fact}
        return str((await http.post("/v1/facts", json=body)).raise_for_status().json()["id"])

    await say(object="Acme", valid_from="2026-01-01")
    initech = await say(object="Initech", valid_from="2026-03-01")
    merge = {"agent_id": agent.id, "name": "Acme", "other": "Acme Corp"}
    merged = (await http.post("/v1/facts/merge", json=merge)).raise_for_status().json()["id"]
    known = datetime.now(UTC).isoformat()
    await say(object="Hooli", valid_from="2026-02-01")
    await http.post(f"/v1/facts/{initech}/undo")
    await http.delete(f"/v1/facts/merge/{merged}")

    async def held(**moment: str) -> list[tuple[str, str | None, int]]:
        file = await exported(http, agent.id, **moment)
        facts = of_type(file, "fact")
        assert all(
            (fact["status"], fact["superseded_by"], fact["stated_until"], fact["updated_at"])
            == ("standing", None, fact["valid_until"], fact["recorded_at"])
            for fact in facts
        )
        assert not of_type(file, "fact_closure")
        copy = await made_of(http, file, name="+".join(moment), ids="new")
        again = await exported(http, copy, **moment)
        assert [fact["object"] for fact in of_type(again, "fact")] == [fact["object"] for fact in facts]
        return [(fact["object"], fact["valid_until"], len(of_type(file, "merge"))) for fact in facts]

    middle = "2026-02-10T00:00:00Z"
    assert await held(as_of=middle) == [("Hooli", None, 0)]
    assert await held(known_at=known) == [("Initech", None, 1)]
    assert await held(known_at=known, as_of=middle) == [("Acme", "2026-03-01T00:00:00Z", 1)]


async def test_without_history_nothing_of_what_is_no_longer_believed_leaves(
    engram: AsyncEngram, http: httpx.AsyncClient, agent: Agent
) -> None:
    await live(http, agent.id, [], steps=120, seed=6)
    file = await exported(http, agent.id, include_history=False)
    assert {fact["status"] for fact in of_type(file, "fact")} == {"standing"}
    assert not of_type(file, "fact_closure")
    assert {merge["undone_at"] for merge in of_type(file, "merge")} == {None}
    held = {fact["id"] for fact in of_type(file, "fact")}
    assert all(fact["superseded_by"] in {None, *held} for fact in of_type(file, "fact"))
    asked = [
        (path, {name: value for name, value in question.items() if name != "known_at"})
        for path, question in questions(60, [datetime(2026, 2, 1, tzinfo=UTC)], seed=7)
    ]
    expected = await answers(http, agent.id, asked)
    await engram.agents.delete(agent.id)
    copy = await made_of(http, file)

    def paths(found: list[str]) -> list[Any]:
        """What is walked and listed, and by which facts."""
        return [
            [one.get("rendered") or (one["id"], one["valid_until"]) for one in answer.get("paths", answer.get("data"))]
            for answer in map(json.loads, found)
        ]

    assert paths(await answers(http, copy, asked)) == paths(expected)


async def test_what_was_exported_before_there_were_facts_still_comes_in(
    engram: AsyncEngram, http: httpx.AsyncClient, agent: Agent
) -> None:
    await engram.memories.create(agent.id, "Alice moved to Lisbon.")
    whole = records(await exported(http, agent.id))
    *lines, footer = whole
    for line in (lines[0], footer):
        line["counts"] = {name: count for name, count in line["counts"].items() if name not in KINDS}
    older = file_of(lines, kinds=tuple(footer["counts"]))
    assert not [kind for kind in KINDS if f'"{kind}"'.encode() in older]
    answer = (await imported(http, older, name="older", ids="new")).raise_for_status().json()
    assert (answer["counts"]["memory"], answer["counts"]["fact"]) == (1, 0)


@pytest.fixture
async def file(engram: AsyncEngram, http: httpx.AsyncClient, agent: Agent) -> bytes:
    """Three facts of one slot, of which the first was superseded twice, and a merge. Its agent is gone."""
    memory = await engram.memories.create(agent.id, "Alice works.")
    for object, begins in (("Acme", "2026-01-01"), ("Initech", "2026-03-01"), ("Hooli", "2026-02-01")):
        body = {"agent_id": agent.id, "subject": "Alice", "predicate": "works_at", "object": object}
        await http.post("/v1/facts", json={**body, "valid_from": begins, "sources": [memory.id]})
    await http.post("/v1/facts/merge", json={"agent_id": agent.id, "name": "Acme", "other": "Acme Corp"})
    file = await exported(http, agent.id)
    await engram.agents.delete(agent.id)
    return file


def put(**fields: Any) -> Callable[[Record], object]:
    return lambda line: line.update(fields)


NOBODY = "01890a5d-ac96-774b-bcce-b302099a8057"

WRONG: dict[str, tuple[str, int, Callable[[Record], object], str]] = {
    "no id": ("fact", 0, put(id="nobody"), ".id"),
    "a field too many": ("fact", 0, put(colour="blue"), ".colour"),
    "a field too few": ("fact", 0, lambda line: line.pop("supersede"), ".supersede"),
    "a number as text": ("fact", 0, put(confidence="1"), ".confidence"),
    "a truth as text": ("fact", 0, put(supersede="true"), ".supersede"),
    "more than certain": ("fact", 0, put(confidence=1.5), ".confidence"),
    "a status of its own": ("fact", 0, put(status="asleep"), ".status"),
    "no subject": ("fact", 0, put(subject=" "), ".subject"),
    "a long object": ("fact", 0, put(object="a" * 513), ".object"),
    "nul": ("fact", 0, put(object="a\0b"), ".object"),
    "nul in a source": ("fact", 0, put(sources=["a\0b"]), ".sources.0"),
    "a bell": ("fact", 0, put(subject="New\aYork"), ".subject"),
    "a predicate that is spelt otherwise": ("fact", 0, put(predicate="worksAt"), ".predicate"),
    "too many sources": ("fact", 0, put(sources=["a"] * 65), ".sources"),
    "learnt in a time to come": ("fact", 0, put(recorded_at="2999-01-01T00:00:00Z"), ".recorded_at"),
    "changed before it was learnt": ("fact", 0, put(updated_at="2020-01-01T00:00:00Z"), ""),
    "ends before it begins": ("fact", 1, put(valid_until="2020-01-01T00:00:00Z"), ""),
    "superseded by no rule": ("fact", 0, put(closed_by=None), ""),
    "superseded by a rule of its own": ("fact", 0, put(closed_by="whim"), ".closed_by"),
    "ended by nobody": ("fact", 1, put(valid_until="2027-01-01T00:00:00Z"), ""),
    "superseded by itself": ("fact", 0, lambda line: line.update(superseded_by=line["id"]), ""),
    "a belief about nobody": ("fact_closure", 0, put(fact_id=NOBODY), ".fact_id"),
    "believed before it was learnt": ("fact_closure", 0, put(recorded_at="2020-01-01T00:00:00Z"), ".recorded_at"),
    "ended before it began": ("fact_closure", 0, put(valid_until="2020-01-01T00:00:00Z"), ".valid_until"),
    "reopened with an end": ("fact_closure", 0, put(closed_by=None, superseded_by=None), ".valid_until"),
    "superseded without an end": ("fact_closure", 0, put(valid_until=None), ""),
    "a last belief that is not what is believed": ("fact_closure", 1, put(status="deleted"), ""),
    "one node merged with itself": ("merge", 0, put(other=" acme "), ""),
    "undone before it was said": ("merge", 0, put(undone_at="2020-01-01T00:00:00Z"), ""),
}


async def test_a_line_of_facts_that_is_wrong_is_named_and_nothing_stays(
    http: httpx.AsyncClient, file: bytes, database: Database
) -> None:
    for wrong, (kind, place, change, field) in WRONG.items():
        bad = changed(file, kind, change, place=place)
        lines = [number for number, line in enumerate(records(bad), start=1) if line["type"] == kind]
        answer = await imported(http, bad)
        assert answer.status_code == 422, (wrong, answer.text)
        assert answer.json()["errors"][0]["field"] == f"line {lines[place]}{field}", (wrong, answer.text)
    # What can be seen only when all is there.
    first = of_type(file, "fact")[0]["id"]
    for elsewhere in (put(superseded_by=NOBODY), put(valid_until="2026-02-02T00:00:00Z")):
        bare = file_of([line for line in records(file) if line["type"] != "fact_closure"])
        answer = await imported(http, changed(bare, "fact", elsewhere))
        assert (answer.status_code, first in answer.text) == (422, True), answer.text
    merge = of_type(file, "merge")[0]
    many = [
        {**merge, "id": f"{merge['id'][:-12]}{number:012x}", "name": f"n{number}"} for number in range(MAX_MERGES + 1)
    ]
    lines = [line for line in records(file) if line["type"] not in ("merge", "footer")]
    assert (await imported(http, file_of([*lines, *many]))).status_code == 422
    async with database.snapshot() as connection:
        left = [
            table
            for table in ("agents", "facts", "fact_closures", "fact_memories", "fact_words", "fact_merges")
            if await driver(connection).fetchval(f"SELECT count(*) FROM {table}")
        ]
    assert left == []


async def test_what_is_taken_is_a_conflict(engram: AsyncEngram, http: httpx.AsyncClient, file: bytes) -> None:
    header, *lines = records(file)
    of_facts = file_of([header, *(line for line in lines if line["type"] in ("fact", "fact_closure"))])
    of_merges = file_of([header, *(line for line in lines if line["type"] == "merge")])
    await made_of(http, file)
    for part, kind in ((of_facts, "fact"), (of_merges, "merge")):
        answer = await imported(http, part, name="cook")
        said = f"There is a {kind} {of_type(part, kind)[0]['id']} already"
        assert (answer.status_code, said in answer.json()["detail"]) == (409, True), answer.text
    # An agent that holds facts alone, or merges, holds something.
    for part, name in ((of_facts, "facts alone"), (of_merges, "merges alone")):
        await made_of(http, part, name=name, ids="new")
        assert (await imported(http, file, name=name, ids="new")).status_code == 409
