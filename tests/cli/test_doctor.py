"""The doctor: what it finds in good and bad set-ups, and that it changes nothing."""

from __future__ import annotations

import asyncio
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from engram.cli.doctor.variables import known_variables
from engram.settings import Settings

from .conftest import Examine, Run, change, statuses, told


def test_on_a_bare_machine_all_is_well_and_stays_as_it_was(examine: Examine, tmp_path: Path) -> None:
    outcome = examine("--json")
    assert outcome.status == 0
    assert outcome.stderr == ""
    assert set(statuses(outcome).values()) == {"ok"}
    assert "engram serve" in told(outcome, "Database")
    assert "256" in told(outcome, "Embedder")
    assert list(tmp_path.iterdir()) == []


def test_a_migrated_database_is_well(examine: Examine, database_url: str) -> None:
    outcome = examine("--json", ENGRAM_DATABASE_URL=database_url)
    assert outcome.status == 0
    found = statuses(outcome)
    assert set(found.values()) == {"ok"}
    assert {"Postgres", "pgvector", "Revision", "Links"} <= set(found)


def test_pools_of_several_workers_that_the_database_cannot_fill_are_named(examine: Examine, database_url: str) -> None:
    fits = examine("--json", ENGRAM_DATABASE_URL=database_url, ENGRAM_WORKERS="2")
    assert (fits.status, statuses(fits)["Workers"]) == (0, "ok")
    many = examine("--json", ENGRAM_DATABASE_URL=database_url, ENGRAM_WORKERS="2", ENGRAM_POOL_SIZE="400")
    assert (many.status, statuses(many)["Workers"]) == (1, "fail")
    assert "ENGRAM_POOL_SIZE" in told(many, "Workers")


def test_people_get_a_line_for_each_thing_and_a_summary(examine: Examine) -> None:
    outcome = examine()
    lines = outcome.stdout.splitlines()
    assert [line.split()[:2] for line in lines[:2]] == [["ok", "Python"], ["ok", "Settings"]]
    assert lines[-1] == "All is well."
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in outcome.stdout


def test_a_database_that_was_never_migrated_is_left_so(examine: Examine, empty_database_url: str) -> None:
    for _ in range(2):
        outcome = examine("--json", ENGRAM_DATABASE_URL=empty_database_url)
        assert outcome.status == 0
        assert statuses(outcome)["Revision"] == "warn"
        assert "engram migrate" in told(outcome, "Revision")
        assert "available" in told(outcome, "pgvector")


def test_a_database_of_a_newer_version_is_named(examine: Examine, database_url: str) -> None:
    asyncio.run(change(database_url, "UPDATE alembic_version SET version_num = '9999'"))
    outcome = examine("--json", ENGRAM_DATABASE_URL=database_url)
    assert outcome.status == 1
    assert statuses(outcome)["Revision"] == "fail"
    assert "9999" in told(outcome, "Revision")


def test_memories_of_another_model_are_named_with_the_way_back(
    client_run: Run, examine: Examine, database_url: str
) -> None:
    client_run("remember", "Alice leads billing")
    assert statuses(examine("--json", ENGRAM_DATABASE_URL=database_url))["Memories"] == "ok"
    asyncio.run(change(database_url, "UPDATE embedding_models SET name = 'large', provider = 'openai'"))
    outcome = examine("--json", ENGRAM_DATABASE_URL=database_url)
    assert outcome.status == 1
    assert statuses(outcome)["Memories"] == "fail"
    assert "EMBEDDING_PROVIDER=openai" in told(outcome, "Memories")
    assert "EMBEDDING_MODEL=large" in told(outcome, "Memories")


def test_memories_that_wait_for_links_are_counted(client_run: Run, examine: Examine, database_url: str) -> None:
    client_run("remember", "Alice leads billing")
    owed = (
        "INSERT INTO pending_projections (agent_id, tenant_id, memory_id, projection, next_attempt_at) "
        "SELECT agent_id, tenant_id, id, 'thematic', now() + interval '1 hour' FROM memories"
    )
    asyncio.run(change(database_url, owed))
    outcome = examine("--json", ENGRAM_DATABASE_URL=database_url)
    assert outcome.status == 0
    assert statuses(outcome)["Links"] == "warn"
    assert "links: 1" in told(outcome, "Links")


def test_a_database_that_does_not_answer_is_named_without_its_password(examine: Examine) -> None:
    for url in ("postgresql://me:hush@127.0.0.1:1/x", "postgresql://me:hush/x@", "nonsense:hush"):
        outcome = examine("--json", ENGRAM_DATABASE_URL=url)
        assert outcome.status == 1
        assert statuses(outcome)["Database"] == "fail"
        assert "hush" not in outcome.stdout + outcome.stderr


def test_a_setting_that_cannot_be_is_named_without_its_value(examine: Examine) -> None:
    outcome = examine("--json", ENGRAM_POOL_SIZE="sesame", EMBEDDING_DIMENSION="0")
    assert outcome.status == 1
    assert "ENGRAM_POOL_SIZE" in told(outcome, "Settings")
    assert "EMBEDDING_DIMENSION" in told(outcome, "Settings")
    assert "sesame" not in outcome.stdout


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("ENGRAM_DATABSE_URL", "ENGRAM_DATABASE_URL"),
        ("ENGRAM_DATADIR", "ENGRAM_DATA_DIR"),
        ("ENGRAM_APIKEY", "ENGRAM_API_KEY"),
        ("EMBEDING_PROVIDER", "EMBEDDING_PROVIDER"),
    ],
)
def test_a_name_that_is_nearly_right_is_put_right(examine: Examine, name: str, meant: str) -> None:
    outcome = examine("--json", **{name: "x"})
    assert outcome.status == 0
    assert statuses(outcome)["Settings"] == "warn"
    assert f"{name} is not known" in told(outcome, "Settings")
    assert f"Did you mean {meant}?" in told(outcome, "Settings")


