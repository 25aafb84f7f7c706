"""``engram keys``: made, shown and ended beside a server that asks for them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from engram import AuthenticationError, Engram
from engram.tenants.keys import PREFIX_CHARS

from .conftest import Run, finish, start

KEY = re.compile(r"engram_[A-Za-z0-9_-]{43}")


@pytest.fixture
def operate(run: Run, monkeypatch: pytest.MonkeyPatch, database_url: str) -> Run:
    """As ``run``, on the test's database."""
    monkeypatch.setenv("ENGRAM_DATABASE_URL", database_url)
    return run


@pytest.fixture
def made(operate: Run) -> dict[str, Any]:
    """What making an admin's key answers."""
    answer: dict[str, Any] = operate("keys", "create", "--role", "admin", "--json").json
    return answer


def listed(operate: Run, *options: str) -> list[dict[str, Any]]:
    keys: list[dict[str, Any]] = operate("keys", "list", "--json", *options).json
    return keys


def ask(url: str, statement: str) -> list[Any]:
    async def work() -> list[Any]:
        connection = await asyncpg.connect(url)
        try:
            return list(await connection.fetch(statement))
        finally:
            await connection.close()

    return asyncio.run(work())


def test_a_key_stands_alone_on_stdout(operate: Run) -> None:
    outcome = operate("keys", "create", "--role", "writer", "--name", "nightly import", "--expires", "90d")
    assert outcome.status == 0
    assert KEY.fullmatch(outcome.stdout.rstrip("\n"))
    assert "not shown again" in outcome.stderr
    assert "'default', as writer, until 20" in outcome.stderr
    assert outcome.stdout.strip() not in outcome.stderr


def test_a_key_is_nowhere_in_the_database_nor_in_any_later_answer(operate: Run, database_url: str) -> None:
    key = operate("keys", "create", "--role", "admin").stdout.strip()
    secret = key[PREFIX_CHARS:]
    hexadecimal = secret.encode().hex()
    for (table,) in ask(database_url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"):
        rows = " ".join(row[0] for row in ask(database_url, f"SELECT t::text FROM {table} t"))
        assert secret not in rows, table
        assert hexadecimal not in rows, table
    shown = "".join(operate("keys", "list", *options).stdout for options in [[], ["--json"]])
    assert key[:PREFIX_CHARS] in shown
    assert secret[:4] not in shown
    assert secret not in operate("keys", "revoke", key).stdout


def test_keys_are_listed_with_what_they_open_the_latest_first(operate: Run, database_url: str) -> None:
    operate("tenants", "create", "acme")
    operate("keys", "create", "--role", "viewer")
    operate(
        "keys", "create", "--role", "writer", "--tenant", "acme", "--name", "wiki [import]", "--rate-limit", "9/minute"
    )
    acme, default = listed(operate)
    assert (acme["tenant"], acme["role"], acme["name"]) == ("acme", "writer", "wiki [import]")
    assert (acme["rate_limit"], acme["expires_at"], acme["revoked_at"]) == ("9/minute", None, None)
    assert (default["tenant"], default["role"], default["agent_id"]) == ("default", "viewer", None)
    assert [key["id"] for key in listed(operate, "--tenant", "acme")] == [acme["id"]]
    table = operate("keys", "list").stdout
    assert "wiki [import]" in table
    assert acme["prefix"] in table
    assert max(map(len, table.splitlines())) <= 80


def test_without_keys_the_way_to_one_is_said(operate: Run) -> None:
    outcome = operate("keys", "list")
    assert (outcome.status, outcome.stdout) == (0, "")
    assert "engram keys create --role admin" in outcome.stderr
    assert listed(operate) == []


@pytest.mark.parametrize(
    ("expires", "after"),
    [("12h", timedelta(hours=12)), ("90d", timedelta(days=90)), ("4w", timedelta(weeks=4))],
)
def test_a_key_ends_after_a_time(operate: Run, expires: str, after: timedelta) -> None:
    before = datetime.now(UTC)
    ends = operate("keys", "create", "--role", "viewer", "--expires", expires, "--json").json["expires_at"]
    assert before + after <= datetime.fromisoformat(ends) <= datetime.now(UTC) + after
    assert "until 20" in operate("keys", "list").stdout


def test_a_key_ends_at_a_date(operate: Run) -> None:
    ends = operate("keys", "create", "--role", "viewer", "--expires", "2999-01-31", "--json").json["expires_at"]
    assert ends == "2999-01-31T00:00:00Z"


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (["--role", "viewer", "--expires", "2020-01-31"], 1, "--expires: '2020-01-31' is past"),
        (["--role", "viewer", "--expires", "0d"], 1, "--expires: '0d' is past"),
        (["--role", "viewer", "--expires", "soon"], 1, "--expires: 'soon' is neither a date"),
        (["--role", "viewer", "--expires", "2027-02-31"], 1, "--expires: '2027-02-31' is neither a date"),
        (["--role", "viewer", "--rate-limit", "many"], 1, "--rate-limit: must be one rate"),
        (["--role", "viewer", "--rate-limit", "0/minute"], 1, "--rate-limit: must be one rate"),
        (["--role", "viewer", "--rate-limit", "9/minute;5/second"], 1, "--rate-limit: must be one rate"),
        (["--role", "viewer", "--name", " "], 1, "--name: must not be blank"),
        (["--role", "viewer", "--agent", "nobody"], 1, "The tenant 'default' has no agent 'nobody'"),
        (["--role", "viewer", "--tenant", "nobody"], 1, "There is no tenant 'nobody'; engram tenants list"),
        (["--role", "emperor"], 2, "'emperor' is not one of"),
        ([], 2, "--role"),
    ],
)
def test_what_cannot_be_is_refused_by_name_and_makes_no_key(
    operate: Run, options: list[str], status: int, said: str
) -> None:
    outcome = operate("keys", "create", *options)
    assert (outcome.status, outcome.stdout) == (status, "")
    assert said in outcome.stderr
    assert outcome.stderr.count("\n") == 1
    assert listed(operate) == []


