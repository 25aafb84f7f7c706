"""What the database itself says of who may do what. A table or function that is added has to be decided on here."""

from __future__ import annotations

import re
from typing import Any

import pytest

from engram.db.database import Database, driver

SHARED = {
    "alembic_version": "the revision of the schema, which a server compares with its own",
    "embedding_models": "which models made vectors: of the server, and the same for all tenants",
}
"""Tables that are no tenant's, and why."""

QUEUE = {
    "job_queue": "who is at which job; of a job it holds the tenant and the id",
    "job_queue_log": "what became of entries of the queue, without messages of errors",
    "job_queue_schedules": "when periodic work is due",
    "job_queue_statistics": "nothing: the library wants it to be there",
}
"""Tables of the queue's library, which the server uses as itself and no request touches."""

TENANT = "(NULLIF(current_setting('engram.tenant_id'::text, true), ''::text))::uuid"

READ, ADD, WRITE, ERASE = {"SELECT"}, {"INSERT"}, {"INSERT", "UPDATE"}, {"DELETE"}
KEPT = (
    *("agents", "agent_counters", "memories", "entities", "entity_aliases", "memory_slots", "jobs"),
    *("facts", "fact_slots", "fact_merges", "ontologies"),
)
"""What only an admin erases."""
PAST = ("memory_versions", "edge_versions", "fact_closures", "fact_memories", "fact_words")
"""What is written once, and erased with what it tells of."""
REMADE = (
    *("memory_terms", "memory_lexemes", "memory_passages", "pending_projections", "mentions", "edges"),
    "co_occurrences",
    "entity_pairs",
    "entity_degrees",
    *("entity_communities", "entity_community_runs"),
    "derived_facts",
    "entity_vectors",
)
"""What a writer takes away and makes anew."""

GRANTS: dict[str, dict[str, set[str]]] = {
    "engram_reader": dict.fromkeys(("tenants", *KEPT, *PAST, *REMADE, *SHARED), READ),
    "engram_writer": {
        **dict.fromkeys(KEPT, WRITE),
        **dict.fromkeys(REMADE, WRITE | ERASE),
        **dict.fromkeys(PAST, ADD),
        "audit_log": {"INSERT"},
        "idempotency_keys": READ | ERASE | {"INSERT"},
    },
    "engram_admin": {**dict.fromkeys((*KEPT, *PAST, "edges"), ERASE), "audit_log": READ},
    "engram_server": {
        **dict.fromkeys(SHARED, READ),
        "job_queue": READ | WRITE | ERASE,
        "job_queue_log": READ | ERASE | {"INSERT"},
        "job_queue_schedules": READ | WRITE,
        "job_queue_statistics": READ,
        "job_queue_id_seq": {"USAGE"},
        "job_queue_schedules_id_seq": {"USAGE"},
    },
}
"""What each role is granted by itself, beside what it has from the one below it."""

DEFINERS = {
    "engram_abandoned_imports": "what imports left that ended with their server, of all tenants",
    "engram_changed_communities": "whose entities are to be put into communities anew, of all tenants",
    "engram_authenticate": "the tenant of a key, which is not known before",
    "engram_has_keys": "whether anybody is let in without a key",
    "engram_note_key_use": "when keys were last used",
    "engram_claim_projections": "what work is due, of all tenants",
    "engram_count_pending": "how much work is due, for the operator",
    "engram_owed_projections": "the same by kind, for the operator",
    "engram_expired_memories": "what was deleted longer ago than may be restored, of all tenants",
    "engram_forget_answers": "answers that were kept for repeated requests, and have run out",
    "engram_unqueued_jobs": "which jobs the queue knows nothing of, of all tenants",
    "engram_count_jobs": "how many jobs are not done, for the operator",
    "engram_forget_jobs": "records of jobs that were done long ago",
}
"""Functions that run with the rights of the owner, and what each answers."""

ROLES = ("engram_reader", "engram_writer", "engram_admin", "engram_server")


async def rows(database: Database, statement: str, *values: Any) -> list[dict[str, Any]]:
    async with database.snapshot() as connection:
        return [dict(row) for row in await driver(connection).fetch(statement, *values)]


