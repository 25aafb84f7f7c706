"""The roles that a server's transactions run as, and how they are made: cluster-wide, and so not by everybody."""

from __future__ import annotations

SERVER_ROLE = "engram_server"

# With whom each shares its rights. The server's has none of its own: it has to become one of the others.
_ROLES = {"engram_reader": "", "engram_writer": "", "engram_admin": "", SERVER_ROLE: " NOINHERIT"}
_MEMBERS = {
    "engram_reader": ("engram_writer", SERVER_ROLE),
    "engram_writer": ("engram_admin", SERVER_ROLE),
    "engram_admin": (SERVER_ROLE,),
}

# There is no CREATE ROLE IF NOT EXISTS.
_MAKE = (
    "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{role}') THEN"
    " CREATE ROLE {role} NOLOGIN{attributes}; END IF; END $$;"
)


def role_statements(owner: str) -> list[str]:
    """What an administrator of the cluster runs, for a database whose owner may not make roles. Running it again is
    harmless, and so is running it for another database of the cluster.

    ``owner`` is the role that migrates, a plain name.
    """
    quoted = '"' + owner.replace('"', '""') + '"'
    return [
        *(_MAKE.format(role=role, attributes=attributes) for role, attributes in _ROLES.items()),
        *(f"GRANT {role} TO {', '.join(members)};" for role, members in _MEMBERS.items()),
        f"GRANT {', '.join(_ROLES)} TO {quoted};",
    ]
