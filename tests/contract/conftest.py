"""A server of the worker's own for the tests of the contract."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from sqlalchemy import make_url

from engram.db.database import Database
from engram.entities.canonical import singular
from engram.settings import Settings
from engram.tenants.service import OperatorService
from tests.contract.world import World
from tests.fixtures.environment import without_ours
from tests.fixtures.servers import running
from tests.fixtures.tenants import Tenant, new_tenant


@pytest.fixture(scope="session", autouse=True)
def _plurals() -> None:
    """Hypothesis changes Python's recursion limit while it draws. To load the library of plurals meanwhile, in a thread
    of the server's, trips over that in Python 3.11."""
    singular("plurals")


@pytest.fixture
def settings(restricted_settings: Settings) -> Settings:
    return restricted_settings


@pytest.fixture(scope="session")
def world(
    shared_database_url: str, server_login: str, static_weights: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    """A server with something in it, and a tenant with keys. Its database is the one of all tests that make agents of
    their own."""

    async def tenant() -> Tenant:
        database = await Database.connect(shared_database_url, settings)
        try:
            return await new_tenant(OperatorService(database), f"contract {uuid4()}")
        finally:
            await database.close()

    login = make_url(shared_database_url).set(username=server_login).render_as_string(hide_password=False)
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(1) as thread:
        without_ours(patch)
        folder = tmp_path_factory.mktemp("contract")
        urls = {"database_url": login, "owner_database_url": shared_database_url}
        settings = Settings.model_validate({**urls, "data_dir": folder, "pool_size": 5, "entity_communities": True})
        with_keys = thread.submit(asyncio.run, tenant()).result()
        with running(settings) as url:
            yield World.made(url, with_keys, f"contract {uuid4()}")
