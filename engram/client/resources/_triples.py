"""What facts say, line by line, and what one extractor said."""

from engram.client._arguments import AnyId, When, given
from engram.client._pages import Listing
from engram.client._request import Operation, Request
from engram.facts.triples.schemas import AdapterExpired, Triple, TriplePage


def list_triples(
    agent_id: AnyId,
    *,
    subject: str | None = None,
    object: str | None = None,
    relation: str | None = None,
    entity: str | None = None,
    provenance: str | None = None,
    adapter: str | None = None,
    as_of: When | None = None,
    known_at: When | None = None,
    include_ended: bool | None = None,
    include_sources: bool | None = None,
    include_source_status: bool | None = None,
    sort_by: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Listing[Triple]:
    """What facts say, one line for each subject, relation and object, whoever and however many say it.

    Args:
        agent_id: Whose facts.
        subject: Only about this entity, however it is spelt.
        object: Only with this entity as the object.
        relation: Only of this relation.
        entity: Only with this entity at either end.
        provenance: ``extracted``, ``inferred`` or ``facet``.
        adapter: Only what this one extracted; ``declared``: what writers declared.
        as_of: What held at this moment; default: what has not ended.
        known_at: As the server knew it at this moment.
        include_ended: Without ``as_of``, also what has ended.
        include_sources: Show the last memories that state each, at most ten.
        include_source_status: The same with what they are, and whether the line is ``stale``: it has not ended, and
            all memories behind it were superseded.
        sort_by: ``co_occur``: what most memories state first, by default; ``recency``: what was stated last first.
        limit: Lines per page, 1 to 200. Iterating goes on to the next page by itself.
        cursor: ``next_cursor`` of an earlier page, to go on from there.
    """
    params = given(
        agent_id=agent_id,
        subject=subject,
        object=object,
        relation=relation,
        entity=entity,
        provenance=provenance,
        adapter=adapter,
        as_of=as_of,
        known_at=known_at,
        include_ended=include_ended,
        include_sources=include_sources,
        include_source_status=include_source_status,
        sort_by=sort_by,
        limit=limit,
        cursor=cursor,
    )
    return Listing("/v1/facts/triples", TriplePage, params)


def expire_by_adapter(
    agent_id: AnyId, adapter_name: str, *, max_confidence: float | None = None
) -> Operation[AdapterExpired]:
    """Believe no longer what one extractor said, as if it had not been said. The memories stay. Needs an admin's key.

    Args:
        agent_id: Whose facts.
        adapter_name: Who extracted them; ``declared``: the memories' writers.
        max_confidence: Only those of at most this confidence, [0, 1].
    """
    body = given(agent_id=agent_id, adapter_name=adapter_name, max_confidence=max_confidence)
    return Request("POST", "/v1/facts/expire-by-adapter", AdapterExpired, body=body)
