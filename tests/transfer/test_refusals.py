"""What no server wrote is refused by line and field, and nothing of it stays."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import pytest

from engram import AsyncEngram
from engram.agents.schemas import Agent
from engram.db.database import Database, driver
from engram.services import Services
from engram.transfer.example import EMPTY_EXPORT

from .files import NDJSON, Record, changed, exported, file_of, imported, made_of, of_type, records

Change = Callable[[Record], object]

NOBODY = "01890a5d-ac96-774b-bcce-b302099a8057"


def put(**fields: Any) -> Change:
    return lambda line: line.update(fields)


def vector(*numbers: float) -> str:
    return base64.b64encode(np.array([*numbers, *[0.0] * (256 - len(numbers))], dtype="<f4").tobytes()).decode()


@pytest.fixture
async def file(engram: AsyncEngram, http: httpx.AsyncClient, agent: Agent) -> bytes:
    """Three memories, the first of them changed, an edge that was too, entities and mentions. Its agent is gone."""
    first = await engram.memories.create(agent.id, "Alice moved to Lisbon.", entities=["Alice"], session_id="s")
    second = await engram.memories.set(agent.id, "home", "Alice lives in Porto.", session_id="s")
    await engram.memories.set(agent.id, "home", "Alice lives in Lisbon.", session_id="s")
    await engram.memories.update(first.id, content="Alice moved to Lisbon in May.")
    await engram.graph.create_edge(first.id, second.id, "causal", weight=0.5)
    await engram.graph.delete_edge(first.id, second.id, "causal")
    await engram.graph.create_edge(first.id, second.id, "causal", weight=0.75)
    file = await exported(http, agent.id)
    await engram.agents.delete(agent.id)
    return file


async def nothing_is_left(database: Database) -> None:
    tables = ("agents", "memories", "memory_terms", "memory_passages", "memory_versions", "entities", "edges")
    async with database.snapshot() as connection:
        left = [table for table in tables if await driver(connection).fetchval(f"SELECT count(*) FROM {table}")]
    assert left == []


WRONG: dict[str, tuple[str, int, Change, str]] = {
    "no id": ("memory", 0, put(id="nobody"), "id"),
    "a field too many": ("memory", 0, put(colour="blue"), "colour"),
    "a field too few": ("memory", 0, lambda line: line.pop("status"), "status"),
    "a number as text": ("memory", 0, put(confidence="1"), "confidence"),
    "more than certain": ("memory", 0, put(confidence=1.5), "confidence"),
    "a status of its own": ("memory", 0, put(status="asleep"), "status"),
    "no text": ("memory", 0, put(content=" "), "content"),
    "nul": ("memory", 0, put(content="a\0b"), "content"),
    "nul in metadata": ("memory", 0, put(metadata={"a": ["\0"]}), "metadata"),
    "a lone surrogate": ("memory", 0, put(content="\ud800"), "content"),
    "version 0": ("memory", 0, put(version=0), "version"),
    "a window of nothing": ("memory", 0, put(valid_until="2000-01-01T00:00:00Z"), ""),
    "deleted without a date": ("memory", 0, put(status="deleted"), ""),
    "followed though current": ("memory", 0, put(superseded_by=NOBODY), ""),
    "an endless vector": ("memory", 0, put(embedding=vector(np.inf)), "embedding"),
    "no number at all": ("memory", 0, put(embedding=vector(np.nan)), "embedding"),
    "a long vector": ("memory", 0, put(embedding=vector(3.0)), "embedding"),
    "too short a vector": ("memory", 0, put(embedding="AAAA"), "embedding"),
    "no vector": ("memory", 0, put(embedding="???"), "embedding"),
    "a passage that is none": ("memory", 0, put(passages=["AAAA"]), "passages.0"),
    "periods that run back": (
        *("memory", 0, put(earlier=[["2026-02-01T00:00:00Z", "2026-01-01T00:00:00Z"]]), "earlier"),
    ),
    "a state of nobody": ("memory_version", 0, put(memory_id=NOBODY), "memory_id"),
    "a state of the future": ("memory_version", 0, put(version=2), "version"),
    "known before it was": ("memory_version", 0, put(recorded_until="2000-01-01T00:00:00Z"), ""),
    "an edge from nobody": ("edge", 0, put(source_id=NOBODY), "source_id"),
    "an edge to nobody": ("edge", -1, put(target_id=NOBODY.replace("01890", "ffff0")), "target_id"),
    "an edge of no weight": ("edge", 0, put(weight=0), "weight"),
    "an edge of no type": ("edge", 0, put(relation_type="hearsay"), "relation_type"),
    "a past of no edge": ("edge_version", 0, put(source_id=NOBODY), "source_id"),
    "a name without a memory": ("mention", -1, put(memory_id=NOBODY.replace("01890", "ffff0")), "memory_id"),
    "a memory without a name": ("mention", 0, put(entity_id=NOBODY), "entity_id"),
    "two of one name": ("entity", 1, put(name="alice"), "name"),
}


async def test_a_line_that_is_wrong_is_named(http: httpx.AsyncClient, file: bytes, database: Database) -> None:
    for wrong, (kind, place, change, field) in WRONG.items():
        bad = changed(file, kind, change, place=place)
        lines = [number for number, line in enumerate(records(bad), start=1) if line["type"] == kind]
        expected = f"line {lines[place]}" + (f".{field}" if field else "")
        answer = await imported(http, bad)
        assert answer.status_code == 422, (wrong, answer.text)
        assert answer.json()["errors"][0]["field"].startswith(expected), (wrong, answer.text)
        await nothing_is_left(database)


async def test_two_that_are_current_under_one_key_are_refused(
    http: httpx.AsyncClient, file: bytes, database: Database
) -> None:
    standing = put(status="current", superseded_by=None, valid_until=None)
    answer = await imported(http, changed(file, "memory", standing, place=1))
    assert [error["field"] for error in answer.json()["errors"]] == ["line 4.key"]
    await nothing_is_left(database)


async def test_a_file_that_is_not_whole_or_not_in_order_is_refused(
    http: httpx.AsyncClient, file: bytes, database: Database
) -> None:
    *lines, footer = file.splitlines(keepends=True)
    header, *rest = lines
    whole = records(file)
    memories, others = of_type(file, "memory"), [line for line in whole[1:] if line["type"] != "memory"]
    for bad, said in {
        b"": "the file is empty",
        b"\n": "is not JSON",
        b"[1]\n": "must be a JSON object",
        b'{"a": NaN}\n': "NaN",
        b'{"a": 1, "a": 2}\n': "twice",
        b"\xff\n": "UTF-8",
        b'{"content": "a memory"}\n': "no export of an agent",
        file.replace(b'"version":1', b'"version":2', 1): "version",
        header: "footer is missing",
        b"".join(lines): "footer is missing",
        b"".join(lines) + footer[:-20]: "is not JSON",
        b"".join([header, *rest[1:], footer]): "lines are missing",
        file.replace(b"Porto", b"Paris", 1): "have been changed",
        file + b"\n": "after the footer",
        file + header: "after the footer",
        file.replace(b'"type":"edge"', b'"type":"knot"', 1): "must be one of",
        file_of([whole[0], *others, *memories]): "must not come after",
        file_of([whole[0], *memories[::-1], *others]): "out of the order",
        file_of([whole[0], memories[0], *memories, *others]): "the same memory as the line before",
        changed(file, "header", lambda line: line["agent"].update(language="klingon")): "agent.language",
        changed(file, "header", lambda line: line.update(format="csv")): "no export of an agent",
    }.items():
        answer = await imported(http, bad)
        assert (answer.status_code, said in answer.text) == (422, True), (said, answer.text)
    await nothing_is_left(database)
    await made_of(http, file)


async def test_what_is_taken_is_a_conflict(engram: AsyncEngram, http: httpx.AsyncClient, file: bytes) -> None:
    empty = await engram.agents.create("clerk")
    made = await made_of(http, file)
    assert made != empty.id
    assert [agent.id async for agent in engram.agents.list()] == [made]
    for params, said in (
        ({}, "'clerk', and it holds something"),
        ({"ids": "new"}, "'clerk', and it holds something"),
        ({"name": "cook"}, f"memory {of_type(file, 'memory')[0]['id']} already"),
    ):
        answer = await imported(http, file, **params)
        assert (answer.status_code, said in answer.json()["detail"]) == (409, True), answer.text
    await made_of(http, file, name="cook", ids="new")


async def test_what_is_asked_wrongly_is_refused(http: httpx.AsyncClient, file: bytes) -> None:
    for status, field, asked in (
        (422, "ids", {"params": {"ids": "some"}}),
        (422, "Idempotency-Key", {"headers": {**NDJSON, "idempotency-key": "k"}}),
        (422, "name", {"params": {"name": ""}}),
        (415, "", {"headers": {"content-type": "application/json"}}),
        (415, "", {"headers": {}}),
        (415, "", {"headers": {**NDJSON, "content-encoding": "gzip"}}),
    ):
        answer = await http.post("/v1/agents/import", **{"headers": NDJSON, "content": file, **asked})
        assert answer.status_code == status, answer.text
        assert [error["field"] for error in answer.json()["errors"]] == ([field] if field else [])


async def test_a_long_line_is_not_held(services: Services, http: httpx.AsyncClient) -> None:
    async def endless() -> Any:
        yield EMPTY_EXPORT.splitlines(keepends=True)[0].encode()
        for _ in range(64):
            yield b" " * 1024 * 1024
        raise AssertionError("more was read than a line may have")

    answer = await http.post("/v1/agents/import", content=endless(), headers=NDJSON)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "line 2"


async def test_an_import_may_be_larger_than_a_body_and_not_larger_than_its_own_bound(
    live_server_with: Callable[..., str], file: bytes
) -> None:
    url = live_server_with(max_body_bytes=8 * 1024, max_import_bytes=len(file))
    assert len(file) > 8 * 1024
    async with httpx.AsyncClient(base_url=url) as http:
        await made_of(http, file)
        answer = await imported(http, file + b" " * 100)
        assert answer.status_code == 413
