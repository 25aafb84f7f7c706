"""Where a memory leads: stored edges from either end, neighbours in its session, and entities that it shares.

One SQL fragment, read by a walk for a whole frontier at once and by ``get_edges`` for one memory. Temporal and entity
links are computed here and stored nowhere: they follow sessions and mentions, so a memory that arrives late, is deleted
or comes back needs no repair of its neighbours.

Cost follows the answer: each source reads at most ``fan_out`` edges of each kind, strongest first, ties by id, through
an index in that order, and what a filter hides does not count toward the cap.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from engram.db.parameters import Parameters
from engram.graph.relations import HUB_SIZE, TEMPORAL_WEIGHT
from engram.memories.predicates import Visibility

COLUMNS = (
    "source_id, target_id, relation_type, direction, weight, multiplier, origin, entity_id, label, reason,"
    " valid_from, valid_until, recorded_at"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbourhood:
    """What leads anywhere: relations with their multipliers (others are not walked), who may be seen, and how much."""

    agent_id: UUID
    visibility: Visibility
    multipliers: dict[str, float]
    fan_out: int
    p: Parameters = field(default_factory=Parameters)

    def sql(self, frontier: str) -> str:
        """A query for the edges out of the ids in the relation ``frontier (id)``; see ``COLUMNS``.

        A source may have several edges to a target, of different types; through entities it has one, the strongest.
        """
        arms = []
        if self.multipliers:
            arms += [
                self._stored(frontier, "source_id", "target_id"),
                self._stored(frontier, "target_id", "source_id"),
            ]
        if "temporal" in self.multipliers:
            arms += [self._session(frontier, later=True), self._session(frontier, later=False)]
        if "entity_link" in self.multipliers:
            arms += [self._entities(frontier)]
        if not arms:
            return f"SELECT {COLUMNS} FROM ({_NOTHING}) AS nothing"
        return "\nUNION ALL\n".join(arms)

    def multiplier(self, relation: str) -> str:
        return self.p(self.multipliers[relation], "float8")

    def _valid(self, alias: str) -> str:
        at: datetime = self.visibility.as_of or self.visibility.now
        moment = self.p(at, "timestamptz")
        ends = f"({alias}.valid_until IS NULL OR {alias}.valid_until > {moment})"
        if self.visibility.as_of is None:
            return ends
        return f"({alias}.valid_from IS NULL OR {alias}.valid_from <= {moment}) AND {ends}"

    def _stored(self, frontier: str, near: str, far: str) -> str:
        p = self.p
        agent = p(self.agent_id, "uuid")
        names, values = list(self.multipliers), list(self.multipliers.values())
        direction = "out" if near == "source_id" else "in"
        return f"""
            SELECT f.id AS source_id, edge.far AS target_id, edge.relation_type,
                CASE WHEN edge.relation_type IN ('thematic', 'contradicts', 'entity_link') THEN 'both'
                     ELSE '{direction}' END AS direction,
                edge.weight, edge.multiplier, edge.origin, NULL::uuid AS entity_id, edge.label, edge.reason,
                edge.valid_from, edge.valid_until, edge.recorded_at
            FROM {frontier} f
            CROSS JOIN LATERAL (
                SELECT e.{far} AS far, e.relation_type, e.weight, walked.multiplier, e.origin, e.label, e.reason,
                    e.valid_from, e.valid_until, e.recorded_at
                FROM edges e
                JOIN unnest({p(names, "text[]")}, {p(values, "float8[]")}) AS walked (relation_type, multiplier)
                    ON walked.relation_type = e.relation_type
                JOIN memories m ON m.agent_id = {agent} AND m.id = e.{far}
                WHERE e.agent_id = {agent} AND e.{near} = f.id AND e.invalidated_at IS NULL
                    AND {self._valid("e")} AND {self.visibility.sql("m", p)}
                ORDER BY e.weight DESC, e.{far}
                LIMIT {p(self.fan_out, "int")}
            ) AS edge
        """

    def _session(self, frontier: str, *, later: bool) -> str:
        p = self.p
        agent = p(self.agent_id, "uuid")
        compare, order, direction = (">", "", "out") if later else ("<", " DESC", "in")
        return f"""
            SELECT f.id AS source_id, m.id AS target_id, 'temporal' AS relation_type, '{direction}' AS direction,
                {p(TEMPORAL_WEIGHT, "float8")} AS weight, {self.multiplier("temporal")} AS multiplier,
                'temporal' AS origin, NULL::uuid AS entity_id, NULL::text AS label, NULL::text AS reason,
                NULL::timestamptz AS valid_from, NULL::timestamptz AS valid_until, NULL::timestamptz AS recorded_at
            FROM {frontier} f
            JOIN memories turn ON turn.agent_id = {agent} AND turn.id = f.id AND turn.session_id IS NOT NULL
            CROSS JOIN LATERAL (
                SELECT n.id FROM memories n
                WHERE n.agent_id = {agent} AND n.session_id = turn.session_id AND n.status <> 'deleted'
                    AND (n.valid_from, n.id) {compare} (turn.valid_from, turn.id)
                    AND {self.visibility.holding("n", p)}
                ORDER BY n.valid_from{order}, n.id{order}
                LIMIT 1
            ) AS neighbour
            JOIN memories m ON m.agent_id = {agent} AND m.id = neighbour.id AND {self.visibility.sql("m", p)}
        """

    def _entities(self, frontier: str) -> str:
        p = self.p
        agent = p(self.agent_id, "uuid")
        fan_out = p(self.fan_out, "int")
        hub = p(HUB_SIZE, "int")
        # Named by more than HUB_SIZE: counting stops there, and only subjects are read, through their own index.
        return f"""
            SELECT link.source_id, link.target_id, 'entity_link' AS relation_type, 'both' AS direction, link.weight,
                {self.multiplier("entity_link")} AS multiplier, 'entity' AS origin, link.entity_id,
                NULL::text AS label, NULL::text AS reason, NULL::timestamptz AS valid_from,
                NULL::timestamptz AS valid_until, NULL::timestamptz AS recorded_at
            FROM (
                SELECT strong.*, row_number() OVER (
                    PARTITION BY strong.source_id ORDER BY strong.weight DESC, strong.target_id
                ) AS place
                FROM (
                    SELECT DISTINCT ON (source_id, target_id)
                        named.source_id, other.memory_id AS target_id, named.entity_id,
                        CASE WHEN other.is_subject THEN 1 ELSE 1 / (1 + ln(named.size::float8)) END AS weight
                    FROM (
                        SELECT f.id AS source_id, a.entity_id, entity.size
                        FROM {frontier} f
                        JOIN mentions a ON a.agent_id = {agent} AND a.memory_id = f.id
                        CROSS JOIN LATERAL (
                            SELECT count(*) AS size FROM (
                                SELECT 1 FROM mentions c
                                WHERE c.agent_id = {agent} AND c.entity_id = a.entity_id LIMIT {hub} + 1
                            ) AS counted
                        ) AS entity
                    ) AS named
                    CROSS JOIN LATERAL (
                        (
                            SELECT o.memory_id, o.is_subject FROM mentions o
                            WHERE named.size <= {hub} AND o.agent_id = {agent} AND o.entity_id = named.entity_id
                        )
                        UNION ALL
                        (
                            SELECT o.memory_id, true FROM mentions o
                            JOIN memories m ON m.agent_id = {agent} AND m.id = o.memory_id
                            WHERE named.size > {hub} AND o.agent_id = {agent} AND o.entity_id = named.entity_id
                                AND o.is_subject AND {self.visibility.sql("m", p)}
                            ORDER BY o.memory_id
                            LIMIT {fan_out} + 1
                        )
                    ) AS other
                    JOIN memories m ON m.agent_id = {agent} AND m.id = other.memory_id
                        AND {self.visibility.sql("m", p)}
                    WHERE other.memory_id <> named.source_id
                    ORDER BY source_id, target_id, weight DESC, entity_id
                ) AS strong
            ) AS link
            WHERE link.place <= {fan_out}
        """


_NOTHING = """
    SELECT NULL::uuid AS source_id, NULL::uuid AS target_id, NULL::text AS relation_type, NULL::text AS direction,
        NULL::float8 AS weight, NULL::float8 AS multiplier, NULL::text AS origin, NULL::uuid AS entity_id,
        NULL::text AS label, NULL::text AS reason, NULL::timestamptz AS valid_from,
        NULL::timestamptz AS valid_until, NULL::timestamptz AS recorded_at
    LIMIT 0
"""
