"""Names that are one node: saying so, and taking it back."""

from engram.client._arguments import AnyId, given, to_path
from engram.client._pages import Listing
from engram.client._request import Operation, Request
from engram.facts.schemas import Merge, MergeCreated, MergePage


def merge_names(agent_id: AnyId, name: str, other: str) -> Operation[MergeCreated]:
    """Make two names one node for every walk of the agent. What facts say stays as it was said.

    Args:
        agent_id: The agent.
        name: The name that the node goes by.
        other: The name that leads to the same node from now on.

    Raises ConflictError where they are one node already.
    """
    body = given(agent_id=agent_id, name=name, other=other)
    return Request("POST", "/v1/facts/merge", MergeCreated, body=body)


def list_merges(
    agent_id: AnyId, *, include_undone: bool | None = None, limit: int | None = None, cursor: str | None = None
) -> Listing[Merge]:
    """List merges of an agent, the one said last first.

    Args:
        agent_id: The agent.
        include_undone: Also those that were taken back.
        limit: Merges per page, 1 to 200. Iterating goes on to the next page by itself.
        cursor: ``next_cursor`` of an earlier page, to go on from there.
    """
    params = given(agent_id=agent_id, include_undone=include_undone, limit=limit, cursor=cursor)
    return Listing("/v1/facts/merge", MergePage, params)


def undo_merge(merge_id: AnyId) -> Operation[Merge]:
    """Take a merge back. Raises NotFoundError where none stands."""
    return Request("DELETE", to_path("/v1/facts/merge/{merge_id}", merge_id=merge_id), Merge)