@pytest.fixture
async def tables(database: Database) -> set[str]:
    found = await rows(
        database,
        "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')",
    )
    return {row["relname"] for row in found}


async def test_every_table_has_row_level_security(database: Database) -> None:
    unguarded = await rows(
        database,
        "SELECT relname FROM pg_class"
        " WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'f') AND NOT relrowsecurity",
    )
    assert unguarded == []


async def test_nothing_else_holds_rows(database: Database) -> None:
    """A view or a materialized view reads with the rights of its owner, whom no policy binds."""
    others = await rows(
        database,
        "SELECT relname, relkind::text FROM pg_class"
        " WHERE relnamespace = 'public'::regnamespace AND relkind IN ('v', 'm', 'f')",
    )
    assert others == []


async def test_every_table_is_a_tenants_or_shared_for_a_reason(database: Database, tables: set[str]) -> None:
    assert SHARED.keys() | QUEUE.keys() <= tables
    columns = await rows(
        database,
        "SELECT attrelid::regclass::text AS table, attname, attnotnull, atttypid::regtype::text AS type"
        " FROM pg_attribute WHERE attname = 'tenant_id' AND attnum > 0",
    )
    with_tenant = {row["table"] for row in columns if row["attnotnull"] and row["type"] == "uuid"}
    assert tables & with_tenant == tables - SHARED.keys() - QUEUE.keys() - {"tenants"}


async def test_one_policy_guards_each_table_and_says_the_same_of_reading_and_writing(
    database: Database, tables: set[str]
) -> None:
    policies = await rows(database, "SELECT * FROM pg_policies WHERE schemaname = 'public'")
    assert sorted(policy["tablename"] for policy in policies) == sorted(tables)
    for policy in policies:
        table = policy["tablename"]
        assert (policy["permissive"], policy["roles"]) == ("PERMISSIVE", ["public"]), table
        if table in SHARED:
            assert (policy["cmd"], policy["qual"]) == ("SELECT", "true"), table
        elif table in QUEUE:
            # Of no tenant: there are no rights to it but the server's.
            assert (policy["cmd"], policy["qual"]) == ("ALL", "true"), table
        else:
            column = "id" if table == "tenants" else "tenant_id"
            assert (policy["cmd"], policy["qual"]) == ("ALL", f"({column} = {TENANT})"), table
        # None: what may be written is what may be read.
        assert policy["with_check"] is None, table
        assert "SELECT" not in policy["qual"], f"{table}: a policy with a subquery is asked for every row"


async def test_every_row_of_a_domain_belongs_to_an_agent_or_a_tenant_first(
    database: Database, tables: set[str]
) -> None:
    keys = await rows(
        database,
        "SELECT conrelid::regclass::text AS table, pg_get_constraintdef(oid) AS key FROM pg_constraint"
        " WHERE contype = 'p' AND connamespace = 'public'::regnamespace",
    )
    assert {row["table"] for row in keys} == tables
    for row in keys:
        if row["table"] in QUEUE:
            continue
        first = re.match(r"PRIMARY KEY \((\w+)", row["key"])
        assert first is not None
        expected = {"tenants": "id", "agents": "id", "alembic_version": "version_num", "embedding_models": "id"}
        assert first[1] in ({expected[row["table"]]} if row["table"] in expected else {"agent_id", "tenant_id"}), row


async def test_the_agent_of_a_row_is_of_the_rows_tenant(database: Database) -> None:
    """What refers to an agent by a foreign key names the tenant with it: such keys look past policies."""
    found = await rows(
        database,
        "SELECT conrelid::regclass::text AS table, pg_get_constraintdef(oid) AS key FROM pg_constraint"
        " WHERE contype = 'f' AND confrelid = 'agents'::regclass",
    )
    assert {row["table"] for row in found} == {
        *("memories", "memory_slots", "agent_counters", "entities"),
        *("facts", "fact_words", "fact_slots", "fact_merges", "ontologies"),
        "entity_community_runs",
    }
    for row in found:
        assert "(tenant_id, agent_id) REFERENCES agents(tenant_id, id)" in row["key"], row


