"""A server that starts while its provider is away, busy or wrong."""

from __future__ import annotations

import traceback

import pytest

from engram.embeddings import errors
from engram.problems import ConfigurationProblem
from tests.embeddings.conftest import KEY
from tests.embeddings.provider import DIMENSION, Reply, error, vector_of, well

AWAY = {
    "429": (error(429, Retry_After="0"), errors.RateLimitedProblem),
    "500": (error(500, Retry_After="0"), errors.ProviderFailedProblem),
    "time-out": (lambda texts: Reply(delay=3), errors.TimedOutProblem),
}
away = pytest.mark.parametrize(("behaviour", "problem"), AWAY.values(), ids=AWAY.keys())


@away
async def test_with_the_dimension_set_it_starts_and_works_later(served, provider, behaviour, problem):
    provider.behave(behaviour)
    embedder = await served(embedding_dimension=DIMENSION, embedding_timeout=0.3)
    assert embedder.model.dimension == DIMENSION
    assert len(provider.requests) == 1
    with pytest.raises(problem):
        await embedder.embed_passages(["text"])
    provider.behave(well)
    assert (await embedder.embed_passages(["text"])).vectors[0] == pytest.approx(vector_of("text"), abs=1e-6)


@away
async def test_without_the_dimension_it_says_how_to_start(served, provider, behaviour, problem):
    provider.behave(behaviour)
    with pytest.raises(ConfigurationProblem, match="set EMBEDDING_DIMENSION to start now"):
        await served(embedding_timeout=0.3)
    assert len(provider.requests) == 2


async def test_a_server_that_is_not_there_does_not_stop_the_start(served, provider):
    provider.stop()
    embedder = await served(embedding_dimension=DIMENSION, embedding_max_retries=0)
    with pytest.raises(errors.UnreachableProblem):
        await embedder.embed_query("text")


async def test_the_dimension_of_openais_models_is_known(served, provider):
    provider.behave(error(429, Retry_After="0"))
    embedder = await served(embedding_model=None)
    assert embedder.model.name == "text-embedding-3-small"
    assert embedder.model.dimension == 1536


async def test_a_dimension_that_turns_out_wrong_later_is_an_error_then(served, provider):
    provider.behave(error(503), well)
    embedder = await served(embedding_dimension=DIMENSION + 1)
    with pytest.raises(errors.WrongDimensionProblem, match=f"of {DIMENSION} dimensions where {DIMENSION + 1}"):
        await embedder.embed_passages(["text"])


async def test_a_wrong_dimension_stops_the_start(served):
    with pytest.raises(ConfigurationProblem, match=f"of {DIMENSION} dimensions, but EMBEDDING_DIMENSION is 9"):
        await served(embedding_dimension=9)


@pytest.mark.parametrize("dimension", [None, DIMENSION])
async def test_a_refused_key_stops_the_start(served, provider, dimension):
    provider.behave(error(401, f"Incorrect API key provided: {KEY}"))
    with pytest.raises(ConfigurationProblem, match="EMBEDDING_API_KEY") as caught:
        await served(embedding_dimension=dimension)
    assert KEY not in "".join(traceback.format_exception(caught.value)) + repr(caught.value)


async def test_an_answer_that_is_no_embedding_stops_the_start(served, provider):
    provider.behave(lambda texts: Reply(body=b"<html>It works!</html>", headers={"Content-Type": "text/html"}))
    with pytest.raises(ConfigurationProblem, match="OpenAI-compatible API"):
        await served(embedding_dimension=DIMENSION)


async def test_openai_itself_needs_a_key(opened):
    with pytest.raises(ConfigurationProblem, match="EMBEDDING_API_KEY"):
        await opened(embedding_provider="openai")


@pytest.mark.parametrize("address", ["localhost:11434/v1", "ftp://localhost/v1", ""])
async def test_an_address_that_is_not_http_is_refused(served, address):
    with pytest.raises(ConfigurationProblem, match="EMBEDDING_BASE_URL"):
        await served(embedding_base_url=address)


async def test_the_threshold_is_the_models_unless_set(served):
    assert (await served()).model.thematic_threshold == 0.6
    assert (await served(embedding_model="intfloat/e5-base-v2")).model.thematic_threshold == 0.92
    assert (await served(thematic_threshold=0.25)).model.thematic_threshold == 0.25
