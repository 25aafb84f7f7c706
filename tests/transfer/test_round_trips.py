"""What goes out and comes in is the same: the same file, and the same answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import httpx
import pytest

from engram import AsyncEngram
from engram.agents.schemas import Agent
from engram.db.embedded import EmbeddedPostgres
from engram.server.app import create_app
from engram.services import Services, open_services
from engram.settings import Settings
from tests.fixtures.databases import temporary_database
from tests.fixtures.servers import LOCAL
from tests.fixtures.wiring import HashEmbedder, opened

from .files import exported, imported, made_of, of_type, records, told
from .lives import answers, live, questions


@asynccontextmanager
async def _client(services: Services) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(create_app(services=services)), base_url=LOCAL) as http:
        yield http


@pytest.fixture
async def elsewhere(postgres: EmbeddedPostgres, template: str, settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    """A server with the same model, on another database."""
    async with temporary_database(postgres, f"TEMPLATE {template} STRATEGY FILE_COPY") as url:
        other = Settings.model_validate({**settings.model_dump(), "database_url": url})
        async with open_services(other) as services, _client(services) as http:
            yield http


async def test_what_was_lived_is_recalled_from_the_copy_as_from_the_original(
    engram: AsyncEngram, http: httpx.AsyncClient, elsewhere: httpx.AsyncClient, agent: Agent
) -> None:
    """200 recalls, from another database, and from the same one with new ids."""
    await live(engram, agent.id, steps=60, seed=1)
    between = datetime.now(UTC)
    await live(engram, agent.id, steps=120, seed=2)
    first = await engram.memories.set(agent.id, "home", "Alice lives in Porto.")
    await engram.memories.set(agent.id, "home", "Alice lives in Lisbon.")
    await engram.memories.restore(first.id)
    file = await exported(http, agent.id)
    kinds = {record["type"] for record in records(file)}
    assert kinds == {"header", "memory", "memory_version", "entity", "mention", "edge", "edge_version", "footer"}
    memories = of_type(file, "memory")
    assert {memory["status"] for memory in memories} == {"current", "superseded", "deleted"}
    assert any(memory["earlier"] for memory in memories)
    assert any(memory["passages"] for memory in memories)

    moments = [between, datetime(2026, 2, 1, tzinfo=UTC), datetime.now(UTC)]
    asked = questions(200, moments, seed=3)
    expected = await answers(http, agent.id, asked)
    assert sum("'results': []" not in answer for answer in expected) > 100

    there = await made_of(elsewhere, file)
    assert await answers(elsewhere, there, asked) == expected
    assert told(await exported(elsewhere, there)) == told(file)

    beside = await made_of(http, file, name="beside", ids="new")
    copy = await exported(http, beside)
    renamed = [
        (old["id"], new["id"])
        for kind in ("memory", "entity")
        for old, new in zip(of_type(file, kind), of_type(copy, kind), strict=True)
    ]
    assert all(old != new for old, new in renamed)
    found = await answers(http, beside, asked)
    for old, new in renamed:
        found = [answer.replace(new, old) for answer in found]
    assert found == expected
    text = copy.decode()
    for old, new in renamed:
        text = text.replace(new, old)
    back = told(text.encode())
    back[0]["agent"]["name"] = "clerk"
    assert back == told(file)


async def test_a_copy_lives_on_like_the_original(
    engram: AsyncEngram, http: httpx.AsyncClient, elsewhere: httpx.AsyncClient, agent: Agent
) -> None:
    """What is written, set, restored and deleted next does the same to both: slots, twins and names are there."""
    await live(engram, agent.id, steps=60, seed=4)
    copied = await made_of(elsewhere, await exported(http, agent.id))
    async with AsyncEngram(LOCAL, http_client=elsewhere, max_retries=0) as other:
        for client, id in ((engram, agent.id), (other, copied)):
            await live(client, id, steps=80, seed=4)

    def shape(file: bytes) -> list[tuple[object, ...]]:
        names = ("content", "key", "user_id", "session_id", "status", "version", "tags", "twin")
        return sorted(tuple(str(memory[name]) for name in names) for memory in of_type(file, "memory"))

    assert shape(await exported(http, agent.id)) == shape(await exported(elsewhere, copied))


async def test_an_export_of_a_moment_has_what_held_then_without_a_past(
    engram: AsyncEngram, http: httpx.AsyncClient, agent: Agent
) -> None:
    await engram.memories.set(agent.id, "home", "Alice lives in Porto.", valid_from="2026-01-01")
    await engram.memories.set(agent.id, "home", "Alice lives in Lisbon.", valid_from="2026-03-01")
    note = await engram.memories.create(agent.id, "The lease ends in May.", valid_from="2026-01-01")
    gone = await engram.memories.create(agent.id, "The rent is due.", valid_from="2026-01-01")
    await engram.graph.create_edge(note.id, gone.id, "causal", valid_from="2026-01-01", valid_until="2026-02-15")
    known = datetime.now(UTC)
    await engram.memories.update(note.id, content="The lease ends in June.")
    await engram.memories.delete(gone.id)

    async def held(name: str, **moment: object) -> list[str]:
        params = {key: value.isoformat() if isinstance(value, datetime) else value for key, value in moment.items()}
        file = await exported(http, agent.id, **params)
        assert {line["status"] for line in of_type(file, "memory")} == {"current"}
        assert not [*of_type(file, "memory_version"), *of_type(file, "edge_version")]
        copy = await made_of(http, file, name=name, ids="new")
        at = params.get("as_of") or params["known_at"]
        recalled = await http.post(
            "/v1/memories/recall", json={"agent_id": copy, "query": "Alice lease rent", "as_of": at, "min_score": 0}
        )
        assert len(of_type(file, "edge")) == len(of_type(await exported(http, copy), "edge"))
        edges = [f"{len(of_type(file, 'edge'))} edges"]
        return sorted(hit["content"] for hit in recalled.json()["results"]) + edges

    porto, lisbon = "Alice lives in Porto.", "Alice lives in Lisbon."
    assert await held("a", as_of="2026-02-01T00:00:00Z") == [porto, "The lease ends in June.", "0 edges"]
    assert await held("b", known_at=known) == [lisbon, "The lease ends in May.", "The rent is due.", "0 edges"]
    assert await held("c", known_at=known, as_of="2026-02-01T00:00:00Z") == [
        *(porto, "The lease ends in May.", "The rent is due."),
        "1 edges",
    ]


async def test_without_history_nothing_of_the_past_leaves(
    engram: AsyncEngram, http: httpx.AsyncClient, agent: Agent
) -> None:
    await live(engram, agent.id, steps=120, seed=5)
    gone = await engram.memories.create(agent.id, "the secret of yesterday")
    await engram.memories.delete(gone.id)
    changed = await engram.memories.create(agent.id, "the secret of before")
    await engram.memories.update(changed.id, content="known to all")
    file = await exported(http, agent.id, include_history=False)
    assert b"secret" not in file
    assert b'"deleted"' not in file
    assert b"secret of before" in await exported(http, agent.id)
    assert not [*of_type(file, "memory_version"), *of_type(file, "edge_version")]
    assert all(edge["invalidated_at"] is None for edge in of_type(file, "edge"))
    copy = await made_of(http, file, name="copy", ids="new")
    now = questions(40, [datetime(2026, 2, 1, tzinfo=UTC)], seed=6)
    asked = [{name: value for name, value in one.items() if name not in ("known_at", "explain")} for one in now]

    def contents(found: list[dict[str, object]]) -> list[object]:
        return [(hit["content"], hit["score"]) for hit in found]

    for question in asked:
        both = [
            (await http.post("/v1/memories/recall", json={"agent_id": id, **question})).json()["results"]
            for id in (agent.id, copy)
        ]
        assert contents(both[0]) == contents(both[1])


async def test_vectors_of_another_model_are_refused_or_made_anew(
    engram: AsyncEngram,
    http: httpx.AsyncClient,
    postgres: EmbeddedPostgres,
    template: str,
    settings: Settings,
    agent: Agent,
) -> None:
    await live(engram, agent.id, steps=60, seed=7)
    file, bare = await exported(http, agent.id), await exported(http, agent.id, include_embeddings=False)
    assert len(bare) < len(file) / 2
    async with temporary_database(postgres, f"TEMPLATE {template} STRATEGY FILE_COPY") as url:
        other = Settings.model_validate({**settings.model_dump(), "database_url": url})
        async with opened(other, HashEmbedder(16)) as services, _client(services) as elsewhere:
            refused = await imported(elsewhere, file)
            assert refused.status_code == 409
            assert "static/l2_supercat_256 (256" in refused.json()["detail"]
            assert "test/hash (16)" in refused.json()["detail"]
            texts = len(of_type(file, "memory")) + len(of_type(file, "memory_version"))
            for source, params in ((file, {"reembed": "true"}), (bare, {"ids": "new", "name": "bare"})):
                answer = await imported(elsewhere, source, **params)
                assert (answer.status_code, answer.json()["embedded"]) == (201, texts), answer.text
                copy = await exported(elsewhere, answer.json()["id"])
                (header, *_) = records(copy)
                assert header["model"] == {"provider": "test", "name": "hash", "dimension": 16}
                for kind in ("memory", "memory_version"):
                    assert [line["content"] for line in of_type(copy, kind)] == [
                        line["content"] for line in of_type(file, kind)
                    ]
    # The same model makes the same vectors.
    again = await made_of(http, bare, ids="new", name="again")
    ours, theirs = of_type(await exported(http, again), "memory"), of_type(file, "memory")
    assert [line["embedding"] for line in ours] == [line["embedding"] for line in theirs]
    assert [line["passages"] for line in ours] == [line["passages"] for line in theirs]
