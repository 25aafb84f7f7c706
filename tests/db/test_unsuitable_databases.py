"""Databases that are there, and are not what a server can work with: by their encoding, or by how they are set."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import asyncpg
import pytest

from engram.db.embedded import EmbeddedPostgres
from engram.db.migrate import migrate
from engram.memories import vectors as vector_search
from engram.problems import ConfigurationProblem, UnavailableProblem
from engram.settings import Settings
from tests.fixtures.databases import temporary_database
from tests.fixtures.spaces import Space, new_space
from tests.fixtures.wiring import HashEmbedder, opened

MakeSettings = Callable[..., Settings]


@asynccontextmanager
async def set_to(url: str, setting: str) -> AsyncIterator[None]:
    """While the block runs, new sessions of the database have this setting."""
    connection = await asyncpg.connect(url)
    database = await connection.fetchval("SELECT quote_ident(current_database())")
    await connection.execute(f"ALTER DATABASE {database} SET {setting}")
    yield
    await connection.execute(f"ALTER DATABASE {database} RESET ALL")
    await connection.close()


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
async def test_an_encoding_that_cannot_hold_every_text_is_named(
    postgres: EmbeddedPostgres, make_settings: MakeSettings, encoding: str
) -> None:
    options = f"TEMPLATE template0 ENCODING '{encoding}' LOCALE 'C'"
    async with temporary_database(postgres, options) as url:
        with pytest.raises(ConfigurationProblem, match=f"encoded in {encoding}.*UTF8"):
            await migrate(url, make_settings(url))


@pytest.mark.parametrize(
    ("setting", "named"),
    [("default_transaction_read_only = on", "is read-only"), ("search_path = ''", "search_path of the role")],
)
async def test_a_setting_that_keeps_tables_from_being_made_is_named(
    empty_database_url: str, make_settings: MakeSettings, setting: str, named: str
) -> None:
    async with set_to(empty_database_url, setting):
        with pytest.raises(ConfigurationProblem, match=named):
            await migrate(empty_database_url, make_settings(empty_database_url))


async def test_a_database_that_takes_no_changes_is_read_and_writes_are_unavailable(settings: Settings) -> None:
    assert settings.database_url is not None
    url = settings.database_url.get_secret_value()
    async with opened(settings, HashEmbedder()) as services:
        space = await new_space(services)
        await space.remember("Alice moved")
    async with set_to(url, "default_transaction_read_only = on"), opened(settings, HashEmbedder()) as services:
        read_only = Space(services, space.agent_id)
        assert await read_only.texts("Alice") == ["Alice moved"]
        with pytest.raises(UnavailableProblem, match="read-only"):
            await read_only.remember("Alice stayed")


@pytest.mark.parametrize(
    "setting",
    ["default_transaction_isolation = serializable", "TimeZone = 'Asia/Tokyo'", "DateStyle = 'SQL, DMY'", "jit = on"],
)
async def test_settings_of_taste_make_no_difference(settings: Settings, setting: str) -> None:
    assert settings.database_url is not None
    async with (
        set_to(settings.database_url.get_secret_value(), setting),
        opened(settings, HashEmbedder()) as services,
    ):
        space = await new_space(services)
        written = await space.remember("Alice moved", valid_from="2026-05-01", metadata={"n": 0.1})
        assert written.linked
        (hit,) = (await space.ask("Alice", as_of="2026-05-01")).results
        assert (hit.valid_from, hit.metadata) == (written.valid_from, {"n": 0.1})


async def test_all_works_with_pgvector_in_a_schema_of_its_own(
    empty_database_url: str, make_settings: MakeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_search, "EXACT_SEARCH_LIMIT", 5)
    connection = await asyncpg.connect(empty_database_url)
    await connection.execute("CREATE SCHEMA ext")
    await connection.execute("CREATE EXTENSION vector SCHEMA ext")
    await connection.close()
    settings = make_settings(empty_database_url)
    await migrate(empty_database_url, settings)
    async with opened(settings, HashEmbedder()) as services:
        space = await new_space(services)
        written = await space.remember_all({"content": f"text {at}", "entities": ["Zyra"]} for at in range(20))
        assert (written.created, written.linked) == (20, True)
        assert len(await space.hits("text 7", top_k=20)) == 20
        await space.forget(written.results[0].id)
