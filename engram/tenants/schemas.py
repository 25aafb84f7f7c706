"""Models of tenants and keys, as an operator sees them."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from engram.rates import parse_rate
from engram.tenants.roles import Role
from engram.wire import Id, Instant, Name, ResponseModel, WireModel


def _a_rate(text: str) -> str:
    parse_rate(text)
    return text


Rate = Annotated[str, Field(max_length=64), AfterValidator(_a_rate)]


class KeyCreate(WireModel):
    tenant: Name = "default"
    role: Role
    agent: Name | None = Field(default=None, description="Name or id: the key opens this agent and nothing else.")
    name: Name | None = Field(default=None, description="What the key is for.")
    expires_at: Instant | None = None
    rate_limit: Rate | None = Field(default=None, description="Instead of ENGRAM_RATE_LIMIT.")


class Key(ResponseModel):
    """A key without its secret, which nobody has but whom it was given to."""

    id: Id
    tenant: str
    name: str | None
    prefix: str = Field(description="How the key begins.")
    role: Role
    agent_id: Id | None
    agent: str | None = Field(description="The agent's name; null also where it was deleted.")
    rate_limit: str | None
    created_at: Instant
    expires_at: Instant | None
    revoked_at: Instant | None
    last_used_at: Instant | None = Field(description="To some seconds.")


class KeyCreated(ResponseModel):
    key: str = Field(description="Shown now and never again.")
    id: Id
    prefix: str
    role: Role
    tenant: str
    expires_at: Instant | None


class Tenant(ResponseModel):
    id: Id
    name: str
    created_at: Instant
    agents: int
    keys: int = Field(description="Keys that open something.")


class TenantDeleted(ResponseModel):
    id: Id
    name: str
    agents: int = Field(description="Agents that were erased with it.")
