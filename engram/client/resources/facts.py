"""Facts: subject, predicate, object, and answers over chains of them."""

from collections.abc import Callable, Iterable, Sequence

from engram.client._agent import scoped
from engram.client._arguments import AnyId, When, given, to_path
from engram.client._methods import Resource, acall, apages, call, pages
from engram.client._pages import Listing
from engram.client._request import Operation, Request
from engram.client.resources._connections import entity_path, related_entities, traverse
from engram.client.resources._fact_batches import BatchedAppend, FactGiven
from engram.client.resources._merging import list_merges, merge_names, undo_merge
from engram.client.resources._numbers import compute
from engram.client.resources._triples import expire_by_adapter, list_triples
from engram.facts.schemas import (
    FactAppended,
    FactChanged,
    FactHistory,
    FactPage,
    FactPaths,
    FactsAppended,
    StoredFact,
)


def append_fact(
    agent_id: AnyId,
    subject: str,
    predicate: str,
    object: str,
    *,
    user_id: str | None = None,
    confidence: float | None = None,
    valid_from: When | None = None,
    valid_until: When | None = None,
    sources: Sequence[AnyId] | None = None,
    supersede: bool | None = None,
) -> Operation[FactAppended]:
    """Store a fact. What its subject and predicate said otherwise ends when it begins; ``closed`` names that.

    Said twice it is stored twice: an ``Idempotency-Key``, which each call has of its own, covers its tries only.

    Args:
        agent_id: Whose fact it is.
        subject: What it is about, as it is to be spelt.
        predicate: How it relates to the object; kept in lower snake case: ``worksAt`` is ``works_at``.
        object: What it relates to.
        user_id: The partition; default: that of no user, from which no other is seen.
        confidence: [0, 1]; default: 1.
        valid_from: When it began to hold; default: now.
        valid_until: When it ceases to hold (exclusive); default: it holds on.
        sources: Where it comes from; the id of a memory of the agent ties it to that memory.
        supersede: False ends nothing, for predicates of many values; default: True.
    """
    body = given(
        agent_id=agent_id,
        subject=subject,
        predicate=predicate,
        object=object,
        user_id=user_id,
        confidence=confidence,
        valid_from=valid_from,
        valid_until=valid_until,
        sources=sources,
        supersede=supersede,
    )
    return Request("POST", "/v1/facts", FactAppended, body=body)


def append_facts(
    agent_id: AnyId, items: Iterable[FactGiven], *, progress: Callable[[int, int], object] | None = None
) -> Operation[FactsAppended]:
    """Store many facts in their order, in calls of up to 1,000.

    Each call is stored as a whole or not at all. Where one fails, those before it stand: go on from there, as what is
    appended again is there twice. An error names items by their place in ``items``.

    Args:
        agent_id: Whose facts they are.
        items: Triples ``(subject, predicate, object)``, or what ``append`` takes as a dict or a ``FactItem``.
        progress: Called after each call with the number of items done and the number of all.
    """
    return BatchedAppend(agent_id, items, progress)


