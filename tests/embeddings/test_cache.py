from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest

from engram.embeddings.base import EmbeddingModel, Passages, Vectors
from engram.embeddings.cache import CachedQueries
from tests.embeddings.provider import DIMENSION, vector_of


class Counting:
    """Counts what it is asked, and answers when ``gate`` is open."""

    model = EmbeddingModel("test", "counting", DIMENSION, None, 0.5)

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.failures: list[Exception] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.started = asyncio.Event()
        self.closed = False

    async def embed_passages(self, texts: Sequence[str]) -> Passages:
        return Passages(np.array([vector_of(text) for text in texts], dtype=np.float32), [1] * len(texts))

    async def embed_query(self, text: str) -> Vectors:
        self.asked.append(text)
        self.started.set()
        await self.gate.wait()
        if self.failures:
            raise self.failures.pop()
        return np.array(vector_of(text), dtype=np.float32)

    async def aclose(self) -> None:
        self.closed = True


@pytest.fixture
def counting() -> Counting:
    return Counting()


async def test_a_repeated_query_is_computed_once(counting):
    cached = CachedQueries(counting)
    first = await cached.embed_query("who?")
    assert np.array_equal(await cached.embed_query("who?"), first)
    assert first == pytest.approx(vector_of("who?"), abs=1e-6)
    assert counting.asked == ["who?"]


async def test_what_is_kept_cannot_be_written_to(counting):
    vector = await CachedQueries(counting).embed_query("who?")
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 1


async def test_queries_that_differ_in_a_space_differ(counting):
    cached = CachedQueries(counting)
    await cached.embed_query("who?")
    await cached.embed_query("who? ")
    assert counting.asked == ["who?", "who? "]


async def test_the_query_not_asked_for_longest_is_forgotten_first(counting):
    cached = CachedQueries(counting, capacity=2)
    for text in ["a", "b", "a", "c", "a", "b"]:
        await cached.embed_query(text)
    assert counting.asked == ["a", "b", "c", "b"]


async def test_long_queries_are_kept_only_as_far_as_there_is_room(counting):
    cached = CachedQueries(counting, max_bytes=4000)
    long, longer = "a" * 2500, "b" * 2500
    for text in [long, "c", "c", longer, "c", longer, long, "d" * 5000, "d" * 5000]:
        await cached.embed_query(text)
    assert counting.asked == [long, "c", longer, long, "d" * 5000, "d" * 5000]


async def test_the_same_query_at_once_is_computed_once(counting):
    cached = CachedQueries(counting)
    counting.gate.clear()
    callers = [asyncio.create_task(cached.embed_query("who?")) for _ in range(10)]
    await counting.started.wait()
    counting.gate.set()
    vectors = await asyncio.gather(*callers)
    assert all(np.array_equal(vector, vectors[0]) for vector in vectors)
    assert counting.asked == ["who?"]


async def test_a_failure_reaches_every_caller_and_is_not_kept(counting):
    cached = CachedQueries(counting)
    counting.failures.append(RuntimeError("away"))
    counting.gate.clear()
    callers = [asyncio.create_task(cached.embed_query("who?")) for _ in range(3)]
    await counting.started.wait()
    counting.gate.set()
    results = await asyncio.gather(*callers, return_exceptions=True)
    assert [str(result) for result in results] == ["away"] * 3
    assert await cached.embed_query("who?") == pytest.approx(vector_of("who?"), abs=1e-6)
    assert counting.asked == ["who?", "who?"]


async def test_a_caller_who_leaves_does_not_take_the_others_along(counting):
    cached = CachedQueries(counting)
    counting.gate.clear()
    first = asyncio.create_task(cached.embed_query("who?"))
    await counting.started.wait()
    second = asyncio.create_task(cached.embed_query("who?"))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    counting.gate.set()
    assert await second == pytest.approx(vector_of("who?"), abs=1e-6)
    assert counting.asked == ["who?"]


async def test_a_query_can_be_asked_again_when_all_callers_have_left(counting):
    cached = CachedQueries(counting)
    counting.gate.clear()
    only = asyncio.create_task(cached.embed_query("who?"))
    await counting.started.wait()
    only.cancel()
    with pytest.raises(asyncio.CancelledError):
        await only
    counting.gate.set()
    assert await cached.embed_query("who?") == pytest.approx(vector_of("who?"), abs=1e-6)


async def test_passages_pass_through(counting):
    passages = await CachedQueries(counting).embed_passages(["a", "b"])
    assert passages.vectors == pytest.approx(np.array([vector_of("a"), vector_of("b")]), abs=1e-6)
    assert CachedQueries(counting).model is counting.model


async def test_closing_ends_what_is_under_way(counting):
    cached = CachedQueries(counting)
    counting.gate.clear()
    caller = asyncio.create_task(cached.embed_query("who?"))
    await counting.started.wait()
    await cached.aclose()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert counting.closed