async def test_each_role_has_the_rights_that_were_decided_on(database: Database) -> None:
    granted = await rows(
        database,
        """
        SELECT c.relname, coalesce(r.rolname, 'PUBLIC') AS role, a.privilege_type AS privilege
        FROM pg_class c, aclexplode(c.relacl) a LEFT JOIN pg_roles r ON r.oid = a.grantee
        WHERE c.relnamespace = 'public'::regnamespace AND a.grantee <> c.relowner
        """,
    )
    expected = {
        (table, role, right)
        for role, decided in GRANTS.items()
        for table, rights in decided.items()
        for right in rights
    }
    assert {(row["relname"], row["role"], row["privilege"]) for row in granted} == expected


async def test_no_right_is_given_by_column_or_beforehand(database: Database) -> None:
    assert (
        await rows(
            database,
            "SELECT attrelid::regclass::text AS table, attname FROM pg_attribute"
            " WHERE attacl IS NOT NULL"
            " AND attrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace)",
        )
        == []
    )
    assert await rows(database, "SELECT * FROM pg_default_acl") == []


async def test_roles_can_do_nothing_to_the_cluster(database: Database) -> None:
    found = await rows(database, "SELECT * FROM pg_roles WHERE rolname LIKE 'engram%'")
    assert {row["rolname"] for row in found} == set(ROLES)
    for row in found:
        for power in ("rolsuper", "rolcreaterole", "rolcreatedb", "rolreplication", "rolbypassrls"):
            assert not row[power], (row["rolname"], power)
        assert row["rolinherit"] == (row["rolname"] != "engram_server")
    members = await rows(
        database,
        """
        SELECT m.member::regrole::text AS member, m.roleid::regrole::text AS role, m.admin_option, m.inherit_option
        FROM pg_auth_members m
        WHERE m.member IN (SELECT oid FROM pg_roles WHERE rolname LIKE 'engram%')
        """,
    )
    assert {(row["member"], row["role"], row["inherit_option"]) for row in members} == {
        ("engram_writer", "engram_reader", True),
        ("engram_admin", "engram_writer", True),
        *(("engram_server", role, False) for role in ROLES[:3]),
    }
    assert not any(row["admin_option"] for row in members)


async def test_functions_with_the_owners_rights_are_few_and_look_nowhere_else(database: Database) -> None:
    found = await rows(
        database,
        """
        SELECT p.proname, p.proconfig, l.lanname,
            array(
                SELECT coalesce(r.rolname, 'PUBLIC') FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
                LEFT JOIN pg_roles r ON r.oid = a.grantee
                WHERE a.privilege_type = 'EXECUTE' AND a.grantee <> p.proowner
            ) AS may
        FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
        WHERE p.prosecdef AND p.pronamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
        """,
    )
    assert {row["proname"] for row in found} == DEFINERS.keys()
    for row in found:
        assert row["may"] == ["engram_server"], row["proname"]
        assert row["proconfig"] == ["search_path=public, pg_temp"], row["proname"]


async def test_no_trigger_runs_for_whoever_writes(database: Database) -> None:
    """But for the queue's, which is a local table wherever others lie: it tells workers that there is something."""
    triggers = await rows(
        database, "SELECT tgname, tgrelid::regclass::text AS on FROM pg_trigger WHERE NOT tgisinternal"
    )
    assert triggers == [{"tgname": "job_queue_changed", "on": "job_queue"}]


@pytest.mark.parametrize("role", ROLES)
async def test_no_role_may_make_anything(database: Database, role: str) -> None:
    (found,) = await rows(
        database,
        "SELECT has_schema_privilege($1, 'public', 'CREATE') AS in_schema,"
        " has_database_privilege($1, current_database(), 'CREATE') AS in_database,"
        " (SELECT count(*) FROM pg_class WHERE relowner = $1::regrole) AS owned",
        role,
    )
    assert found == {"in_schema": False, "in_database": False, "owned": 0}
