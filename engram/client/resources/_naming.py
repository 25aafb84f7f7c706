"""Memories by the entities that they name."""

from engram.client._arguments import AnyId, When, given, to_path
from engram.client._pages import Listing
from engram.client._request import Operation, Request
from engram.entities.memories.schemas import RelatedMemories, Timeline, TimeOrder
from engram.memories.schemas import Memory, MemoryPage


def related_memories(
    memory_id: AnyId,
    *,
    user_id: str | None = None,
    session_id: str | None = None,
    as_of: When | None = None,
    known_at: When | None = None,
    limit: int | None = None,
) -> Operation[RelatedMemories]:
    """Find memories that share entities with one, the most telling first. Raises NotFoundError where there is none.

    An entity that both name adds 1 / sqrt(how many memories name it) to ``score``.

    Args:
        memory_id: The memory.
        user_id: Only others of this user.
        session_id: Only others of this session.
        as_of: Only others that held at this moment.
        known_at: As the server knew it at this moment; names are those of today.
        limit: At most so many, 1 to 200; default: 20. ``truncated`` says that there are more.
    """
    path = to_path("/v1/memories/{memory_id}/related", memory_id=memory_id)
    params = given(user_id=user_id, session_id=session_id, as_of=as_of, known_at=known_at, limit=limit)
    return Request("GET", path, RelatedMemories, params=params)


def memory_backlinks(
    memory_id: AnyId,
    *,
    user_id: str | None = None,
    session_id: str | None = None,
    as_of: When | None = None,
    known_at: When | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Listing[Memory]:
    """List memories that name any entity of one, the latest to arrive first. Raises NotFoundError where there is none.

    Args:
        memory_id: The memory.
        user_id: Only others of this user.
        session_id: Only others of this session.
        as_of: Only others that held at this moment.
        known_at: As the server knew it at this moment; names are those of today.
        limit: Memories per page, 1 to 200. Iterating goes on to the next page by itself.
        cursor: ``next_cursor`` of an earlier page, to go on from there.
    """
    params = given(user_id=user_id, session_id=session_id, as_of=as_of, known_at=known_at, limit=limit, cursor=cursor)
    return Listing(to_path("/v1/memories/{memory_id}/backlinks", memory_id=memory_id), MemoryPage, params)


def timeline(
    agent_id: AnyId,
    entity: str,
    *,
    order: TimeOrder | str | None = None,
    user_id: str | None = None,
    session_id: str | None = None,
    valid_from: When | None = None,
    valid_until: When | None = None,
    as_of: When | None = None,
    known_at: When | None = None,
    include_superseded: bool | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Listing[Memory]:
    """List memories that name an entity, in the order in which they began to hold.

    Args:
        agent_id: Whose memories.
        entity: The entity, in any spelling. A name that nothing has gives an empty list.
        order: ``oldest`` or ``newest`` first; default: the oldest.
        user_id: Only of this user.
        session_id: Only of this session.
        valid_from: Only memories that began at or after this.
        valid_until: Only memories that began before this.
        as_of: Only what held at this moment, whatever became of it later.
        known_at: As the server knew it at this moment; names are those of today.
        include_superseded: Also memories that were superseded.
        limit: Memories per page, 1 to 200. Iterating goes on to the next page by itself.
        cursor: ``next_cursor`` of an earlier page, to go on from there.
    """
    return Listing(
        "/v1/memories/timeline",
        Timeline,
        given(
            agent_id=agent_id,
            entity=entity,
            order=order,
            user_id=user_id,
            session_id=session_id,
            valid_from=valid_from,
            valid_until=valid_until,
            as_of=as_of,
            known_at=known_at,
            include_superseded=include_superseded,
            limit=limit,
            cursor=cursor,
        ),
    )
