from __future__ import annotations

import asyncio
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from engram.problems import ConfigurationProblem

pytestmark = pytest.mark.filterwarnings("error")

TEXTS = [
    "The cat sleeps on the sofa.",
    "A kitten is napping on the couch.",
    "Stripe charges a fee for each payment.",
    "外币汇率换算工具",
    "👨‍👩‍👧‍👦",
    "e\u0301",
    "x",
    "\u200b visible",
    "a longer text " * 50,
]


@pytest.fixture
async def static(opened):
    return await opened()


async def test_it_is_the_default_and_describes_itself(static):
    model = static.model
    assert (model.provider, model.name) == ("static", "l2_supercat_256")
    assert (model.dimension, model.max_tokens) == (256, None)
    assert 0 < model.thematic_threshold < 1


async def test_the_threshold_can_be_set(opened):
    assert (await opened(thematic_threshold=0.123)).model.thematic_threshold == 0.123


async def test_vectors_have_length_one(static):
    passages = await static.embed_passages(TEXTS)
    assert passages.vectors.shape == (len(TEXTS), 256)
    assert passages.vectors.dtype == np.float32
    assert np.linalg.norm(passages.vectors, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-6)
    assert passages.chunks == [1] * len(TEXTS)


async def test_like_texts_are_near(static):
    cat, kitten, stripe = (await static.embed_passages(TEXTS[:3])).vectors
    assert cat @ kitten > cat @ stripe + 0.2
    question = await static.embed_query("Where is the kitten napping?")
    assert question @ kitten > question @ cat > question @ stripe


async def test_the_same_text_gives_the_same_vector_whatever_its_company(static, opened):
    together = (await static.embed_passages(TEXTS)).vectors
    other = await opened()
    for text, vector in zip(TEXTS, together, strict=True):
        assert np.array_equal((await static.embed_passages([text])).vectors[0], vector)
        assert np.array_equal(await other.embed_query(text), vector)


async def test_vectors_are_wordllamas_own(static):
    wordllama = pytest.importorskip("wordllama")
    model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    assert (await static.embed_passages(TEXTS)).vectors == pytest.approx(model.embed(TEXTS, norm=True), abs=1e-5)


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\u200b", "\u200d\ufeff", "\x01"])
async def test_text_with_nothing_to_read_is_zero(static, text):
    passages = await static.embed_passages([text, "x"])
    assert not passages.vectors[0].any()
    assert passages.vectors[1].any()
    assert not (await static.embed_query(text)).any()


async def test_sixteen_callers_at_once_get_what_one_gets(static):
    batches = [[f"{text} {number}" for text in TEXTS] for number in range(16)]
    serial = [(await static.embed_passages(batch)).vectors for batch in batches]
    at_once = await asyncio.gather(*[static.embed_passages(batch) for batch in batches])
    for one, other in zip(serial, at_once, strict=True):
        assert np.array_equal(one, other.vectors)


async def test_one_huge_text_in_a_batch_does_not_blow_up_memory(static):
    texts = ["word and another word. " * 87_000, *["short"] * 63]
    tracemalloc.start()
    try:
        passages = await static.embed_passages(texts)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert passages.chunks[0] > 200
    assert passages.chunks[1:] == [1] * 63
    # Padded to the longest, this batch alone would be 30 GB.
    assert peak < 100_000_000


@pytest.mark.parametrize("text", ["a" * 200_000, "外币汇率换算工具" * 25_000, "word " * 40_000])
async def test_a_long_text_has_one_vector_of_length_one(static, text):
    passages = await static.embed_passages([text])
    assert passages.chunks[0] > 1
    assert np.linalg.norm(passages.vectors[0]) == pytest.approx(1, abs=1e-6)


async def test_a_long_text_is_near_its_short_self(static):
    short, long = (await static.embed_passages(["boats sail to Lisbon ", "boats sail to Lisbon " * 5_000])).vectors
    assert short @ long > 0.95


async def test_other_tasks_run_meanwhile(static):
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0)
            ticks += 1

    ticking = asyncio.create_task(tick())
    await static.embed_passages(["word and another word. " * 40_000])
    ticking.cancel()
    assert ticks > 100


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"embedding_model": "text-embedding-3-small"}, "set EMBEDDING_PROVIDER"),
        ({"embedding_dimension": 512}, "256 dimensions, but EMBEDDING_DIMENSION is 512"),
    ],
)
async def test_settings_that_it_cannot_follow_stop_the_start(opened, settings, message):
    with pytest.raises(ConfigurationProblem, match=message):
        await opened(**settings)


def test_the_root_logger_is_left_alone():
    script = """
import asyncio, logging
from engram.embeddings import open_embedder
from engram.settings import Settings
asyncio.run(open_embedder(Settings(_env_file=None)))
root = logging.getLogger()
assert root.handlers == [], root.handlers
assert root.level == logging.WARNING, root.level
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


def test_texts_are_not_kept_in_memory():
    script = """
import asyncio, psutil
from engram.embeddings import open_embedder
from engram.settings import Settings

async def grown():
    embedder = await open_embedder(Settings(_env_file=None))
    memory = []
    for start in (0, 3000, 6000):
        for number in range(start, start + 3000):
            await embedder.embed_passages([f"What did Bartholomew say of the quarrel in spring, and of {number}?"])
        memory.append(psutil.Process().memory_info().rss / 2**20)
    return memory

first, _, last = asyncio.run(grown())
assert last - first < 8, (first, last)
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
