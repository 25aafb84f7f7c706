"""Row-level security holds where a statement forgot its scope, and what a server's roles cannot do at all."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import httpx
import pytest

import engram.tenants.database
from engram.db.database import Database, driver
from engram.db.roles import SERVER_ROLE
from engram.problems import PermissionDeniedProblem
from engram.services import Services, open_services
from engram.settings import Settings
from engram.tenants.database import TenantDatabase
from engram.tenants.keys import digest_of
from engram.tenants.keys import new_key as unknown_key
from engram.tenants.roles import Role
from engram.tenants.scope import DEFAULT_SCOPE, Scope
from tests.fixtures.rows import every_row
from tests.fixtures.tenants import Tenant

from .calls import guarded
from .test_catalog import QUEUE, SHARED
from .worlds import World, new_world

ROLES = ("engram_reader", "engram_writer", "engram_admin")


@pytest.fixture
async def world(http: httpx.AsyncClient, alder: Tenant, database: Database) -> World:
    world = await new_world(http, alder, extra=0)
    await fill(database, world)
    return world


@pytest.fixture
async def others(http: httpx.AsyncClient, birch: Tenant, database: Database) -> World:
    world = await new_world(http, birch, extra=1)
    await fill(database, world)
    return world


async def fill(database: Database, world: World) -> None:
    """Rows that come and go by themselves, so that every table has some."""
    async with database.transaction() as connection:
        await driver(connection).execute(
            """
            INSERT INTO pending_projections (agent_id, tenant_id, memory_id, projection, next_attempt_at)
            VALUES ($1, $2, $3, 'test', now())
            """,
            world.ids["agent_id"],
            world.tenant.id,
            world.ids["memory_id"],
        )
        await driver(connection).execute(
            """
            INSERT INTO idempotency_keys (tenant_id, digest, fingerprint, status, body, recorded_at, expires_at)
            VALUES ($1, 'x', 'x', 200, 'x', now(), now() + interval '1 day')
            """,
            world.tenant.id,
        )
        # What only a server makes that is set to, only computing communities makes, and only an admin registers.
        await driver(connection).execute(
            """
            INSERT INTO entity_vectors (agent_id, entity_id, user_id, tenant_id, memory_ids, mentions, digest,
                updated_at, embedding_model_id, embedding)
            SELECT e.agent_id, e.id, '', e.tenant_id, ARRAY[m.id], 1, 'x', now(), m.embedding_model_id, m.embedding
            FROM entities e JOIN memories m ON m.agent_id = e.agent_id AND m.id = $2 WHERE e.agent_id = $1
            """,
            world.ids["agent_id"],
            world.ids["memory_id"],
        )
        await driver(connection).execute(
            """
            INSERT INTO entity_communities (agent_id, entity_id, level, community_id, tenant_id)
            SELECT agent_id, id, 0, id, tenant_id FROM entities WHERE agent_id = $1
            """,
            world.ids["agent_id"],
        )
        await driver(connection).execute(
            """
            INSERT INTO entity_community_runs (agent_id, tenant_id, computed_at, entities, dropped, levels)
            VALUES ($1, $2, now(), 1, 0, 1)
            """,
            world.ids["agent_id"],
            world.tenant.id,
        )
        await driver(connection).execute(
            """
            INSERT INTO ontologies (agent_id, tenant_id, entity_types, verbs, attributes, updated_at)
            VALUES ($1, $2, '[]', '{}', '{}', now()) ON CONFLICT DO NOTHING
            """,
            world.ids["agent_id"],
            world.tenant.id,
        )


@pytest.fixture
async def login(server_url: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection as servers have it, with nothing around it."""
    connection = await asyncpg.connect(server_url)
    yield connection
    await connection.close()


@asynccontextmanager
async def within(login: asyncpg.Connection, role: str, tenant: str | None) -> AsyncIterator[asyncpg.Connection]:
    """A transaction as a role, for a tenant or for none, that leaves nothing behind."""
    transaction = login.transaction()
    await transaction.start()
    try:
        await login.execute(f"SET LOCAL ROLE {role}")
        if tenant is not None:
            await login.execute(f"SET LOCAL engram.tenant_id = '{tenant}'")
        yield login
    finally:
        await transaction.rollback()


async def attempt(connection: asyncpg.Connection, statement: str, *values: Any) -> int | None:
    """How many rows a statement touches; None where it is refused. The transaction goes on."""
    try:
        async with connection.transaction():
            done = (await connection.execute(statement, *values)).rsplit(maxsplit=1)[-1]
            return int(done) if done.isdigit() else 0
    except asyncpg.InsufficientPrivilegeError:
        return None


