"""What a login may do in its database, as far as Engram needs it, and what is to be said where it may not."""

from __future__ import annotations

from dataclasses import dataclass

import asyncpg

from engram.cli.doctor.findings import Finding, fail, warn
from engram.db.roles import SERVER_ROLE

# Members of members do not count for ``has_roles``: the migration asks for the same.
_RIGHTS = """
    SELECT current_user AS login, quote_ident(current_user) AS quoted, r.rolsuper AS superuser,
        r.rolsuper OR r.rolcreaterole OR (
            SELECT count(DISTINCT g.rolname) = cardinality($2::text[])
            FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid
            WHERE m.member = r.oid AND g.rolname = ANY ($2::text[])
                AND coalesce((to_jsonb(m) ->> 'set_option')::boolean, true)
        ) AS has_roles,
        (SELECT pg_has_role(s.oid, 'MEMBER') FROM pg_roles s WHERE s.rolname = $1) AS serves,
        (SELECT pg_has_role(t.relowner, 'USAGE') FROM pg_class t WHERE t.oid = to_regclass('alembic_version')) AS owns,
        has_table_privilege(to_regclass('alembic_version')::oid, 'SELECT') AS sees_revision,
        has_function_privilege(to_regprocedure('engram_has_keys()')::oid, 'EXECUTE') AS sees_keys
    FROM pg_roles r WHERE r.rolname = current_user
"""
_NEEDED = ["engram_reader", "engram_writer", "engram_admin", SERVER_ROLE]


@dataclass(frozen=True, slots=True)
class Rights:
    """``login`` is a plain name, ``quoted`` the same for SQL. ``has_roles``: the roles of Engram's transactions are its
    own, or it can make them. ``serves``: it is a member of the server's role; None where there is no such role yet.

    ``owns`` and ``sees_revision`` are None in a database that was never migrated, ``sees_keys`` also in one that is
    too old for keys.
    """

    login: str
    quoted: str
    superuser: bool
    has_roles: bool
    serves: bool | None
    owns: bool | None
    sees_revision: bool | None
    sees_keys: bool | None


async def read_rights(connection: asyncpg.Connection) -> Rights:
    row = await connection.fetchrow(_RIGHTS, SERVER_ROLE, _NEEDED)
    assert row is not None  # everybody who is connected is a role
    return Rights(**dict(row))


def no_member(rights: Rights) -> Finding | None:
    """What is to be said of a login that shall serve and cannot; nothing of one that can."""
    grant = f"An administrator runs: GRANT {SERVER_ROLE} TO {rights.quoted}"
    if rights.serves is None:
        made_first = f"There is no role {SERVER_ROLE} yet, and so the login {rights.login} is no member of it"
        return warn("Login", made_first, f"engram migrate makes it. {grant}")
    if not rights.serves:
        return fail("Login", f"The login {rights.login} is not a member of {SERVER_ROLE}", grant)
    return None


def no_owner(rights: Rights, *, named: bool) -> Finding | None:
    """What is to be said of a login that should see everything and does not; ``named`` by ENGRAM_OWNER_DATABASE_URL."""
    if rights.owns is not False:
        return None
    if named:
        correct = "Let ENGRAM_OWNER_DATABASE_URL name the one that migrated"
        return warn("Login", f"the login {rights.login} of ENGRAM_OWNER_DATABASE_URL owns no tables", correct)
    return warn("Login", "this login owns no tables: set ENGRAM_OWNER_DATABASE_URL to see keys and memories")


def no_roles(rights: Rights) -> Finding | None:
    """What is to be said of an owner who has to migrate to the revision that needs roles, and can neither make them nor
    has them."""
    if rights.has_roles or rights.owns is False or rights.sees_keys is not None:
        return None
    detail = f"The login {rights.login} may not make the roles that Engram's transactions run as"
    return fail("Roles", detail, "An administrator runs what this prints: engram migrate --print-roles")
