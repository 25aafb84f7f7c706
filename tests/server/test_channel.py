"""What two processes of one server ask of each other."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from engram.embeddings.errors import EmbeddingProblem, Source
from engram.http.problems import RateLimitedProblem
from engram.problems import InvalidInputProblem, Problem, UnavailableProblem
from engram.server.workers.channel import Answer, Channel, ChannelClosedError, packed, read_first


@asynccontextmanager
async def ends(left: Answer, right: Answer) -> AsyncIterator[tuple[Channel, Channel]]:
    pair = socket.socketpair()
    channels = [await Channel.over(end, answer) for end, answer in zip(pair, (left, right), strict=True)]
    running = [asyncio.create_task(channel.run()) for channel in channels]
    yield channels[0], channels[1]
    for channel in channels:
        channel.close()
    await asyncio.wait(running)


async def twice(asked: str, given: Any) -> Any:
    await asyncio.sleep(0.01 if given == "slow" else 0)
    return [asked, given]


async def test_both_ends_ask_and_answers_find_who_asked() -> None:
    async with ends(twice, twice) as (left, right):
        slow, quick, other = await asyncio.gather(left.ask("a", "slow"), left.ask("b", 2), right.ask("c"))
    assert (slow, quick, other) == (["a", "slow"], ["b", 2], ["c", None])


async def test_what_is_large_comes_whole() -> None:
    async with ends(twice, twice) as (left, _):
        large = "x" * 5_000_000
        assert await left.ask("large", large) == ["large", large]


@pytest.mark.parametrize(
    "problem",
    [
        RateLimitedProblem("More than 5 per 1 minute.", retry_after=7),
        InvalidInputProblem.of("name", "is too long"),
        EmbeddingProblem(Source("static", "tiny"), "is away."),
    ],
    ids=lambda problem: type(problem).__name__,
)
async def test_a_problem_is_raised_where_it_was_asked(problem: Problem) -> None:
    async def fail(asked: str, given: Any) -> Any:
        raise problem

    async with ends(twice, fail) as (left, _):
        with pytest.raises(type(problem)) as caught:
            await left.ask("anything")
    assert str(caught.value) == str(problem)
    assert vars(caught.value) == vars(problem)


async def test_what_nobody_foresaw_tells_nothing_of_itself() -> None:
    async def fail(asked: str, given: Any) -> Any:
        raise KeyError("s3cret")

    async with ends(twice, fail) as (left, _):
        with pytest.raises(UnavailableProblem) as caught:
            await left.ask("anything")
    assert "s3cret" not in str(caught.value)


async def test_who_waits_is_told_when_the_other_end_goes() -> None:
    async def never(asked: str, given: Any) -> Any:
        await asyncio.Event().wait()

    async with ends(twice, never) as (left, right):
        asking = asyncio.create_task(left.ask("anything"))
        await asyncio.sleep(0.01)
        right.close()
        with pytest.raises(ChannelClosedError):
            await asking
        with pytest.raises(ChannelClosedError):
            await left.ask("again")


async def test_the_first_message_needs_no_loop() -> None:
    ours, theirs = socket.socketpair()
    ours.sendall(packed({"pool": 10}) + packed("next"))
    assert read_first(theirs) == {"pool": 10}
    assert read_first(theirs) == "next"
    ours.close()
    with pytest.raises(EOFError):
        read_first(theirs)
    theirs.close()
