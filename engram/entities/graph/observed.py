"""Which observations count, and where they are counted, as fragments of SQL."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from engram.db.parameters import Parameters
from engram.memories.predicates import Visibility


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """Which observations count: of one agent, at least so many of a pair, now or at a moment."""

    tenant_id: UUID
    agent_id: UUID
    now: datetime
    as_of: datetime | None
    min_co_occur: int

    def mine(self, alias: str, p: Parameters) -> str:
        return f"{alias}.agent_id = {p(self.agent_id, 'uuid')} AND {alias}.tenant_id = {p(self.tenant_id, 'uuid')}"

    def holds(self, alias: str, p: Parameters) -> str:
        """Whether a memory holds at the moment."""
        return Visibility(now=self.now, as_of=self.as_of or self.now).holding(alias, p)

    def around(self, p: Parameters) -> str:
        """Pairs of ``front`` (place, id), from either end: place, other, co_occur; one of several rows each."""
        return " UNION ALL ".join(
            _looked_up("front f", counted, f"o.{near} = f.id", far)
            for near, far in (("first_id", "second_id"), ("second_id", "first_id"))
            for counted in self._counted(p)
        )

    def between(self, only: str, p: Parameters) -> str:
        """The same of pairs with an array of others. Each is looked up by both of its ends, in the index that begins
        with the second: that of the first may be passed over for it, and would read much there."""
        ids = "ARRAY(SELECT front.id FROM front)"
        parts = []
        for counted in self._counted(p):
            parts += [
                _looked_up(
                    f"unnest({only}) AS w (id)",
                    counted,
                    f"o.second_id = w.id AND o.first_id = ANY ({ids})",
                    "second_id",
                    "JOIN front f ON f.id = o.first_id",
                ),
                _looked_up("front f", counted, f"o.second_id = f.id AND o.first_id = ANY ({only})", "first_id"),
            ]
        return " UNION ALL ".join(parts)

    def _counted(self, p: Parameters) -> list[_Counted]:
        """Where pairs are counted: in sums, and by one in what is observed."""
        timed = "AND o.state = 'timed'" if self.as_of is None else ""
        observed = _Counted(
            f"co_occurrences o WHERE {self.mine('o', p)} {timed}",
            "1::bigint",
            f"JOIN memories m ON {self.mine('m', p)} AND m.id = o.memory_id AND {self.holds('m', p)}",
        )
        sums = _Counted(f"entity_pairs o WHERE {self.mine('o', p)}", "o.co_occur", "")
        return [sums, observed] if self.as_of is None else [observed]


@dataclass(frozen=True, slots=True)
class _Counted:
    rows: str
    co_occur: str
    held: str
    """A join with what has to hold for a row to count."""


def _looked_up(of: str, counted: _Counted, condition: str, other: str, near: str = "") -> str:
    """Pairs of each of these. OFFSET 0 keeps the planner to a look-up for each: planned for parameters in general it
    may take few for many, and read all that an agent has."""
    return f"""
        SELECT f.place, o.{other} AS other, {counted.co_occur} AS co_occur
        FROM {of} CROSS JOIN LATERAL (SELECT * FROM {counted.rows} AND {condition} OFFSET 0) AS o {near} {counted.held}
    """
