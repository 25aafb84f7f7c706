"""What the writer of a batch of memories declares about entities, in canonical form. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from engram.entities.canonical import canonical_name


@dataclass(frozen=True, slots=True)
class Declaration:
    """Spellings by canonical name; by memory and name whether the memory is about the entity; what no writer declared
    but the look of the text proposes, as memory and name; and which memories state something of what they name."""

    spellings: dict[str, set[str]]
    roles: dict[tuple[UUID, str], bool]
    proposed: set[tuple[UUID, str]]
    stating: set[UUID] = field(default_factory=set)

    @property
    def naming_several(self) -> set[UUID]:
        """Memories that name more than one: only in these anything occurs together."""
        named = Counter(memory_id for memory_id, _ in (*self.roles, *self.proposed))
        return {memory_id for memory_id, names in named.items() if names > 1}

    def only(self, memory_ids: set[UUID]) -> Declaration:
        """What concerns these memories."""
        roles = {place: role for place, role in self.roles.items() if place[0] in memory_ids}
        proposed = {place for place in self.proposed if place[0] in memory_ids}
        names = {name for _, name in (*roles, *proposed)}
        return Declaration({name: self.spellings[name] for name in names}, roles, proposed, self.stating & memory_ids)


# A space before the bracket, unless it is as wide as one: ``main()`` is no main that is qualified.
_QUALIFIER = re.compile(r"(?:\s+\([^()（）]+\)|\s*（[^()（）]+）)\s*$")


def declare(
    declared: Mapping[UUID, Sequence[tuple[str, bool]]],
    proposals: Mapping[UUID, Iterable[str]],
    relations: Mapping[UUID, Sequence[str]] | None = None,
) -> Declaration:
    """Canonicalise what memories declare, as ``(name, is_subject)``, what is proposed for them, and what they state
    something of: the ends of their ``relations``, which they mention.

    Names that name nothing are dropped. A name with a qualifier behind it, ``Hello Love (song)``, also declares the
    bare name, by which texts speak of it. Declared twice, a name has the stronger role; declared, it is not proposed.
    """
    spellings: dict[str, set[str]] = {}
    roles: dict[tuple[UUID, str], bool] = {}
    proposed: set[tuple[UUID, str]] = set()
    for memory_id, names in declared.items():
        for raw, is_subject in (variant for declared_name in names for variant in _variants(*declared_name)):
            name = canonical_name(raw)
            if name is not None:
                spellings.setdefault(name, set()).add(raw)
                roles[memory_id, name] = roles.get((memory_id, name), False) or is_subject
    for memory_id, ends in (relations or {}).items():
        for raw in ends:
            name = canonical_name(raw)
            if name is not None:
                spellings.setdefault(name, set()).add(raw)
                roles.setdefault((memory_id, name), False)
    for memory_id, raws in proposals.items():
        for raw in raws:
            name = canonical_name(raw)
            if name is not None and (memory_id, name) not in roles:
                spellings.setdefault(name, set()).add(raw)
                proposed.add((memory_id, name))
    stating = {memory_id for memory_id, ends in (relations or {}).items() if ends}
    return Declaration(spellings, roles, proposed, stating)


def _variants(name: str, is_subject: bool) -> Iterator[tuple[str, bool]]:
    yield name, is_subject
    bare = _QUALIFIER.sub("", name)
    if bare and bare != name:
        yield bare, is_subject
