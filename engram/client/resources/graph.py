"""Typed edges between memories."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from engram.client._arguments import AnyId, When, given
from engram.client._methods import Resource, acall, apages, call, pages
from engram.client._pages import Listing
from engram.client._request import Operation, Request
from engram.graph.schemas import (
    Direction,
    Edge,
    EdgeCreate,
    EdgeDeleted,
    EdgePage,
    EdgesCreated,
    GraphPaths,
    Neighborhood,
    PathOrder,
    RelationType,
)


def get_edges(
    memory_id: AnyId,
    *,
    direction: Direction | str | None = None,
    relation_type: RelationType | str | Sequence[RelationType | str] | None = None,
    min_weight: float | None = None,
    label: str | None = None,
    origin: str | Sequence[str] | None = None,
    as_of: When | None = None,
    known_at: When | None = None,
    include_invalidated: bool | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Listing[Edge]:
    """List the edges of a memory, each once and seen from that memory, the strongest first.

    Args:
        memory_id: The memory asked about; ``target_memory_id`` of an edge is the other end.
        direction: ``out``, ``in`` or ``both``; default: all.
        relation_type: One type, or several of which any will do; default: all.
        min_weight: Only edges of at least this weight, (0, 1].
        label: Only edges with this label.
        origin: One origin, or several of which any will do; default: all.
        as_of: Only edges that held at this moment.
        known_at: As the server knew it at this moment.
        include_invalidated: Also edges that were deleted, that have ended, or with an end that no longer holds.
        limit: Edges per page, 1 to 200. Iterating goes on to the next page by itself.
        cursor: ``next_cursor`` of an earlier page, to go on from there.
    """
    return Listing(
        "/v1/graph/edges",
        EdgePage,
        given(
            memory_id=memory_id,
            direction=direction,
            relation_type=relation_type,
            min_weight=min_weight,
            label=label,
            origin=origin,
            as_of=as_of,
            known_at=known_at,
            include_invalidated=include_invalidated,
            limit=limit,
            cursor=cursor,
        ),
    )


def create_edge(
    source_id: AnyId,
    target_id: AnyId,
    relation_type: RelationType | str,
    *,
    weight: float | None = None,
    label: str | None = None,
    reason: str | None = None,
    valid_from: When | None = None,
    valid_until: When | None = None,
) -> Operation[Edge]:
    """Assert that "source RELATION target". Asserting it again keeps the greater weight.

    Args:
        source_id: A memory.
        target_id: Another memory of the same agent.
        relation_type: One of the eight types.
        weight: (0, 1]; default: 1.
        label: A name of your own, such as ``depends_on``.
        reason: Why, in words.
        valid_from: When it began to hold; default: it always did.
        valid_until: When it ceased to hold (exclusive); default: it still does.
    """
    body = given(
        source_id=source_id,
        target_id=target_id,
        relation_type=relation_type,
        weight=weight,
        label=label,
        reason=reason,
        valid_from=valid_from,
        valid_until=valid_until,
    )
    return Request("POST", "/v1/graph/edges", Edge, body=body)


def create_edges(edges: Iterable[EdgeCreate | Mapping[str, Any]]) -> Operation[EdgesCreated]:
    """Assert up to 1,000 edges of one agent, all of them or none. An error names edges by their place.

    Args:
        edges: What ``create_edge`` takes, as dicts or ``EdgeCreate``. One that is said twice counts as written twice.
    """
    return Request("POST", "/v1/graph/edges/batch", EdgesCreated, body={"edges": [*edges]})


def delete_edge(source_id: AnyId, target_id: AnyId, relation_type: RelationType | str) -> Operation[EdgeDeleted]:
    """Take an edge out of the graph. Raises NotFoundError where there is none."""
    return Request(
        "DELETE",
        "/v1/graph/edges",
        EdgeDeleted,
        params=given(source_id=source_id, target_id=target_id, relation_type=relation_type),
    )


def neighborhood(
    memory_id: AnyId,
    *,
    max_hops: int | None = None,
    max_nodes: int | None = None,
    max_edges: int | None = None,
    relation_type: RelationType | str | Sequence[RelationType | str] | None = None,
    min_weight: float | None = None,
    as_of: When | None = None,
    known_at: When | None = None,
    user_id: str | None = None,
    session_id: str | None = None,
    content_chars: int | None = None,
) -> Operation[Neighborhood]:
    """Show the memories around one, by hops and then the strongest first, and the edges among them, each once.

    Args:
        memory_id: The memory in the middle.
        max_hops: How far to go, 1 to 5; default: 2.
        max_nodes: Memories, 1 to 500, the one in the middle included; default: 50.
        max_edges: Edges, 0 to 1,000; default: 200.
        relation_type: Only over edges of this type, or of several of which any will do; default: all.
        min_weight: Only over edges of at least this weight, (0, 1].
        as_of: Only what held at this moment, at every hop.
        known_at: As the server knew it at this moment.
        user_id: Only memories of this user, beside the one in the middle.
        session_id: Only memories of this session, beside the one in the middle.
        content_chars: Characters of each text that are shown, 0 to 2,000; default: 200.
    """
    params = given(
        memory_id=memory_id,
        max_hops=max_hops,
        max_nodes=max_nodes,
        max_edges=max_edges,
        relation_type=relation_type,
        min_weight=min_weight,
        as_of=as_of,
        known_at=known_at,
        user_id=user_id,
        session_id=session_id,
        content_chars=content_chars,
    )
    return Request("GET", "/v1/graph/neighborhood", Neighborhood, params=params)


def find_paths(
    source_id: AnyId,
    target_id: AnyId,
    *,
    max_hops: int | None = None,
    by: PathOrder | str | None = None,
    limit: int | None = None,
    relation_type: RelationType | str | Sequence[RelationType | str] | None = None,
    min_weight: float | None = None,
    as_of: When | None = None,
    known_at: When | None = None,
) -> Operation[GraphPaths]:
    """Find the best paths from one memory to another of the same agent, each memory on a path once.

    Args:
        source_id: Where paths begin.
        target_id: Where they end.
        max_hops: Edges on a path, 1 to 5; default: 3.
        by: ``strongest``, the default: what keeps most of a score first; or ``shortest``.
        limit: Paths, 1 to 20; default: 5.
        relation_type: Only over edges of this type, or of several of which any will do; default: all.
        min_weight: Only over edges of at least this weight, (0, 1].
        as_of: Only what held at this moment, at every hop.
        known_at: As the server knew it at this moment.
    """
    params = given(
        source_id=source_id,
        target_id=target_id,
        max_hops=max_hops,
        by=by,
        limit=limit,
        relation_type=relation_type,
        min_weight=min_weight,
        as_of=as_of,
        known_at=known_at,
    )
    return Request("GET", "/v1/graph/paths", GraphPaths, params=params)


class Graph(Resource):
    get_edges = pages(get_edges)
    create_edge = call(create_edge)
    create_edges = call(create_edges)
    delete_edge = call(delete_edge)
    neighborhood = call(neighborhood)
    paths = call(find_paths)


class AsyncGraph(Resource):
    get_edges = apages(get_edges)
    create_edge = acall(create_edge)
    create_edges = acall(create_edges)
    delete_edge = acall(delete_edge)
    neighborhood = acall(neighborhood)
    paths = acall(find_paths)
