"""What an OpenAI-compatible server is sent, and how its answers are read."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from engram.embeddings.errors import BatchTooLargeProblem
from tests.embeddings.conftest import KEY
from tests.embeddings.provider import DIMENSION, Reply, answer, error, vector_of, well


def of_dimension(dimension: int) -> Any:
    return lambda texts: answer([vector_of(text, dimension) for text in texts])


async def test_the_dimension_is_found_out_at_start(served, provider):
    embedder = await served()
    assert embedder.model.dimension == DIMENSION
    assert len(provider.requests) == 1


async def test_one_text_is_sent_as_a_list(served, provider):
    embedder = await served()
    provider.behave(well)
    await embedder.embed_query("alone")
    body = provider.requests[0].body
    assert body["input"] == ["alone"]
    assert body["model"] == "some-model"
    assert body["encoding_format"] == "float"


async def test_600_texts_take_three_calls(served, provider):
    embedder = await served()
    provider.behave(well)
    texts = [f"text number {number}" for number in range(600)]
    passages = await embedder.embed_passages(texts)
    assert len(provider.requests) == 3
    assert passages.vectors == pytest.approx(np.array([vector_of(text) for text in texts]), abs=1e-6)


async def test_vectors_are_put_in_order_by_their_index(served, provider):
    embedder = await served()

    def backwards(texts: list[str]) -> Reply:
        items = [{"index": i, "embedding": vector_of(text)} for i, text in enumerate(texts)]
        return Reply(body=json.dumps({"data": items[::-1]}).encode())

    provider.behave(backwards)
    texts = ["one", "two", "three"]
    passages = await embedder.embed_passages(texts)
    assert passages.vectors == pytest.approx(np.array([vector_of(text) for text in texts]), abs=1e-6)


async def test_vectors_are_normalised_and_zero_stays_zero(served, provider):
    embedder = await served()
    provider.behave(lambda texts: answer([[3.0] + [0.0] * 7, [0.0] * 8]))
    passages = await embedder.embed_passages(["a", "b"])
    assert passages.vectors.tolist() == [[1.0] + [0.0] * 7, [0.0] * 8]
    assert passages.vectors.dtype == np.float32


async def test_the_key_is_sent(served, provider):
    await served()
    assert provider.requests[0].headers["authorization"] == f"Bearer {KEY}"


async def test_a_local_server_needs_no_key_and_does_not_get_openais(served, provider, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-openai-alone")
    await served(embedding_api_key=None)
    assert "sk-for-openai-alone" not in str(provider.requests[0].headers)


async def test_a_server_on_this_machine_is_asked_past_a_proxy(served, provider, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    embedder = await served()
    provider.behave(well)
    assert (await embedder.embed_query("text")).shape == (DIMENSION,)


@pytest.mark.parametrize(
    ("model", "dimension", "sent"),
    [
        ("text-embedding-3-small", 4, 4),
        ("openai/text-embedding-3-large", 4, 4),
        ("text-embedding-3-small", None, None),
        ("some-model", DIMENSION, None),
    ],
)
async def test_a_shorter_vector_is_asked_for_only_where_models_can(served, provider, model, dimension, sent):
    provider.behave(of_dimension(dimension or DIMENSION))
    embedder = await served(embedding_model=model, embedding_dimension=dimension)
    assert embedder.model.dimension == (dimension or DIMENSION)
    assert provider.requests[0].body.get("dimensions") == sent


@pytest.mark.parametrize(
    ("settings", "query", "passage"),
    [
        ({}, "text", "text"),
        ({"embedding_model": "intfloat/multilingual-e5-small"}, "query: text", "passage: text"),
        ({"embedding_model": "nomic-embed-text:v1.5"}, "search_query: text", "search_document: text"),
        (
            {"embedding_model": "mxbai-embed-large"},
            "Represent this sentence for searching relevant passages: text",
            "text",
        ),
        ({"embedding_model": "e5-base-v2", "embedding_query_prefix": ""}, "text", "passage: text"),
        ({"embedding_passage_prefix": "P "}, "text", "P text"),
    ],
)
async def test_prefixes_are_the_models_unless_set(served, provider, settings, query, passage):
    embedder = await served(**settings)
    provider.behave(well)
    await embedder.embed_query("text")
    await embedder.embed_passages(["text"])
    assert [request.texts for request in provider.requests] == [[query], [passage]]


async def test_a_long_text_is_sent_in_pieces_that_reassemble(served, provider):
    embedder = await served()
    provider.behave(well)
    text = "".join(f"Sentence number {number} of a long report. " for number in range(4_000))
    passages = await embedder.embed_passages([text, "short"])
    sent = [piece for request in provider.requests for piece in request.texts]
    assert passages.chunks == [len(sent) - 1, 1]
    assert len("".join(sent)) == len(text) + len("short")
    assert all(piece in text or piece == "short" for piece in sent)
    assert len(provider.requests) <= len(text) // 60_000 + 1


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "This model's maximum context length is 512 tokens, however you requested 700 tokens."),
        (400, "the input length exceeds the context length"),
        (400, "Invalid 'input[0]': maximum input length is 8192 tokens."),
        (413, "`inputs` must have less than 512 tokens. Given: 700"),
        (500, "input (700 tokens) is too large to process. increase the physical batch size"),
    ],
)
async def test_text_that_the_server_finds_too_long_is_sent_in_smaller_pieces(served, provider, status, message):
    embedder = await served()
    refuse = error(status, message)
    provider.behave(lambda texts: refuse(texts) if max(map(len, texts)) > 300 else well(texts))
    passages = await embedder.embed_passages(["word " * 200, "short"])
    assert passages.chunks[0] >= 4
    assert passages.vectors[1] == pytest.approx(vector_of("short"), abs=1e-6)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (413, "batch size 25 > maximum allowed batch size 10"),
        (422, "batch size 25 > maximum allowed batch size 10"),
        (400, "at most 10 requests can be in one batch"),
        (400, "Too many inputs. The max number of inputs is 10."),
    ],
)
async def test_a_batch_that_the_server_finds_too_large_is_divided(served, provider, status, message):
    embedder = await served()
    refuse = error(status, message)
    provider.behave(lambda texts: refuse(texts) if len(texts) > 10 else well(texts))
    texts = [f"text {number}" for number in range(25)]
    passages = await embedder.embed_passages(texts)
    assert passages.vectors == pytest.approx(np.array([vector_of(text) for text in texts]), abs=1e-6)
    before = len(provider.requests)
    await embedder.embed_passages(texts[:20])
    assert all(len(request.texts) <= 10 for request in provider.requests[before:])


async def test_a_server_that_finds_a_batch_of_one_too_large_is_given_up_on(served, provider):
    embedder = await served()
    provider.behave(error(422, "batch size 1 > maximum allowed batch size 0"))
    with pytest.raises(BatchTooLargeProblem):
        await embedder.embed_passages(["a", "b"])
    assert len(provider.requests) == 2
