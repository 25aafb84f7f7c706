"""What belongs to an agent that is being imported is found by nobody, also where it is looked up by its own id."""

from __future__ import annotations


def of_seen_agent(alias: str) -> str:
    """Whether a row of a table that has ``agent_id`` is of an agent that is there, as SQL."""
    return (
        f"NOT EXISTS (SELECT FROM agents hidden WHERE hidden.id = {alias}.agent_id"
        f" AND hidden.tenant_id = {alias}.tenant_id AND hidden.importing)"
    )
