"""What an owner's login, an operator's command and a server's login are told where they do not fit."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from pydantic import ValidationError

from engram.db.database import Database
from engram.db.embedded import EmbeddedPostgres
from engram.db.migrate import downgrade, revision_status
from engram.db.owner import opened_by_operator, reachable
from engram.problems import ConfigurationProblem
from engram.services import open_services
from engram.settings import Settings
from tests.fixtures.databases import administrator


@pytest.fixture
async def login(postgres: EmbeddedPostgres, database_url: str) -> AsyncIterator[str]:
    """The URL of a login that owns nothing, and may become nobody."""
    role = f"role_{uuid4().hex}"
    async with administrator(postgres) as connection:
        await connection.execute(f"CREATE ROLE {role} LOGIN")
    yield database_url.replace("postgres@", f"{role}@", 1)
    async with administrator(postgres) as connection:
        await connection.execute(f"DROP ROLE {role}")


async def open_as_operator(settings: Settings) -> None:
    async with reachable(settings) as urls, opened_by_operator(urls, settings):
        pass


async def test_a_command_leaves_a_database_of_an_earlier_version_as_it_is(
    database_url: str, settings: Settings
) -> None:
    await downgrade(database_url, settings, "0006")
    with pytest.raises(ConfigurationProblem, match=r"revision 0006.*engram migrate"):
        await open_as_operator(settings)

    database = await Database.connect(database_url, settings)
    assert (await revision_status(database)).current == "0006"
    await database.close()


async def test_a_command_makes_what_an_empty_database_lacks(
    empty_database_url: str, make_settings: Callable[..., Settings]
) -> None:
    settings = make_settings(empty_database_url)
    await open_as_operator(settings)
    await open_as_operator(settings)


async def test_an_owners_url_of_another_database_is_refused(
    database_url: str, empty_database_url: str, make_settings: Callable[..., Settings]
) -> None:
    settings = make_settings(database_url, owner_database_url=empty_database_url)
    for name in (urlsplit(database_url).path[1:], urlsplit(empty_database_url).path[1:]):
        with pytest.raises(ConfigurationProblem, match=name):
            await open_as_operator(settings)
        with pytest.raises(ConfigurationProblem, match=name):
            async with open_services(settings):
                pass


async def test_a_login_that_owns_nothing_is_told_to_name_the_owner(
    login: str, make_settings: Callable[..., Settings]
) -> None:
    settings = make_settings(login)
    with pytest.raises(ConfigurationProblem, match="ENGRAM_OWNER_DATABASE_URL"):
        await open_as_operator(settings)
    with pytest.raises(ConfigurationProblem, match="ENGRAM_OWNER_DATABASE_URL"):
        async with open_services(settings):
            pass


async def test_a_login_that_may_not_serve_is_told_what_an_administrator_runs(
    login: str, database_url: str, make_settings: Callable[..., Settings], static_weights: None
) -> None:
    settings = make_settings(login, owner_database_url=database_url)
    with pytest.raises(ConfigurationProblem, match=f"GRANT engram_server TO {urlsplit(login).username}"):
        async with open_services(settings):
            pass


def test_an_owner_of_no_database_is_refused() -> None:
    with pytest.raises(ValidationError, match="ENGRAM_DATABASE_URL is not"):
        Settings.model_validate({"owner_database_url": "postgresql://owner@/engram"})
