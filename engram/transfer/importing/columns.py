"""The columns that an import writes, by table, each with the type that its values are bound as. Pure."""

from __future__ import annotations

from collections.abc import Mapping

_STATE = {
    "status": "text",
    "content": "text",
    "key": "text",
    "slot_hash": "bytea",
    "user_id": "text",
    "session_id": "text",
    "tags": "jsonb",
    "metadata": "jsonb",
    "declared_entities": "jsonb",
    "declared_relations": "jsonb",
    "declared_quantities": "jsonb",
    "sensitivity": "text",
    "withheld": "bool",
    "source": "text",
    "confidence": "float8",
    "valid_from": "timestamptz",
    "valid_until": "timestamptz",
    "stated_until": "timestamptz",
    "earlier": "text",
    "recorded_at": "timestamptz",
    "deleted_at": "timestamptz",
    "superseded_by": "uuid",
    "chunks": "int",
    "embedding": "vector",
}
_EDGE = {
    "source_id": "uuid",
    "target_id": "uuid",
    "relation_type": "text",
    "weight": "float8",
    "origin": "text",
    "label": "text",
    "reason": "text",
    "valid_from": "timestamptz",
    "valid_until": "timestamptz",
    "earlier": "text",
    "recorded_at": "timestamptz",
    "invalidated_at": "timestamptz",
}
_BELIEF = {
    "status": "text",
    "valid_until": "timestamptz",
    "closed_by": "text",
    "superseded_by": "uuid",
    "recorded_at": "timestamptz",
}
_KNOWN = {"recorded_from": "timestamptz", "recorded_until": "timestamptz"}
TABLES: Mapping[str, Mapping[str, str]] = {
    "memories": {
        "id": "uuid",
        **_STATE,
        "version": "int",
        "updated_at": "timestamptz",
        "stated_at": "timestamptz",
        "dedup_hash": "bytea",
    },
    "memory_versions": {
        "memory_id": "uuid",
        "version": "int",
        **_KNOWN,
        "ended_by": "text",
        **_STATE,
        "asks": "bool",
        "length": "int",
        "lexemes": "bytea",
    },
    "entities": {
        "id": "uuid",
        "name": "text",
        "display_name": "text",
        "opening": "text",
        "swept_at": "timestamptz",
        "created_at": "timestamptz",
    },
    "entity_aliases": {"entity_id": "uuid", "alias": "text"},
    "mentions": {"entity_id": "uuid", "memory_id": "uuid", "is_subject": "bool", "recognized": "bool"},
    "edges": {**_EDGE, "updated_at": "timestamptz"},
    "edge_versions": {**_EDGE, **_KNOWN},
    "facts": {
        "id": "uuid",
        "subject_node": "uuid",
        "object_node": "uuid",
        "subject_entity": "uuid",
        "object_entity": "uuid",
        "slot": "uuid",
        "user_id": "text",
        "subject": "text",
        "predicate": "text",
        "object": "text",
        "confidence": "float8",
        "valid_from": "timestamptz",
        "stated_until": "timestamptz",
        "supersede": "bool",
        "sources": "jsonb",
        **_BELIEF,
        "updated_at": "timestamptz",
    },
    "fact_memories": {"memory_id": "uuid", "fact_id": "uuid"},
    "fact_closures": {"fact_id": "uuid", **_BELIEF},
    "fact_merges": {
        "id": "uuid",
        "name": "text",
        "other": "text",
        "recorded_at": "timestamptz",
        "undone_at": "timestamptz",
    },
}
"""By table, the columns that an import gives."""

READ = {
    "tags": "ARRAY(SELECT jsonb_array_elements_text(new.tags))",
    "earlier": "new.earlier::tstzmultirange",
    "sources": "ARRAY(SELECT jsonb_array_elements_text(new.sources))",
}
"""Columns that travel as something else than they are."""
