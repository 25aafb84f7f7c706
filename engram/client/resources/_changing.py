"""Memories that take the place of others, change, come back and go for good."""

from collections.abc import Mapping, Sequence
from typing import Any

from engram.client._arguments import NOT_GIVEN, AnyId, NotGiven, Vector, When, given, said, to_path
from engram.client._pages import Listing
from engram.client._request import Operation, Request
from engram.client.resources._relations import RelationGiven
from engram.facts.quantities.schemas import Quantity
from engram.memories.changes.schemas import MemoryHistory, MemoryPurged, MemoryUpdated, MemoryVersion
from engram.memories.schemas import EntityRef, MemoryCreated, MemoryDetail, Sensitivity


def set_memory(
    agent_id: AnyId,
    key: str,
    content: str,
    *,
    entities: Sequence[str | EntityRef | Mapping[str, Any]] | None = None,
    relations: Sequence[RelationGiven] | None = None,
    quantities: Sequence[Quantity | Mapping[str, Any]] | None = None,
    sensitivity: Sensitivity | str | None = None,
    user_id: str | None = None,
    session_id: str | None = None,
    tags: Sequence[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    source: str | None = None,
    confidence: float | None = None,
    valid_from: When | None = None,
    valid_until: When | None = None,
    embedding: Vector | None = None,
) -> Operation[MemoryCreated]:
    """Give a key a value. The value that held there ends where this one begins, and stays in the history.

    Saying what holds there already changes nothing, and ``deduplicated`` says so.

    Args:
        agent_id: Whose memory it is.
        key: The name of the slot, such as ``"billing/owner"``; each user and session has slots of its own.
        content: The text, stored to the letter.
        entities: What it is about or mentions. A bare name is a mention; ``{"name": ..., "role": "subject"}``
            says that the memory is about it.
        relations: What it says of how entities relate, at most 8: triples ``(subject, predicate, object)``, or dicts
            that may also have ``confidence``, ``valid_from``, ``valid_until`` and ``adapter_name``.
        quantities: Numbers that it says entities have, each ``{"entity", "attribute", "value"}`` and, if you like,
            ``"unit"`` and ``"at"``.
        sensitivity: ``"high"``: nothing is made of its text but what finds it. Default: ``"normal"``.
        user_id: A partition to filter by.
        session_id: A partition to filter by; memories of one session are linked in time.
        tags: Labels to filter by.
        metadata: Any JSON object.
        source: Where it came from.
        confidence: [0, 1]; default: 1.
        valid_from: When it began to hold; default: now. One before the latest value is put between its neighbours.
        valid_until: When it ceased to hold (exclusive); default: where the next value begins.
        embedding: Used instead of computing one; must have the dimension of the server's model.
    """
    body = given(
        agent_id=agent_id,
        key=key,
        content=content,
        entities=entities,
        relations=relations,
        quantities=quantities,
        sensitivity=sensitivity,
        user_id=user_id,
        session_id=session_id,
        tags=tags,
        metadata=metadata,
        source=source,
        confidence=confidence,
        valid_from=valid_from,
        valid_until=valid_until,
        embedding=embedding,
    )
    return Request("PUT", "/v1/memories", MemoryCreated, body=body)


def update_memory(
    memory_id: AnyId,
    *,
    content: str | None = None,
    entities: Sequence[str | EntityRef | Mapping[str, Any]] | None = None,
    relations: Sequence[RelationGiven] | None = None,
    quantities: Sequence[Quantity | Mapping[str, Any]] | None = None,
    sensitivity: Sensitivity | str | None = None,
    tags: Sequence[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    source: str | NotGiven | None = NOT_GIVEN,
    confidence: float | None = None,
    valid_from: When | None = None,
    valid_until: When | NotGiven | None = NOT_GIVEN,
    embedding: Vector | None = None,
    if_version: int | None = None,
) -> Operation[MemoryUpdated]:
    """Change what is given and nothing else. What the memory was stays in the history.

    Args:
        memory_id: The memory.
        content: Its new text, which is embedded and linked anew.
        entities: All that it declares, in place of what it did.
        relations: All relations that it declares, as for ``create``.
        quantities: The same for numbers.
        sensitivity: ``"normal"`` or ``"high"``. What was made of the memory follows it.
        tags: All its tags.
        metadata: All its metadata.
        source: Where it came from; None takes it away.
        confidence: [0, 1].
        valid_from: When it began to hold.
        valid_until: When it ceased to hold (exclusive); None takes it away.
        embedding: Of the new content, instead of computing one.
        if_version: Change it only where this is its version; raises ConflictError where it is not.
    """
    body = given(
        content=content,
        entities=entities,
        relations=relations,
        quantities=quantities,
        sensitivity=sensitivity,
        tags=tags,
        metadata=metadata,
        confidence=confidence,
        valid_from=valid_from,
        embedding=embedding,
        if_version=if_version,
    )
    body |= said(source=source, valid_until=valid_until)
    return Request("PATCH", to_path("/v1/memories/{memory_id}", memory_id=memory_id), MemoryUpdated, body=body)


def supersede_memory(
    memory_id: AnyId,
    content: str,
    *,
    entities: Sequence[str | EntityRef | Mapping[str, Any]] | None = None,
    relations: Sequence[RelationGiven] | None = None,
    quantities: Sequence[Quantity | Mapping[str, Any]] | None = None,
    sensitivity: Sensitivity | str | None = None,
    tags: Sequence[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    source: str | None = None,
    confidence: float | None = None,
    valid_from: When | None = None,
    valid_until: When | None = None,
    embedding: Vector | None = None,
) -> Operation[MemoryCreated]:
    """Put another memory in a memory's place, with its user, session and key. The older one stays in the history.

    Raises ConflictError where another took its place already.

    Args:
        memory_id: The memory that ceases to hold.
        content: The text that holds in its place.
        entities: What it is about or mentions.
        relations: What it says of how entities relate, as for ``create``.
        quantities: Numbers that it says entities have, each ``{"entity", "attribute", "value"}`` and, if you like,
            ``"unit"`` and ``"at"``.
        sensitivity: ``"high"``: nothing is made of its text but what finds it. Default: ``"normal"``.
        tags: Labels to filter by.
        metadata: Any JSON object.
        source: Where it came from.
        confidence: [0, 1]; default: 1.
        valid_from: When it began to hold, and the other ceased to; default: now.
        valid_until: When it ceased to hold (exclusive); default: it still does.
        embedding: Used instead of computing one; must have the dimension of the server's model.
    """
    body = given(
        content=content,
        entities=entities,
        relations=relations,
        quantities=quantities,
        sensitivity=sensitivity,
        tags=tags,
        metadata=metadata,
        source=source,
        confidence=confidence,
        valid_from=valid_from,
        valid_until=valid_until,
        embedding=embedding,
    )
    path = to_path("/v1/memories/{memory_id}/supersede", memory_id=memory_id)
    return Request("POST", path, MemoryCreated, body=body)


def restore_memory(memory_id: AnyId) -> Operation[MemoryDetail]:
    """Make a superseded or deleted memory current again; one that is current stays as it is.

    What had taken its place ends now. What was deleted can be restored for some days, 14 unless the server says
    otherwise; then NotFoundError is raised.
    """
    return Request("POST", to_path("/v1/memories/{memory_id}/restore", memory_id=memory_id), MemoryDetail)


def memory_history(memory_id: AnyId, *, limit: int | None = None, cursor: str | None = None) -> Listing[MemoryVersion]:
    """List what a memory was, and what the memories were that it superseded or that superseded it.

    Args:
        memory_id: The memory; a deleted one too, until it is purged.
        limit: States per page, 1 to 200. Iterating goes on to the next page by itself.
        cursor: ``next_cursor`` of an earlier page, to go on from there.
    """
    path = to_path("/v1/memories/{memory_id}/history", memory_id=memory_id)
    return Listing(path, MemoryHistory, given(limit=limit, cursor=cursor))


def purge_memory(memory_id: AnyId) -> Operation[MemoryPurged]:
    """Erase a memory for good, with what it was, what finds it and what leads to it; a receipt says how much that
    was. Needs an admin's key."""
    return Request("POST", to_path("/v1/memories/{memory_id}/purge", memory_id=memory_id), MemoryPurged)
