"""How many values a relation has at a time, by an agent's ontology and by what is built in. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from engram.facts.ontology.schemas import Cardinality
from engram.facts.statements.tenses import is_past, stem

BUILT_IN = ("works_at", "employed_by", "employer", "lives_in", "located_in", "location")
"""Relations of one value, whatever an ontology says of others. Their past is the same slot."""


class Cardinalities:
    """What an agent's ontology names goes before what is built in, and a name before the verb that it is a tense of."""

    def __init__(
        self, verbs: Mapping[str, Cardinality] | None = None, attributes: Mapping[str, Cardinality] | None = None
    ) -> None:
        self._preferred = {**(attributes or {}), **(verbs or {})}
        self._named = {**dict.fromkeys(BUILT_IN, Cardinality.one), **self._preferred}
        # Of two tenses that are named, each goes by its own name; another spelling by the first of them.
        self._by_stem: dict[str, Cardinality] = {}
        for name, cardinality in self._named.items():
            self._by_stem.setdefault(stem(name), cardinality)

    def one(self, predicate: str) -> bool:
        """Whether a subject has one value of a relation at a time."""
        cardinality = self._named.get(predicate) or self._by_stem.get(stem(predicate))
        return cardinality is Cardinality.one

    def past(self, predicate: str) -> bool:
        """Whether a relation is the past of one that is known, and has one value."""
        tense = predicate not in self._named and is_past(predicate) and stem(predicate) in self._by_stem
        return tense and self.one(predicate)

    def outside(self, predicates: Iterable[str]) -> list[str]:
        """Those that an ontology does not name, where it names any; what is built in is nobody's preference."""
        if not self._preferred:
            return []
        known = {stem(name) for name in self._preferred}
        return sorted({name for name in predicates if name not in self._preferred and stem(name) not in known})