def query_facts(
    agent_id: AnyId,
    *,
    user_id: str | None = None,
    subject: str | None = None,
    predicate: str | None = None,
    object: str | None = None,
    valid_at: When | None = None,
    known_at: When | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Listing[StoredFact]:
    """Facts of one user, or of none, the one learnt last first; superseded ones too, without ``valid_at``.

    Args:
        agent_id: Whose facts.
        user_id: Facts of this user; default: those of no user.
        subject: Only about this, as it was spelt.
        predicate: Only with this predicate.
        object: Only with this object, as it was spelt.
        valid_at: Only what held at this moment.
        known_at: As the server knew it at this moment.
        limit: Facts per page, 1 to 200. Iterating goes on to the next page by itself.
        cursor: ``next_cursor`` of an earlier page, to go on from there.
    """
    params = given(
        agent_id=agent_id,
        user_id=user_id,
        subject=subject,
        predicate=predicate,
        object=object,
        valid_at=valid_at,
        known_at=known_at,
        limit=limit,
        cursor=cursor,
    )
    return Listing("/v1/facts", FactPage, params)


def get_fact(fact_id: AnyId, *, known_at: When | None = None) -> Operation[StoredFact]:
    """Get a fact, superseded ones too. Raises NotFoundError where there is none, or it was deleted or taken back.

    Args:
        fact_id: The fact.
        known_at: As the server knew it at this moment.
    """
    path = to_path("/v1/facts/{fact_id}", fact_id=fact_id)
    return Request("GET", path, StoredFact, params=given(known_at=known_at))


def delete_fact(fact_id: AnyId) -> Operation[FactChanged]:
    """Believe a fact no longer. What it superseded stays superseded. Raises NotFoundError."""
    return Request("DELETE", to_path("/v1/facts/{fact_id}", fact_id=fact_id), FactChanged)


def undo_fact(fact_id: AnyId) -> Operation[FactChanged]:
    """Take a fact back as if it had never been appended: what it superseded holds on. Raises NotFoundError."""
    return Request("POST", to_path("/v1/facts/{fact_id}/undo", fact_id=fact_id), FactChanged)


def restore_fact(fact_id: AnyId) -> Operation[FactChanged]:
    """Bring back a fact that was deleted or taken back. Raises NotFoundError, and ConflictError for one that stands."""
    return Request("POST", to_path("/v1/facts/{fact_id}/restore", fact_id=fact_id), FactChanged)


def fact_history(fact_id: AnyId) -> Operation[FactHistory]:
    """A fact in any state, and what was believed of it since when, the first first. Raises NotFoundError."""
    return Request("GET", to_path("/v1/facts/{fact_id}/history", fact_id=fact_id), FactHistory)


def recall_graph(
    agent_id: AnyId,
    query: str,
    *,
    user_id: str | None = None,
    hops: int | None = None,
    valid_at: When | None = None,
    known_at: When | None = None,
    limit: int | None = None,
) -> Operation[FactPaths]:
    """Follow chains of facts from names in a question, the shortest first. Changes nothing.

    The answer is iterable over its paths, each of which has ``rendered``, such as
    ``alice —works_at→ acme —operates_in→ tokyo``, its ``nodes``, ``edges`` and ``facts``.

    Args:
        agent_id: Whose facts.
        query: A question. Paths begin at names that have a word of three characters or more in common with it.
        user_id: Facts of this user; default: those of no user. No path leads from one user to another.
        hops: Facts on a path, 0 to 4; default: 2.
        valid_at: Over what held at this moment; default: over what has not ended.
        known_at: As the server knew it at this moment.
        limit: Paths, 0 to 200; default: 10.
    """
    body = given(
        agent_id=agent_id,
        query=query,
        user_id=user_id,
        hops=hops,
        valid_at=valid_at,
        known_at=known_at,
        limit=limit,
    )
    return Request("POST", "/v1/facts/recall-graph", FactPaths, body=body, reads=True)


class Facts(Resource):
    compute = call(compute)
    append = call(append_fact)
    append_many = call(append_facts)
    query = pages(query_facts)
    get = call(get_fact)
    delete = call(delete_fact)
    undo = call(undo_fact)
    restore = call(restore_fact)
    history = call(fact_history)
    recall_graph = call(recall_graph)
    merge = call(merge_names)
    merges = pages(list_merges)
    unmerge = call(undo_merge)
    traverse = call(traverse)
    path = call(entity_path)
    related = pages(related_entities)
    list = pages(list_triples)
    expire_by_adapter = call(expire_by_adapter)


class AsyncFacts(Resource):
    compute = acall(compute)
    append = acall(append_fact)
    append_many = acall(append_facts)
    query = apages(query_facts)
    get = acall(get_fact)
    delete = acall(delete_fact)
    undo = acall(undo_fact)
    restore = acall(restore_fact)
    history = acall(fact_history)
    recall_graph = acall(recall_graph)
    merge = acall(merge_names)
    merges = apages(list_merges)
    unmerge = acall(undo_merge)
    traverse = acall(traverse)
    path = acall(entity_path)
    related = apages(related_entities)
    list = apages(list_triples)
    expire_by_adapter = acall(expire_by_adapter)


class AgentFacts(Resource):
    compute = call(scoped(compute))
    append = call(scoped(append_fact))
    append_many = call(scoped(append_facts))
    query = pages(scoped(query_facts))
    get = call(get_fact)
    delete = call(delete_fact)
    undo = call(undo_fact)
    restore = call(restore_fact)
    history = call(fact_history)
    recall_graph = call(scoped(recall_graph))
    merge = call(scoped(merge_names))
    merges = pages(scoped(list_merges))
    unmerge = call(undo_merge)
    traverse = call(scoped(traverse))
    path = call(scoped(entity_path))
    related = pages(scoped(related_entities))
    list = pages(scoped(list_triples))
    expire_by_adapter = call(scoped(expire_by_adapter))


class AsyncAgentFacts(Resource):
    compute = acall(scoped(compute))
    append = acall(scoped(append_fact))
    append_many = acall(scoped(append_facts))
    query = apages(scoped(query_facts))
    get = acall(get_fact)
    delete = acall(delete_fact)
    undo = acall(undo_fact)
    restore = acall(restore_fact)
    history = acall(fact_history)
    recall_graph = acall(scoped(recall_graph))
    merge = acall(scoped(merge_names))
    merges = apages(scoped(list_merges))
    unmerge = acall(undo_merge)
    traverse = acall(scoped(traverse))
    path = acall(scoped(entity_path))
    related = apages(scoped(related_entities))
    list = apages(scoped(list_triples))
    expire_by_adapter = acall(scoped(expire_by_adapter))
