"""A server of the worker's own for the tests of the contract."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from engram.entities.canonical import singular
from engram.settings import Settings
from tests.contract.world import World
from tests.fixtures.environment import without_ours
from tests.fixtures.servers import running


@pytest.fixture(scope="session", autouse=True)
def _plurals() -> None:
    """Hypothesis changes Python's recursion limit while it draws. To load the library of plurals meanwhile, in a thread
    of the server's, trips over that in Python 3.11."""
    singular("plurals")


@pytest.fixture(scope="session")
def world(shared_database_url: str, static_weights: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A server with something in it. Its database is the one of all tests that make agents of their own."""
    with pytest.MonkeyPatch.context() as patch:
        without_ours(patch)
        chosen = {"pool_size": 5, "data_dir": tmp_path_factory.mktemp("contract"), "database_url": shared_database_url}
        with running(Settings.model_validate(chosen)) as url:
            yield World.made(url, f"contract {uuid4()}")
