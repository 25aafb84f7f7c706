"""The ways of recall that are compared: named requests, and requests or tunings with a value changed. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, get_args

from pydantic import ValidationError

from engram.evaluation.extraction import Extraction
from engram.evaluation.problems import EvaluationError
from engram.graph.schemas import RelationType
from engram.graph.tuning import GraphTuning
from engram.memories.tuning import MemoryTuning
from engram.recall.schemas import RecallRequest
from engram.recall.tuning import RecallTuning
from engram.tuning import WRITE_TIME, EntityRecognition, Tuning

RECOGNITION = "entity_recognition"
ENTITY_VECTORS = "entity_vectors"

EXTRACTION = "extraction"
"""Of what an extractor found in a set's memories, the part that is written with them."""

SELF_MADE = (RelationType.temporal, RelationType.thematic, RelationType.entity_link)
"""Edge types that Engram makes by itself. The others are asserted by clients, and no set asserts any."""

_NAMED: dict[str, dict[str, Any]] = {
    "vector": {"graph_weight": 0.0, "max_hops": 0, "lexical": False, "passages": False},
    "vector+passages": {"graph_weight": 0.0, "max_hops": 0, "lexical": False},
    "lexical": {"graph_weight": 1.0, "max_hops": 0},
    "vector+lexical": {"max_hops": 0},
    "formula": {"lexical": False},
    "full": {},
    **{
        f"full-{left_out.value}": {"relation_types": [kind.value for kind in RelationType if kind is not left_out]}
        for left_out in SELF_MADE
    },
}

_GROUPS = {
    "default": ["vector", "vector+passages", "lexical", "vector+lexical", "formula", "full"],
    "ablation": ["full", *(f"full-{kind.value}" for kind in SELF_MADE)],
    "all": list(_NAMED),
}

_FAMILIES: dict[str, tuple[Any, ...]] = {
    "graph_weight": (0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0),
    "max_hops": (0, 1, 2, 3, 4),
    "hop_penalty": (0.0, 0.05, 0.1, 0.2, 0.4),
    "anchors": (5, 10, 20, 40, 80),
    "pool_floor": (25, 50, 100, 200),
    "fan_out": (6, 12, 24, 50),
    "frontier": (16, 32, 64, 200),
    "bm25_k1": (0.6, 0.9, 1.2, 1.5, 2.0),
    "bm25_b": (0.25, 0.4, 0.6, 0.75),
    "passages": (True, False),
    "names": (True, False),
    ENTITY_VECTORS: (0.0, 0.25, 0.5, 0.75, 1.0),
    "entity_vectors_floor": (0.3, 0.4, 0.5, 0.6, 0.7),
    "about_weight": (0.0, 0.5, 1.0, 2.0),
    "phrase_weight": (0.0, 0.3, 0.6),
    "date_weight": (0.0, 1.0, 2.0),
    "passage_chars": (0, 100, 200, 400, 800),
    "thematic_min_bytes": (0, 24, 48),
    "thematic_degree": (0, 2, 5, 10),
    "thematic_threshold": (0.6, 0.7, 0.8, 0.85, 0.9),
    "answer_weight": (0.8, 0.9, 1.0),
    "temporal_weight": (0.5, 0.65, 0.8, 0.9, 1.0),
    "hub_size": (10, 25, 50, 100, 200),
    "specificity": (True, False),
    RECOGNITION: get_args(EntityRecognition),
    EXTRACTION: tuple(part.value for part in Extraction),
}
"""Values that a field without one is tried at."""

# Who asks what of whom, filters, and what the evaluation sets itself.
_NOT_VARIED = frozenset(
    {"agent_id", "query", "top_k", "embedding", "explain", "relation_types", "tags", "metadata", "user_id"}
    | {"session_id", "as_of", "valid_from", "valid_until"}
)
_REQUEST = {name: info.default for name, info in RecallRequest.model_fields.items() if name not in _NOT_VARIED}
_ROOMS = {
    room: {one.name for one in fields(kind)}
    for room, kind in (("recall", RecallTuning), ("graph", GraphTuning), ("memory", MemoryTuning))
}
_VARIED = sorted({*_REQUEST, *(name for names in _ROOMS.values() for name in names), RECOGNITION, EXTRACTION})


