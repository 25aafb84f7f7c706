"""What surrounds a memory, and what leads from one to another."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.db.parameters import Parameters
from engram.graph.decay import Decay
from engram.graph.neighbours import Neighbourhood
from engram.graph.paths import FoundPath, PathSearch
from engram.graph.repository import AskedAgent, EdgeRepository
from engram.graph.rows import edge_of
from engram.graph.schemas import (
    GraphNode,
    GraphPath,
    GraphPaths,
    Neighborhood,
    PathOrder,
    PathStep,
    RelationType,
)
from engram.graph.subgraph import Reach, subgraph
from engram.graph.surroundings import Link, Step, Surroundings
from engram.graph.tuning import GraphTuning
from engram.memories.seen import Seen
from engram.memories.service import memory_not_found
from engram.problems import InvalidInputProblem
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import Scope

MAX_PATH_NODES = 400
"""Memories among which paths are looked for, the nearest to either end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explored(Seen):
    """What is walked, and when: the filters that ways through the graph have in common."""

    relation_types: list[RelationType] | None = None
    min_weight: float = 0.0


class Exploration:
    """Reads only. The number of statements does not depend on what they find."""

    def __init__(self, database: TenantDatabase, tuning: GraphTuning, decay: Decay) -> None:
        self._database = database
        self._tuning = tuning
        self._decay = decay

    async def neighborhood(
        self,
        scope: Scope,
        memory_id: str,
        asked: Explored,
        *,
        max_hops: int,
        max_nodes: int,
        max_edges: int,
        content_chars: int,
    ) -> Neighborhood:
        """The memories within ``max_hops`` of one, and the edges among them. Filters by user and session are for the
        others. Raises NotFoundProblem where there is no such memory, or was none as far as was known."""
        id = UUID(memory_id)
        async with self._database.snapshot(scope) as connection:
            agent = await self._agent(connection, scope, memory_id, asked)
            reach = Reach(
                starts=[id],
                hops=max_hops,
                keep=1 - agent.decay.hop_penalty,
                max_nodes=max_nodes,
                min_weight=asked.min_weight,
                max_stored=max_edges + 1,
            )
            found = await self._surroundings(connection, scope, agent, asked, reach)
            places = {node.id: (node.hops, node.strength) for node in found.nodes} | {id: (0, 1.0)}
            nodes = await _nodes(connection, self._around(scope, agent, asked, max_nodes), [*places], content_chars)
            names = await _entities(connection, self._around(scope, agent, asked, max_nodes), [*found.naming])
        links = await asyncio.to_thread(found.links)
        shown = {node["id"]: node for node in nodes}
        ordered = sorted(shown, key=lambda node: (places[node][0], -places[node][1], node))
        return Neighborhood(
            memory_id=memory_id,
            nodes=[
                GraphNode.model_validate({**shown[node], "hops": places[node][0], "strength": places[node][1]})
                for node in ordered
            ],
            edges=[edge_of(_row(link, shown, names), agent.decay) for link in links[:max_edges]],
            hop_penalty=agent.decay.hop_penalty,
            truncated=found.truncated or len(links) > max_edges,
        )

    async def paths(
        self,
        scope: Scope,
        source_id: str,
        target_id: str,
        asked: Explored,
        *,
        max_hops: int,
        by: PathOrder,
        limit: int,
    ) -> GraphPaths:
        """The best simple paths between two memories of an agent. Raises NotFoundProblem where one of them is missing,
        InvalidInputProblem across agents and for one memory twice."""
        source, target = UUID(source_id), UUID(target_id)
        if source == target:
            raise InvalidInputProblem.of("target_id", "must differ from source_id")
        async with self._database.snapshot(scope) as connection:
            agent = await self._agent(connection, scope, source_id, asked)
            if (await self._agent(connection, scope, target_id, asked)).id != agent.id:
                raise InvalidInputProblem.of("target_id", "belongs to another agent than source_id")
            reach = Reach(
                starts=[source, target],
                # A path's first half is near its source, its second near its target: of three hops the one in the
                # middle is between the two.
                hops=max_hops // 2,
                keep=1 - agent.decay.hop_penalty,
                max_nodes=MAX_PATH_NODES,
                min_weight=asked.min_weight,
            )
            found = await self._surroundings(connection, scope, agent, asked, reach)
            names = await _entities(connection, self._around(scope, agent, asked, 1), [*found.naming])

        def search() -> tuple[list[FoundPath], dict[UUID, dict[UUID, Step]], bool]:
            steps = found.steps(agent.decay.over())
            searched = PathSearch(steps, source, target, max_hops=max_hops, keep=reach.keep)
            best = searched.strongest(limit) if by is PathOrder.strongest else searched.shortest(limit)
            return best, steps, searched.truncated

        best, steps, cut = await asyncio.to_thread(search)
        return GraphPaths(
            source_id=source_id,
            target_id=target_id,
            paths=[
                GraphPath(strength=path.strength, hops=len(path.memories) - 1, steps=_steps(path, steps, names))
                for path in best
            ],
            hop_penalty=agent.decay.hop_penalty,
            truncated=found.truncated or cut,
        )

    async def _agent(self, connection: AsyncConnection, scope: Scope, memory_id: str, asked: Explored) -> AskedAgent:
        agent = await EdgeRepository(connection, scope).agent_of(UUID(memory_id), asked.known_at, self._decay)
        if agent is None:
            raise memory_not_found(memory_id)
        return agent

    async def _surroundings(
        self, connection: AsyncConnection, scope: Scope, agent: AskedAgent, asked: Explored, reach: Reach
    ) -> Surroundings:
        around = self._around(scope, agent, asked, reach.max_nodes + 1)
        row = await driver(connection).fetchrow(subgraph(around, reach), *around.p.values)
        assert row is not None  # aggregates give one row always
        return Surroundings.of(dict(row))

    def _around(self, scope: Scope, agent: AskedAgent, asked: Explored, fan_out: int) -> Neighbourhood:
        return Neighbourhood(
            tenant_id=scope.tenant_id,
            agent_id=agent.id,
            visibility=asked.visibility,
            multipliers=agent.decay.over(asked.relation_types),
            fan_out=fan_out,
            tuning=self._tuning,
            p=Parameters(),
        )


