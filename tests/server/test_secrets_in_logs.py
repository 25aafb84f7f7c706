"""What users stored and asked, and what opens the doors, is in no line of the log, whatever goes wrong."""

from __future__ import annotations

import contextlib
import io
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
import structlog
from fastapi import FastAPI
from sqlalchemy import make_url

from engram import AsyncEngram
from engram.agents.schemas import Agent
from engram.db.database import driver
from engram.logs import configure_logging
from engram.server.app import create_app
from engram.services import Services
from engram.settings import Settings
from tests.fixtures.servers import LOCAL

SECRET = "zirconium"

Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def lines(settings: Settings) -> Iterator[Lines]:
    """What a server logs in JSON, at its most talkative, since it was last asked for."""
    root = logging.getLogger()
    before = (structlog.get_config(), list(root.handlers), root.level)
    written = io.StringIO()
    with contextlib.redirect_stderr(written):
        configure_logging(settings.model_copy(update={"log_format": "json", "log_level": "debug"}))

    def read() -> list[dict[str, Any]]:
        found = [json.loads(line) for line in written.getvalue().splitlines()]
        written.seek(0)
        written.truncate()
        return found

    yield read
    structlog.configure(**before[0])
    root.handlers, root.level = before[1], before[2]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """All statements are slow."""
    return settings.model_copy(update={"slow_statement_seconds": 0.000_001})


async def test_nothing_of_what_is_sent_is_logged(
    http: httpx.AsyncClient, engram: AsyncEngram, agent: Agent, lines: Lines
) -> None:
    fields = {"user_id": SECRET, "entities": [SECRET], "metadata": {SECRET: SECRET}}
    memory = await engram.memories.create(agent.id, SECRET, **fields)
    await engram.memories.create_many(agent.id, [f"{SECRET} {number}" for number in range(3)])
    await engram.memories.recall(agent.id, f"{SECRET}?", user_id=SECRET, explain=True)
    await http.get("/v1/memories", params={"agent_id": agent.id, "user_id": SECRET})
    await http.post("/v1/memories", json={"agent_id": agent.id, "content": SECRET, SECRET: SECRET})
    await http.post("/v1/memories", content=f'{{"agent_id": "{SECRET}'.encode())
    await http.get(f"/{SECRET}", headers={"authorization": f"Bearer {SECRET}"})
    await engram.memories.delete(memory.id)
    told = lines()
    assert {line["event"] for line in told} == {"request", "statement.slow"}
    assert SECRET not in str(told)


async def test_every_line_of_a_request_carries_its_id(
    http: httpx.AsyncClient, engram: AsyncEngram, agent: Agent, lines: Lines
) -> None:
    lines()
    body = {"agent_id": agent.id, "content": "a text"}
    answer = await http.post("/v1/memories", json=body, headers={"x-request-id": "job-7"})
    assert answer.headers["x-request-id"] == "job-7"
    told = lines()
    assert {line["request_id"] for line in told} == {"job-7"}
    # Of the driver and of SQLAlchemy, of reads, writes and projections.
    assert {"statement.slow", "request"} == {line["event"] for line in told}


class TestARowThatTheDatabaseRefuses:
    """Postgres repeats the whole row in its error."""

    @pytest.fixture
    async def picky(self, services: Services, agent: Agent) -> None:
        async with services.database.transaction() as connection:
            await driver(connection).execute("ALTER TABLE memories ADD CONSTRAINT picky CHECK (content !~ 'zirconium')")

    @pytest.mark.usefixtures("picky")
    async def test_the_failure_is_logged_without_it(self, http: httpx.AsyncClient, agent: Agent, lines: Lines) -> None:
        answer = await http.post("/v1/memories", json={"agent_id": agent.id, "content": f"all about {SECRET}"})
        assert answer.status_code == 500
        told = lines()
        (failure,) = [line for line in told if line["event"] == "request failed"]
        assert failure["request_id"] == answer.headers["x-request-id"]
        assert "engram/memories/repository.py" in failure["exception"]
        assert "CheckViolationError, sqlstate 23514, table memories, constraint picky" in failure["exception"]
        assert SECRET not in str(told)
        assert SECRET not in answer.text

    @pytest.fixture
    async def picky_agents(self, services: Services) -> None:
        async with services.database.transaction() as connection:
            await driver(connection).execute("ALTER TABLE agents ADD CONSTRAINT picky CHECK (name !~ 'zirconium')")

    @pytest.mark.usefixtures("picky_agents")
    async def test_so_is_one_that_sqlalchemy_wraps(self, http: httpx.AsyncClient, lines: Lines) -> None:
        answer = await http.post("/v1/agents", json={"name": f"clerk {SECRET}"})
        assert answer.status_code == 500
        told = lines()
        (failure,) = [line for line in told if line["event"] == "request failed"]
        assert "23514" in failure["exception"]
        assert SECRET not in str(told)


_REPEATING = """
    CREATE FUNCTION repeating() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'there is %', (SELECT content FROM memories WHERE id = OLD.memory_id);
    END $$;
    CREATE TRIGGER repeating BEFORE DELETE ON pending_projections FOR EACH ROW EXECUTE FUNCTION repeating();
"""


async def test_links_that_fail_are_logged_without_what_the_database_says(
    services: Services, engram: AsyncEngram, agent: Agent, lines: Lines
) -> None:
    async with services.database.transaction() as connection:
        await driver(connection).execute(_REPEATING)
    created = await engram.memories.create(agent.id, f"all about {SECRET}")
    assert not created.linked
    told = lines()
    failures = [line["error"] for line in told if line["event"] == "projection.failed"]
    assert failures == ["RaiseError, sqlstate P0001"] * 2
    assert SECRET not in str(told)


async def test_no_password_of_the_database_is_logged(
    make_settings: Callable[..., Settings], lines: Lines, services: Services
) -> None:
    given = services.settings.database_url
    assert given is not None
    url = make_url(given.get_secret_value()).set(password=SECRET).render_as_string(hide_password=False)
    settings = make_settings(url)
    app: FastAPI = create_app(settings)
    async with app.router.lifespan_context(app):
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=LOCAL) as http:
            assert (await http.get("/v1/agents")).status_code == 200
        await app.state.services.database.close()
    assert SECRET not in str(lines())
    assert SECRET not in repr(settings)
