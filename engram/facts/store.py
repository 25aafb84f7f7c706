"""Where facts are kept: the protocol, and a store in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Protocol, runtime_checkable

from engram.facts.graph import Holding
from engram.facts.names import predicate_name
from engram.facts.ranking import recency
from engram.facts.schemas import ClosurePolicy, Fact, FactStatus
from engram.facts.supersession import Value, ends


@runtime_checkable
class FactStore(Protocol):
    """What ``recall_graph`` and agents ask of a store of facts."""

    async def append(self, fact: Fact) -> str:
        """Store a fact, end what it supersedes, and give its id."""
        ...

    async def append_many(self, facts: Iterable[Fact]) -> list[str]:
        """Store facts in their order, all or none, and give their ids."""
        ...

    async def query(
        self,
        *,
        subject: str | None = None,
        predicate: str | None = None,
        object_: str | None = None,
        valid_at: datetime | None = None,
        limit: int = 10,
        user_id: str | None = None,
    ) -> Sequence[Fact]:
        """Facts of a user that are spelt so, the one learnt last first; superseded ones too, without ``valid_at``.

        ``user_id`` None: facts of no user, which are a partition of their own.
        """
        ...

    async def get(self, id: str) -> Fact | None:
        """A fact by its id."""
        ...

    async def delete(self, id: str) -> bool:
        """Believe a fact no longer. Whether there was one."""
        ...

    async def count(self, *, user_id: str | None = None) -> int:
        """Facts of a user, superseded ones included."""
        ...

    async def aclose(self) -> None:
        """Let go of what the store holds. Closing twice does nothing."""
        ...


class InMemoryFactStore:
    """Facts in this process, for tests and for graphs of a few thousand facts. Not for several threads."""

    def __init__(self) -> None:
        self._facts: dict[str, Fact] = {}
        self._slots: dict[tuple[str | None, str, str], list[_Kept]] = {}

    async def append(self, fact: Fact) -> str:
        """Store a fact. Raises ValueError where its id is taken."""
        (id,) = await self.append_many([fact])
        return id

    async def append_many(self, facts: Iterable[Fact]) -> list[str]:
        new = list(facts)
        ids = [fact.id for fact in new]
        if taken := next((id for place, id in enumerate(ids) if id in self._facts or id in ids[:place]), None):
            raise ValueError(f"there is a fact {taken} already")
        for fact in new:
            slot = self._slots.setdefault((fact.user_id, fact.subject, fact.predicate), [])
            slot.append(_Kept(fact))
            self._settle(slot)
        return ids

    async def query(
        self,
        *,
        subject: str | None = None,
        predicate: str | None = None,
        object_: str | None = None,
        valid_at: datetime | None = None,
        limit: int = 10,
        user_id: str | None = None,
    ) -> Sequence[Fact]:
        name = predicate_name(predicate) if predicate is not None else None
        holds = Holding(valid_at) if valid_at is not None else None
        found = [
            fact
            for fact in self._facts.values()
            if fact.user_id == user_id
            and subject in (None, fact.subject)
            and name in (None, fact.predicate)
            and object_ in (None, fact.object)
            and (holds is None or holds(fact))
        ]
        return sorted(found, key=recency)[: max(limit, 0)]

    async def get(self, id: str) -> Fact | None:
        return self._facts.get(id)

    async def delete(self, id: str) -> bool:
        fact = self._facts.pop(id, None)
        if fact is None:
            return False
        for kept in self._slots[fact.user_id, fact.subject, fact.predicate]:
            if kept.stated.id == id:
                kept.status = FactStatus.deleted
        return True

    async def count(self, *, user_id: str | None = None) -> int:
        return sum(fact.user_id == user_id for fact in self._facts.values())

    async def aclose(self) -> None:
        pass

    def _settle(self, slot: list[_Kept]) -> None:
        settled = ends(kept.value(arrival) for arrival, kept in enumerate(slot))
        for kept in slot:
            if kept.status is FactStatus.standing:
                end = settled[kept.stated.id]
                closed_by = ClosurePolicy.supersession if end.superseded_by is not None else None
                self._facts[kept.stated.id] = kept.stated.model_copy(
                    update={"valid_until": end.until, "closed_by": closed_by, "superseded_by": end.superseded_by}
                )


class _Kept:
    """A fact as its writer gave it."""

    def __init__(self, stated: Fact) -> None:
        self.stated = stated
        self.status = FactStatus.standing

    def value(self, arrival: int) -> Value:
        return Value(
            id=self.stated.id,
            object=self.stated.object,
            valid_from=self.stated.valid_from,
            stated_until=self.stated.valid_until,
            # What counts is when it came, not what a writer says of that.
            recorded_at=datetime.fromtimestamp(arrival, UTC),
            supersede=self.stated.supersede,
            status=self.status,
        )
