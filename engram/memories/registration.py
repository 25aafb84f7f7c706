"""Which model's embeddings this database holds: settled at start, before anything is written."""

from __future__ import annotations

import asyncpg

from engram.db.database import Database
from engram.embeddings.base import EmbeddingModel
from engram.embeddings.repository import EmbeddingModelRepository
from engram.memories.vectors import VectorIndex
from engram.problems import ConfigurationProblem


async def register_model(database: Database, model: EmbeddingModel) -> VectorIndex:
    """The model's indexes, made if this is the first start with it.

    Raises ConfigurationProblem where the database holds memories embedded by another model: their vectors cannot be
    compared, and a recall would silently miss them.
    """
    async with database.transaction() as connection:
        models = EmbeddingModelRepository(connection)
        await models.lock()
        known = await models.all()
        same = [id for id, *rest in known if tuple(rest) == (model.provider, model.name, model.dimension)]
        others = [row for row in known if row[0] not in same]
        if others and await models.in_use():
            raise ConfigurationProblem(_mismatch(model, others[0]))
        for id, *_ in others:
            try:
                await models.remove(id)
            except asyncpg.ForeignKeyViolationError:
                # Another server was writing its first memory.
                raise ConfigurationProblem(_mismatch(model, others[0])) from None
        index = VectorIndex(same[0] if same else await models.insert(model), model.dimension)
        for name, statement in index.statements.items() if index.exists else ():
            if not await models.has_index(name):
                await models.execute(statement)
    return index


def model_replaced() -> ConfigurationProblem:
    """What a server raises whose model is no longer that of the database: another one, with another model, was started
    before anything was written. To go on would be to mix vectors that cannot be compared, or to find nothing."""
    return ConfigurationProblem(
        "Another server on this database was started with another embedding model, before this one had written"
        " anything. Give both the same EMBEDDING_PROVIDER and EMBEDDING_MODEL, or each a database of its own, and start"
        " again."
    )


def _mismatch(model: EmbeddingModel, other: tuple[int, str, str, int]) -> str:
    _, provider, name, dimension = other
    return (
        f"The memories in this database were embedded by {provider}/{name} ({dimension} dimensions), but the server is"
        f" configured for {model.provider}/{model.name} ({model.dimension} dimensions). Set"
        f" EMBEDDING_PROVIDER={provider} and EMBEDDING_MODEL={name} to go on with them, or use another database"
        f" (ENGRAM_DATABASE_URL or --data-dir) for the new model. Nothing was changed."
    )