async def tenant_tables(database: Database) -> list[str]:
    async with database.snapshot() as connection:
        found = await driver(connection).fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    return sorted({table for (table,) in found} - SHARED.keys() - QUEUE.keys())


async def row_of(database: Database, table: str, world: World) -> str:
    """One of a tenant's rows as JSON."""
    async with database.snapshot() as connection:
        row: str | None = await driver(connection).fetchval(
            f"SELECT to_jsonb(t)::text FROM {table} t WHERE {column(table)} = $1 LIMIT 1", world.tenant.id
        )
    assert row is not None, f"{table} holds nothing of {world.mark}: tests/security/worlds.py has to fill it"
    return row


@pytest.fixture
async def insertions(database: Database) -> dict[str, str]:
    """Statements that insert a row given as JSON, by table."""
    async with database.snapshot() as connection:
        found = await driver(connection).fetch(
            """
            SELECT c.relname, string_agg(quote_ident(a.attname), ', ') AS columns
            FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
            WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0
                AND NOT a.attisdropped AND a.attgenerated = ''
            GROUP BY c.relname
            """
        )
    return {
        table: f"INSERT INTO {table} ({columns})"
        f" SELECT {columns} FROM jsonb_populate_record(NULL::{table}, $1::text::jsonb)"
        for table, columns in found
    }


def column(table: str) -> str:
    return "id" if table == "tenants" else "tenant_id"


class TestRepositoriesThatNameTheWrongTenant:
    """Every statement names the tenant of the key, whose rows are there, while its transaction is for another one or
    for none: as if the transaction's were right, and the statement had forgotten."""

    @pytest.fixture(params=["another", "none"])
    async def crossed(
        self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, world: World, others: World
    ) -> World:
        usual = engram.tenants.database._within
        tenant = UUID(others.tenant.id)

        def crossed(role: Role, scope: Scope) -> str:
            setup = usual(role, replace(scope, tenant_id=tenant))
            return setup if request.param == "another" else setup.partition(";")[0]

        monkeypatch.setattr(engram.tenants.database, "_within", crossed)
        return world

    async def test_nothing_is_found_and_nothing_changes(
        self, http: httpx.AsyncClient, crossed: World, database: Database
    ) -> None:
        before = await every_row(database)
        for call in guarded(crossed.ids):
            response = await call.send(http, crossed.tenant.headers())
            if call.operation in ("list_agents", "list_audit"):
                assert response.json()["data"] == []
            elif call.operation in ("create_agent", "import_agent"):
                assert response.status_code == 500
            else:
                assert response.status_code == 404, call.operation
        assert await every_row(database) == before


class TestStatementsWithoutAnyScope:
    async def test_reading_shows_one_tenant(
        self, login: asyncpg.Connection, database: Database, world: World, others: World
    ) -> None:
        readable: dict[str, set[str]] = {}
        for table in await tenant_tables(database):
            for role in ROLES:
                async with within(login, role, world.tenant.id):
                    seen = await attempt(login, f"SELECT FROM {table}")
                    if seen is None:
                        continue
                    readable.setdefault(role, set()).add(table)
                    theirs = await attempt(login, f"SELECT FROM {table} WHERE {column(table)} = $1", others.tenant.id)
                    mine = await attempt(login, f"SELECT FROM {table} WHERE {column(table)} = $1", world.tenant.id)
                    assert (theirs, mine) == (0, seen), (table, role)
                    assert seen > 0, (table, role)
                async with within(login, role, None):
                    assert await attempt(login, f"SELECT FROM {table}") == 0, (table, role)
        assert readable["engram_reader"] < readable["engram_writer"] < readable["engram_admin"]
        assert set(await tenant_tables(database)) - readable["engram_admin"] == {"api_keys"}

    @pytest.mark.parametrize("role", ROLES)
    async def test_writing_reaches_one_tenant(
        self,
        login: asyncpg.Connection,
        database: Database,
        world: World,
        others: World,
        role: str,
        insertions: dict[str, str],
    ) -> None:
        before = await every_row(database)
        for table in await tenant_tables(database):
            name, theirs = column(table), await row_of(database, table, others)
            # What it would be under one's own tenant, and what one's own would be under theirs.
            mine = await row_of(database, table, world)
            for tenant in (world.tenant.id, None):
                async with within(login, role, tenant):
                    for statement in (
                        f"UPDATE {table} SET {name} = {name} WHERE {name} = $1",
                        f"UPDATE {table} SET {name} = '{world.tenant.id}' WHERE {name} = $1",
                        f"DELETE FROM {table} WHERE {name} = $1",
                    ):
                        assert await attempt(login, statement, others.tenant.id) in (None, 0), (table, statement)
                    for row in (theirs, mine.replace(world.tenant.id, others.tenant.id)):
                        assert await attempt(login, insertions[table], row) is None, (table, "insert")
                    assert await attempt(login, f"UPDATE {table} SET {name} = '{others.tenant.id}'") in (None, 0), (
                        table,
                        "give away",
                    )
                    assert tenant is not None or await attempt(login, insertions[table], mine) is None
        assert await every_row(database) == before

    async def test_a_row_cannot_lie_with_an_agent_of_another_tenant(
        self, login: asyncpg.Connection, database: Database, world: World, others: World, insertions: dict[str, str]
    ) -> None:
        for table in ("memories", "agent_counters", "entities"):
            row = json.loads((await row_of(database, table, others)).replace(others.tenant.id, world.tenant.id))
            # Beside theirs, not in its place.
            row |= {"id": str(uuid4()), "shard": 99, "dedup_hash": None, "name": "new"}
            async with within(login, "engram_admin", world.tenant.id):
                with pytest.raises(asyncpg.ForeignKeyViolationError):
                    await login.execute(insertions[table], json.dumps(row))

    async def test_taking_the_place_of_anothers_row_is_refused(
        self, login: asyncpg.Connection, database: Database, world: World, others: World, insertions: dict[str, str]
    ) -> None:
        row = (await row_of(database, "edges", others)).replace(others.tenant.id, world.tenant.id)
        conflict = " ON CONFLICT (agent_id, source_id, target_id, relation_type) DO UPDATE SET weight = 0.5"
        async with within(login, "engram_admin", world.tenant.id):
            assert await attempt(login, insertions["edges"] + conflict, row) is None


