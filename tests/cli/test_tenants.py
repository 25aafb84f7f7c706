"""``engram tenants``."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from engram import AuthenticationError, Engram

from .conftest import Run


@pytest.fixture
def operate(run: Run, monkeypatch: pytest.MonkeyPatch, database_url: str) -> Run:
    """As ``run``, on the test's database."""
    monkeypatch.setenv("ENGRAM_DATABASE_URL", database_url)
    return run


def names(operate: Run) -> list[str]:
    return [tenant["name"] for tenant in operate("tenants", "list", "--json").json]


def test_tenants_are_made_once_and_listed_by_name(operate: Run) -> None:
    assert "'beta'" in operate("tenants", "create", "beta").stdout
    made = operate("tenants", "create", "acme", "--json").json
    again = operate("tenants", "create", "acme")
    assert (again.status, again.stdout) == (1, "")
    assert "There is a tenant 'acme' already" in again.stderr
    assert names(operate) == ["acme", "beta", "default"]
    table = operate("tenants", "list").stdout
    assert made["id"] in table
    assert max(map(len, table.splitlines())) <= 80


def test_a_name_that_shows_nothing_is_refused(operate: Run) -> None:
    outcome = operate("tenants", "create", " ")
    assert outcome.status == 1
    assert "must not be blank" in outcome.stderr
    assert names(operate) == ["default"]


def test_valid_keys_are_counted(operate: Run) -> None:
    operate("keys", "create", "--role", "viewer")
    operate("keys", "revoke", operate("keys", "create", "--role", "viewer").stdout.strip())
    assert [tenant["keys"] for tenant in operate("tenants", "list", "--json").json] == [1]


def test_agents_of_one_name_in_two_tenants_are_two(operate: Run, live_server: str) -> None:
    operate("tenants", "create", "acme")
    keys = [
        operate("keys", "create", "--role", "writer", "--tenant", name).stdout.strip() for name in ("acme", "default")
    ]
    ids = []
    for key in keys:
        with Engram(live_server, api_key=key) as client:
            ids.append(client.agents.create("clerk").id)
            assert len(client.agents.list().data) == 1
    assert ids[0] != ids[1]
    assert [tenant["agents"] for tenant in operate("tenants", "list", "--json").json] == [1, 1]


def test_a_deleted_tenant_is_gone_and_its_keys_open_nothing(operate: Run, live_server: str) -> None:
    operate("tenants", "create", "acme")
    operate("keys", "create", "--role", "admin")
    key = operate("keys", "create", "--role", "admin", "--tenant", "acme").stdout.strip()
    with Engram(live_server, api_key=key, max_retries=0) as client:
        client.agent("clerk").memories.create("The vault opens at nine.")
        deleted = operate("tenants", "delete", "acme", "--yes")
        assert deleted.status == 0
        assert "1 agent" in deleted.stdout
        with pytest.raises(AuthenticationError):
            client.agents.list()
    assert names(operate) == ["default"]
    assert [key["tenant"] for key in operate("keys", "list", "--json").json] == ["default"]
    # Another may have the name; it holds nothing of the first.
    assert operate("tenants", "create", "acme", "--json").json["agents"] == 0


def test_nothing_is_deleted_without_a_yes(operate: Run) -> None:
    operate("tenants", "create", "acme")
    outcome = operate("tenants", "delete", "acme")
    assert outcome.status == 2
    assert "--yes" in outcome.stderr
    assert names(operate) == ["acme", "default"]


@pytest.mark.parametrize(("answer", "status", "left"), [("n", 130, ["acme", "default"]), ("y", 0, ["default"])])
def test_at_a_terminal_it_is_asked(operate: Run, answer: str, status: int, left: list[str]) -> None:
    operate("tenants", "create", "acme")
    keyboard, stdin = os.openpty()
    os.write(keyboard, f"{answer}\n".encode())
    outcome = subprocess.run(
        [sys.executable, "-m", "engram.cli", "tenants", "delete", "acme"],
        stdin=stdin,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=60,
        check=False,
    )
    os.close(keyboard)
    os.close(stdin)
    assert outcome.returncode == status
    assert "for good" in outcome.stderr
    assert names(operate) == left


def test_the_tenant_of_servers_without_keys_stays(operate: Run) -> None:
    outcome = operate("tenants", "delete", "default", "--yes")
    assert outcome.status == 1
    assert "'default' stays" in outcome.stderr
    assert names(operate) == ["default"]


def test_an_unknown_tenant_is_not_deleted(operate: Run) -> None:
    outcome = operate("tenants", "delete", "acme", "--yes")
    assert outcome.status == 1
    assert "There is no tenant 'acme'" in outcome.stderr


def test_a_server_with_keys_is_never_opened_by_deleting_the_tenant_that_has_them(
    operate: Run, live_server: str
) -> None:
    operate("tenants", "create", "acme")
    key = operate("keys", "create", "--role", "admin", "--tenant", "acme").stdout.strip()
    outcome = operate("tenants", "delete", "acme", "--yes")
    assert outcome.status == 1
    assert "Only 'acme' has API keys" in outcome.stderr
    with Engram(live_server, api_key=key, max_retries=0) as client:
        client.agents.create("still here")
    operate("keys", "create", "--role", "viewer")
    assert operate("tenants", "delete", "acme", "--yes").status == 0
    with Engram(live_server, max_retries=0) as anonymous, pytest.raises(AuthenticationError):
        anonymous.agents.list()
