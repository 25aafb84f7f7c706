"""Where a memory leads: stored edges from either end, neighbours in its session, and entities that it shares.

One SQL fragment, read by a walk for a whole frontier at once and by ``get_edges`` for one memory. Temporal and entity
links are computed here and stored nowhere: they follow sessions and mentions, so a memory that arrives late, is deleted
or comes back needs no repair of its neighbours.

Cost follows the answer: each source reads at most ``fan_out`` edges of each kind, strongest first, ties by id, through
an index in that order. What a filter hides does not count toward that, but toward ``MAX_PROBES``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from uuid import UUID

from engram.db.parameters import Parameters
from engram.graph.known import edges
from engram.graph.tuning import GraphTuning
from engram.memories.predicates import Visibility

MAX_PROBES = 1000
"""Of one memory and kind of edge, how many are looked at for one that may be seen: a filter that hides nearly all of a
hub must not cost the whole hub."""

MAX_NAMED = 64
"""Entities through which one memory leads on: those it is about first, then those declared."""

COLUMNS = (
    "source_id, source_score, target_id, relation_type, direction, weight, multiplier, origin, entity_id, label,"
    " reason, valid_from, valid_until, recorded_at"
)


@dataclass(frozen=True, kw_only=True)
class Neighbourhood:
    """What leads anywhere: relations with their multipliers (others are not walked), who may be seen, and how much.

    One is made for each statement. Its scope and its filter stand there dozens of times, and are put together once.
    """

    tenant_id: UUID
    agent_id: UUID
    visibility: Visibility
    multipliers: dict[str, float]
    fan_out: int
    tuning: GraphTuning
    p: Parameters = field(default_factory=Parameters)

    def mine(self, alias: str) -> str:
        """The scope of every table that a statement reads.

        The policies say the same of the tenant. Said here too, the planner compares the two once for a statement, in
        place of asking the policy for each row.
        """
        agent, tenant = self._scope
        return f"{alias}.agent_id = {agent} AND {alias}.tenant_id = {tenant}"

    @cached_property
    def _scope(self) -> tuple[str, str]:
        return self.p(self.agent_id, "uuid"), self.p(self.tenant_id, "uuid")

    def sql(self, frontier: str) -> str:
        """A query for the edges out of the ids in the relation ``frontier (id, score)``; see ``COLUMNS``.

        A source may have several edges to a target, of different types; through entities it has one, the strongest.
        """
        if "entity_link" not in self.multipliers:
            return self.direct(frontier)
        return f"{self.direct(frontier)}\nUNION ALL\n{self._entities(frontier)}"

    def direct(self, frontier: str) -> str:
        """The same without links through entities, which a walk takes in two steps."""
        arms = []
        if self.multipliers:
            arms += [self._stored(frontier, "source_id", "target_id"), self._stored(frontier, "target_id", "source_id")]
        if "temporal" in self.multipliers:
            arms.append(self.session(frontier))
        return "\nUNION ALL\n".join(arms) if arms else _NOTHING

    def computed(self, frontier: str) -> str:
        """Only what is stored nowhere: neighbours in a session, and links through entities."""
        arms = [self.session(frontier)] if "temporal" in self.multipliers else []
        if "entity_link" in self.multipliers:
            arms.append(self._entities(frontier))
        return "\nUNION ALL\n".join(arms) if arms else _NOTHING

    def _multiplier(self, relation: str) -> str:
        return self.p(self.multipliers[relation], "float8")

    def valid(self, alias: str) -> str:
        """Whether the own window of a stored edge, or one of its earlier ones, covers the instant."""
        moment = self.p(self.visibility.moment, "timestamptz")
        ends = f"({alias}.valid_until IS NULL OR {alias}.valid_until > {moment})"
        if self.visibility.as_of is None:
            return ends
        begun = f"({alias}.valid_from IS NULL OR {alias}.valid_from <= {moment})"
        return f"(({begun} AND {ends}) OR {alias}.earlier @> {moment})"

    def seen(self, id: str) -> str:
        """Lets a row pass where the memory ``id`` may be seen.

        Lateral, with a limit: always a probe of the primary key, also before the tables were ever analysed. As a plain
        join it may be planned as a scan of all the agent's memories for every row.
        """
        relation, condition = self._visible
        return f"""
            CROSS JOIN LATERAL (
                SELECT FROM {relation} m WHERE {self.mine("m")} AND m.id = {id} AND {condition} LIMIT 1
            ) AS seen
        """

    @cached_property
    def _visible(self) -> tuple[str, str]:
        """The relation that holds memories, and the filter on its alias ``m``."""
        return self.visibility.memories(self.p), self.visibility.sql("m", self.p)

    def _stored(self, frontier: str, near: str, far: str) -> str:
        p = self.p
        names, values = p(list(self.multipliers), "text[]"), p(list(self.multipliers.values()), "float8[]")
        direction = "out" if near == "source_id" else "in"
        return f"""
            SELECT f.id AS source_id, f.score AS source_score, edge.far AS target_id, edge.relation_type,
                CASE WHEN edge.relation_type IN ('thematic', 'contradicts', 'entity_link') THEN 'both'
                     ELSE '{direction}' END AS direction,
                edge.weight, ({values})[array_position({names}, edge.relation_type)] AS multiplier, edge.origin,
                NULL::uuid AS entity_id, edge.label, edge.reason, edge.valid_from, edge.valid_until, edge.recorded_at
            FROM {frontier} f
            CROSS JOIN LATERAL (
                SELECT e.{far} AS far, e.relation_type, e.weight, e.origin, e.label, e.reason, e.valid_from,
                    e.valid_until, e.recorded_at
                FROM (
                    SELECT * FROM {edges(self.visibility.known_at, p)} e
                    WHERE {self.mine("e")} AND e.{near} = f.id AND e.invalidated_at IS NULL
                        AND e.relation_type = ANY ({names}) AND {self.valid("e")}
                    ORDER BY e.weight DESC, e.{far}
                    LIMIT {p(MAX_PROBES, "int")}
                ) AS e {self.seen(f"e.{far}")}
                ORDER BY e.weight DESC, e.{far}
                LIMIT {p(self.fan_out, "int")}
            ) AS edge
        """

    def session(self, frontier: str) -> str:
        """Links to the turns before and after, where temporal links are walked."""
        if "temporal" not in self.multipliers:
            return _NOTHING
        p = self.p
        weight = p(self.tuning.temporal_weight, "float8")
        answer = f"CASE WHEN turn.asks THEN {p(self.tuning.answer_weight, 'float8')} ELSE {weight} END"
        return f"""
            SELECT f.id AS source_id, f.score AS source_score, neighbour.id AS target_id, 'temporal' AS relation_type,
                neighbour.direction, neighbour.weight, {self._multiplier("temporal")} AS multiplier,
                'temporal' AS origin, {_NO_DETAILS}
            FROM {frontier} f
            CROSS JOIN LATERAL (
                SELECT o.session_id, o.valid_from, o.asks FROM {self.visibility.memories(p)} o
                WHERE {self.mine("o")} AND o.id = f.id AND o.session_id IS NOT NULL
                LIMIT 1
            ) AS turn
            CROSS JOIN LATERAL (
                ({self._turn("out", answer, ">", "")}) UNION ALL ({self._turn("in", weight, "<", " DESC")})
            ) AS neighbour
            WHERE neighbour.seen
        """

    def _turn(self, direction: str, weight: str, compare: str, order: str) -> str:
        """The turn beside another among those that hold; ``seen`` says whether the filters let it pass."""
        p = self.p
        return f"""
            SELECT n.id, '{direction}' AS direction, {weight} AS weight, ({self.visibility.sql("n", p)}) AS seen
            FROM {self.visibility.memories(p)} n
            WHERE {self.mine("n")} AND n.session_id = turn.session_id
                AND n.status <> 'deleted' AND (n.valid_from, n.id) {compare} (turn.valid_from, f.id)
                AND {self.visibility.holding("n", p)}
            ORDER BY n.valid_from{order}, n.id{order}
            LIMIT 1
        """

    def _entities(self, frontier: str) -> str:
        p = self.p
        mentioned = "1 / (1 + ln(entity.size::float8))" if self.tuning.specificity else "1"
        fan_out, hub = p(self.fan_out, "int"), p(self.tuning.hub_size, "int")
        # Counting a name's memories stops past a hub's size; of a hub only the subjects are read, by their own index.
        return f"""
            SELECT link.source_id, link.source_score, link.target_id, 'entity_link' AS relation_type,
                'both' AS direction, link.weight, {self._multiplier("entity_link")} AS multiplier, 'entity' AS origin,
                link.entity_id, {_NO_ASSERTION}
            FROM (
                SELECT strongest.*, row_number() OVER (
                    PARTITION BY strongest.source_id ORDER BY strongest.weight DESC, strongest.target_id
                ) AS place
                FROM (
                    SELECT DISTINCT ON (f.id, other.memory_id)
                        f.id AS source_id, f.score AS source_score, other.memory_id AS target_id, named.entity_id,
                        CASE WHEN other.is_subject THEN 1 ELSE {mentioned} END::float8 AS weight
                    FROM {frontier} f
                    CROSS JOIN LATERAL (
                        SELECT a.entity_id FROM mentions a WHERE {self.mine("a")} AND a.memory_id = f.id
                        ORDER BY a.is_subject DESC, a.recognized, a.entity_id
                        LIMIT {p(MAX_NAMED, "int")}
                    ) AS named
                    CROSS JOIN LATERAL (
                        SELECT count(*) AS size FROM (
                            SELECT FROM mentions c
                            WHERE {self.mine("c")} AND c.entity_id = named.entity_id LIMIT {hub} + 1
                        ) AS counted
                    ) AS entity
                    CROSS JOIN LATERAL (
                        (
                            SELECT o.memory_id, o.is_subject FROM mentions o {self.seen("o.memory_id")}
                            WHERE entity.size <= {hub} AND {self.mine("o")} AND o.entity_id = named.entity_id
                                AND o.memory_id <> f.id
                            LIMIT {hub}
                        )
                        UNION ALL
                        (
                            SELECT o.memory_id, true
                            FROM (
                                SELECT s.memory_id FROM mentions s
                                WHERE entity.size > {hub} AND {self.mine("s")}
                                    AND s.entity_id = named.entity_id AND s.is_subject AND s.memory_id <> f.id
                                ORDER BY s.memory_id
                                LIMIT {p(MAX_PROBES, "int")}
                            ) AS o {self.seen("o.memory_id")}
                            ORDER BY o.memory_id
                            LIMIT {fan_out}
                        )
                    ) AS other
                    ORDER BY f.id, other.memory_id, weight DESC, named.entity_id
                ) AS strongest
            ) AS link
            WHERE link.place <= {fan_out}
        """


_NO_ASSERTION = (
    "NULL::text AS label, NULL::text AS reason, NULL::timestamptz AS valid_from, NULL::timestamptz AS valid_until,"
    " NULL::timestamptz AS recorded_at"
)
_NO_DETAILS = f"NULL::uuid AS entity_id, {_NO_ASSERTION}"
_NOTHING = f"""
    SELECT NULL::uuid AS source_id, NULL::float8 AS source_score, NULL::uuid AS target_id, NULL::text AS relation_type,
        NULL::text AS direction, NULL::float8 AS weight, NULL::float8 AS multiplier, NULL::text AS origin, {_NO_DETAILS}
    LIMIT 0
"""
