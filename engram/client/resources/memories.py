"""Memories: writing, reading, recalling."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from engram.client._agent import scoped
from engram.client._arguments import AnyId, Vector, When, given, to_path
from engram.client._methods import Resource, acall, apages, call, pages
from engram.client._request import Operation, Request
from engram.client.resources._batches import BatchedWrite
from engram.client.resources._changing import (
    memory_history,
    purge_memory,
    restore_memory,
    set_memory,
    supersede_memory,
    update_memory,
)
from engram.client.resources._naming import memory_backlinks, related_memories, timeline
from engram.client.resources._relations import RelationGiven
from engram.client.resources._selecting import TagsAsked, delete_memories, list_memories
from engram.facts.quantities.schemas import Quantity
from engram.graph.schemas import RelationType
from engram.memories.schemas import (
    BatchCreated,
    EntityRef,
    MemoryCreated,
    MemoryDeleted,
    MemoryDetail,
    MemoryItem,
    Sensitivity,
)
from engram.recall.schemas import RecallResponse, SearchMode


def create_memory(
    agent_id: AnyId,
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
    """Remember a text. The same text in the same scope is stored once, and ``deduplicated`` says so.

    Args:
        agent_id: Whose memory it is.
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
        valid_from: When it began to hold; default: now.
        valid_until: When it ceased to hold (exclusive); default: it still does.
        embedding: Used instead of computing one; must have the dimension of the server's model.
    """
    body = given(
        agent_id=agent_id,
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
    return Request("POST", "/v1/memories", MemoryCreated, body=body)


def create_memories(
    agent_id: AnyId,
    items: Iterable[str | MemoryItem | Mapping[str, Any]],
    *,
    progress: Callable[[int, int], object] | None = None,
) -> Operation[BatchCreated]:
    """Remember many texts, in calls of up to 1,000.

    Each call is written as a whole or not at all. Where one fails, those before it stand; doing it all again
    is safe, as what stands is not stored twice. An error names items by their place in ``items``.

    Args:
        agent_id: Whose memories they are.
        items: Texts, or what ``create`` takes as a dict or a ``MemoryItem``.
        progress: Called after each call with the number of items done and the number of all.
    """
    return BatchedWrite(agent_id, items, progress)


def get_memory(memory_id: AnyId, *, known_at: When | None = None) -> Operation[MemoryDetail]:
    """Get a memory, superseded ones too. Raises NotFoundError where there is none or it was deleted.

    Args:
        memory_id: The memory.
        known_at: As the server knew it at this moment.
    """
    path = to_path("/v1/memories/{memory_id}", memory_id=memory_id)
    return Request("GET", path, MemoryDetail, params=given(known_at=known_at))


def delete_memory(memory_id: AnyId, *, if_version: int | None = None) -> Operation[MemoryDeleted]:
    """Delete a memory: it leaves recall at once, and can be restored for some days. Raises NotFoundError where there is
    none.

    Args:
        memory_id: The memory.
        if_version: Delete it only where this is its version; raises ConflictError where it is not.
    """
    path = to_path("/v1/memories/{memory_id}", memory_id=memory_id)
    return Request("DELETE", path, MemoryDeleted, params=given(if_version=if_version))


def recall(
    agent_id: AnyId,
    query: str,
    *,
    top_k: int | None = None,
    graph_weight: float | None = None,
    max_hops: int | None = None,
    hop_penalty: float | None = None,
    lexical: bool | None = None,
    relation_types: Sequence[RelationType | str] | None = None,
    search_mode: SearchMode | str | None = None,
    entity_filter: Sequence[str] | None = None,
    as_of: When | None = None,
    known_at: When | None = None,
    user_id: str | None = None,
    session_id: str | None = None,
    tags: TagsAsked | None = None,
    metadata: Mapping[str, Any] | None = None,
    key: str | None = None,
    key_prefix: str | None = None,
    source: str | None = None,
    valid_from: When | None = None,
    valid_until: When | None = None,
    updated_since: When | None = None,
    min_score: float | None = None,
    diversity: float | None = None,
    explain: bool | None = None,
    embedding: Vector | None = None,
) -> Operation[RecallResponse]:
    """Recall what is near the query, and what is connected to that. Changes nothing.

    Args:
        agent_id: Whose memories.
        query: A question or any text.
        top_k: At most this many, 1 to 200; default: 10.
        graph_weight: [0, 1]: 0 ranks by vector alone, 1 by the graph alone; default: 0.4.
        max_hops: How far to walk, 0 to 5; default: 2.
        hop_penalty: [0, 1): what each hop costs; default: the agent's or the server's, 0.05 unless they say else.
        lexical: Whether words that query and memory share count; default: yes.
        relation_types: Walk only edges of these types; an empty list walks none.
        search_mode: ``graph``: only memories at entities that the query names, and one hop around; default: ``hybrid``.
        entity_filter: Memories that name any of these entities come up; in graph mode they stand for the names in the
            query.
        as_of: Only what held at this moment.
        known_at: As the server knew it at this moment; later changes are not seen.
        user_id: Only memories of this user.
        session_id: Only memories of this session.
        tags: Only memories with any of these; ``{"all": [...]}`` asks for every one,
            ``{"none": [...]}`` for not one of them.
        metadata: Only where all of these hold: ``{"field": value}`` or ``{"field": {"gte": value}}``.
        key: Only what this key names.
        key_prefix: Only what has a key that begins so.
        source: Only from this source.
        updated_since: Only what was written or changed at or after this.
        valid_from: Only memories that began at or after this.
        valid_until: Only memories that began before this.
        min_score: Only hits of at least this score, [0, 1].
        diversity: Above 0, up to 1: hits much like one already chosen give way to others.
        explain: Say of each hit how its score came about.
        embedding: The query's embedding, if computed already.
    """
    body = given(
        agent_id=agent_id,
        query=query,
        top_k=top_k,
        graph_weight=graph_weight,
        max_hops=max_hops,
        hop_penalty=hop_penalty,
        lexical=lexical,
        relation_types=relation_types,
        search_mode=search_mode,
        entity_filter=entity_filter,
        as_of=as_of,
        known_at=known_at,
        user_id=user_id,
        session_id=session_id,
        tags=tags,
        metadata=metadata,
        key=key,
        key_prefix=key_prefix,
        source=source,
        valid_from=valid_from,
        valid_until=valid_until,
        updated_since=updated_since,
        min_score=min_score,
        diversity=diversity,
        explain=explain,
        embedding=embedding,
    )
    return Request("POST", "/v1/memories/recall", RecallResponse, body=body, reads=True)


class Memories(Resource):
    create = call(create_memory)
    create_many = call(create_memories)
    set = call(set_memory)
    update = call(update_memory)
    supersede = call(supersede_memory)
    restore = call(restore_memory)
    history = pages(memory_history)
    purge = call(purge_memory)
    get = call(get_memory)
    list = pages(list_memories)
    delete = call(delete_memory)
    delete_many = call(delete_memories)
    recall = call(recall)
    related = call(related_memories)
    backlinks = pages(memory_backlinks)
    timeline = pages(timeline)


class AsyncMemories(Resource):
    create = acall(create_memory)
    create_many = acall(create_memories)
    set = acall(set_memory)
    update = acall(update_memory)
    supersede = acall(supersede_memory)
    restore = acall(restore_memory)
    history = apages(memory_history)
    purge = acall(purge_memory)
    get = acall(get_memory)
    list = apages(list_memories)
    delete = acall(delete_memory)
    delete_many = acall(delete_memories)
    recall = acall(recall)
    related = acall(related_memories)
    backlinks = apages(memory_backlinks)
    timeline = apages(timeline)


class AgentMemories(Resource):
    create = call(scoped(create_memory))
    create_many = call(scoped(create_memories))
    set = call(scoped(set_memory))
    update = call(update_memory)
    supersede = call(supersede_memory)
    restore = call(restore_memory)
    history = pages(memory_history)
    purge = call(purge_memory)
    get = call(get_memory)
    list = pages(scoped(list_memories))
    delete = call(delete_memory)
    delete_many = call(scoped(delete_memories))
    recall = call(scoped(recall))
    related = call(related_memories)
    backlinks = pages(memory_backlinks)
    timeline = pages(scoped(timeline))


class AsyncAgentMemories(Resource):
    create = acall(scoped(create_memory))
    create_many = acall(scoped(create_memories))
    set = acall(scoped(set_memory))
    update = acall(update_memory)
    supersede = acall(supersede_memory)
    restore = acall(restore_memory)
    history = apages(memory_history)
    purge = acall(purge_memory)
    get = acall(get_memory)
    list = apages(scoped(list_memories))
    delete = acall(delete_memory)
    delete_many = acall(scoped(delete_memories))
    recall = acall(scoped(recall))
    related = acall(related_memories)
    backlinks = apages(memory_backlinks)
    timeline = apages(scoped(timeline))
