"""Who is asking: every use case takes a scope, and every row that leaves belongs to it."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from engram.problems import PermissionDeniedProblem
from engram.tenants.models import DEFAULT_TENANT_ID
from engram.tenants.roles import Role


@dataclass(frozen=True, slots=True)
class KeyIdentity:
    """A key as it may be shown: never the secret."""

    id: UUID
    prefix: str
    rate_limit: str | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """One tenant; with ``agent_id``, one agent of it and nothing else. ``key`` is None where none was asked for."""

    tenant_id: UUID
    role: Role = Role.admin
    agent_id: UUID | None = None
    key: KeyIdentity | None = None

    def require(self, role: Role) -> None:
        """Raises PermissionDeniedProblem for less than ``role``."""
        if not self.role.may(role):
            raise PermissionDeniedProblem(f"This needs a key that is {role.value}; this one is {self.role.value}.")


DEFAULT_SCOPE = Scope(DEFAULT_TENANT_ID)
"""Who asks a server without API keys."""
