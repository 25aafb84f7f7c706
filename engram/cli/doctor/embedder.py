"""The embedder: whether it works, and whether it is the one that the memories were embedded by."""

from __future__ import annotations

from engram.cli.doctor.database import Contents
from engram.cli.doctor.findings import Finding, fail, ok
from engram.embeddings.base import EmbeddingModel
from engram.embeddings.registry import open_embedder
from engram.problems import Problem
from engram.settings import Settings


async def examine_embedder(settings: Settings) -> tuple[EmbeddingModel | None, Finding]:
    """Load the embedder, and embed a word with it."""
    try:
        embedder = await open_embedder(settings)
        try:
            await embedder.embed_query("health")
        finally:
            await embedder.aclose()
    except Problem as problem:
        return None, fail("Embedder", problem.detail, "Correct EMBEDDING_PROVIDER and the settings beside it")
    model = embedder.model
    return model, ok("Embedder", f"{model.provider}, {model.name}, {model.dimension} dimensions")


def examine_model(model: EmbeddingModel, contents: Contents) -> Finding | None:
    """Whether the database's memories were embedded by ``model``; None where it has none yet."""
    if not contents.has_memories or not contents.models:
        return None
    if (model.provider, model.name, model.dimension) in contents.models:
        return ok("Memories", f"embedded by {model.provider}/{model.name}, as configured")
    provider, name, dimension = contents.models[0]
    return fail(
        "Memories",
        f"embedded by {provider}/{name} ({dimension} dimensions), not by the embedder that is configured",
        f"Set EMBEDDING_PROVIDER={provider} and EMBEDDING_MODEL={name}, or use another database",
    )
