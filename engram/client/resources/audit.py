"""What was changed, by whom and when."""

from engram.audit.schemas import Action, AuditEvent, AuditPage
from engram.client._arguments import AnyId, When, given
from engram.client._methods import Resource, apages, pages
from engram.client._pages import Listing


def list_events(
    *,
    agent_id: AnyId | None = None,
    action: Action | str | None = None,
    since: When | None = None,
    until: When | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Listing[AuditEvent]:
    """List what was changed, the latest first. Needs an admin's key. No event holds the text of a memory.

    Args:
        agent_id: Only what was done to this agent, which may be deleted.
        action: Only what was done so, such as ``memory.delete``.
        since: Only what was done at this moment or later.
        until: Only what was done before this moment.
        limit: Events per page, 1 to 200. Iterating goes on to the next page by itself.
        cursor: ``next_cursor`` of an earlier page, to go on from there.
    """
    return Listing(
        "/v1/audit",
        AuditPage,
        given(agent_id=agent_id, action=action, since=since, until=until, limit=limit, cursor=cursor),
    )


class AuditLog(Resource):
    list = pages(list_events)


class AsyncAuditLog(Resource):
    list = apages(list_events)