async def _nodes(
    connection: AsyncConnection, around: Neighbourhood, ids: list[UUID], chars: int
) -> list[dict[str, Any]]:
    p = around.p
    first = p(chars, "int")
    rows = await driver(connection).fetch(
        f"""
        SELECT m.*
        FROM unnest({p(ids, "uuid[]")}) AS wanted (id)
        CROSS JOIN LATERAL (
            SELECT m.id, left(m.content, {first}) AS content, char_length(m.content) > {first} AS content_truncated,
                m.status, m.key, m.user_id, m.session_id, m.tags, m.valid_from, m.valid_until, m.recorded_at
            FROM {around.visibility.memories(p)} m
            WHERE {around.mine("m")} AND m.id = wanted.id
            LIMIT 1
        ) AS m
        """,
        *p.values,
    )
    return [dict(row) for row in rows]


async def _entities(connection: AsyncConnection, around: Neighbourhood, ids: list[UUID]) -> dict[UUID, str]:
    p = around.p
    rows = await driver(connection).fetch(
        f"SELECT e.id, e.display_name FROM entities e WHERE {around.mine('e')} AND e.id = ANY ({p(ids, 'uuid[]')})",
        *p.values,
    )
    return {row["id"]: row["display_name"] for row in rows}


def _row(link: Link, nodes: Mapping[UUID, Mapping[str, Any]], names: Mapping[UUID, str]) -> dict[str, Any]:
    ends = [nodes[end] for end in (link.source, link.target)]
    until = [end["valid_until"] for end in ends if end["status"] == "superseded" and end["valid_until"]]
    if link.valid_until is not None:
        until.append(link.valid_until)
    return {
        "source_id": link.source,
        "target_id": link.target,
        "relation_type": link.relation_type,
        "direction": link.direction,
        "weight": link.weight,
        "origin": link.origin,
        "entity": names.get(link.entity_id) if link.entity_id else None,
        "label": link.label,
        "reason": link.reason,
        "valid_from": link.valid_from,
        "valid_until": min(until, default=None) if link.recorded_at is not None else None,
        "recorded_at": link.recorded_at,
    }


def _steps(path: FoundPath, steps: Mapping[UUID, Mapping[UUID, Step]], names: Mapping[UUID, str]) -> list[PathStep]:
    shown = [PathStep(memory_id=str(path.memories[0]))]
    for source, target in pairwise(path.memories):
        step = steps[source][target]
        shown.append(
            PathStep.model_validate(
                {
                    "memory_id": target,
                    "relation_type": step.relation_type,
                    "direction": step.direction,
                    "weight": step.weight,
                    "multiplier": step.multiplier,
                    "entity": names.get(step.entity_id) if step.entity_id else None,
                }
            )
        )
    return shown