def test_variables_of_others_are_none_of_its_business(examine: Examine) -> None:
    outcome = examine("--json", EMBEDDINGS_OF_MY_OWN="x", PORT="1", LLM="x")
    assert statuses(outcome)["Settings"] == "ok"


def test_a_name_in_the_file_of_settings_is_looked_at_too(
    examine: Examine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "env"
    file.write_text("ENGRAM_DATABSE_URL=x\nPATH_OF_MINE=y\n")
    monkeypatch.setitem(Settings.model_config, "env_file", str(file))
    outcome = examine("--json")
    assert "ENGRAM_DATABSE_URL is not known" in told(outcome, "Settings")
    assert "PATH_OF_MINE" not in told(outcome, "Settings")


def test_every_setting_is_known() -> None:
    assert {"ENGRAM_DATABASE_URL", "ENGRAM_BASE_URL", "EMBEDDING_MODEL", "ENGRAM_EMBEDDING_MODEL"} <= known_variables()


def test_an_embedder_that_is_not_there_is_named(examine: Examine) -> None:
    outcome = examine("--json", EMBEDDING_PROVIDER="static", EMBEDDING_MODEL="unheard-of")
    assert outcome.status == 1
    assert statuses(outcome)["Embedder"] == "fail"
    assert "unheard-of" in told(outcome, "Embedder")


def test_a_data_folder_that_cannot_be_is_named(examine: Examine, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    outcome = examine("--json", "--data-dir", str(tmp_path / "file" / "data"))
    assert outcome.status == 1
    assert statuses(outcome)["Data folder"] == "fail"
    assert "--data-dir" in told(outcome, "Data folder")


def test_data_that_this_version_cannot_serve_is_named_and_kept(examine: Examine, tmp_path: Path) -> None:
    cluster = tmp_path / "data" / "postgres"
    cluster.mkdir(parents=True)
    (cluster / "PG_VERSION").write_text("9\n")
    outcome = examine("--json")
    assert outcome.status == 1
    assert "PostgreSQL 9" in told(outcome, "Database")
    (cluster / "PG_VERSION").rename(cluster / "something")
    assert "no PostgreSQL data" in told(examine("--json"), "Database")
    assert [path.name for path in cluster.iterdir()] == ["something"]


def test_a_running_server_is_found(examine: Examine, live_server: str, database_url: str) -> None:
    port = live_server.rpartition(":")[2]
    outcome = examine("--json", ENGRAM_DATABASE_URL=database_url, ENGRAM_PORT=port)
    assert outcome.status == 0
    assert f"answers at {live_server}" in told(outcome, "Server")


def test_clients_that_look_elsewhere_are_told(examine: Examine) -> None:
    outcome = examine("--json", ENGRAM_BASE_URL="http://127.0.0.1:1")
    assert outcome.status == 0
    assert statuses(outcome)["Server"] == "warn"
    assert "ENGRAM_BASE_URL" in told(outcome, "Server")


@pytest.fixture
def stranger() -> Iterator[int]:
    """The port of a web server that is not ours."""
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join(30)


def test_a_port_that_another_program_has_is_named(examine: Examine, stranger: int) -> None:
    outcome = examine("--json", ENGRAM_PORT=str(stranger))
    assert outcome.status == 1
    assert statuses(outcome)["Server"] == "fail"
    assert "ENGRAM_PORT" in told(outcome, "Server")


def test_an_address_that_the_server_would_refuse_is_named(examine: Examine) -> None:
    outcome = examine("--json", ENGRAM_HOST="0.0.0.0")
    assert outcome.status == 1
    assert "ENGRAM_INSECURE_BIND" in told(outcome, "Server")


def test_what_must_be_mended_is_counted(examine: Examine) -> None:
    outcome = examine(EMBEDDING_MODEL="unheard-of", ENGRAM_HOST="0.0.0.0", ENGRAM_SESAME="x")
    assert outcome.status == 1
    assert outcome.stdout.splitlines()[-1] == "2 things to mend, 1 warning"
    assert "→ " in outcome.stdout


def test_who_can_connect_is_told(examine: Examine, run: Run, database_url: str) -> None:
    def keys(**environment: str) -> tuple[str, str]:
        outcome = examine("--json", ENGRAM_DATABASE_URL=database_url, **environment)
        return statuses(outcome)["Keys"], told(outcome, "Keys")

    assert keys() == ("ok", "none: only this machine can connect ")
    status, detail = keys(ENGRAM_INSECURE_BIND="true")
    assert (status, "engram keys create" in detail) == ("warn", True)
    key = run("keys", "create", "--role", "admin", "--expires", "12h").stdout.strip()
    run("tenants", "create", "acme")
    run("keys", "create", "--role", "viewer", "--tenant", "acme")
    assert keys() == ("ok", "2 valid keys in 2 tenants ")
    run("keys", "revoke", key)
    assert keys() == ("ok", "1 valid key in 1 tenant ")
    asyncio.run(change(database_url, "UPDATE api_keys SET expires_at = now()"))
    status, detail = keys()
    assert (status, "nobody can connect" in detail) == ("fail", True)
    assert "engram keys create --role admin" in detail


def test_keys_are_not_told_of_where_nothing_is_known_of_them(examine: Examine, empty_database_url: str) -> None:
    assert "Keys" not in statuses(examine("--json", ENGRAM_DATABASE_URL="postgresql://me@127.0.0.1:1/x"))
    # In a database that was never migrated it is known that there are none.
    assert "none" in told(examine("--json", ENGRAM_DATABASE_URL=empty_database_url), "Keys")
