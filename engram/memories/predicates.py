"""Which memories a read may see, as SQL over an alias of ``memories``.

Every arm of a recall, every hop of its walk and every list goes through here, so that no path forgets a filter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from engram.db.parameters import Parameters
from engram.memories import known
from engram.memories.conditions import condition
from engram.memories.criteria import Criteria
from engram.memories.filters import conditions
from engram.memories.schemas import MemoryStatus

_LAST = chr(0x10FFFF)


@dataclass(frozen=True, slots=True, kw_only=True)
class Visibility:
    """``now`` bounds what holds where no ``as_of`` asks for another time.

    Without ``as_of``: what has not ended, a later start included. With it: what held at that instant. ``known_at`` asks
    for either as the server knew it then. With ``statuses``, what has one of these, and without
    ``as_of`` at whatever time it holds: so a list shows what was deleted, or has ended.
    """

    now: datetime
    as_of: datetime | None = None
    known_at: datetime | None = None
    statuses: tuple[MemoryStatus, ...] | None = None
    key: str | None = None
    key_prefix: str | None = None
    source: str | None = None
    user_id: str | None = None
    session_id: str | None = None
    tags_any: list[str] | None = None
    tags_all: list[str] | None = None
    tags_none: list[str] | None = None
    tags_exact: list[str] | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    began_from: datetime | None = None
    began_before: datetime | None = None
    updated_since: datetime | None = None

    @classmethod
    def of(cls, criteria: Criteria, now: datetime, *, statuses: tuple[MemoryStatus, ...] | None = None) -> Visibility:
        tags = criteria.tags
        return cls(
            now=now,
            as_of=criteria.as_of,
            known_at=getattr(criteria, "known_at", None),
            statuses=statuses,
            key=criteria.key,
            key_prefix=criteria.key_prefix,
            source=criteria.source,
            user_id=criteria.user_id,
            session_id=criteria.session_id,
            tags_any=tags.any if tags else None,
            tags_all=tags.all if tags else None,
            tags_none=tags.none if tags else None,
            tags_exact=tags.exact if tags else None,
            metadata=criteria.metadata or {},
            began_from=criteria.valid_from,
            began_before=criteria.valid_until,
            updated_since=criteria.updated_since,
        )

    @property
    def moment(self) -> datetime:
        """When what is looked for holds: ``as_of``, or else now, which is ``known_at`` where that is asked for."""
        return self.as_of or self.known_at or self.now

    @property
    def selective(self) -> bool:
        """Whether it depends on the values how much is left, so that no plan is good for all of them."""
        times = (self.as_of, self.known_at, self.began_from, self.began_before, self.updated_since)
        return any(wanted is not None for wanted in (*times, self.key_prefix, self.session_id))

    def memories(self, p: Parameters) -> str:
        """The relation ``memories``, as it was known."""
        return known.memories(self.known_at, p)

    def halves(self, p: Parameters) -> list[str]:
        """The same as relations that are read one by one, in some order and up to some number."""
        return known.halves(self.known_at, p)

    def memories_in_order(self, p: Parameters) -> tuple[str, str]:
        """The same as a relation and a condition on its alias ``m``, to be read in the order of an index."""
        return known.in_order(self.known_at, p)

    def lexemes(self, p: Parameters) -> str:
        """The relation ``memory_lexemes``, as it was known; rows with ``past`` go before others of their memory."""
        return known.lexemes(self.known_at, p)

    def passages(self, p: Parameters) -> str:
        """The relation ``memory_passages``, as it was known."""
        return known.passages(self.known_at, p)

    def holding(self, alias: str, p: Parameters) -> str:
        """What holds in time, whatever else is asked for: neighbours in a session are found among these.

        What was superseded has ended where its successor begins; until then it holds.
        """
        at = p(self.moment, "timestamptz")
        ends = f"({alias}.valid_until IS NULL OR {alias}.valid_until > {at})"
        if self.as_of is None:
            return f"{alias}.status <> 'deleted' AND {ends}"
        held = f"({alias}.valid_from <= {at} AND {ends}) OR ({alias}.earlier IS NOT NULL AND {alias}.earlier @> {at})"
        return f"{alias}.status <> 'deleted' AND ({held})"

    def sql(self, alias: str, p: Parameters) -> str:
        """The whole predicate."""
        clauses = []
        if self.statuses is None or self.as_of is not None:
            clauses.append(self.holding(alias, p))
        if self.statuses is not None:
            # Spelt out, so that partial indexes are known to hold them.
            clauses.append(f"{alias}.status IN ({', '.join(f'{status.value!r}' for status in self.statuses)})")
        clauses += [
            f"{alias}.{column} = {p(wanted, 'text')}"
            for column in ("user_id", "session_id", "key", "source")
            if (wanted := getattr(self, column)) is not None
        ]
        if self.key_prefix is not None:
            clauses.extend(_prefixed(f"{alias}.key", self.key_prefix, p))
        if self.tags_any is not None:
            clauses.append(f"{alias}.tags && {p(self.tags_any, 'text[]')}")
        if self.tags_all is not None:
            clauses.append(f"{alias}.tags @> {p(self.tags_all, 'text[]')}")
        if self.tags_none is not None:
            clauses.append(f"NOT {alias}.tags && {p(self.tags_none, 'text[]')}")
        if self.tags_exact is not None:
            tags = p(self.tags_exact, "text[]")
            clauses.append(f"{alias}.tags @> {tags} AND {alias}.tags <@ {tags}")
        if self.began_from is not None:
            clauses.append(f"{alias}.valid_from >= {p(self.began_from, 'timestamptz')}")
        if self.began_before is not None:
            clauses.append(f"{alias}.valid_from < {p(self.began_before, 'timestamptz')}")
        if self.updated_since is not None:
            clauses.append(f"{alias}.updated_at >= {p(self.updated_since, 'timestamptz')}")
        clauses.extend(condition(alias, *wanted, p) for wanted in conditions(self.metadata))
        return " AND ".join(clauses)


def _prefixed(column: str, prefix: str, p: Parameters) -> list[str]:
    """As a range, which an index knows: a pattern is none in a plan for all parameters. Keys are in the order of code
    points."""
    clauses = [f"{column} >= {p(prefix, 'text')}"]
    shortened = prefix.rstrip(_LAST)
    if shortened:
        after = ord(shortened[-1]) + 1
        # No text holds a surrogate.
        end = shortened[:-1] + chr(0xE000 if after == 0xD800 else after)
        clauses.append(f"{column} < {p(end, 'text')}")
    return clauses
