"""Paths as an answer shows them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from engram.facts.paths import Path, Paths
from engram.facts.schemas import FactPath, FactPaths, PathEdge, SourceMemory, StoredFact


def shown(paths: Paths, memories: Iterable[Mapping[str, Any]]) -> FactPaths:
    """The answer. The facts of the paths are stored ones."""
    return FactPaths.model_construct(
        paths=[_path(path) for path in paths],
        memories=[SourceMemory.model_construct(**{**row, "id": str(row["id"])}) for row in memories],
        truncated=paths.truncated,
    )


def _path(path: Path) -> FactPath:
    edges = [
        PathEdge.model_construct(
            subject=edge.subject,
            predicate=edge.predicate,
            object=edge.object,
            forward=forward,
            fact=cast(StoredFact, edge.fact),
        )
        for edge, forward in zip(path.edges, path.directions, strict=True)
    ]
    return FactPath.model_construct(rendered=path.render(), nodes=list(path.nodes), edges=edges)
