"""``engram jobs`` and ``engram rebuild-links``."""

from __future__ import annotations

import time

import asyncpg

from engram import Engram

from .conftest import Run, change


def test_a_rebuilding_is_asked_for_and_followed(client_run: Run, client: Engram) -> None:
    agent = client.agents.create("clerk")
    client.memories.create_many(agent.id, ["The lamp is lit at dusk.", "The keeper sleeps by day."])
    job = client_run("rebuild-links", "clerk", "--json").json
    assert (job["kind"], job["agent_id"]) == ("rebuild_links", agent.id)
    deadline = time.monotonic() + 60
    while (shown := client_run("jobs", "show", job["id"], "--json").json)["status"] != "done":
        assert time.monotonic() < deadline
    assert (shown["done"], shown["total"]) == (2, 2)
    text = client_run("jobs", "list", "--agent", "clerk", "--kind", "rebuild_links").stdout
    assert job["id"] in text
    assert "2 of 2 memories" in text
    assert client_run("jobs", "list", "--status", "dead").stdout.strip() == "There are no such jobs."


async def test_dead_jobs_are_listed_and_retried(client_run: Run, client: Engram, database_url: str) -> None:
    agent = client.agents.create("clerk")
    made = (
        "INSERT INTO jobs (tenant_id, id, agent_id, kind, projection, status, attempts, error) SELECT tenant_id,"
        " gen_random_uuid(), id, 'projection', 'thematic', 'dead', 8, 'UnavailableProblem' FROM agents"
    )
    await change(database_url, made, made)
    dead = client_run("jobs", "list", "--status", "dead", "--json").json["data"]
    assert [(job["error"], job["agent_id"]) for job in dead] == [("UnavailableProblem", agent.id)] * 2
    assert "UnavailableProblem" in client_run("jobs", "list").stdout
    assert client_run("jobs", "retry", dead[0]["id"], "--json").json["attempts"] == 0
    assert client_run("jobs", "retry", "--dead", "--kind", "rebuild_links").stdout == "0 jobs will be tried again.\n"
    assert client_run("jobs", "retry", "--dead").stdout == "1 job will be tried again.\n"
    connection = await asyncpg.connect(database_url)
    deadline = time.monotonic() + 60
    while await connection.fetchval("SELECT count(*) FROM jobs WHERE status <> 'done'"):
        assert time.monotonic() < deadline
    await connection.close()


def test_wrong_use_is_told(client_run: Run) -> None:
    for arguments in ((), ("--dead", "x"), ("x", "--kind", "projection")):
        assert client_run("jobs", "retry", *arguments).status == 2
    assert "no job" in client_run("jobs", "show", "01a22a5b-624c-7109-a190-654c12770cbc").stderr
    assert "there is no agent 'nobody'" in client_run("rebuild-links", "nobody").stderr
