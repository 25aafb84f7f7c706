"""Showing and exporting the audit log, and what who may not read it is told."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from engram import Engram

from .conftest import Outcome, Run


@dataclass(frozen=True)
class Office:
    """A server with keys, one agent, and what was done to it."""

    admin: str
    agent: str
    memories: list[str]


@pytest.fixture
def office(client_run: Run, monkeypatch: pytest.MonkeyPatch, database_url: str, live_server: str) -> Office:
    monkeypatch.setenv("ENGRAM_DATABASE_URL", database_url)
    admin = client_run("keys", "create", "--role", "admin").stdout.strip()
    monkeypatch.setenv("ENGRAM_API_KEY", admin)
    with Engram(live_server, api_key=admin) as client:
        agent = client.agents.create("support")
        texts = [f"The vault opens at {hour}." for hour in range(5)]
        written = client.memories.create_many(agent.id, texts)
        client.memories.delete(written.results[0].id)
    return Office(admin, agent.id, [result.id for result in written.results])


def lines(outcome: Outcome) -> list[dict[str, Any]]:
    assert (outcome.status, outcome.stderr) == (0, "")
    return [json.loads(line) for line in outcome.stdout.splitlines()]


def test_events_are_shown_with_who_and_what_the_latest_first(client_run: Run, office: Office) -> None:
    outcome = client_run("audit")
    assert outcome.status == 0
    shown = outcome.stdout
    places = [shown.index(action) for action in ("memory.delete", "memory.create", "agent.create", "key.create")]
    assert places == sorted(places)
    assert shown.count(office.admin[:15]) == 4
    assert "operator" in shown
    assert shown.count("agent support") == 3
    assert office.memories[0] in shown
    assert "and 2 more" in shown
    assert "4 events" in shown
    assert "vault" not in shown
    assert office.admin not in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_json_is_one_event_a_line_of_all_pages(
    client_run: Run, office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engram.cli.audit._PAGE", 2)
    events = lines(client_run("audit", "--json"))
    assert [event["action"] for event in events] == ["memory.delete", "memory.create", "agent.create", "key.create"]
    assert events[0]["targets"] == [office.memories[0]]
    assert lines(client_run("audit", "--json", "--limit", "3")) == events[:3]


def test_events_can_be_chosen(client_run: Run, office: Office) -> None:
    every = lines(client_run("audit", "--json"))
    assert lines(client_run("audit", "--json", "--agent", "support")) == every[:3]
    assert lines(client_run("audit", "--json", "--agent", office.agent)) == every[:3]
    assert lines(client_run("audit", "--json", "--action", "key.create")) == every[3:]
    assert lines(client_run("audit", "--json", "--since", every[1]["recorded_at"])) == every[:2]
    assert lines(client_run("audit", "--json", "--until", every[1]["recorded_at"])) == every[2:]
    assert "1 event, and perhaps more" in client_run("audit", "--limit", "1").stdout
    assert "Nothing was changed" in client_run("audit", "--action", "edge.create").stdout


def test_a_deleted_agent_has_its_name_and_is_found_by_its_id(client_run: Run, live_server: str, office: Office) -> None:
    with Engram(live_server, api_key=office.admin) as admin:
        admin.agents.delete(office.agent)
    shown = client_run("audit", "--agent", office.agent).stdout
    assert "agent.delete" in shown
    assert shown.count("agent support") == 4
    unknown = client_run("audit", "--agent", "support")
    assert unknown.status == 1
    assert "by its id" in unknown.stderr


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (["--agent", "nobody"], 1, "there is no agent 'nobody'"),
        (["--since", "yesterday"], 1, "since: must be ISO 8601"),
        (["--action", "memory.read"], 2, "'memory.read' is not one of"),
        (["--limit", "0"], 2, "--limit"),
    ],
)
def test_what_cannot_be_is_refused_by_name(
    client_run: Run, office: Office, options: list[str], status: int, said: str
) -> None:
    outcome = client_run("audit", *options)
    assert (outcome.status, outcome.stdout) == (status, "")
    assert said in outcome.stderr
    assert outcome.stderr.count("\n") == 1


def test_who_brings_no_key_is_told_where_one_comes_from(
    client_run: Run, office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ENGRAM_API_KEY")
    for command in (["audit"], ["recall", "x"], ["remember", "x"]):
        outcome = client_run(*command)
        assert (outcome.status, outcome.stdout) == (1, "")
        assert "set ENGRAM_API_KEY" in outcome.stderr
        assert "engram keys create --role" in outcome.stderr
        assert outcome.stderr.count("\n") == 1


def test_who_brings_a_key_that_opens_nothing_is_told_why(
    client_run: Run, office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    client_run("keys", "revoke", office.admin)
    outcome = client_run("audit")
    assert outcome.status == 1
    assert f"The API key {office.admin[:15]} was revoked" in outcome.stderr
    monkeypatch.setenv("ENGRAM_API_KEY", "hunter2hunter2")
    unknown = client_run("audit")
    assert "does not take the key in ENGRAM_API_KEY: The API key is not known" in unknown.stderr
    assert "hunter2" not in unknown.stderr


def test_who_may_not_is_told_which_role_may(client_run: Run, office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_API_KEY", client_run("keys", "create", "--role", "viewer").stdout.strip())
    for command, role in ((["audit"], "admin"), (["remember", "x", "--agent", "support"], "writer")):
        outcome = client_run(*command)
        assert (outcome.status, outcome.stdout) == (1, "")
        assert f"needs a key that is {role}; this one is viewer" in outcome.stderr
        assert outcome.stderr.count("\n") == 1
