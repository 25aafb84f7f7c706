"""Vectors of entities: what they are made of, how they go, and what recall finds by them."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import numpy as np
import pytest

from engram.db.database import driver
from engram.jobs.schemas import JobStatus
from engram.memories.changes.schemas import MemorySet
from engram.recall.tuning import RecallTuning
from engram.server.app import create_app
from engram.settings import Settings
from engram.tenants.scope import DEFAULT_SCOPE
from engram.tuning import Tuning
from tests.entities.vectors import (
    FLOOR,
    MEANINGS,
    WEIGHT,
    about,
    delete,
    delete_and_purge,
    end,
    hide,
    purge,
    reword,
    served,
    set_,
    supersede,
    vectors,
)
from tests.entities.vectors import embedder as embedder  # noqa: PLC0414  # a fixture
from tests.entities.vectors import space as space  # noqa: PLC0414  # a fixture
from tests.fixtures.spaces import Space, ids, new_space
from tests.fixtures.wiring import MeaningEmbedder
from tests.jobs.working import let_time_pass, until, until_nothing_is_owed, working
from tests.recall.test_cost import asked as asked  # noqa: PLC0414  # a fixture
from tests.transfer.files import exported, made_of

OFF = Tuning(recall=RecallTuning(entity_vectors=0))


async def test_an_entity_that_the_query_names_in_other_words_brings_its_memories(
    space: Space, embedder: MeaningEmbedder
) -> None:
    await about(space, "Kestrel takes the payments.")
    # What tells of the money is not asked for: no walk comes from there.
    hidden = await about(space, "It is the one that moved last spring.", tags=["moves"])
    await about(space, "The kettle is for tea.", "Kettle", tags=["moves"])
    question: dict[str, Any] = {"query": "whose money?", "tags": ["moves"], "explain": True}
    found = (await space.hits(**question))[hidden]
    text = np.dot(embedder._vector("Kestrel takes the payments."), embedder._vector("whose money?"))
    worth = WEIGHT * (float(text) - FLOOR) / (1 - FLOOR) / (1 + math.log(2))
    assert found.graph_score == pytest.approx(worth, abs=1e-4)
    assert [(step.memory_id, step.entity, step.weight) for step in found.path] == [
        (hidden, "Kestrel", pytest.approx(found.graph_score))
    ]
    for hit in (await space.hits("whose money?", explain=True, graph_weight=0.9)).values():
        assert hit.explain is not None
        assert hit.score == pytest.approx(min(1.0, hit.explain.vector_part + hit.explain.graph_part))
        assert 0 <= hit.score <= 1
        assert 0 <= hit.graph_score <= 1
    without = await (await space.tuned(OFF)).hits(**question)
    assert without[hidden].graph_score == 0
    # As it was known at a moment, nothing is found by what is known now.
    then = await space.hits(**question, known_at=datetime.now(UTC))
    assert then[hidden].graph_score == 0


async def test_in_graph_mode_such_an_entity_is_where_a_query_begins_that_names_none(space: Space) -> None:
    await about(space, "Kestrel takes the payments.")
    hidden = await about(space, "It is the one that moved last spring.", tags=["moves"])
    aside = await about(space, "The kettle is for tea.", "Kettle")
    found = await space.hits("whose money?", search_mode="graph", tags=["moves"])
    assert 0 < found[hidden].graph_score <= WEIGHT
    found = await space.hits("whose money?", search_mode="graph")
    assert aside not in found
    assert aside in await space.hits("money of the kettle", search_mode="graph")
    assert hidden not in await space.hits("money of the kettle", search_mode="graph")
    assert await (await space.tuned(OFF)).hits("whose money?", search_mode="graph") == {}


async def test_a_recall_takes_as_many_statements_as_without(space: Space, asked: list[str]) -> None:
    await about(space, "Kestrel takes the payments.")
    asked.clear()
    await space.ask("whose money?")
    assert len(asked) == 4
    assert any("entity_vectors" in statement for statement in asked)
    tuned = await space.tuned(OFF)
    asked.clear()
    await tuned.ask("whose money?")
    assert not any("entity_vectors" in statement for statement in asked)


async def test_through_the_index_the_same_is_found(
    space: Space, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for user in (None, "ann", "bob"):
        await about(space, "Kestrel takes the payments.", user_id=user)
        await about(space, "The kettle is for tea.", "Kettle", user_id=user)
    questions: list[dict[str, Any]] = [
        {"query": query, "search_mode": mode, "user_id": user}
        for query in ("whose money?", "a drink in a city")
        for mode in ("hybrid", "graph")
        for user in (None, "ann")
    ]
    exact = [{id: hit.score for id, hit in (await space.hits(**question)).items()} for question in questions]
    assert all(exact)
    monkeypatch.setattr("engram.memories.vectors.EXACT_SEARCH_LIMIT", 0)
    asked.clear()
    for question, expected in zip(questions, exact, strict=True):
        found = {id: hit.score for id, hit in (await space.hits(**question)).items()}
        assert found == pytest.approx(expected, abs=1e-6)
    assert len([statement for statement in asked if "WITH found AS MATERIALIZED" in statement]) == len(questions)


async def test_off_as_by_default_nothing_is_made(settings: Settings, embedder: MeaningEmbedder) -> None:
    async with served(settings, embedder, entity_vectors=Settings.model_fields["entity_vectors"].default) as services:
        space = await new_space(services)
        await about(space, "Kestrel takes the payments.")
        assert await vectors(space) == {}
        assert embedder.passages == ["Kestrel takes the payments."]


async def test_what_tells_most_is_embedded_and_seldom_again(space: Space, embedder: MeaningEmbedder) -> None:
    first = await about(space, "It was built in a hurry. Kestrel takes the payments, they say.")
    assert embedder.passages[-1] == "Kestrel\nKestrel takes the payments, they say."
    embedder.passages.clear()
    for at in range(63):
        await space.remember(f"note {at} of Kestrel and Merlin", entities=["Kestrel", f"Bird {at}"])
    made = [text for text in embedder.passages if text.startswith("Kestrel\n")]
    assert len(made) == math.log2(64)
    # About it first; then the others, the latest first where they name as many.
    told, _, _ = (await vectors(space))["kestrel", ""]
    assert first in told
    assert made[-1].split("\n")[1] == "Kestrel takes the payments, they say."
    await space.remember_all([f"another of Kestrel, {at}" for at in range(70)])
    assert len([text for text in embedder.passages if text.startswith("Kestrel\n")]) == len(made)


CHANGES = [delete, purge, delete_and_purge, reword, hide, end, supersede, set_]


@pytest.mark.parametrize("change", CHANGES)
async def test_a_vector_goes_with_what_it_was_made_of_and_is_made_of_the_rest(
    space: Space, embedder: MeaningEmbedder, change: Callable[[Space, str], Awaitable[None]]
) -> None:
    other = await about(space, "They say that Kestrel moved.")
    said: dict[str, Any] = {
        "content": "Kestrel takes the payments.",
        "entities": [{"name": "Kestrel", "role": "subject"}, "Walter Moreau"],
    }
    if change is set_:
        request = MemorySet(agent_id=space.agent_id, key="kestrel", **said)
        gone = (await space.services.changes.setting.set(DEFAULT_SCOPE, request)).id
    else:
        gone = (await space.remember(**said)).id
    async with working(space.services):
        await _rebuild(space)
    assert (await vectors(space))["kestrel", ""][0] == {gone, other}
    await change(space, gone)
    if change is not reword:
        assert gone not in {id for made_of, _, _ in (await vectors(space)).values() for id in made_of}
    embedder.passages.clear()
    async with working(space.services):
        await let_time_pass(space.services, timedelta(minutes=1))
        await until_nothing_is_owed(space.services)
    made = await vectors(space)
    assert other in made["kestrel", ""][0]
    assert not any("payments" in text for text in embedder.passages)
    if change not in (reword, supersede, set_):
        assert ("walter moreau", "") not in made
    axis = MEANINGS.index("payments invoices billing money")
    assert max(abs(vector[axis]) for _, _, vector in made.values()) == 0


async def test_nothing_is_made_of_what_is_sensitive(space: Space, embedder: MeaningEmbedder) -> None:
    await about(space, "Kestrel takes the payments.", sensitivity="high")
    await space.remember_all(
        [
            {"content": "Merlin takes the payments.", "entities": ["Merlin"], "sensitivity": "high"},
            {"content": "A hobby is a falcon.", "entities": ["Hobby"]},
        ]
    )
    assert {name for name, _ in await vectors(space)} == {"hobby"}
    assert not any("\n" in text and "payments" in text for text in embedder.passages)


async def test_what_one_user_wrote_leads_another_nowhere(space: Space) -> None:
    await about(space, "Kestrel takes the payments.", user_id="ann")
    bobs = await about(space, "It is the one that moved.", user_id="bob")
    nobodys = await about(space, "It is loud.")
    assert {user for name, user in await vectors(space) if name == "kestrel"} == {"ann", "bob", ""}
    found = await space.hits("whose money?", user_id="bob")
    assert set(found) == {bobs}
    assert found[bobs].graph_score == 0
    # Who sees all is led by all.
    everything = await space.hits("whose money?")
    assert everything[bobs].graph_score == everything[nobodys].graph_score > 0


async def test_made_anew_they_are_what_they_were(space: Space) -> None:
    names = ["Kestrel", "Merlin", "Old Mill"]
    for at in range(12):
        said = ["payments", "city", "tea"][at % 3]
        await space.remember(f"{names[at % 3]} and {said}, {at}", entities=[names[at % 3], names[at // 4]])
    async with working(space.services):
        await _rebuild(space)
        before = await vectors(space)
        assert before.keys() == {("kestrel", ""), ("merlin", ""), ("old mill", "")}
        async with space.services.database.transaction() as connection:
            await driver(connection).execute(
                "UPDATE entity_vectors SET digest = '', embedding = $1",
                np.zeros(space.dimension, dtype=np.float32),
            )
            await driver(connection).execute(
                "DELETE FROM entity_vectors WHERE entity_id = (SELECT id FROM entities WHERE name = 'merlin')"
            )
        await _rebuild(space)
        assert await vectors(space) == before


async def _rebuild(space: Space) -> None:
    job = await space.services.jobs.rebuild_links(DEFAULT_SCOPE, space.agent_id)
    ended = await until(space.services, job.id, JobStatus.done, JobStatus.dead)
    assert (ended.status, ended.error) == (JobStatus.done, None)


async def test_an_embedder_that_fails_fails_no_write_and_is_asked_again(
    space: Space, embedder: MeaningEmbedder
) -> None:
    embedder.failing = True
    given = [1.0, *[0.0] * (space.dimension - 1)]
    written = await space.remember("Kestrel takes the payments.", entities=["Kestrel"], embedding=given)
    assert not written.linked
    assert await vectors(space) == {}
    owed = (await space.stats()).projections["entity_vectors"]
    assert (owed.pending, owed.failed) == (0, 1)
    embedder.failing = False
    async with working(space.services):
        await let_time_pass(space.services, timedelta(minutes=1))
        await until_nothing_is_owed(space.services)
    assert (await vectors(space))["kestrel", ""][0] == {written.id}


async def test_a_copy_of_an_agent_has_them_made_anew(space: Space, embedder: MeaningEmbedder) -> None:
    await about(space, "Kestrel takes the payments.")
    embedder.failing = True
    await space.remember("Merlin", entities=["Merlin"], embedding=[1.0, *[0.0] * (space.dimension - 1)])
    embedder.failing = False
    app = create_app(services=space.services)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as http:
        # What was owed is not in the file: it is owed to all.
        copy = Space(space.services, await made_of(http, await exported(http, space.agent_id), name="copy", ids="new"))
    assert await vectors(copy) == {}
    async with working(space.services):
        await let_time_pass(space.services, timedelta(minutes=1))
        await until_nothing_is_owed(space.services)
    made, copied = await vectors(space), await vectors(copy)
    assert made.keys() == copied.keys() == {("kestrel", ""), ("merlin", "")}
    assert {name: rest for name, (_, *rest) in made.items()} == {name: rest for name, (_, *rest) in copied.items()}


async def test_a_batch_is_embedded_in_one_call(space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    embed = MeaningEmbedder.embed_passages

    async def counting(self: MeaningEmbedder, texts: Any) -> Any:
        calls.append(len(texts))
        return await embed(self, texts)

    monkeypatch.setattr(MeaningEmbedder, "embed_passages", counting)
    batch = await space.remember_all([{"content": f"note {at}", "entities": [f"Bird {at}"]} for at in range(20)])
    assert calls == [20, 20]
    assert {id for made_of, _, _ in (await vectors(space)).values() for id in made_of} == set(ids(batch))
