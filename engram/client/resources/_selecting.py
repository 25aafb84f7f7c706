"""Memories chosen by what they are: lists of them, and their deletion."""

from collections.abc import Mapping, Sequence
from typing import Any

from engram.client._arguments import AnyId, When, given, to_json_text
from engram.client._errors import unsendable
from engram.client._pages import Listing
from engram.client._request import Operation, Request
from engram.memories.criteria import TagFilter
from engram.memories.schemas import MemoriesDeleted, Memory, MemoryPage, MemoryStatus

TagsAsked = Sequence[str] | TagFilter | Mapping[str, Sequence[str]]
"""Any of these; or what is asked of them, by ``any``, ``all``, ``none`` and ``exact``."""


def list_memories(
    agent_id: AnyId,
    *,
    user_id: str | None = None,
    session_id: str | None = None,
    key: str | None = None,
    key_prefix: str | None = None,
    source: str | None = None,
    tag: str | None = None,
    tags: TagsAsked | None = None,
    metadata: Mapping[str, Any] | None = None,
    valid_from: When | None = None,
    valid_until: When | None = None,
    as_of: When | None = None,
    known_at: When | None = None,
    updated_since: When | None = None,
    status: MemoryStatus | str | None = None,
    include_total: bool | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Listing[Memory]:
    """List memories, in a stable order: as they are, as they held at an instant, or as they were known.

    Args:
        agent_id: Whose memories.
        user_id: Only of this user.
        session_id: Only of this session.
        key: Only what this key names.
        key_prefix: Only what has a key that begins so.
        source: Only from this source.
        tag: Only those with this tag.
        tags: Only those with any of these; ``{"all": [...]}`` asks for every one, ``{"none": [...]}`` for not one,
            ``{"exact": [...]}`` for these and no other: of none, for what has no tags.
        metadata: Only where all of these hold: ``{"field": value}`` or ``{"field": {"gte": value}}``.
        valid_from: Only memories that began at or after this.
        valid_until: Only memories that began before this.
        as_of: Only what held at this moment, whatever became of it later.
        known_at: As the server knew it at this moment; later changes are not seen.
        updated_since: Only what was written or changed at or after this.
        status: ``current``, ``superseded`` or ``deleted``; default: ``current``, or with ``as_of`` any that held.
        include_total: Count all that match; the page's ``total`` has the number.
        limit: Memories per page, 1 to 200. Iterating goes on to the next page by itself.
        cursor: ``next_cursor`` of an earlier page, to go on from there.
    """
    return Listing(
        "/v1/memories",
        MemoryPage,
        given(
            agent_id=agent_id,
            user_id=user_id,
            session_id=session_id,
            key=key,
            key_prefix=key_prefix,
            source=source,
            **_tag_parameters(tag, tags),
            metadata=None if metadata is None else to_json_text("metadata", metadata),
            valid_from=valid_from,
            valid_until=valid_until,
            as_of=as_of,
            known_at=known_at,
            updated_since=updated_since,
            status=status,
            include_total=include_total,
            limit=limit,
            cursor=cursor,
        ),
    )


def delete_memories(
    agent_id: AnyId,
    *,
    user_id: str | None = None,
    session_id: str | None = None,
    key: str | None = None,
    key_prefix: str | None = None,
    source: str | None = None,
    tags: TagsAsked | None = None,
    metadata: Mapping[str, Any] | None = None,
    valid_from: When | None = None,
    valid_until: When | None = None,
    as_of: When | None = None,
    updated_since: When | None = None,
    status: MemoryStatus | str | None = None,
    all: bool | None = None,
    dry_run: bool | None = None,
    limit: int | None = None,
) -> Operation[MemoriesDeleted]:
    """Delete what matches, superseded memories too: it leaves recall at once. Says exactly how many.

    Args:
        agent_id: Whose memories.
        user_id: Only of this user.
        session_id: Only of this session.
        key: Only what this key names, now or before.
        key_prefix: Only what has a key that begins so.
        source: Only from this source.
        tags: As for ``list``.
        metadata: Only where all of these hold, as for ``list``.
        valid_from: Only memories that began at or after this.
        valid_until: Only memories that began before this.
        as_of: Only what held at this moment.
        updated_since: Only what was written or changed at or after this.
        status: ``current`` or ``superseded``; default: both.
        all: Delete all that the agent holds. Without it, something has to be asked for.
        dry_run: Delete nothing, and say how many would go, with some of their ids in ``sample``.
        limit: At most so many, 1 to 10,000, which is the default; ``remaining`` says how many are left.
    """
    body = given(
        agent_id=agent_id,
        user_id=user_id,
        session_id=session_id,
        key=key,
        key_prefix=key_prefix,
        source=source,
        tags=tags,
        metadata=metadata,
        valid_from=valid_from,
        valid_until=valid_until,
        as_of=as_of,
        updated_since=updated_since,
        status=status,
        all=all,
        dry_run=dry_run,
        limit=limit,
    )
    return Request("POST", "/v1/memories/delete", MemoriesDeleted, body=body)


def _tag_parameters(tag: str | None, tags: TagsAsked | None) -> dict[str, object]:
    """Tags as query parameters, one a kind; ``tag`` stands for all of its own."""
    if isinstance(tags, str | bytes):
        raise unsendable("tags", "must be a list")
    kinds: dict[str, Any] = {}
    if isinstance(tags, TagFilter):
        kinds = tags.model_dump(exclude_none=True)
    elif isinstance(tags, Mapping):
        kinds = {kind: wanted for kind, wanted in tags.items() if wanted is not None}
    elif tags is not None:
        kinds = {"any": tags}
    every = [*([tag] if tag is not None else ()), *kinds.pop("all", ())]
    # An empty list asks for nothing, and travels as one empty parameter; of all, that would be one tag too many.
    return {f"tag_{kind}": wanted for kind, wanted in kinds.items()} | ({"tag": every} if every else {})
