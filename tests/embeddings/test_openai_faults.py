"""Each way in which a provider fails, and what the caller is told."""

from __future__ import annotations

import asyncio
import json
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from engram.embeddings import errors
from tests.embeddings.conftest import KEY
from tests.embeddings.provider import DIMENSION, Reply, answer, error, vector_of, well


def body(text: str, content_type: str = "application/json"):
    return lambda _: Reply(body=text.encode(), headers={"Content-Type": content_type})


def items(*vectors, indices=None):
    numbered = zip(indices or range(len(vectors)), vectors, strict=True)
    return body(json.dumps({"data": [{"index": index, "embedding": vector} for index, vector in numbered]}))


GOOD = vector_of("good")
NAN = [float("nan")] * DIMENSION
INFINITE = [float("inf"), *GOOD[1:]]
LEAKY = f"Incorrect API key provided: {KEY}."

FAULTS = {
    "429": (error(429, LEAKY, Retry_After="0"), errors.RateLimitedProblem, 503, 2),
    "429 for long": (error(429, Retry_After="60"), errors.RateLimitedProblem, 503, 1),
    "500": (error(500, LEAKY, Retry_After="0"), errors.ProviderFailedProblem, 502, 2),
    "503": (error(503, LEAKY, Retry_After="0"), errors.ProviderFailedProblem, 502, 2),
    "time-out": (lambda texts: Reply(delay=3), errors.TimedOutProblem, 504, 2),
    "slow drip": (
        lambda texts: Reply(body=answer([GOOD] * 2).body, drip=0.05),
        errors.TimedOutProblem,
        504,
        2,
    ),
    "quota": (
        lambda texts: Reply(429, json.dumps({"error": {"code": "insufficient_quota", "message": LEAKY}}).encode()),
        errors.RefusedProblem,
        502,
        1,
    ),
    "401": (error(401, LEAKY), errors.RefusedProblem, 502, 1),
    "403": (error(403, LEAKY), errors.RefusedProblem, 502, 1),
    "404": (error(404, LEAKY), errors.RefusedProblem, 502, 1),
    "400": (error(400, LEAKY), errors.RefusedProblem, 502, 1),
    "wrong dimension": (items(GOOD[:5], GOOD[:5]), errors.WrongDimensionProblem, 502, 1),
    "too few": (items(GOOD), errors.WrongCountProblem, 502, 1),
    "too many": (items(GOOD, GOOD, GOOD), errors.WrongCountProblem, 502, 1),
    "none": (items(), errors.WrongCountProblem, 502, 1),
    "NaN": (items(GOOD, NAN), errors.NotFiniteProblem, 502, 1),
    "infinite": (items(INFINITE, GOOD), errors.NotFiniteProblem, 502, 1),
    "null": (items(GOOD, None), errors.MalformedAnswerProblem, 502, 1),
    "null number": (items(GOOD, [None] * DIMENSION), errors.MalformedAnswerProblem, 502, 1),
    "same index": (items(GOOD, GOOD, indices=[0, 0]), errors.MalformedAnswerProblem, 502, 1),
    "cut JSON": (body('{"data": [{"index": 0, "emb'), errors.MalformedAnswerProblem, 502, 1),
    "other JSON": (body('{"error": "no such model"}'), errors.MalformedAnswerProblem, 502, 1),
    "HTML": (body("<html>It works!</html>", "text/html"), errors.MalformedAnswerProblem, 502, 1),
    "nothing": (body(""), errors.MalformedAnswerProblem, 502, 1),
}


@pytest.mark.parametrize(("behaviour", "problem", "status", "calls"), FAULTS.values(), ids=FAULTS.keys())
async def test_each_fault_has_its_own_error(served, provider, behaviour, problem, status, calls):
    embedder = await served(embedding_timeout=0.3 if problem is errors.TimedOutProblem else 5)
    provider.behave(behaviour)
    with pytest.raises(errors.EmbeddingProblem) as caught:
        await embedder.embed_passages(["one", "two"])
    assert type(caught.value) is problem
    assert caught.value.status == status
    assert len(provider.requests) == calls
    assert "some-model" in caught.value.detail
    assert provider.base_url in caught.value.detail
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + repr(vars(caught.value))
    assert KEY not in shown


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (401, "EMBEDDING_API_KEY"),
        (403, "EMBEDDING_API_KEY"),
        (404, "EMBEDDING_BASE_URL"),
        (400, "EMBEDDING_MODEL"),
    ],
)
async def test_a_refusal_says_what_to_fix(served, provider, status, advice):
    embedder = await served()
    provider.behave(error(status, "model not loaded"))
    with pytest.raises(errors.RefusedProblem, match=advice):
        await embedder.embed_query("text")


async def test_what_the_server_said_is_passed_on(served, provider):
    embedder = await served()
    provider.behave(error(400, "input must be a haiku"))
    with pytest.raises(errors.RefusedProblem, match="input must be a haiku"):
        await embedder.embed_query("text")


async def test_a_server_that_is_not_there_cannot_be_reached(served, provider):
    embedder = await served()
    provider.stop()
    with pytest.raises(errors.UnreachableProblem) as caught:
        await embedder.embed_query("text")
    assert caught.value.status == 503


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_passing_fault_is_tried_again_and_forgotten(served, provider, status):
    embedder = await served(embedding_max_retries=2)
    provider.behave(error(status, Retry_After="0"), error(status, Retry_After="0"), well)
    vector = await embedder.embed_query("text")
    assert vector == pytest.approx(vector_of("text"), abs=1e-6)
    assert len(provider.requests) == 3


async def test_no_retries_means_one_call(served, provider):
    embedder = await served(embedding_max_retries=0)
    provider.behave(error(500))
    with pytest.raises(errors.ProviderFailedProblem):
        await embedder.embed_query("text")
    assert len(provider.requests) == 1


async def test_retry_after_is_waited_for(served, provider):
    embedder = await served()
    loop = asyncio.get_running_loop()
    times = []

    def timed(behaviour):
        def reply(texts):
            times.append(loop.time())
            return behaviour(texts)

        return reply

    provider.behave(timed(error(429, Retry_After="1")), timed(well))
    await embedder.embed_query("text")
    assert times[1] - times[0] >= 1


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("90", 90),
        ("7.5", 7.5),
        ("in an hour", pytest.approx(3600, abs=60)),
        ("soon", None),
        ("inf", None),
        ("-5", 0),
    ],
)
async def test_retry_after_is_passed_on(served, provider, header, seconds):
    if header == "in an hour":  # from when the test runs, which may be long after it was collected
        header = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    embedder = await served(embedding_max_retries=0)
    provider.behave(error(429, Retry_After=header))
    with pytest.raises(errors.RateLimitedProblem) as caught:
        await embedder.embed_query("text")
    assert caught.value.retry_after == seconds


async def test_a_fault_in_a_later_call_fails_the_whole(served, provider):
    embedder = await served()
    provider.behave(well, error(400, "no"))
    with pytest.raises(errors.RefusedProblem):
        await embedder.embed_passages([f"text {number}" for number in range(300)])


async def test_credentials_in_the_address_are_not_shown(served, provider):
    address = provider.base_url.replace("http://", "http://someone:hunter2@")
    embedder = await served(embedding_base_url=address)
    provider.behave(error(400, "no"))
    with pytest.raises(errors.RefusedProblem) as caught:
        await embedder.embed_query("text")
    assert provider.base_url in caught.value.detail
    assert "hunter2" not in "".join(traceback.format_exception(caught.value)) + repr(vars(caught.value))