def test_a_key_is_revoked_by_prefix_by_id_or_as_a_whole(operate: Run) -> None:
    for named in ("prefix", "id", "key"):
        made = operate("keys", "create", "--role", "viewer", "--json").json
        for _ in range(2):
            assert operate("keys", "revoke", made[named], "--json").json == {"revoked": made["prefix"]}
        assert listed(operate)[0]["revoked_at"] is not None
    assert operate("keys", "list").stdout.count("revoked") == 3


def test_a_prefix_may_be_copied_from_the_table(operate: Run, made: dict[str, Any]) -> None:
    assert operate("keys", "revoke", f"{made['prefix']}…").status == 0
    assert listed(operate)[0]["revoked_at"] is not None


def test_an_unknown_key_is_not_revoked(operate: Run, made: dict[str, Any]) -> None:
    another = made["key"][:-1] + ("A" if made["key"][-1] != "A" else "B")
    for unknown in ("engram_nobody", made["prefix"][:-1], another):
        outcome = operate("keys", "revoke", unknown)
        assert outcome.status == 1
        assert "engram keys list" in outcome.stderr
        assert another not in outcome.stderr
    assert listed(operate)[0]["revoked_at"] is None


def test_of_keys_that_begin_the_same_none_is_revoked_until_one_is_named(
    operate: Run, made: dict[str, Any], database_url: str
) -> None:
    other = operate("keys", "create", "--role", "viewer", "--json").json
    ask(database_url, f"UPDATE api_keys SET prefix = '{made['prefix']}' WHERE id = '{other['id']}'")
    outcome = operate("keys", "revoke", made["prefix"])
    assert outcome.status == 1
    assert "name one by its id" in outcome.stderr
    assert all(key["revoked_at"] is None for key in listed(operate))
    operate("keys", "revoke", other["id"])
    assert [key["revoked_at"] is None for key in listed(operate)] == [False, True]


def test_a_whole_key_is_told_from_others_that_begin_the_same(
    operate: Run, made: dict[str, Any], database_url: str
) -> None:
    other = operate("keys", "create", "--role", "viewer", "--json").json
    ask(database_url, f"UPDATE api_keys SET prefix = '{made['prefix']}' WHERE id = '{other['id']}'")
    assert operate("keys", "revoke", made["key"]).status == 0
    assert [key["revoked_at"] is None for key in listed(operate)] == [True, False]


def test_a_key_opens_a_server_that_runs_and_revoked_it_does_not(operate: Run, live_server: str) -> None:
    with Engram(live_server, max_retries=0) as anonymous:
        anonymous.agents.create("before")
        key = operate("keys", "create", "--role", "writer", "--agent", "before").stdout.strip()
        with pytest.raises(AuthenticationError):
            anonymous.agents.list()
    with Engram(live_server, api_key=key, max_retries=0) as client:
        assert [agent.name for agent in client.agents.list()] == ["before"]
        operate("keys", "revoke", key)
        with pytest.raises(AuthenticationError, match="revoked"):
            client.agents.list()


@pytest.fixture
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    from engram.db.embedded import EmbeddedPostgres

    folder = tmp_path_factory.mktemp("k")
    yield folder
    if (folder / "postgres" / "postmaster.pid").exists():
        EmbeddedPostgres.start(folder).stop()


def test_keys_are_made_beside_a_server_with_the_same_data_directory(run: Run, data: Path) -> None:
    key = run("keys", "create", "--role", "admin", "--data-dir", str(data)).stdout.strip()
    server = start("serve", "--port", "0", "--data-dir", str(data), cwd=data)
    assert server.stderr is not None
    url = None
    while url is None and (line := server.stderr.readline()):
        url = re.search(r"http://127\.0\.0\.1:\d+", line)
    assert url is not None
    with Engram(url[0], api_key=key) as client:
        client.agents.create("clerk")
        second = run("keys", "create", "--role", "viewer", "--agent", "clerk", "--data-dir", str(data)).stdout.strip()
        with Engram(url[0], api_key=second) as viewer:
            assert [agent.name for agent in viewer.agents.list()] == ["clerk"]
        assert client.health().status == "ok"
    server.terminate()
    assert finish(server).status == 0
