"""A walk's hops through entities, in two steps: from memories to the entities they name, and on to who else names them.

Spelt out, the links among fifty memories of one entity are thousands. So a hop reads each entity once, whatever leads
to it.
"""

from __future__ import annotations

from collections.abc import Iterable

from engram.graph.neighbours import MAX_NAMED, MAX_PROBES, Neighbourhood

MAX_ENTITIES = 256
"""Entities that a hop goes through, those that the best memories lead to first."""


class SharedNames:
    """Fragments for a walk whose frontiers are the relations ``frontier0 (id, score)``, ``frontier1``, and so on.

    Where entity links are not walked, every fragment is empty.
    """

    def __init__(self, around: Neighbourhood) -> None:
        self._around = around
        self._walked = "entity_link" in around.multipliers
        # One more than is followed tells whether there were more.
        self._cap = around.p(around.fan_out - 1, "int") if self._walked else ""

    def hop(self, hop: int) -> list[str]:
        """Common table expressions: ``named`` (what a frontier names), ``entities``, ``sized`` (with how many memories
        name each, counted up to ``hub_size`` + 1), ``subjects`` (of hubs), and ``links`` (memories that a walk may come
        to, and how strongly)."""
        if not self._walked:
            return []
        p, around = self._around.p, self._around
        hub = p(around.tuning.hub_size, "int")
        specificity = "1 / (1 + ln(e.size::float8))" if around.tuning.specificity else "1"
        return [
            f"""
            named{hop} AS MATERIALIZED (
                SELECT f.id AS memory_id, f.score, named.entity_id, named.is_subject
                FROM frontier{hop - 1} f
                CROSS JOIN LATERAL (
                    SELECT a.entity_id, a.is_subject FROM mentions a
                    WHERE {around.mine("a")} AND a.memory_id = f.id
                    ORDER BY a.is_subject DESC, a.recognized, a.entity_id
                    LIMIT {p(MAX_NAMED, "int")}
                ) AS named
            )""",
            f"""
            entities{hop} AS MATERIALIZED (
                SELECT n.entity_id, max(n.score) AS score FROM named{hop} n
                GROUP BY n.entity_id ORDER BY score DESC, n.entity_id LIMIT {MAX_ENTITIES + 1:d}
            )""",
            # Counting a name's memories stops past a hub's size: most names that a walk comes to in a large store are
            # hubs, of which only the subjects are read, by their own index.
            f"""
            sized{hop} AS MATERIALIZED (
                SELECT e.entity_id, e.score, (
                    SELECT count(*)
                    FROM (
                        SELECT FROM mentions o
                        WHERE {around.mine("o")} AND o.entity_id = e.entity_id LIMIT {hub} + 1
                    ) AS counted
                ) AS size
                FROM (SELECT * FROM entities{hop} ORDER BY score DESC, entity_id LIMIT {MAX_ENTITIES:d}) AS e
            )""",
            f"""
            subjects{hop} AS MATERIALIZED (
                SELECT hub.entity_id, hub.score, subject.memory_id,
                    row_number() OVER (PARTITION BY hub.entity_id ORDER BY subject.memory_id) AS place
                FROM sized{hop} hub
                CROSS JOIN LATERAL (
                    SELECT s.memory_id
                    FROM (
                        SELECT s.memory_id FROM mentions s
                        WHERE {around.mine("s")} AND s.entity_id = hub.entity_id AND s.is_subject
                        ORDER BY s.memory_id
                        LIMIT {p(MAX_PROBES, "int")}
                    ) AS s {around.seen("s.memory_id")}
                    LIMIT {p(around.fan_out, "int")}
                ) AS subject
                WHERE hub.size > {hub}
            )""",
            f"""
            links{hop} AS MATERIALIZED (
                SELECT e.entity_id, e.score, m.memory_id,
                    CASE WHEN m.is_subject THEN 1 ELSE {specificity} END::float8 AS weight
                FROM sized{hop} e
                CROSS JOIN LATERAL (
                    SELECT o.memory_id, o.is_subject FROM mentions o
                    WHERE {around.mine("o")} AND o.entity_id = e.entity_id LIMIT {hub}
                ) AS m
                WHERE e.size <= {hub}
                UNION ALL
                SELECT s.entity_id, s.score, s.memory_id, 1 FROM subjects{hop} s WHERE s.place <= {self._cap}
            )""",
        ]

    def reached(self, hop: int) -> str:
        """To be added to what a hop reached by edges: ids, with scores before the hop's penalty."""
        if not self._walked:
            return ""
        multiplier = self._around.p(self._around.multipliers["entity_link"], "float8")
        return f"UNION ALL SELECT memory_id, score * weight * {multiplier} FROM links{hop}"

    def namings(self, hops: Iterable[int]) -> str:
        """Who names what, among the memories in the relation ``everywhere (id)``, once each. A memory that a walk
        leaves by an entity, but may not come to by it, has the weight 0."""
        if not self._walked:
            return "SELECT NULL::uuid AS entity_id, NULL::uuid AS memory_id, NULL::float8 AS weight LIMIT 0"
        came = " UNION ALL ".join(f"SELECT entity_id, memory_id, weight FROM links{hop}" for hop in hops)
        left = " UNION ALL ".join(f"SELECT entity_id, memory_id, 0 FROM named{hop}" for hop in hops)
        return f"""
            SELECT n.entity_id, n.memory_id, max(n.weight) AS weight
            FROM ({came} UNION ALL {left}) AS n
            WHERE (n.memory_id IN (SELECT id FROM everywhere)) IS TRUE
            GROUP BY n.entity_id, n.memory_id
        """

    def truncated(self, hops: Iterable[int]) -> str:
        """To be added to what says that a cap cut the walk short."""
        if not self._walked:
            return ""
        return "".join(
            f" OR (SELECT count(*) FROM entities{hop}) > {MAX_ENTITIES:d}"
            f" OR EXISTS (SELECT FROM subjects{hop} WHERE place > {self._cap})"
            for hop in hops
        )
