"""Which memories a read may see, as SQL over an alias of ``memories``.

Every arm of a recall, every hop of its walk and every list goes through here, so that no path forgets a filter.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from engram.db.parameters import Parameters
from engram.memories import known
from engram.memories.filters import conditions

_COMPARISONS = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


@dataclass(frozen=True, slots=True, kw_only=True)
class Visibility:
    """``now`` bounds what holds where no ``as_of`` asks for another time.

    Without ``as_of``: what has not ended, a later start included. With it: what held at that instant. ``known_at`` asks
    for either as the server knew it then.
    """

    now: datetime
    as_of: datetime | None = None
    known_at: datetime | None = None
    user_id: str | None = None
    session_id: str | None = None
    tags_any: list[str] | None = None
    tags_all: list[str] | None = None
    tags_none: list[str] | None = None
    tags_exact: list[str] | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    began_from: datetime | None = None
    began_before: datetime | None = None

    @property
    def moment(self) -> datetime:
        """When what is looked for holds: ``as_of``, or else now, which is ``known_at`` where that is asked for."""
        return self.as_of or self.known_at or self.now

    def memories(self, p: Parameters) -> str:
        """The relation ``memories``, as it was known."""
        return known.memories(self.known_at, p)

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
        return f"{alias}.status <> 'deleted' AND (({alias}.valid_from <= {at} AND {ends}) OR {alias}.earlier @> {at})"

    def sql(self, alias: str, p: Parameters) -> str:
        """The whole predicate."""
        clauses = [self.holding(alias, p)]
        if self.user_id is not None:
            clauses.append(f"{alias}.user_id = {p(self.user_id, 'text')}")
        if self.session_id is not None:
            clauses.append(f"{alias}.session_id = {p(self.session_id, 'text')}")
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
        clauses.extend(_condition(alias, *condition, p) for condition in conditions(self.metadata))
        return " AND ".join(clauses)


def _condition(alias: str, name: str, operator: str, operand: Any, p: Parameters) -> str:
    value = f"{alias}.metadata -> {p(name, 'text')}"
    if operator == "exists":
        present = f"{alias}.metadata ? {p(name, 'text')}"
        return present if operand else f"NOT ({present})"
    if operator == "in":
        return f"({value}) = ANY (ARRAY(SELECT jsonb_array_elements({p(json.dumps(operand), 'jsonb')})))"
    if operator == "contains":
        return _contains(value, operand, p)
    encoded = p(json.dumps(operand), "jsonb")
    if operator == "eq":
        return f"coalesce(({value}) = {encoded}, false)"
    if operator == "ne":
        return f"({value}) IS DISTINCT FROM {encoded}"
    # Values of another type than the operand's neither precede nor follow it.
    return (
        f"coalesce(jsonb_typeof({value}) = jsonb_typeof({encoded})"
        f" AND ({value}) {_COMPARISONS[operator]} {encoded}, false)"
    )


def _contains(value: str, operand: Any, p: Parameters) -> str:
    """An element of a list, or a part of a text, to the letter: no pattern characters."""
    element = f"(jsonb_typeof({value}) = 'array' AND ({value}) @> {p(json.dumps([operand]), 'jsonb')})"
    if not isinstance(operand, str):
        return f"coalesce({element}, false)"
    part = f"(jsonb_typeof({value}) = 'string' AND position({p(operand, 'text')} in ({value}) #>> '{{}}') > 0)"
    return f"coalesce({element} OR {part}, false)"
