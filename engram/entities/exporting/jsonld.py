"""JSON-LD 1.1, with its context inside: nothing is loaded from elsewhere to read it. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from engram.entities.exporting.records import GraphFact, GraphHead, GraphNode, GraphPair, moment

MEDIA_TYPE = "application/ld+json"

_REFERENCE = {"@type": "@id"}
_MOMENT = {"@type": "http://www.w3.org/2001/XMLSchema#dateTime"}
_NUMBER = {"@type": "http://www.w3.org/2001/XMLSchema#integer"}
_CONTEXT: dict[str, Any] = {
    "@vocab": "urn:engram:",
    "name": "http://schema.org/name",
    "aliases": {"@id": "http://schema.org/alternateName", "@container": "@set"},
    "degree": _NUMBER,
    "co_occur": _NUMBER,
    "first": _REFERENCE,
    "second": _REFERENCE,
    "subject": _REFERENCE,
    "object": _REFERENCE,
    "exported_at": _MOMENT,
    "valid_from": _MOMENT,
    "valid_until": _MOMENT,
    "confidence": {"@type": "http://www.w3.org/2001/XMLSchema#double"},
}


class JsonLd:
    media_type = MEDIA_TYPE
    suffix = "jsonld"

    def begin(self, head: GraphHead) -> str:
        about = {
            "@id": _urn(head.agent_id),
            "@type": "EntityGraph",
            "name": head.agent,
            "exported_at": moment(head.exported_at),
            "includes_invalidated": head.whole,
        }
        return f'{{"@context":{_json(_CONTEXT)},"@graph":[\n{_json(about)}'

    def nodes(self, nodes: Iterable[GraphNode]) -> str:
        return _further(
            {
                "@id": _urn(node.id),
                "@type": "Entity",
                "name": node.name,
                "display_name": node.display_name,
                "aliases": node.aliases,
                "degree": node.degree,
                "community": node.community,
            }
            for node in nodes
        )

    def pairs(self, pairs: Iterable[GraphPair]) -> str:
        return _further(
            {
                "@id": f"urn:engram:pair:{pair.first}:{pair.second}",
                "@type": "CoOccurrence",
                "first": _urn(pair.first),
                "second": _urn(pair.second),
                "co_occur": pair.co_occur,
            }
            for pair in pairs
        )

    def facts(self, facts: Iterable[GraphFact]) -> str:
        return _further(
            {
                "@id": _urn(fact.id),
                "@type": "Fact",
                "subject": _urn(fact.source),
                "predicate": fact.predicate,
                "object": _urn(fact.target),
                "user_id": fact.user_id,
                "confidence": fact.confidence,
                "status": fact.status,
                "valid_from": moment(fact.valid_from),
                "valid_until": moment(fact.valid_until) if fact.valid_until is not None else None,
            }
            for fact in facts
        )

    def end(self) -> str:
        return "\n]}\n"


def _further(objects: Iterable[dict[str, Any]]) -> str:
    """Each after the one before: the first is there already. What is null is not said."""
    return "".join(
        ",\n" + _json({name: value for name, value in each.items() if value is not None}) for each in objects
    )


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _urn(id: object) -> str:
    return f"urn:uuid:{id}"