class TestRoles:
    @pytest.mark.parametrize("role", ROLES)
    async def test_none_reads_what_is_kept_of_keys(self, login: asyncpg.Connection, world: World, role: str) -> None:
        async with within(login, role, world.tenant.id):
            for statement in (
                "SELECT digest FROM api_keys",
                "SELECT count(*) FROM api_keys",
                "UPDATE api_keys SET revoked_at = NULL",
                "DELETE FROM api_keys",
                "COPY api_keys TO STDOUT",
                "SELECT * FROM engram_authenticate('x')",
                "SELECT engram_has_keys()",
            ):
                assert await attempt(login, statement) is None, statement

    @pytest.mark.parametrize("role", [*ROLES, "engram_server"])
    async def test_none_changes_the_schema(
        self, login: asyncpg.Connection, database: Database, world: World, role: str
    ) -> None:
        async with within(login, role, world.tenant.id):
            for statement in (
                "CREATE TABLE public.mine (id int)",
                "CREATE VIEW public.mine AS SELECT 1",
                "CREATE FUNCTION public.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
                "CREATE SCHEMA mine",
                "CREATE ROLE mine",
                "CREATE EXTENSION pg_trgm",
                "ALTER TABLE memories ADD COLUMN mine int",
                "ALTER TABLE memories DISABLE ROW LEVEL SECURITY",
                "ALTER TABLE memories OWNER TO engram_admin",
                "ALTER POLICY memories_tenant ON memories USING (true)",
                "DROP POLICY memories_tenant ON memories",
                "DROP TABLE memories",
                "TRUNCATE memories",
                "CREATE INDEX ON memories (content)",
                "CREATE POLICY mine ON memories USING (true)",
                "CREATE TRIGGER mine BEFORE INSERT ON memories FOR EACH ROW EXECUTE FUNCTION lo_manage()",
                "ALTER FUNCTION engram_has_keys() RESET search_path",
                "GRANT SELECT ON api_keys TO engram_reader",
                "GRANT engram_admin TO engram_reader",
                f"ALTER ROLE {role} SUPERUSER",
                f"ALTER ROLE {role} BYPASSRLS",
                "COPY memories FROM PROGRAM 'true'",
                "COPY memories TO '/nowhere'",
                "SELECT pg_read_file('/etc/passwd')",
                "SET LOCAL session_replication_role = replica",
                "DO $$BEGIN PERFORM lo_import('/etc/passwd'); END$$",
            ):
                try:
                    refused = await attempt(login, statement) is None
                except asyncpg.PostgresError as error:
                    pytest.fail(f"{statement}: {error!r}")
                except ValueError:
                    refused = False
                assert refused, statement

    @pytest.mark.parametrize("role", ROLES)
    async def test_none_turns_the_policies_off(self, login: asyncpg.Connection, world: World, role: str) -> None:
        async with within(login, role, world.tenant.id):
            await login.execute("SET LOCAL row_security = off")
            assert await attempt(login, "SELECT FROM memories") is None

    async def test_none_reads_samples_of_values_that_the_planner_keeps(
        self, login: asyncpg.Connection, database: Database, world: World, others: World
    ) -> None:
        async with database.transaction() as connection:
            await driver(connection).execute("ANALYZE memories; ANALYZE agents")
        for role in (*ROLES, "engram_server"):
            async with within(login, role, world.tenant.id):
                assert await attempt(login, "SELECT FROM pg_stats WHERE schemaname = 'public'") == (
                    await attempt(login, "SELECT FROM pg_stats WHERE tablename = ANY ($1)", [*SHARED, *QUEUE])
                )

    async def test_a_reader_writes_nothing(
        self, login: asyncpg.Connection, database: Database, world: World, insertions: dict[str, str]
    ) -> None:
        for table in await tenant_tables(database):
            row = await row_of(database, table, world)
            async with within(login, "engram_reader", world.tenant.id):
                for statement, values in (
                    (f"UPDATE {table} SET {column(table)} = {column(table)}", ()),
                    (f"DELETE FROM {table}", ()),
                    (insertions[table], (row,)),
                    (f"LOCK TABLE {table} IN EXCLUSIVE MODE", ()),
                ):
                    assert await attempt(login, statement, *values) is None, statement

    async def test_a_writer_neither_erases_nor_rewrites_what_was_done(
        self, login: asyncpg.Connection, world: World
    ) -> None:
        for role, refused in (
            (
                "engram_writer",
                (
                    *("agents", "memories", "memory_versions", "edge_versions", "memory_slots", "entities"),
                    *("entity_aliases", "agent_counters", "audit_log", "tenants"),
                ),
            ),
            ("engram_admin", ("audit_log", "tenants")),
        ):
            async with within(login, role, world.tenant.id):
                for table in refused:
                    assert await attempt(login, f"DELETE FROM {table}") is None, (role, table)
                assert await attempt(login, "UPDATE audit_log SET action = 'none'") is None
                assert await attempt(login, "UPDATE tenants SET name = 'mine'") is None
        async with within(login, "engram_writer", world.tenant.id):
            assert await attempt(login, "SELECT FROM audit_log") is None


