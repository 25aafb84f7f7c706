"""The packed words of a memory say what its postings say."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from engram.db.database import Database, driver
from engram.db.migrate import downgrade, migrate
from engram.services import open_services
from engram.settings import Settings
from engram.text.lexemes import hashes, pack, unpack
from tests.fixtures.spaces import Space, new_space

TEXTS = [
    "Caroline: the support group met twice, twice as many came",
    "北京大学 and the naïve café",
    "a " * 50 + "harbour " * 40,
    "",
    "!!!",
]
terms = st.text(min_size=1, max_size=8)


async def packed(database: Database) -> dict[UUID, tuple[int, bytes]]:
    async with database.snapshot() as connection:
        rows = await driver(connection).fetch("SELECT memory_id, length, lexemes FROM memory_lexemes")
    return {row["memory_id"]: (row["length"], row["lexemes"]) for row in rows}


@given(words=st.dictionaries(terms, st.integers(1, 32767), max_size=30), unworded=st.sets(terms, max_size=30))
def test_what_is_packed_is_what_is_unpacked(words: dict[str, int], unworded: set[str]) -> None:
    unworded -= words.keys()
    records = unpack(pack(words, unworded))
    expected = words | dict.fromkeys(unworded, 0)
    assert dict(zip(records["hash"].tolist(), records["frequency"].tolist(), strict=True)) == dict(
        zip(hashes(expected).tolist(), expected.values(), strict=True)
    )
    assert records["hash"].tolist() == sorted(records["hash"].tolist())


async def test_memories_that_stand_are_packed_as_new_ones_are(settings: Settings, static_weights: None) -> None:
    async with open_services(settings) as services:
        space = await new_space(services)
        await space.remember_all({"content": text, "session_id": "s"} for text in TEXTS if text)
        written = await packed(services.database)
    assert settings.database_url is not None
    url = settings.database_url.get_secret_value()
    await downgrade(url, settings, "0004")
    await migrate(url, settings)
    async with open_services(settings) as services:
        assert await packed(services.database) == written
    assert len(written) == len(TEXTS) - 1


async def test_what_is_deleted_leaves_no_words(space: Space) -> None:
    id = (await space.remember("harbour lights")).id
    await space.forget(id)
    async with space.services.database.snapshot() as connection:
        left: Any = await driver(connection).fetchval(
            "SELECT (SELECT count(*) FROM memory_lexemes WHERE memory_id = $1::text::uuid)"
            " + (SELECT count(*) FROM memory_terms WHERE memory_id = $1::text::uuid)",
            id,
        )
    assert left == 0
