"""The entity graph: what occurs with what, walks over that, and chains between two entities."""

from collections.abc import Sequence

from engram.client._arguments import AnyId, When, given
from engram.client._pages import Listing
from engram.client._request import Operation, Request
from engram.entities.graph.schemas import EntityPath, RankBy, RelatedEntities, RelatedEntity, Traversal


def traverse(
    agent_id: AnyId,
    seed_entity: str,
    *,
    max_hops: int | None = None,
    top_k_per_hop: int | None = None,
    min_co_occur: int | None = None,
    max_nodes: int | None = None,
    as_of: When | None = None,
    hub_degree: int | None = None,
    hub_share: float | None = None,
    rank_by: RankBy | str | None = None,
    labeled: bool | None = None,
    relations: Sequence[str] | None = None,
) -> Operation[Traversal]:
    """Walk over what occurs together: the neighbourhood of an entity, hop by hop. Of a name that nothing has the
    answer is empty, and its ``found`` false.

    Args:
        agent_id: Whose entities.
        seed_entity: Where the walk begins, in any spelling.
        max_hops: How far to go, 1 to 4; default: 2.
        top_k_per_hop: Of what a node occurs with, so many are kept, 1 to 100; default: 20.
        min_co_occur: Only pairs that so many memories show; default: 1.
        max_nodes: At most so many, 1 to 5,000; default: 400. ``truncated`` says that there are more.
        as_of: Only what memories show that held at this moment.
        hub_degree: A node of at least this degree is a hub: shown, and not walked through. Default: 0, that makes none.
        hub_share: [0, 1]: so is one that was reached by at most this share of its degree; default: the server's.
        rank_by: ``co_occur``, ``specificity`` or ``cosine``: by what the best of a hop are kept; default: the server's.
        labeled: Walk over triples in place of what occurs together.
        relations: The same, over triples with one of these predicates only.
    """
    body = given(
        agent_id=agent_id,
        seed_entity=seed_entity,
        max_hops=max_hops,
        top_k_per_hop=top_k_per_hop,
        min_co_occur=min_co_occur,
        max_nodes=max_nodes,
        as_of=as_of,
        hub_degree=hub_degree,
        hub_share=hub_share,
        rank_by=rank_by,
        labeled=labeled,
        relations=relations,
    )
    return Request("POST", "/v1/facts/traverse", Traversal, body=body, reads=True)


def entity_path(
    agent_id: AnyId,
    source: str,
    target: str,
    *,
    max_hops: int | None = None,
    min_co_occur: int | None = None,
    as_of: When | None = None,
    labeled: bool | None = None,
    relations: Sequence[str] | None = None,
) -> Operation[EntityPath]:
    """Find the shortest chain of entities that occur together, from one to another.

    Args:
        agent_id: Whose entities.
        source: Where the chain begins, in any spelling.
        target: Where it ends.
        max_hops: How long it may be, 1 to 4; default: 3.
        min_co_occur: Only over pairs that so many memories show; default: 1.
        as_of: Only over what memories show that held at this moment.
        labeled: Over triples in place of what occurs together.
        relations: The same, over triples with one of these predicates only.
    """
    body = given(
        agent_id=agent_id,
        source=source,
        target=target,
        max_hops=max_hops,
        min_co_occur=min_co_occur,
        as_of=as_of,
        labeled=labeled,
        relations=relations,
    )
    return Request("POST", "/v1/facts/path", EntityPath, body=body, reads=True)


def related_entities(
    agent_id: AnyId,
    entity: str,
    *,
    min_co_occur: int | None = None,
    as_of: When | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Listing[RelatedEntity]:
    """List what occurs with an entity, the most often first; nothing for a name that nothing has.

    Args:
        agent_id: Whose entities.
        entity: The entity, in any spelling.
        min_co_occur: Only what so many memories name together with it; default: 1.
        as_of: Only what memories show that held at this moment.
        limit: Entities per page, 1 to 200. Iterating goes on to the next page by itself.
        cursor: ``next_cursor`` of an earlier page, to go on from there.
    """
    return Listing(
        "/v1/facts/related",
        RelatedEntities,
        given(
            agent_id=agent_id,
            entity=entity,
            min_co_occur=min_co_occur,
            as_of=as_of,
            limit=limit,
            cursor=cursor,
        ),
    )
