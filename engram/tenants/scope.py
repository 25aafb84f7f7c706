"""Who is asking: every use case takes a scope, and every row that leaves belongs to it."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from engram.tenants.models import DEFAULT_TENANT_ID


@dataclass(frozen=True, slots=True)
class Scope:
    tenant_id: UUID


DEFAULT_SCOPE = Scope(DEFAULT_TENANT_ID)