class TestTheLoginOfServers:
    async def test_the_pool_is_not_the_owners(self, services: Services) -> None:
        async with services.database.snapshot() as connection:
            row = await driver(connection).fetchrow(
                "SELECT current_user, session_user, current_setting('is_superuser') AS super"
            )
        assert row is not None
        assert tuple(row) == (SERVER_ROLE, SERVER_ROLE, "off")

    async def test_nor_is_it_on_the_embedded_postgres(
        self, make_settings: Callable[..., Settings], server_dir: Path, static_weights: None
    ) -> None:
        embedded = make_settings(None, data_dir=server_dir)
        async with open_services(embedded) as services, services.database.snapshot() as connection:
            row = await driver(connection).fetchrow(
                "SELECT current_user, session_user, current_setting('is_superuser') AS super"
            )
        assert row is not None
        assert tuple(row) == (SERVER_ROLE, SERVER_ROLE, "off")

    @pytest.mark.parametrize("login", ["the server's", "the owner's"])
    async def test_transactions_run_as_what_they_need_whoever_logged_in(
        self, services: Services, database: Database, login: str
    ) -> None:
        tenants = TenantDatabase(database if login == "the owner's" else services.database)
        for begin, role in (
            (tenants.snapshot, "engram_reader"),
            (tenants.transaction, "engram_writer"),
            (tenants.administration, "engram_admin"),
        ):
            async with begin(DEFAULT_SCOPE) as connection:
                assert await driver(connection).fetchval("SELECT current_user") == role

    @pytest.mark.parametrize("role", [Role.viewer, Role.writer])
    async def test_a_lesser_scope_begins_no_greater_transaction(self, services: Services, role: Role) -> None:
        """Whatever a route forgot."""
        tenants = TenantDatabase(services.database)
        refused = [tenants.administration] if role is Role.writer else [tenants.administration, tenants.transaction]
        for begin in refused:
            with pytest.raises(PermissionDeniedProblem):
                async with begin(replace(DEFAULT_SCOPE, role=role)):
                    pass

    async def test_by_itself_it_sees_what_is_shared_and_nothing_else(
        self, login: asyncpg.Connection, database: Database, world: World, insertions: dict[str, str]
    ) -> None:
        await login.execute(f"SET engram.tenant_id = '{world.tenant.id}'")
        for table in await tenant_tables(database):
            for statement in (f"SELECT FROM {table}", f"DELETE FROM {table}"):
                assert await attempt(login, statement) is None, statement
            assert await attempt(login, insertions[table], await row_of(database, table, world)) is None, table
        for table in SHARED:
            assert await attempt(login, f"SELECT FROM {table}") is not None
            assert await attempt(login, f"DELETE FROM {table}") is None
        for table in QUEUE:
            assert await attempt(login, f"SELECT FROM {table}") is not None
            for role in ROLES:
                async with within(login, role, world.tenant.id):
                    assert await attempt(login, f"SELECT FROM {table}") is None, (table, role)

    async def test_it_becomes_the_roles_of_requests_and_nobody_else(
        self, login: asyncpg.Connection, database: Database
    ) -> None:
        owner = "postgres"
        for statement in (
            f"SET ROLE {owner}",
            f"SET SESSION AUTHORIZATION {owner}",
            "SET ROLE pg_read_all_data",
            "SET ROLE pg_database_owner",
        ):
            assert await attempt_command(login, statement) is False, statement
        for role in ROLES:
            await login.execute(f"SET ROLE {role}")
            assert await attempt_command(login, f"SET ROLE {owner}") is False
            for back in ("RESET ROLE", "SET ROLE NONE", "RESET SESSION AUTHORIZATION"):
                await login.execute(f"SET ROLE {role}")
                await login.execute(back)
                assert await login.fetchval("SELECT current_user") == SERVER_ROLE

    async def test_its_functions_cannot_be_led_to_look_elsewhere(
        self, login: asyncpg.Connection, world: World, services: Services
    ) -> None:
        """Tables, types and operators of the caller's own do not stand in for ours."""
        digest = digest_of(unknown_key())
        # Once before, too: a plan that is kept would be the right one.
        for _ in range(2):
            assert await login.fetch("SELECT * FROM engram_authenticate($1)", digest) == []
            await login.execute(
                """
                DROP TABLE IF EXISTS pg_temp.api_keys;
                CREATE TEMP TABLE api_keys (
                    id uuid, tenant_id uuid, agent_id uuid, role text, prefix text, rate_limit text,
                    expires_at timestamptz, revoked_at timestamptz, digest bytea, last_used_at timestamptz
                )
                """
            )
            await login.execute(
                "INSERT INTO pg_temp.api_keys VALUES (gen_random_uuid(), $1, NULL, 'admin', 'x', NULL, NULL, NULL, $2)",
                world.tenant.id,
                digest,
            )
            await login.execute(
                """
                CREATE OR REPLACE FUNCTION pg_temp.same(bytea, bytea) RETURNS boolean LANGUAGE sql AS 'SELECT true';
                DROP OPERATOR IF EXISTS pg_temp.= (bytea, bytea);
                CREATE OPERATOR pg_temp.= (LEFTARG = bytea, RIGHTARG = bytea, FUNCTION = pg_temp.same)
                """
            )
            for path in ("pg_temp, public", "pg_temp", "pg_temp, pg_catalog, public"):
                await login.execute(f"SET search_path = {path}")
                assert await login.fetch("SELECT * FROM public.engram_authenticate($1)", digest) == []
                await login.execute(
                    "SELECT public.engram_note_key_use(ARRAY(SELECT id FROM pg_temp.api_keys), '{now}')"
                )
                assert await login.fetchval("SELECT count(last_used_at) FROM pg_temp.api_keys") == 0
                assert await login.fetchval("SELECT public.engram_has_keys()") is True
                await login.execute("RESET search_path")

    async def test_a_settings_value_is_never_taken_for_sql(self, login: asyncpg.Connection, world: World) -> None:
        for tenant in ("' OR true --", "x", "", "00000000-0000-0000-0000-000000000000"):
            async with login.transaction():
                await login.execute("SET LOCAL ROLE engram_reader")
                await login.execute("SELECT set_config('engram.tenant_id', $1, true)", tenant)
                try:
                    async with login.transaction():
                        assert await login.fetch("SELECT id FROM memories") == []
                except asyncpg.InvalidTextRepresentationError:
                    pass  # no tenant at all: refused


async def attempt_command(connection: asyncpg.Connection, statement: str) -> bool:
    try:
        await connection.execute(statement)
    except (asyncpg.InsufficientPrivilegeError, asyncpg.InvalidParameterValueError):
        return False
    return True
