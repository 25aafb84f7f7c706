from __future__ import annotations

import asyncpg
import pytest

from engram.db.compatibility import Versions, advice, read_versions, require_supported
from engram.problems import ConfigurationProblem


@pytest.mark.parametrize("postgres", [15, 18])
@pytest.mark.parametrize("pgvector", [None, "0.8.0", "0.8.4", "0.10.0", "1.0"])
def test_what_is_new_enough_is_accepted(postgres: int, pgvector: str | None) -> None:
    require_supported(Versions(postgres, f"{postgres}.1", pgvector))


@pytest.mark.parametrize(
    ("versions", "named"),
    [
        (Versions(14, "14.9 (Debian)", "0.8.4"), ["14.9", "15"]),
        (Versions(16, "16.1", "0.7.4"), ["0.7.4", "0.8", "ALTER EXTENSION vector UPDATE"]),
    ],
)
def test_what_is_too_old_is_refused_saying_what_is_needed(versions: Versions, named: list[str]) -> None:
    with pytest.raises(ConfigurationProblem) as caught:
        require_supported(versions)
    for words in named:
        assert words in caught.value.detail


@pytest.mark.parametrize(
    ("pgvector", "warned"), [("0.8.0", True), ("0.8.3", True), ("0.8.4", False), ("0.10.1", False), (None, False)]
)
def test_a_pgvector_that_can_corrupt_indexes_is_warned_of(pgvector: str | None, warned: bool) -> None:
    hint = advice(Versions(16, "16.1", pgvector))
    assert (hint is not None) == warned
    if hint is not None:
        assert "0.8.4" in hint
        assert "REINDEX" in hint


async def test_versions_are_read_from_the_database(database_url: str, empty_database_url: str) -> None:
    for url, has_extension in ((database_url, True), (empty_database_url, False)):
        connection = await asyncpg.connect(url)
        versions = await read_versions(connection)
        await connection.close()
        require_supported(versions)
        assert versions.postgres_text.startswith(str(versions.postgres))
        assert (versions.pgvector is not None) == has_extension
