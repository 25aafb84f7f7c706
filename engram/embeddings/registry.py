"""Which provider is which. A provider's library is imported when the provider is opened, not before."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from importlib import import_module

from engram.embeddings.base import Embedder
from engram.embeddings.cache import CachedQueries
from engram.embeddings.timed import TimedEmbedder
from engram.problems import ConfigurationProblem
from engram.settings import Settings


@dataclass(frozen=True, slots=True)
class _Provider:
    """``module`` defines ``open_embedder(settings)``; its library comes with the extra ``extra``."""

    module: str
    extra: str


PROVIDERS = {
    "static": _Provider("engram.embeddings.static", "server"),
    "openai": _Provider("engram.embeddings.openai", "openai"),
    "fastembed": _Provider("engram.embeddings.fastembed", "fastembed"),
    "sentence-transformers": _Provider("engram.embeddings.sentence_transformers", "sentence-transformers"),
}


async def open_embedder(settings: Settings) -> Embedder:
    """The embedder that the settings name, ready for use; close it with ``aclose()``.

    Raises ``ConfigurationProblem``, whatever the reason that it cannot be had: the library is not installed,
    the model cannot be loaded, the key is refused, the dimension is another or cannot be found out. A remote
    provider that is merely away, and whose dimension is known, is opened all the same.
    """
    name = settings.embedding_provider
    provider = PROVIDERS[name]
    try:
        module = await asyncio.to_thread(import_module, provider.module)  # some import for seconds
    except ImportError as error:
        raise ConfigurationProblem(
            f"EMBEDDING_PROVIDER={name} needs a library that cannot be imported ({error}). "
            f"Install it: pip install 'engram[{provider.extra}]'"
        ) from error
    embedder: Embedder = await module.open_embedder(settings)
    return CachedQueries(TimedEmbedder(embedder))
