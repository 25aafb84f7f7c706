"""One database holds the vectors of one model, and says so to any other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest

from engram.db.database import driver
from engram.db.migrate import downgrade, migrate
from engram.memories import vectors as vector_search
from engram.memories.vectors import MAX_INDEXED_DIMENSION
from engram.problems import ConfigurationProblem, InvalidInputProblem
from engram.services import Services
from engram.settings import Settings
from tests.fixtures.rows import every_row
from tests.fixtures.spaces import Space, new_space
from tests.fixtures.wiring import HashEmbedder, opened


async def vector_indexes(services: Services) -> list[str]:
    async with services.database.snapshot() as connection:
        rows = await driver(connection).fetch("SELECT indexdef FROM pg_indexes WHERE indexdef LIKE '%hnsw%'")
    return [row["indexdef"] for row in rows]


async def models_of(services: Services) -> list[int]:
    async with services.database.snapshot() as connection:
        return [row["id"] for row in await driver(connection).fetch("SELECT id FROM embedding_models")]


@asynccontextmanager
async def connected(settings: Settings) -> AsyncIterator[asyncpg.Connection]:
    assert settings.database_url is not None
    connection = await asyncpg.connect(settings.database_url.get_secret_value())
    try:
        yield connection
    finally:
        await connection.close()


@pytest.mark.parametrize("length", [1, 7, 9, 256])
async def test_a_vector_of_another_length_is_refused(settings: Settings, length: int) -> None:
    async with opened(settings, HashEmbedder(8)) as services:
        space = await new_space(services)
        wrong = [1.0] * length
        with pytest.raises(InvalidInputProblem, match=rf"embedding: has {length} dimensions.* has 8"):
            await space.remember("text", embedding=wrong)
        with pytest.raises(InvalidInputProblem, match=r"items\.2\.embedding"):
            await space.remember_all(["a", "b", {"content": "c", "embedding": wrong}])
        with pytest.raises(InvalidInputProblem, match="embedding"):
            await space.ask("text", embedding=wrong)
        assert (await space.stats()).memories == 0


async def test_vectors_of_any_length_count_by_direction_alone(settings: Settings) -> None:
    async with opened(settings, HashEmbedder(8)) as services:
        space = await new_space(services)
        for number, scale in enumerate((1e-300, 1e-30, 1.0, 1e30, 1e300)):
            await space.remember(f"{number}", embedding=[3 * scale, 4 * scale, *[0.0] * 6])
        hits = await space.hits(embedding=[3e200, 4e200, *[0.0] * 6])
        assert len(hits) == 5
        assert all(hit.vector_score == pytest.approx(1, abs=1e-6) for hit in hits.values())


@pytest.mark.parametrize("other", [HashEmbedder(16), HashEmbedder(8, name="another"), HashEmbedder(16, name="another")])
async def test_another_model_is_refused_where_there_are_memories(settings: Settings, other: HashEmbedder) -> None:
    async with opened(settings, HashEmbedder(8)) as services:
        space = await new_space(services)
        await space.remember("embedded by the first")
        before = await every_row(services.database)
    with pytest.raises(ConfigurationProblem, match=r"test/hash \(8 dimensions\).*Nothing was changed"):
        async with opened(settings, other):
            pass
    async with opened(settings, HashEmbedder(8)) as services:
        assert await every_row(services.database) == before
        assert await Space(services, space.agent_id).texts("embedded") == ["embedded by the first"]


async def test_another_model_is_welcome_where_there_is_none(settings: Settings) -> None:
    async with opened(settings, HashEmbedder(8)) as services:
        space = await new_space(services)
    async with opened(settings, HashEmbedder(16, name="another")) as services:
        space = Space(services, space.agent_id)
        await space.remember("embedded by the second")
        assert await space.texts("embedded") == ["embedded by the second"]


async def test_servers_that_start_together_agree_on_one_index(settings: Settings) -> None:
    async def start() -> None:
        async with opened(settings, HashEmbedder(8)) as services:
            assert len(await vector_indexes(services)) == 3

    await asyncio.gather(*(start() for _ in range(8)))


async def test_a_database_with_an_index_of_whole_precision_moves_on(settings: Settings) -> None:
    assert settings.database_url is not None
    dsn = settings.database_url.get_secret_value()
    async with opened(settings, HashEmbedder(8)) as services:
        space = await new_space(services)
        texts = [f"text {number}" for number in range(50)]
        await space.remember_all(texts)
        (model,) = await models_of(services)
    await downgrade(dsn, settings, "0004")
    async with connected(settings) as connection:
        for table in ("memories", "memory_passages"):
            await connection.execute(
                f"CREATE INDEX {table}_embedding_{model}_idx ON {table}"
                f" USING hnsw ((embedding::vector(8)) vector_cosine_ops) WHERE embedding_model_id = {model}"
            )
    await migrate(dsn, settings)
    async with opened(settings, HashEmbedder(8)) as services:
        indexes = await vector_indexes(services)
        assert len(indexes) == 3
        assert all("halfvec_cosine_ops" in index for index in indexes)
        found = await Space(services, space.agent_id).hits("text 7", lexical=False, max_hops=0)
        assert next(iter(found.values())).content == "text 7"


async def test_a_server_makes_the_indexes_that_a_migration_makes(settings: Settings) -> None:
    assert settings.database_url is not None
    dsn = settings.database_url.get_secret_value()
    async with opened(settings, HashEmbedder(8)) as services:
        made = sorted(await vector_indexes(services))
    await downgrade(dsn, settings, "0004")
    await migrate(dsn, settings)
    async with connected(settings) as connection:
        rows = await connection.fetch("SELECT indexdef FROM pg_indexes WHERE indexdef LIKE '%hnsw%'")
    assert sorted(row["indexdef"] for row in rows) == made


async def test_the_number_of_vector_indexes_does_not_grow_with_agents(settings: Settings) -> None:
    async with opened(settings, HashEmbedder(8)) as services:
        before = await vector_indexes(services)
        for _ in range(20):
            await (await new_space(services)).remember("text")
        assert await vector_indexes(services) == before
        assert len(before) == 3  # of memories, of passages, and of entities


@pytest.mark.parametrize(
    ("dimension", "indexed"),
    [(256, True), (3072, True), (MAX_INDEXED_DIMENSION, True), (MAX_INDEXED_DIMENSION + 1, False)],
)
async def test_models_of_many_dimensions_work(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, dimension: int, indexed: bool
) -> None:
    monkeypatch.setattr(vector_search, "EXACT_SEARCH_LIMIT", 5)
    async with opened(settings, HashEmbedder(dimension)) as services:
        indexes = await vector_indexes(services)
        assert len(indexes) == (3 if indexed else 0)
        space = await new_space(services)
        texts = [f"text {number}" for number in range(20)]
        await space.remember_all(texts)
        for text in texts[:3]:
            answer = await space.ask(text, lexical=False, max_hops=0, top_k=20)
            assert len(answer.results) == 20
            assert answer.results[0].content == text
            assert answer.results[0].vector_score == pytest.approx(1, abs=1e-3)