@dataclass(frozen=True, slots=True)
class Variant:
    """A way of recall. ``request`` has the fields of a recall request that are set; ``recognition`` is how names are
    recognised in texts, where it is not what the settings say; ``extraction`` is written with memories."""

    name: str
    request: Mapping[str, Any] = field(default_factory=dict)
    tuning: Tuning = field(default_factory=Tuning)
    recognition: str | None = None
    extraction: Extraction = Extraction.none

    @property
    def ablated(self) -> RelationType | None:
        """The edge type that is left out, if one is."""
        kept = self.request.get("relation_types")
        return None if kept is None else next(kind for kind in SELF_MADE if kind.value not in kept)

    @property
    def written(self) -> dict[str, Any]:
        """What decides how memories are stored. Variants with the same can be asked of one database."""
        tuned = {name: value for room in _ROOMS for name, value in asdict(getattr(self.tuning, room)).items()}
        weight = self.tuning.recall.entity_vectors
        return {name: tuned[name] for name in sorted(WRITE_TIME)} | {
            RECOGNITION: self.recognition,
            EXTRACTION: self.extraction.value,
            # Whether vectors of entities are made; None: as the settings say.
            ENTITY_VECTORS: None if weight is None else weight > 0,
        }

    def with_value(self, name: str, value: Any) -> Variant:
        """The same with one field changed. Raises ValidationError for a value that it cannot have."""
        for room, names in _ROOMS.items():
            if name in names:
                tuned = replace(getattr(self.tuning, room), **{name: value})
                return replace(self, tuning=replace(self.tuning, **{room: tuned}))
        RecallRequest.model_validate({"agent_id": "00000000-0000-0000-0000-000000000000", "query": "?", name: value})
        return replace(self, request={**self.request, name: value})


def parse_variants(text: str) -> list[Variant]:
    """Variants from their names, parted by commas; each once, in the order given.

    A name is a group (``default``, ``ablation``, ``all``), a named variant, a field with a value (``anchors=40``), or a
    field alone, which stands for several values. Parts joined by colons are changes to one variant, of which the first
    may be a named one: ``formula:max_hops=3:anchors=40``. Raises EvaluationError, naming what is not known.
    """
    found: dict[str, Variant] = {}
    for name in (part.strip() for part in text.split(",")):
        if not name:
            continue
        names = _GROUPS.get(name) or [f"{name}={_written(value)}" for value in _FAMILIES.get(name, ())] or [name]
        for one in names:
            found.setdefault(one, _parse(one))
    if not found:
        raise EvaluationError(f"no variant is named; known are {known_variants()}")
    return list(found.values())


def check_extractions(variants: Sequence[Variant], name: str, *, given: bool) -> None:
    """Raises EvaluationError for a variant that writes what was extracted, where the set of that name comes without."""
    for variant in variants:
        if variant.extraction is not Extraction.none and not given:
            raise EvaluationError(f"variant {variant.name!r}: {name} holds neither openie.jsonl nor openie.jsonl.gz")


def known_variants() -> str:
    """All that may be named, for people."""
    return (
        f"the groups {', '.join(_GROUPS)}; the variants {', '.join(_NAMED)};"
        f" and FIELD=VALUE or FIELD alone, of {', '.join(_VARIED)}"
    )


def _parse(name: str) -> Variant:
    first, *rest = name.split(":")
    changes = rest if first in _NAMED else [first, *rest]
    variant = Variant(name)
    for changed, value in _NAMED.get(first, {}).items():
        variant = variant.with_value(changed, value)
    for change in changes:
        changed, equals, text = change.partition("=")
        if changed not in _VARIED or not equals:
            wanted = f"; {changed} needs a value, as in {changed}=..." if changed in _VARIED else ""
            raise EvaluationError(f"unknown variant {name!r}{wanted}; known are {known_variants()}")
        variant = _changed(variant, changed, text)
    return variant


def _changed(variant: Variant, changed: str, text: str) -> Variant:
    if changed in (RECOGNITION, EXTRACTION):
        if text not in _FAMILIES[changed]:
            raise EvaluationError(
                f"variant {variant.name!r}: {changed} is one of {', '.join(_FAMILIES[changed])}, not {text!r}"
            )
        return replace(variant, **{"recognition": text} if changed == RECOGNITION else {"extraction": Extraction(text)})
    try:
        return variant.with_value(changed, _value(text))
    except ValidationError as error:
        raise EvaluationError(f"variant {variant.name!r}: {changed}: {error.errors()[0]['msg']}") from None


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def names_of(variants: Sequence[Variant]) -> list[str]:
    return [variant.name for variant in variants]
